// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `futrace list`: the USDT probes of a file, of a process, of what a command would be, or of every
 * process.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "capture/loads.h"
#include "capture/target.h"
#include "cmd/agent_file.h"
#include "cmd/command.h"
#include "cmd/terminal.h"
#include "show/list.h"

struct list_opts {
	bool verbose, json, files;
};

static const struct opt options[] = {
	OPT('v', "verbose", OPT_FLAG, struct list_opts, verbose, NULL,
	    "also list sites, where arguments are, and semaphores"),
	OPT('l', "files", OPT_FLAG, struct list_opts, files, NULL,
	    "only the paths of files that have such probes"),
	OPT(0, "json", OPT_FLAG, struct list_opts, json, NULL, "print a JSON object"),
	{ 0 },
};

/* What the command line asks for. */
struct wanted {
	char **pids;
	int nr_pids;
	const char *file; /* or NULL */
	char **command;	  /* what stands behind "--", or NULL */
	struct probe_patterns patterns;
	const char *first_pattern;
};

static bool is_pid(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word) && access(word, F_OK) != 0;
}

static int sort_operands(struct wanted *w, int nr, char **argv, struct err *e)
{
	int i = 0;

	for (; i < nr && is_pid(argv[i]); i++)
		;
	w->pids = argv;
	w->nr_pids = i;
	/* A description has colons or stars, and the name of a file hardly ever. */
	if (!i && i < nr && strcmp(argv[i], "--") != 0 &&
	    (!strpbrk(argv[i], ":*?[") || access(argv[i], F_OK) == 0))
		w->file = argv[i++];
	w->first_pattern = i < nr ? argv[i] : NULL;
	for (; i < nr && strcmp(argv[i], "--") != 0; i++)
		if (probe_patterns_add(&w->patterns, argv[i], e) < 0)
			return -1;
	if (i == nr)
		return 0;
	w->command = argv + i + 1;
	if (w->nr_pids || w->file || !w->command[0])
		return err_set(e, ERR_USAGE, "give one of process ids, a file, and -- CMD");
	return 0;
}

static int add_agent(struct probes *p, struct err *e)
{
	char *agent = agent_find(e), *probes = agent ? agent_find_probes(agent) : NULL;
	int rc = agent ? probes_add_file(p, agent, e) : -1;

	if (rc == 0 && probes)
		rc = probes_add_file(p, probes, e);
	free(agent);
	free(probes);
	return rc;
}

/* A static program has none, and one that is broken gets none: then there is a note, no error. */
static void add_libraries(struct probes *p, const char *image)
{
	struct err e = ERR_INIT;
	struct loads loads;

	if (loads_init(&loads, image, &e) < 0)
		cmd_note("%s: its libraries are not listed", e.msg);
	if (loads.nr_missing)
		cmd_note("%u of its libraries cannot be found", loads.nr_missing);
	vec_each (path, &loads.paths)
		if (probes_add_file(p, *path, &e) < 0)
			cmd_note("%s", e.msg);
	loads_release(&loads);
}

/* What the command would have: probes of the program, of the agent and of libraries. */
static int add_command(struct probes *p, const char *cmd, struct err *e)
{
	struct reading_opts none = { 0 };
	struct target_look look;
	struct catalog catalog;
	int status, rc;

	catalog_init(&catalog, &none);
	rc = target_look(&look, cmd, getenv("PATH"), &catalog, &status, e);
	if (rc == 0) {
		if (look.note.tag != ERR_NONE)
			cmd_note("%s", look.note.msg);
		rc = probes_add_file(p, look.image, e);
		if (rc == 0 && look.agent_works)
			rc = add_agent(p, e);
		if (rc == 0 && look.agent_works)
			add_libraries(p, look.image);
	}
	target_look_release(&look);
	catalog_release(&catalog);
	return rc;
}

static int add_pid(struct probe_list *l, const char *text, bool values, struct err *e)
{
	uint32_t pid;

	if (parse_pid(text, &pid))
		return err_set(e, ERR_NO_PROCESS, "there is no process %s", text);
	return probes_add_process(&l->probes, pid, values, e);
}

static int find_probes(struct probe_list *l, const struct wanted *w, bool values, struct err *e)
{
	if (w->command)
		return add_command(&l->probes, w->command[0], e);
	if (w->file)
		return probes_add_file(&l->probes, w->file, e);
	for (int i = 0; i < w->nr_pids; i++)
		if (add_pid(l, w->pids[i], values, e) < 0)
			return -1;
	return w->nr_pids ? 0 : probes_add_all(&l->probes, values, e);
}

static int print(const struct probe_list *l, const struct wanted *w, const struct list_opts *o)
{
	struct err e = ERR_INIT;
	struct styles styles;
	struct out out;

	terminal_get_styles(&styles, NULL, NULL);
	out_init(&out, fileno(stdout));
	if (o->json)
		list_json(l, &out);
	else if (o->files)
		list_files(l, &out);
	else if (l->rows.nr)
		list_text(l, o->verbose, &styles, &out);
	if (out_release(&out, &e) < 0)
		return cmd_fail(&e);
	list_notes(&l->probes, &cmd_notes);
	if (l->rows.nr)
		return EXIT_OK;
	if (w->patterns.list.nr) {
		cmd_note("no probe fits '%s'%s", w->first_pattern,
			 w->patterns.list.nr > 1 ? " or the other patterns" : "");
		return EXIT_FAILED;
	}
	cmd_note("there are no USDT probes");
	return EXIT_OK;
}

static int run(const void *opts, int nr, char **argv)
{
	const struct list_opts *o = opts;
	struct err e = ERR_INIT;
	struct wanted w = { 0 };
	struct probe_list l = { 0 };
	int rc;

	probes_init(&l.probes);
	rc = sort_operands(&w, nr, argv, &e);
	if (rc == 0)
		rc = find_probes(&l, &w, o->verbose || o->json, &e);
	if (rc < 0) {
		rc = e.tag == ERR_USAGE ? cmd_usage("%s", e.msg) : cmd_fail(&e);
	} else {
		probe_list_choose(&l, &w.patterns);
		rc = print(&l, &w, o);
	}
	probe_patterns_release(&w.patterns);
	probe_list_release(&l);
	return rc;
}

const struct command cmd_list = {
	.name = "list",
	.summary = "list the USDT probes of a program or process, as dtrace -l does",
	.synopsis = "[options] [PID... | FILE] [PATTERN...] [-- CMD]",
	.options = options,
	.options_size = sizeof(struct list_opts),
	.is_reader = true,
	.operands = OPERANDS_BINARY,
	.keeps_dashes = true,
	.run = run,
};

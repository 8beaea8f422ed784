// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * `futrace list`: the USDT probes of a file, of a process, of what a command would be, or of every
 * process.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/format.h"
#include "cmd/command.h"
#include "cmd/list.h"
#include "probe/pattern.h"

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

static int add_pid(struct list *l, const char *text, bool values, struct err *e)
{
	uint32_t pid;

	if (parse_pid(text, &pid))
		return err_set(e, ERR_NO_PROCESS, "there is no process %s", text);
	return probes_add_process(&l->probes, pid, values, e);
}

static int find_probes(struct list *l, const struct wanted *w, bool values, struct err *e)
{
	if (w->command)
		return list_add_command(&l->probes, w->command[0], e);
	if (w->file)
		return probes_add_file(&l->probes, w->file, e);
	for (int i = 0; i < w->nr_pids; i++)
		if (add_pid(l, w->pids[i], values, e) < 0)
			return -1;
	return w->nr_pids ? 0 : probes_add_all(&l->probes, values, e);
}

static void choose_rows(struct list *l, const struct probe_patterns *patterns)
{
	uint32_t id = 0;

	vec_each (h, &l->probes.homes)
		vec_each (p, &h->file->probes) {
			id++;
			if (probe_patterns_fit(patterns, h, p))
				vec_push(&l->rows, (struct list_row){ id, h, p });
		}
}

static void note_flaws(const struct probes *p)
{
	if (p->nr_broken)
		cmd_note("%u note%s of probes could not be read: cut, or of no code", p->nr_broken,
			 plural(p->nr_broken));
	if (p->nr_unreadable)
		cmd_note("%u mapped file%s could not be looked at: %s", p->nr_unreadable,
			 plural(p->nr_unreadable), p->unreadable.msg);
	if (p->nr_denied)
		cmd_note("%u process%s not looked at: %s", p->nr_denied,
			 p->nr_denied == 1 ? " was" : "es were", p->denied.msg);
}

/* One a line, for other programs: as they are. */
static void list_files(const struct list *l, struct out *out)
{
	const struct probe_file *last = NULL;

	vec_each (r, &l->rows) {
		if (r->home->file != last)
			strbuf_addf(&out->buf, "%s\n", r->home->file->path);
		last = r->home->file;
	}
}

static int print(const struct list *l, const struct wanted *w, const struct list_opts *o)
{
	struct err e = ERR_INIT;
	struct out out;

	out_init(&out, fileno(stdout));
	if (o->json)
		list_json(l, &out);
	else if (o->files)
		list_files(l, &out);
	else if (l->rows.nr)
		list_text(l, o->verbose, &out);
	if (out_release(&out, &e) < 0)
		return cmd_fail(&e);
	note_flaws(&l->probes);
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
	struct list l = { 0 };
	int rc;

	probes_init(&l.probes);
	rc = sort_operands(&w, nr, argv, &e);
	if (rc == 0)
		rc = find_probes(&l, &w, o->verbose || o->json, &e);
	if (rc < 0) {
		rc = e.tag == ERR_USAGE ? cmd_usage("%s", e.msg) : cmd_fail(&e);
	} else {
		choose_rows(&l, &w.patterns);
		rc = print(&l, &w, o);
	}
	vec_release(&l.rows);
	probe_patterns_release(&w.patterns);
	probes_release(&l.probes);
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

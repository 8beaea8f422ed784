// SPDX-License-Identifier: MIT OR Apache-2.0
/* futrace tree: what every live task waits for, from its future down to the leaf. */
#include <stdio.h>
#include <time.h>

#include "cmd/look_options.h"
#include "cmd/terminal.h"
#include "show/look_json.h"
#include "show/tree_forest.h"

struct tree_opts {
	struct look_options look;
	struct forest_opts forest;
	const char *color;
	uint64_t interval_ns;
	bool json;
};

static const struct opt options[] = {
	OPT(0, "core", OPT_STR, struct tree_opts, look.core, "FILE", "look into a core file"),
	OPT(0, "exe", OPT_STR, struct tree_opts, look.exe, "FILE",
	    "with --core: the path of the program"),
	OPT(0, "all", OPT_FLAG, struct tree_opts, forest.all, NULL, "print equal trees one by one"),
	OPT(0, "wrappers", OPT_FLAG, struct tree_opts, forest.wrappers, NULL,
	    "print wrapper futures, too"),
	OPT(0, "locals", OPT_FLAG, struct tree_opts, forest.locals, NULL,
	    "print variables of plain types"),
	OPT(0, "filter", OPT_STR, struct tree_opts, forest.filter, "PATTERN",
	    "only tasks with a matching type, function or file"),
	OPT(0, "interval", OPT_TIME, struct tree_opts, interval_ns, "TIME",
	    "take two censuses, TIME apart, and report growing types"),
	OPT(0, "json", OPT_FLAG, struct tree_opts, json, NULL, "print a JSON object"),
	OPT(0, "no-cache", OPT_FLAG, struct tree_opts, look.no_cache, NULL,
	    "read symbols and debug info again"),
	COLOR_OPTION(struct tree_opts, color),
	{ 0 },
};

static int print_text(struct forest *f, struct look *l)
{
	struct err e = ERR_INIT;
	struct out out;

	walk_tasks(&l->census, &(struct walk_opts){ .locals = f->opts->locals, .ties = true },
		   forest_gather, f);
	if (look_check(l, &e))
		return cmd_fail(&e);
	f->now_ns = look_now(l);
	findings_conclude(&f->findings);
	forest_sort(f);
	if (!f->groups.nr)
		look_note_none(l, f->opts->filter, &cmd_notes);
	out_init(&out, fileno(stdout));
	forest_text(f, &out);
	return out_release(&out, &e) ? cmd_fail(&e) : EXIT_OK;
}

/* What ties tasks together is known when all of them were seen, so they are walked twice. */
static int print_json(struct forest *f, struct look *l)
{
	struct look_json_opts opts = { .filter = f->opts->filter,
				       .locals = f->opts->locals,
				       .findings = &f->findings };
	struct err e = ERR_INIT;
	struct out out;

	walk_tasks(&l->census, &(struct walk_opts){ .ties = true }, findings_add, &f->findings);
	findings_conclude(&f->findings);
	out_init(&out, fileno(stdout));
	look_json(l, &opts, &out);
	return out_release(&out, &e) || look_check(l, &e) ? cmd_fail(&e) : EXIT_OK;
}

/* Counts the tasks, and waits. Memory is mapped anew while it grows, so this look is closed again.
 */
static int look_before(const struct tree_opts *o, int nr, char **argv, struct map *counts)
{
	struct timespec time = { o->interval_ns / 1000000000, o->interval_ns % 1000000000 };
	struct look l;
	int rc;

	if (o->look.core)
		return cmd_usage("--interval does not work with a core file: it does not change");
	rc = look_options_open(&l, &o->look, nr, argv);
	if (!rc) {
		findings_count(&l, counts);
		nanosleep(&time, NULL);
	}
	look_close(&l);
	return rc;
}

static int run(const void *opts, int nr, char **argv)
{
	const struct tree_opts *o = opts;
	struct err e = ERR_INIT;
	struct styles styles;
	struct map before = MAP_INIT;
	struct look l;
	struct forest f = {
		.look = &l,
		.opts = &o->forest,
		.styles = &styles,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	int rc;

	if (terminal_get_styles(&styles, o->color, &e) < 0)
		return cmd_usage("%s", e.msg);
	rc = o->interval_ns ? look_before(o, nr, argv, &before) : EXIT_OK;
	if (rc)
		return rc;
	rc = look_options_open(&l, &o->look, nr, argv);
	if (!rc) {
		findings_init(&f.findings, &l, o->forest.filter);
		if (o->interval_ns)
			findings_compare(&f.findings, &before);
		rc = o->json ? print_json(&f, &l) : print_text(&f, &l);
	}
	if (!rc) {
		findings_notes(&f.findings, &cmd_notes);
		look_notes(&l, &cmd_notes);
	}
	forest_release(&f);
	look_close(&l);
	map_release(&before);
	return rc;
}

const struct command cmd_tree = {
	.name = "tree",
	.summary = "show what every live task waits for, down to the line and the leaf",
	.synopsis = "[options] PID | --core=FILE [--exe=FILE]",
	.options = options,
	.options_size = sizeof(struct tree_opts),
	.is_reader = true,
	.operands = OPERANDS_PROCESS,
	.run = run,
};

// SPDX-License-Identifier: MIT OR Apache-2.0
/* futrace ps: every live task of a process or core file, one a line. */
#include <stdio.h>

#include "cmd/look_options.h"
#include "cmd/terminal.h"
#include "show/look_json.h"
#include "show/task_list.h"

struct ps_opts {
	struct look_options look;
	const char *color, *filter;
	bool json;
};

static const struct opt options[] = {
	OPT(0, "core", OPT_STR, struct ps_opts, look.core, "FILE", "look into a core file"),
	OPT(0, "exe", OPT_STR, struct ps_opts, look.exe, "FILE",
	    "with --core: the path of the program"),
	OPT(0, "filter", OPT_STR, struct ps_opts, filter, "PATTERN",
	    "only tasks with a matching type, function or file"),
	OPT(0, "json", OPT_FLAG, struct ps_opts, json, NULL, "print a JSON object"),
	OPT(0, "no-cache", OPT_FLAG, struct ps_opts, look.no_cache, NULL,
	    "read symbols and debug info again"),
	COLOR_OPTION(struct ps_opts, color),
	{ 0 },
};

static int print_text(struct look *look, const struct ps_opts *o, const struct styles *styles)
{
	struct task_list *list = task_list_new(look, o->filter);
	struct err e = ERR_INIT;
	struct out out;
	int rc = look_check(look, &e);

	if (!rc) {
		if (task_list_is_empty(list))
			look_note_none(look, o->filter, &cmd_notes);
		out_init(&out, fileno(stdout));
		task_list_text(list, styles, &out);
		rc = out_release(&out, &e);
	}
	task_list_free(list);
	return rc ? cmd_fail(&e) : EXIT_OK;
}

static int print_json(struct look *look, const struct ps_opts *o)
{
	struct look_json_opts opts = { .filter = o->filter };
	struct err e = ERR_INIT;
	struct out out;

	out_init(&out, fileno(stdout));
	look_json(look, &opts, &out);
	return out_release(&out, &e) || look_check(look, &e) ? cmd_fail(&e) : EXIT_OK;
}

static int run(const void *opts, int nr, char **argv)
{
	const struct ps_opts *o = opts;
	struct err e = ERR_INIT;
	struct styles styles;
	struct look l;
	int rc;

	if (terminal_get_styles(&styles, o->color, &e) < 0)
		return cmd_usage("%s", e.msg);
	rc = look_options_open(&l, &o->look, nr, argv);
	if (!rc)
		rc = o->json ? print_json(&l, o) : print_text(&l, o, &styles);
	if (!rc)
		look_notes(&l, &cmd_notes);
	look_close(&l);
	return rc;
}

const struct command cmd_ps = {
	.name = "ps",
	.summary = "list every live task of a process or core file, and where it waits",
	.synopsis = "[options] PID | --core=FILE [--exe=FILE]",
	.options = options,
	.options_size = sizeof(struct ps_opts),
	.is_reader = true,
	.operands = OPERANDS_PROCESS,
	.run = run,
};

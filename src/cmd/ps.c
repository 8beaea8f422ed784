// SPDX-License-Identifier: MIT OR Apache-2.0
/* futrace ps: every live task of a process or core file, one a line. */
#include <stdio.h>

#include "base/out.h"
#include "cmd/look.h"
#include "cmd/table.h"
#include "model/model.h"
#include "model/shorten.h"

struct ps_opts {
	const char *core, *color;
	bool json, no_cache;
};

static const struct opt options[] = {
	OPT(0, "core", OPT_STR, struct ps_opts, core, "FILE", "look into a core file"),
	OPT(0, "json", OPT_FLAG, struct ps_opts, json, NULL, "print a JSON object"),
	OPT(0, "no-cache", OPT_FLAG, struct ps_opts, no_cache, NULL,
	    "look at symbols and debug info again"),
	STYLE_OPTION(struct ps_opts, color),
	{ 0 },
};

static const struct look *look_of(const struct table *t)
{
	return t->arg;
}

static const char *id(const struct table *t, const void *row, struct strbuf *scratch)
{
	const struct census_task *task = row;

	/* an address stands where the runtime has no number */
	strbuf_addf(scratch, task->id == task->addr ? "0x%llx" : "%llu",
		    (unsigned long long)task->id);
	return scratch->s;
}

static const char *runtime(const struct table *t, const void *row, struct strbuf *scratch)
{
	return look_runtime(look_of(t), row)->name;
}

static const char *kind(const struct table *t, const void *row, struct strbuf *scratch)
{
	return model_kind_name(look_table(look_of(t), row)->kind);
}

static const char *state(const struct table *t, const void *row, struct strbuf *scratch)
{
	return look_state_name(((const struct census_task *)row)->state);
}

static void draw_type(const struct table *t, const void *row, size_t width, struct strbuf *out)
{
	struct strbuf name = STRBUF_INIT;

	look_add_type(look_of(t), row, &name);
	shorten_type(out, name.s, width);
	strbuf_release(&name);
}

static const struct column columns[] = {
	{ .head = "ID", .text = id },	       { .head = "RUNTIME", .text = runtime },
	{ .head = "KIND", .text = kind },      { .head = "STATE", .text = state },
	{ .head = "TYPE", .draw = draw_type },
};

static void print_text(const struct look *l, const struct styles *styles, struct out *out)
{
	struct table t = {
		.columns = columns,
		.nr_columns = ARRAY_SIZE(columns),
		.arg = l,
		.styles = styles,
		.is_ascii = !style_is_utf8(),
		.what = "task",
	};

	vec_each (task, &l->census.tasks)
		vec_push(&t.rows, task);
	table_text(&t, style_width(), out);
	vec_release(&t.rows);
}

static void print_json(const struct look *l, struct out *out)
{
	struct json j;

	json_init(&j, &out->buf);
	j.pretty = true;
	json_open_object(&j, NULL);
	look_json_head(l, &j);
	json_open_array(&j, "tasks");
	vec_each (task, &l->census.tasks) {
		json_open_object(&j, NULL);
		look_json_task(l, task, task->state, &j);
		json_close_object(&j);
		out_spill(out);
	}
	json_close_array(&j);
	json_open_array(&j, "findings");
	json_close_array(&j);
	json_close_object(&j);
	strbuf_addch(&out->buf, '\n');
}

static int run(const void *opts, int nr, char **argv)
{
	const struct ps_opts *o = opts;
	struct err e = ERR_INIT;
	struct styles styles;
	struct look l;
	struct out out;
	int rc;

	if (styles_init(&styles, o->color, &e) < 0)
		return cmd_usage("%s", e.msg);
	rc = look_open(&l, o->core, !o->no_cache, nr, argv);
	if (!rc) {
		out_init(&out, fileno(stdout));
		if (o->json)
			print_json(&l, &out);
		else
			print_text(&l, &styles, &out);
		rc = out_release(&out, &e) < 0 ? cmd_fail(&e) : EXIT_OK;
		look_notes(&l);
	}
	look_close(&l);
	return rc;
}

const struct command cmd_ps = {
	.name = "ps",
	.summary = "list every live task of a process or core file, and where it waits",
	.synopsis = "[options] PID | --core=FILE",
	.options = options,
	.options_size = sizeof(struct ps_opts),
	.operands = OPERANDS_PROCESS,
	.run = run,
};

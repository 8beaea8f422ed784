// SPDX-License-Identifier: MIT OR Apache-2.0
/* futrace ps: every live task of a process or core file, one a line. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/out.h"
#include "cmd/look.h"
#include "cmd/look_json.h"
#include "cmd/table.h"
#include "cmd/tree_say.h"
#include "model/model.h"
#include "model/shorten.h"

#define MAX_LEAVES 3

struct ps_opts {
	const char *core, *color, *filter;
	bool json, no_cache;
};

static const struct opt options[] = {
	OPT(0, "core", OPT_STR, struct ps_opts, core, "FILE", "look into a core file"),
	OPT(0, "filter", OPT_STR, struct ps_opts, filter, "PATTERN",
	    "only tasks with a type, function or file that fits"),
	OPT(0, "json", OPT_FLAG, struct ps_opts, json, NULL, "print a JSON object"),
	OPT(0, "no-cache", OPT_FLAG, struct ps_opts, no_cache, NULL,
	    "look at symbols and debug info again"),
	STYLE_OPTION(struct ps_opts, color),
	{ 0 },
};

struct row {
	const struct census_task *task;
	enum task_state state;
	bool is_shown;
	struct tree_node boxed; /* the future of a Box<dyn Future>, if it has a type */
	struct tree_node place; /* where it waits, if it has a variant */
	char *leaves;		/* what for; NULL: not known */
};

struct words {
	size_t width;
	struct map known; /* -> number of the text */
	struct intern *texts;
};

struct list {
	const struct look *look;
	struct words types, places;
	const char *filter;
	struct row *rows; /* one for each task */
	uint64_t now_ns;
};

static void on_task(void *arg, size_t index, const struct walk_result *r)
{
	struct list *l = arg;
	struct row *row = &l->rows[index];
	struct say say = { r->tree, l->now_ns };
	struct strbuf leaves = STRBUF_INIT;
	uint32_t place = tree_main_place(r->tree);

	row->task = &l->look->census.tasks.v[index];
	row->state = r->state;
	row->is_shown = r->status != WALK_GONE && look_fits(l->look, l->filter, row->task, r->tree);
	if (!row->is_shown || r->status != WALK_OK)
		return;
	if (r->tree->nodes.nr && look_is_boxed(l->look, row->task))
		row->boxed = r->tree->nodes.v[0];
	if (place != TREE_NO_NODE)
		row->place = r->tree->nodes.v[place];
	say_leaves(&say, MAX_LEAVES, &leaves);
	if (leaves.len)
		row->leaves = strbuf_take(&leaves);
	strbuf_release(&leaves);
}

static struct list *list_of(const struct table *t)
{
	return (struct list *)t->arg;
}

static const struct look *look_of(const struct table *t)
{
	return list_of(t)->look;
}

static const struct census_task *task_of(const void *row)
{
	return ((const struct row *)row)->task;
}

static const char *id(const struct table *t, const void *row, struct strbuf *scratch)
{
	look_add_id(task_of(row), scratch);
	return scratch->s;
}

static const char *runtime(const struct table *t, const void *row, struct strbuf *scratch)
{
	return look_runtime(look_of(t), task_of(row))->name;
}

static const char *kind(const struct table *t, const void *row, struct strbuf *scratch)
{
	return model_kind_name(look_table(look_of(t), task_of(row))->kind);
}

static const char *state(const struct table *t, const void *row, struct strbuf *scratch)
{
	return look_state_name(((const struct row *)row)->state);
}

/* What many rows share is put into words once, and again when the width changes. */
static const char *words_of(struct words *w, size_t width, uint64_t key, bool *was_there)
{
	uint64_t *at;

	if (w->width != width) {
		map_clear(&w->known);
		intern_free(w->texts);
		w->texts = intern_new();
		w->width = width;
	}
	at = map_put(&w->known, key, was_there);
	return *was_there ? intern_get(w->texts, *at) : NULL;
}

static const char *keep_words(struct words *w, uint64_t key, const struct strbuf *text)
{
	uint32_t id = intern_puts(w->texts, text->s);

	*map_put(&w->known, key, NULL) = id;
	return intern_get(w->texts, id);
}

static void draw_type(const struct table *t, const void *row, size_t width, struct strbuf *out)
{
	const struct tree_node *boxed = &((const struct row *)row)->boxed;
	uint64_t key = boxed->type ? (uintptr_t)boxed->type : task_of(row)->table;
	struct words *w = &list_of(t)->types;
	struct strbuf name = STRBUF_INIT, text = STRBUF_INIT;
	bool was_there;
	const char *words = words_of(w, width, key, &was_there);

	if (!was_there) {
		look_add_type(look_of(t), task_of(row), &name);
		if (boxed->type)
			say_name(boxed, width, &text);
		else
			shorten_type(&text, name.s, width);
		words = keep_words(w, key, &text);
	}
	strbuf_addstr(out, words);
	strbuf_release(&name);
	strbuf_release(&text);
}

static void draw_place(const struct table *t, const void *row, size_t width, struct strbuf *out)
{
	const struct row *r = row;
	struct words *w = &list_of(t)->places;
	struct strbuf text = STRBUF_INIT;
	bool was_there;
	const char *words = words_of(w, width, (uintptr_t)r->place.variant, &was_there);

	if (!was_there) {
		if (r->place.variant)
			say_place(&r->place, width, &text);
		else
			strbuf_addch(&text, '-');
		words = keep_words(w, (uintptr_t)r->place.variant, &text);
	}
	strbuf_addstr(out, words);
	strbuf_release(&text);
}

static void draw_leaves(const struct table *t, const void *row, size_t width, struct strbuf *out)
{
	const char *leaves = ((const struct row *)row)->leaves;

	if (!leaves)
		leaves = "-";
	if (strlen(leaves) <= width || t->is_open)
		strbuf_addstr(out, leaves);
	else
		strbuf_addf(out, "%.*s..", (int)MAX(width, (size_t)2) - 2, leaves);
}

static const struct column columns[] = {
	{ .head = "ID", .text = id },
	{ .head = "RUNTIME", .text = runtime, .rank = 2 },
	{ .head = "KIND", .text = kind, .rank = 1 },
	{ .head = "STATE", .text = state },
	{ .head = "TYPE", .draw = draw_type },
	{ .head = "WAITS AT", .draw = draw_place },
	{ .head = "FOR", .draw = draw_leaves },
};

static void words_release(struct words *w)
{
	map_release(&w->known);
	intern_free(w->texts);
}

static int print(const struct list *l, const struct styles *styles)
{
	struct table t = {
		.columns = columns,
		.nr_columns = ARRAY_SIZE(columns),
		.arg = l,
		.styles = styles,
		.is_ascii = !style_is_utf8(),
		.is_open = !isatty(STDOUT_FILENO), /* for grep and files */
		.what = "task",
	};
	struct err e = ERR_INIT;
	struct out out;

	for (size_t i = 0; i < l->look->census.tasks.nr; i++)
		if (l->rows[i].is_shown)
			vec_push(&t.rows, &l->rows[i]);
	if (!t.rows.nr)
		look_note_none(l->filter);
	out_init(&out, fileno(stdout));
	table_text(&t, style_width(), &out);
	vec_release(&t.rows);
	return out_release(&out, &e) < 0 ? cmd_fail(&e) : EXIT_OK;
}

static int show(struct look *look, const struct ps_opts *o, const struct styles *styles)
{
	size_t nr = look->census.tasks.nr;
	struct list l = {
		.look = look,
		.filter = o->filter,
		.rows = xcalloc(nr + 1, sizeof(*l.rows)),
		.now_ns = look_now(look),
	};
	int rc;

	walk_tasks(&look->census, &(struct walk_opts){ 0 }, on_task, &l);
	rc = look_check(look);
	if (!rc)
		rc = print(&l, styles);
	for (size_t i = 0; i < nr; i++)
		free(l.rows[i].leaves);
	free(l.rows);
	words_release(&l.types);
	words_release(&l.places);
	return rc;
}

static int run(const void *opts, int nr, char **argv)
{
	const struct ps_opts *o = opts;
	struct err e = ERR_INIT;
	struct styles styles;
	struct look_json_opts json = { .filter = o->filter };
	struct look l;
	int rc;

	if (styles_init(&styles, o->color, &e) < 0)
		return cmd_usage("%s", e.msg);
	rc = look_open(&l, o->core, !o->no_cache, nr, argv);
	if (!rc) {
		rc = o->json ? look_json(&l, &json) : show(&l, o, &styles);
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

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/task_list.h"

#include <string.h>

#include "base/intern.h"
#include "model/model.h"
#include "model/shorten.h"
#include "show/look_text.h"
#include "show/table.h"
#include "show/tree_say.h"

#define MAX_LEAVES 3

/* There may be millions: it is kept small, and texts that are alike are kept once. */
struct row {
	const struct layout *boxed; /* the future of a Box<dyn Future>; NULL: it is no such task */
	const struct layout *waits; /* whose await point it is */
	const struct layout_variant *place; /* where it waits; NULL: not known */
	uint32_t leaves;		    /* what for: number of the text */
	uint8_t state;			    /* enum task_state */
	uint8_t walker;			    /* whose text it is */
	bool is_shown, has_leaves;
};

struct task_list {
	struct look *look;
	struct say say; /* all but the tree */
	struct intern *leaves[WALK_MAX_THREADS];
	struct strbuf scratch[WALK_MAX_THREADS];
	const char *filter;
	struct row *rows; /* one for each task */
};

static void add_leaves(struct task_list *l, struct row *row, const struct walk_result *r)
{
	struct strbuf *text = &l->scratch[r->walker];
	struct say say = l->say;

	say.tree = r->tree;
	strbuf_reset(text);
	say_leaves(&say, MAX_LEAVES, text);
	if (!text->len)
		return;
	row->leaves = intern_put(l->leaves[r->walker], text->s, text->len);
	row->walker = r->walker;
	row->has_leaves = true;
}

static void on_task(void *arg, size_t index, const struct walk_result *r)
{
	struct task_list *l = arg;
	struct row *row = &l->rows[index];
	const struct census_task *task = &l->look->census.tasks.v[index];
	uint32_t place;

	row->state = r->state;
	row->is_shown = r->status != WALK_GONE && look_fits(l->look, l->filter, task, r->tree);
	if (!row->is_shown || r->status != WALK_OK)
		return;
	if (r->tree->nodes.nr && look_is_boxed(l->look, task))
		row->boxed = r->tree->nodes.v[0].type;
	place = tree_main_place(r->tree);
	if (place != TREE_NO_NODE) {
		row->waits = r->tree->nodes.v[place].type;
		row->place = r->tree->nodes.v[place].variant;
	}
	add_leaves(l, row, r);
}

static const struct task_list *list_of(const struct table *t)
{
	return t->arg;
}

static const struct look *look_of(const struct table *t)
{
	return list_of(t)->look;
}

static const struct census_task *task_of(const struct table *t, const void *row)
{
	return &look_of(t)->census.tasks.v[(const struct row *)row - list_of(t)->rows];
}

static const char *id(const struct table *t, const void *row, struct strbuf *scratch)
{
	look_add_id(task_of(t, row), scratch);
	return scratch->s;
}

static uint64_t table_number(const struct table *t, const void *row)
{
	return task_of(t, row)->table;
}

static const char *runtime(const struct table *t, const void *row, struct strbuf *scratch)
{
	return look_runtime(look_of(t), task_of(t, row))->name;
}

static const char *kind(const struct table *t, const void *row, struct strbuf *scratch)
{
	return model_kind_name(look_table(look_of(t), task_of(t, row))->kind);
}

static uint64_t state_number(const struct table *t, const void *row)
{
	return ((const struct row *)row)->state;
}

static const char *state(const struct table *t, const void *row, struct strbuf *scratch)
{
	return look_state_name(((const struct row *)row)->state);
}

static uint64_t type_number(const struct table *t, const void *row)
{
	const struct layout *boxed = ((const struct row *)row)->boxed;

	return boxed ? (uintptr_t)boxed : task_of(t, row)->table;
}

static void draw_type(const struct table *t, const void *row, size_t width, struct strbuf *out)
{
	const struct tree_node boxed = { .type = ((const struct row *)row)->boxed };
	struct strbuf name = STRBUF_INIT;

	if (boxed.type)
		return say_name(&boxed, width, out);
	look_add_type(look_of(t), task_of(t, row), &name);
	shorten_type(out, name.s, width);
	strbuf_release(&name);
}

static uint64_t place_number(const struct table *t, const void *row)
{
	return (uintptr_t)((const struct row *)row)->place;
}

static void draw_place(const struct table *t, const void *row, size_t width, struct strbuf *out)
{
	const struct row *r = row;
	const struct tree_node n = { .type = r->waits, .variant = r->place };

	if (r->place)
		say_place(&n, width, out);
	else
		strbuf_addch(out, '-');
}

static uint64_t leaves_number(const struct table *t, const void *row)
{
	const struct row *r = row;

	return r->has_leaves ? (uint64_t)r->walker << 32 | r->leaves : UINT64_MAX;
}

static void draw_leaves(const struct table *t, const void *row, size_t width, struct strbuf *out)
{
	const struct row *r = row;
	const char *leaves =
		r->has_leaves ? intern_get(list_of(t)->leaves[r->walker], r->leaves) : "-";

	if (strlen(leaves) <= width || t->is_open)
		strbuf_addstr(out, leaves);
	else
		strbuf_addf(out, "%.*s..", (int)MAX(width, (size_t)2) - 2, leaves);
}

static const struct column columns[] = {
	{ .head = "ID", .text = id },
	{ .head = "RUNTIME", .text = runtime, .share = table_number, .rank = 2 },
	{ .head = "KIND", .text = kind, .share = table_number, .rank = 1 },
	{ .head = "STATE", .text = state, .share = state_number },
	{ .head = "TYPE", .draw = draw_type, .share = type_number },
	{ .head = "WAITS AT", .draw = draw_place, .share = place_number },
	{ .head = "FOR", .draw = draw_leaves, .share = leaves_number },
};

struct task_list *task_list_new(struct look *look, const char *filter)
{
	struct task_list *l = xmalloc(sizeof(*l));

	*l = (struct task_list){
		.look = look,
		.say = { .now_ns = look_now(look), .peers = &look->peers },
		.filter = filter,
		.rows = xcalloc(look->census.tasks.nr + 1, sizeof(*l->rows)),
	};
	for (size_t i = 0; i < WALK_MAX_THREADS; i++) {
		l->leaves[i] = intern_new();
		strbuf_init(&l->scratch[i]);
	}
	walk_tasks(&look->census, &(struct walk_opts){ 0 }, on_task, l);
	return l;
}

void task_list_free(struct task_list *l)
{
	for (size_t i = 0; i < WALK_MAX_THREADS; i++) {
		intern_free(l->leaves[i]);
		strbuf_release(&l->scratch[i]);
	}
	free(l->rows);
	free(l);
}

bool task_list_is_empty(const struct task_list *l)
{
	for (size_t i = 0; i < l->look->census.tasks.nr; i++)
		if (l->rows[i].is_shown)
			return false;
	return true;
}

void task_list_text(const struct task_list *l, const struct styles *styles, struct out *out)
{
	struct table t = {
		.columns = columns,
		.nr_columns = ARRAY_SIZE(columns),
		.arg = l,
		.styles = styles,
		.is_ascii = styles->is_ascii,
		.is_open = !styles->is_terminal, /* for grep and files */
		.what = "task",
	};

	for (size_t i = 0; i < l->look->census.tasks.nr; i++)
		if (l->rows[i].is_shown)
			vec_push(&t.rows, &l->rows[i]);
	table_text(&t, styles->width, out);
	vec_release(&t.rows);
}

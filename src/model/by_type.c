// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/by_type.h"

#include <string.h>

#include "base/vec.h"

struct by_type {
	const struct trace_type *types;
	uint32_t nr_types;
	uint32_t *row_of; /* by type, the last one for none; row + 1, 0: none yet */
	VEC(struct by_type_row) rows;
};

struct by_type *by_type_new(const struct trace_type *types, uint32_t nr_types)
{
	struct by_type *b = xcalloc(1, sizeof(*b));

	b->types = types;
	b->nr_types = nr_types;
	b->row_of = xcalloc(nr_types + 1, sizeof(*b->row_of));
	return b;
}

void by_type_free(struct by_type *b)
{
	if (!b)
		return;
	vec_release(&b->rows);
	free(b->row_of);
	free(b);
}

/* Once for each type, so a plain search will do. */
static uint32_t make_row(struct by_type *b, uint16_t type, enum trace_task_kind kind)
{
	const struct trace_type *t = type < b->nr_types ? &b->types[type] : NULL;
	const char *name = t && t->name[0] ? t->name : NULL;
	bool is_exact = name && t->nr_candidates <= 1;

	for (size_t i = 0; is_exact && i < b->rows.nr; i++)
		if (b->rows.v[i].is_exact && b->rows.v[i].kind == kind &&
		    strcmp(b->rows.v[i].name, name) == 0)
			return i + 1;
	vec_push(&b->rows,
		 (struct by_type_row){
			 .type = type, .name = name, .is_exact = is_exact, .kind = kind });
	return b->rows.nr;
}

static struct by_type_row *get_row(struct by_type *b, const struct model_task *t)
{
	uint32_t *index = &b->row_of[MIN(t->key.type, b->nr_types)];

	if (!*index)
		*index = make_row(b, t->key.type, t->kind);
	return &b->rows.v[*index - 1];
}

static void add(struct by_type_row *to, const struct by_type_row *from)
{
	to->nr_tasks += from->nr_tasks;
	to->nr_first_seen += from->nr_first_seen;
	to->polls += from->polls;
	to->max_poll_ns = MAX(to->max_poll_ns, from->max_poll_ns);
	to->blocked_ns += from->blocked_ns;
	to->nr_blocked_polls += from->nr_blocked_polls;
	to->max_blocked_poll_ns = MAX(to->max_blocked_poll_ns, from->max_blocked_poll_ns);
	for (int i = 0; i < MODEL_NR_STATES; i++)
		to->ns[i] += from->ns[i];
	for (int i = 0; i < MODEL_NR_CAUSES; i++)
		to->wakes[i] += from->wakes[i];
	for (int i = 0; i < MODEL_NR_ENDS; i++)
		to->ends[i] += from->ends[i];
}

static void on_task(void *sink, const struct model_task *t)
{
	struct by_type_row one = {
		.nr_tasks = 1,
		.nr_first_seen = !t->spawn_exact,
		.polls = t->polls,
		.max_poll_ns = t->max_poll_ns,
		.blocked_ns = t->blocked_ns,
	};

	one.ends[t->end] = 1;
	memcpy(one.ns, t->ns, sizeof(one.ns));
	memcpy(one.wakes, t->wakes, sizeof(one.wakes));
	add(get_row(sink, t), &one);
}

static void on_run(void *sink, const struct model_run *run)
{
	struct by_type_row *row;

	if (!run->blocked_ns || run->flags)
		return;
	row = get_row(sink, run->task);
	row->nr_blocked_polls++;
	row->max_blocked_poll_ns = MAX(row->max_blocked_poll_ns, run->blocked_ns);
}

const struct model_ops by_type_ops = { .task = on_task, .run = on_run };

static int busier_first(const void *pa, const void *pb)
{
	const struct by_type_row *a = pa, *b = pb;

	if (a->ns[MODEL_RUNNING] != b->ns[MODEL_RUNNING])
		return a->ns[MODEL_RUNNING] < b->ns[MODEL_RUNNING] ? 1 : -1;
	return (a->type > b->type) - (a->type < b->type);
}

const struct by_type_row *by_type_get_rows(struct by_type *b, size_t *nr)
{
	if (b->rows.nr)
		qsort(b->rows.v, b->rows.nr, sizeof(*b->rows.v), busier_first);
	/* rows have moved: later tasks must look again */
	memset(b->row_of, 0, (b->nr_types + 1) * sizeof(*b->row_of));
	for (size_t i = 0; i < b->rows.nr; i++)
		b->row_of[MIN(b->rows.v[i].type, b->nr_types)] = i + 1;
	*nr = b->rows.nr;
	return b->rows.v;
}

struct by_type_row by_type_total(const struct by_type *b)
{
	struct by_type_row total = { 0 };

	for (size_t i = 0; i < b->rows.nr; i++)
		add(&total, &b->rows.v[i]);
	return total;
}

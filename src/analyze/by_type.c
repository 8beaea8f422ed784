// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/by_type.h"

#include <string.h>

struct by_type {
	const struct recording *rec;
	struct by_type_row *rows;
};

struct by_type *by_type_new(const struct recording *rec)
{
	struct by_type *b = xcalloc(1, sizeof(*b));

	b->rec = rec;
	b->rows = xcalloc(rec->nr_groups, sizeof(*b->rows));
	for (uint32_t i = 0; i < rec->nr_groups; i++)
		b->rows[i].group = &rec->groups[i];
	return b;
}

void by_type_row_release(struct by_type_row *row)
{
	histogram_release(&row->poll);
	histogram_release(&row->sched);
	histogram_release(&row->idle);
}

void by_type_free(struct by_type *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->rec->nr_groups; i++)
		by_type_row_release(&b->rows[i]);
	free(b->rows);
	free(b);
}

static struct by_type_row *row_of(struct by_type *b, const struct model_task *t)
{
	return &b->rows[recording_group_of(b->rec, t->key.type)];
}

static void on_spawn(void *sink, const struct model_task *t)
{
	struct by_type_row *row = row_of(sink, t);

	row->nr_live++;
	row->peak = MAX(row->peak, row->nr_live);
}

static void on_end(void *sink, const struct model_task *t)
{
	if (t->end == MODEL_ALIVE)
		on_spawn(sink, t);
	else
		row_of(sink, t)->nr_live--;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct by_type_row *row = row_of(sink, run->task);

	if (run->flags)
		return;
	histogram_add(&row->poll, run->end_ns - run->start_ns);
	if (run->is_gap_known)
		histogram_add(&row->sched, run->sched_ns);
	if (run->is_gap_known && run->idle_ns)
		histogram_add(&row->idle, run->idle_ns);
	if (run->blocked_ns) {
		row->nr_blocked_polls++;
		row->max_blocked_poll_ns = MAX(row->max_blocked_poll_ns, run->blocked_ns);
	}
}

static void on_task(void *sink, const struct model_task *t)
{
	struct by_type_row *row = row_of(sink, t);

	row->nr_tasks++;
	row->nr_first_seen += !t->spawn_exact;
	row->nr_never_polled += !t->polls;
	row->polls += t->polls;
	row->max_poll_ns = MAX(row->max_poll_ns, t->max_poll_ns);
	row->blocked_ns += t->blocked_ns;
	row->ends[t->end]++;
	for (int i = 0; i < MODEL_NR_STATES; i++)
		row->ns[i] += t->ns[i];
	for (int i = 0; i < MODEL_NR_CAUSES; i++)
		row->wakes[i] += t->wakes[i];
}

const struct model_ops by_type_ops = {
	.spawn = on_spawn, .run = on_run, .end = on_end, .task = on_task
};

const struct by_type_row *by_type_get_rows(const struct by_type *b)
{
	return b->rows;
}

static void add(struct by_type_row *to, const struct by_type_row *from)
{
	to->nr_tasks += from->nr_tasks;
	to->nr_first_seen += from->nr_first_seen;
	to->nr_never_polled += from->nr_never_polled;
	to->nr_live += from->nr_live;
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
	histogram_merge(&to->poll, &from->poll);
	histogram_merge(&to->sched, &from->sched);
	histogram_merge(&to->idle, &from->idle);
}

void by_type_get_total(const struct by_type *b, struct by_type_row *total)
{
	memset(total, 0, sizeof(*total));
	for (uint32_t i = 0; i < b->rec->nr_groups; i++)
		add(total, &b->rows[i]);
}

void by_type_get_kind(const struct by_type *b, enum trace_task_kind kind, struct by_type_row *total)
{
	memset(total, 0, sizeof(*total));
	for (uint32_t i = 0; i < b->rec->nr_groups; i++)
		if (b->rows[i].group->kind == kind)
			add(total, &b->rows[i]);
}

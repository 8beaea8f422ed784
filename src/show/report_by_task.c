// SPDX-License-Identifier: MIT OR Apache-2.0
/* `report --by=task`: the tasks that stand first by some number. Percentiles need a second pass. */
#include <assert.h>
#include <string.h>

#include "analyze/by_task.h"
#include "base/utf8.h"
#include "show/report_by.h"

/* Of more tasks than this percentiles are not told: their histograms would fill the memory. */
#define MAX_DETAILED 1000

static_assert(offsetof(struct by_task_row, task) == 0, "as all rows of tasks are");

static const struct model_task *task_of(const void *r)
{
	return r;
}

bool say_task_id(const struct table *t, const void *r, uint64_t *value)
{
	*value = task_of(r)->key.id;
	return true;
}

const char *say_task_name(const struct table *t, const void *r, struct strbuf *scratch)
{
	return task_of(r)->name;
}

const char *say_task_runtime(const struct table *t, const void *r, struct strbuf *scratch)
{
	return recording_type_library(table_rec(t), task_of(r)->key.type);
}

bool say_task_runtime_id(const struct table *t, const void *r, uint64_t *value)
{
	return say_index(task_of(r)->key.runtime, table_rec(t)->nr_runtimes, value);
}

/* Ids repeat in the copies of a runtime. */
bool say_task_copy(const struct table *t, const void *r, uint64_t *value)
{
	return recording_has_runtimes(table_rec(t)) && say_task_runtime_id(t, r, value);
}

const char *say_task_type(const struct table *t, const void *r, struct strbuf *scratch)
{
	return say_type(t, task_of(r)->key.type, scratch);
}

bool say_task_type_id(const struct table *t, const void *r, uint64_t *value)
{
	return say_index(task_of(r)->key.type, table_rec(t)->nr_types, value);
}

const char *say_task_kind(const struct table *t, const void *r, struct strbuf *scratch)
{
	return model_kind_name(task_of(r)->kind);
}

const char *say_task_location(const struct table *t, const void *r, struct strbuf *scratch)
{
	return say_location(t, task_of(r)->key.type, scratch);
}

const char *say_task_spawned_at(const struct table *t, const void *r, struct strbuf *scratch)
{
	char *place = recording_spawn_place(table_rec(t), task_of(r));

	if (!place)
		return NULL;
	strbuf_addstr(scratch, place);
	free(place);
	return scratch->s;
}

bool say_task_parent(const struct table *t, const void *r, uint64_t *value)
{
	*value = task_of(r)->parent.id;
	return task_of(r)->has_parent;
}

const char *say_task_spawn(const struct table *t, const void *r, struct strbuf *scratch)
{
	return task_of(r)->spawn_exact ? "exact" : "first_seen";
}

bool say_task_end_ns(const struct table *t, const void *r, uint64_t *value)
{
	*value = task_of(r)->end_ns;
	return task_of(r)->end != MODEL_ALIVE;
}

const char *say_task_end(const struct table *t, const void *r, struct strbuf *scratch)
{
	return model_end_name(task_of(r)->end);
}

static bool life(const struct table *t, const void *r, uint64_t *value)
{
	*value = task_of(r)->end_ns - task_of(r)->spawn_ns;
	return true;
}

static bool wakes(const struct table *t, const void *r, uint64_t *value)
{
	*value = 0;
	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++)
		*value += task_of(r)->wakes[i];
	return true;
}

static const struct histogram *poll(const void *r)
{
	const struct by_task_row *row = r;

	return row->detail ? &row->detail->poll : NULL;
}

static const struct histogram *sched(const void *r)
{
	const struct by_task_row *row = r;

	return row->detail ? &row->detail->sched : NULL;
}

static const struct histogram *idle(const void *r)
{
	const struct by_task_row *row = r;

	return row->detail ? &row->detail->idle : NULL;
}

/* A name that leaves its type no room is left out. */
void draw_task(const struct table *t, const void *r, size_t width, struct strbuf *out)
{
	const char *given = task_of(r)->name;
	size_t start = out->len, used;

	if (given) {
		strbuf_addch(out, '"');
		strbuf_add_clean(out, given, strlen(given));
		strbuf_addstr(out, "\" ");
	}
	used = utf8_columns(out->s + start, out->len - start);
	if (used > width / 2) {
		out->len = start;
		used = 0;
	}
	draw_type(t, task_of(r)->key.type, true, width - used, out);
}

static bool is_judged(const struct table *t, const void *r)
{
	return may_not_block(task_of(r)->kind);
}

#define AT(member) .at = offsetof(struct by_task_row, task.member)

static const struct column columns[] = {
	COLUMNS_OF_IDENTITY,
	{ .key = "parent",
	  .head = "PARENT",
	  .unit = COLUMN_NUMBER,
	  .rank = 9,
	  .number = say_task_parent },
	{ .key = "spawn", .text = say_task_spawn },
	{ .key = "spawn_ns", .head = "START", .unit = COLUMN_NS, .rank = 10, AT(spawn_ns) },
	{ .key = "end_ns", .unit = COLUMN_NS, .number = say_task_end_ns },
	{ .key = "end", .head = "END", .rank = 1, .text = say_task_end },
	{ .key = "life_ns", .head = "LIFE", .unit = COLUMN_NS, .number = life },
	{ .key = "polls", .head = "POLLS", AT(polls) },
	{ .key = "wakes", .head = "WAKES", .rank = 6, .number = wakes },
	{ .key = "self_wakes",
	  .head = "SELF",
	  .rank = 7,
	  .hides_zero = true,
	  AT(wakes[MODEL_BY_SELF]) },
	COLUMNS_OF_WAKERS,
	COLUMNS_OF_STATES(3, 4, 40),
	COLUMN_BLOCKED(5),
	{ .key = "max_poll_ns",
	  .head = "MAXPOLL",
	  .unit = COLUMN_NS,
	  .warn = SLOW_NS,
	  .bad = VERY_SLOW_NS,
	  AT(max_poll_ns) },
	{ .key = "max_sched_ns",
	  .head = "MAXSCHED",
	  .unit = COLUMN_NS,
	  .rank = 2,
	  .warn = SLOW_NS,
	  .bad = VERY_SLOW_NS,
	  AT(max_sched_ns) },
	{ .key = "max_blocked_ns", .unit = COLUMN_NS, AT(max_blocked_ns) },
	COLUMNS_OF_VALUES("poll", "POLL", poll, 20, 26, 21, 29, 22, true, SLOW_NS, VERY_SLOW_NS),
	COLUMNS_OF_VALUES("sched", "SCHED", sched, 27, 28, 23, 30, 36, true, SLOW_NS, VERY_SLOW_NS),
	COLUMNS_OF_VALUES("idle", "IDLE", idle, 31, 32, 33, 34, 37, true, 0, 0),
	{ .head = "TYPE", .draw = draw_task },
};

/* By which tasks are chosen: as the rows are sorted. */
static uint64_t rank_of(void *arg, const struct by_task_row *row)
{
	return table_rank(arg, row);
}

static void init(struct report_table *t)
{
	t->state = by_task_new(t->limit, rank_of, t);
	vec_push(&t->sinks, (struct recording_sink){ &by_task_ops, t->state });
}

static void finish(struct report_table *t, struct analyzer *a)
{
	size_t nr;
	const struct by_task_row *rows = by_task_get_rows(t->state, &nr);

	for (size_t i = 0; i < nr; i++)
		vec_push(&t->table.rows, &rows[i]);
	t->nr_in_all = by_task_get_nr_seen(t->state);
	if (!nr)
		return;
	by_task_want_detail(t->state, MAX_DETAILED);
	vec_push(&t->second, (struct recording_sink){ &by_task_detail_ops, t->state });
}

static void release(void *state)
{
	by_task_free(state);
}

const struct table_kind table_by_task = {
	.name = "task",
	.summary = "the first tasks by some number",
	.what = "task",
	.sort = "busy",
	.limit = 20,
	.data_limit = MAX_DETAILED,
	.columns = columns,
	.nr_columns = ARRAY_SIZE(columns),
	.chooses_early = true,
	.is_judged = is_judged,
	.init = init,
	.finish = finish,
	.release = release,
};

// SPDX-License-Identifier: MIT OR Apache-2.0
/* `report --by=thread` and `--by=worker`: what each thread, or each worker, did all the time. */
#include <assert.h>

#include "analyze/by_thread.h"
#include "show/report_by.h"

static_assert(offsetof(struct by_thread_row, thread) == 0, "as all rows of threads are");

static const struct model_thread *thread_of(const void *r)
{
	return r;
}

bool say_thread_number(const struct table *t, const void *r, uint64_t *value)
{
	*value = thread_of(r)->thread;
	return true;
}

bool say_thread_tid(const struct table *t, const void *r, uint64_t *value)
{
	*value = recording_thread_tid(table_rec(t), thread_of(r)->thread);
	return true;
}

const char *say_thread_name(const struct table *t, const void *r, struct strbuf *scratch)
{
	return recording_thread_name(table_rec(t), thread_of(r)->thread);
}

static const char *thread_kind(const struct table *t, const void *r, struct strbuf *scratch)
{
	return model_thread_kind_name(thread_of(r)->kind);
}

const char *say_thread_runtime(const struct table *t, const void *r, struct strbuf *scratch)
{
	uint32_t nr = thread_of(r)->runtime;

	return nr < table_rec(t)->nr_runtimes ? table_rec(t)->runtimes[nr].name : NULL;
}

const char *say_thread_runtime_label(const struct table *t, const void *r, struct strbuf *scratch)
{
	uint32_t nr = thread_of(r)->runtime;
	char *name;

	if (nr >= table_rec(t)->nr_runtimes || !recording_has_runtimes(table_rec(t)))
		return say_thread_runtime(t, r, scratch);
	name = recording_runtime_name(table_rec(t), nr);
	strbuf_addstr(scratch, name);
	free(name);
	return scratch->s;
}

bool say_thread_runtime_id(const struct table *t, const void *r, uint64_t *value)
{
	return say_index(thread_of(r)->runtime, table_rec(t)->nr_runtimes, value);
}

static uint64_t permille(const struct table *t, uint64_t ns)
{
	uint64_t all = table_owner(t)->duration_ns;

	return all ? (double)ns / all * 1000 + 0.5 : 0;
}

static bool busy(const struct table *t, const void *r, uint64_t *value)
{
	*value = permille(t, thread_of(r)->busy_ns);
	return true;
}

static bool asleep(const struct table *t, const void *r, uint64_t *value)
{
	*value = permille(t, thread_of(r)->asleep_ns);
	return true;
}

/* Neither in a task nor in the kernel: the runtime's own work, or there was no such thread. */
static bool rest_ns(const struct table *t, const void *r, uint64_t *value)
{
	uint64_t all = table_owner(t)->duration_ns;
	uint64_t used = thread_of(r)->busy_ns + thread_of(r)->asleep_ns;

	*value = all > used ? all - used : 0;
	return true;
}

static bool rest(const struct table *t, const void *r, uint64_t *value)
{
	rest_ns(t, r, value);
	*value = permille(t, *value);
	return true;
}

static const struct histogram *poll(const void *r)
{
	return &((const struct by_thread_row *)r)->poll;
}

static bool is_judged(const struct table *t, const void *r)
{
	return thread_of(r)->kind != MODEL_BLOCKING;
}

#define AT(member) .at = offsetof(struct by_thread_row, thread.member)
#define SHARE(HEAD, FN)                                                                     \
	{                                                                                   \
		.head = HEAD, .group = "OF THE TIME", .unit = COLUMN_PERMILLE, .number = FN \
	}

static const struct column columns[] = {
	{ .key = "thread", .number = say_thread_number },
	{ .key = "tid", .head = "TID", .unit = COLUMN_NUMBER, .number = say_thread_tid },
	{ .key = "kind", .head = "KIND", .text = thread_kind },
	{ .head = "RUNTIME", .rank = 8, .text = say_thread_runtime_label },
	{ .key = "runtime", .text = say_thread_runtime },
	{ .key = "runtime_id", .number = say_thread_runtime_id },
	{ .key = "polls", .head = "POLLS", AT(polls) },
	SHARE("BUSY", busy),
	SHARE("ASLEEP", asleep),
	SHARE("REST", rest),
	{ .key = "busy_ns", .unit = COLUMN_NS, AT(busy_ns) },
	{ .key = "asleep_ns", .unit = COLUMN_NS, AT(asleep_ns) },
	{ .key = "rest_ns", .unit = COLUMN_NS, .number = rest_ns },
	{ .key = "sleeps", .head = "SLEEPS", .rank = 6, AT(sleeps) },
	COLUMN_BLOCKED(2),
	{ .key = "blocks", .head = "BLOCKS", .rank = 7, .hides_zero = true, AT(nr_blocks) },
	{ .key = "max_blocked_ns", .unit = COLUMN_NS, AT(max_blocked_ns) },
	COLUMNS_OF_VALUES("poll", "POLL", poll, 1, 4, 1, 0, 3, false, SLOW_NS, VERY_SLOW_NS),
	{ .key = "name", .head = "NAME", .text = say_thread_name },
};

static void init(struct report_table *t)
{
	t->state = by_thread_new();
	vec_push(&t->sinks, (struct recording_sink){ &by_thread_ops, t->state });
}

static void add_rows(struct report_table *t, bool workers_only)
{
	size_t nr;
	const struct by_thread_row *rows = by_thread_get_rows(t->state, &nr);

	for (size_t i = 0; i < nr; i++)
		if (!workers_only || rows[i].thread.kind == MODEL_WORKER)
			vec_push(&t->table.rows, &rows[i]);
}

static void finish_threads(struct report_table *t, struct analyzer *a)
{
	add_rows(t, false);
}

static void finish_workers(struct report_table *t, struct analyzer *a)
{
	add_rows(t, true);
}

static void release(void *state)
{
	by_thread_free(state);
}

const struct table_kind table_by_thread = {
	.name = "thread",
	.summary = "each thread that had an event",
	.what = "thread",
	.empty = "No thread had an event.",
	.sort = "busy",
	.limit = 40,
	.columns = columns,
	.nr_columns = ARRAY_SIZE(columns),
	.is_judged = is_judged,
	.init = init,
	.finish = finish_threads,
	.release = release,
};

const struct table_kind table_by_worker = {
	.name = "worker",
	.summary = "each worker of a runtime",
	.what = "worker",
	.empty = "No thread was seen to be a worker.",
	.sort = "busy",
	.limit = 40,
	.columns = columns,
	.nr_columns = ARRAY_SIZE(columns),
	.is_judged = is_judged,
	.init = init,
	.finish = finish_workers,
	.release = release,
};

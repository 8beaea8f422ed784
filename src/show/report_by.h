// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How to add a table to `futrace report --by=NAME`: one file show/report_by_NAME.c with one `const
 * struct table_kind table_by_NAME`, and one line in TABLES. The kind says what it listens to, what
 * its rows are and what its columns know of them; sorting, limits and all forms are done for it.
 */
#ifndef SHOW_REPORT_BY_H
#define SHOW_REPORT_BY_H

#include "show/report_tables.h"
#include "show/table.h"

/* clang-format off */
#define TABLES \
	TABLE(type) \
	TABLE(task) \
	TABLE(spawn) \
	TABLE(worker) \
	TABLE(thread) \
	TABLE(wake) \
	TABLE(await) \
	TABLE(future) \
	TABLE(mark) \
	TABLE(machine)
/* clang-format on */

struct report_table;

/* A number of the whole table: a line of text, and a member of the JSON. */
struct table_sum {
	const char *key, *text;
	uint64_t (*get)(const struct report_table *t);
	enum column_unit unit;
};

struct table_kind {
	const char *name, *summary;
	const char *what;  /* a row is one: "type" */
	const char *empty; /* said when there is none, unless the table knows better; NULL: there is
			      no task */
	const char *sort;  /* the usual key */
	uint64_t limit, data_limit; /* usual ones, as text and as data; 0: none */
	const struct column *columns;
	size_t nr_columns;
	bool chooses_early;					   /* see struct table */
	bool (*is_judged)(const struct table *t, const void *row); /* see struct table */
	/* Makes t->state and adds its sinks. NULL, as is release: the analyzer has it all. */
	void (*init)(struct report_table *t);
	/* After the pass: adds the rows, which stay valid until release; may ask for a second. */
	void (*finish)(struct report_table *t, struct analyzer *a);
	void (*release)(void *state);
	/* All that is known of a row, for --verbose; NULL: lines as long as need be do. */
	void (*tell)(const struct report_table *t, const void *row, struct out *out);
	/*
	 * A report of several tables has more *parts* behind this first one, to NULL, each sorted
	 * and limited on its own. They share its state, and have neither init nor release: finish
	 * adds their rows. Then come sums, as many as have a key.
	 */
	const struct table_kind *const *parts;
	const struct table_sum *sums;
	const char *head; /* over a part, as text */
};

#define TABLE(name) extern const struct table_kind table_by_##name;
TABLES
#undef TABLE

struct report_table {
	const struct table_kind *kind;
	const struct recording *rec;
	const struct report_table_opts *opts;
	const struct column *sort;
	bool is_reverse;
	uint64_t limit;	   /* of rows; 0: none */
	const char *empty; /* why there is none; NULL: because there is no task */
	const char *note;  /* under the table, or NULL; finish may set it */
	struct table table;
	void *state;
	VEC(struct recording_sink) sinks, second;
	VEC(struct report_table *) parts; /* made before init */
	uint64_t nr_in_all;		  /* rows, those past the limit too */
	const struct model *model;	  /* once it was read */
	uint64_t duration_ns;		  /* of what was read */
};

static inline const struct report_table *table_owner(const struct table *t)
{
	return t->arg;
}

static inline const struct recording *table_rec(const struct table *t)
{
	return table_owner(t)->rec;
}

/* By which a table that chooses early does so: as its rows are sorted, greatest first. */
uint64_t table_rank(const struct report_table *t, const void *row);

/* What several tables say. Types are numbers of the trace's types, as tasks have them. */
const char *say_type(const struct table *t, uint16_t type, struct strbuf *scratch);
const char *say_location(const struct table *t, uint16_t type, struct strbuf *scratch);
bool say_index(uint32_t index, uint32_t nr, uint64_t *value); /* false: there is none */
/*
 * "serve::{closure#0} (local)", a number behind it where the name does not tell types apart; then
 * the place of its definition, if that is wanted and there is room.
 */
void draw_type(const struct table *t, uint16_t type, bool with_place, size_t width,
	       struct strbuf *out);
/* Sleeping is what closures on the blocking pool are for; in a task it holds up a worker. */
bool may_not_block(enum trace_task_kind kind);

/* What tables say of their rows, which begin with a struct model_task. */
bool say_task_id(const struct table *t, const void *row, uint64_t *value);
const char *say_task_runtime(const struct table *t, const void *row, struct strbuf *scratch);
bool say_task_runtime_id(const struct table *t, const void *row, uint64_t *value);
bool say_task_copy(const struct table *t, const void *row, uint64_t *value);
const char *say_task_type(const struct table *t, const void *row, struct strbuf *scratch);
bool say_task_type_id(const struct table *t, const void *row, uint64_t *value);
const char *say_task_kind(const struct table *t, const void *row, struct strbuf *scratch);
const char *say_task_name(const struct table *t, const void *row, struct strbuf *scratch);
const char *say_task_location(const struct table *t, const void *row, struct strbuf *scratch);
const char *say_task_spawned_at(const struct table *t, const void *row, struct strbuf *scratch);
bool say_task_parent(const struct table *t, const void *row, uint64_t *value);
const char *say_task_spawn(const struct table *t, const void *row, struct strbuf *scratch);
const char *say_task_end(const struct table *t, const void *row, struct strbuf *scratch);
bool say_task_end_ns(const struct table *t, const void *row, uint64_t *value);
void draw_task(const struct table *t, const void *row, size_t width, struct strbuf *out);

/* … which begin with a struct model_thread. */
bool say_thread_number(const struct table *t, const void *row, uint64_t *value);
bool say_thread_tid(const struct table *t, const void *row, uint64_t *value);
const char *say_thread_name(const struct table *t, const void *row, struct strbuf *scratch);
const char *say_thread_runtime(const struct table *t, const void *row, struct strbuf *scratch);
const char *say_thread_runtime_label(const struct table *t, const void *row,
				     struct strbuf *scratch);
bool say_thread_runtime_id(const struct table *t, const void *row, uint64_t *value);

/* Who a task is, and where it comes from. */
#define COLUMNS_OF_IDENTITY                                                                       \
	{ .key = "id", .head = "ID", .unit = COLUMN_NUMBER, .number = say_task_id },              \
		{ .key = "name", .text = say_task_name },                                         \
		{ .head = "RUNTIME", .unit = COLUMN_NUMBER, .rank = 1, .number = say_task_copy }, \
		{ .key = "runtime", .text = say_task_runtime },                                   \
		{ .key = "runtime_id", .number = say_task_runtime_id },                           \
		{ .key = "type", .text = say_task_type },                                         \
		{ .key = "type_id", .number = say_task_type_id },                                 \
		{ .key = "kind", .text = say_task_kind },                                         \
		{ .key = "location", .text = say_task_location },                                 \
	{                                                                                         \
		.key = "spawned_at", .text = say_task_spawned_at                                  \
	}

/* From where on a poll, or the wait for one, is worth a look and is a fault. */
#define SLOW_NS	     UINT64_C(1000000)
#define VERY_SLOW_NS UINT64_C(10000000)

/* Columns that several tables have. Their files say where a number lies in the row: AT(member). */
#define COLUMN_DATA(KEY, member)       \
	{                              \
		.key = KEY, AT(member) \
	}
#define COLUMN_TIME(KEY, HEAD, member, RANK)                                                   \
	{                                                                                      \
		.key = KEY, .head = HEAD, .unit = COLUMN_NS, .rank = RANK, .hides_zero = true, \
		AT(member)                                                                     \
	}
#define COLUMN_BLOCKED(RANK)                                                             \
	{                                                                                \
		.key = "blocked_ns", .head = "BLOCKED", .unit = COLUMN_NS, .rank = RANK, \
		.hides_zero = true, .warn = 1, .bad = SLOW_NS, AT(blocked_ns)            \
	}
#define COLUMNS_OF_STATES(R_SCHED, R_IDLE, R_UNKNOWN)                           \
	COLUMN_TIME("busy_ns", "BUSY", ns[MODEL_RUNNING], 0),                   \
		COLUMN_TIME("sched_ns", "SCHED", ns[MODEL_SCHEDULED], R_SCHED), \
		COLUMN_TIME("idle_ns", "IDLE", ns[MODEL_IDLE], R_IDLE),         \
		COLUMN_TIME("unknown_ns", "UNKNOWN", ns[MODEL_UNKNOWN], R_UNKNOWN)
#define COLUMNS_OF_ENDS                                          \
	COLUMN_DATA("completed", ends[MODEL_COMPLETED]),         \
		COLUMN_DATA("cancelled", ends[MODEL_CANCELLED]), \
		COLUMN_DATA("panicked", ends[MODEL_PANICKED]),   \
		COLUMN_DATA("dropped", ends[MODEL_DROPPED])
#define COLUMNS_OF_WAKERS                                               \
	COLUMN_DATA("wakes_by_task", wakes[MODEL_BY_TASK]),             \
		COLUMN_DATA("wakes_by_worker", wakes[MODEL_BY_WORKER]), \
		COLUMN_DATA("wakes_by_thread", wakes[MODEL_BY_THREAD]), \
		COLUMN_DATA("wakes_by_abort", wakes[MODEL_BY_ABORT])

/* Five columns of values: p50, p90, p99, the greatest, and a picture; each with its rank. */
#define COLUMNS_OF_VALUES(NAME, GROUP, FN, R50, R90, R99, RMAX, RPICTURE, LATE, WARN, BAD)       \
	COLUMN_PERCENTILE(NAME "_p50_ns", GROUP, "P50", FN, 50, R50, LATE, WARN, BAD),           \
		COLUMN_PERCENTILE(NAME "_p90_ns", GROUP, "P90", FN, 90, R90, LATE, WARN, BAD),   \
		COLUMN_PERCENTILE(NAME "_p99_ns", GROUP, "P99", FN, 99, R99, LATE, WARN, BAD),   \
		COLUMN_PERCENTILE(NAME "_max_ns", GROUP, "MAX", FN, 100, RMAX, LATE, WARN, BAD), \
	{                                                                                        \
		.key = NAME "_histogram", .head = TABLE_PICTURE_HEAD, .group = GROUP,            \
		.values = FN, .rank = RPICTURE                                                   \
	}
#define COLUMN_PERCENTILE(KEY, GROUP, HEAD, FN, PERCENT, RANK, LATE, WARN, BAD)             \
	{                                                                                   \
		.key = KEY, .head = HEAD, .group = GROUP, .unit = COLUMN_NS, .values = FN,  \
		.percent = PERCENT, .rank = RANK, .is_late = LATE, .warn = WARN, .bad = BAD \
	}

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The tasks of the table: all of them, or the most telling MAX_TASKS. They lie in a heap whose
 * first is the least telling one, which leaves when a better one comes.
 */
#include "export/html.h"

#define MAX_TASKS 20000u

struct row {
	uint64_t weight;
	struct model_task task;
};

struct html_tasks {
	const struct recording *rec;
	const struct finding *findings;
	size_t nr_findings;
	VEC(struct row) rows;
};

struct html_tasks *html_tasks_new(const struct recording *rec, const struct finding *findings,
				  size_t nr_findings)
{
	struct html_tasks *t = xcalloc(1, sizeof(*t));

	t->rec = rec;
	t->findings = findings;
	t->nr_findings = nr_findings;
	return t;
}

void html_tasks_free(struct html_tasks *t)
{
	if (!t)
		return;
	vec_release(&t->rows);
	free(t);
}

/* One long poll or wait tells more than the same time in small pieces. */
static uint64_t weigh(const struct html_tasks *t, const struct model_task *task)
{
	uint64_t weight = task->max_poll_ns + task->max_sched_ns + task->blocked_ns +
			  (task->ns[MODEL_RUNNING] + task->ns[MODEL_SCHEDULED]) / 16;

	for (size_t i = 0; i < t->nr_findings; i++) {
		const struct finding *f = &t->findings[i];

		if (f->has_task && f->task.id == task->key.id && f->task.type == task->key.type &&
		    f->task.runtime == task->key.runtime)
			return UINT64_MAX;
	}
	return task->end == MODEL_PANICKED ? UINT64_MAX / 2 : MIN(weight, UINT64_MAX / 4);
}

static void rise(struct row *rows, size_t i)
{
	struct row row = rows[i];

	for (; i && rows[(i - 1) / 2].weight > row.weight; i = (i - 1) / 2)
		rows[i] = rows[(i - 1) / 2];
	rows[i] = row;
}

static void sink_down(struct row *rows, size_t nr)
{
	struct row row = rows[0];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < nr) {
		if (child + 1 < nr && rows[child + 1].weight < rows[child].weight)
			child++;
		if (rows[child].weight >= row.weight)
			break;
		rows[i] = rows[child];
		i = child;
	}
	rows[i] = row;
}

static void on_task(void *sink, const struct model_task *task)
{
	struct html_tasks *t = sink;
	struct row row = { weigh(t, task), *task };

	if (t->rows.nr < MAX_TASKS) {
		vec_push(&t->rows, row);
		rise(t->rows.v, t->rows.nr - 1);
	} else if (row.weight > t->rows.v[0].weight) {
		t->rows.v[0] = row;
		sink_down(t->rows.v, t->rows.nr);
	}
}

const struct model_ops html_tasks_ops = { .task = on_task };

#define GETTER(name, value)                                        \
	static uint64_t name(const void *arg, size_t i)            \
	{                                                          \
		const struct html_tasks *all = arg;                \
		const struct model_task *t = &all->rows.v[i].task; \
                                                                   \
		return value;                                      \
	}
#define DOUBLE(name, value) GETTER(name, html_bits_of(value))

GETTER(get_nr, t->nr)
GETTER(get_group, recording_group_of(all->rec, t->key.type))
GETTER(get_end, t->end)
GETTER(get_exact, t->spawn_exact)
DOUBLE(get_id, t->key.id)
DOUBLE(get_parent, t->has_parent ? (double)t->parent.id : -1)
DOUBLE(get_spawn_ns, t->spawn_ns)
DOUBLE(get_end_ns, t->end_ns)
DOUBLE(get_polls, t->polls)
DOUBLE(get_busy, t->ns[MODEL_RUNNING])
DOUBLE(get_sched, t->ns[MODEL_SCHEDULED])
DOUBLE(get_idle, t->ns[MODEL_IDLE])
DOUBLE(get_unknown, t->ns[MODEL_UNKNOWN])
DOUBLE(get_blocked, t->blocked_ns)
DOUBLE(get_max_poll, t->max_poll_ns)
DOUBLE(get_max_sched, t->max_sched_ns)
DOUBLE(get_wakes, model_sum_wakes(t->wakes))
DOUBLE(get_self_wakes, t->wakes[MODEL_BY_SELF])

void html_tasks_pack(struct html_tasks *t, struct html_pack *pack)
{
	static const struct {
		const char *name;
		unsigned width;
		uint64_t (*get)(const void *arg, size_t i);
	} columns[] = {
		{ "task.nr", 4, get_nr },
		{ "task.group", 2, get_group },
		{ "task.end", 1, get_end },
		{ "task.exact", 1, get_exact },
		{ "task.id", 8, get_id },
		{ "task.parent", 8, get_parent },
		{ "task.spawn_ns", 8, get_spawn_ns },
		{ "task.end_ns", 8, get_end_ns },
		{ "task.polls", 8, get_polls },
		{ "task.busy", 8, get_busy },
		{ "task.sched", 8, get_sched },
		{ "task.idle", 8, get_idle },
		{ "task.unknown", 8, get_unknown },
		{ "task.blocked", 8, get_blocked },
		{ "task.max_poll", 8, get_max_poll },
		{ "task.max_sched", 8, get_max_sched },
		{ "task.wakes", 8, get_wakes },
		{ "task.self_wakes", 8, get_self_wakes },
	};

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		html_pack_put(pack,
			      (struct html_column){ columns[i].name, columns[i].width, t->rows.nr },
			      columns[i].get, t);
}

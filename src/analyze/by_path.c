// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/by_path.h"

#include "base/map.h"
#include "base/vec.h"

/* Of a live task, by its slot. */
struct stand {
	uint64_t nr;		    /* of the task + 1; 0: nobody's yet */
	uint64_t idle_ns, sched_ns; /* before its runs */
	uint64_t poll_ns;	    /* of its last run */
	uint32_t path;		    /* that its last run began at */
	enum model_cause cause;	    /* of its last run */
	bool was_idle;		    /* before it */
};

struct by_path {
	const struct recording *rec;
	struct by_path_row *rows;
	struct path_seats seats;
	uint64_t *nr_tasks; /* by point */
	struct map counted; /* slot and point -> number of the task + 1 that was counted */
	struct map index;   /* from, to and cause -> place in changes */
	VEC(struct by_path_change) changes;
	VEC(struct stand) stands;
	struct by_path_rest rest;
};

struct by_path *by_path_new(const struct recording *rec)
{
	struct by_path *b = xcalloc(1, sizeof(*b));

	b->rec = rec;
	b->rows = xcalloc((size_t)rec->nr_paths + 1, sizeof(*b->rows));
	b->nr_tasks = xcalloc((size_t)rec->awaits.nr_points + 1, sizeof(*b->nr_tasks));
	path_seats_init(&b->seats, &rec->awaits, rec->paths, rec->nr_paths);
	return b;
}

void by_path_free(struct by_path *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->rec->nr_paths; i++)
		histogram_release(&b->rows[i].wait);
	free(b->rows);
	free(b->nr_tasks);
	path_seats_release(&b->seats);
	map_release(&b->counted);
	map_release(&b->index);
	vec_release(&b->changes);
	vec_release(&b->stands);
	free(b);
}

/* Causes need three bits, paths sixteen, and what else comes after a path is told by the high ones.
 */
static void change(struct by_path *b, const struct stand *s, uint32_t to)
{
	bool was_there;
	uint64_t *at;

	if (s->path >= b->rec->nr_paths && to >= b->rec->nr_paths)
		return;
	at = map_put(&b->index,
		     (uint64_t)s->path << 36 | (uint64_t)s->was_idle << 35 |
			     (uint64_t)s->cause << 32 | to,
		     &was_there);
	if (unlikely(!was_there)) {
		*at = b->changes.nr;
		vec_push(&b->changes, (struct by_path_change){ .from = s->path,
							       .to = to,
							       .cause = s->cause,
							       .was_idle = s->was_idle });
	}
	b->changes.v[*at].nr++;
	b->changes.v[*at].poll_ns += s->poll_ns;
}

/* A helper that was only recognised later: nobody tells its end. */
static void forget(struct by_path *b, struct stand *s)
{
	if (s->nr)
		change(b, s, BY_PATH_UNKNOWN);
	s->nr = 0;
}

static struct stand *stand_of(struct by_path *b, const struct model_task *t)
{
	struct stand *s;

	while (unlikely(b->stands.nr <= t->slot))
		vec_push(&b->stands, (struct stand){ 0 });
	s = &b->stands.v[t->slot];
	if (unlikely(s->nr != t->nr + 1)) {
		forget(b, s);
		*s = (struct stand){ .nr = t->nr + 1, .path = BY_PATH_UNKNOWN };
	}
	return s;
}

static void count_task(struct by_path *b, const struct model_task *t, uint32_t path)
{
	for (uint32_t i = b->seats.first[path]; i < b->seats.first[path + 1]; i++) {
		uint32_t point = b->seats.v[i];
		uint64_t *nr = map_put(&b->counted, (uint64_t)t->slot << 32 | point, NULL);

		b->nr_tasks[point] += *nr != t->nr + 1;
		*nr = t->nr + 1;
	}
}

static void add_wait(struct by_path_row *row, const struct model_task *task, uint64_t end_ns,
		     uint64_t idle_ns, uint64_t sched_ns)
{
	uint64_t ns = idle_ns + sched_ns, start_ns = end_ns - ns;

	histogram_add(&row->wait, ns);
	row->idle_ns += idle_ns;
	row->sched_ns += sched_ns;
	if (row->wait.nr == 1 || start_ns < row->start_ns)
		row->start_ns = start_ns;
	row->end_ns = MAX(row->end_ns, end_ns);
	if (row->wait.nr == 1 || ns > row->longest_ns) { /* all may be 0 */
		row->longest_ns = ns;
		row->longest_at_ns = start_ns;
		row->longest = task->key;
	}
}

static void add_group(struct by_path_row *row, uint32_t group)
{
	if (unlikely(!row->nr++))
		row->group = group;
	row->is_mixed |= row->group != group;
}

static void add_run(struct by_path_row *row, const struct model_run *run)
{
	if (unlikely(run->flags)) {
		row->nr_drops++;
		return;
	}
	row->nr_polls++;
	row->poll_ns += run->end_ns - run->start_ns;
	if (run->waker)
		row->wakes[run->waker->cause]++;
}

/* A wait, but nobody knows where. Before its first run a task waits for nothing but a worker. */
static void add_rest(struct by_path *b, const struct model_run *run)
{
	if (run->is_first || run->task->kind == TRACE_BLOCKING)
		return;
	b->rest.nr++;
	b->rest.ns += run->idle_ns + run->sched_ns;
}

/* The path of a root is not known before its first poll is over. */
static bool is_beginning(const struct model_run *run)
{
	return run->is_first && run->task->spawn_exact;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct by_path *b = sink;
	struct stand *s = stand_of(b, run->task);
	uint32_t path = run->path == MODEL_NO_PATH ? BY_PATH_UNKNOWN : run->path;
	bool is_lost = path == BY_PATH_UNKNOWN && run->flags;

	s->idle_ns += run->idle_ns;
	s->sched_ns += run->sched_ns;
	change(b, s, is_lost ? BY_PATH_ENDS + MODEL_DROPPED : path);
	if (path == BY_PATH_UNKNOWN) {
		add_rest(b, run);
	} else {
		add_group(&b->rows[path], recording_group_of(b->rec, run->task->key.type));
		if (run->is_gap_known)
			add_wait(&b->rows[path], run->task, run->start_ns, run->idle_ns,
				 run->sched_ns);
		else
			b->rows[path].nr_unknown++;
		add_run(&b->rows[path], run);
		if (s->path != path)
			count_task(b, run->task, path);
	}
	s->path = path == BY_PATH_UNKNOWN && is_beginning(run) ? BY_PATH_BEGINS : path;
	s->poll_ns = run->end_ns - run->start_ns;
	s->cause = run->waker ? run->waker->cause : MODEL_NR_CAUSES;
	s->was_idle = run->idle_ns;
	if (unlikely(run->flags)) {
		change(b, s, BY_PATH_DROPS);
		s->path = BY_PATH_UNKNOWN;
	}
}

/* It still waits, and somebody saw where. */
static void add_open_wait(struct by_path *b, struct stand *s, const struct model_task *t,
			  uint64_t idle_ns, uint64_t sched_ns)
{
	struct by_path_row *row = &b->rows[t->last_path];

	add_group(row, recording_group_of(b->rec, t->key.type));
	add_wait(row, t, t->end_ns, idle_ns, sched_ns);
	row->nr_open++;
	if (s->path != t->last_path)
		count_task(b, t, t->last_path);
	change(b, s, t->last_path);
	s->path = t->last_path;
	s->poll_ns = 0;
	s->cause = MODEL_NR_CAUSES;
	s->was_idle = idle_ns;
}

static uint64_t rest_of(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* What lies behind its last run. A task that is over was not seen to run again. */
static void add_last_wait(struct by_path *b, struct stand *s, const struct model_task *t)
{
	uint64_t idle_ns = rest_of(t->ns[MODEL_IDLE], s->idle_ns);
	uint64_t sched_ns = rest_of(t->ns[MODEL_SCHEDULED], s->sched_ns), ns = idle_ns + sched_ns;

	if (ns && t->last_path != MODEL_NO_PATH) {
		add_open_wait(b, s, t, idle_ns, sched_ns);
	} else if (!t->polls || t->kind == TRACE_BLOCKING || !ns) {
		return;
	} else if (t->end == MODEL_ALIVE) {
		b->rest.nr_open++;
		b->rest.open_ns += ns;
	} else {
		b->rest.nr++;
		b->rest.ns += ns;
	}
}

static void on_task(void *sink, const struct model_task *t)
{
	struct by_path *b = sink;
	struct stand *s = stand_of(b, t);

	add_last_wait(b, s, t);
	change(b, s, BY_PATH_ENDS + t->end);
	s->nr = 0;
}

const struct model_ops by_path_ops = { .run = on_run, .task = on_task };

void by_path_finish(struct by_path *b)
{
	vec_each (s, &b->stands)
		forget(b, s);
}

const struct by_path_row *by_path_get_rows(const struct by_path *b)
{
	return b->rows;
}

const struct by_path_change *by_path_get_changes(const struct by_path *b, size_t *nr)
{
	*nr = b->changes.nr;
	return b->changes.v;
}

const uint64_t *by_path_get_nr_tasks(const struct by_path *b)
{
	return b->nr_tasks;
}

const struct by_path_rest *by_path_get_rest(const struct by_path *b)
{
	return &b->rest;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/* A part of a recording, read from its start on or up to some moment. */
#include "unit.h"

#include "script.h"

#define NR_TASKS   9
#define NR_WORKERS 2
#define WAKER	   NR_WORKERS /* the thread that wakes tasks */
#define NR_EVENTS  400

/* All that was told of a part, added up. */
struct sums {
	uint64_t ns[MODEL_NR_STATES], polls, wakes, blocked_ns, life_ns;
	uint64_t run_ns, nr_runs, nr_open, nr_spawns, nr_tasks, nr_ended;
	uint64_t sched_ns, idle_ns; /* before the runs */
	uint64_t busy_ns, asleep_ns, thread_blocked_ns, thread_polls;
	uint64_t max_poll_ns, slept_ns;
	bool is_ordered; /* spawn before run and task */
	bool was_spawned[64];
};

static void sum_spawn(void *sink, const struct model_task *t)
{
	struct sums *s = sink;

	s->nr_spawns++;
	s->is_ordered &= !s->was_spawned[t->key.id];
	s->was_spawned[t->key.id] = true;
}

static void sum_run(void *sink, const struct model_run *r)
{
	struct sums *s = sink;

	s->nr_runs++;
	s->nr_open += r->is_open;
	s->run_ns += r->end_ns - r->start_ns;
	s->sched_ns += r->sched_ns;
	s->idle_ns += r->idle_ns;
	s->is_ordered &= s->was_spawned[r->task->key.id];
}

static void sum_sleep(void *sink, const struct model_sleep *sl)
{
	((struct sums *)sink)->slept_ns += sl->end_ns - sl->start_ns;
}

static void sum_task(void *sink, const struct model_task *t)
{
	struct sums *s = sink;

	s->nr_tasks++;
	s->nr_ended += t->end != MODEL_ALIVE;
	s->polls += t->polls;
	s->blocked_ns += t->blocked_ns;
	s->life_ns += t->end_ns - t->spawn_ns;
	s->max_poll_ns = MAX(s->max_poll_ns, t->max_poll_ns);
	for (int i = 0; i < MODEL_NR_STATES; i++)
		s->ns[i] += t->ns[i];
	for (int i = 0; i < MODEL_NR_CAUSES; i++)
		s->wakes += t->wakes[i];
	s->is_ordered &= s->was_spawned[t->key.id];
}

static void sum_thread(void *sink, const struct model_thread *t)
{
	struct sums *s = sink;

	s->busy_ns += t->busy_ns;
	s->asleep_ns += t->asleep_ns;
	s->thread_blocked_ns += t->blocked_ns;
	s->thread_polls += t->polls;
}

static const struct model_ops sum_ops = { .spawn = sum_spawn,
					  .run = sum_run,
					  .sleep = sum_sleep,
					  .task = sum_task,
					  .thread = sum_thread };

/* As recording_read does: events before `to`, told from `from` on. */
static struct sums read_part(const struct event *evs, size_t nr, uint64_t from, uint64_t to)
{
	struct model *m = model_new(script_types, NR_TYPES);
	struct sums s = { .is_ordered = true };
	size_t before = 0;

	while (before < nr && evs[before].time < to)
		before++;
	model_add_sink(m, &sum_ops, &s);
	model_set_start(m, from);
	model_feed(m, evs, before);
	model_finish(m, to, NULL);
	assert_int_equal(model_get_start(m), from);
	assert_int_equal(model_get_duration(m), to - from);
	model_free(m);
	return s;
}

struct world {
	struct event evs[NR_EVENTS];
	size_t nr;
	uint64_t seed, now;
	enum { QUEUED, RUNS, WAITS, OVER } tasks[NR_TASKS];
	int running[NR_WORKERS]; /* or -1 */
	bool asleep[NR_WORKERS];
};

static void put(struct world *w, struct event ev)
{
	/* several events of one moment now and then */
	w->now += unit_random(&w->seed) % 4 * (unit_random(&w->seed) % 50);
	ev.time = w->now;
	w->evs[w->nr++] = ev;
}

static int pick(struct world *w, int state)
{
	int start = unit_random(&w->seed) % NR_TASKS;

	for (int i = 0; i < NR_TASKS; i++)
		if ((int)w->tasks[(start + i) % NR_TASKS] == state)
			return (start + i) % NR_TASKS;
	return -1;
}

static void step_worker(struct world *w, uint32_t thread)
{
	int id = w->running[thread];

	if (w->asleep[thread]) {
		w->asleep[thread] = false;
		put(w, (struct event)EV(0, thread, AWAKE));
	} else if (unit_random(&w->seed) % 5 == 0) {
		w->asleep[thread] = true;
		put(w, (struct event)EV(0, thread, SLEEP));
	} else if (id >= 0) {
		bool is_over = unit_random(&w->seed) % 20 == 0;

		w->running[thread] = -1;
		w->tasks[id] = is_over ? OVER : WAITS;
		put(w, (struct event)END(0, thread, is_over ? COMPLETE : 0));
	} else if ((id = pick(w, QUEUED)) >= 0) {
		w->running[thread] = id;
		w->tasks[id] = RUNS;
		put(w, (struct event)POLL(0, thread, (uint64_t)id + 1));
	}
}

/* Every wake is seen, and nothing is lost: so a part knows as much as the whole. */
static void make_world(struct world *w, uint64_t seed)
{
	*w = (struct world){ .seed = seed, .running = { -1, -1 }, .now = 5 };
	while (w->nr < NR_EVENTS) {
		uint32_t thread = unit_random(&w->seed) % (NR_WORKERS + 1);
		int id;

		if (thread < NR_WORKERS) {
			step_worker(w, thread);
		} else if ((id = pick(w, WAITS)) >= 0) {
			w->tasks[id] = QUEUED;
			put(w, (struct event)WAKE(0, WAKER, (uint64_t)id + 1, 0));
		}
	}
}

/* What came before a run that straddles the cut is told by the first part's state, not by a run. */
static void check_parts(const struct world *w, uint64_t cut, uint64_t end)
{
	struct sums all = read_part(w->evs, w->nr, 0, end);
	struct sums a = read_part(w->evs, w->nr, 0, cut), b = read_part(w->evs, w->nr, cut, end);
	uint64_t nr_cut = a.nr_open; /* polls that straddle it */

	assert_true(all.is_ordered && a.is_ordered && b.is_ordered);
	for (int i = 0; i < MODEL_NR_STATES; i++)
		assert_int_equal(a.ns[i] + b.ns[i], all.ns[i]);
	assert_int_equal(a.life_ns + b.life_ns, all.life_ns);
	assert_int_equal(b.life_ns, b.ns[0] + b.ns[1] + b.ns[2] + b.ns[3]);
	assert_int_equal(a.wakes + b.wakes, all.wakes);
	assert_int_equal(a.polls + b.polls, all.polls + nr_cut);
	assert_int_equal(a.nr_runs + b.nr_runs, all.nr_runs + nr_cut);
	assert_int_equal(a.run_ns + b.run_ns, all.run_ns);
	assert_int_equal(a.blocked_ns + b.blocked_ns, all.blocked_ns);
	assert_int_equal(a.slept_ns + b.slept_ns, all.slept_ns);
	assert_int_equal(a.busy_ns + b.busy_ns, all.busy_ns);
	assert_int_equal(a.asleep_ns + b.asleep_ns, all.asleep_ns);
	assert_int_equal(a.thread_blocked_ns + b.thread_blocked_ns, all.thread_blocked_ns);
	assert_int_equal(a.thread_polls + b.thread_polls, all.thread_polls + nr_cut);
	assert_int_equal(a.nr_ended + b.nr_ended, all.nr_ended);
	assert_true(MAX(a.max_poll_ns, b.max_poll_ns) <= all.max_poll_ns);
	assert_int_equal(b.nr_spawns, b.nr_tasks);
	/* told of runs is what was spent before them */
	assert_true(b.sched_ns <= b.ns[MODEL_SCHEDULED]);
	assert_true(b.idle_ns <= b.ns[MODEL_IDLE]);
}

/* Two parts add up to the whole, wherever it is cut, at an event as well as between two. */
static void test_parts(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		static struct world w;
		uint64_t end, random = seed * 77;

		make_world(&w, seed);
		end = w.now + 100;
		for (int i = 0; i < 20; i++)
			check_parts(&w, 1 + unit_random(&random) % (end - 1), end);
		for (int i = 0; i < 20; i++)
			check_parts(&w, w.evs[unit_random(&random) % NR_EVENTS].time, end);
	}
}

/* A part that begins in the middle of everything: a poll and the sleep in it are cut, a queued task
 * waits from the start on, and one that is over before is not told at all. */
static void test_middle(void **state)
{
	static const struct event evs[] = {
		POLL(10, 0, 1), END(20, 0, COMPLETE), POLL(30, 0, 2),	     EV(40, 0, SLEEP),
		POLL(50, 1, 3), END(60, 1, 0),	      WAKE(70, 2, 3, 0),     EV(140, 0, AWAKE),
		END(150, 0, 0), POLL(160, 1, 3),      END(170, 1, COMPLETE),
	};
	struct model *m = model_new(script_types, NR_TYPES);
	struct told told = { 0 };
	const struct model_task *t;

	model_add_sink(m, &told_ops, &told);
	model_set_start(m, 100);
	model_feed(m, evs, ARRAY_SIZE(evs));
	model_finish(m, 200, NULL);
	assert_int_equal(told.tasks.nr, 2);
	assert_null(told_find(&told, 1));
	t = told_find(&told, 2);
	assert_int_equal(t->spawn_ns, 100);
	assert_false(t->spawn_exact);
	assert_int_equal(t->polls, 1);
	assert_int_equal(t->max_poll_ns, 50);
	assert_int_equal(t->blocked_ns, 40);
	assert_int_equal(t->ns[MODEL_RUNNING], 50);
	assert_int_equal(t->ns[MODEL_IDLE], 50);
	t = told_find(&told, 3);
	assert_int_equal(t->ns[MODEL_SCHEDULED], 60);
	assert_int_equal(t->max_sched_ns, 60);
	assert_int_equal(t->wakes[MODEL_BY_THREAD], 0);
	assert_int_equal(told.runs.nr, 2);
	assert_int_equal(told.runs.v[0].start_ns, 100);
	assert_int_equal(told.runs.v[1].sched_ns, 60);
	assert_int_equal(told.wakes.nr, 0);
	told_release(&told);
	model_free(m);
}

/* A task that was allocated before the start and first ran after it waits from the start on. */
static void test_spawn_before(void **state)
{
	static const struct event evs[] = { SPAWN(10, 0, 0x1000), POLL(150, 1, 1),
					    END(160, 1, COMPLETE) };
	struct model *m = model_new(script_types, NR_TYPES);
	struct told told = { 0 };
	const struct model_task *t;

	model_add_sink(m, &told_ops, &told);
	model_set_start(m, 100);
	model_feed(m, evs, ARRAY_SIZE(evs));
	model_finish(m, 200, NULL);
	t = told_find(&told, 1);
	assert_int_equal(t->spawn_ns, 100);
	assert_false(t->spawn_exact);
	assert_int_equal(t->ns[MODEL_SCHEDULED], 50);
	assert_int_equal(t->end_ns, 160);
	told_release(&told);
	model_free(m);
}

/* A start behind the last event leaves what is alive, in the state that it is in. */
static void test_after_all(void **state)
{
	static const struct event evs[] = { POLL(10, 0, 1), END(20, 0, 0), POLL(30, 0, 2) };
	struct sums s = read_part(evs, ARRAY_SIZE(evs), 100, 200);

	assert_int_equal(s.nr_tasks, 2);
	assert_int_equal(s.ns[MODEL_IDLE], 100);
	assert_int_equal(s.ns[MODEL_RUNNING], 100);
	assert_int_equal(s.polls, 1);
	assert_int_equal(s.busy_ns, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_middle),
		cmocka_unit_test(test_spawn_before),
		cmocka_unit_test(test_after_all),
	};

	return cmocka_run_group_tests_name("range", tests, NULL, NULL);
}

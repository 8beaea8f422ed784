// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves on random streams, orderly and absurd ones, that every life adds up to the nanosecond,
 * that every task is told once, and that tasks, threads and runs agree with each other.
 */
#include "unit.h"

#include "script.h"

#define NR_EVENTS 4000

typedef VEC(struct event) events;

static struct event random_event(uint64_t *rnd, uint64_t time, bool is_lossy)
{
	static const uint8_t kinds[] = { EV_RUN_START,	EV_RUN_START, EV_RUN_END, EV_RUN_END,
					 EV_WAKE,	EV_WAKE,      EV_SPAWN,	  EV_SLEEP,
					 EV_AWAKE,	EV_PANIC,     EV_END_OF,  EV_LOST,
					 EV_THREAD_STOP };
	uint64_t r = unit_random(rnd);
	struct event ev = {
		.time = time,
		.thread = r % 4,
		.kind = kinds[(r >> 8) % (ARRAY_SIZE(kinds) - (is_lossy ? 0 : 2))],
		.flags = (r >> 16) % 4 ? 0 : (r >> 18) % 32,
		.type = (r >> 24) % (NR_TYPES + 1),
		.task = 1 + (r >> 32) % 40,
	};

	if (ev.kind == EV_RUN_START || ev.kind == EV_SPAWN)
		ev.a = 128 * (1 + (r >> 40) % 60);
	if (ev.kind == EV_LOST)
		ev.a = (r >> 40) % 12;
	if (ev.kind == EV_LOST || ev.kind == EV_SPAWN)
		ev.b = (r >> 48) % 3;
	return ev;
}

static void make(events *evs, uint64_t seed, bool is_lossy)
{
	uint64_t rnd = seed * 0x9e3779b97f4a7c15 + 1, time = 0;

	for (int i = 0; i < NR_EVENTS; i++) {
		/* now and then longer than an ended task is kept */
		time += unit_random(&rnd) % (i % 500 ? 1000 : 3000000);
		vec_push(evs, random_event(&rnd, time, is_lossy));
	}
}

static void check_task(const struct model_task *t)
{
	uint64_t sum = 0;

	for (int i = 0; i < MODEL_NR_STATES; i++) {
		assert_true(t->ns[i] <= t->end_ns - t->spawn_ns);
		sum += t->ns[i];
	}
	assert_true(t->end_ns >= t->spawn_ns);
	assert_int_equal(sum, t->end_ns - t->spawn_ns);
	assert_true(t->blocked_ns <= t->ns[MODEL_RUNNING]);
	assert_true(t->max_blocked_ns <= t->blocked_ns);
	assert_true(t->max_poll_ns <= t->ns[MODEL_RUNNING]);
}

struct sums {
	uint64_t polls, busy, wakes;
};

static struct sums by_task(struct told *told)
{
	struct sums s = { 0 };

	vec_each (t, &told->tasks) {
		check_task(t);
		s.polls += t->polls;
		s.busy += t->ns[MODEL_RUNNING];
		for (int i = 0; i < MODEL_NR_CAUSES; i++)
			s.wakes += t->wakes[i];
	}
	return s;
}

static struct sums by_run(struct told *told)
{
	struct sums s = { .wakes = told->wakes.nr };

	vec_each (r, &told->runs) {
		assert_true(r->end_ns >= r->start_ns);
		s.polls += !r->flags;
		s.busy += r->end_ns - r->start_ns;
	}
	return s;
}

static uint64_t thread_polls(struct told *told)
{
	uint64_t polls = 0;

	vec_each (t, &told->threads) {
		assert_true(t->blocked_ns <= t->busy_ns || t->blocked_ns == 0);
		polls += t->polls;
	}
	return polls;
}

static int outer_first(const void *pa, const void *pb)
{
	const struct model_run *a = pa, *b = pb;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->end_ns == b->end_ns ? 0 : a->end_ns > b->end_ns ? -1 : 1;
}

/* Each run lies in the one around it, or behind it. */
static void check_nesting(struct told *told)
{
	VEC(struct model_run) open = { 0 }, runs = { 0 };

	vec_each (r, &told->runs)
		if (!r->is_torn)
			vec_push(&runs, *r);
	assert_true(runs.nr > told->runs.nr / 2);
	qsort(runs.v, runs.nr, sizeof(*runs.v), outer_first);
	vec_each (r, &runs) {
		const struct model_run *outer;

		while (open.nr && (open.v[open.nr - 1].thread != r->thread ||
				   open.v[open.nr - 1].end_ns <= r->start_ns))
			open.nr--;
		outer = open.nr ? &open.v[open.nr - 1] : NULL;
		assert_true(!outer || r->end_ns <= outer->end_ns);
		vec_push(&open, *r);
	}
	vec_release(&open);
	vec_release(&runs);
}

static void check_stream(const events *evs, uint64_t start, uint64_t duration)
{
	struct told told;
	struct sums tasks, runs;
	size_t before = 0;

	while (before < evs->nr && evs->v[before].time < start)
		before++;
	play_from(&told, evs->v, evs->nr, start, duration, NULL);
	assert_true(told.tasks.nr > 0);
	vec_each (t, &told.tasks)
		assert_true(t->spawn_ns >= start);
	vec_each (r, &told.runs)
		assert_true(r->start_ns >= start &&
			    r->start_ns - start >= r->sched_ns + r->idle_ns);
	tasks = by_task(&told);
	runs = by_run(&told);
	assert_int_equal(tasks.polls, runs.polls);
	assert_int_equal(tasks.busy, runs.busy);
	assert_int_equal(tasks.wakes, runs.wakes);
	assert_int_equal(tasks.polls, thread_polls(&told));
	assert_int_equal(told.totals.nr_events, evs->nr - before);
	check_nesting(&told);
	told_release(&told);
}

/* STRIPPED closures turn into helpers midway, after runs of theirs were told: they have a test of
 * their own. */
static void drop_stripped(events *evs)
{
	vec_each (ev, evs)
		if (ev->type == STRIPPED)
			ev->type = BLOCKING;
}

static void test_streams(void **state)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		events evs = { 0 };

		make(&evs, seed, seed % 2);
		drop_stripped(&evs);
		check_stream(&evs, 0, evs.v[evs.nr - 1].time + seed % 3 * 1000);
		vec_release(&evs);
	}
}

/* All of that holds of what is left when the beginning is not told. */
static void test_late_start(void **state)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		events evs = { 0 };
		uint64_t end;

		make(&evs, seed, seed % 2);
		drop_stripped(&evs);
		end = evs.v[evs.nr - 1].time;
		check_stream(&evs, evs.v[seed * 10].time, end);
		check_stream(&evs, end * seed / 310, end + 5);
		vec_release(&evs);
	}
}

/* Also where helpers are unmasked midway, each life adds up. */
static void test_unmasking(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct told told;
		events evs = { 0 };

		make(&evs, seed, true);
		play(&told, evs.v, evs.nr, 0, NULL);
		by_task(&told);
		told_release(&told);
		vec_release(&evs);
	}
}

static void assert_same_tasks(const struct told *a, const struct told *b)
{
	assert_int_equal(a->tasks.nr, b->tasks.nr);
	for (size_t i = 0; i < a->tasks.nr; i++) {
		const struct model_task *x = &a->tasks.v[i], *y = &b->tasks.v[i];

		assert_int_equal(x->key.id, y->key.id);
		assert_int_equal(x->key.runtime, y->key.runtime);
		assert_int_equal(x->key.type, y->key.type);
		assert_memory_equal(x->ns, y->ns, sizeof(x->ns));
		assert_memory_equal(x->wakes, y->wakes, sizeof(x->wakes));
		assert_int_equal(x->polls, y->polls);
		assert_int_equal(x->kind, y->kind);
		assert_int_equal(x->end, y->end);
		assert_int_equal(x->last_path, y->last_path);
		assert_int_equal(x->spawn_ns, y->spawn_ns);
	}
	assert_int_equal(a->runs.nr, b->runs.nr);
	for (size_t i = 0; i < a->runs.nr; i++) {
		assert_int_equal(a->runs.v[i].start_ns, b->runs.v[i].start_ns);
		assert_int_equal(a->runs.v[i].path, b->runs.v[i].path);
	}
	assert_int_equal(a->wakes.nr, b->wakes.nr);
	assert_int_equal(a->threads.nr, b->threads.nr);
	for (size_t i = 0; i < a->threads.nr; i++) {
		assert_int_equal(a->threads.v[i].runtime, b->threads.v[i].runtime);
		assert_int_equal(a->threads.v[i].kind, b->threads.v[i].kind);
		assert_int_equal(a->threads.v[i].busy_ns, b->threads.v[i].busy_ns);
	}
}

#define NR_PATHS 200

/* Types and runtimes as far as the events need them so far, at different times. */
static void play_growing(struct told *told, const events *evs, bool is_growing)
{
	static const uint32_t of_instance[] = { MODEL_NO_RUNTIME, 0, 1, 2 },
			      copy_of[] = { 0, 1, 2 };
	static const bool is_set[3], is_local[3];
	struct model_runtimes runtimes = { .of_instance = of_instance,
					   .copy_of = copy_of,
					   .is_set = is_set,
					   .is_local = is_local,
					   .of_task = copy_of,
					   .of_blocking = copy_of,
					   .nr_instances = 4,
					   .nr = 3,
					   .nr_copies = 3 };
	uint32_t step = 0;
	struct trace_path paths[NR_PATHS];
	struct model *m = model_new(script_types, is_growing ? 1 : NR_TYPES);

	for (uint32_t i = 0; i < NR_PATHS; i++)
		paths[i] = (struct trace_path){ &step, i % 3 };
	*told = (struct told){ 0 };
	model_add_sink(m, &told_ops, told);
	runtimes.nr = runtimes.nr_copies = is_growing ? 1 : 3;
	model_set_runtimes(m, &runtimes);
	model_set_paths(m, paths, is_growing ? 1 : NR_PATHS);
	for (size_t i = 0; i < evs->nr; i++) {
		uint32_t nr_types = 1 + i * NR_TYPES / evs->nr;

		if (is_growing && nr_types > 1 + (i - 1) * NR_TYPES / evs->nr) {
			runtimes.nr = runtimes.nr_copies =
				MAX(runtimes.nr, script_types[nr_types - 1].runtime + 1);
			/* either may come first */
			if (nr_types % 2)
				model_set_types(m, script_types, nr_types);
			model_set_runtimes(m, &runtimes);
			model_set_types(m, script_types, nr_types);
		}
		if (is_growing)
			model_set_paths(m, paths, 1 + i * NR_PATHS / evs->nr);
		model_feed(m, &evs->v[i], 1);
	}
	model_finish(m, 0, NULL);
	model_free(m);
}

/* It does not matter when types, runtimes and paths are defined, if that is before they are needed.
 */
static void test_growing_definitions(void **state)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct told whole, growing;
		events evs = { 0 };

		make(&evs, seed, seed % 2);
		for (size_t i = 0; i < evs.nr; i++) {
			struct event *ev = &evs.v[i];

			if (ev->type < NR_TYPES)
				ev->type %= 1 + i * NR_TYPES / evs.nr;
			if (ev->kind == EV_RUN_START)
				ev->path = ev->task * 4 % (1 + i * NR_PATHS / evs.nr);
		}
		play_growing(&whole, &evs, false);
		play_growing(&growing, &evs, true);
		assert_same_tasks(&whole, &growing);
		told_release(&whole);
		told_release(&growing);
		vec_release(&evs);
	}
}

/* A stream fed in any portions tells the same. */
static void test_portions(void **state)
{
	struct told whole, parts = { 0 };
	events evs = { 0 };
	struct model *m = model_new(script_types, NR_TYPES);
	size_t at = 0;

	make(&evs, 7, true);
	play(&whole, evs.v, evs.nr, 0, NULL);
	model_add_sink(m, &told_ops, &parts);
	for (size_t n = 1; at < evs.nr; at += n, n = n * 2 % 97 + 1)
		model_feed(m, evs.v + at, MIN(n, evs.nr - at));
	model_finish(m, 0, NULL);
	model_free(m);
	assert_int_equal(whole.tasks.nr, parts.tasks.nr);
	assert_int_equal(by_task(&whole).busy, by_task(&parts).busy);
	assert_int_equal(by_task(&whole).wakes, by_task(&parts).wakes);
	told_release(&whole);
	told_release(&parts);
	vec_release(&evs);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),	  cmocka_unit_test(test_late_start),
		cmocka_unit_test(test_unmasking), cmocka_unit_test(test_growing_definitions),
		cmocka_unit_test(test_portions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves what the analyses of workers and wakes find, and what they let pass: idle-wakes,
 * worker-imbalance, blocking-queue.
 */
#include "found.h"

/* A task that is woken every `gap_ns` from thread 5 and polled for `poll_ns`. */
struct woken {
	unsigned nr;
	uint64_t gap_ns, poll_ns;
	bool wakes_another, wakes_itself, spawns, ends;
	bool is_timed; /* it is the worker that wakes it */
};

static uint64_t add_woken(struct script *s, const struct woken *w)
{
	uint64_t time = 100, child = 1000000;

	for (uint64_t i = 0; i <= w->nr; i++, time += w->gap_ns) {
		uint64_t id = w->ends ? 1 + i / 2 : 1; /* ends: in its second poll */

		if (!w->wakes_itself && (w->ends ? i % 2 : i))
			ADD(s, WAKE(time - 10, w->is_timed ? 0 : 5, id, 0));
		ADD(s, POLL(time, 0, id));
		if (w->wakes_another)
			ADD(s, WAKE_TYPE(time + 1, 0, 500000, LOCAL, 0));
		if (w->spawns) {
			ADD(s, SPAWN(time + 1, 0, 0x1000 * child));
			ADD(s, START(time + 2, 1, child, LOCAL, 0));
			ADD(s, END(time + 3, 1, COMPLETE));
			child++;
		}
		ADD(s, END(time + w->poll_ns, 0, w->ends && i % 2 ? COMPLETE : 0));
	}
	return time;
}

static void test_idle_wakes(void **state)
{
	struct script s = { 0 };
	const struct finding *f;
	struct found found;
	uint64_t end_ns = add_woken(&s, &(struct woken){ 2000, 5 * US, 500 });

	find_all(&found, &s, script_types, end_ns, "");
	f = found_one(&found, "idle-wakes");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_int_equal(f->type, ASYNC);
	assert_int_equal(f->harm_ns, 2000 * 500);
	assert_int_equal(figure_of(f, "idle_wakes"), 2000);
	assert_int_equal(figure_of(f, "polls"), 2001);
	assert_int_equal(figure_of(f, "share_percent"), 99);
	assert_string_equal(f->what,
			    "2,000 wakes led to polls of only 500ns each, 1ms in all, that "
			    "woke no task and waited again");
	found_release(&found);
}

static size_t idle_wakes(struct woken w, const char *limits)
{
	struct script s = { 0 };
	uint64_t end_ns = add_woken(&s, &w);

	return count_found(&s, end_ns, "idle-wakes", limits);
}

static void test_idle_wakes_miss(void **state)
{
	assert_int_equal(idle_wakes((struct woken){ 999, 5 * US, 500 }, ""), 0);
	assert_int_equal(idle_wakes((struct woken){ 999, 5 * US, 500 }, "idle-wakes=999"), 1);
	/* rare */
	assert_int_equal(idle_wakes((struct woken){ 2000, 5 * US, 500 }, "idle-wakes-rate=300000"),
			 0);
	assert_int_equal(idle_wakes((struct woken){ 2000, 5 * US, 500 }, "idle-wakes-rate=100000"),
			 1);
	/* often, and next to nothing of the worker's time */
	assert_int_equal(idle_wakes((struct woken){ 2000, 20 * US, 500 }, ""), 0);
	/* it works */
	assert_int_equal(idle_wakes((struct woken){ 2000, 50 * US, 5000 }, ""), 0);
	assert_int_equal(idle_wakes((struct woken){ 2000, 50 * US, 5000 }, "idle-wakes-poll=6us"),
			 1);
	/* it passes something on, or begins something */
	assert_int_equal(idle_wakes((struct woken){ 2000, 5 * US, 500, .wakes_another = true }, ""),
			 0);
	assert_int_equal(idle_wakes((struct woken){ 2000, 5 * US, 500, .spawns = true }, ""), 0);
	/* its own doing, which is another rule's */
	assert_int_equal(idle_wakes((struct woken){ 2000, 5 * US, 500, .wakes_itself = true }, ""),
			 0);
	/* a timer, or I/O */
	assert_int_equal(idle_wakes((struct woken){ 2000, 5 * US, 500, .is_timed = true }, ""), 0);
	/* what it waited for was its end */
	assert_int_equal(idle_wakes((struct woken){ 4000, 5 * US, 500, .ends = true }, ""), 0);
	assert_int_equal(idle_wakes((struct woken){ 4000, 5 * US, 500, .ends = true },
				    "idle-wakes-share=0 idle-wakes=1"),
			 0);
}

/* A type that mostly works. */
static void test_idle_wakes_share(void **state)
{
	static const struct {
		unsigned nr_long;
		size_t nr_found;
	} cases[] = { { 450, 1 }, { 550, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct script s = { 0 };
		uint64_t end_ns = add_woken(&s, &(struct woken){ 2000, 5 * US, 500 });

		for (unsigned n = 0; n < cases[i].nr_long; n++) {
			ADD(&s, WAKE(end_ns += 10, 5, 1, 0));
			ADD(&s, POLL(end_ns += 10, 0, 1));
			ADD(&s, END(end_ns += 10 * US, 0, 0));
		}
		assert_int_equal(count_found(&s, end_ns, "idle-wakes", ""), cases[i].nr_found);
	}
}

/* Two workers; the first one runs task 1 for `busy_ns` of each 10 ms, the second task 3. */
struct load {
	uint64_t busy_ns, other_busy_ns;
	bool gives_way;	     /* task 1 makes itself runnable in its poll */
	bool is_alternating; /* task 1 takes turns with task 4, of another type */
	/* In every `wait_every`th poll of task 1, if any, task 2 becomes runnable at `wait_at`; it
	 * runs after the last poll before the next time. */
	unsigned wait_every;
	uint64_t wait_at;
	bool is_current_thread;
};

static uint64_t add_load(struct script *s, const struct load *l)
{
	uint64_t time = 1000;

	for (uint32_t thread = 0; thread < 2 && !l->is_current_thread; thread++)
		ADD(s, START_AT(thread, thread, 10 + thread, LAUNCH, 0x1000, 0));
	for (unsigned i = 0; i < 100; i++, time += 10 * MS) {
		uint64_t end = time + l->busy_ns;
		bool is_other = l->is_alternating && i % 2;

		ADD(s, START(time, 0, is_other ? 4 : 1, is_other ? LOCAL : ASYNC, 0));
		ADD(s, START(time + 20, 1, 3, ASYNC, 0));
		ADD(s, END(time + 20 + l->other_busy_ns, 1, 0));
		ADD(s, WAKE(time + 30 + l->other_busy_ns, 1, 3, 0));
		if (l->wait_every && i % l->wait_every == 0)
			ADD(s, WAKE_TYPE(time + l->wait_at, 0, 2, LOCAL, 0));
		ADD(s, END(end, 0, 0));
		if (l->wait_every && i % l->wait_every == l->wait_every - 1) {
			ADD(s, START(end + 100, 0, 2, LOCAL, 0));
			ADD(s, END(end + 200, 0, 0));
		}
		if (!l->gives_way)
			ADD(s, WAKE(end + 300, 0, is_other ? 4 : 1, 0));
	}
	return time;
}

static void test_worker_imbalance(void **state)
{
	struct script s = { 0 };
	const struct finding *f;
	struct found found;
	uint64_t end_ns =
		add_load(&s, &(struct load){ 9 * MS, 1 * MS, .wait_every = 1, .wait_at = 5 * MS });

	find_all(&found, &s, script_types, end_ns, "");
	f = found_one(&found, "worker-imbalance");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_int_equal(f->type, ASYNC); /* held it */
	assert_int_equal(f->task.id, 2);  /* waited for it */
	assert_int_equal(f->thread, 0);
	assert_int_equal(f->span_ns, 4 * MS);
	assert_int_equal(figure_of(f, "workers"), 2);
	assert_int_equal(figure_of(f, "busy_percent"), 90);
	assert_int_equal(figure_of(f, "next_busy_percent"), 9);
	assert_int_equal(figure_of(f, "waits"), 100);
	found_release(&found);
	/* two types have it in turns: neither held it */
	end_ns = add_load(&s, &(struct load){ 9 * MS, 1 * MS, .wait_every = 1, .wait_at = 5 * MS,
					      .is_alternating = true });
	find_all(&found, &s, script_types, end_ns, "");
	assert_int_equal(found_one(&found, "worker-imbalance")->type, EVENT_TYPE_NONE);
	found_release(&found);
}

static size_t imbalances(struct load l, const char *limits)
{
	struct script s = { 0 };
	uint64_t end_ns = add_load(&s, &l);

	return count_found(&s, end_ns, "worker-imbalance", limits);
}

/* A hundred tasks become runnable at once, and one worker runs them all, each for 100 us, with a
 * pause between two. */
static size_t queue_imbalances(uint64_t pause_ns)
{
	struct script s = { 0 };
	uint64_t time = 1000;

	for (uint32_t thread = 0; thread < 2; thread++)
		ADD(&s, START_AT(thread, thread, 1000 + thread, LAUNCH, 0x1000, 0));
	for (unsigned round = 0; round < 10; round++) {
		for (uint64_t id = 1; id <= 100; id++)
			ADD(&s, WAKE(time, 5, id, 0));
		for (uint64_t id = 1; id <= 100; id++) {
			ADD(&s, POLL(time, 0, id));
			ADD(&s, END(time += 100 * US, 0, 0));
			time += pause_ns;
		}
	}
	return count_found(&s, time, "worker-imbalance", "worker-imbalance=40%");
}

/* What waits behind many short polls waits as well, but not while the worker does nothing. */
static void test_worker_imbalance_queue(void **state)
{
	assert_int_equal(queue_imbalances(1 * US), 1);
	assert_int_equal(queue_imbalances(101 * US), 0);
}

static void test_worker_imbalance_miss(void **state)
{
	/* one busy task, and nothing waits */
	assert_int_equal(imbalances((struct load){ 9 * MS, 1 * MS }, ""), 0);
	/* … but the task itself, which gives way */
	assert_int_equal(imbalances((struct load){ 9 * MS, 1 * MS, .gives_way = true }, ""), 0);
	/* not that busy */
	assert_int_equal(
		imbalances((struct load){ 7 * MS, 1 * MS, .wait_every = 1, .wait_at = 5 * MS }, ""),
		0);
	assert_int_equal(
		imbalances((struct load){ 7 * MS, 1 * MS, .wait_every = 1, .wait_at = 5 * MS },
			   "worker-imbalance=60%"),
		1);
	/* the other one works as well */
	assert_int_equal(
		imbalances((struct load){ 9 * MS, 4 * MS, .wait_every = 1, .wait_at = 5 * MS }, ""),
		0);
	/* what waits is rare, or little in all */
	assert_int_equal(
		imbalances((struct load){ 9950 * US, 0, .wait_every = 20, .wait_at = 5 * MS }, ""),
		0);
	assert_int_equal(
		imbalances((struct load){ 9950 * US, 0, .wait_every = 10, .wait_at = 5 * MS }, ""),
		1);
	assert_int_equal(imbalances((struct load){ 2 * MS, 0, .wait_every = 1, .wait_at = 1 * MS },
				    "worker-imbalance=10%"),
			 1);
	assert_int_equal(
		imbalances((struct load){ 9800 * US, 0, .wait_every = 1, .wait_at = 8900 * US },
			   "worker-imbalance-wait=800us"),
		0);
	/* what waits does not wait for long */
	assert_int_equal(
		imbalances((struct load){ 9 * MS, 1 * MS, .wait_every = 1, .wait_at = 5 * MS },
			   "worker-imbalance-wait=10ms"),
		0);
	/* two runtimes of one thread each cannot help each other */
	assert_int_equal(imbalances((struct load){ 9 * MS, 1 * MS, .wait_every = 1,
						   .wait_at = 5 * MS, .is_current_thread = true },
				    ""),
			 0);
}

/* So many closures at once, for a pool of two threads, each for `busy_ns`. */
static uint64_t add_closures(struct script *s, unsigned nr, uint64_t busy_ns, bool are_spawns_seen)
{
	for (uint64_t id = 1; id <= nr && are_spawns_seen; id++)
		ADD(s, SPAWN(id, 7, 0x1000 * id));
	for (uint64_t id = 1; id <= nr; id += 2) {
		uint64_t time = 1000 + id / 2 * (busy_ns + 100);

		ADD(s, START(time, 0, id, BLOCKING, 0));
		ADD(s, START(time, 1, id + 1, BLOCKING, 0));
		ADD(s, END(time + busy_ns, 0, COMPLETE));
		ADD(s, END(time + busy_ns, 1, COMPLETE));
	}
	return 1000 + nr * busy_ns;
}

static void test_blocking_queue(void **state)
{
	struct script s = { 0 };
	const struct finding *f;
	static struct trace_type types[NR_TYPES];
	struct found found;
	uint64_t end_ns = add_closures(&s, 10, 10 * MS, true);

	/* a pool of another copy of the runtime, and a closure of which it is not known how long it
	 * waited */
	memcpy(types, script_types, sizeof(types));
	types[OTHER_COPY].kind = TRACE_BLOCKING;
	ADD(&s, START(end_ns, 2, 100, OTHER_COPY, 0));
	ADD(&s, START(end_ns, 1, 101, BLOCKING, 0));
	find_all(&found, &s, types, end_ns + MS, "");
	f = found_one(&found, "blocking-queue");
	assert_int_equal(f->severity, SEVERITY_WARNING);
	assert_int_equal(f->type, BLOCKING);
	assert_int_equal(f->task.id, 9);
	assert_int_equal(f->time_ns, 9);
	assert_int_equal(f->span_ns, 1000 + 4 * (10 * MS + 100) - 9);
	assert_int_equal(figure_of(f, "queued"), 8);
	assert_int_equal(figure_of(f, "closures"), 10);
	assert_int_equal(figure_of(f, "pool_threads"), 2);
	assert_int_equal(figure_of(f, "p99_ns"), f->span_ns);
	assert_int_equal(figure_of(f, "max_ns"), f->span_ns);
	assert_int_equal(figure_of(f, "queued_ns"), f->harm_ns);
	found_release(&found);
}

/* As many waited for threads that had nothing else to do: for a CPU, then. */
static void test_blocking_queue_cpu(void **state)
{
	struct script s = { 0 };
	const struct finding *f;
	struct found found;
	uint64_t end_ns = add_closures(&s, 10, 10 * MS, true);

	for (uint64_t id = 11; id <= 18; id++)
		ADD(&s, SPAWN(end_ns, 7, 0x1000 * id));
	for (uint64_t id = 11; id <= 18; id++)
		ADD(&s, START(end_ns + 20 * MS, id, id, BLOCKING, 0));
	find_all(&found, &s, script_types, end_ns + 30 * MS, "");
	f = found_one(&found, "blocking-queue");
	assert_int_equal(f->severity, SEVERITY_NOTE);
	assert_int_equal(figure_of(f, "queued"), 8);
	assert_int_equal(figure_of(f, "late"), 8);
	assert_non_null(strstr(f->what, "for a CPU"));
	assert_non_null(strstr(f->advice, "Semaphore"));
	found_release(&found);
}

static size_t queues(unsigned nr, uint64_t busy_ns, bool are_spawns_seen, const char *limits)
{
	struct script s = { 0 };
	uint64_t end_ns = add_closures(&s, nr, busy_ns, are_spawns_seen);

	return count_found(&s, end_ns, "blocking-queue", limits);
}

static void test_blocking_queue_miss(void **state)
{
	struct script s = { 0 };

	/* not long enough, until the last ones */
	assert_int_equal(queues(10, 2 * MS, true, ""), 0);
	assert_int_equal(queues(10, 2 * MS, true, "blocking-queue=2ms"), 1);
	/* long, and few */
	assert_int_equal(queues(6, 50 * MS, true, ""), 0);
	assert_int_equal(queues(6, 50 * MS, true, "blocking-queue-count=4"), 1);
	/* since when they waited is not known */
	assert_int_equal(queues(10, 10 * MS, false, ""), 0);
	/* each gets a thread of its own, which takes its time to come */
	for (uint64_t id = 1; id <= 20; id++)
		ADD(&s, SPAWN(id, 99, 0x1000 * id));
	for (uint64_t id = 1; id <= 20; id++)
		ADD(&s, START(50 * MS + id, id, id, BLOCKING, 0));
	assert_int_equal(count_found(&s, 500 * MS, "blocking-queue", ""), 0);
	/* tasks that wait for a worker are another rule's */
	for (uint64_t id = 1; id <= 20; id++)
		ADD(&s, SPAWN(id, 7, 0x1000 * id));
	for (uint64_t id = 1; id <= 20; id++) {
		ADD(&s, POLL(id * 20 * MS, 0, id));
		ADD(&s, END(id * 20 * MS + 10, 0, COMPLETE));
	}
	assert_int_equal(count_found(&s, 500 * MS, "blocking-queue", ""), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_wakes),
		cmocka_unit_test(test_idle_wakes_miss),
		cmocka_unit_test(test_idle_wakes_share),
		cmocka_unit_test(test_worker_imbalance),
		cmocka_unit_test(test_worker_imbalance_queue),
		cmocka_unit_test(test_worker_imbalance_miss),
		cmocka_unit_test(test_blocking_queue),
		cmocka_unit_test(test_blocking_queue_cpu),
		cmocka_unit_test(test_blocking_queue_miss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

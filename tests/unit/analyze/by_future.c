// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that futures inside of tasks are told from each other as far as paths allow, and that they
 * are said to have finished or to have been dropped only where that is certain. */
#include "paths.h"

#include <string.h>

#include "analyze/by_future.h"

#define PANICKED (COMPLETE | EF_END_PANICKED)

static struct by_future_row *find(const struct by_future *b, const char *name)
{
	for (uint32_t i = 0; i < b->nr; i++)
		if (b->v[i].step && strcmp(b->v[i].step->future, name) == 0)
			return &b->v[i];
	fail_msg("no future %s", name);
	return NULL;
}

#define FATES(b, name, all, finished, dropped, unsure, unknown) \
	do {                                                    \
		const struct by_future_row *r_ = find(b, name); \
		assert_int_equal(r_->nr, all);                  \
		assert_int_equal(r_->nr_finished, finished);    \
		assert_int_equal(r_->nr_dropped, dropped);      \
		assert_int_equal(r_->nr_unsure, unsure);        \
		assert_int_equal(r_->nr_unknown, unknown);      \
	} while (0)

static struct by_path *fold(struct by_future *b, const struct event *evs, size_t nr)
{
	struct by_path *p = play_paths(evs, nr, 1000);

	by_future_init(b, &path_rec, p, NULL, false);
	return p;
}

static void done(struct by_future *b, struct by_path *p)
{
	by_future_release(b);
	by_path_free(p);
}

static void test_chain(void **state)
{
	static const struct event evs[] = {
		START(1, 0, 99, LAUNCH, 0),
		POLL_AT(10, 0, 1, AT_START),
		END(20, 0, 0),
		WAKE(100, 0, 1, 0),
		POLL_AT(100, 0, 1, AT_A),
		END(130, 0, 0), /* `inner` goes from one line to the next: the same one */
		WAKE(200, 0, 1, 0),
		POLL_AT(200, 0, 1, AT_B),
		END(210, 0, COMPLETE),
	};
	struct by_future b;
	struct by_path *p = fold(&b, evs, ARRAY_SIZE(evs));

	FATES(&b, "work", 1, 1, 0, 0, 0);
	FATES(&b, "inner", 1, 1, 0, 0, 0);
	FATES(&b, "Sleep", 1, 1, 0, 0, 0);
	FATES(&b, "Acquire", 1, 1, 0, 0, 0);
	assert_int_equal(find(&b, "work")->polls, 3);
	assert_int_equal(find(&b, "work")->poll_ns, 10 + 30 + 10);
	assert_int_equal(find(&b, "work")->waits, 2);
	assert_int_equal(find(&b, "work")->wait_ns, 80 + 70);
	assert_int_equal(find(&b, "inner")->polls, 3); /* it began in the first */
	assert_int_equal(find(&b, "Sleep")->polls, 2);
	assert_int_equal(find(&b, "Sleep")->wait_ns, 80);
	assert_int_equal(find(&b, "Acquire")->poll_ns, 30 + 10);
	done(&b, p);
}

/* Of a root, nobody sees where it stands before its first poll. */
static void test_begins(void **state)
{
	static const struct event evs[] = {
		START(1, 0, 99, LAUNCH, 0),
		SPAWN(5, 0, 0x1000),
		POLL(10, 0, 1), /* its first */
		END(20, 0, 0),
		WAKE(100, 0, 1, 0),
		POLL_AT(100, 0, 1, AT_A),
		END(130, 0, COMPLETE),
		POLL(140, 0, 2), /* perhaps not its first */
		END(150, 0, 0),
		WAKE(160, 0, 2, 0),
		POLL_AT(170, 0, 2, AT_B),
		END(180, 0, COMPLETE),
	};
	struct by_future b;
	struct by_path *p = fold(&b, evs, ARRAY_SIZE(evs));

	FATES(&b, "work", 2, 2, 0, 0, 0);
	assert_int_equal(find(&b, "work")->polls, 2 + 1);
	assert_int_equal(find(&b, "work")->poll_ns, 10 + 30 + 10);
	assert_int_equal(find(&b, "Sleep")->polls, 2);
	assert_int_equal(find(&b, "Sleep")->waits, 1);
	assert_int_equal(find(&b, "Acquire")->polls, 1);
	done(&b, p);
}

static void test_dropped(void **state)
{
	static const struct event evs[] = {
		START(1, 0, 99, LAUNCH, 0),
		POLL_AT(10, 0, 1, AT_START),
		END(20, 0, 0),
		WAKE(100, 1, 1, EF_WAKE_ABORT),
		DROP_AT(110, 0, 1, AT_A),
		END(120, 0, CANCELLED),
		POLL_AT(130, 0, 2, AT_START),
		END(140, 0, 0),
		WAKE(150, 0, 2, 0),
		POLL_AT(160, 0, 2, AT_B), /* alive to the end */
		END(170, 0, 0),
		DROP_AT(180, 0, 3, AT_START), /* never ran */
		END(190, 0, CANCELLED),
	};
	struct by_future b;
	struct by_path *p = fold(&b, evs, ARRAY_SIZE(evs));
	const struct by_future_row *row;

	FATES(&b, "work", 3, 0, 2, 0, 1);
	FATES(&b, "inner", 2, 0, 1, 0, 1);
	FATES(&b, "Sleep", 1, 0, 1, 0, 0);
	row = find(&b, "inner");
	assert_int_equal(row->drops.nr, 1);
	assert_string_equal(row->drops.v[0].step->file, "in.rs");
	assert_int_equal(row->drops.v[0].step->line, 5);
	row = find(&b, "Sleep"); /* has no line: that of who awaits it */
	assert_int_equal(row->drops.v[0].step->line, 5);
	row = find(&b, "work");
	assert_int_equal(row->drops.nr, 2);
	assert_true(!row->drops.v[0].step != !row->drops.v[1].step); /* one never ran */
	done(&b, p);
}

/* Where it waited last is known, and that it panicked after that; or before it had waited. */
static void test_panicked(void **state)
{
	static const struct event evs[] = {
		POLL_AT(10, 0, 1, AT_START),
		END(20, 0, 0),
		WAKE(100, 0, 1, 0),
		POLL_AT(110, 0, 1, AT_A),
		END(120, 0, PANICKED),
		POLL_AT(130, 0, 2, AT_START),
		END(140, 0, PANICKED),
		POLL_AT(150, 0, 3, AT_START),
		END(160, 0, 0),
		WAKE(170, 1, 3, EF_WAKE_ABORT),
		DROP_AT(180, 0, 3, AT_A),
		END(190, 0, CANCELLED),
	};
	struct by_future b;
	struct by_path *p = fold(&b, evs, ARRAY_SIZE(evs));
	const struct by_future_row *row = find(&b, "work");
	unsigned nr_waited = 0, nr_fresh = 0, nr_dropped = 0;

	FATES(&b, "work", 3, 0, 3, 0, 0);
	assert_int_equal(row->drops.nr, 3); /* at one line one panicked, and one was dropped */
	for (size_t i = 0; i < row->drops.nr; i++) {
		const struct by_future_drop *d = &row->drops.v[i];

		nr_waited += d->is_panic && d->step && d->step->line == 10 ? d->nr : 0;
		nr_fresh += d->is_panic && !d->step ? d->nr : 0;
		nr_dropped += !d->is_panic && d->step && d->step->line == 10 ? d->nr : 0;
	}
	assert_int_equal(nr_waited, 1);
	assert_int_equal(nr_fresh, 1);
	assert_int_equal(nr_dropped, 1);
	/* whether it was inside of `inner` that it panicked, nobody saw */
	FATES(&b, "inner", 2, 0, 1, 0, 1);
	done(&b, p);
}

/* `slow` waits for a timer, the other for a channel; where the task is next tells nothing of who
 * was first. */
#define RACE_SCRIPT(path, ...)                                                                     \
	{                                                                                          \
		START(1, 0, 99, LAUNCH, 0), POLL_AT(10, 0, 1, AT_START), END(20, 0, 0),            \
			__VA_ARGS__, POLL_AT(110, 0, 1, path), END(120, 0, 0), WAKE(200, 0, 1, 0), \
			POLL_AT(200, 0, 1, AT_A), END(210, 0, COMPLETE)                            \
	}
#define BY_WORKER WAKE(100, 0, 1, 0)
#define BY_TASK	  START(90, 0, 2, LOCAL, 0), WAKE(100, 0, 1, 0), END(105, 0, 0)
#define BY_THREAD WAKE(100, 1, 1, 0)

static void test_race(void **state)
{
	static const struct event by_timer[] = RACE_SCRIPT(AT_RACE, BY_WORKER);
	static const struct event by_task[] = RACE_SCRIPT(AT_RACE, BY_TASK);
	static const struct event by_thread[] = RACE_SCRIPT(AT_RACE, BY_THREAD);
	static const struct event ready[] = RACE_SCRIPT(AT_READY, BY_THREAD);
	struct by_future b;
	struct by_path *p = fold(&b, by_timer, ARRAY_SIZE(by_timer));

	FATES(&b, "slow", 1, 1, 0, 0, 0);
	FATES(&b, "Recv", 1, 0, 1, 0, 0);
	FATES(&b, "work", 1, 1, 0, 0, 0);
	assert_int_equal(find(&b, "Recv")->drops.v[0].step->line, 12);
	done(&b, p);
	p = fold(&b, by_task, ARRAY_SIZE(by_task));
	FATES(&b, "slow", 1, 0, 1, 0, 0);
	FATES(&b, "Recv", 1, 1, 0, 0, 0);
	assert_string_equal(find(&b, "slow")->drops.v[0].step->file, "slow.rs");
	done(&b, p);
	/* some thread: it may have been either */
	p = fold(&b, by_thread, ARRAY_SIZE(by_thread));
	FATES(&b, "slow", 1, 0, 0, 1, 0);
	FATES(&b, "Recv", 1, 0, 0, 1, 0);
	done(&b, p);
	p = fold(&b, ready, ARRAY_SIZE(ready));
	FATES(&b, "slow", 1, 0, 1, 0, 0);
	FATES(&b, "Recv", 1, 1, 0, 0, 0);
	done(&b, p);
}

static void test_join(void **state)
{
	static const struct event evs[] = {
		START(1, 0, 99, LAUNCH, 0),
		POLL_AT(10, 0, 1, AT_START),
		END(20, 0, 0),
		WAKE(100, 0, 1, 0),
		POLL_AT(100, 0, 1, AT_JOIN),
		END(110, 0, 0),
		WAKE(150, 0, 1, 0),
		POLL_AT(150, 0, 1, AT_JOIN_B), /* `a` is done and kept */
		END(160, 0, COMPLETE),
		POLL_AT(210, 0, 2, AT_JOIN),
		END(220, 0, COMPLETE), /* both at once */
	};
	struct by_future b;
	struct by_path *p = fold(&b, evs, ARRAY_SIZE(evs));

	FATES(&b, "a", 2, 2, 0, 0, 0);
	FATES(&b, "b", 2, 2, 0, 0, 0);
	FATES(&b, "work", 2, 2, 0, 0, 0);
	done(&b, p);
}

/* What waits for the first of several may hold one that waits for all, and be called nearly so. */
static void test_no_join(void **state)
{
	static const char *const names[] = { "app::First<futures::JoinAll<a>, b>",
					     "app::JoinAllowed<a>",
					     "<app::One as app::Get<x::Join<a>>>::get",
					     "core::future::poll_fn::PollFn<app::MaybeDone<a>>" };
	static const struct event evs[] = {
		START(1, 0, 99, LAUNCH, 0), POLL_AT(10, 0, 1, AT_START), END(20, 0, 0),
		WAKE(100, 0, 1, 0),	    POLL_AT(100, 0, 1, AT_JOIN), END(110, 0, COMPLETE),
	};
	struct recording before = path_rec;
	struct trace_step steps[NR_STEPS];

	memcpy(steps, path_steps, sizeof(steps));
	steps[JOIN_DONE].state = TRACE_STEP_WAITS;
	path_rec.steps = steps;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct by_future b;
		struct by_path *p;

		steps[JOIN_ALL].future = names[i];
		steps_init(&path_rec.awaits, steps, NR_STEPS);
		p = fold(&b, evs, ARRAY_SIZE(evs));
		FATES(&b, "a", 1, 0, 0, 1, 0);
		FATES(&b, "b", 1, 0, 0, 1, 0);
		done(&b, p);
		steps_release(&path_rec.awaits);
	}
	path_rec = before;
}

/* The same leaf at the same line again: a new one only where the old one was seen to be ready. */
static void test_again(void **state)
{
	static const struct event evs[] = {
		POLL_AT(10, 0, 1, AT_START), END(20, 0, 0),
		POLL_AT(30, 0, 1, AT_A),     END(40, 0, 0),
		POLL_AT(50, 0, 1, AT_A),     END(60, 0, 0),
		POLL_AT(70, 0, 1, AT_READY), END(80, 0, 0),
		POLL_AT(90, 0, 1, AT_RACE),  END(100, 0, 0),
	};
	struct by_future b;
	struct by_path *p = fold(&b, evs, ARRAY_SIZE(evs));

	/* one at in.rs:5, one inside of `slow` */
	FATES(&b, "Sleep", 2, 1, 0, 0, 1);
	FATES(&b, "Recv", 2, 1, 0, 0, 1);
	done(&b, p);
}

#define TURN(at, wake) wake, POLL_AT((at) + 10, 0, 1, AT_LOOP), END((at) + 20, 0, 0)
#define SENT(at)       START((at)-10, 0, 2, LOCAL, 0), WAKE(at, 0, 1, 0), END((at) + 5, 0, 0)

/*
 * A select! in a loop: what it makes anew in each turn is dropped in each, what it borrows is not;
 * and nothing is known of turns that nobody was woken for by a single one of its waits.
 */
static void test_loop(void **state)
{
	static const struct event sent[] = {
		START(1, 0, 99, LAUNCH, 0), POLL_AT(10, 0, 1, AT_START), END(20, 0, 0),
		TURN(100, SENT(100)),	    TURN(200, SENT(200)),	 TURN(300, SENT(300)),
		WAKE(400, 0, 1, 0),	    POLL_AT(400, 0, 1, AT_A),	 END(410, 0, COMPLETE),
	};
	static const struct event unsure[] = {
		START(1, 0, 99, LAUNCH, 0),
		POLL_AT(10, 0, 1, AT_START),
		END(20, 0, 0),
		TURN(100, WAKE(100, 1, 1, 0)), /* some thread */
		TURN(200, WAKE(200, 0, 1, 0)), /* one of two timers */
		TURN(300, START(290, 0, 2, LOCAL, 0)),
		END(330, 0, 0),
	};
	struct by_future b;
	struct by_path *p = fold(&b, sent, ARRAY_SIZE(sent));

	FATES(&b, "work", 1, 1, 0, 0, 0);
	FATES(&b, "doze", 3, 0, 3, 0, 0);
	FATES(&b, "DozeSleep", 3, 0, 3, 0, 0);
	FATES(&b, "rest", 1, 0, 1, 0, 0);
	FATES(&b, "tokio::sync::mpsc::recv", 3, 3, 0, 0, 0);
	assert_string_equal(find(&b, "doze")->drops.v[0].step->file, "doze.rs");
	assert_int_equal(find(&b, "doze")->drops.v[0].nr, 3);
	assert_int_equal(find(&b, "doze")->nr_again, 0);
	done(&b, p);
	p = fold(&b, unsure, ARRAY_SIZE(unsure));
	FATES(&b, "doze", 1, 0, 0, 0, 1);
	FATES(&b, "tokio::sync::mpsc::recv", 1, 0, 0, 0, 1);
	/* but that there were two such turns */
	assert_int_equal(find(&b, "doze")->nr_again, 2);
	assert_int_equal(find(&b, "DozeSleep")->nr_again, 2);
	assert_int_equal(find(&b, "tokio::sync::mpsc::recv")->nr_again, 2);
	assert_int_equal(find(&b, "rest")->nr_again, 0); /* borrowed */
	assert_int_equal(find(&b, "work")->nr_again, 0);
	done(&b, p);
}

/*
 * Polls that were recorded one by one count instead of what paths tell if they are all there are,
 * of all functions of a type; what is on no path has a row of its own.
 */
static void test_exact(void **state)
{
	static const struct event evs[] = {
		POLL_AT(10, 0, 1, AT_START), END(20, 0, 0),	    WAKE(100, 0, 1, 0),
		POLL_AT(110, 0, 1, AT_A),    END(120, 0, COMPLETE),
	};
	static const struct trace_future futures[] = {
		{ .name = "inner" },
		{ .name = "inner" },
		{ .name = "Sleep", .seen = TRACE_FUTURE_SOME },
		{ .name = "alone", .seen = TRACE_FUTURE_UNSURE },
		{ .name = "work" }, /* not hooked after all */
	};
	struct inner_polls_row rows[] = {
		{ .polls = 5, .total_ns = 7, .nr_ready = 3, .nr_pending = 2 },
		{ .polls = 6, .total_ns = 8, .nr_ready = 1, .max_ns = 4 },
		{ .polls = 9 },
		{ .polls = 2, .total_ns = 3 },
		{ .polls = 0 }
	};
	struct inner_polls polls = { .v = rows, .nr = ARRAY_SIZE(rows) };
	struct by_path *p = play_paths(evs, ARRAY_SIZE(evs), 1000);
	struct by_future b;

	path_rec.futures = futures;
	path_rec.nr_futures = ARRAY_SIZE(futures);
	by_future_init(&b, &path_rec, p, &polls, false);
	assert_int_equal(b.nr, path_rec.awaits.nr_futures + 1);
	assert_int_equal(find(&b, "inner")->source, BY_FUTURE_EXACT);
	assert_int_equal(find(&b, "inner")->polls, 11);
	assert_int_equal(find(&b, "inner")->poll_ns, 15);
	assert_int_equal(find(&b, "inner")->own.max_ns, 4);
	FATES(&b, "inner", 1, 1, 0, 0, 0); /* what some polls returned is not known */
	assert_int_equal(find(&b, "Sleep")->source, BY_FUTURE_PATHS);
	assert_int_equal(find(&b, "Sleep")->polls, 2);
	assert_int_equal(find(&b, "Sleep")->exact.polls, 9);
	assert_int_equal(find(&b, "work")->source, BY_FUTURE_PATHS);
	assert_int_equal(b.v[b.nr - 1].source, BY_FUTURE_SOME);
	assert_string_equal(by_future_name(&b.v[b.nr - 1]), "alone");
	assert_int_equal(b.v[b.nr - 1].polls, 2);
	by_future_release(&b);
	rows[1].nr_pending = 5;
	by_future_init(&b, &path_rec, p, &polls, false);
	FATES(&b, "inner", 4, 4, 0, 0, 0);
	by_future_release(&b);
	by_future_init(&b, &path_rec, p, &polls, true); /* some polls were lost */
	assert_int_equal(find(&b, "inner")->source, BY_FUTURE_PATHS);
	FATES(&b, "inner", 1, 1, 0, 0, 0);
	by_future_release(&b);
	by_path_free(p);
	path_rec.nr_futures = 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),	 cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_panicked), cmocka_unit_test(test_race),
		cmocka_unit_test(test_join),	 cmocka_unit_test(test_no_join),
		cmocka_unit_test(test_again),	 cmocka_unit_test(test_loop),
		cmocka_unit_test(test_exact),	 cmocka_unit_test(test_begins),
	};

	return cmocka_run_group_tests(tests, make_path_rec, release_path_rec);
}

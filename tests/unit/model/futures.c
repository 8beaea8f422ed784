// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Polls of inner futures: each is told with what was inside of it taken off, in the run that it is
 * in; and whatever is missing around them, no other is wrong for it.
 */
#include "unit.h"

#include "script.h"

#define BEGIN(t, th, nr)                                                  \
	{                                                                 \
		.time = t, .thread = th, .kind = EV_FUTURE_START, .a = nr \
	}
#define OVER(t, th, fl)                                                     \
	{                                                                   \
		.time = t, .thread = th, .kind = EV_FUTURE_END, .flags = fl \
	}
#define READY	EF_FUTURE_READY
#define PENDING EF_FUTURE_PENDING

struct polls {
	struct model_future v[16];
	uint64_t tasks[16]; /* 0: none */
	unsigned nr;
	struct model_totals totals;
};

static void on_future(void *sink, const struct model_future *f)
{
	struct polls *p = sink;

	p->tasks[p->nr] = f->task ? f->task->key.id : 0;
	p->v[p->nr++] = *f;
}

static const struct model_ops ops = { .future = on_future };

static void play_futures(struct polls *p, const struct event *evs, size_t nr, uint64_t start,
			 bool is_filtered)
{
	*p = (struct polls){ 0 };
	p->totals = play_to(&ops, p, evs, nr, start, is_filtered);
}

#define PLAY_FUTURES(p, ...)                                                     \
	do {                                                                     \
		static const struct event evs_[] = { __VA_ARGS__ };              \
		play_futures(p, evs_, sizeof(evs_) / sizeof(evs_[0]), 0, false); \
	} while (0)

static void assert_poll(const struct polls *p, unsigned i, struct model_future want, uint64_t task)
{
	const struct model_future *got = &p->v[i];

	assert_int_equal(got->future, want.future);
	assert_int_equal(got->start_ns, want.start_ns);
	assert_int_equal(got->end_ns, want.end_ns);
	assert_int_equal(got->self_ns, want.self_ns);
	assert_int_equal(got->depth, want.depth);
	assert_int_equal(got->flags, want.flags);
	assert_int_equal(got->is_open, want.is_open);
	assert_int_equal(got->is_recursive, want.is_recursive);
	assert_int_equal(p->tasks[i], task);
}

static void test_nested(void **state)
{
	struct polls p;

	PLAY_FUTURES(&p, POLL(10, 0, 1), BEGIN(20, 0, 5), BEGIN(30, 0, 6), OVER(40, 0, READY),
		     BEGIN(50, 0, 6), BEGIN(55, 0, 5), OVER(60, 0, 0), OVER(70, 0, PENDING),
		     OVER(90, 0, PENDING), END(100, 0, 0));
	assert_int_equal(p.nr, 4);
	assert_poll(&p, 0,
		    (struct model_future){ .future = 6,
					   .start_ns = 30,
					   .end_ns = 40,
					   .self_ns = 10,
					   .depth = 1,
					   .flags = READY },
		    1);
	assert_poll(&p, 1,
		    (struct model_future){ .future = 5,
					   .start_ns = 55,
					   .end_ns = 60,
					   .self_ns = 5,
					   .depth = 2,
					   .is_recursive = true },
		    1);
	assert_poll(&p, 2,
		    (struct model_future){ .future = 6,
					   .start_ns = 50,
					   .end_ns = 70,
					   .self_ns = 15,
					   .depth = 1,
					   .flags = PENDING },
		    1);
	assert_poll(&p, 3,
		    (struct model_future){ .future = 5,
					   .start_ns = 20,
					   .end_ns = 90,
					   .self_ns = 40,
					   .flags = PENDING },
		    1);
	assert_int_equal(p.v[3].run_start_ns, 10);
	assert_int_equal(p.totals.nr_stray, 0);
}

/* A LocalSet runs tasks inside of the poll of a future. */
static void test_runs_inside(void **state)
{
	struct polls p;

	PLAY_FUTURES(&p, POLL(10, 0, 1), BEGIN(20, 0, 5), START(30, 0, 2, LOCAL, 0),
		     BEGIN(35, 0, 6), OVER(40, 0, 0), END(50, 0, 0), OVER(60, 0, 0), END(70, 0, 0),
		     BEGIN(80, 0, 7), OVER(85, 0, 0));
	assert_int_equal(p.nr, 3);
	assert_poll(
		&p, 0,
		(struct model_future){ .future = 6, .start_ns = 35, .end_ns = 40, .self_ns = 5 },
		2);
	assert_poll(
		&p, 1,
		(struct model_future){ .future = 5, .start_ns = 20, .end_ns = 60, .self_ns = 20 },
		1);
	/* of a future that nobody's run is around */
	assert_poll(
		&p, 2,
		(struct model_future){ .future = 7, .start_ns = 80, .end_ns = 85, .self_ns = 5 },
		0);
	assert_int_equal(p.v[2].run_start_ns, MODEL_NO_RUN);
}

/* Ends and starts that are missing; and those of another thread are its own. */
static void test_torn(void **state)
{
	struct polls p;

	PLAY_FUTURES(&p, OVER(5, 0, 0), POLL(10, 0, 1), BEGIN(20, 0, 5), END(30, 0, 0),
		     BEGIN(40, 1, 6), { .time = 50, .thread = 0, .kind = EV_LOST, .a = 0, .b = 1 },
		     OVER(60, 1, READY), POLL(70, 0, 1), BEGIN(80, 0, 5),
		     { .time = 85, .thread = 0, .kind = EV_THREAD_STOP });
	assert_int_equal(p.nr, 1);
	assert_poll(
		&p, 0,
		(struct model_future){
			.future = 6, .start_ns = 40, .end_ns = 60, .self_ns = 20, .flags = READY },
		0);
	/* an end, a start in a run that ended, a start on a thread that stopped, and its run */
	assert_int_equal(p.totals.nr_stray, 4);
}

static void test_range_and_filter(void **state)
{
	static const struct event evs[] = {
		POLL(10, 0, 1),	 BEGIN(20, 0, 5), BEGIN(30, 0, 6),  OVER(40, 0, 0),
		OVER(80, 0, 0),	 END(90, 0, 0),	  POLL(100, 0, 2),  BEGIN(110, 0, 5),
		OVER(120, 0, 0), END(130, 0, 0),  BEGIN(140, 0, 7),
	};
	struct polls p;

	play_futures(&p, evs, ARRAY_SIZE(evs), 50, false);
	assert_int_equal(p.nr, 3);
	assert_poll(
		&p, 0,
		(struct model_future){ .future = 5, .start_ns = 50, .end_ns = 80, .self_ns = 30 },
		1);
	assert_poll(&p, 2,
		    (struct model_future){ .future = 7,
					   .start_ns = 140,
					   .end_ns = 1000,
					   .self_ns = 860,
					   .is_open = true },
		    0);
	play_futures(&p, evs, ARRAY_SIZE(evs), 0, true);
	assert_int_equal(p.nr, 2);
	assert_int_equal(p.tasks[0], 1);
	assert_int_equal(p.tasks[1], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_runs_inside),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_range_and_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

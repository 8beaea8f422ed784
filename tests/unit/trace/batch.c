// SPDX-License-Identifier: MIT OR Apache-2.0
/* Events that are written in batches make the same file as events that are written one by one. */
#include "make.h"

static void put_at_random(struct trace_stream *s, struct rng *r, const struct event *ev, size_t nr)
{
	while (nr) {
		size_t most = 1 + rng_below(r, 200), some = MIN(most, nr);

		trace_stream_put_all(s, ev, some);
		ev += some;
		nr -= some;
	}
}

/*
 * Proves that events put many at a time make the same file as one by one: kinds that are none,
 * threads that get a name and blocks that become full in the middle included.
 */
static void many_at_a_time_are_the_same(void **state)
{
	enum { EVENTS = 150001 };
	struct event *evs = xcalloc(EVENTS, sizeof(*evs));
	struct memory_file f[2];
	void *data[2];
	size_t len[2];
	struct rng r = { 11 };
	uint64_t time = 0;

	for (size_t i = 0; i < EVENTS; i++) {
		/* mostly as programs do: few tasks, in turns */
		unsigned kind = rng_below(&r, 50) ? EV_RUN_START + i % 3 : rng_below(&r, 256);

		time += rng_below(&r, 300);
		if (kind < EV_MAX && event_descs[kind].name)
			evs[i] = make_event(&r, kind, time);
		else
			evs[i] = (struct event){ .kind = kind, .time = time };
		evs[i].task = i / 3 % 100;
	}
	for (int k = 0; k < 2; k++) {
		struct trace_writer *w;
		struct trace_stream *s;

		memory_file_init(&f[k], "", 0);
		w = make_writer(&f[k]);
		s = trace_writer_thread(w, 42);
		if (k == 0)
			for (size_t i = 0; i < EVENTS; i++)
				trace_stream_put(s, &evs[i]);
		else
			put_at_random(s, &r, evs, EVENTS);
		assert_int_equal(trace_writer_close(w, NULL, NULL), 0);
	}
	for (int k = 0; k < 2; k++)
		data[k] = memory_file_read(&f[k], &len[k]);
	assert_int_equal(len[0], len[1]);
	assert_memory_equal(data[0], data[1], len[0]);
	free(data[0]);
	free(data[1]);
	memory_file_release(&f[0]);
	memory_file_release(&f[1]);
	free(evs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_at_a_time_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/* Events that are written in batches make the same file as events that are written one by one. */
#include "make.h"

#include <sys/socket.h>
#include <unistd.h>

#include "trace/format.h"

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

/* How many writes have come since the last time. */
static unsigned nr_writes(int fd)
{
	static char message[1 << 20];
	unsigned nr = 0;

	while (recv(fd, message, sizeof(message), MSG_DONTWAIT) > 0)
		nr++;
	return nr;
}

/* Proves that a flush makes one write of all definitions and half-filled blocks, that a full block
 * waits for no flush, and that a thread that ends writes nothing before the next one. */
static void few_writes(void **state)
{
	const struct trace_meta meta = { .tool = "t", .exe = "x" };
	struct event ev = { .kind = EV_SLEEP, .time = 1 };
	struct trace_stream *s[3];
	struct trace_writer *w;
	unsigned nr;
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	w = trace_writer_new(fds[0], &meta);
	assert_int_equal(nr_writes(fds[1]), 1);
	for (unsigned i = 0; i < ARRAY_SIZE(s); i++) {
		s[i] = trace_writer_thread(w, i);
		trace_stream_put(s[i], &ev);
	}
	trace_stream_close(s[0]);
	assert_int_equal(nr_writes(fds[1]), 0);
	trace_writer_flush(w);
	assert_int_equal(nr_writes(fds[1]), 1);
	trace_writer_flush(w);
	assert_int_equal(nr_writes(fds[1]), 0);
	for (nr = 0; nr < BLOCK_EVENTS_MAX; nr++)
		trace_stream_put(s[1], &ev);
	assert_int_equal(nr_writes(fds[1]), 1);
	assert_int_equal(trace_writer_close(w, NULL, NULL), 0);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_at_a_time_are_the_same),
		cmocka_unit_test(few_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

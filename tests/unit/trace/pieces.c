// SPDX-License-Identifier: MIT OR Apache-2.0
/* A trace that is read while it grows, in pieces of any size, is the trace that is read at once. */
#include "make.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "trace/alive.h"

/* What a reader was given. */
struct result {
	VEC(struct event) events;
	uint32_t nr_threads, nr_types, nr_paths, nr_anchors, nr_cpu;
	uint64_t nr_events, duration_ns, nr_late, cpu_ns;
	struct trace_damage damage;
	enum trace_end_kind end;
	size_t most_waiting; /* events that had come and were not given, at any time */
};

static void take(struct trace *t, struct result *r)
{
	const struct event *evs;
	size_t n;

	while ((n = trace_read(t, &evs)))
		for (size_t i = 0; i < n; i++) {
			if (r->events.nr)
				assert_true(evs[i].time >= r->events.v[r->events.nr - 1].time);
			vec_push(&r->events, evs[i]);
		}
	r->most_waiting = MAX(r->most_waiting, trace_get_nr_events(t) - r->events.nr);
}

static void finish(struct trace *t, struct result *r)
{
	const struct trace_cpu *u;

	assert_true(trace_is_over(t));
	trace_get_threads(t, &r->nr_threads);
	trace_get_types(t, &r->nr_types);
	trace_get_paths(t, &r->nr_paths);
	trace_get_anchors(t, &r->nr_anchors);
	u = trace_get_cpu(t, &r->nr_cpu);
	for (uint32_t i = 0; i < r->nr_cpu; i++)
		r->cpu_ns += u[i].time ^ u[i].cpu_ns << 7 ^ u[i].thread;
	r->nr_events = trace_get_nr_events(t);
	r->duration_ns = trace_get_duration(t);
	r->nr_late = trace_get_nr_late(t);
	r->damage = *trace_get_damage(t);
	r->end = trace_get_end(t)->kind;
	trace_close(t);
}

static void release(struct result *r)
{
	vec_release(&r->events);
}

/* False: it is no trace. */
static bool read_at_once(const void *data, size_t len, struct result *r)
{
	struct memory_file f;
	struct trace *t;

	*r = (struct result){ 0 };
	memory_file_init(&f, data, len);
	t = trace_open(f.path, NULL);
	if (t) {
		take(t, r);
		finish(t, r);
	}
	memory_file_release(&f);
	return t != NULL;
}

static bool read_in_pieces(const uint8_t *data, size_t len, struct rng *rng, size_t most,
			   struct result *r)
{
	struct trace *t = trace_new(NULL);
	int rc = 0;

	*r = (struct result){ 0 };
	for (size_t off = 0, n; off < len && rc == 0; off += n) {
		n = 1 + rng_below(rng, most);
		n = MIN(n, len - off);
		rc = trace_feed(t, data + off, n, NULL);
		if (rc == 0 && rng_below(rng, 2))
			take(t, r);
	}
	if (rc < 0 || trace_feed_end(t, NULL) < 0) {
		trace_close(t);
		return false;
	}
	take(t, r);
	finish(t, r);
	return true;
}

static void assert_same(const struct result *a, const struct result *b)
{
	assert_int_equal(a->events.nr, b->events.nr);
	for (size_t i = 0; i < a->events.nr; i++) {
		assert_same_event(&a->events.v[i], &b->events.v[i]);
		assert_int_equal(a->events.v[i].thread, b->events.v[i].thread);
	}
	assert_int_equal(a->nr_threads, b->nr_threads);
	assert_int_equal(a->nr_types, b->nr_types);
	assert_int_equal(a->nr_paths, b->nr_paths);
	assert_int_equal(a->nr_anchors, b->nr_anchors);
	assert_int_equal(a->nr_cpu, b->nr_cpu);
	assert_int_equal(a->cpu_ns, b->cpu_ns);
	assert_int_equal(a->nr_events, b->nr_events);
	assert_int_equal(a->duration_ns, b->duration_ns);
	assert_int_equal(a->end, b->end);
	assert_memory_equal(&a->damage, &b->damage, sizeof(a->damage));
}

/* In pieces of a byte, of a block and of all. */
static void compare(const uint8_t *data, size_t len, struct rng *rng)
{
	struct result whole, pieces;
	bool is_trace = read_at_once(data, len, &whole);

	for (size_t most = 16; most < 4 * len + 64; most *= 16) {
		assert_int_equal(read_in_pieces(data, len, rng, most, &pieces), is_trace);
		if (is_trace)
			assert_same(&whole, &pieces);
		assert_int_equal(pieces.nr_late, 0);
		release(&pieces);
	}
	release(&whole);
}

static struct clock_anchor anchor_at(uint64_t ticks)
{
	/* the clock is corrected all the time */
	return (struct clock_anchor){ .ticks = make_meta.base_ticks + ticks,
				      .mono_ns = 5000 + ticks + ticks * ticks / 100000000 };
}

/* As a recording does: threads come and go, marks now and then, definitions whenever they are
 * needed. Each mark is `margin` ticks behind. */
static void make_marked(struct memory_file *f, uint64_t seed, unsigned nr_events, uint64_t margin)
{
	enum { THREADS = 5 };
	struct trace_stream *s[THREADS] = { 0 };
	struct rng r = { seed };
	struct trace_writer *w;
	uint64_t time = 0;

	memory_file_init(f, "", 0);
	w = trace_writer_new(dup(f->fd), &make_meta);
	trace_writer_anchor(
		w, &(struct clock_anchor){ .ticks = make_meta.base_ticks - 50, .mono_ns = 4950 });
	for (unsigned i = 0; i < nr_events; i++) {
		struct event ev = make_event(&r, rng_below(&r, 8) ? EV_RUN_START : EV_WAKE,
					     time += rng_below(&r, 300));
		unsigned k = rng_below(&r, THREADS);

		if (!s[k])
			s[k] = trace_writer_thread(w, 100 + i);
		trace_stream_put(s[k], &ev);
		if (rng_below(&r, 50) == 0) {
			trace_stream_cpu(s[k], &(struct trace_cpu){ .time = time, .cpu_ns = i });
			trace_stream_close(s[k]);
			s[k] = NULL;
		}
		if (rng_below(&r, 40) == 0)
			trace_writer_flush(w);
		if (rng_below(&r, 100) == 0) {
			struct clock_anchor a = anchor_at(time - MIN(time, margin));

			trace_writer_mark(w, &a);
		}
		if (rng_below(&r, 60) == 0)
			trace_writer_type(w, &(struct trace_type){ .name = "t" });
	}
	assert_int_equal(trace_writer_close(w, &(struct trace_end){ .kind = TRACE_EXITED }, NULL),
			 0);
}

/* Proves that a good trace is the same in pieces, and that events do not wait for its end. */
static void pieces_make_the_same(void **state)
{
	struct rng rng = { 17 };

	for (unsigned seed = 0; seed < 12; seed++) {
		struct result pieces;
		struct memory_file f;
		uint8_t *data;
		size_t len;

		if (seed % 3 == 0)
			make_trace(&f, seed, 1 + seed, 400);
		else
			make_marked(&f, seed, 3000, seed * 10);
		data = memory_file_read(&f, &len);
		compare(data, len, &rng);
		assert_true(read_in_pieces(data, len, &rng, 200, &pieces));
		if (seed % 3)
			assert_in_range(pieces.most_waiting, 1, 1500);
		release(&pieces);
		free(data);
		memory_file_release(&f);
	}
}

/* Proves that a damaged, cut or foreign trace is the same in pieces, too. */
static void damage_is_the_same_in_pieces(void **state)
{
	struct rng rng = { 23 };

	for (unsigned round = 0; round < 150; round++) {
		struct memory_file f;
		uint8_t *data;
		size_t len;

		make_marked(&f, round % 7, 600, 30);
		data = memory_file_read(&f, &len);
		for (unsigned i = rng_below(&rng, 6); i > 0; i--)
			data[rng_below(&rng, len)] ^= 1 << rng_below(&rng, 8);
		if (rng_below(&rng, 2))
			len = rng_below(&rng, len);
		if (rng_below(&rng, 4) == 0) {
			size_t hole = rng_below(&rng, len + 1), n = rng_below(&rng, len - hole + 1);

			memset(data + hole, 0, n);
		}
		compare(data, len, &rng);
		free(data);
		memory_file_release(&f);
	}
}

/* Proves that events that miss their mark are given all the same, and counted. */
static void late_events_are_counted(void **state)
{
	struct trace_stream *s[2];
	struct result whole, pieces;
	struct rng rng = { 3 };
	struct clock_anchor a;
	struct trace_writer *w;
	struct memory_file f;
	uint8_t *data;
	size_t len;

	memory_file_init(&f, "", 0);
	w = trace_writer_new(dup(f.fd), &make_meta);
	a = anchor_at(0);
	trace_writer_anchor(w, &a);
	for (int i = 0; i < 2; i++)
		s[i] = trace_writer_thread(w, 7 + i);
	trace_stream_put(s[0], &(struct event){ .kind = EV_PANIC, .time = 500 });
	a = anchor_at(1000);
	trace_writer_mark(w, &a);
	trace_stream_put(s[1], &(struct event){ .kind = EV_PANIC, .time = 400 });
	trace_stream_put(s[1], &(struct event){ .kind = EV_PANIC, .time = 2000 });
	trace_writer_flush(w);
	assert_int_equal(trace_writer_close(w, NULL, NULL), 0);
	data = memory_file_read(&f, &len);
	assert_true(read_at_once(data, len, &whole));
	do {
		assert_true(read_in_pieces(data, len, &rng, 8, &pieces));
		assert_int_equal(pieces.nr_late, 2);
		assert_int_equal(pieces.events.nr, 3);
		release(&pieces);
	} while (rng_below(&rng, 10));
	assert_int_equal(whole.events.v[0].thread, 1);
	assert_int_equal(whole.nr_late, 0);
	release(&whole);
	free(data);
	memory_file_release(&f);
}

struct late_paths {
	struct trace_writer *w;
	uint32_t nr_wanted, nr_defined;
};

static void define_paths(void *arg)
{
	struct late_paths *p = arg;

	while (p->nr_defined < p->nr_wanted) {
		uint32_t step = trace_writer_step(
			p->w, &(struct trace_step){ .outer = TRACE_NO_STEP, .future = "f" });

		trace_writer_path(p->w, ++p->nr_defined, &(struct trace_path){ &step, 1 });
	}
}

/* Proves that what events name can be defined right before their block, whoever makes it go out. */
static void definitions_come_first(void **state)
{
	enum { EVENTS = 200000, EVERY = 97 };
	struct late_paths p = { 0 };
	struct trace_stream *s;
	struct memory_file f;
	struct rng rng = { 31 };
	uint64_t nr_seen = 0;
	struct trace *t;
	uint8_t *data;
	size_t len;

	memory_file_init(&f, "", 0);
	p.w = trace_writer_new(dup(f.fd), &make_meta);
	trace_writer_set_prepare(p.w, define_paths, &p);
	s = trace_writer_thread(p.w, 42);
	for (uint32_t i = 1; i <= EVENTS; i++) {
		struct event ev = { .kind = EV_RUN_START, .time = i, .task = 3 };
		struct clock_anchor a = anchor_at(i);

		ev.path = p.nr_wanted = 1 + i / EVERY;
		trace_stream_put(s, &ev);
		if (i % 90001 == 0)
			trace_writer_flush(p.w);
		if (i % 30011 == 0) /* no flush: the mark of a block that became full */
			trace_writer_anchor(p.w, &a);
		if (i % 120011 == 0)
			trace_writer_mark(p.w, &a);
	}
	assert_int_equal(trace_writer_close(p.w, NULL, NULL), 0);
	data = memory_file_read(&f, &len);
	t = trace_new(NULL);
	for (size_t off = 0, n; off < len; off += n) {
		const struct trace_path *paths;
		const struct event *evs;
		uint32_t nr_paths;

		n = 1 + rng_below(&rng, 3000);
		n = MIN(n, len - off);
		assert_int_equal(trace_feed(t, data + off, n, NULL), 0);
		if (off + n == len)
			assert_int_equal(trace_feed_end(t, NULL), 0);
		paths = trace_get_paths(t, &nr_paths);
		for (size_t nr; (nr = trace_read(t, &evs)); nr_seen += nr)
			for (size_t i = 0; i < nr; i++)
				assert_true(evs[i].path < nr_paths && paths[evs[i].path].nr_steps);
		if (off > len * 3 / 4)
			assert_true(nr_seen > 0);
	}
	assert_int_equal(nr_seen, EVENTS);
	trace_close(t);
	free(data);
	memory_file_release(&f);
}

/* Proves that a reader beside the writer has all that the file gets, and soon. */
static void a_writer_feeds_a_reader(void **state)
{
	enum { EVENTS = 200000 };
	struct trace *t = trace_new(NULL);
	struct result whole, fed = { 0 };
	struct trace_stream *s[3];
	struct rng rng = { 37 };
	struct trace_writer *w;
	struct memory_file f;
	uint8_t *data;
	size_t len;

	memory_file_init(&f, "", 0);
	w = trace_writer_new_tee(dup(f.fd), trace_get_sink(t), &make_meta);
	for (int i = 0; i < 3; i++)
		s[i] = trace_writer_thread(w, i);
	for (unsigned i = 0; i < EVENTS; i++) {
		struct event ev = make_event(&rng, EV_RUN_START, i);

		trace_stream_put(s[i % 3], &ev);
		if (i % 1000 == 0) {
			struct clock_anchor a = anchor_at(i);

			trace_writer_mark(w, &a);
			take(t, &fed);
		}
	}
	assert_int_equal(trace_writer_close(w, &(struct trace_end){ .kind = TRACE_EXITED }, NULL),
			 0);
	assert_in_range(fed.most_waiting, 1, 3000);
	take(t, &fed);
	finish(t, &fed);
	data = memory_file_read(&f, &len);
	assert_true(read_at_once(data, len, &whole));
	assert_same(&whole, &fed);
	release(&whole);
	release(&fed);
	free(data);
	memory_file_release(&f);
}

/* Gives the bytes to a file that grows, and reads it meanwhile. */
static void follow(const uint8_t *data, size_t len, struct rng *rng, bool is_pipe)
{
	struct result whole, pieces = { 0 };
	struct memory_file f;
	int fds[2];
	struct trace *t;

	assert_true(read_at_once(data, len, &whole));
	if (is_pipe) {
		assert_return_code(pipe2(fds, O_CLOEXEC), errno);
		snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d", fds[0]);
		f.fd = fds[1];
	} else {
		memory_file_init(&f, "", 0);
		fds[0] = f.fd;
		f.fd = open(f.path, O_WRONLY | O_CLOEXEC);
		alive_mark(f.fd);
	}
	t = trace_follow(f.path, NULL);
	assert_non_null(t);
	assert_false(trace_is_over(t));
	for (size_t off = 0, n; off < len; off += n) {
		n = 1 + rng_below(rng, 3000);
		n = MIN(n, len - off);
		assert_int_equal(io_write_all(f.fd, data + off, n), 0);
		assert_int_equal(trace_wait(t, 60000, NULL), 0);
		take(t, &pieces);
	}
	assert_int_equal(trace_wait(t, 0, NULL), 0);
	assert_int_equal(trace_is_over(t), !is_pipe && whole.end != TRACE_CUT);
	close(f.fd);
	while (!trace_is_over(t))
		assert_int_equal(trace_wait(t, 60000, NULL), 0);
	take(t, &pieces);
	finish(t, &pieces);
	assert_same(&whole, &pieces);
	close(fds[0]);
	release(&whole);
	release(&pieces);
}

/* Proves that a file and a pipe can be followed, and end with their writer. */
static void growing_files_are_followed(void **state)
{
	struct rng rng = { 29 };

	for (unsigned round = 0; round < 12; round++) {
		struct memory_file f;
		uint8_t *data;
		size_t len;

		make_marked(&f, round, 1000, 10);
		data = memory_file_read(&f, &len);
		follow(data, round % 3 ? len : len * 2 / 3, &rng, round % 2);
		free(data);
		memory_file_release(&f);
	}
}

/* Proves that a file whose writer lives is not taken for one that was cut. */
static void living_writers_show(void **state)
{
	struct memory_file f;
	struct trace *t;
	int fd;

	make_marked(&f, 1, 500, 10);
	assert_return_code(ftruncate(f.fd, lseek(f.fd, 0, SEEK_END) / 2), errno);
	fd = open(f.path, O_WRONLY | O_CLOEXEC);
	alive_mark(fd);
	t = trace_open(f.path, NULL);
	assert_true(trace_get_damage(t)->cut && trace_get_damage(t)->is_live);
	trace_close(t);
	close(fd);
	t = trace_open(f.path, NULL);
	assert_true(trace_get_damage(t)->cut && !trace_get_damage(t)->is_live);
	trace_close(t);
	memory_file_release(&f);
}

/* Proves that a file that is begun anew, as a recording does after an exec, is read from there. */
static void files_that_begin_anew_are_read_anew(void **state)
{
	struct result whole, got = { 0 };
	struct memory_file f, to;
	struct trace *t;
	uint8_t *data;
	size_t len;
	int fd;

	make_marked(&f, 2, 100, 10);
	data = memory_file_read(&f, &len);
	memory_file_init(&to, data, len * 2 / 3);
	free(data);
	memory_file_release(&f);
	fd = open(to.path, O_WRONLY | O_CLOEXEC);
	alive_mark(fd);
	t = trace_follow(to.path, NULL);
	assert_non_null(t);
	make_marked(&f, 3, 900, 10);
	data = memory_file_read(&f, &len);
	assert_int_equal(io_write_all(fd, data, len), 0);
	close(fd);
	while (!trace_is_over(t))
		assert_int_equal(trace_wait(t, 60000, NULL), 0);
	take(t, &got);
	finish(t, &got);
	assert_true(read_at_once(data, len, &whole));
	assert_same(&whole, &got);
	release(&whole);
	release(&got);
	free(data);
	memory_file_release(&to);
	memory_file_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_make_the_same),
		cmocka_unit_test(damage_is_the_same_in_pieces),
		cmocka_unit_test(late_events_are_counted),
		cmocka_unit_test(definitions_come_first),
		cmocka_unit_test(a_writer_feeds_a_reader),
		cmocka_unit_test(growing_files_are_followed),
		cmocka_unit_test(living_writers_show),
		cmocka_unit_test(files_that_begin_anew_are_read_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "make.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->s += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	return rng_next(r) % n;
}

void memory_file_init(struct memory_file *f, const void *data, size_t len)
{
	f->fd = memfd_create("trace", MFD_CLOEXEC);
	assert_true(f->fd >= 0);
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
	assert_int_equal(io_write_all(f->fd, data, len), 0);
}

void memory_file_release(struct memory_file *f)
{
	close(f->fd);
}

void *memory_file_read(const struct memory_file *f, size_t *len)
{
	struct stat st;
	void *data;

	assert_int_equal(fstat(f->fd, &st), 0);
	*len = st.st_size;
	data = xmalloc(*len + 1);
	assert_int_equal(io_pread_all(f->fd, data, *len, 0), 0);
	return data;
}

const struct trace_meta make_meta = {
	.tool = "futrace test",
	.exe = "/usr/bin/server",
	.argv = (const char *const[]){ "server", "--port", "", "\x1b[31m" },
	.argc = 4,
	.cwd = "/srv",
	.os = "Linux 6.1 x86_64",
	.cpu = "Some CPU",
	.host = "host",
	.pid = 4711,
	.uid = 1000,
	.nr_cpus = 2,
	.parent_pid = 17,
	.clock = CLOCK_KIND_TSC,
	.base_ticks = 1000000,
};

struct trace_writer *make_writer(const struct memory_file *f)
{
	struct trace_writer *w = trace_writer_new(dup(f->fd), &make_meta);
	const uint64_t ticks[] = { 999990, 3000000 };

	for (size_t i = 0; i < ARRAY_SIZE(ticks); i++)
		trace_writer_anchor(w, &(struct clock_anchor){ .ticks = ticks[i],
							       .mono_ns = 5000 + ticks[i],
							       .boot_ns = 6000 + ticks[i],
							       .real_ns = 7000 + ticks[i] });
	return w;
}

/* Small, middle and huge ones. */
static uint64_t any_number(struct rng *r)
{
	return rng_next(r) >> rng_below(r, 64);
}

struct event make_event(struct rng *r, unsigned kind, uint64_t time)
{
	const struct event_desc *d = &event_descs[kind];
	struct event ev = { .time = time,
			    .kind = kind,
			    .flags = rng_below(r, 1 << EVENT_FLAG_BITS),
			    .type = EVENT_TYPE_NONE };

	if (d->task) {
		/* Mostly one of a few tasks, at times any. */
		bool is_usual = rng_below(r, 8);

		ev.task = is_usual ? rng_below(r, 50) : any_number(r);
		ev.type = is_usual ? ev.task % 7 : rng_next(r);
		if (d->task == EVENT_TASK_ADDR)
			ev.addr = is_usual ? 0x7f0012340000 + 128 * ev.task : any_number(r);
	}
	if (d->a)
		ev.a = any_number(r);
	if (d->b)
		ev.b = any_number(r);
	return ev;
}

static unsigned any_kind(struct rng *r)
{
	unsigned kind;

	do
		kind = rng_below(r, EV_MAX);
	while (!event_descs[kind].name);
	return kind;
}

void make_trace(struct memory_file *f, uint64_t seed, unsigned nr_threads, unsigned nr_events)
{
	struct trace_writer *w;
	struct trace_stream **s = xcalloc(nr_threads + 1, sizeof(struct trace_stream *));
	struct rng r = { seed };
	uint64_t time = 0;

	memory_file_init(f, "", 0);
	w = make_writer(f);
	trace_writer_object(w, &(struct trace_object){ "/usr/bin/server", "abcd", 0x1000 });
	trace_writer_runtime(w, &(struct trace_runtime){ 0, "tokio", "1.54.1" });
	trace_writer_type(w, &(struct trace_type){ .name = "server::{async_fn}",
						   .scheduler = "multi_thread",
						   .file = "src/main.rs" });
	for (unsigned i = 0; i < nr_threads; i++)
		s[i] = trace_writer_thread(w, 100 + i);
	for (unsigned i = 0; i < nr_threads * nr_events; i++) {
		struct event ev = make_event(&r, any_kind(&r), time += rng_below(&r, 300));

		trace_stream_put(s[i % nr_threads], &ev);
		if (rng_below(&r, 64) == 0)
			trace_writer_flush(w);
	}
	assert_int_equal(trace_writer_close(w, &(struct trace_end){ .kind = TRACE_EXITED }, NULL),
			 0);
	free(s);
}

void assert_same_event(const struct event *got, const struct event *want)
{
	assert_int_equal(got->kind, want->kind);
	assert_int_equal(got->flags, want->flags);
	assert_int_equal(got->type, want->type);
	assert_int_equal(got->task, want->task);
	assert_int_equal(got->a, want->a);
	assert_int_equal(got->b, want->b);
	assert_int_equal(got->time, want->time);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * maketrace FILE: a small trace that is always the same, for the tests of the commands: every kind
 * of event.def once without and once with all its flags, names that a terminal must not see, times
 * that meet on two threads.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "trace/writer.h"

static void put_kind(struct trace_stream *s, unsigned kind, uint64_t time)
{
	const struct event_desc *d = &event_descs[kind];
	struct event ev = { .kind = kind, .time = time };

	if (d->task) {
		ev.task = 40 + kind % 2;
		ev.type = kind % 2 ? 0 : EVENT_TYPE_NONE;
	}
	if (d->task == EVENT_TASK_ADDR)
		ev.addr = 0x7f0012345680;
	if (d->a)
		ev.a = kind == EV_THREAD_NAME	 ? 0x1b206f6b6f74
		       : kind == EV_THREAD_START ? 4711
						 : EV_WAKE;
	if (d->b)
		ev.b = kind == EV_THREAD_NAME ? 0 : 7;
	trace_stream_put(s, &ev);
	ev.time += 1000;
	for (unsigned bit = 0; bit < EVENT_FLAG_BITS; bit++)
		ev.flags |= d->flags[bit] ? 1 << bit : 0;
	if (ev.flags)
		trace_stream_put(s, &ev);
}

int main(int argc, char **argv)
{
	const struct trace_meta meta = { .tool = "futrace test",
					 .exe = "/srv/ser\x1bver",
					 .argv = (const char *const[]){ "server", "--port=80" },
					 .argc = 2,
					 .cwd = "/srv",
					 .os = "Linux 6.1 x86_64",
					 .cpu = "A CPU",
					 .host = "here",
					 .pid = 4711,
					 .uid = 1000,
					 .nr_cpus = 4,
					 .clock = CLOCK_KIND_MONOTONIC,
					 .base_ticks = 500 };
	struct trace_end end = { .kind = TRACE_EXITED,
				 .status = 3,
				 .ticks = 500 + 2000000000,
				 .tool_cpu_ns = 250000000,
				 .target_cpu_ns = 1500000000,
				 .lost = { [EV_WAKE] = 16 } };
	struct trace_writer *w;
	struct trace_stream *s[2];
	struct err e = ERR_INIT;
	int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd < 0) {
		perror("maketrace");
		return 1;
	}
	w = trace_writer_new(fd, &meta);
	trace_writer_anchor(w,
			    &(struct clock_anchor){ 500, 100, 200, UINT64_C(1700000000000000000) });
	trace_writer_object(w, &(struct trace_object){ "/srv/server", "abcd", 0 });
	trace_writer_runtime(w, &(struct trace_runtime){ 0, "tokio", "1.54.1" });
	trace_writer_type(w, &(struct trace_type){ .name = "srv::handle<\x07> {async}" });
	for (unsigned i = 0; i <= EV_WAKE; i++)
		trace_writer_future(w, &(struct trace_future){ .name = "srv::inner<\x1b, u8>" });
	s[0] = trace_writer_thread(w, 4711);
	s[1] = trace_writer_thread(w, 4712);
	for (unsigned kind = 0; kind < EV_MAX; kind++)
		if (event_descs[kind].name)
			put_kind(s[kind % 2], kind, kind * 100000000);
	put_kind(s[1], EV_AWAKE, 1950000000);
	put_kind(s[0], EV_AWAKE, 1950000000);
	/* What the recorder could not tell apart is lost as kind 0. */
	trace_stream_put(s[0], &(struct event){ .kind = EV_LOST, .time = 1970000000, .b = 5 });
	if (trace_writer_close(w, &end, &e) < 0) {
		fprintf(stderr, "maketrace: %s\n", e.msg);
		return 1;
	}
	return 0;
}

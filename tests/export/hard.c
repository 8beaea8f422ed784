// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Writes a small trace of all that is hard to export: names that mean something to a format, types
 * that cannot be told apart by their names, two runtimes with the same ids, runs inside of runs
 * that begin together, runs that do not nest, a run that the recording cut, and lost events.
 *	make-hard-trace FILE
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "trace/writer.h"

static const struct trace_type types[] = {
	{ .kind = TRACE_HELPER, .name = "launch" },
	{ .kind = TRACE_TASK, .name = "a::one | a::two", .nr_candidates = 2 },
	{ .kind = TRACE_TASK, .name = "a::one | a::two", .nr_candidates = 2 },
	{ .kind = TRACE_TASK, .name = "b::twin", .file = "src/b.rs", .line = 7 },
	{ .kind = TRACE_TASK, .name = "b::twin", .runtime = 1, .file = "src/b.rs", .line = 7 },
	{ .kind = TRACE_LOCAL, .name = "b::twin" },
	{ .kind = TRACE_TASK, .name = "" },
	{ .kind = TRACE_TASK, .name = "ends in a number 12" },
	{ .kind = TRACE_TASK, .name = "[u8; 3];c\"d'\\,\n\t<&>" },
	{ .kind = TRACE_TASK, .name = "bad\xff\xfe utf8 \x1b[31m \xe2\x80\xa8 \xf0\x9f\xa6\x80" },
	{ .kind = TRACE_TASK, .name = "=cmd|' /C calc'!A0" },
	{ .kind = TRACE_TASK, .name = "x';DROP TABLE task;--" },
};

#define FIRST_TASK 1u

struct maker {
	struct trace_writer *w;
	struct trace_stream *s;
	uint64_t time;
};

static void put(struct maker *m, struct event ev)
{
	ev.time = m->time;
	trace_stream_put(m->s, &ev);
}

static void begin_thread(struct maker *m, uint32_t tid, const char *name)
{
	char comm[16] = { 0 };
	uint64_t words[2];

	memcpy(comm, name, MIN(strlen(name), sizeof(comm)));
	memcpy(words, comm, sizeof(words));
	m->s = trace_writer_thread(m->w, tid);
	m->time = 1000;
	put(m, (struct event){ .kind = EV_THREAD_START, .a = tid });
	put(m, (struct event){ .kind = EV_THREAD_NAME, .a = words[0], .b = words[1] });
	put(m, (struct event){
		       .kind = EV_RUN_START, .task = 1000000 + tid, .addr = 64 * (uint64_t)tid });
}

static void begin_run(struct maker *m, uint16_t type, uint64_t task, uint8_t flags)
{
	put(m, (struct event){ .kind = EV_RUN_START,
			       .type = type,
			       .task = task,
			       .flags = flags,
			       .addr = 4096 + 4096 * (uint64_t)type + 128 * task });
}

static void end_run(struct maker *m, uint64_t took_ns, uint8_t flags)
{
	m->time += took_ns;
	put(m, (struct event){ .kind = EV_RUN_END, .flags = flags });
}

static void wake(struct maker *m, uint16_t type, uint64_t task)
{
	put(m, (struct event){ .kind = EV_WAKE, .type = type, .task = task });
}

/* Two runtimes give the same one. */
static uint64_t id_of(uint16_t type)
{
	return 100 + (type == 4 ? 3 : type);
}

/* Each type is polled, woken from the poll of the next one, and polled again; the last one lives.
 */
static void make_lives(struct maker *m)
{
	for (uint16_t type = FIRST_TASK; type < ARRAY_SIZE(types); type++) {
		m->time += 100;
		begin_run(m, type, id_of(type), 0);
		m->time += 10;
		if (type > FIRST_TASK)
			wake(m, type - 1, id_of(type - 1));
		end_run(m, 100 + type, 0);
		m->time += 50;
		if (type > FIRST_TASK) {
			begin_run(m, type - 1, id_of(type - 1), type % 3 ? 0 : EF_RUN_DROP);
			end_run(m, 10 * type, type % 3 ? EF_END_COMPLETE : EF_END_CANCELLED);
		}
	}
}

/* Three that begin together, with a sleep in the innermost that does so too. */
static void make_nest(struct maker *m)
{
	m->time += 1000;
	begin_run(m, 3, 21, 0);
	begin_run(m, 5, 22, 0);
	begin_run(m, 7, 23, 0);
	put(m, (struct event){ .kind = EV_SLEEP, .flags = EF_SLEEP_FUTEX });
	m->time += 70;
	put(m, (struct event){ .kind = EV_AWAKE });
	end_run(m, 0, 0);
	end_run(m, 30, EF_END_COMPLETE);
	end_run(m, 500, 0);
}

/* The task runs on another thread before the run here is over: it is cut, and its inner one sticks
 * out. */
static void make_torn(struct maker *m, bool is_second)
{
	m->time = is_second ? 50100 : 50000;
	begin_run(m, 3, 31, 0);
	if (is_second) {
		end_run(m, 40, 0);
		return;
	}
	m->time += 50;
	begin_run(m, 7, 32, 0);
	end_run(m, 100, 0);
	end_run(m, 10, 0);
}

static void make_threads(struct maker *m)
{
	begin_thread(m, 4711, "a,\"b\"\n;<c>'");
	make_lives(m);
	make_nest(m);
	make_torn(m, false);
	put(m, (struct event){ .kind = EV_LOST, .a = EV_RUN_START, .b = 13 });
	m->time += 1000;
	begin_run(m, 4, 51, 0); /* never ends */
	begin_thread(m, 4712, "\x1b]0;x\xff");
	make_torn(m, true);
	begin_run(m, 6, 41, 0);
	end_run(m, 11, 0);
	m->time += 10000;
}

int main(int argc, char **argv)
{
	static const char *const args[] = { "hard" };
	struct maker m = { 0 };
	struct err e = ERR_INIT;
	int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd < 0)
		return 2;
	m.w = trace_writer_new(fd, &(struct trace_meta){ .tool = "make",
							 .exe = "/bin/h;rd\n 1",
							 .cwd = "/",
							 .os = "",
							 .cpu = "",
							 .host = "",
							 .argv = args,
							 .argc = 1,
							 .pid = 4711,
							 .clock = CLOCK_KIND_MONOTONIC });
	trace_writer_object(m.w, &(struct trace_object){ .path = "/bin/h;rd", .build_id = "" });
	for (unsigned i = 0; i < 2; i++)
		trace_writer_runtime(m.w, &(struct trace_runtime){ .name = "tokio",
								   .version = i ? "" : "1.0.0" });
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++) {
		struct trace_type t = types[i];

		t.scheduler = "";
		t.file = t.file ? t.file : "";
		t.nr_candidates = t.nr_candidates ? t.nr_candidates : 1;
		trace_writer_type(m.w, &t);
	}
	make_threads(&m);
	if (trace_writer_close(m.w, &(struct trace_end){ .kind = TRACE_EXITED, .ticks = 90000 },
			       &e)) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	return 0;
}

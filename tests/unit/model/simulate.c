// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Writes a trace of random events: `simulate SEED NR_EVENTS FILE`. Even seeds give what a runtime
 * might do, odd ones anything at all. For tests/oracle/recompute.py, which must come to the same
 * numbers as the model.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "script.h"
#include "trace/writer.h"

#define NR_STACKS    5u
#define NR_STEPS     24
#define NR_PATHS     12
#define NR_THREADS   4
#define NR_IDS	     40
#define NR_INSTANCES 4
#define NR_FUTURES   4
#define MAX_DEPTH    32 /* of runs that have futures */

static uint64_t random_state;

static uint64_t rnd(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (random_state >> 11) % below;
}

#define BY_ADDR OTHER_COPY /* of a runtime without ids */

struct simulation {
	struct trace_writer *w;
	struct trace_stream *streams[NR_THREADS];
	unsigned depth[NR_THREADS];
	bool is_asleep[NR_THREADS];
	struct open_run {
		uint64_t task;
		uint16_t type;
	} runs[NR_THREADS][MAX_DEPTH];
	bool has_instances, has_futures, is_coarse, has_overlaps;
	unsigned open[NR_THREADS][MAX_DEPTH]; /* polls of futures, by depth of runs */
	uint32_t names[3];		      /* of marks; the last one is none */
	uint64_t time, latest[NR_THREADS], next_id, nr_futures;
	uint64_t contested; /* a shutdown of this task began of late: somebody may poll it now */
	struct trace_end end;
};

static struct event anything(void)
{
	static const uint8_t kinds[] = { EV_RUN_START,	EV_RUN_START, EV_RUN_END, EV_RUN_END,
					 EV_WAKE,	EV_WAKE,      EV_SPAWN,	  EV_SLEEP,
					 EV_AWAKE,	EV_RUN_START, EV_RUN_END, EV_LOST,
					 EV_THREAD_STOP };
	struct event ev = { .kind = kinds[rnd(ARRAY_SIZE(kinds))] };

	if (ev.kind == EV_LOST && rnd(4))
		ev.kind = EV_RUN_END;
	ev.flags = rnd(4) ? 0 : rnd(32);
	ev.type = rnd(NR_TYPES + 1);
	ev.task = 1 + rnd(NR_IDS);
	return ev;
}

/* What a state word says after a run, a shutdown, or a poll of a task that was taken. */
static uint8_t end_flags(void)
{
	static const uint8_t flags[] = {
		EF_END_COMPLETE,
		EF_END_COMPLETE | EF_END_CANCELLED,
		EF_END_COMPLETE | EF_END_CANCELLED | EF_END_NOTIFIED,
		EF_END_COMPLETE | EF_END_CANCELLED | EF_END_NOTIFIED,
		EF_END_CANCELLED | EF_END_NOTIFIED,
		EF_END_NOTIFIED,
	};

	return rnd(8) ? flags[rnd(ARRAY_SIZE(flags))] : rnd(32);
}

/* A type goes with an id. */
static uint16_t type_of(uint64_t task)
{
	return task % 7 == 0 ? STRIPPED : task % 5 == 0 ? LOCAL : task % 3 == 0 ? BY_ADDR : ASYNC;
}

/* Threads do one thing at a time. */
static struct event sensible(const struct simulation *s, unsigned thread)
{
	struct event ev = { .kind = EV_RUN_START, .task = s->next_id - rnd(MIN(s->next_id, 20)) };

	if (s->contested && rnd(2))
		ev.task = s->contested;
	ev.type = type_of(ev.task);
	if (s->is_asleep[thread])
		ev.kind = EV_AWAKE;
	else if (s->depth[thread] && rnd(3))
		ev.kind = EV_RUN_END;
	else
		switch (rnd(16)) {
		case 0:
			ev.kind = EV_SLEEP;
			break;
		case 1:
		case 2:
			ev.kind = EV_SPAWN;
			break;
		case 3:
		case 4:
		case 5:
			ev.kind = EV_WAKE;
			ev.flags = rnd(6) ? 0 : EF_WAKE_RUNNING;
			ev.flags |= rnd(3) ? 0 : EF_WAKE_TRIED;
			break;
		}
	if (ev.kind == EV_RUN_END)
		ev.flags = rnd(2) ? 0 : end_flags();
	if (ev.kind == EV_RUN_START)
		ev.flags = rnd(8) ? 0 : rnd(4) ? 1 << rnd(3) : EF_RUN_DROP | EF_RUN_SHUTDOWN;
	return ev;
}

/* What has no chance of its own leaves all else as it is without it. */
static void put_future(struct simulation *s, unsigned thread, enum event_kind kind)
{
	struct event ev = { .kind = kind, .time = s->time };
	uint64_t nr = ++s->nr_futures;

	if (kind == EV_FUTURE_START)
		ev.a = nr * 7 % (NR_FUTURES + (nr % 64 == 0)); /* one in a few is not defined */
	else
		ev.flags = nr % 4 ? EF_FUTURE_READY << nr % 3 : 0;
	trace_stream_put(s->streams[thread], &ev);
}

/* Before an event of the thread: polls end with their run, and some earlier. */
static void end_futures(struct simulation *s, unsigned thread, bool is_run_over, bool is_absurd)
{
	unsigned depth = s->depth[thread], *nr = depth < MAX_DEPTH ? &s->open[thread][depth] : NULL;

	if (!s->has_futures || !nr)
		return;
	while (*nr && (is_run_over || s->time % 3 == 0)) {
		if (!is_absurd || s->time % 7)
			put_future(s, thread, EV_FUTURE_END);
		--*nr;
		if (!is_run_over)
			return;
	}
}

/* Now and then it is not the innermost run that ends, or one of another thread. */
static void put_end_of(struct simulation *s, unsigned thread)
{
	unsigned at = s->time % 3 ? thread : (thread + 1) % NR_THREADS, depth;

	if (!s->has_overlaps || s->time % 11 || !s->depth[at] || s->depth[at] > MAX_DEPTH)
		return;
	depth = s->time / 11 % s->depth[at];
	trace_stream_put(s->streams[thread], &(struct event){ .kind = EV_END_OF,
							      .time = s->time,
							      .type = s->runs[at][depth].type,
							      .task = s->runs[at][depth].task });
}

/* After it: in a new run, or one after the other. Many begin together with what is around them. */
static void start_futures(struct simulation *s, unsigned thread)
{
	unsigned depth = s->depth[thread];

	if (!s->has_futures || depth >= MAX_DEPTH || s->is_asleep[thread])
		return;
	for (unsigned i = 0; i < s->time % 4; i++) {
		put_future(s, thread, EV_FUTURE_START);
		s->open[thread][depth]++;
	}
}

/* Few of them, so that they come again. */
static uint64_t addr_of(uint64_t task)
{
	return 128 * (1 + task % 32);
}

static void step(struct simulation *s, bool is_absurd)
{
	unsigned thread = rnd(NR_THREADS);
	struct event ev = is_absurd ? anything() : sensible(s, thread);

	/* else at the same time as something on other threads */
	if (!s->is_coarse || s->latest[thread] == s->time || rnd(2))
		s->time += 1 + (rnd(100) ? rnd(1000) : rnd(2000000));
	s->latest[thread] = s->time;
	ev.time = s->time;
	bool is_by_addr = !is_absurd && ev.type == BY_ADDR;

	if (is_by_addr && (ev.kind == EV_RUN_START || ev.kind == EV_WAKE))
		ev.task = addr_of(ev.task);
	if (ev.kind == EV_RUN_START && s->time % 8) /* one in a few of no definition */
		ev.path = 1 + ev.task % 3 + s->time % (NR_PATHS - 2);
	if (ev.kind == EV_RUN_START)
		ev.addr = is_by_addr ? ev.task : addr_of(ev.task);
	else if (ev.kind == EV_SPAWN)
		ev.a = addr_of(++s->next_id);
	else if (ev.kind == EV_LOST)
		ev.a = rnd(12);
	if (ev.kind == EV_SPAWN)
		ev.b = rnd(8) ? 128 : 256;
	else if (ev.kind == EV_LOST)
		s->end.lost[ev.a] += ev.b = rnd(3);
	if (ev.kind == EV_RUN_START && ev.flags & EF_RUN_SHUTDOWN && !is_by_addr)
		s->contested = ev.task;
	else if (!rnd(8))
		s->contested = 0;
	end_futures(s, thread, ev.kind == EV_RUN_END, is_absurd);
	if (ev.kind == EV_RUN_START && s->depth[thread] < MAX_DEPTH)
		s->runs[thread][s->depth[thread]] = (struct open_run){ ev.task, ev.type };
	if (ev.kind == EV_RUN_END)
		put_end_of(s, thread);
	if (ev.kind == EV_RUN_START)
		s->depth[thread]++;
	else if (ev.kind == EV_RUN_END && s->depth[thread])
		s->depth[thread]--;
	s->is_asleep[thread] = ev.kind == EV_SLEEP;
	/* one in a few of no definition */
	if (s->has_instances && ev.kind == EV_RUN_START && rnd(3) == 0)
		trace_stream_put(s->streams[thread], &(struct event){ .kind = EV_INSTANCE,
								      .time = ev.time,
								      .type = ev.type,
								      .task = ev.task,
								      .a = rnd(NR_INSTANCES + 2) });
	trace_stream_put(s->streams[thread], &ev);
	if (s->time % 4 == 0) /* few names and ids, so that ends find starts */
		trace_stream_put(s->streams[thread],
				 &(struct event){ .kind = EV_MARK + s->time / 4 % 3,
						  .time = ev.time,
						  .a = s->names[s->time / 16 % 3],
						  .b = s->time / 64 % 4 });
	if (ev.kind == EV_SPAWN && s->next_id % 4)
		trace_stream_put(s->streams[thread],
				 &(struct event){ .kind = EV_SPAWN_STACK,
						  .time = ev.time,
						  .a = s->next_id % (NR_STACKS + 2) });
	start_futures(s, thread);
}

/* A small forest, with all that a step can be; tests find out what it means by themselves. */
static void define_paths(struct trace_writer *w)
{
	static const char *const futures[] = { "app::a", "app::b", "lib::c", "lib::Sleep",
					       "app::e" };
	static const char *const files[] = { "/app/main.rs", "/lib/lib.rs", "" };
	static const char *const leaves[] = { "", "sleep", "mutex", "semaphore" };

	for (unsigned i = 0; i < NR_STEPS; i++)
		trace_writer_step(
			w, &(struct trace_step){ .outer = i < 4 ? TRACE_NO_STEP : (i * 7 + 3) % i,
						 .state = i % 6 > 3 ? TRACE_STEP_WAITS : i % 6 % 4,
						 .is_generated = i % 3,
						 .future = futures[i % 5],
						 .function = i % 3 ? futures[i % 5] : "",
						 .file = files[i % 3],
						 .line = 10 + i % 4,
						 .last_line = i % 7 ? 0 : 20,
						 .leaf = leaves[i / 2 % 4],
						 .is_foreign = i % 3 == 1 });
	for (unsigned i = 1; i < NR_PATHS; i++) {
		const uint32_t steps[] = { (i * 5) % NR_STEPS, (i * 11 + 2) % NR_STEPS, i };

		trace_writer_path(w, i, &(struct trace_path){ steps, 1 + i % 3 });
	}
}

/* Some are on paths, too. */
static void define_futures(struct trace_writer *w)
{
	static const struct trace_future futures[NR_FUTURES] = {
		{ .name = "app::b", .function = "app::b", .file = "/app/main.rs", .line = 3 },
		{ .name = "lib::c", .function = "", .file = "", .seen = TRACE_FUTURE_SOME },
		{ .name = "app::alone",
		  .function = "app::alone",
		  .file = "",
		  .is_generated = true },
		{ .name = "app::b", .function = "app::b", .file = "" },
	};

	for (unsigned i = 0; i < NR_FUTURES; i++)
		trace_writer_future(w, &futures[i]);
}

/* Somebody looks at the end where tasks stand, or has looked some time ago. */
static void define_stands(const struct simulation *s, bool is_absurd)
{
	uint64_t last = is_absurd ? NR_IDS : s->next_id;

	for (uint64_t task = last - MIN(last, is_absurd ? NR_IDS : 20); task <= last; task++) {
		uint16_t type = is_absurd ? rnd(NR_TYPES) : type_of(task);

		if (rnd(4))
			trace_writer_stand(
				s->w, &(struct trace_stand){
					      .task = !is_absurd && type == BY_ADDR ? addr_of(task)
										    : task,
					      .type = type,
					      .path = 1 + rnd(NR_PATHS), /* the last one is none */
					      .time = s->time - (rnd(3) ? 0 : rnd(s->time)),
				      });
	}
}

static int simulate(int fd, uint64_t seed, uint64_t nr_events)
{
	static const struct trace_meta meta = { .tool = "simulate",
						.exe = "/bin/simulated",
						.cwd = "/",
						.os = "",
						.cpu = "",
						.host = "",
						.clock = CLOCK_KIND_MONOTONIC };
	struct simulation s = { .w = trace_writer_new(fd, &meta),
				.next_id = 1,
				.end.kind = TRACE_EXITED };
	struct err e = ERR_INIT;

	random_state = seed * 0x9e3779b97f4a7c15 + 1;
	trace_writer_object(s.w,
			    &(struct trace_object){ .path = "/bin/simulated", .build_id = "" });
	for (int i = 0; i < 2; i++)
		trace_writer_runtime(
			s.w, &(struct trace_runtime){ .name = "tokio", .version = "1.0.0" });
	for (int i = 0; i < NR_TYPES; i++) {
		struct trace_type type = script_types[i];

		/* in the text of dump only names tell types apart */
		type.name = i == OTHER_COPY ? "app::copied" : type.name;
		type.scheduler = i == LOCAL && seed % 3 == 0 ? "local" : "";
		type.file = "";
		type.size_bytes = i * 3000;
		trace_writer_type(s.w, &type);
	}
	for (unsigned i = 0; i < NR_STACKS; i++) /* the last two are of one place */
		trace_writer_stack(
			s.w, i,
			&(struct trace_stack){ .file = i ? "/app/main.rs" : "/app/lib.rs",
					       .line = MIN(i, NR_STACKS - 2) + 7 });
	/* of one in three traces; runtimes are of the first copy, and made in the other order */
	s.has_instances = seed % 3 == 0;
	for (unsigned i = 1; s.has_instances && i <= NR_INSTANCES; i++)
		trace_writer_instance(s.w, i,
				      &(struct trace_instance){ .type = i == 2 ? LOCAL : ASYNC,
								.owner = 10 - i });
	if (seed % 4) /* and some recordings have none */
		define_paths(s.w);
	s.names[0] = trace_writer_string(s.w, "request", 7);
	s.names[1] = trace_writer_string(s.w, "\"=cache\", hit", 13);
	s.has_futures = seed % 5 < 3;
	s.is_coarse = seed % 7 < 3;
	/* not of the first ones: the tests of exports take these, and want runs that nest */
	s.has_overlaps = seed >= 8;
	if (s.has_futures)
		define_futures(s.w);
	for (unsigned i = 0; i < NR_THREADS; i++)
		s.streams[i] = trace_writer_thread(s.w, 100 + i);
	for (uint64_t i = 0; i < nr_events; i++)
		step(&s, seed % 2);
	s.end.ticks = s.time + rnd(100000);
	if (seed % 4)
		define_stands(&s, seed % 2);
	if (trace_writer_close(s.w, &s.end, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 4)
		return 2;
	fd = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0) {
		perror(argv[3]);
		return 1;
	}
	return simulate(fd, strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
}

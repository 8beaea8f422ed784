// SPDX-License-Identifier: MIT OR Apache-2.0
/* A small tree of futures, paths through it, and runs that begin there. */
#ifndef TESTS_UNIT_ANALYZE_PATHS_H
#define TESTS_UNIT_ANALYZE_PATHS_H

#include "unit.h"

#include "script.h"

#include "analyze/by_path.h"

enum {
	FRESH,	   /* work, not started */
	FIRST,	   /* work at main.rs:10, … */
	FIRST_A,   /* … in `inner` at in.rs:5, … */
	A_SLEEP,   /* … for a timer; */
	FIRST_B,   /* in `inner` at in.rs:7, … */
	B_LOCK,	   /* … in a library's function, … */
	B_ACQUIRE, /* … for a lock */
	RACE,	   /* work at main.rs:12, … */
	RACE_SLOW, /* … for `slow` at slow.rs:3 and … */
	SLOW_SLEEP,
	RACE_RECV, /* … for a channel, whichever is first */
	JOIN,	   /* work at main.rs:20 */
	JOIN_ALL,  /* for all of … */
	JOIN_A,
	JOIN_B,
	JOIN_DONE,
	RACE_READY, /* as RACE_RECV, and it has something */
	LOOP,	    /* work at main.rs:30, … */
	LOOP_FN,    /* … in a select! … */
	LOOP_DOZE,  /* … of `doze` at doze.rs:9, … */
	DOZE_SLEEP,
	LOOP_REST, /* … of `rest`, which it borrows, … */
	REST_SLEEP,
	LOOP_RECV, /* … and of a channel */
	LOOP_CHAN,
	NR_STEPS
};

#define WAITS_AT(OUTER, NAME, FILE, LINE)                                               \
	{                                                                               \
		.outer = OUTER, .is_generated = true, .future = NAME, .function = NAME, \
		.file = FILE, .line = LINE, .leaf = ""                                  \
	}
#define LEAF(OUTER, NAME, KIND, STATE)                                                    \
	{                                                                                 \
		.outer = OUTER, .future = NAME, .function = "", .file = "", .leaf = KIND, \
		.state = TRACE_STEP_##STATE                                               \
	}

static const struct trace_step path_steps[NR_STEPS] = {
	[FRESH] = { TRACE_NO_STEP, TRACE_STEP_NOT_STARTED, true, "work", "work", "", 0, 0, "" },
	[FIRST] = WAITS_AT(TRACE_NO_STEP, "work", "main.rs", 10),
	[FIRST_A] = WAITS_AT(FIRST, "inner", "in.rs", 5),
	[A_SLEEP] = LEAF(FIRST_A, "Sleep", "sleep", WAITS),
	[FIRST_B] = WAITS_AT(FIRST, "inner", "in.rs", 7),
	[B_LOCK] = { FIRST_B, TRACE_STEP_WAITS, true, "lock", "lock", "mutex.rs", 430, 0, "",
		     true },
	[B_ACQUIRE] = LEAF(B_LOCK, "Acquire", "mutex", WAITS),
	[RACE] = WAITS_AT(TRACE_NO_STEP, "work", "main.rs", 12),
	[RACE_SLOW] = WAITS_AT(RACE, "slow", "slow.rs", 3),
	[SLOW_SLEEP] = LEAF(RACE_SLOW, "Sleep", "sleep", WAITS),
	[RACE_RECV] = LEAF(RACE, "Recv", "mpsc", WAITS),
	[JOIN] = WAITS_AT(TRACE_NO_STEP, "work", "main.rs", 20),
	[JOIN_ALL] = LEAF(JOIN, "futures::JoinAll<a>", "", WAITS),
	[JOIN_A] = WAITS_AT(JOIN_ALL, "a", "a.rs", 1),
	[JOIN_B] = WAITS_AT(JOIN_ALL, "b", "b.rs", 1),
	[JOIN_DONE] = { JOIN_ALL, TRACE_STEP_DONE, true, "a", "a", "", 0, 0, "" },
	[RACE_READY] = LEAF(RACE, "Recv", "mpsc", READY),
	[LOOP] = WAITS_AT(TRACE_NO_STEP, "work", "main.rs", 30),
	[LOOP_FN] = LEAF(LOOP, "core::future::poll_fn::PollFn<x>", "", WAITS),
	[LOOP_DOZE] = WAITS_AT(LOOP_FN, "doze", "doze.rs", 9),
	[DOZE_SLEEP] = LEAF(LOOP_DOZE, "DozeSleep", "sleep", WAITS),
	[LOOP_REST] = { LOOP_FN, TRACE_STEP_WAITS, true, "rest", "rest", "rest.rs", 9, 0, "", false,
			true },
	[REST_SLEEP] = LEAF(LOOP_REST, "RestSleep", "sleep", WAITS),
	[LOOP_RECV] = WAITS_AT(LOOP_FN, "tokio::sync::mpsc::recv", "bounded.rs", 5),
	[LOOP_CHAN] = LEAF(LOOP_RECV, "Chan", "mpsc", WAITS),
};

/* Number 0 is none. */
enum { AT_START = 1, AT_A, AT_B, AT_RACE, AT_JOIN, AT_JOIN_B, AT_READY, AT_LOOP, NR_PATHS };

#define PATH(...)                                                              \
	{                                                                      \
		(const uint32_t[]){ __VA_ARGS__ },                             \
			sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t) \
	}

static const struct trace_path paths[NR_PATHS] = {
	[AT_START] = PATH(FRESH),
	[AT_A] = PATH(A_SLEEP),
	[AT_B] = PATH(B_ACQUIRE),
	[AT_RACE] = PATH(SLOW_SLEEP, RACE_RECV),
	[AT_JOIN] = PATH(JOIN_A, JOIN_B),
	[AT_JOIN_B] = PATH(JOIN_DONE, JOIN_B),
	[AT_READY] = PATH(SLOW_SLEEP, RACE_READY),
	[AT_LOOP] = PATH(DOZE_SLEEP, REST_SLEEP, LOOP_CHAN),
};

static struct recording path_rec = { .types = script_types,
				     .nr_types = NR_TYPES,
				     .steps = path_steps,
				     .nr_steps = NR_STEPS,
				     .paths = paths,
				     .nr_paths = NR_PATHS };

#define POLL_AT(t, th, id, p)                                                             \
	{                                                                                 \
		.time = t, .thread = th, .kind = EV_RUN_START, .type = ASYNC, .task = id, \
		.addr = 0x1000 * (id), .path = p                                          \
	}
#define DROP_AT(t, th, id, p)                                                        \
	{                                                                            \
		.time = t, .thread = th, .kind = EV_RUN_START, .flags = EF_RUN_DROP, \
		.type = ASYNC, .task = id, .addr = 0x1000 * (id), .path = p          \
	}

static inline int make_path_rec(void **state)
{
	recording_make_groups(&path_rec);
	steps_init(&path_rec.awaits, path_steps, NR_STEPS);
	return 0;
}

static inline int release_path_rec(void **state)
{
	recording_close(&path_rec);
	return 0;
}

static inline struct by_path *play_paths(const struct event *evs, size_t nr, uint64_t end)
{
	struct by_path *b = by_path_new(&path_rec);
	struct model *m = model_new(path_rec.types, path_rec.nr_types);

	model_set_paths(m, paths, NR_PATHS);
	model_add_sink(m, &by_path_ops, b);
	model_feed(m, evs, nr);
	model_finish(m, end, NULL);
	model_free(m);
	by_path_finish(b);
	return b;
}

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What long polls did with their time, as far as the kernel's counts of their thread tell: had a
 * CPU, waited for one, or neither, which is a call that blocks and that is not seen. The counts are
 * read a few times a second, so they are of a *window*: of all that a thread did between two
 * readings with no long poll across them. In doubt the long polls waited for a CPU, and then had
 * one: what is left over was neither, for certain.
 */
#ifndef ANALYZE_CPU_USE_H
#define ANALYZE_CPU_USE_H

#include "analyze/analyze.h"
#include "base/vec.h"

/* What is known about polls of a group. The rest of their time they had a CPU, as far as is known.
 */
struct cpu_use {
	uint64_t wait_ns;    /* no CPU was free */
	uint64_t unseen_ns;  /* neither had a CPU nor waited for one */
	uint64_t unknown_ns; /* of polls outside of all windows */
};

struct cpu_use_part {
	uint32_t group;
	uint64_t ns;
};

/* Of one thread. */
struct cpu_use_window {
	uint32_t thread;
	uint32_t start, end;		/* the readings before these are its borders */
	uint32_t next;			/* the thread's first reading after all sleeps so far */
	uint64_t asleep_ns;		/* all of these */
	uint64_t last_ns;		/* when the latest long poll was over */
	uint64_t polls_ns;		/* sum of parts */
	VEC(struct cpu_use_part) parts; /* of its long polls, by group */
};

struct cpu_uses {
	const struct recording *rec;
	const struct trace_cpu *readings;
	uint64_t *asleep_ns; /* by reading: how long its thread had slept, up to window.next */
	uint32_t nr_readings;
	VEC(struct cpu_use_window) windows; /* by thread */
	struct cpu_use *by_group;
};

void cpu_uses_init(struct cpu_uses *u, const struct recording *rec);
void cpu_uses_release(struct cpu_uses *u);
/* A long poll that is over, and was awake for ns. */
void cpu_uses_add(struct cpu_uses *u, const struct model_run *run, uint64_t ns);
/* Any sleep of a thread: waiting for a CPU after it is part of it, and so not of a poll. */
void cpu_uses_sleep(struct cpu_uses *u, const struct model_sleep *sleep);
/* No more of them: by_group is complete. */
void cpu_uses_finish(struct cpu_uses *u);

/* How long a thread waited for a CPU between the latest readings before two times. */
uint64_t cpu_use_wait(const struct recording *rec, uint32_t thread, uint64_t from_ns,
		      uint64_t to_ns);

#endif

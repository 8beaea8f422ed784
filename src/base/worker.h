// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A function that runs in a process of its own, because it reads foreign bytes and may crash, hang
 * or eat memory on them. The worker is a fork of the caller with limits on memory, CPU time and
 * elapsed time, and with a system call filter: it can read files and memory, but neither write a
 * file, start a program, connect to anything nor signal another process. It dies with its parent.
 * Its only way out is the answer, which is bytes, and the caller must not trust them.
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include "base/strbuf.h"

struct worker_job {
	/* Runs in the worker. It may write to stdout and stderr only if `speaks`. */
	void (*run)(void *arg, struct strbuf *answer);
	void *arg;
	uint64_t memory_bytes; /* that it may take on top of the caller's */
	uint64_t cpu_ns;       /* 0: unlimited, as are the others */
	uint64_t elapsed_ns;   /* without times in which the caller was stopped */
	bool speaks;	       /* keeps its descriptors, and takes signals as any program does */
};

/* The caller's work in the meantime, every few milliseconds. */
struct worker_meanwhile {
	void (*fn)(void *arg);
	void *arg;
};

enum worker_end {
	WORKER_DONE,
	WORKER_DIED,
	WORKER_LATE,	/* it took longer than it may */
	WORKER_NO_FORK, /* there is no worker: the system has no process or memory left */
};

#define WORKER_WHY 96

/*
 * Runs it and appends the answer. Otherwise nothing is appended and `why` says in a few words what
 * became of the worker: "was killed by SIGSEGV". signal_number (may be NULL): what it died of, or
 * 0.
 */
enum worker_end worker_run(const struct worker_job *job, const struct worker_meanwhile *meanwhile,
			   struct strbuf *answer, char why[WORKER_WHY], int *signal_number);

/* CPU time of all workers so far. */
uint64_t worker_cpu_ns(void);

/* worker_filter.c: from now on this process can do no more than read. Failure is silent. */
void worker_filter(void);

#endif

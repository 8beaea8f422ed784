// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How fast trace files are written and read, and how small they are: `reader [EVENTS [FILE]]`.
 * Events are made before the clock starts, so that only the writer and the reader are measured.
 * Three programs are imitated:
 *
 *	storm	100 tasks on each of two threads that do nothing but yield
 *	server	5,000 connections, woken in bursts by the driver, at random
 *	spawn	a new task for every request
 *
 * One line each: events, bytes per event, million events per second of CPU written and read. The
 * trace goes to FILE; the default is memory, so that no disk is measured.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/vec.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define MADE \
	2000000 /* events made beforehand, and then written again and again with later stamps */

struct load {
	VEC(struct event) evs;
	uint64_t time[2]; /* per thread */
	uint64_t seed, id;
};

static uint64_t any(struct load *l, uint64_t below)
{
	l->seed = l->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (l->seed >> 33) % below;
}

static void put(struct load *l, unsigned thread, uint64_t after, struct event ev)
{
	ev.time = l->time[thread] += after;
	ev.thread = thread;
	vec_push(&l->evs, ev);
}

static uint64_t task_addr(uint64_t task)
{
	return UINT64_C(0x7f5a10000000) + (task * 2654435761 % 100003) * 128;
}

/* Stamps at 2.6 GHz: a base time, some noise, now and then a cache miss, rarely an interrupt. */
static uint64_t noise(struct load *l, uint64_t base)
{
	uint64_t t = base + any(l, 24);

	if (any(l, 16) == 0)
		t += any(l, 200);
	if (any(l, 5000) == 0)
		t += any(l, 20000);
	return t;
}

static void put_run(struct load *l, unsigned thread, uint64_t task, uint64_t wait, uint64_t busy,
		    unsigned end_flags)
{
	put(l, thread, noise(l, wait),
	    (struct event){ .kind = EV_RUN_START,
			    .task = task,
			    .type = task % 5,
			    .addr = task_addr(task) });
	put(l, thread, noise(l, busy), (struct event){ .kind = EV_RUN_END, .flags = end_flags });
}

static void put_wake(struct load *l, unsigned thread, uint64_t task, uint64_t after)
{
	put(l, thread, noise(l, after),
	    (struct event){ .kind = EV_WAKE, .task = task, .type = task % 5 });
}

/*
 * A worker runs its queue, then wakes all that yielded. Now and then a task moves to the other
 * worker.
 */
static void make_storm(struct load *l)
{
	uint32_t queue[2][100];

	for (unsigned i = 0; i < 200; i++)
		queue[i / 100][i % 100] = 10 + i;
	while (l->evs.nr < MADE) {
		unsigned thread = l->time[1] < l->time[0];
		uint32_t *q = queue[thread];

		for (int i = 0; i < 100; i++)
			put_run(l, thread, q[i], 60, 60, EF_END_WANTED);
		for (int i = 0; i < 100; i++)
			put_wake(l, thread, q[i], 50);
		if (any(l, 20) == 0) {
			unsigned a = any(l, 100), b = any(l, 100);
			uint32_t tmp = queue[0][a];

			queue[0][a] = queue[1][b];
			queue[1][b] = tmp;
		}
	}
}

static void make_server(struct load *l)
{
	while (l->evs.nr < MADE) {
		unsigned thread = l->time[1] < l->time[0], nr = 1 + any(l, 12);
		uint64_t tasks[12];

		put(l, thread, noise(l, 300),
		    (struct event){ .kind = EV_SLEEP, .flags = EF_SLEEP_EPOLL });
		put(l, thread, 2000 + any(l, 100000), (struct event){ .kind = EV_AWAKE });
		for (unsigned i = 0; i < nr; i++) {
			tasks[i] = 100 + any(l, 5000);
			put_wake(l, thread, tasks[i], 150);
		}
		for (unsigned i = 0; i < nr; i++)
			put_run(l, thread, tasks[i], 200, 3000 + any(l, 20000), EF_END_WANTED);
	}
}

static void make_spawn(struct load *l)
{
	l->id = 100;
	while (l->evs.nr < MADE) {
		unsigned thread = l->time[1] < l->time[0];
		uint64_t acceptor = 10 + thread, task = l->id++;

		put_wake(l, thread, acceptor, 3000);
		put(l, thread, noise(l, 300),
		    (struct event){ .kind = EV_RUN_START,
				    .task = acceptor,
				    .type = 9,
				    .addr = task_addr(acceptor) });
		put(l, thread, noise(l, 800),
		    (struct event){ .kind = EV_SPAWN, .a = task_addr(task % 512), .b = 896 });
		put(l, thread, noise(l, 500), (struct event){ .kind = EV_RUN_END });
		for (int i = 0; i < 3; i++) {
			put(l, thread, noise(l, 400 + any(l, 5000)),
			    (struct event){ .kind = EV_RUN_START,
					    .task = task,
					    .type = 3,
					    .addr = task_addr(task % 512) });
			put(l, thread, noise(l, 2000 + any(l, 9000)),
			    (struct event){ .kind = EV_RUN_END,
					    .flags = i == 2 ? EF_END_COMPLETE : 0 });
			if (i < 2)
				put(l, thread, noise(l, 4000),
				    (struct event){ .kind = EV_WAKE, .task = task, .type = 3 });
		}
	}
}

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static double write_trace(const struct load *l, int fd, uint64_t nr)
{
	static const struct trace_meta meta = { .clock = CLOCK_KIND_TSC };
	struct trace_writer *w = trace_writer_new(fd, &meta);
	struct trace_stream *s[2] = { trace_writer_thread(w, 1), trace_writer_thread(w, 2) };
	uint64_t shift = 0, length = MAX(l->time[0], l->time[1]);
	double start = cpu_seconds();

	for (uint64_t i = 0; i < 100; i++)
		trace_writer_anchor(w, &(struct clock_anchor){ .ticks = i * 2600000000,
							       .mono_ns = i * 1000000000 });
	for (uint64_t done = 0; done < nr; shift += length)
		for (const struct event *e = l->evs.v; e < l->evs.v + MADE && done < nr;
		     e++, done++) {
			struct event ev = *e;

			ev.time += shift;
			trace_stream_put(s[ev.thread], &ev);
		}
	trace_writer_close(w, &(struct trace_end){ .kind = TRACE_EXITED }, NULL);
	return cpu_seconds() - start;
}

static double read_trace(const char *path, uint64_t *nr)
{
	double start = cpu_seconds();
	struct err e = ERR_INIT;
	struct trace *t = trace_open(path, &e);
	const struct event *evs;
	uint64_t sum = 0, bad = 0;
	size_t n;

	if (!t) {
		fprintf(stderr, "reader: %s\n", e.msg);
		exit(1);
	}
	for (*nr = 0; (n = trace_read(t, &evs)); *nr += n)
		for (size_t i = 0; i < n; i++)
			sum += evs[i].task + evs[i].time;
	bad = trace_get_damage(t)->bad_blocks + trace_get_damage(t)->bad_events;
	trace_close(t);
	if (bad || !sum)
		fprintf(stderr, "reader: the trace is damaged\n");
	return cpu_seconds() - start;
}

static void measure(const char *name, void (*make)(struct load *), uint64_t nr, const char *path)
{
	struct load l = { .seed = 1 };
	char memory[64];
	uint64_t nr_read;
	double writing, reading, size;
	int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) : memfd_create("trace", 0);

	if (fd < 0) {
		perror("reader");
		exit(1);
	}
	snprintf(memory, sizeof(memory), "/proc/self/fd/%d", fd);
	make(&l);
	writing = write_trace(&l, dup(fd), nr);
	size = lseek(fd, 0, SEEK_END);
	reading = read_trace(memory, &nr_read);
	printf("%-8s %11" PRIu64 " events  %5.2f bytes/event  written %6.1f M/s  read %6.1f M/s\n",
	       name, nr_read, size / nr, nr / writing * 1e-6, nr / reading * 1e-6);
	close(fd);
	vec_release(&l.evs);
}

int main(int argc, char **argv)
{
	uint64_t nr = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000000;
	const char *path = argc > 2 ? argv[2] : NULL;

	measure("storm", make_storm, nr, path);
	measure("server", make_server, nr, path);
	measure("spawn", make_spawn, nr, path);
	return 0;
}

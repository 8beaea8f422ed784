// SPDX-License-Identifier: MIT OR Apache-2.0
/* How many events a second the model takes: a storm of yields, and one of short-lived tasks. */
#include <stdio.h>
#include <time.h>

#include "script.h"

#define BATCH 4096

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Poll and wake (by the worker) in turns, over nr_tasks tasks. */
static size_t make_yields(struct event *evs, uint64_t *clock, uint64_t *turn, unsigned nr_tasks)
{
	size_t nr = 0;

	while (nr + 3 <= BATCH) {
		uint64_t id = 1 + (*turn)++ % nr_tasks;

		evs[nr++] = (struct event)POLL(*clock += 20, 0, id);
		evs[nr++] = (struct event)END(*clock += 20, 0, 0);
		evs[nr++] = (struct event)WAKE(*clock += 20, 0, id, 0);
	}
	return nr;
}

/* Spawn and one poll to the end. */
static size_t make_spawns(struct event *evs, uint64_t *clock, uint64_t *turn)
{
	size_t nr = 0;

	while (nr + 3 <= BATCH) {
		uint64_t id = ++*turn, addr = 0x1000 + id % 64 * 128;

		evs[nr++] = (struct event)SPAWN(*clock += 50, 0, addr);
		evs[nr++] = (struct event)START_AT(*clock += 50, 0, id, ASYNC, addr, 0);
		evs[nr++] = (struct event)END(*clock += 50, 0, COMPLETE);
	}
	return nr;
}

static void count_task(void *sink, const struct model_task *t)
{
	*(uint64_t *)sink += t->polls;
}

static void measure(const char *name, unsigned nr_tasks)
{
	static const struct model_ops ops = { .task = count_task };
	struct model *m = model_new(script_types, NR_TYPES);
	struct event *evs = xcalloc(BATCH, sizeof(*evs));
	uint64_t clock = 0, turn = 0, nr = 0, polls = 0;
	double spent = 0;

	model_add_sink(m, &ops, &polls);
	while (nr < 30000000) {
		size_t n = nr_tasks ? make_yields(evs, &clock, &turn, nr_tasks)
				    : make_spawns(evs, &clock, &turn);
		double start = cpu_seconds();

		model_feed(m, evs, n);
		spent += cpu_seconds() - start;
		nr += n;
	}
	model_finish(m, clock, NULL);
	model_free(m);
	free(evs);
	printf("%-28s %6.1f M events/s (%llu polls)\n", name, nr / spent / 1e6,
	       (unsigned long long)polls);
}

int main(void)
{
	measure("yields, 100 tasks", 100);
	measure("yields, 100,000 tasks", 100000);
	measure("spawns", 0);
	return 0;
}

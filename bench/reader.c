// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How fast the trace reader alone is: opens FILE and reads all its events, TIMES times, and prints
 * for each pass how many events came and how much CPU time they took.  Each event is looked at (its
 * time must not run backwards), so that no part of the decoding can be left out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "trace/reader.h"

struct pass {
	uint64_t nr_events;
	uint64_t nr_backwards;
	uint64_t mix; /* of all fields of all events: the same in every pass */
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static struct pass read_all(struct trace *t)
{
	struct pass p = { 0 };
	const struct event *evs;
	uint64_t last = 0;
	size_t nr;

	while ((nr = trace_read(t, &evs))) {
		for (size_t i = 0; i < nr; i++) {
			p.nr_backwards += evs[i].time < last;
			last = evs[i].time;
			p.mix += evs[i].time ^ evs[i].task ^ evs[i].kind ^ evs[i].type;
		}
		p.nr_events += nr;
	}
	return p;
}

static int one_pass(const char *path)
{
	struct err e = ERR_INIT;
	uint64_t start = cpu_ns();
	struct trace *t = trace_open(path, &e);
	struct pass p;

	if (!t) {
		fprintf(stderr, "reader: %s\n", e.msg);
		return -1;
	}
	p = read_all(t);
	trace_close(t);
	printf("pass events=%" PRIu64 " cpu_ns=%" PRIu64 " backwards=%" PRIu64 " mix=%" PRIu64 "\n",
	       p.nr_events, cpu_ns() - start, p.nr_backwards, p.mix);
	return p.nr_backwards ? -1 : 0;
}

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 1;

	if (argc < 2) {
		fputs("usage: reader FILE [TIMES]\n", stderr);
		return 2;
	}
	while (times-- > 0)
		if (one_pass(argv[1]))
			return 1;
	return 0;
}

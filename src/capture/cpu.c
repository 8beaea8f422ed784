// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/cpu.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
/* Each costs some microseconds, and a process may have thousands of threads. */
#define THREADS_A_ROUND 64
/* A file holds only so many of these; a long recording can do with fewer. */
#define OFTEN_NS (60 * SECOND_NS)

/* "cpu_ns wait_ns slices" */
static bool read_counts(uint32_t pid, uint32_t tid, struct trace_cpu *u)
{
	char path[64], text[128];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[MAX(len, (ssize_t)0)] = '\0';
	/* A kernel that does not count says 0 throughout. */
	return sscanf(text, "%" SCNu64 " %" SCNu64, &u->cpu_ns, &u->wait_ns) == 2 && u->cpu_ns;
}

static void count_thread(struct process *p, struct drain *d, uint64_t now)
{
	struct trace_cpu u = { .time = clock_ticks(p->lobby->clock) };

	d->counted_pos = d->pos;
	d->counted_ns = now;
	if (read_counts(p->pid, d->slot->tid, &u))
		trace_stream_cpu(d->stream, &u);
}

void cpu_count_threads(struct process *p)
{
	uint64_t now = clock_mono_ns();
	uint64_t every_ns = now - p->begin_ns < OFTEN_NS ? 0 : SECOND_NS;
	unsigned nr = 0;

	for (size_t i = 0; i < p->active.nr && nr < THREADS_A_ROUND; i++) {
		struct drain *d = p->rings[p->active.v[p->next_counted++ % p->active.nr]];

		if (d->pos == d->counted_pos || now - d->counted_ns < every_ns)
			continue;
		count_thread(p, d, now);
		nr++;
	}
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/counters.h"

#define MAX_BINS 2048u
#define MIN_BINS 16u

static const struct {
	const char *name, *unit;
} descs[NR_COUNTERS] = {
	[COUNTER_LIVE] = { "live tasks", "tasks" },
	[COUNTER_SCHEDULED] = { "scheduled tasks", "tasks" },
	[COUNTER_RUNNING] = { "running tasks", "tasks" },
	[COUNTER_WORKERS] = { "busy workers", "threads" },
	[COUNTER_BLOCKING] = { "busy blocking threads", "threads" },
};

const char *counter_name(enum counter c, const char **unit)
{
	*unit = descs[c].unit;
	return descs[c].name;
}

void counters_init(struct counters *c, uint64_t from_ns, uint64_t to_ns, uint64_t max_bytes,
		   unsigned shift, unsigned value_bytes)
{
	uint64_t fitting = max_bytes ? (max_bytes >> shift) / value_bytes / NR_COUNTERS : MAX_BINS;

	*c = (struct counters){ 0 };
	for (unsigned i = 0; i < NR_COUNTERS; i++)
		c->loads[i] = load_new(from_ns, to_ns, MAX(MIN_BINS, MIN(fitting, MAX_BINS)));
}

void counters_release(struct counters *c)
{
	for (unsigned i = 0; i < NR_COUNTERS; i++)
		load_free(c->loads[i]);
	vec_release(&c->sched_ns);
}

static void on_spawn(void *sink, const struct model_task *t)
{
	struct counters *c = sink;

	vec_grow(&c->sched_ns, t->slot >= c->sched_ns.nr ? t->slot + 1 - c->sched_ns.nr : 0);
	while (c->sched_ns.nr <= t->slot)
		c->sched_ns.v[c->sched_ns.nr++] = 0;
	c->sched_ns.v[t->slot] = 0;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct counters *c = sink;
	bool is_blocking = run->task->kind == TRACE_BLOCKING;

	load_add(c->loads[COUNTER_RUNNING], run->start_ns, run->end_ns);
	load_add(c->loads[COUNTER_SCHEDULED], run->start_ns - run->sched_ns, run->start_ns);
	c->sched_ns.v[run->task->slot] += run->sched_ns;
	/* of runs inside runs only the outermost keeps the thread busy */
	if (run->outer_start_ns == MODEL_NO_RUN)
		load_add(c->loads[is_blocking ? COUNTER_BLOCKING : COUNTER_WORKERS], run->start_ns,
			 run->end_ns);
}

static void on_task(void *sink, const struct model_task *t)
{
	struct counters *c = sink;
	/* since its latest run: it still waits, or waited in vain */
	uint64_t rest_ns = t->ns[MODEL_SCHEDULED] - c->sched_ns.v[t->slot];

	load_add(c->loads[COUNTER_LIVE], t->spawn_ns, t->end_ns);
	load_add(c->loads[COUNTER_SCHEDULED], t->end_ns - rest_ns, t->end_ns);
}

const struct model_ops counters_ops = { .spawn = on_spawn, .run = on_run, .task = on_task };

double counters_get(struct counters *c, enum counter which, uint32_t bin)
{
	struct load *l = c->loads[which];

	return (double)load_get(l, bin) / load_get_bin_span(l, bin);
}

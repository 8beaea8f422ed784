// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/trace_info.h"

/* One pass over all events: the only way to know what can be read. */
static void count_events(struct info *in)
{
	bool *used = xcalloc(1 << 16, sizeof(bool));
	const struct event *evs;
	size_t n;

	while ((n = trace_read(in->t, &evs))) {
		in->nr_events += n;
		for (const struct event *ev = evs; ev < evs + n; ev++) {
			in->nr_of[ev->kind]++;
			used[ev->type] = true;
			if (ev->kind == EV_LOST && ev->a < EV_MAX)
				in->lost[ev->a] += ev->b;
		}
	}
	in->has_run = xcalloc(in->nr_runtimes + 1, sizeof(bool));
	for (uint32_t i = 0; i < in->nr_types; i++) {
		in->nr_used_types += used[i];
		if (used[i] && in->types[i].runtime < in->nr_runtimes)
			in->has_run[in->types[i].runtime] = true;
	}
	free(used);
	/* The end block counts also what no LOST event told; a cut file has only those. */
	for (unsigned i = 0; i < EV_MAX; i++) {
		in->lost[i] = MAX(in->lost[i], in->end->lost[i]);
		in->nr_lost += in->lost[i];
	}
}

static void find_start(struct info *in)
{
	const struct clock_anchor *a = in->anchors, *z;

	in->start_real_ns = trace_get_zero(in->t).real_ns;
	if (!in->nr_anchors)
		return;
	z = &a[in->nr_anchors - 1];
	if (z->ticks > a->ticks && z->mono_ns > a->mono_ns)
		in->ticks_per_ns = (double)(z->ticks - a->ticks) / (z->mono_ns - a->mono_ns);
}

void info_init(struct info *in, struct trace *t, const char *path)
{
	*in = (struct info){ .t = t, .path = path };
	in->meta = trace_get_meta(t);
	in->end = trace_get_end(t);
	in->damage = trace_get_damage(t);
	in->types = trace_get_types(t, &in->nr_types);
	in->runtimes = trace_get_runtimes(t, &in->nr_runtimes);
	in->objects = trace_get_objects(t, &in->nr_objects);
	in->anchors = trace_get_anchors(t, &in->nr_anchors);
	trace_get_threads(t, &in->nr_threads);
	count_events(in);
	find_start(in);
}

void info_release(struct info *in)
{
	free(in->has_run);
}

static const char *const stop_reasons[] = {
	[0] = "unknown",
	[TRACE_STOP_DURATION] = "duration",
	[TRACE_STOP_SIZE] = "size",
	[TRACE_STOP_INTERRUPT] = "interrupt",
	[TRACE_STOP_ERROR] = "error",
};

const char *info_stop_reason(const struct info *in)
{
	uint32_t status = in->end->status;

	return stop_reasons[status < ARRAY_SIZE(stop_reasons) ? status : 0];
}

const char *info_object_path(const struct info *in, const struct trace_runtime *r)
{
	const char *path = r->object < in->nr_objects ? in->objects[r->object].path : "";

	return path[0] ? path : "unknown";
}

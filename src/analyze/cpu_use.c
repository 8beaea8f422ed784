// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/cpu_use.h"

void cpu_uses_init(struct cpu_uses *u, const struct recording *rec)
{
	*u = (struct cpu_uses){ .rec = rec };
	u->by_group = xcalloc(rec->nr_groups, sizeof(*u->by_group));
}

void cpu_uses_release(struct cpu_uses *u)
{
	vec_each (w, &u->windows)
		vec_release(&w->parts);
	vec_release(&u->windows);
	free(u->by_group);
}

/* How many readings there are up to the thread's first one at or after a time. */
static uint32_t count_before(const struct trace_cpu *v, uint32_t nr, uint32_t thread, uint64_t ns)
{
	uint32_t low = 0, high = nr;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (v[mid].thread < thread || (v[mid].thread == thread && v[mid].time < ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const struct trace_cpu *get_readings(const struct recording *rec, uint32_t *nr)
{
	*nr = 0;
	return rec->trace ? trace_get_cpu(rec->trace, nr) : NULL;
}

/* The thread's last reading before the one at i. There is one of zeroes at time 0. */
static struct trace_cpu before(const struct trace_cpu *v, uint32_t i, uint32_t thread)
{
	return i && v[i - 1].thread == thread ? v[i - 1] : (struct trace_cpu){ .thread = thread };
}

uint64_t cpu_use_wait(const struct recording *rec, uint32_t thread, uint64_t from_ns,
		      uint64_t to_ns)
{
	uint32_t nr;
	const struct trace_cpu *v = get_readings(rec, &nr);

	return before(v, count_before(v, nr, thread, to_ns), thread).wait_ns -
	       before(v, count_before(v, nr, thread, from_ns), thread).wait_ns;
}

static uint64_t share(uint64_t all, uint64_t ns, uint64_t of_ns)
{
	return (unsigned __int128)all * ns / of_ns;
}

/* Its long polls get their shares of it. */
static void close_window(struct cpu_uses *u, struct cpu_use_window *w)
{
	uint64_t all = w->polls_ns, length = w->end.time - w->start.time;
	uint64_t rest = length - MIN(length, all);
	uint64_t cpu = w->end.cpu_ns - w->start.cpu_ns;
	uint64_t least_cpu = MIN(cpu - MIN(cpu, rest), all); /* the rest cannot have had it */
	uint64_t wait = MIN(w->end.wait_ns - w->start.wait_ns, all - least_cpu);
	uint64_t unseen = all - wait - MIN(cpu, all - wait);

	vec_each (p, &w->parts) {
		u->by_group[p->group].wait_ns += share(wait, p->ns, all);
		u->by_group[p->group].unseen_ns += share(unseen, p->ns, all);
	}
	w->parts.nr = 0;
	w->polls_ns = 0;
}

/* Makes the window reach from before the run to behind it. False: there are no such readings. */
static bool reach_run(struct cpu_uses *u, struct cpu_use_window *w, const struct model_run *run)
{
	uint32_t nr;
	const struct trace_cpu *v = get_readings(u->rec, &nr);
	uint32_t i = count_before(v, nr, run->thread, run->end_ns);

	if (i == nr || v[i].thread != run->thread)
		return false;
	if (w->polls_ns && run->start_ns >= w->end.time)
		close_window(u, w);
	if (!w->polls_ns)
		w->start =
			before(v, count_before(v, nr, run->thread, run->start_ns + 1), run->thread);
	if (!w->polls_ns || v[i].time > w->end.time)
		w->end = v[i];
	return true;
}

static struct cpu_use_window *window_of(struct cpu_uses *u, uint32_t thread)
{
	while (u->windows.nr <= thread)
		vec_push(&u->windows, (struct cpu_use_window){ 0 });
	return &u->windows.v[thread];
}

void cpu_uses_add(struct cpu_uses *u, const struct model_run *run, uint64_t ns)
{
	uint32_t group = recording_group_of(u->rec, run->task->key.type);
	struct cpu_use_window *w = window_of(u, run->thread);

	/* What an inner run did is not to be counted again for the one around it. */
	bool is_outer = run->start_ns < w->last_ns;

	w->last_ns = run->end_ns;
	if (!ns || is_outer || !reach_run(u, w, run)) {
		u->by_group[group].unknown_ns += ns;
		return;
	}
	w->polls_ns += ns;
	vec_each (p, &w->parts)
		if (p->group == group) {
			p->ns += ns;
			return;
		}
	vec_push(&w->parts, (struct cpu_use_part){ group, ns });
}

void cpu_uses_finish(struct cpu_uses *u)
{
	vec_each (w, &u->windows)
		if (w->polls_ns)
			close_window(u, w);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/cpu_use.h"

static const struct trace_cpu *get_readings(const struct recording *rec, uint32_t *nr)
{
	*nr = 0;
	return rec->trace ? trace_get_cpu(rec->trace, nr) : NULL;
}

void cpu_uses_init(struct cpu_uses *u, const struct recording *rec)
{
	*u = (struct cpu_uses){ .rec = rec };
	u->by_group = xcalloc(rec->nr_groups, sizeof(*u->by_group));
	u->readings = get_readings(rec, &u->nr_readings);
	u->asleep_ns = xcalloc(u->nr_readings + 1, sizeof(*u->asleep_ns));
}

void cpu_uses_release(struct cpu_uses *u)
{
	vec_each (w, &u->windows)
		vec_release(&w->parts);
	vec_release(&u->windows);
	free(u->by_group);
	free(u->asleep_ns);
}

/* How many readings there are up to the thread's first one at or after a time. */
static uint32_t count_before(const struct trace_cpu *v, uint32_t nr, uint32_t thread, uint64_t ns)
{
	return partition_point(i, nr,
			       v[i].thread < thread || (v[i].thread == thread && v[i].time < ns));
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

static struct cpu_use_window *window_of(struct cpu_uses *u, uint32_t thread)
{
	while (u->windows.nr <= thread) {
		struct cpu_use_window w = { .thread = u->windows.nr };

		w.next = count_before(u->readings, u->nr_readings, w.thread, 0);
		vec_push(&u->windows, w);
	}
	return &u->windows.v[thread];
}

static bool is_reading_of(const struct cpu_uses *u, uint32_t i, uint32_t thread)
{
	return i < u->nr_readings && u->readings[i].thread == thread;
}

void cpu_uses_sleep(struct cpu_uses *u, const struct model_sleep *sleep)
{
	struct cpu_use_window *w;

	if (!u->nr_readings)
		return;
	w = window_of(u, sleep->thread);
	while (is_reading_of(u, w->next, sleep->thread) &&
	       u->readings[w->next].time < sleep->end_ns) {
		uint64_t time = u->readings[w->next].time;

		u->asleep_ns[w->next++] = w->asleep_ns + (time - MIN(time, sleep->start_ns));
	}
	w->asleep_ns += sleep->end_ns - sleep->start_ns;
}

/*
 * The thread's reading before the one at i, and in asleep_ns how long it had slept by then. The
 * first one is of zeroes at time 0.
 */
static struct trace_cpu take_before(const struct cpu_uses *u, const struct cpu_use_window *w,
				    uint32_t i, uint64_t *asleep_ns)
{
	*asleep_ns = 0;
	if (!i || !is_reading_of(u, i - 1, w->thread))
		return (struct trace_cpu){ .thread = w->thread };
	*asleep_ns = i - 1 < w->next ? u->asleep_ns[i - 1] : w->asleep_ns;
	return u->readings[i - 1];
}

/* Its long polls get their shares of it. */
static void close_window(struct cpu_uses *u, struct cpu_use_window *w)
{
	uint64_t slept[2], all = w->polls_ns;
	struct trace_cpu a = take_before(u, w, w->start, &slept[0]);
	struct trace_cpu z = take_before(u, w, w->end, &slept[1]);
	uint64_t awake = z.time - a.time - MIN(z.time - a.time, slept[1] - slept[0]);
	uint64_t cpu = MIN(z.cpu_ns - a.cpu_ns, awake);
	uint64_t rest = awake - MIN(awake, all);
	uint64_t least_cpu = MIN(cpu - MIN(cpu, rest), all); /* the rest cannot have had it */
	uint64_t wait = MIN(MIN(z.wait_ns - a.wait_ns, awake - cpu), all - least_cpu);
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
	uint32_t end = count_before(u->readings, u->nr_readings, w->thread, run->end_ns);

	if (!is_reading_of(u, end, w->thread))
		return false;
	if (w->polls_ns && run->start_ns >= u->readings[w->end - 1].time)
		close_window(u, w);
	if (!w->polls_ns) {
		w->start = count_before(u->readings, u->nr_readings, w->thread, run->start_ns + 1);
		w->end = end + 1;
	}
	w->end = MAX(w->end, end + 1);
	return true;
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

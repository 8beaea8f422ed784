// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Polls that sleep in the kernel: the worker that they run on can do nothing else meanwhile. What
 * they sleep in tells what to do about it. A sleep in nanosleep, poll or epoll is always somebody's
 * wish, so one is enough; waiting for a lock may be bad luck.
 */
#include "analyze/analyses.h"
#include "analyze/over_limit.h"
#include "base/format.h"

enum { LIMIT_WARN, LIMIT_CRITICAL, LIMIT_COUNT, LIMIT_SHARE };

static const struct threshold thresholds[] = {
	[LIMIT_WARN] = { "blocked-poll", THRESHOLD_NS, 10000000, "a poll that sleeps this long" },
	[LIMIT_CRITICAL] = { "blocked-poll-critical", THRESHOLD_NS, 50000000,
			     "… and one that is critical" },
	[LIMIT_COUNT] = { "blocked-poll-count", THRESHOLD_COUNT, 3,
			  "number of such polls, if they wait for locks; one N times as long "
			  "counts N times" },
	[LIMIT_SHARE] = { "blocked-poll-share", THRESHOLD_PERCENT, 5,
			  "… or the share of the recording that a type's polls sleep" },
	{ 0 },
};

/* What a poll slept in. */
enum sleep_kind { SLEEP_LOCK, SLEEP_TIMED, SLEEP_IO, NR_SLEEP_KINDS };

static const struct {
	const char *what, *advice;
} texts[NR_SLEEP_KINDS] = {
	[SLEEP_LOCK] = { "waiting for a lock, a channel or a thread of std",
			 "hold the lock for a shorter time, or use async locks and channels "
			 "(as in tokio::sync)" },
	[SLEEP_TIMED] = { "in thread::sleep or a similar call",
			  "await a timer (such as tokio::time::sleep), or move the call to "
			  "spawn_blocking" },
	[SLEEP_IO] = { "waiting for I/O", "use the async form of the call, or move it to "
					  "spawn_blocking" },
};

struct blocked {
	struct over_limit over;
	bool is_certain;     /* one of these did not wait for a lock */
	uint64_t nr, max_ns; /* of all sleeps, however short */
	uint64_t ns[NR_SLEEP_KINDS];
	uint64_t over_ns[NR_SLEEP_KINDS]; /* of those over the limit */
};

static enum sleep_kind kind_of(uint8_t flags)
{
	if (flags & EF_SLEEP_TIMED)
		return SLEEP_TIMED;
	return flags & (EF_SLEEP_EPOLL | EF_SLEEP_POLL) ? SLEEP_IO : SLEEP_LOCK;
}

static void on_odd_run(void *sink, const struct model_run *run)
{
	const struct analysis_input *in = sink;
	enum sleep_kind kind;
	struct blocked *by_group = in->by_group, *b;

	/* Sleeping is what closures on the blocking pool are for, and block_in_place. */
	if (likely(!run->blocked_ns) || run->task->kind == TRACE_BLOCKING || run->is_off_worker)
		return;
	if (run->is_panicked) /* writing the backtrace takes locks, and files */
		return;
	b = &by_group[recording_group_of(in->rec, run->task->key.type)];
	kind = kind_of(run->sleep_flags);
	b->nr++;
	b->ns[kind] += run->blocked_ns;
	b->max_ns = MAX(b->max_ns, run->blocked_ns);
	if (run->blocked_ns < in->limits[LIMIT_WARN])
		return;
	b->over_ns[kind] += run->blocked_ns;
	b->is_certain |= kind != SLEEP_LOCK;
	over_limit_add(&b->over, run, run->blocked_ns, in->limits[LIMIT_WARN],
		       in->limits[LIMIT_CRITICAL]);
}

static enum sleep_kind main_kind(const uint64_t ns[NR_SLEEP_KINDS])
{
	enum sleep_kind most = SLEEP_LOCK;

	for (int k = 0; k < NR_SLEEP_KINDS; k++)
		if (ns[k] > ns[most])
			most = k;
	return most;
}

static uint64_t all_ns(const struct blocked *b)
{
	uint64_t ns = 0;

	for (int k = 0; k < NR_SLEEP_KINDS; k++)
		ns += b->ns[k];
	return ns;
}

/* About the long sleeps, or about all of them when they are many and short. */
static void say(const struct blocked *b, const struct over_limit *o, enum severity severity,
		uint16_t type, const struct analysis_input *in)
{
	struct finding *f = finding_add(in, severity, type);
	uint64_t nr = o ? o->nr : b->nr, ns = o ? o->ns : all_ns(b);
	char count[FORMAT_SIZE], limit[FORMAT_SIZE], all[FORMAT_SIZE], max[FORMAT_SIZE];
	enum sleep_kind kind = main_kind(o ? b->over_ns : b->ns);

	f->harm_ns = ns;
	if (o)
		finding_point(f, &o->worst);
	finding_figure(f, "polls", FIGURE_COUNT, nr);
	finding_figure(f, "blocked_ns", FIGURE_NS, ns);
	finding_figure(f, "max_ns", FIGURE_NS, b->max_ns);
	if (nr == 1)
		finding_say(f, "1 poll slept %s, %s", format_span(ns, all), texts[kind].what);
	else if (o)
		finding_say(f, "%s polls of %s or more slept %s, the longest %s, %s",
			    format_grouped(nr, count), format_span(in->limits[LIMIT_WARN], limit),
			    format_span(ns, all), format_span(b->max_ns, max), texts[kind].what);
	else
		finding_say(f, "%s polls slept %s in all, the longest %s, %s",
			    format_grouped(nr, count), format_span(ns, all),
			    format_span(b->max_ns, max), texts[kind].what);
	finding_advise(f, "%s", texts[kind].advice);
}

static void judge(const struct blocked *b, uint16_t type, const struct analysis_input *in)
{
	uint64_t count = b->is_certain ? 1 : in->limits[LIMIT_COUNT];

	if (b->over.nr && b->over.weight >= count)
		say(b, &b->over, over_limit_severity(&b->over, count), type, in);
	else if (b->nr && 100.0 * all_ns(b) >= (double)in->limits[LIMIT_SHARE] * in->duration_ns)
		say(b, NULL, SEVERITY_WARNING, type, in);
}

static void finish(void *state, const struct analysis_input *in)
{
	const struct blocked *by_group = in->by_group;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		judge(&by_group[g], in->rec->groups[g].type, in);
}

const struct analysis analysis_blocked_poll = {
	.name = "blocked-poll",
	.summary = "polls that sleep in the kernel and block their worker",
	.thresholds = thresholds,
	.group_size = sizeof(struct blocked),
	.odd_run = on_odd_run,
	.finish = finish,
};

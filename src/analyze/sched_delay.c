// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks that were runnable and got no worker, and who held that worker meanwhile. The *victim* is
 * the poll that came late; its *holder* are the polls of one type that ran on the same thread while
 * it waited, if they took at least half of that time. One fault makes victims of many types, so
 * there is one finding for each type of holders, and one for all that nobody held.
 *
 * A run is told when it is over, in the order of a thread: its holders are known by then. Only the
 * latest long runs of each thread are kept.
 */
#include "analyze/analyses.h"
#include "base/format.h"
#include "base/histogram.h"
#include "base/map.h"
#include "base/vec.h"

enum { LIMIT_DELAY, LIMIT_COUNT, LIMIT_SHARE };

static const struct threshold thresholds[] = {
	/* dial9's */
	[LIMIT_DELAY] = { "sched-delay", THRESHOLD_NS, 5000000,
			  "a task that waits for a worker this long" },
	[LIMIT_COUNT] = { "sched-delay-count", THRESHOLD_COUNT, 5,
			  "so many such waits because of one type, and for as many of its polls "
			  "unless one sleeps or takes 50ms" },
	[LIMIT_SHARE] = { "sched-delay-share", THRESHOLD_PERCENT, 10,
			  "… or, where no type held the worker, this share of all polls" },
	{ 0 },
};

/* As in long-poll: what the kernel can do to a poll on a busy machine is shorter. */
#define SURELY_HELD_NS UINT64_C(50000000)
#define MIN_UNHELD     100
#define NR_KEPT	       16
#define MAX_PAIRS      65536

struct held {
	uint64_t start_ns, end_ns;
	uint32_t group;
	bool is_asleep;	    /* most of it in the kernel: not because of a busy machine */
	uint64_t harmed_ns; /* so much of it made somebody wait */
	struct model_key task;
};

/* The latest long runs of a thread. */
struct thread_past {
	struct held runs[NR_KEPT];
	unsigned next;
	uint64_t sleep_start_ns, sleep_end_ns; /* and its latest long sleep between runs */
};

struct harm {
	struct histogram delays;
	uint64_t nr_types;	      /* of victims */
	uint64_t nr_holders, held_ns; /* polls that made others wait, and how long of them */
	bool is_sure;		      /* one of them at least was not just without a CPU */
	struct worst_run holder;      /* the one that made somebody wait longest */
	struct worst_run victim;
};

struct state {
	const struct recording *rec;
	uint64_t limit_ns, long_ns;
	uint64_t nr_asleep; /* victims of no type whose worker slept */
	VEC(struct thread_past *) threads;
	struct map pairs;      /* victim's group << 32 | holder's */
	struct harm *by_group; /* of the holder; the last one: nobody */
};

static void init(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	s->rec = in->rec;
	s->limit_ns = in->limits[LIMIT_DELAY];
	s->long_ns = s->limit_ns / 4;
	s->by_group = xcalloc(in->rec->nr_groups + 1, sizeof(*s->by_group));
	analysis_watch(in, s->long_ns, s->limit_ns);
}

static void release(void *state)
{
	struct state *s = state;

	for (uint32_t g = 0; g <= s->rec->nr_groups; g++)
		histogram_release(&s->by_group[g].delays);
	vec_each (t, &s->threads)
		free(*t);
	vec_release(&s->threads);
	map_release(&s->pairs);
	free(s->by_group);
}

static struct thread_past *past_of(struct state *s, uint32_t thread)
{
	while (s->threads.nr <= thread)
		vec_push(&s->threads, NULL);
	if (!s->threads.v[thread])
		s->threads.v[thread] = xcalloc(1, sizeof(struct thread_past));
	return s->threads.v[thread];
}

static uint64_t overlap(uint64_t start_ns, uint64_t end_ns, const struct model_run *victim)
{
	uint64_t from = MAX(start_ns, victim->start_ns - victim->sched_ns);
	uint64_t to = MIN(end_ns, victim->start_ns);

	return to > from ? to - from : 0;
}

/* Oldest first: of equals the first one counts. */
static struct held *kept(struct thread_past *past, unsigned i)
{
	return &past->runs[(past->next + i) % NR_KEPT];
}

/* The group whose runs took most of the victim's wait, if that is at least half. */
static uint32_t find_holder(const struct state *s, struct thread_past *past,
			    const struct model_run *victim)
{
	uint32_t best = s->rec->nr_groups;
	uint64_t most = 0;

	for (int i = 0; i < NR_KEPT; i++) {
		const struct held *h = kept(past, i);
		uint64_t ns = 0;

		if (!overlap(h->start_ns, h->end_ns, victim))
			continue;
		for (int j = 0; j < NR_KEPT; j++)
			if (past->runs[j].group == h->group)
				ns += overlap(past->runs[j].start_ns, past->runs[j].end_ns, victim);
		if (ns > most) {
			most = ns;
			best = h->group;
		}
	}
	return 2 * most >= victim->sched_ns ? best : s->rec->nr_groups;
}

/* Charges the holders: each ns of theirs once, however many wait. Returns the worst one. */
static const struct held *charge(struct harm *harm, struct thread_past *past, uint32_t group,
				 const struct model_run *victim)
{
	const struct held *worst = NULL;
	uint64_t most = 0;

	for (int i = 0; i < NR_KEPT; i++) {
		struct held *h = kept(past, i);
		uint64_t ns = h->group == group ? overlap(h->start_ns, h->end_ns, victim) : 0;

		if (ns > h->harmed_ns) {
			harm->nr_holders += !h->harmed_ns;
			harm->held_ns += ns - h->harmed_ns;
			h->harmed_ns = ns;
		}
		if (ns > most) {
			most = ns;
			worst = h;
		}
	}
	return worst;
}

static bool is_new_pair(struct state *s, uint64_t pair)
{
	bool was_there = true;

	if (s->pairs.nr < MAX_PAIRS)
		map_put(&s->pairs, pair, &was_there);
	return !was_there;
}

static void note_delay(struct state *s, struct thread_past *past, const struct model_run *run)
{
	uint32_t group = recording_group_of(s->rec, run->task->key.type);
	uint32_t by = find_holder(s, past, run);
	struct harm *harm = &s->by_group[by];
	const struct held *worst = charge(harm, past, by, run);

	harm->nr_types += is_new_pair(s, (uint64_t)group << 32 | by);
	histogram_add(&harm->delays, run->sched_ns);
	if (worst)
		harm->is_sure |=
			worst->is_asleep || worst->end_ns - worst->start_ns >= SURELY_HELD_NS;
	else if (2 * overlap(past->sleep_start_ns, past->sleep_end_ns, run) >= run->sched_ns)
		s->nr_asleep++;
	if (run->sched_ns <= harm->victim.span_ns)
		return;
	worst_run_note(&harm->victim, run, run->sched_ns);
	harm->victim.time_ns -= run->sched_ns;
	if (worst)
		harm->holder = (struct worst_run){ .span_ns = worst->end_ns - worst->start_ns,
						   .time_ns = worst->start_ns,
						   .thread = run->thread,
						   .task = worst->task };
}

static void keep(struct state *s, struct thread_past *past, const struct model_run *run)
{
	past->runs[past->next++ % NR_KEPT] = (struct held){
		.start_ns = run->start_ns,
		.end_ns = run->end_ns,
		.group = recording_group_of(s->rec, run->task->key.type),
		.is_asleep = 2 * run->blocked_ns >= run->end_ns - run->start_ns,
		.task = run->task->key,
	};
}

static void on_odd_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	bool is_long = run->end_ns - run->start_ns >= s->long_ns;
	struct thread_past *past;

	if (likely(!is_long && run->sched_ns < s->limit_ns) || run->task->kind == TRACE_BLOCKING)
		return;
	past = past_of(s, run->thread);
	if (run->sched_ns >= s->limit_ns && run->is_gap_known && !run->flags)
		note_delay(s, past, run);
	if (is_long)
		keep(s, past, run);
}

static void on_sleep(void *sink, const struct model_sleep *sleep)
{
	struct state *s = sink;
	struct thread_past *past;

	if (sleep->end_ns - sleep->start_ns < s->long_ns || sleep->task)
		return;
	past = past_of(s, sleep->thread);
	past->sleep_start_ns = sleep->start_ns;
	past->sleep_end_ns = sleep->end_ns;
}

static const struct model_ops ops = { .sleep = on_sleep };

static void add_figures(struct finding *f, const struct harm *h)
{
	finding_figure(f, "polls", FIGURE_COUNT, h->delays.nr);
	finding_figure(f, "types", FIGURE_COUNT, h->nr_types);
	finding_figure(f, "wait_ns", FIGURE_NS, h->delays.sum);
	finding_figure(f, "p99_ns", FIGURE_NS, histogram_percentile(&h->delays, 99));
	finding_figure(f, "max_ns", FIGURE_NS, h->delays.max);
	finding_figure(f, "victim", FIGURE_COUNT, h->victim.task.id);
}

static void say_held(const struct harm *h, uint16_t type, const struct analysis_input *in)
{
	struct finding *f = finding_add(in, SEVERITY_WARNING, type);
	char by[FORMAT_SIZE], nr[FORMAT_SIZE], all[FORMAT_SIZE], p99[FORMAT_SIZE], max[FORMAT_SIZE];

	f->is_consequence = true;
	f->harm_ns = h->held_ns;
	finding_point(f, &h->holder);
	add_figures(f, h);
	finding_figure(f, "holders", FIGURE_COUNT, h->nr_holders);
	finding_figure(f, "held_ns", FIGURE_NS, h->held_ns);
	finding_say(f,
		    "%s of its polls kept %s other%s of %llu type%s waiting for %s in all: p99 %s, "
		    "the longest %s (task %llu)",
		    format_grouped(h->nr_holders, by), format_grouped(h->delays.nr, nr),
		    plural(h->delays.nr), (unsigned long long)h->nr_types, plural(h->nr_types),
		    format_span(h->delays.sum, all),
		    format_span(histogram_percentile(&h->delays, 99), p99),
		    format_span(h->delays.max, max), (unsigned long long)h->victim.task.id);
	finding_advise(f,
		       "make the polls of task %llu and its like shorter, or move their work to "
		       "spawn_blocking",
		       (unsigned long long)h->holder.task.id);
}

static void say_unheld(const struct harm *h, bool is_asleep, const struct analysis_input *in)
{
	struct finding *f = finding_add(in, SEVERITY_NOTE, EVENT_TYPE_NONE);
	char nr[FORMAT_SIZE], p99[FORMAT_SIZE], max[FORMAT_SIZE];

	f->is_consequence = true;
	f->harm_ns = h->delays.max;
	finding_point(f, &h->victim);
	add_figures(f, h);
	finding_say(f, "%s polls waited long for a worker that %s: p99 %s, the longest %s",
		    format_grouped(h->delays.nr, nr),
		    is_asleep ? "slept meanwhile" : "no single type of task held",
		    format_span(histogram_percentile(&h->delays, 99), p99),
		    format_span(h->delays.max, max));
	if (is_asleep)
		finding_advise(f, "give the program more of the machine: its workers were woken "
				  "late");
	else
		finding_advise(f, "add workers or CPUs, or start less at a time: there is more to "
				  "do than the workers can");
}

static void finish(void *state, const struct analysis_input *in)
{
	struct state *s = state;
	const struct harm *none = &s->by_group[in->rec->nr_groups];
	uint64_t polls = 0;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++) {
		const struct harm *h = &s->by_group[g];
		/* the machine may have held the holders, as in long-poll */
		bool is_sure = h->is_sure || (h->nr_holders >= in->limits[LIMIT_COUNT] &&
					      in->off_cpu_ns < h->held_ns - h->held_ns / 4);

		polls += in->rows[g].polls;
		if (h->delays.nr && h->delays.nr >= in->limits[LIMIT_COUNT] && is_sure)
			say_held(h, in->rec->groups[g].type, in);
	}
	if (none->delays.nr >= MIN_UNHELD &&
	    100.0 * none->delays.nr >= (double)in->limits[LIMIT_SHARE] * polls)
		say_unheld(none, 2 * s->nr_asleep >= none->delays.nr, in);
}

const struct analysis analysis_sched_delay = {
	.name = "sched-delay",
	.summary = "tasks that wait for a worker, and who held it meanwhile",
	.thresholds = thresholds,
	.state_size = sizeof(struct state),
	.init = init,
	.ops = &ops,
	.odd_run = on_odd_run,
	.finish = finish,
	.release = release,
};

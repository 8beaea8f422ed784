// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks that were runnable and got no worker, and who held that worker meanwhile. The *victim* is
 * the poll that came late; its *holder* are the polls of one type that ran on the same thread while
 * it waited, if they took at least half of that time. One fault makes victims of many types, so
 * there is one finding for each type of holders, and one for all that nobody held. Many short polls
 * hold nobody: who waits behind them waits because there is so much to do.
 *
 * A run is told when it is over, in the order of a thread: its holders are known by then. Only the
 * latest of each thread that are not short are kept.
 */
#include "analyze/analyses.h"
#include "analyze/worker_time.h"
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
			  "number of such waits caused by one type, in as many of its polls "
			  "unless one sleeps or certainly takes 50ms" },
	[LIMIT_SHARE] = { "sched-delay-share", THRESHOLD_PERCENT, 10,
			  "… or, if no type held the worker, as a share of all polls" },
	{ 0 },
};

/* As in long-poll: what the kernel can do to a poll on a busy machine is shorter, as a rule. */
#define SURELY_HELD_NS UINT64_C(50000000)
/* Where nobody held it: so many waits, in so much of the time, and so busy were the workers. */
#define MIN_UNHELD	   100
#define MIN_WAITED_PERCENT 50
#define MIN_BUSY_PERCENT   75
/* A run shorter than this part of the limit holds nobody. At least half a second of the others. */
#define SHORT_PART 10
#define NR_KEPT	   1024
#define MAX_PAIRS  65536

struct held {
	uint64_t start_ns, end_ns;
	uint32_t group;
	bool is_asleep;	    /* most of it in the kernel: not because of a busy machine */
	uint64_t harmed_ns; /* so much of it made somebody wait */
	struct model_key task;
};

/* The latest runs of a thread that are not short. */
struct thread_past {
	struct held *runs;		       /* NR_KEPT; NULL: none yet */
	uint64_t next;			       /* counts them all */
	uint64_t sleep_start_ns, sleep_end_ns; /* and its latest long sleep between runs */
};

struct harm {
	struct histogram delays;
	uint64_t nr_types;	      /* of victims */
	uint64_t nr_holders, held_ns; /* polls that made others wait, and how long of them */
	uint64_t nr_alone;	      /* of these, that did so alone, for the limit */
	uint64_t nr_sure;	      /* … that surely held it */
	uint64_t nr_by_sleepers;      /* victims of such as slept, which needs no CPU */
	struct worst_run holder;      /* the one that made somebody wait longest */
	struct worst_run victim;
};

struct state {
	const struct recording *rec;
	uint64_t limit_ns, short_ns;
	/* Victims that nobody held: */
	uint64_t nr_asleep;		  /* those whose worker slept */
	uint64_t waited_ns, waited_until; /* how long there was one, up to when that is counted */
	VEC(struct thread_past *) threads;
	struct map pairs;      /* victim's group << 32 | holder's */
	struct harm *by_group; /* of the holder; the last one: nobody */
	uint64_t *took_ns;     /* scratch, by group: 0 between two uses */
};

static void init(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	s->rec = in->rec;
	s->limit_ns = in->limits[LIMIT_DELAY];
	s->short_ns = s->limit_ns / SHORT_PART;
	s->by_group = xcalloc(in->rec->nr_groups + 1, sizeof(*s->by_group));
	s->took_ns = xcalloc(in->rec->nr_groups, sizeof(*s->took_ns));
	analysis_watch(in, s->short_ns, s->limit_ns);
}

static void release(void *state)
{
	struct state *s = state;

	for (uint32_t g = 0; g <= s->rec->nr_groups; g++)
		histogram_release(&s->by_group[g].delays);
	vec_each (t, &s->threads) {
		free(*t ? (*t)->runs : NULL);
		free(*t);
	}
	vec_release(&s->threads);
	map_release(&s->pairs);
	free(s->took_ns);
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

static struct held *kept(struct thread_past *past, uint64_t nr)
{
	return &past->runs[nr % NR_KEPT];
}

static uint64_t taken(const struct held *h, const struct model_run *victim)
{
	return overlap(h->start_ns, h->end_ns, victim);
}

/* The oldest run that ended in the victim's wait, and all after it. */
static uint64_t first_in_wait(struct thread_past *past, const struct model_run *victim)
{
	uint64_t ready_ns = victim->start_ns - victim->sched_ns, nr = past->next;
	uint64_t oldest = nr - MIN(nr, (uint64_t)NR_KEPT);

	while (nr > oldest && kept(past, nr - 1)->end_ns > ready_ns)
		nr--;
	return nr;
}

/* The group whose runs took most of the victim's wait, of equals the first one, if that is at least
 * half. */
static uint32_t find_holder(const struct state *s, struct thread_past *past, uint64_t first,
			    const struct model_run *victim)
{
	uint32_t best = s->rec->nr_groups;
	uint64_t most = 0;

	for (uint64_t i = first; i < past->next; i++)
		s->took_ns[kept(past, i)->group] += taken(kept(past, i), victim);
	for (uint64_t i = first; i < past->next; i++) {
		uint64_t *ns = &s->took_ns[kept(past, i)->group];

		if (*ns > most) {
			most = *ns;
			best = kept(past, i)->group;
		}
		*ns = 0;
	}
	return 2 * most >= victim->sched_ns ? best : s->rec->nr_groups;
}

static bool did_surely_hold(const struct held *h)
{
	return h->is_asleep || h->end_ns - h->start_ns >= SURELY_HELD_NS;
}

/* Charges the holders: each ns of theirs once, however many wait. Returns the worst one. */
static const struct held *charge(struct state *s, struct thread_past *past, uint64_t first,
				 uint32_t group, const struct model_run *victim)
{
	struct harm *harm = &s->by_group[group];
	const struct held *worst = NULL;
	uint64_t most = 0;

	for (uint64_t i = first; i < past->next; i++) {
		struct held *h = kept(past, i);
		uint64_t ns = h->group == group ? taken(h, victim) : 0;

		if (ns > h->harmed_ns) {
			harm->nr_holders += !h->harmed_ns;
			harm->nr_sure += !h->harmed_ns && did_surely_hold(h);
			harm->nr_alone += ns >= s->limit_ns && h->harmed_ns < s->limit_ns;
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

static void note_unheld(struct state *s, const struct thread_past *past,
			const struct model_run *run)
{
	uint64_t from = MAX(run->start_ns - run->sched_ns, s->waited_until);

	if (2 * overlap(past->sleep_start_ns, past->sleep_end_ns, run) >= run->sched_ns)
		s->nr_asleep++;
	s->waited_ns += run->start_ns - MIN(run->start_ns, from);
	s->waited_until = MAX(s->waited_until, run->start_ns);
}

static void note_delay(struct state *s, struct thread_past *past, const struct model_run *run)
{
	uint32_t group = recording_group_of(s->rec, run->task->key.type);
	uint64_t first = first_in_wait(past, run);
	uint32_t by = find_holder(s, past, first, run);
	struct harm *harm = &s->by_group[by];
	const struct held *worst = charge(s, past, first, by, run);

	harm->nr_types += is_new_pair(s, (uint64_t)group << 32 | by);
	histogram_add(&harm->delays, run->sched_ns);
	if (worst)
		harm->nr_by_sleepers += worst->is_asleep;
	else
		note_unheld(s, past, run);
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
	if (unlikely(!past->runs))
		past->runs = xcalloc(NR_KEPT, sizeof(*past->runs));
	*kept(past, past->next++) = (struct held){
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
	bool is_short = run->end_ns - run->start_ns < s->short_ns;
	struct thread_past *past;

	if ((is_short && run->sched_ns < s->limit_ns) || run->task->kind == TRACE_BLOCKING)
		return;
	past = past_of(s, run->thread);
	if (run->sched_ns >= s->limit_ns && run->is_gap_known && !run->flags)
		note_delay(s, past, run);
	if (!is_short)
		keep(s, past, run);
}

static void on_sleep(void *sink, const struct model_sleep *sleep)
{
	struct state *s = sink;
	struct thread_past *past;

	if (sleep->end_ns - sleep->start_ns < s->short_ns || sleep->task)
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
	if (2 * h->nr_by_sleepers >= h->delays.nr)
		finding_advise(f,
			       "do not sleep in the polls of tasks such as task %llu: await "
			       "instead, or use spawn_blocking (a blocked-poll finding names "
			       "the call)",
			       (unsigned long long)h->holder.task.id);
	else
		finding_advise(f,
			       "shorten the polls of tasks such as task %llu, or move their "
			       "work to spawn_blocking",
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
		    is_asleep ? "slept meanwhile" : "no long poll held",
		    format_span(histogram_percentile(&h->delays, 99), p99),
		    format_span(h->delays.max, max));
	if (is_asleep)
		finding_advise(f, "give the program more CPU time: its workers were scheduled "
				  "late");
	else
		finding_advise(f, "add workers or CPUs, or start less work at a time: the "
				  "workers are overloaded");
}

/*
 * Is it their fault? One that slept needed no CPU for it. The others may have been held themselves,
 * by the machine, as in long-poll. And many that are not long, each after the other, may be a burst
 * of work that is soon over.
 */
static bool is_sure(const struct harm *h, const struct analysis_input *in)
{
	uint64_t count = MAX(in->limits[LIMIT_COUNT], UINT64_C(1));
	bool is_certain = in->off_cpu_ns < h->held_ns - h->held_ns / 4;

	if (h->nr_by_sleepers >= count || h->nr_sure >= count)
		return true;
	return is_certain && (h->nr_sure || h->nr_alone >= count ||
			      (h->nr_holders >= count && is_costly(h->held_ns, in)));
}

/* Were the workers so busy that more of them would help? */
static bool are_busy(const struct analysis_input *in)
{
	uint64_t nr = 0, busy_ns = 0;

	for (size_t i = 0; i < in->nr_threads; i++)
		if (in->threads[i].kind == MODEL_WORKER) {
			nr++;
			busy_ns += in->threads[i].busy_ns;
		}
	return busy_ns * 100 >= in->duration_ns * nr * MIN_BUSY_PERCENT;
}

static void finish_unheld(const struct state *s, uint64_t nr_polls, const struct analysis_input *in)
{
	const struct harm *h = &s->by_group[in->rec->nr_groups];
	bool is_asleep = 2 * s->nr_asleep >= h->delays.nr;

	if (h->delays.nr >= MIN_UNHELD &&
	    100.0 * h->delays.nr >= (double)in->limits[LIMIT_SHARE] * nr_polls &&
	    s->waited_ns * 100 >= in->duration_ns * MIN_WAITED_PERCENT &&
	    (is_asleep || are_busy(in)))
		say_unheld(h, is_asleep, in);
}

static void finish(void *state, const struct analysis_input *in)
{
	struct state *s = state;
	uint64_t polls = 0;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++) {
		const struct harm *h = &s->by_group[g];

		polls += in->rows[g].polls;
		if (h->delays.nr && h->delays.nr >= in->limits[LIMIT_COUNT] && is_sure(h, in))
			say_held(h, in->rec->groups[g].type, in);
	}
	finish_unheld(s, polls, in);
}

const struct analysis analysis_sched_delay = {
	.name = "sched-delay",
	.summary = "tasks that wait for a worker, and what held it",
	.thresholds = thresholds,
	.state_size = sizeof(struct state),
	.init = init,
	.ops = &ops,
	.odd_run = on_odd_run,
	.finish = finish,
	.release = release,
};

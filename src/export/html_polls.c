// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Keeps runs in an array of fixed size. When it is full the least telling ones leave: a run tells
 * something if it took long or waited long for a worker. So there is a least time that rises, all
 * runs above it are kept, and of the others a sample, for the picture. Those of a finding's worst
 * moment are the last to leave: that is where the page jumps to.
 */
#include <string.h>

#include "base/histogram.h"
#include "export/html.h"

#define MAX_PINNED    100000u
#define PIN_AROUND_NS UINT64_C(5000000) /* polls of a finding's task so near to it are kept */

enum { FLAG_DROP = 1, FLAG_FIRST = 2, FLAG_OPEN = 4, FLAG_GAP_KNOWN = 8, FLAG_PINNED = 128 };

#define NO_CAUSE 255 /* its spawn made it runnable, or it is not known */

struct poll {
	uint64_t start_ns;
	uint64_t id, waker;	       /* the runtimes' numbers of the tasks */
	uint32_t took, sched, blocked; /* packed spans */
	uint32_t task;		       /* model_task.nr */
	uint16_t group, waker_group;
	uint16_t thread, waker_thread;
	uint8_t cause, flags;
};

struct html_polls {
	const struct recording *rec;
	const struct finding *findings;
	size_t nr_findings;
	struct poll *polls;
	size_t nr, max, nr_pinned;
	uint32_t sample; /* of 2^32: the share of the others */
	struct html_kept kept;
	VEC(bool) is_suspect; /* by slot: a finding is about this task */
	/* in the order in which they are packed */
	uint32_t *order;
	uint32_t *task_of;  /* by poll: its task's number among those that have polls */
	uint32_t *first_of; /* by such a number: one of its polls */
	size_t nr_tasks;
	size_t *nr_on; /* by thread, rec->nr_threads of them */
};

/*
 * Spans take 32 bits: nanoseconds up to two seconds, then the upper two bits say that it is
 * microseconds (10) or milliseconds (11), up to days.
 */
static uint32_t pack_span(uint64_t ns)
{
	const uint64_t mask = (UINT64_C(1) << 30) - 1;

	if (ns < UINT64_C(1) << 31)
		return ns;
	if (ns / 1000 <= mask)
		return UINT32_C(2) << 30 | ns / 1000;
	return UINT32_C(3) << 30 | MIN(ns / 1000000, mask);
}

static uint64_t unpack_span(uint32_t v)
{
	static const unsigned unit[] = { 1, 1, 1000, 1000000 };

	return (v >> 31 ? (uint64_t)(v & ((1u << 30) - 1)) : v) * unit[v >> 30];
}

struct html_polls *html_polls_new(const struct recording *rec, const struct finding *findings,
				  size_t nr_findings, size_t max_polls)
{
	struct html_polls *p = xcalloc(1, sizeof(*p));

	p->rec = rec;
	p->findings = findings;
	p->nr_findings = nr_findings;
	p->max = MAX(max_polls, (size_t)1024);
	p->polls = xreallocarray(NULL, p->max, sizeof(*p->polls));
	p->sample = UINT32_MAX;
	p->kept.sample = 1;
	p->nr_on = xcalloc(rec->nr_threads + 1, sizeof(*p->nr_on));
	return p;
}

void html_polls_free(struct html_polls *p)
{
	if (!p)
		return;
	vec_release(&p->is_suspect);
	free(p->polls);
	free(p->order);
	free(p->task_of);
	free(p->first_of);
	free(p->nr_on);
	free(p);
}

static uint64_t weigh(const struct poll *poll)
{
	return unpack_span(MAX(poll->took, poll->sched));
}

static bool is_wanted(const struct html_polls *p, const struct poll *poll)
{
	uint64_t hash = (poll->start_ns ^ (uint64_t)poll->thread << 48) * 0x9e3779b97f4a7c15;

	return weigh(poll) >= p->kept.min_ns || hash >> 32 < p->sample || poll->flags & FLAG_PINNED;
}

/* The least time such that at most nr of the runs that were kept took or waited longer. */
static uint64_t find_min(const struct html_polls *p, size_t nr)
{
	struct histogram h = { 0 };
	struct histogram_bin bin;
	uint64_t min_ns = 0, left = p->nr;
	unsigned pos = 0;

	for (size_t i = 0; i < p->nr; i++)
		histogram_add(&h, weigh(&p->polls[i]));
	while (left > nr && histogram_next(&h, &pos, &bin)) {
		left -= bin.nr;
		min_ns = bin.high + 1;
	}
	histogram_release(&h);
	return min_ns;
}

void html_polls_thin(struct html_polls *p, size_t nr)
{
	size_t left = 0;

	if (p->nr <= nr)
		return;
	p->kept.min_ns = MAX(p->kept.min_ns, find_min(p, nr - nr / 4));
	p->kept.sample = MIN(p->kept.sample, nr / 4.0 / p->kept.nr_seen);
	p->sample = p->kept.sample * UINT32_MAX;
	for (size_t i = 0; i < p->nr; i++)
		if (is_wanted(p, &p->polls[i]))
			p->polls[left++] = p->polls[i];
	p->nr = left;
	p->kept.nr_kept = left;
}

void html_polls_unpin(struct html_polls *p)
{
	p->kept.is_unpinned = true;
	for (size_t i = 0; i < p->nr; i++)
		p->polls[i].flags &= ~FLAG_PINNED;
}

static bool is_same_task(const struct model_key *a, const struct model_key *b)
{
	return a->id == b->id && a->runtime == b->runtime && a->type == b->type;
}

static void on_spawn(void *sink, const struct model_task *t)
{
	struct html_polls *p = sink;
	bool is_suspect = false;

	for (size_t i = 0; i < p->nr_findings && !is_suspect; i++)
		is_suspect = p->findings[i].has_task && is_same_task(&p->findings[i].task, &t->key);
	while (p->is_suspect.nr <= t->slot)
		vec_push(&p->is_suspect, false);
	p->is_suspect.v[t->slot] = is_suspect;
}

static bool is_of_finding(struct html_polls *p, const struct model_run *run)
{
	if (run->task->slot >= p->is_suspect.nr || !p->is_suspect.v[run->task->slot] ||
	    p->nr_pinned >= MIN(MAX_PINNED, p->max / 4))
		return false;
	for (size_t i = 0; i < p->nr_findings; i++) {
		const struct finding *f = &p->findings[i];

		if (f->has_task && is_same_task(&f->task, &run->task->key) &&
		    run->end_ns + PIN_AROUND_NS >= f->time_ns &&
		    run->start_ns <= f->time_ns + f->span_ns + PIN_AROUND_NS) {
			p->nr_pinned++;
			return true;
		}
	}
	return false;
}

static uint16_t narrow(uint32_t n)
{
	return MIN(n, HTML_NONE);
}

static void set_waker(const struct html_polls *p, struct poll *poll, const struct model_waker *w)
{
	poll->cause = w ? w->cause : NO_CAUSE;
	poll->waker_thread = w ? narrow(w->thread) : HTML_NONE;
	poll->waker_group = HTML_NONE;
	if (w && w->has_key) {
		poll->waker = w->key.id;
		poll->waker_group = recording_group_of(p->rec, w->key.type);
	}
}

static void on_run(void *sink, const struct model_run *run)
{
	struct html_polls *p = sink;
	struct poll poll = {
		.start_ns = run->start_ns,
		.id = run->task->key.id,
		.took = pack_span(run->end_ns - run->start_ns),
		.sched = pack_span(run->is_gap_known ? run->sched_ns : 0),
		.blocked = pack_span(run->blocked_ns),
		.task = run->task->nr,
		.group = recording_group_of(p->rec, run->task->key.type),
		.thread = narrow(run->thread),
		.flags = (run->flags ? FLAG_DROP : 0) | (run->is_first ? FLAG_FIRST : 0) |
			 (run->is_open ? FLAG_OPEN : 0) | (run->is_gap_known ? FLAG_GAP_KNOWN : 0),
	};

	if (run->thread >= p->rec->nr_threads)
		return;
	p->kept.nr_seen++;
	if (is_of_finding(p, run))
		poll.flags |= FLAG_PINNED;
	if (!is_wanted(p, &poll))
		return;
	if (p->nr == p->max)
		html_polls_thin(p, p->max / 2);
	if (p->nr == p->max || !is_wanted(p, &poll))
		return;
	set_waker(p, &poll, run->waker);
	p->polls[p->nr++] = poll;
	p->kept.nr_kept = p->nr;
}

const struct model_ops html_polls_ops = { .spawn = on_spawn, .run = on_run };

/*
 * By thread and start. They came in the order of their ends: only a run with others inside it has
 * to go back, before these.
 */
static void put_in_order(struct html_polls *p)
{
	size_t *from = xcalloc(p->rec->nr_threads + 1, sizeof(*from)), sum = 0;

	p->order = xreallocarray(p->order, p->nr + 1, sizeof(*p->order));
	memset(p->nr_on, 0, p->rec->nr_threads * sizeof(*p->nr_on));
	for (size_t i = 0; i < p->nr; i++)
		p->nr_on[p->polls[i].thread]++;
	for (uint32_t i = 0; i < p->rec->nr_threads; i++) {
		from[i] = sum;
		sum += p->nr_on[i];
		p->nr_on[i] = 0;
	}
	for (size_t i = 0; i < p->nr; i++) {
		const struct poll *poll = &p->polls[i];
		uint32_t *order = &p->order[from[poll->thread]];
		size_t end = p->nr_on[poll->thread]++, at = end;

		while (at && p->polls[order[at - 1]].start_ns > poll->start_ns)
			at--;
		memmove(&order[at + 1], &order[at], (end - at) * sizeof(*order));
		order[at] = i;
	}
	free(from);
}

struct numbered {
	uint32_t task, poll;
};

static int by_task(const void *pa, const void *pb)
{
	const struct numbered *a = pa, *b = pb;

	return (a->task > b->task) - (a->task < b->task);
}

/* Small numbers for the tasks that have polls. */
static void number_tasks(struct html_polls *p)
{
	struct numbered *all = xreallocarray(NULL, p->nr + 1, sizeof(*all));

	p->task_of = xreallocarray(p->task_of, p->nr + 1, sizeof(*p->task_of));
	p->first_of = xreallocarray(p->first_of, p->nr + 1, sizeof(*p->first_of));
	for (size_t i = 0; i < p->nr; i++)
		all[i] = (struct numbered){ p->polls[i].task, i };
	qsort(all, p->nr, sizeof(*all), by_task);
	p->nr_tasks = 0;
	for (size_t i = 0; i < p->nr; i++) {
		if (!i || all[i].task != all[i - 1].task)
			p->first_of[p->nr_tasks++] = all[i].poll;
		p->task_of[all[i].poll] = p->nr_tasks - 1;
	}
	free(all);
}

static const struct poll *nth(const struct html_polls *p, size_t i)
{
	return &p->polls[p->order[i]];
}

/* Starts as differences to the one before on its thread. */
static uint64_t get_delta(const void *arg, size_t i)
{
	const struct poll *poll = nth(arg, i), *before = i ? nth(arg, i - 1) : NULL;

	return poll->start_ns - (before && before->thread == poll->thread ? before->start_ns : 0);
}

static uint64_t get_delta_high(const void *arg, size_t i)
{
	return get_delta(arg, i) >> 32;
}

#define GETTER(name, value)                             \
	static uint64_t name(const void *arg, size_t i) \
	{                                               \
		const struct poll *poll = nth(arg, i);  \
                                                        \
		return value;                           \
	}

GETTER(get_took, poll->took)
GETTER(get_sched, poll->sched)
GETTER(get_blocked, poll->blocked)
GETTER(get_waker, poll->waker)
GETTER(get_waker_high, poll->waker >> 32)
GETTER(get_waker_group, poll->waker_group)
GETTER(get_waker_thread, poll->waker_thread)
GETTER(get_cause, poll->cause)
GETTER(get_flags, poll->flags)

static uint64_t get_task(const void *arg, size_t i)
{
	const struct html_polls *p = arg;

	return p->task_of[p->order[i]];
}

static uint64_t get_owner_nr(const void *arg, size_t i)
{
	const struct html_polls *p = arg;

	return p->polls[p->first_of[i]].task;
}

static uint64_t get_owner_id(const void *arg, size_t i)
{
	const struct html_polls *p = arg;

	return html_bits_of(p->polls[p->first_of[i]].id);
}

static uint64_t get_owner_group(const void *arg, size_t i)
{
	const struct html_polls *p = arg;

	return p->polls[p->first_of[i]].group;
}

void html_polls_pack(struct html_polls *p, struct html_pack *pack)
{
	static const struct {
		const char *name;
		unsigned width;
		uint64_t (*get)(const void *arg, size_t i);
	} columns[] = {
		{ "poll.delta", 4, get_delta },
		{ "poll.delta_high", 4, get_delta_high },
		{ "poll.took", 4, get_took },
		{ "poll.sched", 4, get_sched },
		{ "poll.blocked", 4, get_blocked },
		{ "poll.task", 4, get_task },
		{ "poll.waker", 4, get_waker },
		{ "poll.waker_high", 4, get_waker_high },
		{ "poll.waker_group", 2, get_waker_group },
		{ "poll.waker_thread", 2, get_waker_thread },
		{ "poll.cause", 1, get_cause },
		{ "poll.flags", 1, get_flags },
	};

	put_in_order(p);
	number_tasks(p);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		html_pack_put(pack,
			      (struct html_column){ columns[i].name, columns[i].width, p->nr },
			      columns[i].get, p);
	html_pack_put(pack, (struct html_column){ "owner.nr", 4, p->nr_tasks }, get_owner_nr, p);
	html_pack_put(pack, (struct html_column){ "owner.id", 8, p->nr_tasks }, get_owner_id, p);
	html_pack_put(pack, (struct html_column){ "owner.group", 2, p->nr_tasks }, get_owner_group,
		      p);
}

const struct html_kept *html_polls_get_kept(const struct html_polls *p)
{
	return &p->kept;
}

size_t html_polls_get_nr_on(const struct html_polls *p, uint32_t thread)
{
	return p->nr_on[thread];
}

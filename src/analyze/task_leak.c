// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Types whose live tasks grow in number all along the recording, because some of them never end.
 * Three things must come together. The number grows from each eighth of the recording to the next,
 * with one exception at most: so a pool that is made at the start, and a ramp-up that comes to an
 * end, are none. The tasks that are left are much older than the others became: so connections that
 * come and go, more of them from second to second, are none. And most of them are *quiet*, not
 * polled any more for half of their lives: so long-lived ones that arrive and work are none.
 *
 * Where none of them ever ended, that may be how it is meant: a note.
 *
 * How long the recording is shows only at its end. Births and deaths are counted in windows, and
 * whenever these do not reach any more, two become one.
 */
#include "analyze/analyses.h"
#include "base/format.h"
#include "base/histogram.h"
#include "base/vec.h"
#include "model/shorten.h"

enum { LIMIT_GROWTH, LIMIT_TIME };

static const struct threshold thresholds[] = {
	[LIMIT_GROWTH] = { "task-leak", THRESHOLD_COUNT, 10,
			   "increase of live tasks of a type from near the start to the end" },
	[LIMIT_TIME] = { "task-leak-time", THRESHOLD_NS, 1000000000,
			 "… in at least this time since the first task" },
	{ 0 },
};

#define NR_PARTS    8
#define NR_WINDOWS  64
#define FIRST_SHIFT 20 /* about a millisecond */
/* The median of those that are left is so many times as old as 9 of 10 that ended became. */
#define MUCH_OLDER  4
#define PLACE_WIDTH 30

enum fate { ENDED, DROPPED, LEFT, NR_FATES };

/* Births and deaths in a stretch of time. */
struct window {
	uint64_t born, ended, dropped;
};

struct lives {
	struct window *windows; /* NULL: no task of the group was seen */
	struct histogram ages[NR_FATES];
	uint64_t nr_quiet[NR_FATES];
	bool has_oldest;
	uint64_t oldest_spawn_ns; /* of those that did not end by themselves */
	struct model_key oldest;
	uint32_t oldest_place; /* where that one was spawned, or RECORDING_NO_PLACE */
};

struct state {
	const struct recording *rec;
	bool has_base;
	uint64_t base_ns;      /* when the first task was seen */
	unsigned window_shift; /* log2 of the ns of a window */
	struct lives *by_group;
	VEC(uint64_t) last_poll_ns; /* by slot: when it ended; 0: none yet */
};

/* What a group's windows tell when all is over. The parts are eighths of the time since base_ns. */
struct trend {
	uint64_t duration_ns;
	uint64_t live[NR_PARTS]; /* at the end of each part */
	uint64_t born, ended;
	bool is_shutdown; /* what was dropped was so because the program ended */
};

static void init(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	s->rec = in->rec;
	s->window_shift = FIRST_SHIFT;
	s->by_group = in->by_group;
}

static void release(void *state)
{
	struct state *s = state;

	for (uint32_t g = 0; g < s->rec->nr_groups; g++) {
		for (int i = 0; i < NR_FATES; i++)
			histogram_release(&s->by_group[g].ages[i]);
		free(s->by_group[g].windows);
	}
	vec_release(&s->last_poll_ns);
}

static void on_spawn(void *sink, const struct model_task *t)
{
	struct state *s = sink;

	while (s->last_poll_ns.nr <= t->slot)
		vec_push(&s->last_poll_ns, 0);
	s->last_poll_ns.v[t->slot] = 0;
	if (likely(s->has_base))
		return;
	s->has_base = true;
	s->base_ns = t->spawn_ns;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;

	if (likely(!run->flags))
		s->last_poll_ns.v[run->task->slot] = run->end_ns;
}

static bool is_quiet(const struct state *s, const struct model_task *t)
{
	uint64_t since_ns = MAX(s->last_poll_ns.v[t->slot], t->spawn_ns);

	return 2 * (t->end_ns - MIN(since_ns, t->end_ns)) >= t->end_ns - t->spawn_ns;
}

static void widen(struct state *s)
{
	s->window_shift++;
	for (uint32_t g = 0; g < s->rec->nr_groups; g++) {
		struct window *w = s->by_group[g].windows;

		for (int i = 0; w && i < NR_WINDOWS; i++) {
			struct window sum = { 0 };

			for (int j = 2 * i; j < MIN(2 * i + 2, NR_WINDOWS); j++) {
				sum.born += w[j].born;
				sum.ended += w[j].ended;
				sum.dropped += w[j].dropped;
			}
			w[i] = sum;
		}
	}
}

/* The window of a moment. A spawn may turn out to lie before the first that was seen. */
static unsigned window_at(struct state *s, uint64_t time_ns)
{
	uint64_t ns = time_ns - MIN(time_ns, s->base_ns);

	while (unlikely(ns >> s->window_shift >= NR_WINDOWS))
		widen(s);
	return ns >> s->window_shift;
}

static void on_task(void *sink, const struct model_task *t)
{
	struct state *s = sink;
	struct lives *l = &s->by_group[recording_group_of(s->rec, t->key.type)];
	enum fate fate = t->end == MODEL_ALIVE ? LEFT : t->end == MODEL_DROPPED ? DROPPED : ENDED;
	/* the later one first: it may widen the windows */
	unsigned end = window_at(s, t->end_ns), born = window_at(s, t->spawn_ns);

	if (unlikely(!l->windows))
		l->windows = xcalloc(NR_WINDOWS, sizeof(*l->windows));
	l->windows[born].born++;
	l->windows[end].ended += fate == ENDED;
	l->windows[end].dropped += fate == DROPPED;
	histogram_add(&l->ages[fate], t->end_ns - t->spawn_ns);
	l->nr_quiet[fate] += fate != ENDED && is_quiet(s, t);
	if (fate == ENDED || (l->has_oldest && t->spawn_ns >= l->oldest_spawn_ns))
		return;
	l->has_oldest = true;
	l->oldest = t->key;
	l->oldest_place = recording_place_of(s->rec, t);
	l->oldest_spawn_ns = t->spawn_ns;
}

static const struct model_ops ops = { .spawn = on_spawn, .run = on_run, .task = on_task };

static void follow(const struct lives *l, unsigned nr_windows, struct trend *t)
{
	unsigned tail = nr_windows - nr_windows / NR_PARTS;
	uint64_t dropped = 0, dropped_late = 0, alive = 0;

	for (unsigned i = 0; i < nr_windows; i++) {
		dropped += l->windows[i].dropped;
		dropped_late += i >= tail ? l->windows[i].dropped : 0;
	}
	t->is_shutdown = 2 * dropped_late > dropped;
	for (unsigned i = 0, part = 0; i < nr_windows; i++) {
		const struct window *w = &l->windows[i];
		uint64_t ended = w->ended + (t->is_shutdown ? 0 : w->dropped);

		t->born += w->born;
		t->ended += ended;
		alive = t->born - t->ended;
		for (; part < NR_PARTS && (i + 1) * NR_PARTS >= nr_windows * (part + 1); part++)
			t->live[part] = alive;
	}
}

static bool is_growing(const struct trend *t, uint64_t min)
{
	int nr = 0;

	for (int i = 1; i < NR_PARTS; i++)
		nr += t->live[i] > t->live[i - 1];
	return nr >= NR_PARTS - 2 && t->live[NR_PARTS - 1] >= t->live[0] + min;
}

static bool are_left_behind(const struct lives *l, const struct trend *t)
{
	struct histogram left = { 0 }, ended = { 0 };
	uint64_t left_ns, ended_ns;

	histogram_merge(&left, &l->ages[LEFT]);
	histogram_merge(&ended, &l->ages[ENDED]);
	histogram_merge(t->is_shutdown ? &left : &ended, &l->ages[DROPPED]);
	left_ns = histogram_percentile(&left, 50);
	ended_ns = histogram_percentile(&ended, 90);
	histogram_release(&left);
	histogram_release(&ended);
	return left_ns >= MUCH_OLDER * ended_ns;
}

static bool are_quiet(const struct lives *l, const struct trend *t)
{
	uint64_t nr = l->ages[LEFT].nr, nr_quiet = l->nr_quiet[LEFT];

	if (t->is_shutdown) {
		nr += l->ages[DROPPED].nr;
		nr_quiet += l->nr_quiet[DROPPED];
	}
	return 2 * nr_quiet >= nr;
}

static void add_figures(struct finding *f, const struct trend *t, double rate, uint64_t size)
{
	uint64_t alive = t->live[NR_PARTS - 1];

	finding_figure(f, "alive", FIGURE_COUNT, alive);
	finding_figure(f, "spawned", FIGURE_COUNT, t->born);
	finding_figure(f, "ended", FIGURE_COUNT, t->ended);
	finding_figure(f, "more_per_s", FIGURE_COUNT, rate + 0.5);
	if (size)
		finding_figure(f, "alive_bytes", FIGURE_BYTES, size * alive);
}

static void say(const struct lives *l, const struct trend *t, const struct recording_group *group,
		const struct analysis_input *in)
{
	struct finding *f =
		finding_add(in, t->ended ? SEVERITY_WARNING : SEVERITY_NOTE, group->type);
	uint64_t alive = t->live[NR_PARTS - 1];
	uint64_t size =
		group->type < in->rec->nr_types ? in->rec->types[group->type].size_bytes : 0;
	double rate = (alive - t->live[0]) * 1e9 / (t->duration_ns / NR_PARTS * (NR_PARTS - 1.0));
	const char *fate = l->ages[LEFT].nr
				   ? "are left at the end"
				   : "never ended by themselves (dropped with the runtime)";
	char count[FORMAT_SIZE], ended[FORMAT_SIZE], born[FORMAT_SIZE], bytes[FORMAT_SIZE];
	struct strbuf place = STRBUF_INIT;

	if (l->oldest_place < in->rec->nr_places) {
		const struct recording_place *p = &in->rec->places[l->oldest_place];

		strbuf_addstr(&place, "; the oldest was spawned at ");
		shorten_place(&place, p->file, p->line, PLACE_WIDTH);
	}
	/* no time is lost yet: as bad as something that takes a tenth of a worker */
	f->harm_ns = t->duration_ns / 10;
	f->has_task = true;
	f->task = l->oldest;
	f->time_ns = l->oldest_spawn_ns;
	add_figures(f, t, rate, size);
	finding_say(f, "%s tasks %s, %.3g more every second; %s of %s ended%s%s%s",
		    format_grouped(alive, count), fate, rate,
		    t->ended ? format_grouped(t->ended, ended) : "none",
		    format_grouped(t->born, born), size ? "; the others hold at least " : "",
		    size ? format_bytes(size * alive, bytes) : "", place.s);
	strbuf_release(&place);
	if (t->ended)
		finding_advise(f, "find out what the oldest of them waits for and why it never "
				  "happens; add a timeout, or abort them");
	else
		finding_advise(f, "if they should end, find out what the oldest of them waits "
				  "for; most have not been polled for half of their lives");
}

/* Every run that was lost may have been the last one of its task. */
static uint64_t lost_runs(const struct analysis_input *in)
{
	uint64_t lost[EV_MAX] = { 0 };
	const uint64_t *told = model_get_totals(in->model)->lost;

	if (in->rec->trace)
		recording_get_lost(in->rec, in->model, lost);
	return MAX(MAX(lost[EV_RUN_START], told[EV_RUN_START]),
		   MAX(lost[EV_RUN_END], told[EV_RUN_END])) +
	       lost[0] + told[0];
}

static void finish(void *state, const struct analysis_input *in)
{
	struct state *s = state;
	uint64_t end_ns = in->start_ns + in->duration_ns;
	uint64_t duration_ns = end_ns - MIN(end_ns, s->base_ns);
	unsigned nr_windows = window_at(s, end_ns) + 1;
	uint64_t min = MAX(in->limits[LIMIT_GROWTH], UINT64_C(1)) + lost_runs(in);

	if (duration_ns < in->limits[LIMIT_TIME])
		return;
	for (uint32_t g = 0; g < in->rec->nr_groups; g++) {
		const struct lives *l = &s->by_group[g];
		struct trend t = { .duration_ns = duration_ns };

		/* closures of the blocking pool wait in a queue: blocking-queue's; roots are no
		 * tasks */
		if (!l->windows || in->rec->groups[g].kind == TRACE_BLOCKING ||
		    in->rec->groups[g].kind == TRACE_BLOCK_ON)
			continue;
		follow(l, nr_windows, &t);
		if (is_growing(&t, min) && are_left_behind(l, &t) && are_quiet(l, &t))
			say(l, &t, &in->rec->groups[g], in);
	}
}

const struct analysis analysis_task_leak = {
	.name = "task-leak",
	.summary = "types with more and more tasks, some of which never end",
	.thresholds = thresholds,
	.group_size = sizeof(struct lives),
	.state_size = sizeof(struct state),
	.init = init,
	.ops = &ops,
	.finish = finish,
	.release = release,
};

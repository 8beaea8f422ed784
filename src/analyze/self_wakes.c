// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks that wake themselves again and again instead of waiting: they burn CPU. tokio-console warns
 * when more than half of the wakes are of that kind. Giving way in a long job is healthy and looks
 * the same, so it takes many, and many a second: who gives way every millisecond stays below. So do
 * futures that one task joins, where one wakes the other: then the polls do the work, and take time
 * for it, while who only asks again is done at once.
 */
#include "analyze/analyses.h"
#include "base/format.h"
#include "base/vec.h"

enum { LIMIT_SHARE, LIMIT_COUNT, LIMIT_RATE, LIMIT_POLL, LIMIT_COST };

static const struct threshold thresholds[] = {
	[LIMIT_SHARE] = { "self-wakes", THRESHOLD_PERCENT, 50,
			  "share of a task's wakes that are its own" },
	[LIMIT_COUNT] = { "self-wakes-count", THRESHOLD_COUNT, 1000, "… number of such wakes" },
	[LIMIT_RATE] = { "self-wakes-rate", THRESHOLD_COUNT, 1000, "… per second" },
	[LIMIT_POLL] = { "self-wakes-poll", THRESHOLD_NS, 5000,
			 "a task whose polls after a self-wake take this long on average does "
			 "work" },
	[LIMIT_COST] = { "self-wakes-cost", THRESHOLD_PERCENT, 2,
			 "a note if these polls take a smaller share of the time" },
	{ 0 },
};

struct sums {
	uint64_t nr, self_wakes, wakes, burnt_ns;
	uint64_t worst_ns; /* … of the worst task */
	struct model_key worst;
	uint64_t worst_spawn_ns;
};

struct state {
	const struct recording *rec;
	const uint64_t *limits;
	VEC(uint64_t) burnt_ns; /* by slot: in polls that follow a self-wake */
	struct sums *by_group;
};

static void init(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	s->rec = in->rec;
	s->limits = in->limits;
	s->by_group = in->by_group;
}

static void release(void *state)
{
	struct state *s = state;

	vec_release(&s->burnt_ns);
}

static void on_spawn(void *sink, const struct model_task *t)
{
	struct state *s = sink;

	while (s->burnt_ns.nr <= t->slot)
		vec_push(&s->burnt_ns, 0);
	s->burnt_ns.v[t->slot] = 0;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;

	if (run->waker && run->waker->cause == MODEL_BY_SELF)
		s->burnt_ns.v[run->task->slot] += run->end_ns - run->start_ns;
}

static uint64_t all_wakes(const struct model_task *t)
{
	uint64_t nr = 0;

	for (int i = 0; i < MODEL_NR_CAUSES; i++)
		nr += t->wakes[i];
	return nr;
}

static bool is_storm(const struct state *s, const struct model_task *t, uint64_t burnt_ns)
{
	uint64_t nr = t->wakes[MODEL_BY_SELF];

	return nr >= s->limits[LIMIT_COUNT] && 100 * nr > s->limits[LIMIT_SHARE] * all_wakes(t) &&
	       burnt_ns / nr < s->limits[LIMIT_POLL] &&
	       nr * 1e9 >= (double)s->limits[LIMIT_RATE] * (t->end_ns - t->spawn_ns);
}

static void on_task(void *sink, const struct model_task *t)
{
	struct state *s = sink;
	uint64_t burnt_ns = s->burnt_ns.v[t->slot];
	struct sums *sums;

	if (likely(!t->wakes[MODEL_BY_SELF]) || !is_storm(s, t, burnt_ns))
		return;
	sums = &s->by_group[recording_group_of(s->rec, t->key.type)];
	if (!sums->nr++ || burnt_ns > sums->worst_ns) {
		sums->worst = t->key;
		sums->worst_ns = burnt_ns;
		sums->worst_spawn_ns = t->spawn_ns;
	}
	sums->self_wakes += t->wakes[MODEL_BY_SELF];
	sums->wakes += all_wakes(t);
	sums->burnt_ns += burnt_ns;
}

static const struct model_ops ops = { .spawn = on_spawn, .run = on_run, .task = on_task };

static void say(const struct sums *sums, uint16_t type, const struct analysis_input *in)
{
	bool is_cheap = sums->burnt_ns * 100 < in->duration_ns * in->limits[LIMIT_COST];
	struct finding *f = finding_add(in, is_cheap ? SEVERITY_NOTE : SEVERITY_WARNING, type);
	uint64_t percent = 100.0 * sums->self_wakes / sums->wakes;
	char tasks[FORMAT_SIZE], count[FORMAT_SIZE], burnt[FORMAT_SIZE];

	f->harm_ns = sums->burnt_ns;
	f->has_task = true;
	f->task = sums->worst;
	f->time_ns = sums->worst_spawn_ns;
	finding_figure(f, "tasks", FIGURE_COUNT, sums->nr);
	finding_figure(f, "self_wakes", FIGURE_COUNT, sums->self_wakes);
	finding_figure(f, "self_wakes_percent", FIGURE_PERCENT, percent);
	finding_figure(f, "busy_ns", FIGURE_NS, sums->burnt_ns);
	finding_say(f,
		    "%s task%s woke %s %s times, %llu%% of all wakes; the polls that followed took "
		    "%s",
		    format_grouped(sums->nr, tasks), plural(sums->nr),
		    sums->nr == 1 ? "itself" : "themselves",
		    format_grouped(sums->self_wakes, count), (unsigned long long)percent,
		    format_span(sums->burnt_ns, burnt));
	finding_advise(f, "store the waker and call it when there is work, not at once (futures "
			  "in one join!, select! or FuturesUnordered that wake each other look "
			  "the same)");
}

static void finish(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		if (s->by_group[g].nr)
			say(&s->by_group[g], in->rec->groups[g].type, in);
}

const struct analysis analysis_self_wakes = {
	.name = "self-wakes",
	.summary = "tasks that wake themselves again and again",
	.thresholds = thresholds,
	.group_size = sizeof(struct sums),
	.state_size = sizeof(struct state),
	.init = init,
	.ops = &ops,
	.finish = finish,
	.release = release,
};

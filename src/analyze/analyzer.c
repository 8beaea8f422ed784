// SPDX-License-Identifier: MIT OR Apache-2.0
/* Runs the analyses: gives each its limits and its state, and puts what they find in order. */
#include <stdarg.h>
#include <string.h>

#include "analyze/analyses.h"
#include "analyze/config.h"
#include "analyze/cpu_use.h"
#include "base/strbuf.h"
#include "base/vec.h"

const struct analysis *const analyses[] = {
#define ANALYSIS(name) &analysis_##name,
	ANALYSES
#undef ANALYSIS
		NULL,
};

#define NR_ANALYSES (ARRAY_SIZE(analyses) - 1)

struct running {
	void *state;
	struct analysis_input in;
};

struct odd_sink {
	void (*tell)(void *state, const struct model_run *run);
	void *state;
};

struct analyzer {
	const struct recording *rec;
	const struct analyze_config *config;
	struct analyze_config *own_config; /* when none was given */
	const struct analysis *current;	   /* whose finish runs */
	struct by_type *types;
	struct by_runtime *runtimes;
	struct by_path *paths;		     /* NULL: the recording has none */
	struct running running[NR_ANALYSES]; /* state NULL: left out */
	VEC(struct recording_sink) sinks;
	struct odd_sink odd_sinks[NR_ANALYSES];
	size_t nr_odd_sinks;
	uint64_t odd_run_ns, odd_sched_ns; /* such runs are told to them */
	VEC(struct model_thread) threads;
	VEC(struct finding) findings;
};

static void keep_thread(void *sink, const struct model_thread *t)
{
	vec_push(&((struct analyzer *)sink)->threads, *t);
}

/* Nearly all runs end here: one look for all analyses that do not want them. */
static void pass_odd_run(void *sink, const struct model_run *run)
{
	const struct analyzer *a = sink;

	if (likely(run->end_ns - run->start_ns < a->odd_run_ns && run->sched_ns < a->odd_sched_ns &&
		   !run->blocked_ns && run->task->kind != TRACE_BLOCKING))
		return;
	/* a root may block where that is its thread's own affair */
	if (run->is_alone)
		return;
	for (size_t i = 0; i < a->nr_odd_sinks; i++)
		a->odd_sinks[i].tell(a->odd_sinks[i].state, run);
}

static const struct model_ops own_ops = { .run = pass_odd_run, .thread = keep_thread };

static void start(struct analyzer *a, size_t i)
{
	const struct analysis *an = analyses[i];
	struct running *r = &a->running[i];

	r->in = (struct analysis_input){ .rec = a->rec,
					 .limits = analyze_config_limits(a->config, an),
					 .out = a };
	if (an->group_size)
		r->in.by_group = xcalloc(a->rec->nr_groups, an->group_size);
	r->state = an->state_size ? xcalloc(1, an->state_size) : &r->in;
	if (an->init)
		an->init(r->state, &r->in);
	if (an->ops)
		vec_push(&a->sinks, (struct recording_sink){ an->ops, r->state });
	if (an->odd_run)
		a->odd_sinks[a->nr_odd_sinks++] = (struct odd_sink){ an->odd_run, r->state };
}

struct analyzer *analyzer_new(const struct recording *rec, const struct analyze_config *config)
{
	struct analyzer *a = xcalloc(1, sizeof(*a));

	a->rec = rec;
	a->own_config = config ? NULL : analyze_config_new();
	a->config = config ? config : a->own_config;
	a->types = by_type_new(rec);
	a->runtimes = by_runtime_new(rec);
	vec_push(&a->sinks, (struct recording_sink){ &by_runtime_ops, a->runtimes });
	vec_push(&a->sinks, (struct recording_sink){ &by_type_ops, a->types });
	vec_push(&a->sinks, (struct recording_sink){ &own_ops, a });
	if (rec->nr_paths) {
		a->paths = by_path_new(rec);
		vec_push(&a->sinks, (struct recording_sink){ &by_path_ops, a->paths });
	}
	a->odd_run_ns = a->odd_sched_ns = UINT64_MAX;
	for (size_t i = 0; i < NR_ANALYSES; i++)
		if (!analyze_config_is_allowed(a->config, analyses[i]))
			start(a, i);
	return a;
}

void analyzer_free(struct analyzer *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < NR_ANALYSES; i++) {
		struct running *r = &a->running[i];

		if (r->state && analyses[i]->release)
			analyses[i]->release(r->state);
		if (r->state != &r->in)
			free(r->state);
		free(r->in.by_group);
	}
	vec_each (f, &a->findings) {
		free(f->what);
		free(f->advice);
	}
	vec_release(&a->findings);
	vec_release(&a->threads);
	vec_release(&a->sinks);
	by_type_free(a->types);
	by_runtime_free(a->runtimes);
	by_path_free(a->paths);
	analyze_config_free(a->own_config);
	free(a);
}

const struct recording_sink *analyzer_get_sinks(struct analyzer *a, size_t *nr)
{
	*nr = a->sinks.nr;
	return a->sinks.v;
}

static int worse_first(const void *pa, const void *pb)
{
	const struct finding *a = pa, *b = pb;
	int by_name;

	if (a->severity != b->severity)
		return a->severity < b->severity ? 1 : -1;
	if (a->is_consequence != b->is_consequence)
		return a->is_consequence ? 1 : -1;
	if (a->harm_ns != b->harm_ns)
		return a->harm_ns < b->harm_ns ? 1 : -1;
	if (a->type != b->type)
		return a->type > b->type ? 1 : -1;
	by_name = strcmp(a->analysis->name, b->analysis->name);
	if (by_name)
		return by_name;
	/* of one rule and type there are several: in the same order each time */
	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? 1 : -1;
	if (a->span_ns != b->span_ns)
		return a->span_ns < b->span_ns ? 1 : -1;
	return (a->task.id > b->task.id) - (a->task.id < b->task.id);
}

static bool is_covered(const struct analyzer *a, const struct finding *f)
{
	vec_each (by, &a->findings)
		if (by->type == f->type && by->harm_ns >= f->harm_ns && by->analysis->covers &&
		    strcmp(by->analysis->covers, f->analysis->name) == 0)
			return true;
	return false;
}

static void drop_covered(struct analyzer *a)
{
	size_t kept = 0;

	/* what covers is never covered itself, so the order does not matter */
	vec_each (f, &a->findings) {
		if (is_covered(a, f)) {
			free(f->what);
			free(f->advice);
			continue;
		}
		a->findings.v[kept++] = *f;
	}
	a->findings.nr = kept;
}

static uint64_t off_cpu_ns(const struct analyzer *a, const struct model *m)
{
	uint64_t ns = 0;

	vec_each (t, &a->threads)
		if (t->kind == MODEL_WORKER)
			ns += cpu_use_wait(a->rec, t->thread, model_get_start(m), model_get_end(m));
	return ns;
}

void analyzer_finish(struct analyzer *a, const struct model *m)
{
	uint64_t off_cpu = off_cpu_ns(a, m);

	if (a->paths)
		by_path_finish(a->paths);
	for (size_t i = 0; i < NR_ANALYSES; i++) {
		struct running *r = &a->running[i];

		if (!r->state)
			continue;
		r->in.model = m;
		r->in.start_ns = model_get_start(m);
		r->in.duration_ns = model_get_duration(m);
		r->in.rows = by_type_get_rows(a->types);
		r->in.paths = a->paths;
		r->in.threads = a->threads.v;
		r->in.nr_threads = a->threads.nr;
		r->in.off_cpu_ns = off_cpu;
		a->current = analyses[i];
		analyses[i]->finish(r->state, &r->in);
	}
	drop_covered(a);
	if (a->findings.nr)
		qsort(a->findings.v, a->findings.nr, sizeof(*a->findings.v), worse_first);
}

const struct finding *analyzer_get_findings(const struct analyzer *a, size_t *nr)
{
	*nr = a->findings.nr;
	return a->findings.v;
}

struct by_runtime *analyzer_get_runtimes(struct analyzer *a)
{
	return a->runtimes;
}

struct by_path *analyzer_get_paths(struct analyzer *a)
{
	return a->paths;
}

struct by_type *analyzer_get_types(struct analyzer *a)
{
	return a->types;
}

const struct model_thread *analyzer_get_threads(const struct analyzer *a, size_t *nr)
{
	*nr = a->threads.nr;
	return a->threads.v;
}

void analysis_watch(const struct analysis_input *in, uint64_t run_ns, uint64_t sched_ns)
{
	struct analyzer *a = in->out;

	a->odd_run_ns = MIN(a->odd_run_ns, run_ns);
	a->odd_sched_ns = MIN(a->odd_sched_ns, sched_ns);
}

struct finding *finding_add(const struct analysis_input *in, enum severity severity, uint16_t type)
{
	struct analyzer *a = in->out;

	vec_push(&a->findings, (struct finding){ .analysis = a->current,
						 .severity = severity,
						 .type = type,
						 .step = TRACE_NO_STEP,
						 .thread = MODEL_NO_THREAD });
	return &a->findings.v[a->findings.nr - 1];
}

void finding_figure(struct finding *f, const char *name, enum figure_unit unit, uint64_t value)
{
	if (f->nr_figures < FINDING_MAX_FIGURES)
		f->figures[f->nr_figures++] = (struct figure){ name, unit, value };
}

void finding_point(struct finding *f, const struct worst_run *w)
{
	f->has_task = true;
	f->task = w->task;
	f->thread = w->thread;
	f->time_ns = w->time_ns;
	f->span_ns = w->span_ns;
}

void finding_say(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	free(f->what);
	f->what = xvasprintf(fmt, ap);
	va_end(ap);
}

void finding_advise(struct finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	free(f->advice);
	f->advice = xvasprintf(fmt, ap);
	va_end(ap);
}

const char *severity_name(enum severity s)
{
	static const char *const names[] = { "note", "warning", "critical" };

	return names[s];
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/* Scripts of events that may loop, and what the analyses find in them. */
#ifndef TESTS_UNIT_ANALYZE_FOUND_H
#define TESTS_UNIT_ANALYZE_FOUND_H

#include "unit.h"

#include "script.h"

#include "analyze/analyze.h"

#define US UINT64_C(1000)
#define MS (1000 * US)

struct script {
	VEC(struct event) evs;
};

#define ADD(script, ...) vec_push(&(script)->evs, (struct event)__VA_ARGS__)

struct found {
	struct recording rec; /* groups and what steps mean are its own */
	struct model *model;
	struct analyzer *analyzer;
	struct analyze_config *config;
	const struct finding *v;
	size_t nr;
};

/* Everything that is found with the limits "name=value", separated by spaces; the script is over.
 * Types, steps and paths are those of rec. */
static inline void find_all_in(struct found *found, struct script *script,
			       const struct recording *rec, uint64_t duration_ns,
			       const char *limits)
{
	char *text = xasprintf("%s", limits), *rest = text, *limit;
	const struct recording_sink *sinks;
	struct err e = { 0 };
	size_t nr;

	*found = (struct found){
		.rec = { .types = rec->types,
			 .nr_types = NR_TYPES,
			 .nr_runtimes = 2,
			 .steps = rec->steps,
			 .nr_steps = rec->nr_steps,
			 .paths = rec->paths,
			 .nr_paths = rec->nr_paths },
		.config = analyze_config_new(),
	};
	while ((limit = strsep(&rest, " ")))
		assert_int_equal(*limit ? analyze_config_set(found->config, limit, &e) : 0, 0);
	free(text);
	recording_make_groups(&found->rec);
	steps_init(&found->rec.awaits, found->rec.steps, found->rec.nr_steps);
	found->analyzer = analyzer_new(&found->rec, found->config);
	sinks = analyzer_get_sinks(found->analyzer, &nr);
	found->model = model_new(rec->types, NR_TYPES);
	model_set_paths(found->model, rec->paths, rec->nr_paths);
	for (size_t i = 0; i < nr; i++)
		model_add_sink(found->model, sinks[i].ops, sinks[i].sink);
	model_feed(found->model, script->evs.v, script->evs.nr);
	model_finish(found->model, duration_ns, NULL);
	analyzer_finish(found->analyzer, found->model);
	found->v = analyzer_get_findings(found->analyzer, &found->nr);
	vec_release(&script->evs);
}

static inline void find_all(struct found *found, struct script *script,
			    const struct trace_type *types, uint64_t duration_ns,
			    const char *limits)
{
	find_all_in(found, script, &(struct recording){ .types = types }, duration_ns, limits);
}

static inline void found_release(struct found *found)
{
	analyzer_free(found->analyzer);
	analyze_config_free(found->config);
	model_free(found->model);
	recording_close(&found->rec);
}

static inline size_t found_count(const struct found *found, const char *rule)
{
	size_t nr = 0;

	for (size_t i = 0; i < found->nr; i++)
		nr += strcmp(found->v[i].analysis->name, rule) == 0;
	return nr;
}

/* The only finding of that rule, which says what is wrong and what to do. */
static inline const struct finding *found_one(const struct found *found, const char *rule)
{
	const struct finding *one = NULL;

	assert_int_equal(found_count(found, rule), 1);
	for (size_t i = 0; i < found->nr; i++)
		if (strcmp(found->v[i].analysis->name, rule) == 0)
			one = &found->v[i];
	assert_non_null(one->what);
	assert_non_null(one->advice);
	return one;
}

static inline uint64_t figure_of(const struct finding *f, const char *name)
{
	for (unsigned i = 0; i < f->nr_figures; i++)
		if (strcmp(f->figures[i].name, name) == 0)
			return f->figures[i].value;
	fail_msg("no figure %s", name);
	return 0;
}

/* How many findings of one rule there are in a script: for near misses. */
static inline size_t count_found(struct script *script, uint64_t duration_ns, const char *rule,
				 const char *limits)
{
	struct found found;
	size_t nr;

	find_all(&found, script, script_types, duration_ns, limits);
	nr = found_count(&found, rule);
	found_release(&found);
	return nr;
}

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/candidates.h"
#include "base/intern.h"
#include "base/map.h"
#include "model/filter.h"

#define PROGRESS_EVENTS (UINT64_C(1) << 20)

/* Only tables that bear one exact name can be the same type. */
static bool has_exact_name(const struct trace_type *t)
{
	return t->name[0] && t->nr_candidates <= 1;
}

static uint32_t add_group(struct recording *rec, uint16_t type)
{
	const struct trace_type *t = type < rec->nr_types ? &rec->types[type] : NULL;

	rec->groups[rec->nr_groups] = (struct recording_group){
		.type = type,
		.name = t && t->name[0] ? t->name : NULL,
		.is_exact = t && has_exact_name(t),
		.kind = t ? t->kind : TRACE_TASK,
	};
	return rec->nr_groups++;
}

static void make_label(struct recording *rec, uint32_t type)
{
	const struct trace_type *t = &rec->types[type];
	struct strbuf label = STRBUF_INIT;

	if (!t->name[0] || t->nr_candidates <= 1)
		return;
	if (!rec->labels)
		rec->labels = xcalloc(rec->nr_types, sizeof(*rec->labels));
	label_candidates(&label, t->name, t->nr_candidates);
	rec->labels[type] = strbuf_take(&label);
}

void recording_make_groups(struct recording *rec)
{
	struct intern *names = intern_new();
	struct map by_name = MAP_INIT; /* name and kind -> group */

	rec->groups = xcalloc(rec->nr_types + 1, sizeof(*rec->groups));
	rec->group_of_type = xcalloc(rec->nr_types + 1, sizeof(*rec->group_of_type));
	for (uint32_t i = 0; i < rec->nr_types; i++) {
		const struct trace_type *t = &rec->types[i];
		bool was_there = false;
		uint64_t *group, fresh;

		group = has_exact_name(t)
				? map_put(&by_name,
					  (uint64_t)intern_puts(names, t->name) << 8 | t->kind,
					  &was_there)
				: &fresh;
		if (!was_there)
			*group = add_group(rec, i);
		rec->group_of_type[i] = *group;
		make_label(rec, i);
	}
	rec->group_of_type[rec->nr_types] = add_group(rec, EVENT_TYPE_NONE);
	map_release(&by_name);
	intern_free(names);
}

static int compare_places(const void *a, const void *b)
{
	const struct recording_place *x = a, *y = b;
	int diff = strcmp(x->file, y->file);

	return diff ? diff : x->line < y->line ? -1 : x->line > y->line;
}

static void make_places(struct recording *rec)
{
	const struct trace_stack *stacks = trace_get_stacks(rec->trace, &rec->nr_stacks);
	struct recording_place *all = xcalloc(rec->nr_stacks + 1, sizeof(*all));
	uint32_t nr = 0;

	for (uint32_t i = 0; i < rec->nr_stacks; i++)
		if (stacks[i].file[0])
			all[nr++] = (struct recording_place){ stacks[i].file, stacks[i].line };
	qsort(all, nr, sizeof(*all), compare_places);
	for (uint32_t i = 0; i < nr; i++)
		if (!i || compare_places(&all[i], &all[rec->nr_places - 1]) != 0)
			all[rec->nr_places++] = all[i];
	rec->places = all;
	rec->stacks = stacks;
	rec->place_of_stack = xcalloc(rec->nr_stacks + 1, sizeof(*rec->place_of_stack));
	for (uint32_t i = 0; i < rec->nr_stacks; i++) {
		struct recording_place key = { stacks[i].file, stacks[i].line }, *found;

		found = key.file[0]
				? bsearch(&key, all, rec->nr_places, sizeof(key), compare_places)
				: NULL;
		rec->place_of_stack[i] = found ? found - all : RECORDING_NO_PLACE;
	}
}

int recording_open(struct recording *rec, const char *path, struct err *e)
{
	const struct trace_runtime *copies;
	const struct trace_instance *instances;
	uint32_t nr_copies, nr_instances;

	*rec = (struct recording){ .trace = trace_open(path, e) };
	if (!rec->trace)
		return -1;
	rec->meta = trace_get_meta(rec->trace);
	rec->objects = trace_get_objects(rec->trace, &rec->nr_objects);
	rec->types = trace_get_types(rec->trace, &rec->nr_types);
	rec->threads = trace_get_threads(rec->trace, &rec->nr_threads);
	rec->steps = trace_get_steps(rec->trace, &rec->nr_steps);
	rec->paths = trace_get_paths(rec->trace, &rec->nr_paths);
	rec->stands = trace_get_stands(rec->trace, &rec->nr_stands);
	steps_init(&rec->awaits, rec->steps, rec->nr_steps);
	rec->futures = trace_get_futures(rec->trace, &rec->nr_futures);
	recording_make_groups(rec);
	copies = trace_get_runtimes(rec->trace, &nr_copies);
	instances = trace_get_instances(rec->trace, &nr_instances);
	recording_make_runtimes(rec, copies, nr_copies, instances, nr_instances);
	make_places(rec);
	rec->names = intern_new();
	return 0;
}

void recording_close(struct recording *rec)
{
	recording_release_runtimes(rec);
	steps_release(&rec->awaits);
	free(rec->groups);
	free(rec->group_of_type);
	for (uint32_t i = 0; rec->labels && i < rec->nr_types; i++)
		free(rec->labels[i]);
	free(rec->labels);
	free(rec->places);
	free(rec->place_of_stack);
	intern_free(rec->names);
	if (rec->trace)
		trace_close(rec->trace);
	*rec = (struct recording){ 0 };
}

/* How many of them lie before the end; they are in order of time. */
static size_t count_before(const struct event *evs, size_t nr, uint64_t end_ns)
{
	return partition_point(i, nr, evs[i].time < end_ns);
}

/* How far all passes are together. */
struct course {
	const struct recording_view *view;
	uint64_t done, due, all;
};

static void advance(struct course *c, size_t nr)
{
	c->done += nr;
	if (!c->view->progress || c->done < c->due)
		return;
	c->view->progress(c->view->progress_arg, c->done, c->all);
	c->due = c->done + PROGRESS_EVENTS;
}

static void feed(struct recording *rec, struct model *m, uint64_t end_ns, struct course *c)
{
	const struct event *evs;
	size_t nr, wanted;

	trace_rewind(rec->trace);
	while ((nr = trace_read(rec->trace, &evs)) > 0) {
		wanted = evs[nr - 1].time < end_ns ? nr : count_before(evs, nr, end_ns);
		model_feed(m, evs, wanted);
		if (wanted < nr)
			return;
		advance(c, nr);
	}
}

static bool nothing_lost(const struct trace_end *end)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(end->lost); i++)
		sum += end->lost[i];
	return !sum;
}

static void pass(struct recording *rec, struct model *m, struct course *c)
{
	const struct recording_view *view = c->view;
	uint64_t duration_ns = trace_get_duration(rec->trace);
	uint64_t end_ns = view->to_ns ? MIN(view->to_ns, duration_ns) : duration_ns;
	bool is_whole = !view->from_ns && end_ns == duration_ns;

	model_set_start(m, MIN(view->from_ns, end_ns));
	/* what happens at the end belongs to what follows; a file that was cut may hold stamps past
	 * its last anchor */
	feed(rec, m, end_ns == duration_ns ? UINT64_MAX : end_ns, c);
	/* a wait that is open when what is wanted ends may be over when tasks were looked at; and
	 * where tasks stood is known only if no run of theirs was lost */
	if (end_ns == duration_ns && (is_whole || nothing_lost(trace_get_end(rec->trace))))
		model_set_stands(m, rec->stands, rec->nr_stands);
	/* the sums of the end are those of the whole recording */
	model_finish(m, end_ns, is_whole ? trace_get_end(rec->trace)->lost : NULL);
}

static struct model *make_model(const struct recording *rec)
{
	struct model *m = model_new(rec->types, rec->nr_types);

	model_set_runtimes(m, &rec->model_runtimes);
	model_set_stacks(m, rec->stacks, rec->nr_stacks);
	model_set_names(m, rec->names);
	model_set_paths(m, rec->paths, rec->nr_paths);
	return m;
}

static bool may_want(void *filter, const struct model_task *t)
{
	return filter_may_want(filter, t);
}

static bool was_marked(void *filter, const struct model_task *t)
{
	return filter_is_marked(filter, t);
}

static void mark(void *filter, const struct model_task *t)
{
	if (filter_wants(filter, t))
		filter_mark(filter, t);
}

/* What a task did is known when it is over, and a sink wants to hear of it from its start. */
static void mark_wanted(struct recording *rec, struct course *c)
{
	static const struct model_ops ops = { .task = mark };
	struct model *m = make_model(rec);

	filter_clear(c->view->filter);
	model_add_sink(m, &ops, c->view->filter);
	model_set_filter(m, may_want, c->view->filter);
	pass(rec, m, c);
	model_free(m);
}

struct model *recording_read(struct recording *rec, const struct recording_view *view,
			     const struct recording_sink *sinks, size_t nr)
{
	bool is_late = view->filter && filter_is_late(view->filter);
	struct course c = { .view = view,
			    .due = PROGRESS_EVENTS,
			    .all = trace_get_nr_events(rec->trace) * (1 + is_late) };
	struct model *m;

	if (is_late)
		mark_wanted(rec, &c);
	m = make_model(rec);
	for (size_t i = 0; i < nr; i++)
		model_add_sink(m, sinks[i].ops, sinks[i].sink);
	if (view->filter)
		model_set_filter(m, is_late ? was_marked : may_want, view->filter);
	pass(rec, m, &c);
	recording_learn_runtimes(rec, m);
	if (view->progress_end)
		view->progress_end(view->progress_arg);
	return m;
}

uint64_t recording_get_lost(const struct recording *rec, const struct model *m,
			    uint64_t lost[EV_MAX])
{
	const uint64_t *told = model_get_totals(m)->lost;
	const uint64_t *in_all = trace_get_end(rec->trace)->lost;
	bool is_whole = !model_get_start(m) && model_get_end(m) >= trace_get_duration(rec->trace);
	uint64_t sum = 0;

	/* The end counts what the LOST events told before, too; a file that was cut has no end. */
	for (unsigned i = 0; i < EV_MAX; i++)
		sum += lost[i] = is_whole ? MAX(told[i], in_all[i]) : told[i];
	return sum;
}

const char *recording_type_name(const struct recording *rec, uint16_t type, char buf[32])
{
	if (type < rec->nr_types && rec->labels && rec->labels[type])
		return rec->labels[type];
	if (type < rec->nr_types && rec->types[type].name[0])
		return rec->types[type].name;
	if (type < rec->nr_types)
		snprintf(buf, 32, "type#%u", type);
	else
		snprintf(buf, 32, "type#unknown");
	return buf;
}

char *recording_type_place(const struct recording *rec, uint16_t type)
{
	if (type >= rec->nr_types || !rec->types[type].file[0])
		return NULL;
	return xasprintf("%s:%u", rec->types[type].file, rec->types[type].line);
}

char *recording_spawn_place(const struct recording *rec, const struct model_task *t)
{
	uint32_t place = recording_place_of(rec, t);

	if (place == RECORDING_NO_PLACE)
		return NULL;
	return xasprintf("%s:%u", rec->places[place].file, rec->places[place].line);
}

const char *recording_thread_name(const struct recording *rec, uint32_t thread)
{
	return thread < rec->nr_threads ? rec->threads[thread].name : "";
}

uint32_t recording_thread_tid(const struct recording *rec, uint32_t thread)
{
	return thread < rec->nr_threads ? rec->threads[thread].tid : 0;
}

const char *recording_get_outcome(const struct recording *rec, char buf[RECORDING_OUTCOME_SIZE])
{
	static const char *const stops[] = { "", " (its duration was over)",
					     " (the file had its size)", " (interrupted)",
					     " (by an error)" };
	const struct trace_end *end = trace_get_end(rec->trace);

	switch (end->kind) {
	case TRACE_EXITED:
		snprintf(buf, RECORDING_OUTCOME_SIZE, "the program exited with status %u",
			 end->status);
		return buf;
	case TRACE_SIGNALED:
		snprintf(buf, RECORDING_OUTCOME_SIZE, "the program was killed by signal %u",
			 end->status);
		return buf;
	case TRACE_EXECED:
		return "the process became another program";
	case TRACE_STOPPED:
		snprintf(buf, RECORDING_OUTCOME_SIZE, "the recording stopped before the program%s",
			 end->status < ARRAY_SIZE(stops) ? stops[end->status] : "");
		return buf;
	case TRACE_GONE:
		return "the program ended; its status is known to its parent only";
	default:
		return trace_get_damage(rec->trace)->is_live ? "still recording"
							     : "how the program ended is unknown";
	}
}

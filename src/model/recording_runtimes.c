// SPDX-License-Identifier: MIT OR Apache-2.0
/* The runtimes of a recording: the instances that its file defines, put in order, and each copy of
 * a runtime's code that has none. */
#include <stdlib.h>
#include <string.h>

#include "model/recording.h"

struct entry {
	struct recording_runtime r;
	uint32_t number; /* of the instance, 0: a copy */
};

static int compare(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->r.copy != b->r.copy)
		return a->r.copy < b->r.copy ? -1 : 1;
	if (a->r.owner != b->r.owner)
		return a->r.owner < b->r.owner ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static struct recording_runtime of_copy(const struct trace_runtime *copies, uint32_t i)
{
	return (struct recording_runtime){ .copy = i,
					   .object = copies[i].object,
					   .name = copies[i].name,
					   .version = copies[i].version,
					   .scheduler = "" };
}

/* All there are, in order. */
static struct entry *collect(const struct recording *rec, const struct trace_runtime *copies,
			     uint32_t nr_copies, const struct trace_instance *instances,
			     uint32_t nr_instances, uint32_t *nr)
{
	struct entry *all = xcalloc(nr_copies + nr_instances + 1, sizeof(*all));
	bool *has_instance = xcalloc(nr_copies + 1, sizeof(*has_instance));

	*nr = 0;
	for (uint32_t i = 1; i < nr_instances; i++) {
		const struct trace_type *type =
			instances[i].type < rec->nr_types ? &rec->types[instances[i].type] : NULL;
		struct entry *e = &all[*nr];

		if (!instances[i].owner || !type || type->runtime >= nr_copies)
			continue;
		e->r = of_copy(copies, type->runtime);
		e->r.scheduler = type->scheduler;
		e->r.owner = instances[i].owner;
		e->number = i;
		has_instance[type->runtime] = true;
		(*nr)++;
	}
	for (uint32_t i = 0; i < nr_copies; i++)
		if (!has_instance[i])
			all[(*nr)++].r = of_copy(copies, i);
	free(has_instance);
	qsort(all, *nr, sizeof(*all), compare);
	return all;
}

/* Whose a task is that says nothing: the only one's that it can be. */
static void choose(uint32_t *of, uint32_t copy, uint32_t *nr_seen, uint32_t runtime)
{
	of[copy] = nr_seen[copy]++ ? MODEL_NO_RUNTIME : runtime;
}

#define HANDLE_MAX 4096 /* bytes of a scheduler's handle, at most */

/* The scheduler that a root's address may lie in. */
struct inside {
	uint32_t runtime; /* MODEL_NO_RUNTIME: none, or there were several at one address */
	uint64_t off;
};

static struct inside find_inside(const struct recording *rec, const struct entry *all,
				 const struct trace_instance *instances, uint32_t number)
{
	const struct trace_instance *root = &instances[number];
	struct inside best = { MODEL_NO_RUNTIME, HANDLE_MAX };

	if (root->owner || !root->addr || root->type >= rec->nr_types)
		return best;
	for (uint32_t i = 0; i < rec->nr_runtimes; i++) {
		uint64_t addr = instances[all[i].number].addr, off = root->addr - addr;

		if (!all[i].number || !addr || off > best.off || root->addr < addr ||
		    all[i].r.copy != rec->types[root->type].runtime ||
		    !strcmp(all[i].r.scheduler, "local"))
			continue;
		best = (struct inside){ off == best.off ? MODEL_NO_RUNTIME : i, off };
	}
	return best;
}

/*
 * Whose root futures are. They tell an address that lies in their scheduler, always as far from its
 * beginning in one flavour. What lies further behind the nearest one lies in one that is not known,
 * as it never ran a task.
 */
static void place_roots(const struct recording *rec, const struct entry *all,
			const struct trace_instance *instances, uint32_t nr_instances,
			uint32_t *of_instance)
{
	struct inside *found = xcalloc(nr_instances + 1, sizeof(*found));
	uint64_t least[2] = { HANDLE_MAX, HANDLE_MAX }; /* by flavour */

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 1; i < nr_instances; i++) {
			uint64_t *off;

			if (!pass)
				found[i] = find_inside(rec, all, instances, i);
			if (found[i].runtime == MODEL_NO_RUNTIME)
				continue;
			off = &least[!strcmp(all[found[i].runtime].r.scheduler, "multi_thread")];
			*off = MIN(*off, found[i].off);
			if (pass && found[i].off == *off)
				of_instance[i] = found[i].runtime;
		}
	free(found);
}

static void make_model_runtimes(struct recording *rec, const struct entry *all, uint32_t nr_copies,
				const struct trace_instance *instances, uint32_t nr_instances)
{
	uint32_t nr = rec->nr_runtimes, *nr_seen = xcalloc(2 * nr_copies + 1, sizeof(*nr_seen)),
		 *of_instance = xcalloc(nr_instances + 1, sizeof(*of_instance)),
		 *copy_of = xcalloc(nr + 1, sizeof(*copy_of)),
		 *of_task = xcalloc(nr_copies + 1, sizeof(*of_task)),
		 *of_blocking = xcalloc(nr_copies + 1, sizeof(*of_blocking));
	bool *is_set = xcalloc(nr + 1, sizeof(*is_set));

	for (uint32_t i = 0; i < nr_instances; i++)
		of_instance[i] = MODEL_NO_RUNTIME;
	for (uint32_t i = 0; i < nr_copies; i++)
		of_task[i] = of_blocking[i] = MODEL_NO_RUNTIME;
	for (uint32_t i = 0; i < nr; i++) {
		copy_of[i] = all[i].r.copy;
		is_set[i] = !strcmp(all[i].r.scheduler, "local");
		if (all[i].number)
			of_instance[all[i].number] = i;
		choose(of_task, copy_of[i], nr_seen, i);
		if (!is_set[i])
			choose(of_blocking, copy_of[i], nr_seen + nr_copies, i);
	}
	free(nr_seen);
	place_roots(rec, all, instances, nr_instances, of_instance);
	rec->model_runtimes = (struct model_runtimes){ .of_instance = of_instance,
						       .copy_of = copy_of,
						       .is_set = is_set,
						       .of_task = of_task,
						       .of_blocking = of_blocking,
						       .nr_instances = nr_instances,
						       .nr = nr,
						       .nr_copies = nr_copies };
}

void recording_make_runtimes(struct recording *rec, const struct trace_runtime *copies,
			     uint32_t nr_copies, const struct trace_instance *instances,
			     uint32_t nr_instances)
{
	struct entry *all =
		collect(rec, copies, nr_copies, instances, nr_instances, &rec->nr_runtimes);

	rec->runtimes = xcalloc(rec->nr_runtimes + 1, sizeof(*rec->runtimes));
	for (uint32_t i = 0; i < rec->nr_runtimes; i++)
		rec->runtimes[i] = all[i].r;
	make_model_runtimes(rec, all, nr_copies, instances, nr_instances);
	free(all);
}

void recording_release_runtimes(struct recording *rec)
{
	const struct model_runtimes *r = &rec->model_runtimes;

	free(rec->runtimes);
	free((void *)r->of_instance);
	free((void *)r->copy_of);
	free((void *)r->is_set);
	free((void *)r->of_task);
	free((void *)r->of_blocking);
}

char *recording_runtime_name(const struct recording *rec, uint32_t runtime)
{
	const struct recording_runtime *r = &rec->runtimes[runtime];

	return xasprintf("%s%s%s #%u", r->name, r->scheduler[0] ? " " : "",
			 strcmp(r->scheduler, "local") ? r->scheduler : "LocalSet", runtime);
}

uint32_t recording_type_runtime(const struct recording *rec, uint16_t type)
{
	uint32_t copy = type < rec->nr_types ? rec->types[type].runtime : MODEL_NO_RUNTIME;

	return copy < rec->model_runtimes.nr_copies ? rec->model_runtimes.of_task[copy]
						    : MODEL_NO_RUNTIME;
}

const char *recording_type_library(const struct recording *rec, uint16_t type)
{
	for (uint32_t i = 0; type < rec->nr_types && i < rec->nr_runtimes; i++)
		if (rec->runtimes[i].copy == rec->types[type].runtime)
			return rec->runtimes[i].name;
	return NULL;
}

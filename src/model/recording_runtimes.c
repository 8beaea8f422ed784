// SPDX-License-Identifier: MIT OR Apache-2.0
/* The runtimes of a recording: the instances that its file defines, put in order, those that only
 * root futures tell of, and each copy of a runtime's code that has none. */
#include <stdlib.h>
#include <string.h>

#include "model/recording.h"

struct entry {
	struct recording_runtime r;
	uint32_t number; /* of the instance, 0: a copy */
};

/* What the file defines. */
struct defs {
	const struct trace_runtime *copies;
	const struct trace_instance *instances;
	const struct trace_type *types;
	uint32_t nr_copies, nr_instances, nr_types;
};

/* The copy of the runtime's code; nr_copies: not known. */
static uint32_t copy_of_instance(const struct defs *d, uint32_t number)
{
	uint32_t type = d->instances[number].type;

	return type < d->nr_types ? MIN(d->types[type].runtime, d->nr_copies) : d->nr_copies;
}

/* Whose tasks are numbered come first in a copy, in the order of their making. */
static int compare(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->r.copy != b->r.copy)
		return a->r.copy < b->r.copy ? -1 : 1;
	if (a->r.owner != b->r.owner)
		return a->r.owner - 1 < b->r.owner - 1 ? -1 : 1;
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

#define HANDLE_MAX 4096		       /* bytes of a scheduler's handle, at most */
#define MET	   (UINT64_C(1) << 32) /* more than there are pairs of instances */

static bool is_root(const struct defs *d, uint32_t number)
{
	return !d->instances[number].owner && d->instances[number].addr;
}

static bool is_scheduler(const struct defs *d, uint32_t number)
{
	const struct trace_instance *i = &d->instances[number];

	return i->owner && copy_of_instance(d, number) < d->nr_copies &&
	       strcmp(d->types[i->type].scheduler, "local") != 0;
}

static unsigned flavour_of(const struct defs *d, uint32_t number)
{
	return !strcmp(d->types[d->instances[number].type].scheduler, "multi_thread");
}

/* Where files do not tell where schedulers are, nobody knows which of them a root is of. */
static bool *find_unplaced(const struct defs *d)
{
	bool *is_unplaced = xcalloc(d->nr_copies + 1, sizeof(*is_unplaced));

	for (uint32_t i = 1; i < d->nr_instances; i++)
		if (is_scheduler(d, i) && !d->instances[i].addr)
			is_unplaced[copy_of_instance(d, i)] = true;
	is_unplaced[d->nr_copies] = true;
	return is_unplaced;
}

/*
 * How far from the beginning of its scheduler a root's address is, by flavour: what most pairs
 * agree on, and the least of these. UINT64_MAX: that is not known. What merely lies near may be of
 * another time, and of another flavour: one that a thread was in counts for more than all of those.
 */
static void find_offsets(const struct defs *d, uint32_t copy, uint64_t offs[2])
{
	uint64_t(*counts)[HANDLE_MAX + 1] = xcalloc(2, sizeof(*counts));

	for (uint32_t root = 1; root < d->nr_instances; root++)
		for (uint32_t i = 1;
		     is_root(d, root) && copy_of_instance(d, root) == copy && i < d->nr_instances;
		     i++) {
			uint64_t off = d->instances[root].addr - d->instances[i].addr;

			if (off <= HANDLE_MAX && is_scheduler(d, i) &&
			    copy_of_instance(d, i) == copy)
				counts[flavour_of(d, i)][off] +=
					d->instances[i].root == d->instances[root].addr ? MET : 1;
		}
	for (unsigned i = 0; i < 2; i++) {
		uint64_t most = 0;

		for (uint32_t off = 0; off <= HANDLE_MAX; off++)
			if (counts[i][off] > most) {
				most = counts[i][off];
				offs[i] = off;
			}
	}
	free(counts);
}

/* Whose a root is: an instance's number, its own if that runtime is told of by roots alone, 0 when
 * several were at one place. */
static uint32_t place_root(const struct defs *d, uint32_t root, const uint64_t offs[2])
{
	uint32_t found = root, nr = 0;

	for (uint32_t i = 1; i < d->nr_instances; i++) {
		uint64_t off = d->instances[root].addr - d->instances[i].addr;

		if (off <= HANDLE_MAX && is_scheduler(d, i) && off == offs[flavour_of(d, i)] &&
		    copy_of_instance(d, i) == copy_of_instance(d, root))
			found = nr++ ? 0 : i;
	}
	return found;
}

/*
 * Whose root futures are. They tell an address that lies in their scheduler, always as far from its
 * beginning in one flavour of one copy. What lies elsewhere lies in one that never ran a task, and
 * is known by its roots alone.
 */
static uint32_t *place_roots(const struct defs *d)
{
	uint32_t *of_root = xcalloc(d->nr_instances + 1, sizeof(*of_root));
	uint64_t *offs = xcalloc(2 * d->nr_copies + 2, sizeof(*offs)); /* by copy and flavour */
	bool *is_unplaced = find_unplaced(d), *is_done = xcalloc(d->nr_copies + 1, 1);

	memset(offs, 0xff, (2 * d->nr_copies + 2) * sizeof(*offs));
	for (uint32_t i = 1; i < d->nr_instances; i++) {
		uint32_t copy = copy_of_instance(d, i);

		if (!is_root(d, i) || is_unplaced[copy])
			continue;
		if (!is_done[copy])
			find_offsets(d, copy, &offs[2 * copy]);
		is_done[copy] = true;
		of_root[i] = place_root(d, i, &offs[2 * copy]);
	}
	free(offs);
	free(is_unplaced);
	free(is_done);
	return of_root;
}

/* All there are, in order. */
static struct entry *collect(const struct defs *d, const uint32_t *of_root, uint32_t *nr)
{
	struct entry *all = xcalloc(d->nr_copies + d->nr_instances + 1, sizeof(*all));
	bool *has_instance = xcalloc(d->nr_copies + 1, sizeof(*has_instance));

	*nr = 0;
	for (uint32_t i = 1; i < d->nr_instances; i++) {
		uint32_t copy = copy_of_instance(d, i);
		struct entry *e = &all[*nr];

		if (copy == d->nr_copies || (!d->instances[i].owner && of_root[i] != i))
			continue;
		e->r = of_copy(d->copies, copy);
		e->r.owner = d->instances[i].owner;
		if (d->instances[i].scheduler && d->instances[i].scheduler[0])
			e->r.scheduler = d->instances[i].scheduler;
		else if (e->r.owner)
			e->r.scheduler = d->types[d->instances[i].type].scheduler;
		e->number = i;
		has_instance[copy] = true;
		(*nr)++;
	}
	for (uint32_t i = 0; i < d->nr_copies; i++)
		if (!has_instance[i]) {
			all[*nr].r = of_copy(d->copies, i);
			all[(*nr)++].r.is_whole_copy = true;
		}
	free(has_instance);
	qsort(all, *nr, sizeof(*all), compare);
	return all;
}

/* Whose a task is that says nothing: the only one's that it can be. */
static void choose(uint32_t *of, uint32_t copy, uint32_t *nr_seen, uint32_t runtime)
{
	of[copy] = nr_seen[copy]++ ? MODEL_NO_RUNTIME : runtime;
}

static void make_model_runtimes(struct recording *rec, const struct entry *all,
				const struct defs *d, const uint32_t *of_root)
{
	uint32_t nr = rec->nr_runtimes, *nr_seen = xcalloc(2 * d->nr_copies + 1, sizeof(*nr_seen)),
		 *of_instance = xcalloc(d->nr_instances + 1, sizeof(*of_instance)),
		 *copy_of = xcalloc(nr + 1, sizeof(*copy_of)),
		 *of_task = xcalloc(d->nr_copies + 1, sizeof(*of_task)),
		 *of_blocking = xcalloc(d->nr_copies + 1, sizeof(*of_blocking));
	bool *is_set = xcalloc(nr + 1, sizeof(*is_set)),
	     *is_local = xcalloc(nr + 1, sizeof(*is_local));

	for (uint32_t i = 0; i < d->nr_instances; i++)
		of_instance[i] = MODEL_NO_RUNTIME;
	for (uint32_t i = 0; i < d->nr_copies; i++)
		of_task[i] = of_blocking[i] = MODEL_NO_RUNTIME;
	for (uint32_t i = 0; i < nr; i++) {
		copy_of[i] = all[i].r.copy;
		is_set[i] = !strcmp(all[i].r.scheduler, "local");
		is_local[i] = !strcmp(all[i].r.scheduler, TRACE_LOCAL_RUNTIME);
		if (all[i].number)
			of_instance[all[i].number] = i;
		choose(of_task, copy_of[i], nr_seen, i);
		if (!is_set[i])
			choose(of_blocking, copy_of[i], nr_seen + d->nr_copies, i);
	}
	free(nr_seen);
	for (uint32_t i = 1; i < d->nr_instances; i++)
		if (of_root[i])
			of_instance[i] = of_instance[of_root[i]];
	rec->model_runtimes = (struct model_runtimes){ .of_instance = of_instance,
						       .copy_of = copy_of,
						       .is_set = is_set,
						       .is_local = is_local,
						       .of_task = of_task,
						       .of_blocking = of_blocking,
						       .nr_instances = d->nr_instances,
						       .nr = nr,
						       .nr_copies = d->nr_copies };
}

void recording_make_runtimes(struct recording *rec, const struct trace_runtime *copies,
			     uint32_t nr_copies, const struct trace_instance *instances,
			     uint32_t nr_instances)
{
	const struct defs d = { .copies = copies,
				.instances = instances,
				.types = rec->types,
				.nr_copies = nr_copies,
				.nr_instances = nr_instances,
				.nr_types = rec->nr_types };
	uint32_t *of_root = place_roots(&d);
	struct entry *all = collect(&d, of_root, &rec->nr_runtimes);

	rec->runtimes = xcalloc(rec->nr_runtimes + 1, sizeof(*rec->runtimes));
	for (uint32_t i = 0; i < rec->nr_runtimes; i++)
		rec->runtimes[i] = all[i].r;
	make_model_runtimes(rec, all, &d, of_root);
	free(of_root);
	free(all);
}

static bool has_tasks(const struct recording *rec, const struct model *m, uint32_t copy)
{
	for (uint32_t i = 0; i < rec->nr_types; i++)
		if (rec->types[i].runtime == copy && model_type_has_tasks(m, i))
			return true;
	return false;
}

void recording_learn_runtimes(struct recording *rec, const struct model *m)
{
	for (uint32_t i = 0; i < rec->nr_runtimes; i++) {
		struct recording_runtime *r = &rec->runtimes[i];
		const char *scheduler = model_runtime_get_scheduler(m, i);

		if (model_runtime_is_local(m, i))
			r->scheduler = TRACE_LOCAL_RUNTIME;
		else if (!r->scheduler[0] && !r->is_whole_copy && scheduler)
			r->scheduler = scheduler;
		r->never_ran = r->is_whole_copy && !has_tasks(rec, m, r->copy);
	}
}

void recording_release_runtimes(struct recording *rec)
{
	const struct model_runtimes *r = &rec->model_runtimes;

	free(rec->runtimes);
	free((void *)r->of_instance);
	free((void *)r->copy_of);
	free((void *)r->is_set);
	free((void *)r->is_local);
	free((void *)r->of_task);
	free((void *)r->of_blocking);
}

char *recording_runtime_name(const struct recording *rec, uint32_t runtime)
{
	const struct recording_runtime *r = &rec->runtimes[runtime];

	return xasprintf("%s%s%s #%u", r->name, r->scheduler[0] ? " " : "",
			 strcmp(r->scheduler, "local") ? r->scheduler : "LocalSet", runtime);
}

bool recording_has_runtimes(const struct recording *rec)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < rec->nr_runtimes && nr < 2; i++)
		nr += !rec->runtimes[i].never_ran;
	return nr > 1;
}

uint32_t recording_type_runtime(const struct recording *rec, uint16_t type)
{
	uint32_t copy = type < rec->nr_types ? rec->types[type].runtime : MODEL_NO_RUNTIME;

	uint32_t runtime = copy < rec->model_runtimes.nr_copies ? rec->model_runtimes.of_task[copy]
								: MODEL_NO_RUNTIME;

	return runtime < rec->nr_runtimes && !rec->runtimes[runtime].never_ran ? runtime
									       : MODEL_NO_RUNTIME;
}

const char *recording_type_library(const struct recording *rec, uint16_t type)
{
	for (uint32_t i = 0; type < rec->nr_types && i < rec->nr_runtimes; i++)
		if (rec->runtimes[i].copy == rec->types[type].runtime)
			return rec->runtimes[i].name;
	return NULL;
}

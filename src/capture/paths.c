// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/paths.h"

#include <stdio.h>
#include <string.h>

#include "capture/process.h"
#include "runtime/root_frames.h"
#include "symbol/demangle.h"

#define MAX_TYPES (1u << 24) /* as many as fit into a key */
#define PATH_ROOM 64
#define MAX_PATHS (1u << (64 - EVENT_ADDR_BITS)) /* as many as events can tell apart */

void paths_release(struct paths *p)
{
	recipes_release(&p->recipes);
	vec_each (l, &p->layouts)
		layouts_close(*l);
	vec_release(&p->layouts);
	map_release(&p->steps);
	map_release(&p->by_choices);
}

/* ---- the plan ---- */

static bool insert_dyn(struct wire_region *r, const struct wire_dyn *d)
{
	for (unsigned i = 0; i < WIRE_DYN_TRIES; i++) {
		struct wire_dyn *at = &r->dyns[(wire_dyn_home(d->addr) + i) % WIRE_MAX_DYNS];

		if (at->addr && at->addr != d->addr)
			continue;
		at->edge = d->edge;
		__atomic_store_n(&at->addr, d->addr, __ATOMIC_RELEASE);
		return true;
	}
	return false; /* what is behind it is not followed */
}

/* What was compiled since the last time. */
static void copy_recipes(struct paths *paths, struct wire_region *r)
{
	const struct recipes *from = &paths->recipes;

	for (; paths->nr_nodes < from->nodes.nr; paths->nr_nodes++)
		r->nodes[paths->nr_nodes] = from->nodes.v[paths->nr_nodes];
	for (; paths->nr_edges < from->edges.nr; paths->nr_edges++)
		r->edges[paths->nr_edges] = from->edges.v[paths->nr_edges];
	r->nr_nodes = paths->nr_nodes;
	r->nr_edges = paths->nr_edges;
	for (; paths->nr_dyns < from->dyns.nr; paths->nr_dyns++)
		insert_dyn(r, &from->dyns.v[paths->nr_dyns]);
}

static void name_fd(char path[PATH_ROOM], int fd)
{
	snprintf(path, PATH_ROOM, "/proc/self/fd/%d", fd);
}

static struct recipe_book *open_book(struct paths *paths, const struct process_object *o,
				     const char *cache_dir)
{
	const char *debug_path = o->d->debug_path, *why;
	struct layouts *l;
	char path[PATH_ROOM];

	name_fd(path, o->fd);
	l = layouts_open(*debug_path ? debug_path : path, cache_dir, &why);
	if (!l)
		return NULL;
	vec_push(&paths->layouts, l);
	if (!paths->recipes.nodes.nr)
		recipes_init(&paths->recipes);
	return recipes_add(&paths->recipes, l, o->base);
}

/* Only of a table that is sure to be of one type: reading it as another would be the end of the
 * program. */
static uint32_t recipe_of(struct recipe_book *b, struct layouts *l, const struct discovery *d,
			  const struct found_table *t)
{
	struct task_place place;

	if (!wire_is_task_table(t->plan.kind) || t->kind > TRACE_LOCAL || t->nr_candidates != 1 ||
	    !task_shape(d, t)->locate(l, t, &place))
		return 0;
	return recipe_compile(b, &place);
}

/* The same holds of its scheduler. */
static uint32_t local_off(struct layouts *l, const struct discovery *d, const struct found_table *t)
{
	if (!wire_is_task_table(t->plan.kind) || t->kind != TRACE_TASK || t->nr_candidates != 1 ||
	    !task_shape(d, t)->local_off)
		return 0;
	return task_shape(d, t)->local_off(l, t);
}

static uint32_t root_local_off(struct layouts *l, const struct discovery *d)
{
	const struct task_shape *shape =
		d->roots.nr_redirects ? task_shape_of(&d->runtimes[d->roots.runtime]) : NULL;

	return shape && shape->local_off ? shape->local_off(l, NULL) : 0;
}

static uint16_t define_root_type(struct process *p, const struct process_object *o,
				 const struct root_frame *f, const struct layout *l)
{
	bool is_generated = l->kind == LAYOUT_COROUTINE;
	char *name = root_future_name(l);
	struct trace_type type = {
		.runtime = o->first_runtime + f->runtime,
		.kind = TRACE_BLOCK_ON,
		.name = name,
		.scheduler = "",
		.file = is_generated ? l->file : "",
		.line = is_generated ? l->first_line : 0,
		.nr_candidates = 1,
		.size_bytes = l->size_bytes,
	};
	uint16_t number = process_define_type(p, &type);

	free(name);
	return number;
}

/* One that was met before has its number. */
static uint16_t type_of_root(struct process *p, const struct process_object *o,
			     const struct root_frame *all, const struct root_frame *f,
			     struct layouts *l)
{
	if (f->future == LAYOUT_NONE)
		return EVENT_TYPE_NONE;
	for (; all < f; all++)
		if (all->future == f->future && all->runtime == f->runtime)
			return all->plan.type;
	return define_root_type(p, o, f, layouts_get(l, f->future));
}

static void plan_framed(struct process *p, struct recipe_book *b, struct layouts *l,
			const struct process_object *o)
{
	struct root_frame found[WIRE_MAX_FRAMED];
	uint32_t *nr = &p->paths.nr_framed, nr_found;
	char path[PATH_ROOM];

	name_fd(path, o->fd);
	nr_found = root_frames_find(b, l, o->d, path, o->base, found, WIRE_MAX_FRAMED - *nr);
	for (uint32_t i = 0; i < nr_found; i++) {
		found[i].plan.type = type_of_root(p, o, found, &found[i], l);
		p->region->framed[(*nr)++] = found[i].plan;
	}
	p->region->nr_framed = *nr;
}

void paths_plan(struct process *p, struct process_object *o, uint32_t first_table,
		const char *cache_dir)
{
	struct paths *paths = &p->paths;
	struct recipe_book *b = o->fd >= 0 ? open_book(paths, o, cache_dir) : NULL;
	struct layouts *l = b ? paths->layouts.v[paths->layouts.nr - 1] : NULL;

	for (uint32_t i = 0; b && i < o->nr_planned; i++) {
		uint32_t recipe = recipe_of(b, l, o->d, &o->d->tables[i]);

		p->region->tables[first_table + i].recipe = recipe;
		p->region->tables[first_table + i].local_off = local_off(l, o->d, &o->d->tables[i]);
		o->tables[i].recipe = recipe;
	}
	if (b) {
		o->local_off = root_local_off(l, o->d);
		if (!p->lobby->no_roots)
			plan_framed(p, b, l, o);
		copy_recipes(paths, p->region);
	}
}

/* ---- what came of it ---- */

/* The number of a step in the file, written on first use. */
static uint32_t step_number(struct process *p, const struct recipe_steps *all,
			    const struct recipe_step *s, uint32_t outer)
{
	uint64_t key = (uint64_t)(outer + 1) << 43 | (uint64_t)(s->variant + 1) % (1 << 14) << 29 |
		       (uint64_t)s->is_borrowed << 28 | (uint64_t)s->book << 24 | s->type;
	struct trace_step text;
	bool was_there;
	uint64_t *number;

	if (s->type >= MAX_TYPES)
		return TRACE_NO_STEP;
	number = map_put(&p->paths.steps, key, &was_there);
	if (!was_there) {
		char *future;

		text = recipe_step_text(&p->paths.recipes, all, s);
		text.future = future = readable_type(text.future, strlen(text.future), false);
		text.outer = outer;
		*number = trace_writer_step(p->writer, &text);
		free(future);
	}
	return *number;
}

static void write_steps(struct process *p, uint32_t number, const struct recipe_steps *all)
{
	VEC(uint32_t) last = { 0 };
	VEC(uint32_t) numbers = { 0 };

	vec_each (s, &all->steps) {
		uint32_t outer = s->outer < numbers.nr ? numbers.v[s->outer] : TRACE_NO_STEP;

		vec_push(&numbers, step_number(p, all, s, outer));
		if (s->is_last)
			vec_push(&last, numbers.v[numbers.nr - 1]);
	}
	if (last.nr)
		trace_writer_path(p->writer, number, &(struct trace_path){ last.v, last.nr });
	vec_release(&last);
	vec_release(&numbers);
}

static void explain(struct process *p, uint32_t number, const struct stands_trail *t)
{
	struct recipe_steps steps = { 0 };

	/* what the walk had no room for is missing at the end */
	if (recipe_explain(&p->paths.recipes, t->recipe, t->choices, t->nr_choices, &steps) ||
	    t->nr_choices == WIRE_MAX_CHOICES)
		write_steps(p, number, &steps);
	vec_release(&steps.steps);
}

static uint64_t *number_of(struct process *p, const struct stands_trail *t)
{
	return map_put(&p->paths.by_choices, stands_hash(t->recipe, t->choices, t->nr_choices),
		       NULL);
}

/* The program can write there: nothing is read twice, and numbers are checked. */
static void write_path(struct process *p, uint32_t number)
{
	const struct wire_path *from = &p->region->paths[number];
	struct stands_trail t = { .recipe = __atomic_load_n(&from->recipe, __ATOMIC_RELAXED) };

	t.nr_choices = MIN(__atomic_load_n(&from->nr_choices, __ATOMIC_RELAXED), WIRE_MAX_CHOICES);
	for (unsigned i = 0; i < t.nr_choices; i++)
		t.choices[i] = __atomic_load_n(&from->choices[i], __ATOMIC_RELAXED);
	explain(p, number, &t);
	*number_of(p, &t) = number;
}

void paths_write(struct process *p)
{
	struct paths *paths = &p->paths;

	for (uint32_t i = 0; paths->nr_nodes && i < WIRE_PATH_WORDS; i++) {
		uint64_t new = __atomic_load_n(&p->region->paths_used[i], __ATOMIC_ACQUIRE) &
			       ~paths->told[i];

		paths->told[i] |= new;
		for (; new; new &= new - 1)
			write_path(p, i * 64 + __builtin_ctzll(new));
	}
}

uint32_t paths_number(struct process *p, const struct stands_trail *t)
{
	uint64_t *number = number_of(p, t);

	if (!*number && WIRE_MAX_PATHS + p->paths.nr_own < MAX_PATHS) {
		*number = WIRE_MAX_PATHS + p->paths.nr_own++;
		explain(p, *number, t);
	}
	return *number;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/paths.h"

#include "capture/process.h"

#define MAX_TYPES (1u << 28)			 /* as many as fit into a key */
#define MAX_PATHS (1u << (64 - EVENT_ADDR_BITS)) /* as many as events can tell apart */

void paths_release(struct paths *p)
{
	recipes_release(&p->recipes);
	vec_release(&p->joined);
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

/* By how much the numbers of its edges grow; a file that is loaded once more adds nothing. */
static uint32_t join(struct paths *paths, const struct reading *r)
{
	uint32_t by;

	vec_each (j, &paths->joined)
		if (j->reading == r)
			return j->by;
	if (!paths->recipes.nodes.nr)
		recipes_init(&paths->recipes);
	by = recipes_join(&paths->recipes, &r->recipes);
	vec_push(&paths->joined, (struct paths_joined){ r, by });
	return by;
}

static uint16_t define_root_type(struct process *p, const struct process_object *o,
				 const struct reading_root_type *t)
{
	struct trace_type type = {
		.runtime = o->first_runtime + t->runtime,
		.kind = TRACE_BLOCK_ON,
		.name = t->name,
		.scheduler = "",
		.file = t->file,
		.line = t->line,
		.nr_candidates = 1,
		.size_bytes = t->size_bytes,
	};

	return process_define_type(p, &type);
}

static void plan_framed(struct process *p, const struct process_object *o, uint32_t by)
{
	const struct reading *r = o->reading;
	uint32_t *nr = &p->paths.nr_framed;
	VEC(uint16_t) types = { 0 };

	if (r->roots.nr)
		vec_each (t, &r->root_types)
			vec_push(&types, define_root_type(p, o, t));
	vec_each (root, &r->roots) {
		struct wire_framed *to = &p->region->framed[*nr];

		if (*nr == WIRE_MAX_FRAMED)
			break;
		*to = root->plan;
		to->addr += o->base;
		to->end_addr += o->base;
		to->recipe += to->recipe ? by : 0;
		to->type = root->type < types.nr ? types.v[root->type] : EVENT_TYPE_NONE;
		++*nr;
	}
	p->region->nr_framed = *nr;
	vec_release(&types);
}

void paths_plan(struct process *p, struct process_object *o, uint32_t first_table)
{
	const struct reading *r = o->reading;
	struct paths *paths = &p->paths;
	uint32_t by = r->recipes.nodes.nr ? join(paths, r) : RECIPES_NO_ROOM;

	if (by == RECIPES_NO_ROOM)
		return;
	recipes_join_dyns(&paths->recipes, &r->recipes, by, o->base);
	for (uint32_t i = 0; i < o->nr_planned; i++) {
		const struct wire_table *from = &o->d->tables[i].plan;
		uint32_t recipe = from->recipe ? from->recipe + by : 0;

		p->region->tables[first_table + i].recipe = recipe;
		p->region->tables[first_table + i].local_off = from->local_off;
		o->tables[i].recipe = recipe;
	}
	o->local_off = r->root_local_off;
	if (!p->lobby->no_roots)
		plan_framed(p, o, by);
	copy_recipes(paths, p->region);
}

/* ---- what came of it ---- */

/* The number of a step in the file, written on first use. */
static uint32_t step_number(struct process *p, const struct recipe_steps *all,
			    const struct recipe_step *s, uint32_t outer)
{
	uint64_t key = (uint64_t)(outer + 1) << 43 | (uint64_t)(s->variant + 1) % (1 << 14) << 29 |
		       (uint64_t)s->is_borrowed << 28 | s->type;
	bool was_there;
	uint64_t *number;

	if (s->type >= MAX_TYPES)
		return TRACE_NO_STEP;
	number = map_put(&p->paths.steps, key, &was_there);
	if (!was_there) {
		struct trace_step text = recipe_step_text(&p->paths.recipes, all, s);

		text.outer = outer;
		*number = trace_writer_step(p->writer, &text);
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

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * From types to what is told of a task: a recipe is compiled, given to the agent, followed by its
 * own code in memory as a program would have it, and explained.
 */
#ifndef TESTS_RUNTIME_FOLLOW_H
#define TESTS_RUNTIME_FOLLOW_H

#include <string.h>
#include <sys/mman.h>

#include "agent/path.h"
#include "base/strbuf.h"
#include "future/recipe.h"
#include "types.h"

#define BASE 0x7000000

static struct wire_lobby lobby; /* without limits */
static struct recipes recipes;
static struct recipe_book *book;
static struct wire_region *region;

static inline int set_up(void **state)
{
	if (!region)
		region = mmap(NULL, sizeof(*region), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(region, MAP_FAILED);
	core_page = (struct core_page){ .region = region, .lobby = &lobby };
	recipes_init(&recipes);
	book = recipes_add(&recipes, NULL, BASE);
	return 0;
}

static inline int tear_down(void **state)
{
	recipes_release(&recipes);
	types_release();
	madvise(region, sizeof(*region), MADV_DONTNEED); /* all zero again */
	core_page = (struct core_page){ 0 };
	return 0;
}

/* ---- compile, follow, explain ---- */

static inline uint32_t compile(uint32_t type)
{
	return recipe_compile(book, &(struct task_place){ .task_bytes = type_of(type)->size_bytes,
							  .type = type });
}

/* As capture/paths.c does. */
static inline void give_to_agent(void)
{
	memcpy(region->nodes, recipes.nodes.v, recipes.nodes.nr * sizeof(*region->nodes));
	memcpy(region->edges, recipes.edges.v, recipes.edges.nr * sizeof(*region->edges));
	region->nr_nodes = recipes.nodes.nr;
	region->nr_edges = recipes.edges.nr;
	vec_each (d, &recipes.dyns)
		region->dyns[wire_dyn_home(d->addr) % WIRE_MAX_DYNS] = *d;
}

static inline void add_steps(struct strbuf *text, const struct recipe_steps *all)
{
	static const char *const states[] = { "", " new", " done", " ready" };

	vec_each (s, &all->steps) {
		struct trace_step step = recipe_step_text(&recipes, all, s);
		unsigned depth = 0;

		for (uint32_t i = s->outer; i < all->steps.nr; i = all->steps.v[i].outer)
			depth++;
		strbuf_addf(text, "%s%u %s", text->len ? ", " : "", depth,
			    *step.function ? step.function
			    : *step.leaf   ? step.leaf
					   : step.future);
		if (step.line)
			strbuf_addf(text, ":%u", step.line);
		strbuf_addf(text, "%s%s", states[step.state], step.is_borrowed ? " borrowed" : "");
	}
}

/* Where a value of that type stands; "" when nobody can say. */
static inline char *stand(uint32_t type, const void *value)
{
	uint32_t edge = compile(type), start;
	struct strbuf text = STRBUF_INIT;
	struct recipe_steps steps = { 0 };
	const struct wire_path *path;
	uint64_t number;

	strbuf_addstr(&text, "");
	if (!edge)
		return strbuf_take(&text);
	give_to_agent();
	start = path_add(region, edge, 1);
	assert_int_equal(start, 1); /* it is sound */
	number = path_find((uint64_t)value, &path_starts[start]);
	path = &region->paths[number];
	recipes_describe(&recipes);
	if (number && recipe_explain(&recipes, edge, path->choices, path->nr_choices, &steps))
		add_steps(&text, &steps);
	else if (number)
		assert_int_equal(path->nr_choices, WIRE_MAX_CHOICES);
	vec_release(&steps.steps);
	return strbuf_take(&text);
}

static inline void assert_stands(uint32_t type, const void *value, const char *expected)
{
	char *text = stand(type, value);

	assert_string_equal(text, expected);
	free(text);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the choices of a walk mean, by what is known of the types that it passed. */
#include "future/leaf.h"
#include "future/recipe.h"
#include "runtime/source.h"

#define MAX_VISITS 4096 /* of values, to explain one path */
#define MAX_DEPTH  128	/* as in recipe.c */

struct account {
	const struct recipes *recipes;
	const uint32_t *choices;
	unsigned nr, at;
	unsigned nr_visits;
	bool is_broken;
	bool is_borrowed; /* what comes next */
	bool is_cut;	  /* … and the walk did not go there */
	struct recipe_steps *out;
};

static void explain(struct account *r, uint32_t type, uint32_t outer, unsigned depth,
		    bool is_awaited);

/* The next choice, NULL: there is none, as where a walk was too long. */
static const struct recipe_meaning *take(struct account *r)
{
	if (r->at >= r->nr || r->choices[r->at] >= r->recipes->meanings.nr) {
		r->is_broken = true;
		return NULL;
	}
	return &r->recipes->meanings.v[r->choices[r->at++]];
}

static uint32_t add_step(struct account *r, uint32_t type, uint32_t variant, uint32_t outer)
{
	if (outer != UINT32_MAX)
		r->out->steps.v[outer].is_last = false;
	vec_push(&r->out->steps,
		 (struct recipe_step){ outer, type, variant, true, r->is_borrowed });
	r->is_borrowed = false;
	return r->out->steps.nr - 1;
}

/* A stream that is not asked for more, as its source would have it at once. */
static void drop_idle(struct account *r, uint32_t step)
{
	const struct recipe_step *s = &r->out->steps.v[step];
	uint32_t outer = s->outer;
	bool has_brother = false;

	if (!s->is_last || outer == UINT32_MAX || !leaf_is_fed(r->recipes->types.v[s->type].name))
		return;
	r->out->steps.nr = step;
	for (uint32_t i = outer + 1; i < step; i++)
		has_brother = has_brother || r->out->steps.v[i].outer == outer;
	r->out->steps.v[outer].is_last = !has_brother;
}

static void explain_parts(struct account *r, const struct recipe_type *t, uint32_t variant,
			  uint32_t outer, unsigned depth, bool is_awaited)
{
	struct recipe_parts p = variant < t->nr_variants
					? r->recipes->variants.v[t->first_variant + variant].parts
					: t->parts;

	for (uint32_t i = 0; i < p.nr && !r->is_broken; i++)
		explain(r, r->recipes->parts.v[p.first + i], outer, depth, is_awaited);
}

static void explain_dyn(struct account *r, uint32_t type, uint32_t outer, unsigned depth)
{
	const struct recipe_meaning *m = take(r);

	if (!m)
		return;
	if (m->type == RECIPE_NO_TYPE)
		add_step(r, type, PARTS_NO_VARIANT, outer);
	else
		explain(r, m->type, outer, depth, true);
}

/* Which variant of a coroutine or enum it is. False: the choices end before. */
static bool take_variant(struct account *r, const struct recipe_type *t, bool parts_way,
			 uint32_t *variant)
{
	const struct recipe_meaning *m;

	*variant = t->role == PARTS_ENUM && t->nr_variants == 1 ? 0 : PARTS_NO_VARIANT;
	if (!parts_way || (t->role != PARTS_COROUTINE && t->role != PARTS_ENUM) ||
	    (t->role == PARTS_ENUM && t->nr_variants <= 1))
		return true;
	m = take(r);
	if (!m)
		return false;
	*variant = m->variant;
	r->is_broken = m->variant >= t->nr_variants;
	return true;
}

/* is_awaited: it is a future, although nobody has seen its poll. */
static void explain(struct account *r, uint32_t type, uint32_t outer, unsigned depth,
		    bool is_awaited)
{
	const struct recipe_type *t = &r->recipes->types.v[type];
	bool was_borrowed = r->is_borrowed, was_cut = r->is_cut;
	bool parts_way = t->has_node && !was_cut;
	uint32_t variant, step = UINT32_MAX;

	if (++r->nr_visits > MAX_VISITS) /* values without a choice may be any number */
		r->is_broken = true;
	if (!depth || r->is_broken)
		return;
	depth--;
	r->is_borrowed |= t->is_borrow;
	if (parts_way && t->role == PARTS_DYN) {
		explain_dyn(r, type, outer, depth);
		r->is_borrowed = was_borrowed;
		return;
	}
	if (!take_variant(r, t, parts_way, &variant))
		return;
	if (t->is_step || t->role == PARTS_COROUTINE || (is_awaited && !t->holds)) {
		outer = step = add_step(r, type, variant, outer);
		is_awaited = false;
	}
	r->is_cut = !parts_way;
	explain_parts(r, t, variant, outer, depth,
		      t->role == PARTS_COROUTINE || (is_awaited && t->role == PARTS_POINTER));
	if (step != UINT32_MAX && !r->is_broken)
		drop_idle(r, step);
	r->is_borrowed = was_borrowed;
	r->is_cut = was_cut;
}

bool recipe_explain(const struct recipes *r, uint32_t edge, const uint32_t *choices, unsigned nr,
		    struct recipe_steps *out)
{
	struct account x = { .recipes = r, .choices = choices, .nr = nr, .out = out };
	const struct recipe_meaning *m = edge < r->meanings.nr ? &r->meanings.v[edge] : NULL;

	if (!edge || !m || m->type == RECIPE_NO_TYPE)
		return false;
	explain(&x, m->type, UINT32_MAX, MAX_DEPTH, true);
	return !x.is_broken && x.at == nr;
}

static bool is_below(const struct recipes *r, const struct recipe_steps *all,
		     const struct recipe_step *step, const struct leaf_above *a)
{
	for (uint32_t i = step->outer; i < all->steps.nr; i = all->steps.v[i].outer) {
		if (str_has_prefix(r->types.v[all->steps.v[i].type].name, a->prefix))
			return true;
		if (a->is_parent)
			break;
	}
	return false;
}

/* What kind of thing a leaf is, perhaps by who waits for it. */
static enum leaf_kind kind_of(const struct recipes *r, const struct recipe_steps *all,
			      const struct recipe_step *step, const struct leaf_rule *rule)
{
	for (const struct leaf_above *a = rule->above; a && a->prefix; a++)
		if (is_below(r, all, step, a))
			return a->kind ? a->kind : rule->kind;
	return rule->kind;
}

struct trace_step recipe_step_text(const struct recipes *r, const struct recipe_steps *all,
				   const struct recipe_step *step)
{
	const struct recipe_type *t = &r->types.v[step->type];
	const struct recipe_variant *v = step->variant < t->nr_variants
						 ? &r->variants.v[t->first_variant + step->variant]
						 : NULL;
	const struct leaf_rule *rule = leaf_find(t->name);
	struct trace_step s = { .outer = step->outer,
				.future = t->readable ? t->readable : t->name,
				.function = "",
				.file = "",
				.leaf = leaf_kind_name(rule ? kind_of(r, all, step, rule)
							    : LEAF_KIND_NONE),
				.is_borrowed = step->is_borrowed };

	if (v)
		s.state = v->state;
	if (v && t->is_coroutine) {
		s.is_generated = true;
		s.function = t->function;
		s.file = v->file;
		s.line = v->line;
		s.last_line = v->last_line;
		s.is_foreign = *s.file && source_owner(s.file) != SOURCE_OF_PROGRAM;
	}
	return s;
}

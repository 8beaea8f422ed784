// SPDX-License-Identifier: MIT OR Apache-2.0
#include "future/recipe.h"

/* Numbers of nodes and edges count on from those that are there; 0 has the same meaning for all. */
static uint32_t moved(uint32_t number, uint32_t by)
{
	return number ? number + by : 0;
}

static void join_types(struct recipes *to, const struct recipes *from)
{
	uint32_t types = to->types.nr, variants = to->variants.nr, parts = to->parts.nr;

	vec_each (t, &from->types) {
		struct recipe_type type = *t;

		type.first_variant += variants;
		type.parts.first += parts;
		vec_push(&to->types, type);
	}
	vec_each (v, &from->variants) {
		struct recipe_variant variant = *v;

		variant.parts.first += parts;
		vec_push(&to->variants, variant);
	}
	vec_each (p, &from->parts)
		vec_push(&to->parts, *p + types);
}

uint32_t recipes_join(struct recipes *to, const struct recipes *from)
{
	uint32_t nodes = to->nodes.nr - 1, edges = to->edges.nr - 1, types = to->types.nr;

	if (!from->nodes.nr || !from->edges.nr || from->nodes.nr > WIRE_MAX_NODES - nodes ||
	    from->edges.nr > WIRE_MAX_EDGES - edges)
		return RECIPES_NO_ROOM;
	for (size_t i = 1; i < from->nodes.nr; i++) {
		struct wire_node n = from->nodes.v[i];

		n.first = moved(n.first, edges);
		vec_push(&to->nodes, n);
	}
	for (size_t i = 1; i < from->edges.nr; i++) {
		struct wire_edge e = from->edges.v[i];
		struct recipe_meaning m = from->meanings.v[i];

		e.node = moved(e.node, nodes);
		if (m.type != RECIPE_NO_TYPE)
			m.type += types;
		vec_push(&to->edges, e);
		vec_push(&to->meanings, m);
	}
	join_types(to, from);
	return edges;
}

void recipes_join_dyns(struct recipes *to, const struct recipes *from, uint32_t by, uint64_t base)
{
	vec_each (d, &from->dyns)
		vec_push(&to->dyns,
			 (struct wire_dyn){ .addr = d->addr + base, .edge = moved(d->edge, by) });
}

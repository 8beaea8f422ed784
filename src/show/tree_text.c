// SPDX-License-Identifier: MIT OR Apache-2.0
/* A tree as it is drawn for people: which of its futures are shown, and what is said of them. */
#include <string.h>

#include "base/format.h"
#include "model/model.h"
#include "model/shorten.h"
#include "show/look_text.h"
#include "show/tree_forest.h"
#include "show/tree_say.h"

#define NAME_WIDTH  80
#define PLACE_WIDTH 40

static const char *on(const struct forest *f, enum style s)
{
	return style_on(f->styles, s);
}

static void print_head(const struct forest *f, const struct forest_group *g, struct strbuf *out)
{
	const struct census_task *t = &f->look->census.tasks.v[g->first];
	char count[FORMAT_SIZE];

	strbuf_addstr(out, on(f, STYLE_HEAD));
	if (g->nr == 1)
		strbuf_addstr(out, look_is_guess(f->look, t) ? "thread " : "task ");
	else
		strbuf_addf(out, "%s tasks ", format_grouped(g->nr, count));
	for (uint64_t i = 0; i < MIN(g->nr, (uint64_t)FOREST_MAX_IDS); i++) {
		strbuf_addstr(out, i ? ", " : "");
		look_add_id(&f->look->census.tasks.v[g->tasks[i]], out);
	}
	strbuf_addf(out, "%s%s  %s", g->nr > FOREST_MAX_IDS ? ", .." : "", style_off(f->styles),
		    look_state_name(g->state));
	if (look_table(f->look, t)->kind != TRACE_TASK)
		strbuf_addf(out, " %s", model_kind_name(look_table(f->look, t)->kind));
	if (look_is_guess(f->look, t))
		strbuf_addstr(out, " (a guess)");
	strbuf_addstr(out, "  ");
}

/* Of a task whose future is not known, or is no async fn. */
static void print_type(const struct forest *f, const struct forest_group *g, struct strbuf *out)
{
	const struct census_task *t = &f->look->census.tasks.v[g->first];
	struct strbuf name = STRBUF_INIT;

	look_add_type(f->look, t, &name);
	strbuf_addstr(out, on(f, STYLE_NAME));
	if (g->tree->nodes.nr && look_is_boxed(f->look, t))
		say_name(g->tree->nodes.v, NAME_WIDTH, out);
	else
		shorten_type(out, name.s, NAME_WIDTH);
	strbuf_addf(out, "%s\n", style_off(f->styles));
	strbuf_release(&name);
}

/* For each node that is shown: its depth among those, and whether a brother follows. */
struct drawing {
	uint32_t depth;
	uint32_t nr_equal; /* brothers that are equal to it, down to their leaves, and not shown */
	bool is_shown, has_next;
	bool leads_on; /* to async code that is not the runtime's own */
};

static uint32_t shown_parent(const struct tree *t, const struct drawing *d, uint32_t node)
{
	do
		node = t->nodes.v[node].parent;
	while (node != TREE_NO_NODE && !d[node].is_shown);
	return node;
}

static uint32_t caller_of(const struct tree *t, uint32_t node)
{
	do
		node = t->nodes.v[node].parent;
	while (node != TREE_NO_NODE && !tree_is_generated(&t->nodes.v[node]));
	return node;
}

/*
 * A wrapper is left out, and what it holds takes its place. So are async functions of a runtime
 * that lead to others' code, and those that it calls itself: what they wait for says it all.
 */
static bool is_wanted(const struct tree *t, const struct drawing *d, uint32_t node)
{
	const struct tree_node *n = &t->nodes.v[node];
	uint32_t caller = caller_of(t, node);

	if (n->state != TREE_WAITS)
		return true;
	if (tree_is_generated(n))
		return n->owner != SOURCE_OF_RUNTIME ||
		       (!d[node].leads_on &&
			(caller == TREE_NO_NODE || t->nodes.v[caller].owner != SOURCE_OF_RUNTIME));
	if (n->leaf && !n->is_never)
		return true;
	return !n->nr_children && (caller == TREE_NO_NODE || d[caller].is_shown);
}

static void choose(const struct forest *f, const struct tree *t, struct drawing *d)
{
	for (uint32_t i = t->nodes.nr; i-- > 0;) {
		const struct tree_node *n = &t->nodes.v[i];
		bool is_other = tree_is_generated(n) && n->owner != SOURCE_OF_RUNTIME;

		if (n->parent != TREE_NO_NODE && (is_other || d[i].leads_on))
			d[n->parent].leads_on = true;
	}
	for (uint32_t i = 0; i < t->nodes.nr; i++)
		d[i].is_shown = f->opts->wrappers || is_wanted(t, d, i);
}

/* The node behind all that is below this one. */
static uint32_t end_of(const struct tree *t, uint32_t node)
{
	uint32_t end = node + 1;

	while (end < t->nodes.nr && t->nodes.v[end].depth > t->nodes.v[node].depth)
		end++;
	return end;
}

static bool are_equal(const struct tree *t, uint32_t a, uint32_t b)
{
	uint32_t nr = end_of(t, a) - a;

	if (end_of(t, b) - b != nr)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		const struct tree_node *x = &t->nodes.v[a + i], *y = &t->nodes.v[b + i];

		if (!tree_node_is_equal(x, y) || !forest_says_same(t, x, t, y) ||
		    x->depth - t->nodes.v[a].depth != y->depth - t->nodes.v[b].depth)
			return false;
	}
	return true;
}

static struct drawing *draw(const struct forest *f, struct tree *t)
{
	struct drawing *d = xcalloc(t->nodes.nr + 1, sizeof(*d));
	uint32_t *last = xcalloc(t->nodes.nr + 1, sizeof(*last)); /* child of a node, + 1 */

	choose(f, t, d);
	for (uint32_t i = 0; i < t->nodes.nr; i++) {
		uint32_t parent, slot;

		if (!d[i].is_shown)
			continue;
		parent = shown_parent(t, d, i);
		slot = parent == TREE_NO_NODE ? t->nodes.nr : parent;
		if (last[slot] && !f->opts->all && are_equal(t, last[slot] - 1, i)) {
			d[last[slot] - 1].nr_equal++;
			forest_fold_values(t, last[slot] - 1, t, i, end_of(t, i) - i);
			for (uint32_t end = end_of(t, i); i + 1 < end; i++)
				d[i].is_shown = false;
			d[i].is_shown = false;
			continue;
		}
		d[i].depth = parent == TREE_NO_NODE ? 1 : d[parent].depth + 1;
		if (last[slot])
			d[last[slot] - 1].has_next = true;
		last[slot] = i + 1;
	}
	free(last);
	return d;
}

/* The async fn that all else hangs from: its own line is the task's. */
static uint32_t root_of(const struct tree *t, const struct drawing *d)
{
	uint32_t i = 0;

	while (i < t->nodes.nr && !d[i].is_shown)
		i++;
	return i < t->nodes.nr && tree_is_generated(&t->nodes.v[i]) && !d[i].has_next
		       ? i
		       : TREE_NO_NODE;
}

static void add_branches(const struct forest *f, const struct tree *t, const struct drawing *d,
			 uint32_t root, uint32_t node, struct strbuf *out)
{
	static const char *const marks[2][2][2] = {
		/* [ascii][is the node's own][has next] */
		{ { "   ", "│  " }, { "└─ ", "├─ " } },
		{ { "   ", "|  " }, { "`- ", "|- " } },
	};
	uint32_t depth = d[node].depth;
	uint8_t *has_next = xcalloc(depth + 1, 1);

	for (uint32_t at = node; at != TREE_NO_NODE; at = shown_parent(t, d, at))
		has_next[d[at].depth] = d[at].has_next;
	strbuf_addstr(out, "  ");
	for (uint32_t i = root == TREE_NO_NODE ? 1 : 2; i <= depth; i++)
		strbuf_addstr(out, marks[f->styles->is_ascii][i == depth][has_next[i]]);
	free(has_next);
}

static void print_locals(const struct forest *f, const struct tree *t, const struct tree_node *n,
			 struct strbuf *out)
{
	if (!n->nr_locals)
		return;
	strbuf_addf(out, "  %s", on(f, STYLE_DETAIL));
	for (uint32_t i = 0; i < n->nr_locals; i++) {
		const struct tree_local *l = &t->locals.v[n->first_local + i];

		strbuf_addstr(out, i ? ", " : "");
		strbuf_add_clean(out, l->name, strlen(l->name));
		strbuf_addstr(out, " = ");
		say_local(l, out);
	}
	strbuf_addstr(out, style_off(f->styles));
}

static void print_node(const struct forest *f, const struct say *s, const struct tree_node *n,
		       struct strbuf *out)
{
	const char *off = style_off(f->styles), *state = say_state(n);

	if (n->leaf && n->leaf != LEAF_KIND_OTHER) {
		strbuf_addstr(out, on(f, STYLE_ADVICE));
		say_leaf(s, n, out);
	} else {
		strbuf_addstr(out, on(f, tree_is_generated(n) ? STYLE_NAME : STYLE_DETAIL));
		say_name(n, NAME_WIDTH, out);
	}
	strbuf_addstr(out, off);
	if (tree_has_place(n)) {
		strbuf_addf(out, "  %s", on(f, STYLE_DETAIL));
		say_place(n, PLACE_WIDTH, out);
		strbuf_addstr(out, off);
	}
	if (*state)
		strbuf_addf(out, "  (%s)", state);
	else if (n->is_never)
		strbuf_addstr(out, "  (for ever)");
	print_locals(f, s->tree, n, out);
	strbuf_addch(out, '\n');
}

static void add_group(const struct forest *f, const struct forest_group *g, struct strbuf *out)
{
	static const char *const why[] = {
		[WALK_RUNNING] = "it runs: its future is unknown",
		[WALK_UNKNOWN] = "debug info does not describe its future",
		[WALK_BROKEN] = "its memory does not match its debug info",
		[WALK_GONE] = "",
	};
	struct say s = { .tree = g->tree,
			 .now_ns = f->now_ns,
			 .ties = &f->findings.ties,
			 .peers = &f->look->peers };
	struct drawing *d = draw(f, g->tree);
	uint32_t root = root_of(g->tree, d);

	print_head(f, g, out);
	if (root != TREE_NO_NODE)
		print_node(f, &s, &g->tree->nodes.v[root], out);
	else
		print_type(f, g, out);
	if (g->status != WALK_OK && look_has_layouts(f->look, &f->look->census.tasks.v[g->first]))
		strbuf_addf(out, "  %s\n", why[g->status]);
	for (uint32_t i = 0; i < g->tree->nodes.nr; i++) {
		if (!d[i].is_shown || i == root)
			continue;
		add_branches(f, g->tree, d, root, i, out);
		if (d[i].nr_equal)
			strbuf_addf(out, "%u x ", d[i].nr_equal + 1);
		print_node(f, &s, &g->tree->nodes.v[i], out);
	}
	if (g->tree->is_cut)
		strbuf_addstr(out, "  .. and more: the tree is too large\n");
	free(d);
}

void forest_text(const struct forest *f, struct out *out)
{
	findings_text(&f->findings, f->styles, &out->buf);
	vec_each (g, &f->groups) {
		add_group(f, g, &out->buf);
		out_spill(out);
	}
}

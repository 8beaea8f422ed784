// SPDX-License-Identifier: MIT OR Apache-2.0
/* futrace tree: what every live task waits for, from its future down to the leaf. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <string.h>

#include "base/format.h"
#include "base/out.h"
#include "cmd/look.h"
#include "cmd/look_json.h"
#include "cmd/style.h"
#include "cmd/tree_findings.h"
#include "cmd/tree_say.h"
#include "model/model.h"
#include "model/shorten.h"

#define MAX_IDS	    8 /* of tasks that share a tree */
#define NAME_WIDTH  80
#define PLACE_WIDTH 40

struct tree_opts {
	const char *core, *color, *filter;
	uint64_t interval_ns;
	bool json, no_cache, all, wrappers, locals;
};

static const struct opt options[] = {
	OPT(0, "core", OPT_STR, struct tree_opts, core, "FILE", "look into a core file"),
	OPT(0, "all", OPT_FLAG, struct tree_opts, all, NULL, "print equal trees one by one"),
	OPT(0, "wrappers", OPT_FLAG, struct tree_opts, wrappers, NULL,
	    "print futures that only pass on what they hold, too"),
	OPT(0, "locals", OPT_FLAG, struct tree_opts, locals, NULL,
	    "print variables of plain types"),
	OPT(0, "filter", OPT_STR, struct tree_opts, filter, "PATTERN",
	    "only tasks with a type, function or file that fits"),
	OPT(0, "interval", OPT_TIME, struct tree_opts, interval_ns, "TIME",
	    "look twice, so far apart, and tell of what tasks there are more"),
	OPT(0, "json", OPT_FLAG, struct tree_opts, json, NULL, "print a JSON object"),
	OPT(0, "no-cache", OPT_FLAG, struct tree_opts, no_cache, NULL,
	    "look at symbols and debug info again"),
	STYLE_OPTION(struct tree_opts, color),
	{ 0 },
};

/* Tasks with equal trees. */
struct group {
	struct tree *tree;
	enum walk_status status;
	enum task_state state;
	uint64_t hash;
	size_t first; /* in the census */
	uint64_t nr;
	size_t tasks[MAX_IDS]; /* some of them, in the census */
};

struct forest {
	struct look *look;
	const struct tree_opts *opts;
	const struct styles *styles;
	pthread_mutex_t lock;
	VEC(struct group) groups;
	struct map by_hash; /* the latest group of a hash + 1 */
	struct findings findings;
	uint64_t nr_statuses[WALK_BROKEN + 1];
	uint64_t now_ns;
	bool is_ascii;
};

/* ---- gathering ---- */

static uint64_t hash_of(const struct forest *f, size_t index, const struct walk_result *r)
{
	uint64_t hash = tree_hash(r->tree);

	hash = map_hash(hash + f->look->census.tasks.v[index].table);
	vec_each (l, &r->tree->locals)
		hash = map_hash(hash * 31 + l->number);
	vec_each (v, &r->tree->values)
		hash = map_hash(hash * 31 + (uintptr_t)v->field);
	return f->opts->all ? index : map_hash(hash + r->status * 8 + r->state);
}

/*
 * Variables are printed as they are, so what is folded has the same ones. Values of leaves become
 * ranges, so it has values of the same things: who reads is not folded with who writes.
 */
static bool says_same(const struct tree *a, const struct tree_node *x, const struct tree *b,
		      const struct tree_node *y)
{
	bool is_same = x->nr_locals == y->nr_locals && x->nr_values == y->nr_values;

	for (uint32_t i = 0; is_same && i < x->nr_locals; i++)
		is_same = a->locals.v[x->first_local + i].number ==
			  b->locals.v[y->first_local + i].number;
	for (uint32_t i = 0; is_same && i < x->nr_values; i++)
		is_same = a->values.v[x->first_value + i].field ==
			  b->values.v[y->first_value + i].field;
	return is_same;
}

static bool is_same(const struct group *g, const struct walk_result *r)
{
	bool is_same =
		g->status == r->status && g->state == r->state && tree_is_equal(g->tree, r->tree);

	for (uint32_t i = 0; is_same && i < r->tree->nodes.nr; i++)
		is_same = says_same(g->tree, &g->tree->nodes.v[i], r->tree, &r->tree->nodes.v[i]);
	return is_same;
}

static void fold_value(struct tree_value *v, const struct tree_value *other)
{
	uint64_t highest = MAX(MAX(v->number, v->highest), MAX(other->number, other->highest));

	if (other->number < v->number)
		*v = *other;
	v->highest = highest;
}

/* What the leaves of equal nodes have in different values becomes a range. */
static void fold_values(struct tree *t, uint32_t at, const struct tree *other, uint32_t from,
			uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct tree_node *x = &t->nodes.v[at + i], *y = &other->nodes.v[from + i];

		for (uint32_t k = 0; k < x->nr_values; k++)
			fold_value(&t->values.v[x->first_value + k],
				   &other->values.v[y->first_value + k]);
	}
}

static void gather(void *arg, size_t index, const struct walk_result *r)
{
	struct forest *f = arg;
	uint64_t hash = hash_of(f, index, r), *at;
	struct group *g;
	bool was_there;

	findings_add(&f->findings, index, r);
	if (r->status == WALK_GONE ||
	    !look_fits(f->look, f->opts->filter, &f->look->census.tasks.v[index], r->tree))
		return;
	pthread_mutex_lock(&f->lock);
	f->nr_statuses[r->status]++;
	at = map_put(&f->by_hash, hash, &was_there);
	if (!was_there || !is_same(&f->groups.v[*at], r)) {
		*at = f->groups.nr;
		vec_push(&f->groups, (struct group){ .tree = tree_copy(r->tree),
						     .status = r->status,
						     .state = r->state,
						     .hash = hash,
						     .first = index });
	} else {
		fold_values(f->groups.v[*at].tree, 0, r->tree, 0, r->tree->nodes.nr);
	}
	g = &f->groups.v[*at];
	g->first = MIN(g->first, index);
	if (g->nr < MAX_IDS)
		g->tasks[g->nr] = index;
	g->nr++;
	pthread_mutex_unlock(&f->lock);
}

static int by_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static void forest_release(struct forest *f)
{
	vec_each (g, &f->groups) {
		tree_release(g->tree);
		free(g->tree);
	}
	vec_release(&f->groups);
	map_release(&f->by_hash);
	findings_release(&f->findings);
}

/* ---- text ---- */

static const char *on(const struct forest *f, enum style s)
{
	return style_on(f->styles, s);
}

static void print_head(const struct forest *f, const struct group *g, struct strbuf *out)
{
	const struct census_task *t = &f->look->census.tasks.v[g->first];
	char count[FORMAT_SIZE];

	strbuf_addstr(out, on(f, STYLE_HEAD));
	if (g->nr == 1)
		strbuf_addstr(out, look_is_guess(f->look, t) ? "thread " : "task ");
	else
		strbuf_addf(out, "%s tasks ", format_grouped(g->nr, count));
	for (uint64_t i = 0; i < MIN(g->nr, (uint64_t)MAX_IDS); i++) {
		strbuf_addstr(out, i ? ", " : "");
		look_add_id(&f->look->census.tasks.v[g->tasks[i]], out);
	}
	strbuf_addf(out, "%s%s  %s", g->nr > MAX_IDS ? ", .." : "", style_off(f->styles),
		    look_state_name(g->state));
	if (look_table(f->look, t)->kind != TRACE_TASK)
		strbuf_addf(out, " %s", model_kind_name(look_table(f->look, t)->kind));
	if (look_is_guess(f->look, t))
		strbuf_addstr(out, " (a guess)");
	strbuf_addstr(out, "  ");
}

/* Of a task whose future is not known, or is no async fn. */
static void print_type(const struct forest *f, const struct group *g, struct strbuf *out)
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

		if (!tree_node_is_equal(x, y) || !says_same(t, x, t, y) ||
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
			fold_values(t, last[slot] - 1, t, i, end_of(t, i) - i);
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
		strbuf_addstr(out, marks[f->is_ascii][i == depth][has_next[i]]);
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

	if (n->leaf && strcmp(n->leaf, "other") != 0) {
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

static void print_group(const struct forest *f, const struct group *g, struct strbuf *out)
{
	static const char *const why[] = {
		[WALK_RUNNING] = "it runs: nothing can be said of its future",
		[WALK_UNKNOWN] = "debug info does not tell how its future lies in memory",
		[WALK_BROKEN] = "what is in memory does not fit its debug info",
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

static int print(const struct forest *f)
{
	struct err e = ERR_INIT;
	struct out out;

	out_init(&out, fileno(stdout));
	findings_text(&f->findings, f->styles, &out.buf);
	if (!f->groups.nr)
		look_note_none(f->opts->filter);
	vec_each (g, &f->groups) {
		print_group(f, g, &out.buf);
		out_spill(&out);
	}
	return out_release(&out, &e) < 0 ? cmd_fail(&e) : EXIT_OK;
}

static int show(struct forest *f, struct look *l)
{
	int rc;

	walk_tasks(&l->census, &(struct walk_opts){ .locals = f->opts->locals, .ties = true },
		   gather, f);
	rc = look_check(l);
	if (rc)
		return rc;
	f->now_ns = look_now(l);
	findings_conclude(&f->findings);
	if (f->groups.nr)
		qsort(f->groups.v, f->groups.nr, sizeof(*f->groups.v), by_first);
	return print(f);
}

/* What ties tasks together is known when all of them were seen, so they are walked twice. */
static int print_json(struct forest *f, struct look *l)
{
	struct look_json_opts opts = { .filter = f->opts->filter,
				       .locals = f->opts->locals,
				       .findings = &f->findings };

	walk_tasks(&l->census, &(struct walk_opts){ .ties = true }, findings_add, &f->findings);
	findings_conclude(&f->findings);
	return look_json(l, &opts);
}

/* Counts the tasks, and waits. Memory is mapped anew while it grows, so this look is closed again.
 */
static int look_before(const struct tree_opts *o, int nr, char **argv, struct map *counts)
{
	struct timespec time = { o->interval_ns / 1000000000, o->interval_ns % 1000000000 };
	struct look l;
	int rc;

	if (o->core)
		return cmd_usage("--interval is of no use with a core file: it does not change");
	rc = look_open(&l, NULL, !o->no_cache, nr, argv);
	if (!rc) {
		findings_count(&l, counts);
		nanosleep(&time, NULL);
	}
	look_close(&l);
	return rc;
}

static int run(const void *opts, int nr, char **argv)
{
	const struct tree_opts *o = opts;
	struct err e = ERR_INIT;
	struct styles styles;
	struct map before = MAP_INIT;
	struct look l;
	struct forest f = {
		.look = &l,
		.opts = o,
		.styles = &styles,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.is_ascii = !style_is_utf8(),
	};
	int rc;

	if (styles_init(&styles, o->color, &e) < 0)
		return cmd_usage("%s", e.msg);
	rc = o->interval_ns ? look_before(o, nr, argv, &before) : EXIT_OK;
	if (rc)
		return rc;
	rc = look_open(&l, o->core, !o->no_cache, nr, argv);
	if (!rc) {
		findings_init(&f.findings, &l, o->filter);
		if (o->interval_ns)
			findings_compare(&f.findings, &before);
		rc = o->json ? print_json(&f, &l) : show(&f, &l);
	}
	if (!rc) {
		findings_notes(&f.findings);
		look_notes(&l);
	}
	forest_release(&f);
	look_close(&l);
	map_release(&before);
	return rc;
}

const struct command cmd_tree = {
	.name = "tree",
	.summary = "show what every live task waits for, down to the line and the leaf",
	.synopsis = "[options] PID | --core=FILE",
	.options = options,
	.options_size = sizeof(struct tree_opts),
	.operands = OPERANDS_PROCESS,
	.run = run,
};

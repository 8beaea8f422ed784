// SPDX-License-Identifier: MIT OR Apache-2.0
/* futrace tree: what every live task waits for, from its future down to the leaf. */
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/out.h"
#include "cmd/look.h"
#include "cmd/style.h"
#include "cmd/tree_say.h"
#include "model/model.h"
#include "model/shorten.h"
#include "walk/walker.h"

#define MAX_IDS 8 /* of tasks that share a tree */

struct tree_opts {
	const char *core, *color, *filter;
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
	uint64_t ids[MAX_IDS];
};

struct forest {
	const struct look *look;
	const struct tree_opts *opts;
	const struct styles *styles;
	pthread_mutex_t lock;
	VEC(struct group) groups;
	struct map by_hash; /* the latest group of a hash + 1 */
	uint64_t nr_statuses[WALK_BROKEN + 1];
	uint64_t now_ns;
	bool is_ascii;
};

/* ---- gathering ---- */

static bool fits_pattern(const char *pattern, const char *text)
{
	return strpbrk(pattern, "*?[") ? fnmatch(pattern, text, 0) == 0
				       : strstr(text, pattern) != NULL;
}

static bool is_wanted(const struct forest *f, size_t index, const struct tree *t)
{
	const char *pattern = f->opts->filter;
	const struct census_task *task = &f->look->census.tasks.v[index];

	if (!pattern || fits_pattern(pattern, look_table(f->look, task)->name))
		return true;
	vec_each (n, &t->nodes)
		if (fits_pattern(pattern, n->type->name) ||
		    (tree_is_generated(n) && fits_pattern(pattern, n->type->function)) ||
		    (tree_has_place(n) && fits_pattern(pattern, n->variant->file)))
			return true;
	return false;
}

static uint64_t hash_of(const struct forest *f, size_t index, const struct walk_result *r)
{
	uint64_t hash = tree_hash(r->tree);

	hash = map_hash(hash + f->look->census.tasks.v[index].table);
	return f->opts->all || f->opts->json ? index : map_hash(hash + r->status * 8 + r->state);
}

static bool is_same(const struct group *g, const struct walk_result *r)
{
	return g->status == r->status && g->state == r->state && tree_is_equal(g->tree, r->tree);
}

static void gather(void *arg, size_t index, const struct walk_result *r)
{
	struct forest *f = arg;
	uint64_t hash = hash_of(f, index, r), *at;
	struct group *g;
	bool was_there;

	if (r->status == WALK_GONE || !is_wanted(f, index, r->tree))
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
	}
	g = &f->groups.v[*at];
	g->first = MIN(g->first, index);
	if (g->nr < MAX_IDS)
		g->ids[g->nr] = f->look->census.tasks.v[index].id;
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
}

/* ---- text ---- */

static const char *on(const struct forest *f, enum style s)
{
	return style_on(f->styles, s);
}

static void add_id(const struct census_task *t, uint64_t id, struct strbuf *out)
{
	strbuf_addf(out, t->id == t->addr ? "0x%llx" : "%llu", (unsigned long long)id);
}

static void print_head(const struct forest *f, const struct group *g, struct strbuf *out)
{
	const struct census_task *t = &f->look->census.tasks.v[g->first];
	struct strbuf name = STRBUF_INIT;
	char count[FORMAT_SIZE];

	strbuf_addstr(out, on(f, STYLE_HEAD));
	if (g->nr == 1)
		strbuf_addstr(out, "task ");
	else
		strbuf_addf(out, "%s tasks ", format_grouped(g->nr, count));
	for (uint64_t i = 0; i < MIN(g->nr, (uint64_t)MAX_IDS); i++) {
		strbuf_addstr(out, i ? ", " : "");
		add_id(t, g->ids[i], out);
	}
	strbuf_addf(out, "%s%s  %s", g->nr > MAX_IDS ? ", .." : "", style_off(f->styles),
		    look_state_name(g->state));
	if (look_table(f->look, t)->kind != TRACE_TASK)
		strbuf_addf(out, " %s", model_kind_name(look_table(f->look, t)->kind));
	look_add_type(f->look, t, &name);
	strbuf_addf(out, "  %s", on(f, STYLE_NAME));
	shorten_type(out, name.s, 100);
	strbuf_addf(out, "%s\n", style_off(f->styles));
	strbuf_release(&name);
}

/* A wrapper is left out, and what it holds takes its place. */
static bool is_shown(const struct forest *f, const struct tree_node *n)
{
	return f->opts->wrappers || tree_is_generated(n) || n->leaf || n->state != TREE_WAITS ||
	       !n->nr_children;
}

static uint32_t shown_parent(const struct forest *f, const struct tree *t, uint32_t node)
{
	do
		node = t->nodes.v[node].parent;
	while (node != TREE_NO_NODE && !is_shown(f, &t->nodes.v[node]));
	return node;
}

/* For each node that is shown: its depth among those, and whether a brother follows. */
struct drawing {
	uint32_t depth;
	bool is_shown, has_next;
};

static struct drawing *draw(const struct forest *f, const struct tree *t)
{
	struct drawing *d = xcalloc(t->nodes.nr + 1, sizeof(*d));
	uint32_t *last = xcalloc(t->nodes.nr + 1, sizeof(*last)); /* child of a node, + 1 */

	for (uint32_t i = 0; i < t->nodes.nr; i++) {
		uint32_t parent;

		d[i].is_shown = is_shown(f, &t->nodes.v[i]);
		if (!d[i].is_shown)
			continue;
		parent = shown_parent(f, t, i);
		d[i].depth = parent == TREE_NO_NODE ? 1 : d[parent].depth + 1;
		parent = parent == TREE_NO_NODE ? t->nodes.nr : parent;
		if (last[parent])
			d[last[parent] - 1].has_next = true;
		last[parent] = i + 1;
	}
	free(last);
	return d;
}

static void add_branches(const struct forest *f, const struct tree *t, const struct drawing *d,
			 uint32_t node, struct strbuf *out)
{
	static const char *const marks[2][2][2] = {
		/* [ascii][is the node's own][has next] */
		{ { "   ", "│  " }, { "└─ ", "├─ " } },
		{ { "   ", "|  " }, { "`- ", "|- " } },
	};
	uint32_t depth = d[node].depth;
	uint8_t *has_next = xcalloc(depth + 1, 1);

	for (uint32_t at = node; at != TREE_NO_NODE; at = shown_parent(f, t, at))
		has_next[d[at].depth] = d[at].has_next;
	strbuf_addstr(out, "  ");
	for (uint32_t i = 2; i <= depth; i++)
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
		say_name(n, 80, out);
	}
	strbuf_addstr(out, off);
	if (tree_has_place(n)) {
		strbuf_addf(out, "  %s", on(f, STYLE_DETAIL));
		say_place(n, SIZE_MAX, out);
		strbuf_addstr(out, off);
	}
	if (*state)
		strbuf_addf(out, "  (%s)", state);
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
	struct say s = { g->tree, f->now_ns };
	struct drawing *d = draw(f, g->tree);

	print_head(f, g, out);
	if (g->status != WALK_OK)
		strbuf_addf(out, "  %s\n", why[g->status]);
	for (uint32_t i = 0; i < g->tree->nodes.nr; i++) {
		if (!d[i].is_shown)
			continue;
		add_branches(f, g->tree, d, i, out);
		print_node(f, &s, &g->tree->nodes.v[i], out);
	}
	if (g->tree->is_cut)
		strbuf_addstr(out, "  .. and more: the tree is too large\n");
	free(d);
}

static void print_json(const struct forest *f, struct out *out)
{
	struct json j;

	json_init(&j, &out->buf);
	j.pretty = true;
	json_open_object(&j, NULL);
	look_json_head(f->look, &j);
	json_open_array(&j, "tasks");
	vec_each (g, &f->groups) {
		struct say s = { g->tree, f->now_ns };

		json_open_object(&j, NULL);
		look_json_task(f->look, &f->look->census.tasks.v[g->first], g->state, &j);
		say_json(&s, &j);
		json_close_object(&j);
		out_spill(out);
	}
	json_close_array(&j);
	json_open_array(&j, "findings");
	json_close_array(&j);
	json_close_object(&j);
	strbuf_addch(&out->buf, '\n');
}

static int print(const struct forest *f)
{
	struct err e = ERR_INIT;
	struct out out;

	out_init(&out, fileno(stdout));
	if (f->opts->json)
		print_json(f, &out);
	else
		vec_each (g, &f->groups) {
			print_group(f, g, &out.buf);
			out_spill(&out);
		}
	return out_release(&out, &e) < 0 ? cmd_fail(&e) : EXIT_OK;
}

static int run(const void *opts, int nr, char **argv)
{
	const struct tree_opts *o = opts;
	struct err e = ERR_INIT;
	struct styles styles;
	struct look l;
	struct forest f = { .look = &l,
			    .opts = o,
			    .styles = &styles,
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .is_ascii = !style_is_utf8() };
	int rc;

	if (styles_init(&styles, o->color, &e) < 0)
		return cmd_usage("%s", e.msg);
	rc = look_open(&l, o->core, !o->no_cache, nr, argv);
	if (!rc) {
		objects_open_layouts(&l.objects);
		walk_tasks(&l.census, &(struct walk_opts){ .locals = o->locals }, gather, &f);
		rc = look_check(&l);
	}
	if (!rc) {
		f.now_ns = l.memory->is_core ? 0 : clock_mono_ns();
		if (f.groups.nr)
			qsort(f.groups.v, f.groups.nr, sizeof(*f.groups.v), by_first);
		rc = print(&f);
		look_notes(&l);
	}
	forest_release(&f);
	look_close(&l);
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

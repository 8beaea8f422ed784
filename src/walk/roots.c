// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A thread's stack is searched, from its stack pointer upwards, for return addresses in functions
 * that have the future in their frame. Its type is an argument of the function's. Every aligned
 * address from there on is tried: copies that the future was moved from were never polled, and what
 * is no future hardly ever decodes down to a leaf.
 */
#include "walk/roots.h"

#include <string.h>

#include "runtime/root_frames.h"
#include "runtime/runtime.h"
#include "symbol/symtab.h"
#include "walk/descend.h"

#define MAX_STACK    (UINT64_C(1) << 20)
#define FRAME_BYTES  2048 /* besides the future itself */
#define MAX_FUNCTION (1u << 20)

struct root_function {
	uint64_t addr, end_addr;
	uint32_t object, runtime; /* of the object */
	uint32_t type;
};

struct guess {
	const struct root_function *function;
	uint64_t addr;
	uint64_t score; /* 0: there is none */
	bool is_runtimes_own;
};

struct hunt {
	struct census *census;
	VEC(struct root_function) functions;
	struct types *types; /* by object */
	pthread_mutex_t lock;
	struct snapshot snapshot;
	struct tree tree;
	/* the object whose functions are looked at */
	uint32_t object;
	const struct task_shape *shape;
	uint32_t runtime;
};

static void on_function(void *arg, const struct symbol *s)
{
	struct hunt *h = arg;
	const struct object *o = &h->census->objects->list.v[h->object];
	struct root_function f = {
		.addr = o->base + s->va,
		.end_addr = o->base + s->va + s->size_bytes,
		.object = h->object,
		.runtime = h->runtime,
		.type = LAYOUT_NONE,
	};

	if (s->size_bytes > MAX_FUNCTION)
		return;
	for (const struct root_shape *r = h->shape->roots; r->symbol; r++)
		if (f.type == LAYOUT_NONE && !r->is_entry && strstr(s->name, r->symbol))
			f.type = root_future_of(o->layouts, r,
						layouts_of_function(o->layouts, s->va, r->param));
	if (f.type != LAYOUT_NONE)
		vec_push(&h->functions, f);
}

static void find_functions(struct hunt *h, uint32_t object)
{
	const struct object *o = &h->census->objects->list.v[object];
	const char *path = *o->d->debug_path ? o->d->debug_path : o->open_path;
	struct image *img = o->layouts ? image_open(path, NULL, NULL) : NULL;

	h->object = object;
	for (h->runtime = 0; img && h->runtime < o->d->nr_runtimes; h->runtime++) {
		h->shape = task_shape_of(&o->d->runtimes[h->runtime]);
		if (h->shape->roots)
			symtab_each_function(img, on_function, h);
	}
	image_close(img);
}

/*
 * Whoever is awaited was polled at least once, and a tree ends in leaves. The more there is to be
 * read at these, the better.
 */
static uint64_t judge(const struct tree *t)
{
	uint64_t score = t->values.nr * 1000 + t->nodes.nr;
	bool has_leaf = false;

	if (!t->nodes.nr || t->nodes.v[0].state != TREE_WAITS || t->is_cut)
		return 0;
	vec_each (n, &t->nodes) {
		bool is_awaited =
			n->parent != TREE_NO_NODE && t->nodes.v[n->parent].nr_children == 1;

		if (n->state == TREE_PANICKED || (is_awaited && n->state == TREE_NOT_STARTED))
			return 0;
		has_leaf = has_leaf || n->leaf;
	}
	return has_leaf ? score : 0;
}

/* The loop of a worker: block_on of the runtime itself. */
static bool is_runtimes_own(const struct tree *t)
{
	vec_each (n, &t->nodes)
		if (tree_is_generated(n) && n->owner != SOURCE_OF_RUNTIME)
			return false;
	return true;
}

static void try_place(struct hunt *h, const struct root_function *f, uint64_t addr,
		      struct guess *best)
{
	size_t nr_copies = h->snapshot.copies.nr, nr_bytes = h->snapshot.bytes.nr;
	struct descent d = {
		.census = h->census,
		.types = h->types,
		.snapshot = &h->snapshot,
		.tree = &h->tree,
	};
	uint64_t score;

	tree_reset(&h->tree);
	descend(&d, f->object, f->type, addr);
	score = d.is_torn ? 0 : judge(&h->tree);
	if (score > best->score)
		*best = (struct guess){ f, addr, score, is_runtimes_own(&h->tree) };
	h->snapshot.copies.nr = nr_copies;
	h->snapshot.bytes.nr = nr_bytes;
}

static const struct root_function *function_at(const struct hunt *h, uint64_t addr)
{
	vec_each (f, &h->functions)
		if (addr > f->addr && addr <= f->end_addr)
			return f;
	return NULL;
}

static void add_root(struct hunt *h, uint32_t tid, const struct guess *g)
{
	struct census *c = h->census;
	const struct root_function *f = g->function;
	const struct layout *l = types_get(&h->types[f->object], f->type)->layout;
	struct found_table *found = xcalloc(1, sizeof(*found));
	char *name = root_future_name(l);

	found->kind = TRACE_BLOCK_ON;
	found->runtime = f->runtime;
	vec_push(&c->names, name); /* the census keeps it */
	found->name = name;
	found->scheduler = "";
	found->file = l->kind == LAYOUT_COROUTINE ? l->file : "";
	found->line = l->kind == LAYOUT_COROUTINE ? l->first_line : 0;
	found->nr_candidates = 1;
	vec_push(&c->roots, found);
	vec_push(&c->tasks, (struct census_task){
				    .addr = g->addr,
				    .id = tid,
				    .table = c->tables.nr,
				    .state = TASK_IDLE,
			    });
	vec_push(&c->tables, (struct census_table){
				     .found = found,
				     .object = f->object,
				     .root = { .task_bytes = l->size_bytes, .type = f->type },
			     });
}

static void search_thread(struct hunt *h, const struct memory_thread *t)
{
	const struct memory_area *a = t->sp ? memory_area(h->census->memory, t->sp) : NULL;
	uint64_t sp = ROUND_UP(t->sp, 8), len, word;
	struct guess best = { 0 };

	if (!a || a->held_end <= sp)
		return;
	len = MIN(a->held_end - sp, MAX_STACK) / 8 * 8;
	snapshot_reset(&h->snapshot);
	if (!snapshot_add(&h->snapshot, sp, len))
		return;
	for (uint64_t at = sp; at < sp + len; at += 8) {
		const struct root_function *f;
		uint64_t end;

		if (!snapshot_number(&h->snapshot, at, 8, &word))
			return;
		f = function_at(h, word);
		if (!f)
			continue;
		end = at + FRAME_BYTES +
		      types_get(&h->types[f->object], f->type)->layout->size_bytes;
		for (uint64_t place = at + 8; place < MIN(end, sp + len); place += 8)
			try_place(h, f, place, &best);
	}
	if (best.score && !best.is_runtimes_own)
		add_root(h, t->tid, &best);
}

void roots_find(struct census *c)
{
	size_t nr = c->objects->list.nr;
	struct hunt h = {
		.census = c,
		.types = xcalloc(nr + 1, sizeof(*h.types)),
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};

	snapshot_init(&h.snapshot, c->memory);
	for (size_t i = 0; i < nr; i++) {
		types_init(&h.types[i], &c->objects->list.v[i], &h.lock);
		find_functions(&h, i);
	}
	if (h.functions.nr)
		vec_each (t, &c->memory->threads)
			search_thread(&h, t);
	for (size_t i = 0; i < nr; i++)
		types_release(&h.types[i]);
	free(h.types);
	snapshot_release(&h.snapshot);
	tree_release(&h.tree);
	vec_release(&h.functions);
}

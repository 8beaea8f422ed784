// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A thread's stack is searched, from its stack pointer upwards, for return addresses in functions
 * that have the future in their frame. Its type is an argument of the function's. Every aligned
 * address from there on is tried: copies that the future was moved from were never polled, and what
 * is no future hardly ever decodes down to a leaf.
 *
 * Which of these functions is one of its own and which was inlined, and into what, is up to the
 * compiler: of each function on the stack debug info is asked what is inside of it.
 */
#include "walk/roots.h"

#include <string.h>

#include "base/map.h"
#include "future/root_frames.h"
#include "runtime/runtime.h"
#include "symbol/symtab.h"
#include "walk/descend.h"
#include "walk/sound.h"

#define MAX_STACK    (UINT64_C(1) << 20)
#define FRAME_BYTES  2048 /* besides the future itself */
#define MAX_FUNCTION (1u << 20)

/* Code of a function that a future is awaited in, wherever it was inlined. */
struct root_code {
	uint64_t addr, end_addr;
	uint32_t object, runtime; /* of the object */
	uint32_t type;
	bool is_programs; /* the program itself waits there, and not the runtime */
};

struct guess {
	struct root_code code; /* that led to it */
	uint64_t addr;
	uint64_t score; /* 0: there is none */
	uint64_t sight; /* what is seen there */
	bool is_runtimes_own;
	bool is_doubtful; /* something else is seen elsewhere, and scores as much */
};

/* A function's part of the hunt's codes. */
struct spot {
	size_t first, nr;
};

/* What was found of an object so far. */
struct text {
	struct image *img; /* NULL: it has no roots, or nothing tells */
	struct symtab *symbols;
	struct map seen; /* va of a function -> index of its spot */
	VEC(struct spot) spots;
};

struct hunt {
	struct census *census;
	VEC(struct root_code) codes;
	struct text *texts;  /* by object */
	struct types *types; /* by object */
	pthread_mutex_t lock;
	struct snapshot snapshot;
	struct tree tree;
	/* of the thread that is looked at */
	struct guess best;
	VEC(const char *) entered; /* names of types that the program waits for there */
};

static const char *type_name(const struct hunt *h, uint32_t object, uint32_t type)
{
	return layouts_get(h->census->objects->list.v[object].layouts, type)->name;
}

static void add_code(struct hunt *h, struct root_code code, uint64_t va, uint64_t end_va)
{
	const struct object *o = &h->census->objects->list.v[code.object];

	if (code.type == LAYOUT_NONE)
		return;
	code.addr = o->base + va;
	code.end_addr = o->base + end_va;
	code.is_programs = code.is_programs || root_future_is_programs(o->layouts, code.type);
	vec_push(&h->codes, code);
}

/* A function that the compiler made one of several has no debug info of its own, but a type if all
 * of them agree. */
static void look_for(struct hunt *h, const struct symbol *s, const struct root_shape *r,
		     struct root_code code)
{
	struct layouts *l = h->census->objects->list.v[code.object].layouts;
	struct layout_pinned *found = NULL;
	size_t nr;

	code.is_programs = r->is_entry;
	if (strstr(s->name, r->symbol)) {
		code.type = root_future_of(l, r, layouts_of_function(l, s->va, r->param));
		add_code(h, code, s->va, s->va + s->size_bytes);
	}
	nr = layouts_pinned(l, s->va, r->symbol, r->param, LAYOUT_HUNT_CODE, &found);
	for (size_t i = 0; i < nr; i++) {
		code.type = root_future_of(l, r, found[i].type);
		add_code(h, code, found[i].va, found[i].end_va);
	}
	free(found);
}

static void look_at_function(struct hunt *h, uint32_t object, const struct symbol *s)
{
	const struct discovery *d = h->census->objects->list.v[object].d;

	for (uint32_t i = 0; i < d->nr_runtimes; i++) {
		const struct root_shape *r = task_shape_of(&d->runtimes[i])->roots;

		for (; r && r->symbol; r++)
			look_for(h, s, r, (struct root_code){ .object = object, .runtime = i });
	}
}

/* The code around a return address of that object; NULL: nobody's. */
static const struct spot *spot_at(struct hunt *h, uint32_t object, uint64_t addr)
{
	struct text *t = &h->texts[object];
	uint64_t va = addr - h->census->objects->list.v[object].base - 1, *index;
	const struct symbol *s = t->img ? symtab_function(t->symbols, va) : NULL;
	bool was_there;

	if (!s || s->size_bytes > MAX_FUNCTION)
		return NULL;
	index = map_put(&t->seen, s->va, &was_there);
	if (!was_there) {
		struct spot spot = { .first = h->codes.nr };

		look_at_function(h, object, s);
		spot.nr = h->codes.nr - spot.first;
		*index = t->spots.nr;
		vec_push(&t->spots, spot);
	}
	return &t->spots.v[*index];
}

static void open_text(struct hunt *h, uint32_t object)
{
	const struct object *o = &h->census->objects->list.v[object];
	const char *path = *o->d->debug_path ? o->d->debug_path : o->open_path;
	struct text *t = &h->texts[object];
	bool has_roots = false;

	for (uint32_t i = 0; i < o->d->nr_runtimes; i++)
		has_roots = has_roots || task_shape_of(&o->d->runtimes[i])->roots;
	if (o->layouts && has_roots)
		t->img = image_open(path, NULL, NULL);
	if (t->img)
		t->symbols = symtab_new(t->img);
}

static void release_text(struct text *t)
{
	symtab_free(t->symbols);
	image_close(t->img);
	map_release(&t->seen);
	vec_release(&t->spots);
}

/*
 * Futures that the compiler made have a state, and a handle leads to a task: it takes one of these
 * to tell a future from whatever else lies on a stack. Of a lone `Sleep` nothing does.
 */
static bool has_proof(const struct tree *t)
{
	vec_each (n, &t->nodes)
		if (tree_is_generated(n) && n->state == TREE_WAITS)
			return true;
	vec_each (v, &t->values)
		if (v->field->unit == LEAF_TASK)
			return true;
	return false;
}

static bool is_node_sound(const struct hunt *h, const struct tree_node *n)
{
	return n->state != TREE_WAITS || tree_is_generated(n) ||
	       value_is_sound(&h->snapshot,
			      (struct value){ &h->types[n->object], n->type_id, n->addr });
}

/*
 * Whoever is awaited was polled at least once, and a tree ends in leaves. The more there is to be
 * read at these, the better.
 */
static uint64_t judge(const struct hunt *h, const struct tree *t)
{
	uint64_t score = t->values.nr * 1000 + t->nodes.nr;
	bool has_leaf = false;

	if (!t->nodes.nr || t->nodes.v[0].state != TREE_WAITS || t->is_cut || !has_proof(t))
		return 0;
	vec_each (n, &t->nodes) {
		bool is_awaited =
			n->parent != TREE_NO_NODE && t->nodes.v[n->parent].nr_children == 1;

		if (n->state == TREE_PANICKED || (is_awaited && n->state == TREE_NOT_STARTED) ||
		    !is_node_sound(h, n))
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

/* Where it waits, and for which tasks. */
static uint64_t sight_of(const struct tree *t)
{
	uint64_t sight = tree_hash(t);

	vec_each (v, &t->values)
		if (v->field->unit == LEAF_TASK)
			sight = map_hash(sight ^ v->task_addr);
	return sight;
}

static void try_place(struct hunt *h, const struct root_code *code, uint64_t addr)
{
	size_t nr_copies = h->snapshot.copies.nr, nr_bytes = h->snapshot.bytes.nr;
	struct descent d = {
		.census = h->census,
		.types = h->types,
		.snapshot = &h->snapshot,
		.tree = &h->tree,
	};
	uint64_t score, sight;

	tree_reset(&h->tree);
	descend(&d, code->object, code->type, addr);
	score = d.is_torn ? 0 : judge(h, &h->tree);
	sight = score ? sight_of(&h->tree) : 0;
	if (score > h->best.score)
		h->best = (struct guess){ *code, addr, score, sight, is_runtimes_own(&h->tree) };
	else if (score && score == h->best.score && code->type == h->best.code.type &&
		 sight != h->best.sight)
		h->best.is_doubtful = true;
	h->snapshot.copies.nr = nr_copies;
	h->snapshot.bytes.nr = nr_bytes;
}

static void add_root(struct hunt *h, uint32_t tid, const struct guess *g)
{
	struct census *c = h->census;
	const struct root_code *f = &g->code;
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

static bool is_entered(const struct hunt *h, const struct root_code *code)
{
	const char *name = type_name(h, code->object, code->type);

	vec_each (entered, &h->entered)
		if (strcmp(*entered, name) == 0)
			return true;
	return false;
}

/* Functions that were inlined into each other wait for the same future. */
static bool is_told(const struct hunt *h, const struct spot *spot, size_t i, uint64_t addr)
{
	const struct root_code *v = h->codes.v;

	for (size_t k = spot->first; k < i; k++)
		if (v[k].type == v[i].type && addr > v[k].addr && addr <= v[k].end_addr)
			return true;
	return false;
}

/* `at` is where on the stack a return address lies that code of the spot may be called by. */
static void search_frame(struct hunt *h, const struct spot *spot, uint64_t addr, uint64_t at,
			 uint64_t stack_end)
{
	for (size_t i = spot->first; i < spot->first + spot->nr; i++) {
		const struct root_code *c = &h->codes.v[i];
		uint64_t end;

		if (addr <= c->addr || addr > c->end_addr)
			continue;
		if (c->is_programs && !is_entered(h, c))
			vec_push(&h->entered, type_name(h, c->object, c->type));
		if (is_told(h, spot, i, addr))
			continue;
		end = at + FRAME_BYTES +
		      types_get(&h->types[c->object], c->type)->layout->size_bytes;
		for (uint64_t place = at + 8; place < MIN(end, stack_end); place += 8)
			try_place(h, c, place);
	}
}

static void search_stack(struct hunt *h, uint64_t sp, uint64_t len)
{
	uint64_t word;

	for (uint64_t at = sp; at < sp + len; at += 8) {
		if (!snapshot_number(&h->snapshot, at, 8, &word))
			return;
		for (uint32_t i = 0; i < h->census->objects->list.nr; i++) {
			const struct spot *spot = spot_at(h, i, word);

			if (spot)
				search_frame(h, spot, word, at, sp + len);
		}
	}
}

static void search_thread(struct hunt *h, const struct memory_thread *t)
{
	const struct memory_area *a = t->sp ? memory_area(h->census->memory, t->sp) : NULL;
	uint64_t sp = ROUND_UP(t->sp, 8), len;

	h->best = (struct guess){ 0 };
	h->entered.nr = 0;
	if (!a || a->held_end <= sp)
		return;
	len = MIN(a->held_end - sp, MAX_STACK) / 8 * 8;
	snapshot_reset(&h->snapshot);
	if (!snapshot_add(&h->snapshot, sp, len))
		return;
	search_stack(h, sp, len);
	if (h->best.score && !h->best.is_doubtful &&
	    (!h->best.is_runtimes_own || is_entered(h, &h->best.code)))
		add_root(h, t->tid, &h->best);
	else if (h->entered.nr)
		vec_push(&h->census->rootless, t->tid);
}

void roots_find(struct census *c)
{
	size_t nr = c->objects->list.nr;
	struct hunt h = {
		.census = c,
		.texts = xcalloc(nr + 1, sizeof(*h.texts)),
		.types = xcalloc(nr + 1, sizeof(*h.types)),
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};

	snapshot_init(&h.snapshot, c->memory);
	for (size_t i = 0; i < nr; i++) {
		types_init(&h.types[i], &c->objects->list.v[i], &h.lock);
		open_text(&h, i);
	}
	vec_each (t, &c->memory->threads)
		search_thread(&h, t);
	for (size_t i = 0; i < nr; i++) {
		release_text(&h.texts[i]);
		types_release(&h.types[i]);
	}
	free(h.texts);
	free(h.types);
	snapshot_release(&h.snapshot);
	tree_release(&h.tree);
	vec_release(&h.codes);
	vec_release(&h.entered);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The future of a root lies in the frame of block_on, always at the same place of it. Debug info
 * says where, and is not believed alone: either the function's code must use what is there as this
 * future, or a pointer in the same frame must lead there, which the agent looks at each time.
 */
#include "runtime/root_frames.h"

#include <string.h>

#include "runtime/source.h"
#include "symbol/code.h"
#include "symbol/demangle.h"
#include "symbol/symtab.h"

#define PARK	      "5Inner4park"
#define MAX_FUNCTION  (1u << 20)
#define MAX_WRAPPERS  8
#define MAX_ARGUMENTS 8

/* Functions that block_on is, or may have been inlined into. */
static const char *const around[] = { "block_on", "enter_runtime", "LocalKey", "4main" };

struct search {
	struct recipe_book *book;
	struct layouts *layouts;
	const struct image *img;
	const struct root_shape *shapes;
	uint64_t base;
	struct wire_framed *out;
	uint32_t nr, max;
	bool is_blind; /* not all waits by the crate parking are seen */
};

uint32_t root_last_argument(struct layouts *l, const char *name)
{
	struct span args[MAX_ARGUMENTS];
	size_t nr = type_args(name, strlen(name), args, MAX_ARGUMENTS);
	uint32_t type = LAYOUT_NONE;
	char *last;

	if (nr && nr <= MAX_ARGUMENTS) {
		last = xstrndup(args[nr - 1].s, args[nr - 1].len);
		type = layouts_named(l, last);
		free(last);
	}
	return type;
}

/*
 * Not what the runtime's own threads wait for: of its futures only those that hold one of the
 * program's, which is their last type argument.
 */
static bool is_programs(struct layouts *l, uint32_t type)
{
	for (unsigned i = 0; i < MAX_WRAPPERS; i++) {
		const struct layout *t = layouts_get(l, type);

		if (t->kind == LAYOUT_COROUTINE && source_owner(t->file) == SOURCE_OF_PROGRAM)
			return true;
		type = root_last_argument(l, t->name);
	}
	return false;
}

/*
 * Puts right where it lies. True: the function's code says so, too; false: only debug info does, or
 * nobody.
 */
static bool is_sure(const struct search *s, const struct symbol *function, struct layout_pinned *p,
		    bool is_argument)
{
	const struct layout *t = layouts_get(s->layouts, p->type);
	struct code_function code = { function->va, function->size_bytes, p->frame_by_rbp };
	struct code_pinned pinned = { .by_rbp = p->by_rbp,
				      .off = p->off,
				      .state_off = t->discr_off,
				      .state_bytes = t->discr_bytes,
				      .bodies = t->bodies,
				      .nr_bodies = t->nr_bodies };

	if (is_argument)
		return t->size_bytes == 8 &&
		       code_keeps_argument(s->img, function->va, function->size_bytes, &pinned);
	if (t->kind != LAYOUT_COROUTINE || t->discr_off >= t->size_bytes)
		return false;
	if (p->is_placed && code_uses_pinned(s->img, function->va, function->size_bytes, &pinned))
		return true;
	if (!code_find_pinned(s->img, &code, p->va, p->end_va, &pinned) ||
	    (p->is_placed && (p->by_rbp != pinned.by_rbp || p->off != pinned.off)))
		return false;
	p->is_placed = true;
	p->by_rbp = pinned.by_rbp;
	p->off = pinned.off;
	return true;
}

static void add(struct search *s, const struct symbol *function, struct layout_pinned *p,
		bool is_argument)
{
	uint64_t bytes = layouts_get(s->layouts, p->type)->size_bytes;
	bool has_code = is_sure(s, function, p, is_argument);
	struct task_place place = { .type = p->type };
	struct wire_framed *f = &s->out[s->nr];

	if (s->nr == s->max || !bytes || bytes > UINT32_MAX || !p->is_placed ||
	    (!has_code && (is_argument || !p->has_pointer)) || p->va < function->va ||
	    p->end_va > function->va + function->size_bytes)
		return;
	*f = (struct wire_framed){
		.addr = s->base + p->va,
		.end_addr = s->base + p->end_va,
		.recipe = recipe_compile(s->book, &place),
		.bytes = bytes,
		.off = p->off,
		.pointer_off = p->pointer_off,
		.by_rbp = p->by_rbp,
		.has_pointer = !has_code,
	};
	s->nr += f->recipe != 0;
}

/* The function that is redirected must not have been inlined where it is called. */
static void look_for_copies(void *arg, const struct symbol *symbol)
{
	struct search *s = arg;

	if (strstr(symbol->name, "7parking") &&
	    (strstr(symbol->name, "6Parker4park") || strstr(symbol->name, "6Parker12park")) &&
	    layouts_inlines(s->layouts, symbol->va, PARK))
		s->is_blind = true;
}

static void on_function(void *arg, const struct symbol *symbol)
{
	struct search *s = arg;
	bool is_around = false;

	for (size_t i = 0; i < ARRAY_SIZE(around); i++)
		is_around = is_around || strstr(symbol->name, around[i]);
	if (!is_around || symbol->size_bytes > MAX_FUNCTION)
		return;
	for (const struct root_shape *r = s->shapes; r->symbol; r++) {
		struct layout_pinned *found = NULL;
		size_t nr = 0;

		if (r->is_pinned || r->is_argument)
			nr = layouts_pinned(s->layouts, symbol->va, r->symbol, r->param,
					    r->is_argument, &found);
		if (r->has_workers && nr &&
		    (s->is_blind || layouts_inlines(s->layouts, symbol->va, PARK)))
			nr = 0;
		for (size_t i = 0; i < nr; i++)
			if (!r->has_workers || is_programs(s->layouts, found[i].type))
				add(s, symbol, &found[i], r->is_argument);
		free(found);
	}
}

uint32_t root_frames_find(struct recipe_book *b, struct layouts *l, const struct discovery *d,
			  const char *path, uint64_t base, struct wire_framed *out, uint32_t max)
{
	struct image *img = d->roots.nr_redirects ? image_open(path, NULL, NULL) : NULL;
	struct search s = { b, l, img, NULL, base, out, 0, max, false };

	if (img && d->roots.nr_parks)
		symtab_each_function(img, look_for_copies, &s);
	for (uint32_t i = 0; img && i < d->nr_runtimes; i++) {
		s.shapes = task_shape_of(&d->runtimes[i])->roots;
		if (s.shapes)
			symtab_each_function(img, on_function, &s);
	}
	image_close(img);
	return s.nr;
}

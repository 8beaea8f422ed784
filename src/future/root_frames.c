// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The future of a root lies in the frame of block_on, always at the same place of it. Debug info
 * says where, and is not believed alone: either the function's code must use what is there as this
 * future, or a pointer in the same frame must lead there, which the agent looks at each time.
 */
#include "future/root_frames.h"

#include <string.h>

#include "runtime/source.h"
#include "symbol/code.h"
#include "symbol/demangle.h"
#include "symbol/extent.h"
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
	struct code_frames *frames;
	struct extents *extents;
	uint64_t base;
	VEC(struct symbol) functions;
	bool is_blind; /* not all waits by the crate parking are seen */
	const struct discovery *d;
	uint32_t runtime;
	const struct task_shape *shape; /* of that runtime */
	struct root_frame *out;
	uint32_t nr, max;
};

static uint32_t argument(struct layouts *l, const char *name, bool is_last)
{
	struct span args[MAX_ARGUMENTS];
	size_t nr = type_args(name, strlen(name), args, MAX_ARGUMENTS);
	uint32_t type = LAYOUT_NONE;
	struct span *arg;
	char *text;

	if (nr && nr <= MAX_ARGUMENTS) {
		arg = &args[is_last ? nr - 1 : 0];
		text = xstrndup(arg->s, arg->len);
		type = layouts_named(l, text);
		free(text);
	}
	return type;
}

uint32_t root_future_of(struct layouts *l, const struct root_shape *r, uint32_t type)
{
	const char *name, *at;

	if (type == LAYOUT_NONE || !r->closure)
		return type;
	name = layouts_get(l, type)->name;
	at = strstr(name, r->closure);
	/* not a closure that only has such a one among its type arguments */
	return at && at < name + strcspn(name, "<") ? argument(l, name, true) : LAYOUT_NONE;
}

char *root_future_name(const struct layout *l)
{
	return l->kind == LAYOUT_COROUTINE && *l->function
		       ? xstrdup(l->function)
		       : readable_type(l->name, strlen(l->name), false);
}

bool root_future_is_programs(struct layouts *l, uint32_t type)
{
	for (unsigned i = 0; i < MAX_WRAPPERS; i++) {
		const struct layout *t = layouts_get(l, type);

		if (t->kind == LAYOUT_COROUTINE && source_owner(t->file) == SOURCE_OF_PROGRAM)
			return true;
		type = argument(l, t->name, true);
	}
	return false;
}

/* What the runtime put around the future that it was given has nothing to say. */
static bool is_shell(const struct search *s, const struct layout *t)
{
	if (str_has_prefix(t->name, "core::pin::Pin<") ||
	    str_has_prefix(t->name, "alloc::boxed::Box<") ||
	    (s->shape->shell && str_has_prefix(t->name, s->shape->shell)))
		return true;
	return t->kind == LAYOUT_COROUTINE && source_owner(t->file) == SOURCE_OF_RUNTIME;
}

/* The coroutine of the program's own inside of the runtime's shells; otherwise the type itself. */
static uint32_t without_shells(const struct search *s, uint32_t type)
{
	struct layouts *l = s->layouts;
	uint32_t inner = type;

	for (unsigned i = 0; i < MAX_WRAPPERS && inner != LAYOUT_NONE; i++) {
		const struct layout *t = layouts_get(l, inner);

		if (t->kind == LAYOUT_COROUTINE && source_owner(t->file) == SOURCE_OF_PROGRAM)
			return inner;
		if (!is_shell(s, t))
			break;
		inner = argument(l, t->name, !str_has_prefix(t->name, "alloc::boxed::Box<"));
	}
	return type;
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

static bool is_inside(const struct symbol *function, const struct layout_pinned *p)
{
	return p->va >= function->va && p->end_va <= function->va + function->size_bytes;
}

static void push(struct search *s, const struct layout_pinned *p, uint32_t future,
		 const struct wire_framed *plan)
{
	struct root_frame *f = &s->out[s->nr];
	uint32_t runtime = s->runtime;

	if (s->nr == s->max)
		return;
	if (s->shape->root_maker && future != LAYOUT_NONE)
		runtime =
			s->shape->root_maker(s->d, runtime, layouts_get(s->layouts, future)->name);
	*f = (struct root_frame){ *plan, runtime, without_shells(s, future) };
	f->plan.addr = s->base + p->va;
	f->plan.end_addr = s->base + p->end_va;
	s->nr++;
}

static void add(struct search *s, const struct symbol *function, struct layout_pinned *p,
		const struct root_shape *r)
{
	uint64_t bytes = layouts_get(s->layouts, p->type)->size_bytes;
	bool has_code = is_sure(s, function, p, r->is_argument);
	struct task_place place = { .task_bytes = bytes, .type = p->type };
	struct wire_framed f = { .bytes = bytes,
				 .off = p->off,
				 .pointer_off = p->pointer_off,
				 .by_frame_pointer = p->by_rbp,
				 .has_pointer = !has_code };

	if (!bytes || bytes > UINT32_MAX || !p->is_placed ||
	    (!has_code && (r->is_argument || !p->has_pointer)) || !is_inside(function, p))
		return;
	f.recipe = recipe_compile(s->book, &place);
	if (f.recipe)
		push(s, p, r->has_workers ? p->type : LAYOUT_NONE, &f);
}

static void add_entry(struct search *s, const struct symbol *function,
		      const struct layout_pinned *p, const struct root_shape *r)
{
	uint32_t future = root_future_of(s->layouts, r, p->type);

	if (future != LAYOUT_NONE && is_inside(function, p))
		push(s, p, future, &(struct wire_framed){ 0 });
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

/* Does the stack pointer tell where the frame is, wherever the function may wait? */
static bool is_steady(struct search *s, const struct symbol *f, const struct layout_pinned *p)
{
	struct code_function code = { f->va, f->size_bytes, p->frame_by_rbp };

	if (p->frame_bytes && !s->frames)
		s->frames = code_frames_new(s->img);
	return !p->frame_bytes || code_keeps_depth(s->frames, s->img, &code, p->frame_bytes);
}

static void look_at(struct search *s, const struct symbol *f, const struct root_shape *r)
{
	enum layout_hunt what = r->is_argument ? LAYOUT_HUNT_ARGUMENT
				: r->is_entry  ? LAYOUT_HUNT_CODE
					       : LAYOUT_HUNT_VALUE;
	struct layout_pinned *found = NULL;
	size_t nr = layouts_pinned(s->layouts, f->va, r->symbol, r->param, what, &found);

	if (r->has_workers && nr && (s->is_blind || layouts_inlines(s->layouts, f->va, PARK)))
		nr = 0;
	if (nr && !is_steady(s, f, &found[0]))
		nr = 0;
	for (size_t i = 0; i < nr; i++) {
		if (r->is_entry)
			add_entry(s, f, &found[i], r);
		else if (!r->has_workers || root_future_is_programs(s->layouts, found[i].type))
			add(s, f, &found[i], r);
	}
	free(found);
}

static void collect(void *arg, const struct symbol *symbol)
{
	struct search *s = arg;
	bool is_around = false;

	for (size_t i = 0; i < ARRAY_SIZE(around); i++)
		is_around = is_around || strstr(symbol->name, around[i]);
	if (is_around && symbol->size_bytes <= MAX_FUNCTION &&
	    extents_agree(s->extents, symbol->va, symbol->size_bytes))
		vec_push(&s->functions, *symbol);
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

/* Functions that the compiler made one of several are nobody's. */
static void look_at_all(struct search *s)
{
	const struct symbol *v = s->functions.v;

	for (size_t i = 0, end; i < s->functions.nr; i = end) {
		for (end = i + 1; end < s->functions.nr && v[end].va == v[i].va; end++)
			;
		for (const struct root_shape *r = s->shape->roots; end == i + 1 && r->symbol; r++)
			if (r->is_pinned || r->is_argument || r->is_entry)
				look_at(s, &v[i], r);
	}
}

uint32_t root_frames_find(struct recipe_book *b, struct layouts *l, const struct discovery *d,
			  const char *path, uint64_t base, struct root_frame *out, uint32_t max)
{
	struct image *img = d->roots.nr_redirects ? image_open(path, NULL, NULL) : NULL;
	struct search s = {
		.book = b, .layouts = l, .img = img, .d = d, .base = base, .out = out, .max = max
	};

	if (img && d->roots.nr_parks)
		symtab_each_function(img, look_for_copies, &s);
	if (img) {
		s.extents = extents_new(img);
		symtab_each_function(img, collect, &s);
	}
	if (s.functions.nr)
		qsort(s.functions.v, s.functions.nr, sizeof(*s.functions.v), by_address);
	for (; img && s.runtime < d->nr_runtimes; s.runtime++) {
		const struct found_runtime *r = &d->runtimes[s.runtime];

		s.shape = task_shape_of(r);
		/* runtimes that are made of another have its roots */
		if (s.shape->roots && (!s.runtime || r->descriptor != r[-1].descriptor ||
				       !strcmp(r->name, r[-1].name)))
			look_at_all(&s);
	}
	vec_release(&s.functions);
	code_frames_free(s.frames);
	extents_free(s.extents);
	image_close(img);
	return s.nr;
}

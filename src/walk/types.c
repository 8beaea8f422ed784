// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/types.h"

#include <string.h>

#include "symbol/symtab.h"

#define MAX_STATICS 16 /* of one name: copies of a crate in one program */

static const struct layout no_layout = { .name = "" };
static struct type no_type = { .layout = &no_layout };

/* Types whose answer is being looked for. */
struct search {
	VEC(uint32_t) ids;
};

void types_init(struct types *t, const struct object *o, pthread_mutex_t *lock)
{
	*t = (struct types){ .object = o, .lock = lock };
}

void types_release(struct types *t)
{
	vec_each (x, &t->known) {
		if (*x)
			vec_release(&(*x)->parts);
		free(*x);
	}
	vec_release(&t->known);
	vec_release(&t->statics);
	map_release(&t->tables);
}

static struct type *type_new(const struct layout *l)
{
	struct type *t = xcalloc(1, sizeof(*t));

	t->layout = l;
	t->leaf = leaf_find(l->name);
	t->list = t->leaf ? NULL : leaf_find_list(l->name);
	t->guard = leaf_find_guard(l->name);
	t->role = type_role(l);
	t->shared = t->role == TYPE_ARC ? leaf_find_shared(l->name) : NULL;
	/* its poll may be gone from debug info: it is nothing */
	t->is_never = leaf_is_never(l->name);
	t->is_node = type_is_future(l) || t->is_never;
	t->is_fed = leaf_is_fed(l->name);
	t->is_closure = type_is_closure(l);
	t->polls_closure = type_is_poll_fn(l);
	t->is_tuple = l->name[0] == '(';
	t->is_counted = type_is_counted(l);
	if (l->kind == LAYOUT_COROUTINE)
		t->owner = source_owner(l->file);
	t->holds = t->role != TYPE_NOTHING &&
		   (t->is_never || l->is_future || t->leaf || t->role == TYPE_DYN ||
		    t->role == TYPE_TRAIT || t->role == TYPE_ARC || (t->list && !t->list->param));
	return t;
}

/* The entry of a type, made if there is none yet; NULL: no such type. */
static struct type *entry(struct types *t, uint32_t id, bool *was_there)
{
	const struct layout *l;

	if (id == LAYOUT_NONE || !t->object->layouts)
		return NULL;
	*was_there = id < t->known.nr && t->known.v[id];
	if (*was_there)
		return t->known.v[id];
	pthread_mutex_lock(t->lock);
	l = layouts_get(t->object->layouts, id);
	pthread_mutex_unlock(t->lock);
	if (id >= t->known.nr) {
		size_t more = id + 1 - t->known.nr;

		vec_grow(&t->known, more);
		memset(t->known.v + t->known.nr, 0, more * sizeof(*t->known.v));
		t->known.nr += more;
	}
	return t->known.v[id] = type_new(l);
}

typedef bool part_fn(void *arg, uint32_t id);

static bool each_member(const struct layout_member *m, uint32_t nr, part_fn *fn, void *arg)
{
	for (uint32_t i = 0; i < nr; i++)
		if (fn(arg, m[i].type))
			return true;
	return false;
}

/* Calls fn for the types that a value of this type has or owns, until it says true. */
static bool each_part(const struct type *t, part_fn *fn, void *arg)
{
	const struct layout *l = t->layout;

	switch (t->role) {
	case TYPE_POINTER:
	case TYPE_ARRAY:
		return fn(arg, l->target);
	case TYPE_LIST:
		for (uint32_t i = 0; t->list->param && i < l->nr_params; i++)
			if (strcmp(l->params[i].name, t->list->param) == 0)
				return fn(arg, l->params[i].type);
		return false;
	case TYPE_ENUM:
		for (uint32_t i = 0; i < l->nr_variants; i++)
			if (each_member(l->variants[i].members, l->variants[i].nr_members, fn, arg))
				return true;
		return each_member(l->members, l->nr_members, fn, arg);
	case TYPE_STRUCT:
		return each_member(l->members, l->nr_members, fn, arg);
	default:
		return false;
	}
}

struct visit {
	struct types *types;
	struct search *search;
};

static bool enqueue(void *arg, uint32_t id)
{
	struct visit *v = arg;
	bool was_there;

	if (entry(v->types, id, &was_there) && !was_there)
		vec_push(&v->search->ids, id);
	return false;
}

static bool does_hold(void *arg, uint32_t id)
{
	const struct types *t = arg;

	return id < t->known.nr && t->known.v[id] && t->known.v[id]->holds;
}

/* Of a slice the elements are behind a pointer of no particular kind. */
static uint32_t element_of(struct types *t, const struct type *slice)
{
	const struct layout_member *m = layout_member(slice->layout, "data_ptr");
	bool was_there;
	const struct type *pointer = m ? entry(t, m->type, &was_there) : NULL;

	return pointer ? pointer->layout->target : LAYOUT_NONE;
}

/*
 * Types lead to each other in circles, so all that can be reached are gathered first, and then what
 * holds a future spreads until nothing changes.
 */
static void settle(struct types *t, uint32_t id)
{
	struct search s = { 0 };
	struct visit v = { t, &s };
	bool has_changed = true;

	vec_push(&s.ids, id);
	for (size_t i = 0; i < s.ids.nr; i++) {
		const struct type *x = t->known.v[s.ids.v[i]];

		if (x->role == TYPE_SLICE)
			enqueue(&v, element_of(t, x));
		else
			each_part(x, enqueue, &v);
	}
	while (has_changed) {
		has_changed = false;
		for (size_t i = s.ids.nr; i-- > 0;) {
			struct type *x = t->known.v[s.ids.v[i]];

			if (x->holds)
				continue;
			x->holds = x->role == TYPE_SLICE ? does_hold(t, element_of(t, x))
							 : each_part(x, does_hold, t);
			has_changed = has_changed || x->holds;
		}
	}
	vec_release(&s.ids);
}

const struct type *types_learn(struct types *t, uint32_t id)
{
	bool was_there;
	struct type *x = entry(t, id, &was_there);

	if (x && !was_there)
		settle(t, id);
	return x ? x : &no_type;
}

static bool has_guard(void *arg, uint32_t id)
{
	return types_has_guard(arg, id);
}

bool types_has_guard(struct types *t, uint32_t id)
{
	const struct layout *l = types_get(t, id)->layout;
	struct type *x = id < t->known.nr ? t->known.v[id] : NULL;
	bool is_found;

	if (!x || x->is_searched)
		return x && x->has_guard;
	x->is_searched = true; /* broken debug info may lead back here */
	is_found =
		x->guard || (type_is_box(l) && types_has_guard(t, l->target)) ||
		(l->kind == LAYOUT_STRUCT && each_member(l->members, l->nr_members, has_guard, t));
	for (uint32_t i = 0; l->kind == LAYOUT_ENUM && !is_found && i < l->nr_variants; i++)
		is_found = each_member(l->variants[i].members, l->variants[i].nr_members, has_guard,
				       t);
	return x->has_guard = is_found;
}

const struct type_part *types_add_part(struct types *t, uint32_t id, const struct type_part *p)
{
	struct type *x = id < t->known.nr ? t->known.v[id] : NULL;

	if (!x)
		return NULL;
	vec_push(&x->parts, *p);
	return &x->parts.v[x->parts.nr - 1];
}

uint32_t types_of_table(struct types *t, uint64_t addr)
{
	bool was_there;
	uint64_t *type = map_put(&t->tables, addr, &was_there);
	uint32_t id = LAYOUT_NONE;

	if (was_there)
		return *type;
	if (t->object->layouts) {
		pthread_mutex_lock(t->lock);
		id = layouts_of_vtable(t->object->layouts, addr - t->object->base);
		pthread_mutex_unlock(t->lock);
	}
	*type = id;
	return id;
}

uint32_t types_named(struct types *t, const char *name)
{
	uint32_t id = LAYOUT_NONE;

	if (t->object->layouts) {
		pthread_mutex_lock(t->lock);
		id = layouts_named(t->object->layouts, name);
		pthread_mutex_unlock(t->lock);
	}
	return id;
}

/* Returns how many there are in the file. */
static size_t add_statics(struct types *t, const char *path, const char *symbol)
{
	struct image *img = *path ? image_open(path, path, NULL) : NULL;
	struct symtab *syms = img ? symtab_new(img) : NULL;
	size_t nr = 0;

	for (size_t i = 0; syms && i < syms->nr && nr < MAX_STATICS; i++) {
		struct type_static found = { symbol, t->object->base + syms->v[i].va };

		if (syms->v[i].is_function || !strstr(syms->v[i].name, symbol))
			continue;
		vec_push(&t->statics, found);
		nr++;
	}
	symtab_free(syms);
	image_close(img);
	return nr;
}

static bool is_asked_for(const struct types *t, const char *symbol)
{
	vec_each (s, &t->statics)
		if (s->symbol == symbol)
			return true;
	return false;
}

uint64_t types_static(struct types *t, const char *symbol, uint32_t nth)
{
	if (!is_asked_for(t, symbol) && !add_statics(t, t->object->open_path, symbol) &&
	    !add_statics(t, t->object->d->debug_path, symbol))
		vec_push(&t->statics, (struct type_static){ .symbol = symbol });
	vec_each (s, &t->statics)
		if (s->symbol == symbol && nth-- == 0)
			return s->addr;
	return 0;
}

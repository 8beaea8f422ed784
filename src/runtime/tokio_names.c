// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The functions in a table's slots are instances `poll<T, S>`, `dealloc<T, S>` … of one future type
 * T and one scheduler S. Debug info and v0 symbols spell both out. Compiler and linker merge equal
 * functions, though, and then only one of their names may survive. So a name is believed only where
 * the function serves one table.
 */
#include <string.h>

#include "base/map.h"
#include "runtime/runtime.h"
#include "runtime/tokio.h"
#include "symbol/demangle.h"

/* Slots whose function depends on T, the most telling first. schedule depends on S alone. */
static const uint8_t typed_slots[] = { 0, 2, 3, 4, 5, 6 };

/* A task of a boxed future has room for this much at most, if its output is not large. */
#define MAX_BOX_ROOM 64

/*
 * What the table itself tells of the future's size: the room in the task for it or its output,
 * whichever is larger. Little room may hold the box of a large future, which says nothing: 0.
 */
static uint64_t room_bytes(const struct found_table *t)
{
	const struct wire_table *w = &t->plan;
	uint64_t room = w->trailer_off > w->stage_off ? w->trailer_off - w->stage_off : 0;

	return room > MAX_BOX_ROOM ? room : 0;
}

bool tokio_is_helper(const char *name)
{
	return strstr(name, "tokio::runtime::scheduler::") == name ||
	       str_has_prefix(name, "<tokio::runtime::scheduler::");
}

void tokio_set_type(struct finding *f, struct found_table *t, const char *type, size_t len)
{
	static const char blocking[] = "tokio::runtime::blocking::task::BlockingTask<";
	bool is_blocking =
		len >= sizeof(blocking) && strncmp(type, blocking, sizeof(blocking) - 1) == 0;
	char *name = readable_type(type, len, is_blocking);

	if (is_blocking)
		t->kind = TRACE_BLOCKING;
	if (t->kind == TRACE_BLOCKING && tokio_is_helper(name))
		t->kind = TRACE_HELPER;
	t->name = finding_string(f, name);
	t->nr_candidates = 1;
	free(name);
}

void tokio_set_scheduler(struct found_table *t, const char *scheduler, size_t len)
{
	static const struct {
		const char *mark, *flavour;
	} flavours[] = {
		{ "::multi_thread", "multi_thread" }, /* multi_thread_alt too */
		{ "::current_thread", "current_thread" },
		{ "task::local::", "local" },
		{ "BlockingSchedule", "blocking" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(flavours); i++) {
		if (!memmem(scheduler, len, flavours[i].mark, strlen(flavours[i].mark)))
			continue;
		t->scheduler = flavours[i].flavour;
		if (i == 2)
			t->kind = TRACE_LOCAL;
		else if (i == 3 && t->kind != TRACE_HELPER)
			t->kind = TRACE_BLOCKING;
		else if (i < 2 && t->kind == TRACE_BLOCKING)
			t->kind = TRACE_TASK; /* a handle of unusual size */
		return;
	}
}

/* How many tables have this function in this slot. */
static void count_users(struct finding *f, unsigned slot, struct map *users)
{
	map_clear(users);
	vec_each (t, &f->tables)
		if (t->plan.kind == WIRE_TABLE_TOKIO)
			++*map_put(users, t->plan.words[slot], NULL);
}

static int by_va(const void *a, const void *b)
{
	const struct dwarf_function *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

static struct dwarf_function *find_fn(struct dwarf_function *fns, size_t nr, uint64_t va)
{
	struct dwarf_function key = { .va = va };

	return bsearch(&key, fns, nr, sizeof(*fns), by_va);
}

/* The mangled name of the future's code. Bare line tables leave it to the symbols. */
static const char *body_name(struct finding *f, const struct dwarf_function *fn)
{
	size_t nr = 0;
	const struct symbol *s = fn->body_va ? symtab_at(f->syms, fn->body_va, &nr) : NULL;

	if (fn->body_linkage)
		return fn->body_linkage;
	return nr == 1 ? s->name : NULL; /* of several, any may be another function's */
}

/* The type inside a type, with impl blocks named and in place of debug info's own spelling. */
static char *resolve_impl(struct finding *f, const struct span *type,
			  const struct dwarf_function *fn)
{
	char *text = xstrndup(type->s, type->len), *at, *named, *result;
	const char *body = body_name(f, fn);

	at = fn->env_path && body ? strstr(text, fn->env_path) : NULL;
	if (!at)
		return text;
	named = name_impl(fn->env_path, body);
	result = xasprintf("%.*s%s%s", (int)(at - text), text, named, at + strlen(fn->env_path));
	free(named);
	free(text);
	return result;
}

static bool name_by_dwarf(struct finding *f, struct found_table *t, const struct dwarf_function *fn)
{
	struct span args[2];
	char *type;

	if (!fn || !fn->name || type_args(fn->name, strlen(fn->name), args, 2) != 2)
		return false;
	type = resolve_impl(f, &args[0], fn);
	tokio_set_scheduler(t, args[1].s, args[1].len);
	tokio_set_type(f, t, type, strlen(type));
	free(type);
	if (fn->has_type)
		t->size_bytes = fn->type_bytes;
	f->has_functions = true;
	f->has_types |= fn->has_type;
	if (fn->file) {
		t->file = finding_string(f, fn->file);
		t->line = fn->line;
	}
	return true;
}

/* A table whose functions all serve other tables too: every name that they have is possible. */
static void name_merged(struct finding *f, struct found_table *t, uint32_t nr_users)
{
	if (t->name[0] && t->nr_candidates < nr_users) {
		char *name = xasprintf("%s | ?", t->name);

		t->name = finding_string(f, name);
		t->nr_candidates = nr_users;
		t->size_bytes = room_bytes(t); /* what is told of may be another's */
		free(name);
	}
}

/*
 * "…/registry/src/…/tokio-1.54.1", the folder of the copy of Tokio that has this
 * function.
 */
static const char *copy_of(struct finding *f, const struct dwarf_function *fn)
{
	const char *at =
		fn && fn->decl_file ? strstr(fn->decl_file, "/src/runtime/task/raw.rs") : NULL;

	return at ? intern_get(f->strings,
			       intern_put(f->strings, fn->decl_file, at - fn->decl_file))
		  : "";
}

static size_t copy_number(const char *const *copies, size_t nr, const char *copy)
{
	size_t i = 0;

	while (i < nr && strcmp(copies[i], copy) != 0)
		i++;
	return i;
}

/* A file may hold several copies of Tokio: the folders of their sources tell them apart. */
static void split_copies(struct finding *f, struct dwarf_function *fns, size_t nr)
{
	VEC(const char *) copies = { 0 };
	uint32_t first = f->tables.v[0].runtime, more = f->runtimes.nr;

	vec_each (t, &f->tables) {
		const char *copy = copy_of(f, find_fn(fns, nr, t->plan.words[TOKIO_POLL]));

		if (copy_number(copies.v, copies.nr, copy) == copies.nr)
			vec_push(&copies, copy);
	}
	for (size_t i = 0; copies.nr > 1 && i < copies.nr; i++) {
		const char *version = strstr(copies.v[i], "/tokio-1.");
		uint32_t number = i ? more + i - 1 : first;

		if (i)
			vec_push(&f->runtimes, f->runtimes.v[first]);
		f->runtimes.v[number].version =
			version ? finding_string(f, version + strlen("/tokio-")) : "";
		f->runtimes.v[number].nr_tables = 0;
		vec_each (t, &f->tables) {
			const char *copy = copy_of(f, find_fn(fns, nr, t->plan.words[TOKIO_POLL]));

			if (strcmp(copy, copies.v[i]) != 0)
				continue;
			t->runtime = number;
			f->runtimes.v[number].nr_tables++;
		}
	}
	vec_release(&copies);
}

static void all_by_dwarf(struct finding *f)
{
	VEC(struct dwarf_function) fns = { 0 };
	struct map users = MAP_INIT;
	size_t kept = 0;

	vec_each (t, &f->tables)
		for (size_t i = 0; i < ARRAY_SIZE(typed_slots); i++)
			vec_push(&fns,
				 (struct dwarf_function){ .va = t->plan.words[typed_slots[i]] });
	if (fns.nr)
		qsort(fns.v, fns.nr, sizeof(*fns.v), by_va);
	for (size_t i = 0; i < fns.nr; i++)
		if (!i || fns.v[i].va != fns.v[kept - 1].va)
			fns.v[kept++] = fns.v[i];
	fns.nr = kept;
	dwarf_find(f->dwarf, fns.v, fns.nr);
	split_copies(f, fns.v, fns.nr);
	for (size_t i = 0; i < ARRAY_SIZE(typed_slots); i++) {
		unsigned slot = typed_slots[i];

		count_users(f, slot, &users);
		vec_each (t, &f->tables)
			if (!t->name[0] && *map_get(&users, t->plan.words[slot]) == 1)
				name_by_dwarf(f, t, find_fn(fns.v, fns.nr, t->plan.words[slot]));
	}
	count_users(f, TOKIO_POLL, &users);
	vec_each (t, &f->tables)
		if (!t->name[0] &&
		    name_by_dwarf(f, t, find_fn(fns.v, fns.nr, t->plan.words[TOKIO_POLL])))
			name_merged(f, t, *map_get(&users, t->plan.words[TOKIO_POLL]));
	map_release(&users);
	vec_release(&fns);
}

/* Adds the T of each `…::raw::FN::<T, S>` at this address; takes over the first S. */
static void name_by_v0(struct finding *f, struct found_table *t, uint64_t va)
{
	size_t nr;
	const struct symbol *s = symtab_at(f->syms, va, &nr);

	for (size_t i = 0; i < nr; i++) {
		char *text = demangle_is_v0(s[i].name) ? demangle(s[i].name) : NULL;
		struct span args[2];
		const char *before = t->name;

		if (text && str_has_prefix(text, "tokio::runtime::task::raw::") &&
		    type_args(text, strlen(text), args, 2) == 2) {
			tokio_set_scheduler(t, args[1].s, args[1].len);
			tokio_set_type(f, t, args[0].s, args[0].len);
			if (before[0] && strcmp(before, t->name) != 0) {
				char *both = xasprintf("%s | %s", before, t->name);

				t->name = finding_string(f, both);
				t->nr_candidates = i + 1;
				free(both);
			}
		}
		free(text);
	}
}

static void all_by_v0(struct finding *f)
{
	struct map users = MAP_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(typed_slots); i++) {
		unsigned slot = typed_slots[i];
		size_t nr;

		count_users(f, slot, &users);
		vec_each (t, &f->tables)
			if (!t->name[0] && *map_get(&users, t->plan.words[slot]) == 1 &&
			    symtab_at(f->syms, t->plan.words[slot], &nr) && nr == 1)
				name_by_v0(f, t, t->plan.words[slot]);
	}
	count_users(f, TOKIO_POLL, &users);
	vec_each (t, &f->tables) {
		if (t->name[0])
			continue;
		name_by_v0(f, t, t->plan.words[TOKIO_POLL]);
		name_merged(f, t, *map_get(&users, t->plan.words[TOKIO_POLL]));
	}
	map_release(&users);
}

/* schedule depends on S alone: a table without a known scheduler shares it with one that has. */
static void spread_schedulers(struct finding *f)
{
	vec_each (t, &f->tables)
		vec_each (from, &f->tables)
			if (!t->scheduler[0] && from->scheduler[0] &&
			    t->plan.words[TOKIO_SCHEDULE] == from->plan.words[TOKIO_SCHEDULE]) {
				t->scheduler = from->scheduler;
				if (from->kind == TRACE_LOCAL)
					t->kind = TRACE_LOCAL;
			}
}

/*
 * RawWakerVTable { clone, wake, wake_by_ref, drop } of all Tokio tasks: only its symbol tells it
 * from others.
 */
static bool read_waker(struct finding *f, const struct symbol *s, struct found_table *t)
{
	*t = (struct found_table){ .name = "", .scheduler = "", .file = "" };
	t->plan = (struct wire_table){
		.va = s->va,
		.nr_words = 4,
		.code_mask = 0xf,
		.type = EVENT_TYPE_NONE,
		.kind = WIRE_TABLE_TOKIO_WAKER,
		.slot_poll = WIRE_NO_SLOT,
		.slot_schedule = WIRE_NO_SLOT,
		.slot_dealloc = WIRE_NO_SLOT,
		.slot_shutdown = WIRE_NO_SLOT,
		.slot_wake = 1,
		.slot_wake_by_ref = 2,
		.vtable_off = 16,
	};
	for (unsigned i = 0; i < 4; i++)
		if (!image_word(f->img, s->va + 8 * i, &t->plan.words[i]) ||
		    !image_is_code(f->img, t->plan.words[i]))
			return false;
	return true;
}

static void add_wakers(struct finding *f)
{
	size_t nr = 0;

	for (size_t i = 0; i < f->syms->nr; i++) {
		const struct symbol *s = &f->syms->v[i];
		struct found_table t;

		if (s->is_function || s->size_bytes != 32 ||
		    !strstr(s->name, "5tokio7runtime4task5waker12WAKER_VTABLE") ||
		    !read_waker(f, s, &t))
			continue;
		vec_push(&f->tables, t);
		if (nr <
		    f->runtimes.nr) /* one for each copy of Tokio; whose is whose does not show */
			f->runtimes.v[nr++].waker_known = true;
	}
}

void tokio_give_names(struct finding *f)
{
	if (!f->tables.nr)
		return;
	vec_each (t, &f->tables)
		t->size_bytes = room_bytes(t);
	if (f->dwarf)
		all_by_dwarf(f);
	if (f->syms && f->syms->nr) {
		all_by_v0(f);
		tokio_legacy_names(f);
	}
	spread_schedulers(f);
	if (f->syms)
		add_wakers(f); /* last: the others are about task tables */
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Types by legacy symbols. `raw::poll` and its fellows are mangled without their type arguments,
 * but drop glue is not:
 *
 *	core::ptr::drop_in_place<tokio::runtime::task::core::Cell<T, S>>
 *
 * (also Core<T, S>, CoreStage<T>, Stage<T>), and the slots that free a task call it, directly or
 * through Tokio's own functions. poll is left out: user code inlined into it may drop or spawn
 * other tasks.
 *
 * The compiler merges equal functions and forgets the names of all but one, so glue that a table
 * reaches may bear another type's name. A single name is therefore believed only if it cannot be
 * another table's; otherwise all names reached are given as candidates.
 */
#include <string.h>

#include "base/map.h"
#include "runtime/calls.h"
#include "runtime/names.h"
#include "runtime/tokio.h"
#include "symbol/demangle.h"

#define MAX_FUNCTIONS 48 /* visited from one table */
#define MAX_SHOWN     64 /* candidates in a name */

/* Drop glue that a table reaches, under one of its names. */
struct glue {
	uint32_t type; /* number of the string, as the symbol spells it */
	uint64_t va;
};

/* Who schedules a task, as far as names of functions tell. */
struct flavour {
	const char *text; /* "" unknown; NULL: several */
	enum trace_task_kind kind;
	unsigned depth; /* of Tokio's own functions that may lie between */
};

struct reach {
	uint64_t seen[MAX_FUNCTIONS];
	size_t nr_seen;
	VEC(struct glue) glue;
	VEC(uint32_t) types; /* each once */
	struct flavour flavour;
};

static bool is_glue(const char *mangled)
{
	return strstr(mangled, "drop_in_place$LT$") &&
	       strstr(mangled, "tokio..runtime..task..core..");
}

/* What leads from a slot to the glue. core::mem::drop is a function of its own in debug builds. */
static bool is_tokio_task(const char *mangled)
{
	return str_has_prefix(mangled, "_ZN4core3mem4drop17h") ||
	       strstr(mangled, "5tokio7runtime4task") || strstr(mangled, "5tokio..runtime..task") ||
	       is_glue(mangled);
}

/*
 * The T and S of drop_in_place<[Box<]tokio::runtime::task::core::{Cell,Core}<T,S>>; others have one
 * of them only. False when there is no T.
 */
#define CORE "tokio::runtime::task::core::"

static bool glue_types(const char *text, struct span *type, struct span *scheduler)
{
	static const struct {
		const char *path;
		int type, scheduler; /* number of the argument, -1: none */
	} holders[] = {
		{ CORE "Cell", 0, 1 },	 { CORE "Core", 0, 1 },	      { CORE "CoreStage", 0, -1 },
		{ CORE "Stage", 0, -1 }, { CORE "Scheduler", -1, 0 }, /* before 1.9 */
	};
	uint32_t item, boxed, arg = 0;
	struct rust_name n;
	size_t i = 0;

	rust_name_init(&n, text, strlen(text));
	item = rust_name_only_child(&n, RUST_NAME_ROOT);
	item = item ? rust_name_argument(&n, item, "core::ptr::drop_in_place") : 0;
	boxed = item ? rust_name_argument(&n, item, "alloc::boxed::Box") : 0;
	for (item = boxed ? boxed : item; item && i < ARRAY_SIZE(holders); i++)
		if ((arg = rust_name_argument(&n, item, holders[i].path)))
			break;
	for (int k = 0; arg; k++, arg = n.nodes[arg].next) {
		if (k == holders[i].type)
			*type = rust_name_span(&n, arg);
		if (k == holders[i].scheduler)
			*scheduler = rust_name_span(&n, arg);
	}
	rust_name_release(&n);
	return type->s;
}

static void add_flavour(struct flavour *fl, const struct found_table *probe)
{
	if (!probe->scheduler[0] || !fl->text)
		return;
	if (fl->text[0] && strcmp(fl->text, probe->scheduler) != 0)
		fl->text = NULL;
	else
		fl->text = probe->scheduler;
	fl->kind = probe->kind;
}

static void add_type(struct finding *f, struct reach *r, const struct found_table *t,
		     const struct span *type, uint64_t va)
{
	uint32_t id = intern_put(f->strings, type->s, type->len);

	if (str_has_prefix(intern_get(f->strings, id), tokio_blocking_task) !=
		    (t->kind == TRACE_BLOCKING || t->kind == TRACE_HELPER) &&
	    t->scheduler[0])
		return; /* merged with the glue of a task of the other kind */
	vec_push(&r->glue, (struct glue){ id, va });
	vec_each (have, &r->types)
		if (*have == id)
			return;
	vec_push(&r->types, id);
}

static void add_glue(struct finding *f, struct reach *r, const struct found_table *t,
		     const struct symbol *s, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		char *text = is_glue(s[i].name) ? demangle(s[i].name) : NULL;
		struct found_table probe = { .scheduler = "" };
		struct span type = { NULL, 0 }, scheduler = { "", 0 };

		if (text && glue_types(text, &type, &scheduler)) {
			type = tokio_without_span(type);
			add_type(f, r, t, &type, s->va);
		}
		tokio_set_scheduler(&probe, scheduler.s, scheduler.len);
		add_flavour(&r->flavour, &probe);
		free(text);
	}
}

static bool was_seen(struct reach *r, uint64_t va)
{
	for (size_t i = 0; i < r->nr_seen; i++)
		if (r->seen[i] == va)
			return true;
	if (r->nr_seen == MAX_FUNCTIONS)
		return true;
	r->seen[r->nr_seen++] = va;
	return false;
}

struct visit {
	struct reach *r;
	const struct found_table *t;
	unsigned depth;
};

static void visit(struct finding *f, void *ctx, const struct symbol *s, size_t nr)
{
	struct visit *v = ctx;
	bool is_task = false;

	for (size_t i = 0; i < nr && !is_task; i++)
		is_task = is_tokio_task(s[i].name);
	if (!is_task || was_seen(v->r, s->va))
		return;
	add_glue(f, v->r, v->t, s, nr);
	if (v->depth < 4) {
		v->depth++;
		calls_each(f, s->va, visit, v);
		v->depth--;
	}
}

static int by_id(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void reach_types(struct finding *f, const struct found_table *t, struct reach *r)
{
	const uint8_t telling[] = { t->plan.slot_dealloc, t->plan.slot_shutdown };
	struct visit v = { .r = r, .t = t };

	r->flavour.text = "";
	for (unsigned i = 0; i < ARRAY_SIZE(telling) + t->plan.nr_words; i++) {
		unsigned slot = i < ARRAY_SIZE(telling) ? telling[i] : i - ARRAY_SIZE(telling);

		if (slot != t->plan.slot_poll && tokio_is_typed(t, slot) &&
		    !was_seen(r, t->plan.words[slot]))
			calls_each(f, t->plan.words[slot], visit, &v);
	}
	if (r->types.nr)
		qsort(r->types.v, r->types.nr, sizeof(*r->types.v), by_id);
}

static bool reaches(const struct reach *r, uint32_t type)
{
	for (size_t i = 0; i < r->types.nr; i++)
		if (r->types.v[i] == type)
			return true;
	return false;
}

/* Several closures of one function are spelled alike, so two tables may rightly have this name. */
static bool is_closure_name(const char *type)
{
	const char *first = strstr(type, "{{closure}}");

	return first && strstr(first + 1, "{{closure}}");
}

/*
 * Might the name of one table be the other's? Both reach glue of that name, and either it is the
 * same function, which was then made by merging, or a name that no two types have.
 */
static bool are_rivals(struct finding *f, const struct reach *a, const struct reach *b,
		       uint32_t type)
{
	bool may_repeat;

	if (!reaches(a, type) ||
	    !reaches(b, type)) /* nearly always: there may be a thousand tables */
		return false;
	may_repeat = is_closure_name(intern_get(f->strings, type));
	for (size_t i = 0; i < a->glue.nr; i++)
		for (size_t k = 0; k < b->glue.nr; k++)
			if (a->glue.v[i].type == type && b->glue.v[k].type == type &&
			    (a->glue.v[i].va == b->glue.v[k].va || !may_repeat))
				return true;
	return false;
}

/* A number for it: there is one schedule function for each, before 1.23 only its name. */
static uint64_t scheduler_of(const struct found_table *t)
{
	return tokio_is_old(t) ? (uintptr_t)t->scheduler : tokio_schedule(t);
}

/* The most tables of one scheduler that may have this type instead of `of`, itself included. */
static unsigned count_rivals(struct finding *f, const struct reach *all, const struct reach *of,
			     uint32_t type)
{
	struct map nr_by_schedule = MAP_INIT;
	uint64_t most = 0;

	for (size_t i = 0; i < f->tables.nr; i++) {
		uint64_t *nr;

		if (!are_rivals(f, of, &all[i], type))
			continue;
		nr = map_put(&nr_by_schedule, scheduler_of(&f->tables.v[i]), NULL);
		++*nr;
		most = MAX(most, *nr);
	}
	map_release(&nr_by_schedule);
	return most;
}

/* Names of tasks and of blocking calls were told apart when they were collected. */
static bool is_of_pool(const struct found_table *t)
{
	return t->kind == TRACE_BLOCKING || t->kind == TRACE_HELPER;
}

/* A glue function, and how many tables reach it, by how they are scheduled. */
struct shared {
	const struct glue *names; /* all that it has */
	size_t nr_names;
	bool is_of_pool; /* only such names, and only such tables */
	uint32_t multi, current, other;
};

struct shareds {
	struct map numbers; /* va -> index */
	struct shared *v;
};

static int by_va(const void *a, const void *b)
{
	const struct glue *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

/* The end of those in glue[from..] that are one function. */
static size_t same_va_end(const struct reach *r, size_t from)
{
	size_t i = from;

	while (i < r->glue.nr && r->glue.v[i].va == r->glue.v[from].va)
		i++;
	return i;
}

static uint32_t *users_like(struct shared *s, const struct found_table *t)
{
	return strcmp(t->scheduler, "multi_thread") == 0     ? &s->multi
	       : strcmp(t->scheduler, "current_thread") == 0 ? &s->current
							     : &s->other;
}

static void share(const struct finding *f, struct reach *all, struct shareds *to)
{
	size_t most = 0;

	for (size_t i = 0; i < f->tables.nr; i++) {
		most += all[i].glue.nr;
		if (all[i].glue.nr)
			qsort(all[i].glue.v, all[i].glue.nr, sizeof(*all[i].glue.v), by_va);
	}
	to->v = xcalloc(most + 1, sizeof(*to->v));
	for (size_t i = 0; i < f->tables.nr; i++)
		for (size_t k = 0, end; k < all[i].glue.nr; k = end) {
			const struct found_table *t = &f->tables.v[i];
			uint64_t *nr, key = all[i].glue.v[k].va << 1 | is_of_pool(t);
			bool was_there;

			end = same_va_end(&all[i], k);
			nr = map_put(&to->numbers, key, &was_there);
			if (!was_there) {
				*nr = to->numbers.nr - 1;
				to->v[*nr] = (struct shared){ .names = &all[i].glue.v[k],
							      .nr_names = end - k,
							      .is_of_pool = is_of_pool(t) };
			}
			++*users_like(&to->v[*nr], t);
		}
}

static bool has_name(const struct shared *s, uint32_t type)
{
	for (size_t i = 0; i < s->nr_names; i++)
		if (s->names[i].type == type)
			return true;
	return false;
}

static bool is_reached(const struct reach *r, const struct shared *s)
{
	for (size_t i = 0; i < r->glue.nr; i++)
		if (r->glue.v[i].va == s->names->va)
			return true;
	return false;
}

/*
 * Can the table not have this type, because of that function? A function has no forgotten name if
 * it has as many as tables reach it (what is spawned has a table for each of two schedulers). Then
 * the types of those who reach it are among them, and those of the others are not.
 */
static bool is_excluded(struct finding *f, const struct found_table *t, const struct reach *r,
			struct shared *s, uint32_t type)
{
	bool has = has_name(s, type);

	if (s->is_of_pool != is_of_pool(t))
		return false;
	if (is_reached(r, s))
		return !has && MAX(s->multi, s->current) + s->other <= s->nr_names;
	return has && *users_like(s, t) == s->nr_names &&
	       !is_closure_name(intern_get(f->strings, type));
}

static void narrow(struct finding *f, const struct found_table *t, struct reach *r,
		   const struct shareds *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->types.nr; i++) {
		bool may_be = true;

		for (size_t k = 0; may_be && k < s->numbers.nr; k++)
			may_be = !is_excluded(f, t, r, &s->v[k], r->types.v[i]);
		if (may_be)
			r->types.v[kept++] = r->types.v[i];
	}
	if (kept) /* else it is not as we think, and all are possible */
		r->types.nr = kept;
}

static void narrow_all(struct finding *f, struct reach *all)
{
	struct shareds s = { .numbers = MAP_INIT };

	share(f, all, &s);
	for (size_t i = 0; i < f->tables.nr; i++)
		if (all[i].types.nr > 1 && !tokio_is_old(&f->tables.v[i])) /* nearly all have one */
			narrow(f, &f->tables.v[i], &all[i], &s);
	map_release(&s.numbers);
	free(s.v);
}

static bool are_helpers(struct finding *f, const struct reach *r)
{
	for (size_t i = 0; i < r->types.nr; i++)
		if (!tokio_is_helper(intern_get(f->strings, r->types.v[i]) +
				     strlen(tokio_blocking_task)))
			return false;
	return true;
}

static void settle(struct finding *f, struct found_table *t, const struct reach *all,
		   const struct reach *r)
{
	struct strbuf name = STRBUF_INIT;
	unsigned most = 0;

	for (size_t i = 0; i < r->types.nr; i++) {
		const char *type = intern_get(f->strings, r->types.v[i]);
		char *text = tokio_readable_type(type, strlen(type));

		if (i < MAX_SHOWN)
			strbuf_addf(&name, "%s%s", i ? " | " : "", text);
		free(text);
		most = MAX(most, count_rivals(f, all, r, r->types.v[i]));
	}
	if (r->types.nr > MAX_SHOWN)
		strbuf_addf(&name, " | %zu more", r->types.nr - MAX_SHOWN);
	else if (most > r->types.nr)
		strbuf_addstr(&name, " | ?");
	if (r->types.nr) {
		t->name = finding_string(f, name.s);
		t->nr_candidates = MAX(r->types.nr, (size_t)most);
		/*
		 * Of two candidates that are both helpers either will do, and what was merged with
		 * one is another: they hold what is private to Tokio.
		 */
		if (t->kind == TRACE_BLOCKING && are_helpers(f, r))
			t->kind = TRACE_HELPER;
	}
	strbuf_release(&name);
}

static void note_flavour(struct finding *f, void *ctx, const struct symbol *s, size_t nr)
{
	struct flavour *fl = ctx;
	struct found_table probe = { .scheduler = "" };

	for (size_t i = 0; i < nr; i++) {
		/* glue names the future, too */
		char *text = is_glue(s[i].name) ? NULL : demangle(s[i].name);

		if (text)
			tokio_set_scheduler(&probe, text, strlen(text));
		free(text);
	}
	if (!probe.scheduler[0] && fl->depth && is_tokio_task(s->name)) {
		fl->depth--;
		calls_each(f, s->va, note_flavour, fl);
		fl->depth++;
	}
	add_flavour(fl, &probe);
}

static void set_flavour(struct found_table *t, const struct flavour *fl)
{
	if (!fl->text || !fl->text[0])
		return;
	t->scheduler = fl->text;
	if (fl->kind != TRACE_TASK)
		t->kind = fl->kind;
}

/* schedule is Tokio's own code only; it calls its scheduler by name. Before 1.23 abort does. */
static void find_flavour(struct finding *f, struct found_table *t)
{
	struct flavour fl = { .text = "", .depth = tokio_is_old(t) ? 3 : 0 };
	unsigned slot = t->plan.slot_schedule;

	if (tokio_is_old(t))
		slot = t->plan.slot_abort != WIRE_NO_SLOT ? t->plan.slot_abort
							  : t->plan.slot_shutdown;
	calls_each(f, t->plan.words[slot], note_flavour, &fl);
	set_flavour(t, &fl);
}

/*
 * A table before 1.23 whose abort does not tell: its drop glue may. Where that was merged with
 * others' and names several, the table is taken for a task's.
 */
static void settle_old(struct finding *f, struct found_table *t, struct reach *r)
{
	bool is_blocking;
	size_t nr = 0;

	if (!t->scheduler[0])
		set_flavour(t, &r->flavour);
	if (!t->scheduler[0])
		return;
	is_blocking = t->kind == TRACE_BLOCKING;
	for (size_t i = 0; i < r->types.nr; i++)
		if (str_has_prefix(intern_get(f->strings, r->types.v[i]), tokio_blocking_task) ==
		    is_blocking)
			r->types.v[nr++] = r->types.v[i];
	r->types.nr = nr;
}

/*
 * Who schedules blocking tasks is an empty type: nothing of it is ever called or dropped. Where
 * other tables show their schedulers, one that shows none is a blocking task's.
 */
static void find_blocking(struct finding *f, const struct reach *all)
{
	bool has_others = false;

	names_each(t, f, WIRE_TABLE_TOKIO) has_others |=
		tokio_is_old(t) && t->scheduler[0] && t->kind != TRACE_BLOCKING;
	names_each(t, f, WIRE_TABLE_TOKIO)
	{
		const struct reach *r = &all[t - f->tables.v];

		if (!has_others || !tokio_is_old(t) || t->scheduler[0] || !r->flavour.text)
			continue;
		t->scheduler = "blocking";
		t->kind = TRACE_BLOCKING;
	}
}

static bool is_wanted(const struct found_table *t)
{
	return t->plan.kind == WIRE_TABLE_TOKIO && (!t->name[0] || str_has_prefix(t->name, "fn("));
}

void tokio_legacy_names(struct finding *f)
{
	struct reach *all = xcalloc(f->tables.nr + 1, sizeof(*all));

	/* Rivals count among tables that have a name already, too. */
	for (size_t i = 0; i < f->tables.nr; i++) {
		struct found_table *t = &f->tables.v[i];

		if (t->plan.kind != WIRE_TABLE_TOKIO)
			continue;
		if (is_wanted(t) && !t->scheduler[0])
			find_flavour(f, t);
		reach_types(f, t, &all[i]);
		if (is_wanted(t) && tokio_is_old(t))
			settle_old(f, t, &all[i]);
	}
	find_blocking(f, all);
	narrow_all(f, all);
	for (size_t i = 0; i < f->tables.nr; i++) {
		struct found_table *t = &f->tables.v[i];

		if (!is_wanted(t))
			continue;
		if (!t->name[0] ||
		    (all[i].types.nr == 1 && count_rivals(f, all, &all[i], all[i].types.v[0]) == 1))
			settle(f, t, all, &all[i]);
	}
	for (size_t i = 0; i < f->tables.nr; i++) {
		vec_release(&all[i].types);
		vec_release(&all[i].glue);
	}
	free(all);
}

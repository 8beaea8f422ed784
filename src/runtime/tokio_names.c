// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Slots of a Tokio table are instances `poll<T, S>`, `dealloc<T, S>` … of one future type T and one
 * scheduler S.
 */
#include <string.h>

#include "runtime/names.h"
#include "runtime/scan.h"
#include "runtime/tokio.h"

/* Slots whose function may depend on T, the most telling first where poll is slot 0. */
static const uint8_t typed_slots[] = { 0, 2, 3, 4, 5, 6, 1, 7, 8, 9, 10 };

bool tokio_is_typed(const struct found_table *t, unsigned slot)
{
	return t->plan.code_mask & 1u << slot && slot != t->plan.slot_schedule;
}

/*
 * What the table itself tells of the future's size: the room in the task for it or its output,
 * whichever is larger. Little room may hold the box of a large future, which says nothing: 0.
 */
static uint64_t room_bytes(const struct found_table *t)
{
	const struct wire_table *w = &t->plan;
	bool is_known = w->stage_off && w->trailer_off > w->stage_off; /* not before 1.23 */
	uint64_t room = is_known ? w->trailer_off - w->stage_off : 0;

	return room > NAMES_MAX_BOX_ROOM ? room : 0;
}

bool tokio_is_helper(const char *name)
{
	static const char *const paths[] = {
		"tokio::runtime::scheduler::", "tokio::runtime::thread_pool::", /* before 1.21 */
	};

	name += *name == '<';
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (str_has_prefix(name, paths[i]))
			return true;
	return false;
}

const char tokio_blocking_task[] = "tokio::runtime::blocking::task::BlockingTask<";

static bool begins_with(const struct span *text, const char *prefix)
{
	return text->len > strlen(prefix) && memcmp(text->s, prefix, strlen(prefix)) == 0;
}

struct span tokio_without_span(struct span type)
{
	struct rust_name n;
	uint32_t item, inner;

	rust_name_init(&n, type.s, type.len);
	item = rust_name_only_child(&n, RUST_NAME_ROOT);
	inner = item ? rust_name_argument(&n, item, "tracing::instrument::Instrumented") : 0;
	if (inner && rust_name_starts(&n, inner, tokio_blocking_task))
		type = rust_name_span(&n, inner);
	rust_name_release(&n);
	return type;
}

char *tokio_readable_type(const char *type, size_t len)
{
	struct span t = { type, len };
	bool is_blocking = begins_with(&t, tokio_blocking_task);

	if (is_blocking)
		type_args(type, len, &t, 1);
	return readable_type(t.s, t.len, is_blocking);
}

/* Sets name and kind of a table from the type T as some source spells it. */
static void set_type(struct finding *f, struct found_table *t, const char *text, size_t len)
{
	struct span type = tokio_without_span((struct span){ text, len });
	char *name = tokio_readable_type(type.s, type.len);

	if (begins_with(&type, tokio_blocking_task))
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
		enum trace_task_kind kind;
	} flavours[] = {
		{ "::multi_thread", "multi_thread", TRACE_TASK }, /* multi_thread_alt too */
		{ "::current_thread", "current_thread", TRACE_TASK },
		{ "task::local::", "local", TRACE_LOCAL },
		{ "BlockingSchedule", "blocking", TRACE_BLOCKING },
		/* before 1.21 */
		{ "::thread_pool::", "multi_thread", TRACE_TASK },
		{ "::basic_scheduler::", "current_thread", TRACE_TASK },
		{ "NoopSchedule", "blocking", TRACE_BLOCKING },
	};

	for (size_t i = 0; i < ARRAY_SIZE(flavours); i++) {
		if (!memmem(scheduler, len, flavours[i].mark, strlen(flavours[i].mark)))
			continue;
		t->scheduler = flavours[i].flavour;
		/* that a task is the runtime's own, or local, is the better knowledge */
		if (flavours[i].kind == TRACE_LOCAL ||
		    (flavours[i].kind == TRACE_BLOCKING && t->kind != TRACE_HELPER) ||
		    t->kind == TRACE_BLOCKING) /* a handle of unusual size */
			t->kind = flavours[i].kind;
		return;
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

/*
 * A file may hold several copies of Tokio: the folders of their sources tell them apart. Copies
 * before 1.23 beside later ones are a runtime of their own already.
 */
static void split_copies(struct finding *f, struct dwarf_function *fns, size_t nr)
{
	VEC(const char *) copies = { 0 };
	uint32_t first = 0, more = f->runtimes.nr;

	names_each(t, f, WIRE_TABLE_TOKIO)
	{
		const char *copy =
			copy_of(f, names_find(fns, nr, t->plan.words[t->plan.slot_poll]));

		if (t->runtime == first && copy_number(copies.v, copies.nr, copy) == copies.nr)
			vec_push(&copies, copy);
	}
	for (size_t i = 0; copies.nr > 1 && i < copies.nr; i++) {
		const char *slash = strrchr(copies.v[i], '/');
		const char *folder = slash ? slash + 1 : copies.v[i];
		uint32_t number = i ? more + i - 1 : first;

		if (i)
			vec_push(&f->runtimes, f->runtimes.v[first]);
		f->runtimes.v[number].version =
			str_has_prefix(folder, "tokio-1.")
				? finding_string(f, folder + strlen("tokio-"))
				: "";
		f->runtimes.v[number].nr_tables = 0;
		names_each(t, f, WIRE_TABLE_TOKIO)
		{
			const char *copy =
				copy_of(f, names_find(fns, nr, t->plan.words[t->plan.slot_poll]));

			if (t->runtime != first || strcmp(copy, copies.v[i]) != 0)
				continue;
			t->runtime = number;
			f->runtimes.v[number].nr_tables++;
		}
	}
	vec_release(&copies);
}

/* tokio::runtime::task::raw::poll::<T, S> */
static const char *v0_holder(const char *text)
{
	return str_has_prefix(text, "tokio::runtime::task::raw::") ? text : NULL;
}

static void set_types(struct finding *f, struct found_table *t, const struct span *args)
{
	tokio_set_scheduler(t, args[1].s, args[1].len);
	set_type(f, t, args[0].s, args[0].len);
}

static const char *const makers[] = { "vtable<", "new<", "new_task<", NULL };

static const struct naming naming = {
	.kind = WIRE_TABLE_TOKIO,
	.slots = typed_slots,
	.nr_slots = ARRAY_SIZE(typed_slots),
	.has_slot = tokio_is_typed,
	.nr_args = 2,
	.v0_holder = v0_holder,
	.set = set_types,
	.room = room_bytes,
	.makers = makers,
	.makers_source = "/src/runtime/task/",
	.found = split_copies,
};

/* schedule depends on S alone: a table without a known scheduler shares it with one that has. */
static void spread_schedulers(struct finding *f)
{
	names_each(t, f, WIRE_TABLE_TOKIO)
		names_each(from, f, WIRE_TABLE_TOKIO) if (!t->scheduler[0] && from->scheduler[0] &&
							  !tokio_is_old(t) && !tokio_is_old(from) &&
							  tokio_schedule(t) == tokio_schedule(from))
	{
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
	*t = scan_waker(s->va, WIRE_TABLE_TOKIO_WAKER);
	t->plan.vtable_off = 16;
	for (unsigned i = 0; i < WAKER_WORDS; i++)
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
		/* one for each copy of Tokio; whose is whose does not show */
		while (nr < f->runtimes.nr && f->runtimes.v[nr].waker_known)
			nr++;
		if (nr < f->runtimes.nr)
			f->runtimes.v[nr].waker_known = true;
	}
}

void tokio_give_names(struct finding *f)
{
	if (!names_by_rules(f, &naming))
		return;
	if (f->syms->nr)
		tokio_legacy_names(f);
	spread_schedulers(f);
	add_wakers(f); /* last: the others are about task tables */
}

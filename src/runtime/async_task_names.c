// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Slots of an async-task table are methods of RawTask<F, T, S, M>: future, output, function that
 * schedules, metadata. Debug info and v0 symbols spell that out. Legacy symbols do not, but `run`
 * has a guard against panics, and the drop glue of that is mangled with all four:
 *
 *	core::ptr::drop_in_place<async_task::raw::RawTask<F,T,S,M>::run::Guard<…>>
 *
 * F is what the executor made of the future: its wrappers are taken off. Tasks of a LocalExecutor
 * are of the same types as those of an Executor: only the stack of their spawn tells them apart.
 */
#include <string.h>

#include "runtime/async_task.h"
#include "runtime/calls.h"
#include "runtime/names.h"

static const uint8_t typed_slots[] = {
	ASYNC_TASK_RUN,	    ASYNC_TASK_DROP_FUTURE, ASYNC_TASK_SCHEDULE,
	ASYNC_TASK_DESTROY, ASYNC_TASK_DROP_REF,    ASYNC_TASK_GET_OUTPUT,
};

/* What executors put around a future; the future is the first argument. */
static const char *const wrappers[] = {
	"alloc::boxed::Box",
	"async_executor::AsyncCallOnDrop",
	"async_std::task::builder::SupportTaskLocals",
};

static bool starts_with(const struct span *t, const char *prefix)
{
	return t->len >= strlen(prefix) && strncmp(t->s, prefix, strlen(prefix)) == 0;
}

static bool has(const struct span *t, const char *part)
{
	return memmem(t->s, t->len, part, strlen(part)) != NULL;
}

/* The first argument of a wrapper, also of a pinned Box; 0: it is none. */
static uint32_t unwrap_known(const struct rust_name *n, uint32_t item)
{
	uint32_t inner = rust_name_argument(n, item, "core::pin::Pin");

	if (inner && rust_name_argument(n, inner, wrappers[0]))
		return inner;
	inner = 0;
	for (size_t i = 0; i < ARRAY_SIZE(wrappers) && !inner; i++)
		inner = rust_name_argument(n, item, wrappers[i]);
	return inner;
}

/* A path of that crate's, `<CRATE::T>::f` too. */
static bool is_of(const struct rust_name *n, uint32_t path, const char *crate)
{
	struct span s = rust_name_crate(n, path);

	return s.len == strlen(crate) && memcmp(s.s, crate, s.len) == 0;
}

/* async_task::….::spawn_local::Checked<F>, which makes sure that a task stays on its thread. */
static uint32_t unwrap_checked(const struct rust_name *n, uint32_t path)
{
	uint32_t before = 0;

	if (!is_of(n, path, "async_task"))
		return 0;
	rust_name_each(segment, n, path)
	{
		if (before && rust_name_is(n, before, "spawn_local") &&
		    rust_name_starts(n, segment, "Checked<"))
			return n->nodes[n->nodes[segment].first].first;
		before = segment;
	}
	return 0;
}

/* Executor::spawn<T, F>::{async block}, which async-executor had before AsyncCallOnDrop: the F. */
static uint32_t unwrap_spawn(const struct rust_name *n, uint32_t path)
{
	bool is_inside = false;

	if (!is_of(n, path, "async_executor"))
		return 0;
	rust_name_each(segment, n, path)
	{
		uint32_t args = n->nodes[segment].kind == RUST_SELF ? 0 : n->nodes[segment].first;
		uint32_t second = args ? n->nodes[n->nodes[args].first].next : 0;

		is_inside |=
			segment != n->nodes[path].first && rust_name_starts(n, segment, "spawn");
		if (is_inside && args)
			return second && !n->nodes[second].next ? second : 0;
	}
	return 0;
}

static void unwrap(struct span *type, bool *is_local)
{
	struct rust_name n;
	uint32_t item, inner;

	rust_name_init(&n, type->s, type->len);
	inner = item = rust_name_only_child(&n, RUST_NAME_ROOT);
	while (inner) {
		uint32_t path = rust_name_only_child(&n, item = inner);

		inner = unwrap_known(&n, item);
		if (inner || !path || n.nodes[path].kind != RUST_PATH)
			continue;
		inner = unwrap_checked(&n, path);
		*is_local |= inner != 0;
		if (!inner)
			inner = unwrap_spawn(&n, path);
	}
	if (item)
		*type = rust_name_span(&n, item);
	rust_name_release(&n);
}

/* blocking::unblock<T, F>: the closure that a thread of the pool calls. */
static bool unwrap_closure(struct span *type)
{
	struct span args[2];

	if (!starts_with(type, "blocking::unblock") || type_args(type->s, type->len, args, 2) != 2)
		return false;
	*type = args[1];
	return true;
}

static void set_types(struct finding *f, struct found_table *t, const struct span *args)
{
	struct span type = args[0];
	bool is_local = has(&args[2], "LocalExecutor"), is_closure;
	char *name;

	t->runtime = async_task_maker(f, t->runtime,
				      has(&args[2], "blocking::")	    ? ASYNC_TASK_ANY
				      : has(&args[0], "SupportTaskLocals<") ? ASYNC_TASK_STD
				      : has(&args[2], "async_executor::")   ? ASYNC_TASK_SMOL
									    : ASYNC_TASK_ANY);
	unwrap(&type, &is_local);
	is_closure = unwrap_closure(&type);
	name = readable_type(type.s, type.len, is_closure);
	t->name = finding_string(f, name);
	t->nr_candidates = 1;
	free(name);
	if (has(&args[2], "blocking::Executor") || has(&args[2], "blocking::{impl")) {
		t->kind = TRACE_BLOCKING;
		t->scheduler = "blocking";
	} else if (is_local) {
		t->kind = TRACE_LOCAL;
		t->scheduler = "local";
	} else if (has(&args[2], "async_executor::")) {
		t->scheduler = "executor";
	}
}

/* <async_task::raw::RawTask<F, T, S, M>>::run */
static const char *v0_holder(const char *text)
{
	return str_has_prefix(text, "<async_task::raw::RawTask<") ? text + 1 : NULL;
}

/* Of a boxed future nothing is known. */
static uint64_t room_bytes(const struct found_table *t)
{
	uint64_t room = t->plan.trailer_off - t->plan.stage_off;

	return room > NAMES_MAX_BOX_ROOM ? room : 0;
}

static bool is_executors(const char *env_path)
{
	static const char *const crates[] = { "async_executor::", "async_task::", "async_std::",
					      "async_global_executor::", "blocking::" };

	for (size_t i = 0; i < ARRAY_SIZE(crates); i++)
		if (str_has_prefix(env_path, crates[i]))
			return true;
	return false;
}

static const char *const makers[] = { "allocate<", NULL };

static const struct naming naming = {
	.kind = WIRE_TABLE_ASYNC_TASK,
	.slots = typed_slots,
	.nr_slots = ARRAY_SIZE(typed_slots),
	.nr_args = 4,
	.v0_holder = v0_holder,
	.set = set_types,
	.room = room_bytes,
	.is_executors = is_executors,
	.makers = makers,
	.makers_source = "/src/raw.rs",
	.found = async_task_find_own_names,
};

/* ---- legacy symbols ---- */

/* core::ptr::drop_in_place<async_task::raw::RawTask<F,T,S,M>::run::Guard<…>>: all four. */
static bool args_of_guard(const char *text, struct span args[NAMES_MAX_ARGS])
{
	const char *at = strstr(text, "::run::Guard<");

	return at && type_args(at, strlen(at), args, NAMES_MAX_ARGS) == 4;
}

/* core::ptr::drop_in_place<async_executor::AsyncCallOnDrop<…>>: the future, and who schedules it.
 */
static bool args_of_future(const char *text, struct span args[NAMES_MAX_ARGS])
{
	static const char executor[] = "async_executor::";

	if (type_args(text, strlen(text), args, 1) != 1)
		return false;
	args[2] = (struct span){ executor, sizeof(executor) - 1 };
	return true;
}

/* Which slot calls drop glue that tells types, the better first. */
static const struct glue {
	uint8_t slot;
	const char *mangled; /* part of its symbol */
	bool (*args)(const char *text, struct span args[NAMES_MAX_ARGS]);
} glues[] = {
	{ ASYNC_TASK_RUN, "drop_in_place$LT$async_task..raw..RawTask", args_of_guard },
	/* where panics abort there are no guards */
	{ ASYNC_TASK_DROP_FUTURE, "drop_in_place$LT$async_executor..AsyncCallOnDrop$LT$",
	  args_of_future },
};

/* The glue that a table calls, under all its names. */
struct found_glue {
	const struct glue *glue;
	const struct symbol *symbols;
	size_t nr;
};

static void note_glue(struct finding *f, void *ctx, const struct symbol *s, size_t nr)
{
	struct found_glue *g = ctx;

	for (size_t i = 0; i < nr && !g->nr; i++)
		if (strstr(s[i].name, g->glue->mangled)) {
			g->symbols = s;
			g->nr = nr;
		}
}

/* Takes over the types of all that share the glue. */
static void name_by_glue(struct finding *f, struct found_table *t, const struct found_glue *g)
{
	struct strbuf names = STRBUF_INIT;
	uint32_t nr = 0;

	for (size_t i = 0; i < g->nr; i++) {
		char *text = strstr(g->symbols[i].name, g->glue->mangled)
				     ? demangle(g->symbols[i].name)
				     : NULL;
		struct span args[NAMES_MAX_ARGS];

		if (text && g->glue->args(text, args)) {
			set_types(f, t, args);
			strbuf_addf(&names, "%s%s", nr++ ? " | " : "", t->name);
		}
		free(text);
	}
	if (nr) {
		t->name = finding_string(f, names.s);
		t->nr_candidates = nr;
	}
	strbuf_release(&names);
}

/* Glue of several types may be one function, with the name of only one of them. */
static void names_by_glue(struct finding *f, const struct glue *glue)
{
	struct found_glue *found = xcalloc(f->tables.nr + 1, sizeof(*found));
	struct map users = MAP_INIT;

	names_each(t, f, WIRE_TABLE_ASYNC_TASK)
	{
		struct found_glue *g = &found[t - f->tables.v];

		g->glue = glue;
		calls_each(f, t->plan.words[glue->slot], note_glue, g);
		if (g->nr)
			++*map_put(&users, g->symbols->va, NULL);
	}
	names_each(t, f, WIRE_TABLE_ASYNC_TASK)
	{
		const struct found_glue *g = &found[t - f->tables.v];

		if (t->name[0] || !g->nr)
			continue;
		name_by_glue(f, t, g);
		names_are_merged(f, &naming, t, *map_get(&users, g->symbols->va));
	}
	map_release(&users);
	free(found);
}

void async_task_give_names(struct finding *f)
{
	struct async_task_makers several;

	async_task_makers_begin(f, &several);
	if (names_by_rules(f, &naming) && f->syms->nr)
		for (size_t i = 0; i < ARRAY_SIZE(glues); i++)
			names_by_glue(f, &glues[i]);
	async_task_makers_end(f, &several);
}

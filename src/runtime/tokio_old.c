// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tokio 1.0 to 1.22. A task table is a row of functions and nothing else (from 1.21 on an offset
 * follows), and tables lie side by side: without names nobody can tell where one begins. So they
 * are found by symbols: each word must be the function that belongs there, of
 * tokio::runtime::task::raw, and where the symbols tell, all of them for the same types.
 *
 * Wakes do not go through the task's table. Every type has a RawWakerVTable of its own, found the
 * same way.
 *
 * Where a header has the pointer to its table (+40 in 1.0, +32 since 1.9, +16 since 1.21) the
 * process's own memory tells the agent.
 */
#include <stdio.h>

#include "base/map.h"
#include "runtime/scan.h"
#include "runtime/tokio.h"
#include "symbol/demangle.h"

#define FIRST_NEW_MINOR 23
#define MAX_SLOTS	8
#define MAX_BYTES	(1u << 26)

/* What a function is, by its name. Compiler and linker merge equal ones: then it is several. */
enum role {
	POLL = 1 << 0,
	DEALLOC = 1 << 1,
	READ_OUTPUT = 1 << 2,
	SET_JOIN_WAKER = 1 << 3,
	DROP_JOIN_HANDLE = 1 << 4,
	DROP_ABORT_HANDLE = 1 << 5,
	ABORT = 1 << 6,
	SHUTDOWN = 1 << 7,
	CLONE_WAKER = 1 << 8,
	WAKE = 1 << 9,
	WAKE_BY_REF = 1 << 10,
	DROP_WAKER = 1 << 11,
};

/* Either gives back a reference: the same code, of which one may stand for both. */
#define DROP_REFERENCE (DROP_ABORT_HANDLE | DROP_WAKER)

static const struct {
	const char *name; /* as symbols spell it, module first */
	enum role role;
} functions[] = {
	{ "3raw4poll", POLL },
	{ "3raw7dealloc", DEALLOC },
	{ "3raw15try_read_output", READ_OUTPUT },
	{ "3raw18try_set_join_waker", SET_JOIN_WAKER },
	{ "3raw21drop_join_handle_slow", DROP_JOIN_HANDLE },
	{ "3raw17drop_abort_handle", DROP_ABORT_HANDLE },
	{ "3raw12remote_abort", ABORT },
	{ "3raw8shutdown", SHUTDOWN },
	{ "5waker11clone_waker", CLONE_WAKER },
	{ "5waker11wake_by_val", WAKE },
	{ "5waker11wake_by_ref", WAKE_BY_REF },
	{ "5waker10drop_waker", DROP_WAKER },
};

/* The slots of each range of releases, in the order of memory. */
static const struct layout {
	unsigned nr;
	uint16_t slots[MAX_SLOTS];
} layouts[] = {
	/* 1.18 to 1.22 */
	{ 8,
	  { POLL, DEALLOC, READ_OUTPUT, SET_JOIN_WAKER, DROP_JOIN_HANDLE, DROP_REFERENCE, ABORT,
	    SHUTDOWN } },
	/* 1.17 */
	{ 7, { POLL, DEALLOC, READ_OUTPUT, SET_JOIN_WAKER, DROP_JOIN_HANDLE, ABORT, SHUTDOWN } },
	/* 1.9 to 1.16, and the last patches of 1.5 to 1.8 */
	{ 6, { POLL, DEALLOC, READ_OUTPUT, DROP_JOIN_HANDLE, ABORT, SHUTDOWN } },
	/* 1.0 to 1.8: an abort is a shutdown */
	{ 5, { POLL, DEALLOC, READ_OUTPUT, DROP_JOIN_HANDLE, SHUTDOWN } },
};

struct search {
	struct map roles; /* address of a function -> its roles */
	uint32_t nr_tables, nr_wakers;
};

static const char module[] = "5tokio7runtime4task";

/* "_ZN" module … or, before type arguments, "_RINvNtNtNtCs1234_" module …; NULL: another's. */
static const char *inside_module(const char *mangled)
{
	const char *at;

	if (str_has_prefix(mangled, "_ZN"))
		return str_has_prefix(mangled + 3, module) ? mangled + 3 + strlen(module) : NULL;
	if (!str_has_prefix(mangled, "_RINvNtNtNtC"))
		return NULL;
	at = strstr(mangled, module);
	if (!at || at[-1] != '_' || memchr(mangled + 1, '_', at - 1 - (mangled + 1)))
		return NULL;
	return at + strlen(module);
}

static enum role role_of(const char *mangled)
{
	const char *at = inside_module(mangled);

	for (size_t i = 0; at && i < ARRAY_SIZE(functions); i++) {
		size_t len = strlen(functions[i].name);

		if (str_has_prefix(at, functions[i].name) &&
		    (mangled[1] == 'R' || str_has_prefix(at + len, "17h")))
			return functions[i].role;
	}
	return 0;
}

static void find_functions(const struct symtab *syms, struct map *roles)
{
	for (size_t i = 0; i < syms->nr; i++) {
		const struct symbol *s = &syms->v[i];
		enum role role = s->is_function ? role_of(s->name) : 0;

		if (role)
			*map_put(roles, s->va, NULL) |= role;
	}
}

/* The type arguments that a v0 symbol has, as text; NULL: not told, or this is several functions.
 */
static char *args_of(const struct symtab *syms, uint64_t va)
{
	size_t nr;
	const struct symbol *s = symtab_at(syms, va, &nr);
	char *text = s && nr == 1 && demangle_is_v0(s->name) ? demangle(s->name) : NULL;
	char *args = text && strchr(text, '<') ? xstrdup(strchr(text, '<')) : NULL;

	free(text);
	return args;
}

static bool are_of_one_type(const struct symtab *syms, const uint64_t *words, unsigned nr)
{
	char *first = NULL;
	bool same = true;

	for (unsigned i = 0; i < nr && same; i++) {
		char *args = args_of(syms, words[i]);

		same = !first || !args || strcmp(first, args) == 0;
		if (first)
			free(args);
		else
			first = args;
	}
	free(first);
	return same;
}

/* Are the words at this place functions of these roles, and of one type? Reads them. */
static bool read_words(struct finding *f, const struct search *s, const struct scan_place *at,
		       const uint16_t *roles, unsigned nr, uint64_t *words)
{
	if (at->left < 8 * nr || scan_is_got(f, at->va))
		return false;
	for (unsigned i = 0; i < nr; i++) {
		const uint64_t *have;

		words[i] = scan_load(at->p + 8 * i);
		have = map_get(&s->roles, words[i]);
		if (!have || !(*have & roles[i]) || !scan_is_code(f, at, i))
			return false;
	}
	return are_of_one_type(f->syms, words, nr);
}

static uint8_t slot_of(const struct layout *l, enum role role)
{
	for (unsigned i = 0; i < l->nr; i++)
		if (l->slots[i] == role)
			return i;
	return WIRE_NO_SLOT;
}

/* Since 1.21 the offset of the trailer follows the functions. */
static void read_trailer(const struct finding *f, const struct scan_place *at, struct wire_table *w)
{
	uint64_t word;

	if (w->nr_words < MAX_SLOTS || at->left < 8 * (MAX_SLOTS + 1) ||
	    image_is_relocated(at->segment, at->va + 8 * MAX_SLOTS))
		return;
	word = scan_load(at->p + 8 * MAX_SLOTS);
	if (word % 8 == 0 && word >= 32 && word < MAX_BYTES && !image_is_code(f->img, word)) {
		w->words[w->nr_words++] = word;
		w->trailer_off = word;
	}
}

static bool add_task_table(struct finding *f, void *arg, const struct scan_place *at)
{
	struct found_table t = { .name = "", .scheduler = "", .file = "", .kind = TRACE_TASK };
	const struct layout *l = layouts;
	struct search *s = arg;
	struct wire_table *w = &t.plan;

	while (l < layouts + ARRAY_SIZE(layouts) &&
	       !read_words(f, s, at, l->slots, l->nr, w->words))
		l++;
	if (l == layouts + ARRAY_SIZE(layouts))
		return false;
	w->va = at->va;
	w->nr_words = l->nr;
	w->code_mask = (1u << l->nr) - 1;
	w->type = EVENT_TYPE_NONE;
	w->kind = WIRE_TABLE_TOKIO;
	w->slot_poll = slot_of(l, POLL);
	w->slot_dealloc = slot_of(l, DEALLOC);
	w->slot_abort = slot_of(l, ABORT);
	w->slot_shutdown = slot_of(l, SHUTDOWN);
	w->slot_detach = slot_of(l, DROP_JOIN_HANDLE);
	w->slot_schedule = w->slot_wake = w->slot_wake_by_ref = WIRE_NO_SLOT;
	read_trailer(f, at, w);
	vec_push(&f->tables, t);
	s->nr_tables++;
	return true;
}

static bool add_waker_table(struct finding *f, void *arg, const struct scan_place *at)
{
	static const uint16_t roles[WAKER_WORDS] = { CLONE_WAKER, WAKE, WAKE_BY_REF,
						     DROP_REFERENCE };
	struct found_table t = scan_waker(at->va, WIRE_TABLE_TOKIO_TYPE_WAKER);
	struct search *s = arg;

	if (!read_words(f, s, at, roles, WAKER_WORDS, t.plan.words))
		return false;
	vec_push(&f->tables, t);
	s->nr_wakers++;
	return true;
}

/* Those before 1.23, or the others. */
static void pick_versions(const char *versions, bool is_old, struct strbuf *out)
{
	unsigned minor;

	while (sscanf(versions, "1.%u.", &minor) == 1) {
		const char *end = strstr(versions, " + ");
		size_t len = end ? (size_t)(end - versions) : strlen(versions);

		if ((minor < FIRST_NEW_MINOR) == is_old)
			strbuf_addf(out, "%s%.*s", out->len ? " + " : "", (int)len, versions);
		if (!end)
			break;
		versions = end + strlen(" + ");
	}
}

void tokio_old_versions(struct finding *f, const char *versions, const char **older,
			const char **newer)
{
	for (int is_old = 0; is_old <= 1; is_old++) {
		struct strbuf some = STRBUF_INIT;

		pick_versions(versions, is_old, &some);
		if (some.len)
			*(is_old ? older : newer) = finding_string(f, some.s);
		strbuf_release(&some);
	}
}

static bool has_old_version(const char *versions)
{
	struct strbuf old = STRBUF_INIT;
	bool has_any;

	pick_versions(versions, true, &old);
	has_any = old.len;
	strbuf_release(&old);
	return has_any;
}

/* The version is a hint: a copy of Tokio's source has none. Then a look at the names decides. */
static bool is_likely(struct finding *f, const char *versions, bool has_others)
{
	static const char poll[] = "7runtime4task3raw4poll";
	const struct image_section *names = image_section(f->syms_img, ".strtab");
	const uint8_t *p = image_section_data(f->syms_img, names);

	if (*versions || has_others)
		return has_old_version(versions);
	return p && memmem(p, names->size_bytes, poll, strlen(poll));
}

static const char *old_note(const struct finding *f, const struct search *s)
{
	if (s->nr_tables)
		return s->nr_wakers ? "" : "its waker tables were not found: wakes are not seen";
	if (!image_section(f->syms_img, ".symtab"))
		return "before 1.23 its task tables are found by symbols, and it is stripped: build "
		       "with `strip = false` or \"debuginfo\", or with Tokio 1.23 or later";
	return NULL;
}

const char *tokio_old_recognise(struct finding *f, const char *versions, bool has_others,
				struct found_runtime *r)
{
	struct search s = { .roles = MAP_INIT };
	const char *note = NULL;

	if (!is_likely(f, versions, has_others))
		return NULL;
	find_functions(finding_symbols(f), &s.roles);
	if (s.roles.nr) {
		scan_tables(f, layouts[ARRAY_SIZE(layouts) - 1].nr, add_task_table, &s);
		scan_tables(f, WAKER_WORDS, add_waker_table, &s);
	}
	if (!r->nr_tables)
		r->found_by = "symbols";
	r->nr_tables += s.nr_tables;
	r->waker_known |= s.nr_wakers > 0;
	note = old_note(f, &s);
	map_release(&s.roles);
	return note;
}

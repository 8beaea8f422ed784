// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The future that a thread waits for in block_on is no task and goes through no table. But around
 * it are functions that no build inlines away, which symbols name: docs/internals/roots.md says
 * what each of them says. All must be there, once each, and fit to be redirected; otherwise root
 * futures are not seen. Before Tokio 1.29 they were other functions: an old name is no match.
 */
#include <string.h>

#include "runtime/scan.h"
#include "runtime/tokio.h"
#include "symbol/code.h"
#include "symbol/demangle.h"

struct place {
	const char *mark; /* in the mangled name, to find it quickly */
	const char *type, *method;
	uint8_t kind; /* enum wire_redirect_kind; 0: only looked at */
};

static const struct place places[] = {
	{ "9next_seed", "tokio::util::rand::rt::RngSeedGenerator", "next_seed", WIRE_ROOT_BEGIN },
	{ "5Inner4park", "tokio::runtime::park::Inner", "park", WIRE_ROOT_PARK },
	{ "5Inner6unpark", "tokio::runtime::park::Inner", "unpark", WIRE_ROOT_UNPARK },
	{ "7Context4park", "tokio::runtime::scheduler::current_thread::Context", "park",
	  WIRE_ROOT_DRIVE },
	{ "7Context10park_yield", "tokio::runtime::scheduler::current_thread::Context",
	  "park_yield", WIRE_ROOT_DRIVE },
	{ "7Context13park_internal", "tokio::runtime::scheduler::current_thread::Context",
	  "park_internal", WIRE_ROOT_DRIVE },
	{ "EnterRuntimeGuard", "tokio::runtime::context::runtime::EnterRuntimeGuard", "drop",
	  WIRE_ROOT_END },
	{ "SetCurrentGuard", "tokio::runtime::context::current::SetCurrentGuard", "drop",
	  WIRE_ROOT_END },
	/* a runtime is built: where this is inlined, the builder most likely lies on the stack */
	{ "7Builder5build", "tokio::runtime::builder::Builder", "build", WIRE_RUNTIME_BUILD },
	{ "build_current_thread_runtime_components", "tokio::runtime::builder::Builder",
	  "build_current_thread_runtime_components", WIRE_RUNTIME_BUILD },
	/* where the flag is: unoptimised code has the first, all other the second */
	{ "11reset_woken", "tokio::runtime::scheduler::current_thread::Handle", "reset_woken", 0 },
	{ "19wake_by_ref_arc_raw", "tokio::util::wake", "wake_by_ref_arc_raw", 0 },
	{ "13clone_arc_raw", "tokio::util::wake", "clone_arc_raw", 0 },
	{ "12wake_arc_raw", "tokio::util::wake", "wake_arc_raw", 0 },
	{ "12drop_arc_raw", "tokio::util::wake", "drop_arc_raw", 0 },
	{ "4park5clone", "tokio::runtime::park", "clone", 0 },
	{ "4park4wake", "tokio::runtime::park", "wake", 0 },
	{ "4park11wake_by_ref", "tokio::runtime::park", "wake_by_ref", 0 },
	{ "4park10drop_waker", "tokio::runtime::park", "drop_waker", 0 },
};

/* indices into places */
enum {
	BEGIN,
	PARK,
	UNPARK,
	DRIVE,
	YIELD,
	DRIVE_INNER,
	ENTERED_DROP,
	CURRENT_DROP,
	BUILD,
	BUILD_CURRENT,
	RESET_WOKEN,
	WAKE_BY_REF,
	CLONE,
	WAKE,
	DROP,
	PARKER_CLONE,
	PARKER_WAKE,
	PARKER_WAKE_BY_REF,
	PARKER_DROP,
	NR_PLACES
};
_Static_assert(ARRAY_SIZE(places) == NR_PLACES, "an index for each");

struct match {
	struct symbol symbol;
	const struct place *place;
	bool is_merged; /* another function has the same address */
};

struct search {
	struct finding *f;
	VEC(struct match) matches;
	size_t nr_functions; /* that have a symbol */
};

/* "<a::T as core::ops::drop::Drop>::drop", "core::ptr::drop_in_place<a::T>" */
static bool is_drop(const char *type, const char *name)
{
	static const char *const heads[] = { "<", "core::ptr::drop_in_place<",
					     "core::ptr::drop_in_place::<" };
	static const char *const tails[] = { " as core::ops::drop::Drop>::drop", ">", ">" };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		size_t head = strlen(heads[i]), len = strlen(type);

		if (strncmp(name, heads[i], head) == 0 && strncmp(name + head, type, len) == 0 &&
		    strcmp(name + head + len, tails[i]) == 0)
			return true;
	}
	return false;
}

/* "a::T::f" and "<a::T>::f" */
static bool is_at(const struct place *p, const char *name)
{
	const char *rest;
	size_t len = strlen(p->type);

	if (p->kind == WIRE_ROOT_END)
		return is_drop(p->type, name);
	rest = *name == '<' ? name + 1 : name;
	if (strncmp(rest, p->type, len) != 0)
		return false;
	rest += len;
	if (*name == '<' && *rest++ != '>')
		return false;
	if (strncmp(rest, "::", 2) != 0)
		return false;
	rest += 2;
	len = strlen(p->method);
	return strncmp(rest, p->method, len) == 0 &&
	       (rest[len] == '\0' || str_has_prefix(rest + len, "::<"));
}

static void look_at(void *arg, const struct symbol *s)
{
	struct search *search = arg;
	char *name = NULL;

	search->nr_functions++;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (!strstr(s->name, places[i].mark))
			continue;
		if (!name)
			name = demangle(s->name);
		if (!name)
			return;
		if (!is_at(&places[i], name))
			continue;
		vec_push(&search->matches, (struct match){ .symbol = *s, .place = &places[i] });
		break;
	}
	free(name);
}

/* One body for several functions: whose call it is cannot be told. */
static void look_for_merged(void *arg, const struct symbol *s)
{
	struct search *search = arg;

	vec_each (m, &search->matches)
		if (m->symbol.va == s->va && strcmp(m->symbol.name, s->name) != 0)
			m->is_merged = true;
}

static const struct match *only(const struct search *s, unsigned place)
{
	const struct match *found = NULL;

	vec_each (m, &s->matches)
		if (m->place == &places[place]) {
			if (found && found->symbol.va != m->symbol.va)
				return NULL;
			found = m;
		}
	return found && !found->is_merged ? found : NULL;
}

static bool is_function(struct finding *f, const struct match *m)
{
	return finding_is_function(f, m->symbol.va, m->symbol.size_bytes);
}

static bool add(struct finding *f, const struct match *m, uint32_t flag_off)
{
	uint64_t len = m->symbol.size_bytes;
	const uint8_t *code = image_at(f->img, m->symbol.va, len);
	struct wire_redirect *r = &f->roots.redirects[f->roots.nr_redirects];

	if (!code || f->roots.nr_redirects == WIRE_MAX_REDIRECTS || !is_function(f, m))
		return false;
	*r = (struct wire_redirect){ .va = m->symbol.va,
				     .kind = m->place->kind,
				     .type = EVENT_TYPE_NONE,
				     .flag_off = flag_off };
	r->nr_bytes = code_movable(code, len, WIRE_MOVED_BYTES);
	memcpy(r->bytes, code, r->nr_bytes);
	f->roots.nr_redirects += r->nr_bytes > 0;
	return r->nr_bytes > 0;
}

/* All that know where the flag is must agree. */
static bool find_flag(const struct search *s, uint32_t *off)
{
	uint32_t nr = 0, found;

	vec_each (m, &s->matches) {
		bool is_reset = m->place == &places[RESET_WOKEN];

		if (!is_reset && m->place != &places[WAKE_BY_REF])
			continue;
		if (!is_function(s->f, m) ||
		    !code_find_flag(s->f->img, m->symbol.va, is_reset, &found))
			continue;
		if (nr++ && found != *off)
			return false;
		*off = found;
	}
	return nr > 0;
}

static unsigned add_ends(struct finding *f, const struct search *s)
{
	unsigned nr = 0;

	vec_each (m, &s->matches)
		if (m->place->kind == WIRE_ROOT_END && !m->is_merged)
			nr += add(f, m, m->place == &places[CURRENT_DROP]);
	return nr;
}

static void add_builds(struct finding *f, const struct search *s)
{
	for (unsigned place = BUILD; place <= BUILD_CURRENT; place++) {
		const struct match *m = only(s, place);

		if (m)
			add(f, m, 0);
	}
}

/*
 * Newer releases have an inner one that the other two call, which are then inlined here and there.
 * unpark may be inlined into the functions of the parker's waker, whose table then tells the same.
 */
static bool is_needed(const struct search *s, unsigned place)
{
	bool has_inner = only(s, DRIVE_INNER);

	if (place == DRIVE || place == YIELD)
		return !has_inner;
	return (place != DRIVE_INNER || has_inner) && (place != UNPARK || only(s, UNPARK));
}

/* Every copy of Tokio has each function. */
static bool has_copies(const struct search *s)
{
	const struct match *first = NULL;

	vec_each (m, &s->matches) {
		if (m->place != &places[BEGIN])
			continue;
		if (first && first->symbol.va != m->symbol.va)
			return true;
		first = m;
	}
	return false;
}

static bool is_there(const struct search *s, unsigned place)
{
	vec_each (m, &s->matches)
		if (m->place == &places[place])
			return true;
	return false;
}

static const char *missing(struct finding *f, const struct search *s, unsigned place)
{
	const char *why = is_there(s, place) ? "of which there are several, or which was merged "
					       "with another function"
					     : "which was inlined everywhere (as fat LTO does in "
					       "some programs: build with lto = \"thin\")";
	char *text = xasprintf("they pass through %s::%s, %s", places[place].type,
			       places[place].method, why);
	const char *kept = finding_string(f, text);

	free(text);
	return kept;
}

static const char *plan(struct finding *f, const struct search *s)
{
	static const unsigned needed[] = { BEGIN, PARK, UNPARK, DRIVE, YIELD, DRIVE_INNER };
	uint32_t flag_off = 0;

	if (!s->matches.nr && s->nr_functions)
		return "none of the functions of Tokio that they pass through has a symbol: all were "
		       "inlined (as fat LTO does in some programs: build with lto = \"thin\")";
	if (!s->matches.nr && f->syms_img != f->img)
		return "its symbols are in a separate file, which does not help here: build "
		       "with `strip = false`, or strip = \"debuginfo\"";
	if (!s->matches.nr)
		return "it has no symbols: build with `strip = false`, or strip = \"debuginfo\"";
	if (has_copies(s))
		return "there are several copies of Tokio, and which one they belong to is "
		       "unknown";
	if (!find_flag(s, &flag_off))
		return "how this build of Tokio marks that a root future was woken is unknown";
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		const struct match *m = only(s, needed[i]);

		if (!is_needed(s, needed[i]))
			continue;
		if (!m)
			return missing(f, s, needed[i]);
		if (!add(f, m, flag_off))
			return "a function of Tokio that they pass through cannot be redirected";
	}
	if (!add_ends(f, s))
		return "the end of a root future cannot be seen";
	add_builds(f, s);
	return "";
}

static bool is_one_of(const struct search *s, unsigned place, uint64_t va)
{
	vec_each (m, &s->matches)
		if (m->place == &places[place] && m->symbol.va == va)
			return true;
	return false;
}

/* What stands in a waker's table. */
struct waker_search {
	const struct search *s;
	unsigned slots[WAKER_WORDS]; /* indices into places */
};

/*
 * RawWakerVTable of an Arc: clone, wake, wake_by_ref, drop. Whose, the symbols may not tell; the
 * agent knows the scheduler's handles, and the parkers, when it sees them.
 */
static bool add_waker(struct finding *f, void *arg, const struct scan_place *at)
{
	const struct waker_search *search = arg;
	struct found_table t = scan_waker(at->va, WIRE_TABLE_TOKIO_ROOT_WAKER);
	uint64_t *words = t.plan.words;

	for (unsigned i = 0; i < WAKER_WORDS; i++) {
		words[i] = scan_load(at->p + 8 * i);
		if (!scan_is_code(f, at, i) || !is_one_of(search->s, search->slots[i], words[i]))
			return false;
	}
	t.runtime = f->roots.runtime;
	vec_push(&f->tables, t);
	return true;
}

static const char *add_wakers(struct finding *f, const struct search *s)
{
	struct waker_search arc = { s, { CLONE, WAKE, WAKE_BY_REF, DROP } };
	struct waker_search parker = {
		s, { PARKER_CLONE, PARKER_WAKE, PARKER_WAKE_BY_REF, PARKER_DROP }
	};
	size_t nr = f->tables.nr;

	if (!only(s, UNPARK)) {
		scan_tables(f, WAKER_WORDS, add_waker, &parker);
		if (f->tables.nr == nr)
			return "the source of their wakes cannot be seen";
	}
	scan_tables(f, WAKER_WORDS, add_waker, &arc);
	return "";
}

void tokio_find_roots(struct finding *f)
{
	struct search s = { .f = f };
	size_t i = 0;

	while (i < f->runtimes.nr && strcmp(f->runtimes.v[i].name, "tokio") != 0)
		i++;
	if (i == f->runtimes.nr || !f->runtimes.v[i].nr_tables)
		return;
	allocator_find_functions(f);
	f->roots.runtime = i;
	symtab_each_function(f->img, look_at, &s);
	if (s.matches.nr)
		symtab_each_function(f->img, look_for_merged, &s);
	f->roots.note = plan(f, &s);
	if (!*f->roots.note)
		f->roots.note = add_wakers(f, &s);
	if (*f->roots.note)
		f->roots.nr_redirects = 0; /* ours are the first */
	vec_release(&s.matches);
}

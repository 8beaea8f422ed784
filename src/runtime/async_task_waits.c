// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * async-io waits for I/O and timers by the crate polling, which makes its system calls itself, past
 * libc. Where symbols name the function that waits, it is redirected, and a thread in it is asleep:
 *
 *	polling::Poller::wait(self, events, timeout)
 *	async_io::reactor::ReactorLock::react(self, timeout)	where the former is inlined into it
 *
 * A timeout takes two registers. With one of 0 the driver is only looked at.
 */
#include <string.h>

#include "runtime/async_task.h"
#include "symbol/code.h"
#include "symbol/demangle.h"

static const struct place {
	const char *mark, *name, *v0_name;
	uint8_t kind; /* enum wire_redirect_kind */
	uint32_t timeout_arg;
} places[] = {
	{ "6Poller4wait", "polling::Poller::wait", "<polling::Poller>::wait", WIRE_DRIVER_WAIT, 2 },
	{ "11ReactorLock5react", "async_io::reactor::ReactorLock::react",
	  "<async_io::reactor::ReactorLock>::react", WIRE_DRIVER_WAIT, 1 },
	{ "5Inner4park", "parking::Inner::park", "<parking::Inner>::park", WIRE_ROOT_PARKING },
	{ "5Inner6unpark", "parking::Inner::unpark", "<parking::Inner>::unpark",
	  WIRE_ROOT_UNPARKING },
};

/* indices into places */
enum { POLLER, REACT, PARK, UNPARK };

struct match {
	struct symbol symbol;
	unsigned nr; /* of its addresses, and of other functions there */
};

struct search {
	struct match matches[ARRAY_SIZE(places)];
};

static bool is_named(const struct symbol *s, const struct place *p)
{
	char *name = strstr(s->name, p->mark) ? demangle(s->name) : NULL;
	bool is_it = name && (strcmp(name, p->name) == 0 || strcmp(name, p->v0_name) == 0);

	free(name);
	return is_it;
}

static void look_at(void *arg, const struct symbol *s)
{
	struct search *search = arg;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (is_named(s, &places[i])) {
			search->matches[i].symbol = *s;
			search->matches[i].nr++;
		}
}

static void look_for_merged(void *arg, const struct symbol *s)
{
	struct search *search = arg;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct match *m = &search->matches[i];

		m->nr += m->nr && m->symbol.va == s->va && strcmp(m->symbol.name, s->name) != 0;
	}
}

static bool add(struct finding *f, const struct match *m, const struct place *p)
{
	uint64_t len = m->symbol.size_bytes;
	const uint8_t *code = image_at(f->img, m->symbol.va, len);
	struct wire_redirect *r = &f->roots.redirects[f->roots.nr_redirects];

	if (m->nr != 1 || !code || f->roots.nr_redirects == WIRE_MAX_REDIRECTS ||
	    !finding_is_function(f, m->symbol.va, len))
		return false;
	*r = (struct wire_redirect){ .va = m->symbol.va,
				     .kind = p->kind,
				     .type = EVENT_TYPE_NONE,
				     .flag_off = p->timeout_arg };
	r->nr_bytes = code_movable(code, len, WIRE_MOVED_BYTES);
	memcpy(r->bytes, code, r->nr_bytes);
	f->roots.nr_redirects += r->nr_bytes > 0;
	f->roots.nr_waits += r->nr_bytes && r->kind == WIRE_DRIVER_WAIT;
	f->roots.nr_parks += r->nr_bytes && r->kind != WIRE_DRIVER_WAIT;
	return r->nr_bytes > 0;
}

void async_task_find_waits(struct finding *f)
{
	const struct found_runtime *runtime = NULL;
	struct search s = { 0 };

	vec_each (r, &f->runtimes)
		if (!runtime && runtime_descriptor(r) == &runtime_async_task)
			runtime = r;
	/* without tasks there may be roots, where debug info tells of them */
	if (!runtime || (!runtime->nr_tables && !f->has_types))
		return;
	symtab_each_function(f->img, look_at, &s);
	symtab_each_function(f->img, look_for_merged, &s);
	if (!add(f, &s.matches[POLLER], &places[POLLER]))
		add(f, &s.matches[REACT], &places[REACT]);
	f->roots.parking_runtime = runtime - f->runtimes.v;
	if (add(f, &s.matches[PARK], &places[PARK]))
		add(f, &s.matches[UNPARK], &places[UNPARK]);
}

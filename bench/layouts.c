// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How long it takes until the types of a program are known: opens the debug info of FILE, with the
 * cache in FOLDER unless that is "-", and follows the types that are called NAME to everything that
 * can be reached from them. Prints the wall time of both parts; a process measures once, as
 * the first look at each page is a part of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "symbol/layout.h"

struct walk {
	struct layouts *l;
	VEC(bool) seen; /* by number */
	VEC(uint32_t) open;
	uint64_t nr_types, nr_awaits;
};

static void add(struct walk *w, uint32_t type)
{
	if (type == LAYOUT_NONE)
		return;
	while (w->seen.nr <= type)
		vec_push(&w->seen, false);
	if (w->seen.v[type])
		return;
	w->seen.v[type] = true;
	vec_push(&w->open, type);
}

static void add_members(struct walk *w, const struct layout_member *members, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		add(w, members[i].type);
}

static void follow(struct walk *w)
{
	while (w->open.nr) {
		const struct layout *t = layouts_get(w->l, w->open.v[--w->open.nr]);

		w->nr_types++;
		add(w, t->target);
		add_members(w, t->members, t->nr_members);
		for (uint32_t i = 0; i < t->nr_variants; i++) {
			add_members(w, t->variants[i].members, t->variants[i].nr_members);
			w->nr_awaits += t->variants[i].awaitee >= 0;
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t start = clock_mono_ns(), opened;
	struct walk w = { 0 };
	const char *why;

	if (argc < 4) {
		fputs("usage: layouts FILE FOLDER|- NAME...\n", stderr);
		return 2;
	}
	w.l = layouts_open(argv[1], strcmp(argv[2], "-") == 0 ? NULL : argv[2], &why);
	if (!w.l) {
		fprintf(stderr, "layouts: %s: %s\n", argv[1], why);
		return 1;
	}
	opened = clock_mono_ns();
	for (int i = 3; i < argc; i++)
		add(&w, layouts_named(w.l, argv[i]));
	follow(&w);
	printf("layouts open_ns=%" PRIu64 " follow_ns=%" PRIu64 " types=%" PRIu64 " awaits=%" PRIu64
	       " broken=%" PRIu64 "\n",
	       opened - start, clock_mono_ns() - opened, w.nr_types, w.nr_awaits,
	       layouts_nr_broken(w.l));
	layouts_close(w.l);
	vec_release(&w.seen);
	vec_release(&w.open);
	return 0;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/future_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"

struct names {
	struct intern *strings;
	struct map kinds; /* by number of the name: kind + 1; 0: several have it */
};

/* A type has one name, but several may be the body of what has one name as a function. */
static void call(struct names *n, const char *name, uint32_t kind)
{
	bool was_there;
	uint64_t *at = map_put(&n->kinds, intern_puts(n->strings, name), &was_there);

	*at = was_there && *at != kind + UINT64_C(1) ? 0 : kind + UINT64_C(1);
}

static void name_steps(struct names *n, const struct recording *rec)
{
	for (uint32_t i = 0; i < rec->awaits.nr_futures; i++) {
		const struct trace_step *s = &rec->steps[rec->awaits.futures[i]];

		call(n, s->future, i);
		call(n, step_name(s), i);
	}
}

void future_kinds_init(struct future_kinds *k, const struct recording *rec)
{
	size_t max = (size_t)rec->awaits.nr_futures + rec->nr_futures + 1;
	struct names n = { .strings = intern_new() };

	*k = (struct future_kinds){ .nr = rec->awaits.nr_futures };
	k->of_future = xcalloc((size_t)rec->nr_futures + 1, sizeof(*k->of_future));
	k->future_of = xcalloc(max, sizeof(*k->future_of));
	memset(k->future_of, 0xff, max * sizeof(*k->future_of));
	name_steps(&n, rec);
	for (uint32_t i = 0; i < rec->nr_futures; i++) {
		uint64_t *kind =
			map_put(&n.kinds, intern_puts(n.strings, rec->futures[i].name), NULL);

		if (!*kind)
			*kind = ++k->nr;
		k->of_future[i] = *kind - 1;
		k->future_of[*kind - 1] = i;
	}
	map_release(&n.kinds);
	intern_free(n.strings);
}

void future_kinds_release(struct future_kinds *k)
{
	free(k->of_future);
	free(k->future_of);
	*k = (struct future_kinds){ 0 };
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/story_waits.h"

#include <stdlib.h>

#include "base/intern.h"
#include "export/trunks.h"

void story_waits_add(struct story_waits *w, uint32_t path, uint64_t ns)
{
	if (path == MODEL_NO_PATH)
		return;
	/* a task stands at few places, most often at those where it stood last */
	for (size_t i = w->v.nr; i-- > 0;)
		if (w->v.v[i].path == path) {
			w->v.v[i].nr++;
			w->v.v[i].ns += ns;
			return;
		}
	vec_push(&w->v, (struct story_wait){ path, 1, ns });
}

static int longer_first(const void *pa, const void *pb)
{
	const struct story_wait *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return (a->path > b->path) - (a->path < b->path);
}

void story_waits_settle(struct story_waits *w, const struct recording *rec)
{
	struct intern *places = intern_new();
	struct strbuf text = STRBUF_INIT;
	size_t nr = 0;

	for (size_t i = 0; i < w->v.nr; i++) {
		struct story_wait from = w->v.v[i];
		uint32_t place;

		strbuf_reset(&text);
		trunks_add_waits(rec, from.path, &text);
		place = intern_puts(places, text.s);
		if (place == nr) {
			w->v.v[nr++] = from;
		} else {
			w->v.v[place].nr += from.nr;
			w->v.v[place].ns += from.ns;
		}
	}
	w->v.nr = nr;
	if (nr)
		qsort(w->v.v, nr, sizeof(*w->v.v), longer_first);
	strbuf_release(&text);
	intern_free(places);
}

void story_waits_release(struct story_waits *w)
{
	vec_release(&w->v);
}

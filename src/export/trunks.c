// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/trunks.h"

#include <string.h>

#include "base/vec.h"
#include "model/shorten.h"

#define PLACE_WIDTH  40
#define NAME_WIDTH   60
#define MAX_BRANCHES 4 /* that are named */

/* "mutex at src/cart.rs:31" */
static void add_wait(const struct recording *rec, uint32_t leaf, struct strbuf *out)
{
	const struct trace_step *s = &rec->steps[leaf];
	uint32_t seat = rec->awaits.seat_of[leaf];

	if (s->leaf[0])
		strbuf_add_clean(out, s->leaf, strlen(s->leaf));
	else
		shorten_type(out, step_name(s), NAME_WIDTH);
	if (seat != STEPS_NONE) {
		s = &rec->steps[rec->awaits.points[seat]];
		strbuf_addstr(out, " at ");
		step_shorten_place(out, s, PLACE_WIDTH);
	}
}

void trunks_add_waits(const struct recording *rec, uint32_t path, struct strbuf *out)
{
	const struct trace_path *p = &rec->paths[path];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < p->nr_steps; i++) {
		if (!step_waits(&rec->steps[p->steps[i]]))
			continue;
		if (nr++ < MAX_BRANCHES) {
			strbuf_addstr(out, nr > 1 ? " | " : "");
			add_wait(rec, p->steps[i], out);
		}
	}
	if (nr > MAX_BRANCHES)
		strbuf_addf(out, " | %u more", nr - MAX_BRANCHES);
	if (!nr)
		strbuf_addstr(out, "not started");
}

static char *escaped(struct strbuf *text, names_escape *escape)
{
	struct strbuf out = STRBUF_INIT;

	escape(&out, text->s);
	strbuf_reset(text);
	return strbuf_take(&out);
}

static void name_all(struct trunks *t, names_escape *escape)
{
	const struct recording *rec = t->rec;
	struct strbuf text = STRBUF_INIT;

	t->futures = (struct names){ .nr = t->kinds.nr + 1 };
	t->futures.v = xcalloc(t->futures.nr, sizeof(*t->futures.v));
	for (uint32_t i = 0; i < t->futures.nr; i++) {
		if (i < rec->awaits.nr_futures)
			shorten_type(&text, step_name(&rec->steps[rec->awaits.futures[i]]),
				     NAME_WIDTH);
		else if (i < t->kinds.nr)
			shorten_type(&text, rec->futures[t->kinds.future_of[i]].name, NAME_WIDTH);
		t->futures.v[i] = escaped(&text, escape);
	}
	t->waits = (struct names){ .nr = rec->nr_paths + 1 };
	t->waits.v = xcalloc(t->waits.nr, sizeof(*t->waits.v));
	for (uint32_t i = 0; i < t->waits.nr; i++) {
		if (i < rec->nr_paths)
			trunks_add_waits(rec, i, &text);
		t->waits.v[i] = escaped(&text, escape);
	}
	strbuf_release(&text);
}

/* Does a branch end with it? */
static bool is_end_of(const struct trace_path *p, uint32_t step)
{
	for (uint32_t i = 0; i < p->nr_steps; i++)
		if (p->steps[i] == step)
			return true;
	return false;
}

static void cut_trunks(struct trunks *t, const struct export_job *job)
{
	const struct recording *rec = t->rec;
	uint32_t *trunk = xcalloc(STEPS_MAX_DEPTH, sizeof(*trunk));
	VEC(struct trunk_step) ways = { 0 };
	VEC(uint32_t) steps = { 0 };

	for (uint32_t i = 0; i < rec->nr_paths; i++) {
		const struct trace_path *p = &rec->paths[i];
		uint32_t nr = steps_get_trunk(&rec->awaits, p, trunk, STEPS_MAX_DEPTH);
		uint32_t own = steps_find_own(&rec->awaits, trunk, nr);

		t->first[i] = steps.nr;
		t->first_way[i] = ways.nr;
		for (uint32_t k = 0; k < nr; k++) {
			bool is_end = k + 1 == nr && is_end_of(p, trunk[k]);

			if (k == own || (k > own && export_shows(job, trunk[k], is_end)))
				vec_push(&steps, trunk[k]);
			vec_push(&ways, (struct trunk_step){ trunk[k], steps.nr - t->first[i] });
		}
		t->longest = MAX(t->longest, (uint32_t)steps.nr - t->first[i]);
	}
	t->first[rec->nr_paths] = steps.nr;
	t->first_way[rec->nr_paths] = ways.nr;
	t->steps = steps.v;
	t->ways = ways.v;
	free(trunk);
}

void trunks_init(struct trunks *t, const struct export_job *job, names_escape *escape)
{
	*t = (struct trunks){ .rec = job->rec, .shown = job->polled };
	future_kinds_init(&t->kinds, t->rec);
	t->first = xcalloc((size_t)t->rec->nr_paths + 1, sizeof(*t->first));
	t->first_way = xcalloc((size_t)t->rec->nr_paths + 1, sizeof(*t->first_way));
	cut_trunks(t, job);
	name_all(t, escape);
}

void trunks_release(struct trunks *t)
{
	free(t->steps);
	free(t->first);
	free(t->ways);
	free(t->first_way);
	future_kinds_release(&t->kinds);
	names_release(&t->futures);
	names_release(&t->waits);
}

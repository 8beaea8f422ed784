// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/steps.h"

#include "base/intern.h"
#include "base/map.h"
#include "model/shorten.h"

/* Numbers for what is the same by a key, counted from 0. */
struct numbering {
	struct map map;
	uint32_t *firsts; /* a step of each */
	uint32_t nr;
};

static uint32_t number_of(struct numbering *n, uint64_t key, uint32_t step)
{
	bool was_there;
	uint64_t *nr = map_put(&n->map, key, &was_there);

	if (!was_there) {
		*nr = n->nr;
		n->firsts[n->nr++] = step;
	}
	return *nr;
}

static bool is_point(const struct trace_step *s)
{
	return step_waits(s) && s->file[0];
}

static uint32_t *new_numbers(uint32_t nr)
{
	return xcalloc((size_t)nr + 1, sizeof(uint32_t));
}

/* Of the step itself, if it is a line of the program's own or nobody has a better one. */
static uint32_t find_seat(const struct steps *s, uint32_t step)
{
	const struct trace_step *t = &s->v[step];
	uint32_t outer = s->outer[step] == TRACE_NO_STEP ? STEPS_NONE : s->seat_of[s->outer[step]];
	uint32_t own = s->point_of[step];

	if (!step_waits(t))
		return STEPS_NONE;
	if (own == STEPS_NONE ||
	    (t->is_foreign && outer != STEPS_NONE && !s->v[s->points[outer]].is_foreign))
		return outer;
	return own;
}

static void set_outer(struct steps *s, uint32_t step)
{
	uint32_t outer = s->v[step].outer;

	if (outer >= step || s->depth[outer] + 1 >= STEPS_MAX_DEPTH)
		outer = TRACE_NO_STEP;
	s->outer[step] = outer;
	s->depth[step] = outer == TRACE_NO_STEP ? 0 : s->depth[outer] + 1;
}

void steps_init(struct steps *s, const struct trace_step *v, uint32_t nr)
{
	struct intern *strings = intern_new();
	struct numbering points = { .firsts = new_numbers(nr) };
	struct numbering futures = { .firsts = new_numbers(nr) };
	struct numbering nodes = { .firsts = new_numbers(nr) };
	struct numbering places = { .firsts = new_numbers(nr) };

	*s = (struct steps){ .v = v, .nr = nr, .points = points.firsts };
	s->point_of = new_numbers(nr);
	s->future_of = new_numbers(nr);
	s->node_of = new_numbers(nr);
	s->seat_of = new_numbers(nr);
	s->outer = new_numbers(nr);
	s->depth = new_numbers(nr);
	for (uint32_t i = 0; i < nr; i++) {
		const struct trace_step *t = &v[i];
		uint64_t name = intern_puts(strings, t->future), file, future;

		future = s->future_of[i] = number_of(&futures, name, i);
		file = intern_puts(strings, t->file);
		/* a line and a file, then that and a future: two numbers fit into a key */
		s->point_of[i] = STEPS_NONE;
		if (is_point(t))
			s->point_of[i] = number_of(
				&points,
				(uint64_t)number_of(&places, file << 32 | t->line, i) << 32 |
					future,
				i);
		set_outer(s, i);
		s->node_of[i] = number_of(&nodes, (uint64_t)s->outer[i] << 32 | future, i);
		s->seat_of[i] = find_seat(s, i);
	}
	s->futures = futures.firsts;
	s->nodes = nodes.firsts;
	s->nr_points = points.nr;
	s->nr_futures = futures.nr;
	s->nr_nodes = nodes.nr;
	map_release(&points.map);
	map_release(&futures.map);
	map_release(&nodes.map);
	map_release(&places.map);
	free(places.firsts);
	intern_free(strings);
}

void steps_release(struct steps *s)
{
	free(s->point_of);
	free(s->future_of);
	free(s->node_of);
	free(s->seat_of);
	free(s->outer);
	free(s->depth);
	free(s->points);
	free(s->futures);
	free(s->nodes);
	*s = (struct steps){ 0 };
}

static uint32_t climb(const struct steps *s, uint32_t step, uint32_t depth)
{
	while (step != TRACE_NO_STEP && s->depth[step] > depth)
		step = s->outer[step];
	return step;
}

/* The innermost step around both, TRACE_NO_STEP when there is none. */
static uint32_t common(const struct steps *s, uint32_t a, uint32_t b)
{
	uint32_t depth = MIN(s->depth[a], s->depth[b]);

	a = climb(s, a, depth);
	b = climb(s, b, depth);
	while (a != b && a != TRACE_NO_STEP && b != TRACE_NO_STEP) {
		a = s->outer[a];
		b = s->outer[b];
	}
	return a == b ? a : TRACE_NO_STEP;
}

uint32_t steps_find_own(const struct steps *s, const uint32_t *chain, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (s->v[chain[i]].is_generated)
			return i;
	return 0;
}

uint32_t steps_get_trunk(const struct steps *s, const struct trace_path *p, uint32_t *trunk,
			 uint32_t max)
{
	uint32_t step = TRACE_NO_STEP, nr;
	bool has_waits = false, is_first = true;

	for (uint32_t i = 0; i < p->nr_steps; i++)
		has_waits |= step_waits(&s->v[p->steps[i]]);
	for (uint32_t i = 0; i < p->nr_steps; i++) {
		if (has_waits && !step_waits(&s->v[p->steps[i]]))
			continue;
		if (is_first)
			step = p->steps[i];
		else if (step != TRACE_NO_STEP)
			step = common(s, step, p->steps[i]);
		is_first = false;
	}
	if (step == TRACE_NO_STEP || !max)
		return 0;
	step = climb(s, step, max - 1);
	nr = s->depth[step] + 1;
	for (uint32_t i = nr; i-- > 0; step = s->outer[step])
		trunk[i] = step;
	return nr;
}

void path_seats_init(struct path_seats *seats, const struct steps *s,
		     const struct trace_path *paths, uint32_t nr)
{
	uint32_t *last = new_numbers(s->nr_points); /* path + 1 that had the point */
	size_t max = 0, used = 0;

	for (uint32_t i = 0; i < nr; i++)
		max += paths[i].nr_steps;
	seats->v = xcalloc(max + 1, sizeof(*seats->v));
	seats->first = new_numbers(nr);
	for (uint32_t i = 0; i < nr; i++) {
		seats->first[i] = used;
		for (uint32_t k = 0; k < paths[i].nr_steps; k++) {
			uint32_t point = s->seat_of[paths[i].steps[k]];

			if (point == STEPS_NONE || last[point] == i + 1)
				continue;
			last[point] = i + 1;
			seats->v[used++] = point;
		}
	}
	seats->first[nr] = used;
	free(last);
}

void path_seats_release(struct path_seats *seats)
{
	free(seats->v);
	free(seats->first);
}

const char *step_state_name(enum trace_step_state state)
{
	static const char *const names[] = { "waits", "not_started", "done", "ready" };

	return names[state];
}

/* Inside a macro: somewhere from here on. */
static void add_last_line(struct strbuf *out, const struct trace_step *s)
{
	if (s->last_line > s->line)
		strbuf_addf(out, "-%u", s->last_line);
}

void step_add_place(struct strbuf *out, const struct trace_step *s)
{
	if (!s->file[0])
		return;
	strbuf_addf(out, "%s:%u", s->file, s->line);
	add_last_line(out, s);
}

void step_shorten_place(struct strbuf *out, const struct trace_step *s, size_t width)
{
	if (!s->file[0])
		return;
	shorten_place(out, s->file, s->line, width);
	add_last_line(out, s);
}

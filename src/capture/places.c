// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Words: a *point* is a call in one object, by the address of its last byte. Whatever stands in the
 * region may have been overwritten by the program: numbers are checked, and none is read twice.
 */
#include "capture/places.h"

#include "capture/place_choice.h"
#include "capture/process.h"
#include "future/lines.h"
#include "runtime/source.h"

/* An object and the points that lie in it. */
struct lookup {
	const struct process_object *object;
	VEC(uint64_t) points, locations; /* addresses; sorted once all are known */
	struct lines *lines;		 /* what is known of them; NULL: nothing */
};

struct stack {
	uint32_t number, nr_frames;
	uint64_t frames[WIRE_MAX_FRAMES];
};

static bool copy_stack(const struct wire_region *r, uint32_t number, struct stack *s)
{
	const struct wire_stack *from = &r->stacks[number];
	uint64_t used = __atomic_load_n(&r->stacks_used[number / 64], __ATOMIC_ACQUIRE);

	if (!(used >> number % 64 & 1)) /* looking at it would give it memory */
		return false;
	s->number = number;
	s->nr_frames =
		MIN(__atomic_load_n(&from->nr_frames, __ATOMIC_RELAXED), (uint32_t)WIRE_MAX_FRAMES);
	for (uint32_t i = 0; i < s->nr_frames; i++)
		s->frames[i] = __atomic_load_n(&from->frames[i], __ATOMIC_RELAXED);
	return s->nr_frames > 0;
}

static uint64_t point_of(uint64_t frame)
{
	return (frame & ((UINT64_C(1) << WIRE_FRAME_SHIFT) - 1)) - 1; /* frames return behind it */
}

static struct place_choice choose(struct lookup *const *by_index, const struct stack *s)
{
	VEC(struct place_line) lines = { 0 };
	struct place_choice choice;
	bool is_optimised = false;

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		uint64_t index = s->frames[i] >> WIRE_FRAME_SHIFT, va = point_of(s->frames[i]);
		const struct lookup *l = index < WIRE_MAX_OBJECTS ? by_index[index] : NULL;
		const struct lines *known = l ? l->lines : NULL;
		const struct lines_point *point = known ? lines_at(known, va) : NULL;
		struct place_line line = { .is_in_local = known && lines_is_local(known, va) };

		is_optimised |= point && point->nr_places > 1; /* something was inlined */
		for (size_t k = 0; point && k < point->nr_places; k++) {
			line.place = &known->places.v[point->first_place + k];
			line.may_be_merged = is_optimised && k + 1 == point->nr_places;
			vec_push(&lines, line);
		}
		if (!line.place)
			vec_push(&lines, line);
	}
	choice = place_choose(lines.v, lines.nr);
	vec_release(&lines);
	return choice;
}

static bool is_location(const struct stack *s)
{
	return s->nr_frames == 1 && s->frames[0] & WIRE_FRAME_PLACE;
}

static uint64_t location_of(const struct stack *s, uint64_t *index)
{
	*index = (s->frames[0] & ~WIRE_FRAME_PLACE) >> WIRE_FRAME_SHIFT;
	return s->frames[0] & ((UINT64_C(1) << WIRE_FRAME_SHIFT) - 1);
}

static void write_location(struct process *p, struct lookup *const *by_index, const struct stack *s)
{
	uint64_t index, va = location_of(s, &index);
	const struct lookup *l = index < WIRE_MAX_OBJECTS ? by_index[index] : NULL;
	const struct lines_location *at = l && l->lines ? lines_location(l->lines, va) : NULL;
	struct trace_stack place = { 0 };

	if (!at)
		return;
	place.file = at->file;
	place.line = at->line;
	place.is_foreign = source_owner(at->file) != SOURCE_OF_PROGRAM;
	/* where Tokio does not know its caller it names itself */
	if (source_owner(at->file) != SOURCE_OF_RUNTIME)
		trace_writer_stack(p->writer, s->number, &place);
}

static void write_stack(struct process *p, struct lookup *const *by_index, const struct stack *s)
{
	struct place_choice c = choose(by_index, s);
	struct trace_stack to = { .file = "", .is_local = c.is_local, .scheduler = c.scheduler };

	if (c.place) {
		to.file = c.place->file;
		to.line = c.place->line;
		to.is_foreign = source_owner(c.place->file) != SOURCE_OF_PROGRAM;
	}
	if (c.place || c.is_local || c.scheduler)
		trace_writer_stack(p->writer, s->number, &to);
}

static void ask(struct process *p, struct lookup *l)
{
	struct lines_request q = { .points = l->points.v,
				   .nr_points = l->points.nr,
				   .locations = l->locations.v,
				   .nr_locations = l->locations.nr };

	if (l->points.nr || l->locations.nr)
		l->lines = catalog_lines(p->catalog, l->object->reading, l->object->fd, &q);
}

static void add_points(const struct stack *s, struct lookup *const *by_index)
{
	uint64_t index, va;

	if (is_location(s)) {
		va = location_of(s, &index);
		if (index < WIRE_MAX_OBJECTS && by_index[index])
			vec_push(&by_index[index]->locations, va);
		return;
	}
	for (uint32_t k = 0; k < s->nr_frames; k++) {
		index = s->frames[k] >> WIRE_FRAME_SHIFT;
		if (index < WIRE_MAX_OBJECTS && by_index[index])
			vec_push(&by_index[index]->points, point_of(s->frames[k]));
	}
}

void places_write(struct process *p)
{
	struct lookup *lookups = xcalloc(p->objects.nr + 1, sizeof(*lookups)),
		      **by_index = xcalloc(WIRE_MAX_OBJECTS, sizeof(*by_index));
	VEC(struct stack) stacks = { 0 };

	for (size_t i = 0; i < p->objects.nr; i++) {
		const struct process_object *o = &p->objects.v[i];

		lookups[i].object = o;
		if (o->fd >= 0 && o->reading)
			by_index[o->index] = &lookups[i];
	}
	for (uint32_t i = 0; i < WIRE_MAX_STACKS; i++) {
		struct stack s;

		if (!copy_stack(p->region, i, &s))
			continue;
		vec_push(&stacks, s);
		add_points(&s, by_index);
	}
	for (size_t i = 0; i < p->objects.nr; i++)
		ask(p, &lookups[i]);
	vec_each (s, &stacks) {
		if (is_location(s))
			write_location(p, by_index, s);
		else
			write_stack(p, by_index, s);
	}
	for (size_t i = 0; i < p->objects.nr; i++) {
		vec_release(&lookups[i].points);
		vec_release(&lookups[i].locations);
		lines_free(lookups[i].lines);
	}
	vec_release(&stacks);
	free(by_index);
	free(lookups);
}

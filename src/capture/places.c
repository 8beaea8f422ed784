// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Words: a *point* is a call in one object, by the address of its last byte. Whatever stands in the
 * region may have been overwritten by the program: numbers are checked, and none is read twice.
 */
#include "capture/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/place_choice.h"
#include "runtime/source.h"
#include "symbol/dwarf.h"
#include "symbol/image.h"
#include "symbol/symtab.h"

#define MAX_PATH 4096 /* of a source file */

struct range {
	uint64_t from_va, to_va;
};

/* What an object tells of the points that lie in it. */
struct lookup {
	const struct process_object *object;
	struct dwarf *dwarf;
	struct image *image;		/* opened when a place in it is asked for */
	VEC(struct dwarf_point) points; /* sorted by va once all are known */
	VEC(struct range) local; /* code by which tasks are spawned that stay on their thread */
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

static int compare(const void *a, const void *b)
{
	uint64_t x = ((const struct dwarf_point *)a)->va, y = ((const struct dwarf_point *)b)->va;

	return x < y ? -1 : x > y;
}

static struct image *open_image(struct lookup *l)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", l->object->fd);
	if (!l->image)
		l->image = image_open(path, path, NULL);
	return l->image;
}

static void note_local(void *arg, const struct symbol *s)
{
	struct source_function f = { .linkage = s->name, .may_be_merged = true };
	struct lookup *l = arg;

	if (source_spawns_local(&f))
		vec_push(&l->local, (struct range){ s->va, s->va + s->size_bytes });
}

/* Lines tell more, but a program that has none may have symbols. */
static bool is_in_local(const struct lookup *l, uint64_t va)
{
	vec_each (r, &l->local)
		if (va >= r->from_va && va < r->to_va)
			return true;
	return false;
}

static void resolve(struct lookup *l)
{
	char path[64];
	const char *why, *debug_path = l->object->d->debug_path;
	size_t kept = 0;

	if (!l->points.nr)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", l->object->fd);
	l->dwarf = dwarf_open(*debug_path ? debug_path : path, &why);
	qsort(l->points.v, l->points.nr, sizeof(*l->points.v), compare);
	for (size_t i = 0; i < l->points.nr; i++)
		if (!kept || l->points.v[kept - 1].va != l->points.v[i].va)
			l->points.v[kept++] = l->points.v[i];
	l->points.nr = kept;
	if (l->dwarf)
		dwarf_find_places(l->dwarf, l->points.v, l->points.nr);
	if (l->object->d->nr_runtimes && open_image(l))
		symtab_each_function(l->image, note_local, l);
}

static struct place_choice choose(struct lookup *const *by_index, const struct stack *s)
{
	VEC(struct place_line) lines = { 0 };
	struct place_choice choice;
	bool is_optimised = false;

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		struct dwarf_point key = { .va = point_of(s->frames[i]) }, *point;
		uint64_t index = s->frames[i] >> WIRE_FRAME_SHIFT;
		const struct lookup *l = index < WIRE_MAX_OBJECTS ? by_index[index] : NULL;
		struct place_line line = { .is_in_local = l && is_in_local(l, key.va) };

		point = l && l->points.nr
				? bsearch(&key, l->points.v, l->points.nr, sizeof(key), compare)
				: NULL;
		is_optimised |= point && point->nr_places > 1; /* something was inlined */
		for (size_t k = 0; point && k < point->nr_places; k++) {
			line.place = &point->places[k];
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

/*
 * What the runtime kept: a core::panic::Location { file: &str, line: u32, column: u32 } in the
 * object's read-only data. The text of the file is to be freed; NULL: there is none such.
 */
static char *read_location(struct lookup *l, uint64_t va, uint32_t *line)
{
	uint64_t text, len, position;
	const uint8_t *bytes;

	if (!open_image(l) || !image_word(l->image, va, &text) ||
	    !image_word(l->image, va + 8, &len) || !image_word(l->image, va + 16, &position) ||
	    !len || len > MAX_PATH)
		return NULL;
	bytes = image_at(l->image, text, len);
	*line = position;
	return bytes && *line && !memchr(bytes, 0, len) ? xstrndup((const char *)bytes, len) : NULL;
}

static bool is_location(const struct stack *s)
{
	return s->nr_frames == 1 && s->frames[0] & WIRE_FRAME_PLACE;
}

static void write_location(struct process *p, struct lookup *const *by_index, const struct stack *s)
{
	uint64_t index = (s->frames[0] & ~WIRE_FRAME_PLACE) >> WIRE_FRAME_SHIFT;
	uint64_t va = s->frames[0] & ((UINT64_C(1) << WIRE_FRAME_SHIFT) - 1);
	struct lookup *l = index < WIRE_MAX_OBJECTS ? by_index[index] : NULL;
	struct trace_stack place = { 0 };
	char *file = l ? read_location(l, va, &place.line) : NULL;

	place.file = file;
	place.is_foreign = file && source_owner(file) != SOURCE_OF_PROGRAM;
	/* where Tokio does not know its caller it names itself */
	if (file && source_owner(file) != SOURCE_OF_RUNTIME)
		trace_writer_stack(p->writer, s->number, &place);
	free(file);
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

static void release(struct lookup *l)
{
	vec_each (point, &l->points)
		free(point->places);
	vec_release(&l->points);
	vec_release(&l->local);
	dwarf_close(l->dwarf);
	image_close(l->image);
}

void places_write(struct process *p)
{
	struct lookup *lookups = xcalloc(p->objects.nr + 1, sizeof(*lookups)),
		      **by_index = xcalloc(WIRE_MAX_OBJECTS, sizeof(*by_index));
	VEC(struct stack) stacks = { 0 };

	for (size_t i = 0; i < p->objects.nr; i++) {
		const struct process_object *o = &p->objects.v[i];

		lookups[i].object = o;
		if (o->fd >= 0)
			by_index[o->index] = &lookups[i];
	}
	for (uint32_t i = 0; i < WIRE_MAX_STACKS; i++) {
		struct stack s;

		if (!copy_stack(p->region, i, &s))
			continue;
		vec_push(&stacks, s);
		for (uint32_t k = 0; k < s.nr_frames; k++) {
			uint64_t index = s.frames[k] >> WIRE_FRAME_SHIFT;

			if (index < WIRE_MAX_OBJECTS && by_index[index])
				vec_push(&by_index[index]->points,
					 (struct dwarf_point){ .va = point_of(s.frames[k]) });
		}
	}
	for (size_t i = 0; i < p->objects.nr; i++)
		resolve(&lookups[i]);
	vec_each (s, &stacks) {
		if (is_location(s))
			write_location(p, by_index, s);
		else
			write_stack(p, by_index, s);
	}
	for (size_t i = 0; i < p->objects.nr; i++)
		release(&lookups[i]);
	vec_release(&stacks);
	free(by_index);
	free(lookups);
}

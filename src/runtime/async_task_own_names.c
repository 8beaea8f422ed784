// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * async-std gives each task a TaskId, and maybe a name. It keeps them in the future itself:
 *
 *	AsyncCallOnDrop { future: SupportTaskLocals { tag: TaskLocalsWrapper { task: Task { id,
 *	name: Option<Arc<String>> }, … }, future } , … }
 *
 * in a box where that is large. What lies where is the compiler's choice for each type, and full
 * debug info has it.
 */
#include <stdio.h>

#include "runtime/async_task.h"
#include "runtime/names.h"

#define MAX_OFF	 (1u << 26)
#define ARC_TEXT "name.Some.__0.ptr.pointer.*.data.vec."

/* What async-task puts around large futures: a Pin, whose member has had two names. */
static const char *const boxes[] = { "", "pointer.*.", "__pointer.*." };
/* Rust 1.80 and later, and before. */
static const char *const texts[] = { ARC_TEXT "buf.inner.ptr", ARC_TEXT "buf.ptr" };

struct own_type {
	struct dwarf *dwarf;
	uint64_t type_off;
	const char *box;
};

static bool find(const struct own_type *t, const char *path, struct dwarf_member *to)
{
	char whole[160];

	snprintf(whole, sizeof(whole), "%sfuture.tag.task.%s", t->box, path);
	if (!dwarf_member(t->dwarf, t->type_off, whole, to))
		return false;
	for (unsigned i = 0; i < to->nr_offs; i++)
		if (to->offs[i] > MAX_OFF)
			return false;
	return true;
}

/* A name is no more than decoration: the number is told without one. */
static void find_text(const struct own_type *t, struct wire_own_name *own, uint64_t future_off)
{
	bool is_boxed = t->box[0];
	struct dwarf_member text, len;

	if (!find(t, ARC_TEXT "len", &len))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (find(t, texts[i], &text) && text.offs[is_boxed + 1] <= UINT8_MAX &&
		    len.offs[is_boxed + 1] <= UINT8_MAX) {
			own->has_name = true;
			own->name_off = text.offs[is_boxed] + (is_boxed ? 0 : future_off);
			own->text_off = text.offs[is_boxed + 1];
			own->len_off = len.offs[is_boxed + 1];
			return;
		}
}

static void find_in(const struct own_type *t, struct wire_table *w)
{
	struct wire_own_name own = { 0 };
	bool is_boxed = t->box[0];
	struct dwarf_member number;

	if (!find(t, "id.__0", &number))
		return;
	own.has_number = true;
	own.number_off = number.offs[is_boxed] + (is_boxed ? 0 : w->stage_off);
	if (is_boxed)
		own.box_off = w->stage_off + number.offs[0];
	find_text(t, &own, w->stage_off);
	w->own_name = own;
}

void async_task_find_own_names(struct finding *f, struct dwarf_function *fns, size_t nr)
{
	struct map users = MAP_INIT;

	names_each(t, f, WIRE_TABLE_ASYNC_TASK)++ *map_put(&users, t->plan.words[ASYNC_TASK_RUN],
							   NULL);
	names_each(t, f, WIRE_TABLE_ASYNC_TASK)
	{
		uint64_t run = t->plan.words[ASYNC_TASK_RUN];
		const struct dwarf_function *fn = names_find(fns, nr, run);

		/* what several tables share may be described by another's type */
		if (!fn || !fn->has_type || *map_get(&users, run) != 1)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(boxes); i++)
			find_in(&(struct own_type){ f->dwarf, fn->type_off, boxes[i] }, &t->plan);
	}
	map_release(&users);
}

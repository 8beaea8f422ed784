// SPDX-License-Identifier: MIT OR Apache-2.0
/* Where a program that is built with the crate `futrace` has the slots of its marks: notes tell. */
#include <string.h>

#include "runtime/runtime.h"
#include "wire/mark.h"

static const char owner[] = "futrace";

struct note {
	uint32_t name_len, desc_len, type;
};

static size_t padded(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

/* Only what is as the crate makes it, in memory that can be written. */
static void add_slot(const struct image *img, uint64_t va, struct found_marks *to)
{
	uint64_t magic, record;

	if (to->nr == ARRAY_SIZE(to->slots) || va % 8 || !image_word(img, va, &magic) ||
	    !image_word(img, va + 8, &record) || magic != WIRE_MARK_MAGIC || record ||
	    !image_at(img, va, sizeof(struct wire_mark_slot)))
		return;
	for (uint32_t i = 0; i < img->nr_segments; i++) {
		const struct image_segment *s = &img->segments[i];

		if (s->write && va >= s->va && va - s->va < s->file_bytes)
			to->slots[to->nr++] = (struct wire_table){
				.va = va,
				.words = { WIRE_MARK_MAGIC, 0 },
				.nr_words = 2,
				.type = EVENT_TYPE_NONE,
				.kind = WIRE_TABLE_MARKS,
				.slot_poll = WIRE_NO_SLOT,
				.slot_schedule = WIRE_NO_SLOT,
				.slot_dealloc = WIRE_NO_SLOT,
				.slot_shutdown = WIRE_NO_SLOT,
				.slot_wake = WIRE_NO_SLOT,
				.slot_wake_by_ref = WIRE_NO_SLOT,
				.slot_abort = WIRE_NO_SLOT,
			};
	}
}

void marks_find(const struct image *img, struct found_marks *to)
{
	const struct image_section *s = image_section(img, ".note.futrace");
	const uint8_t *at = s ? image_section_data(img, s) : NULL;
	size_t left = at ? s->size_bytes : 0;

	to->nr = 0;
	while (left >= sizeof(struct note)) {
		const uint8_t *name = at + sizeof(struct note), *desc;
		struct note note;
		uint64_t va;

		memcpy(&note, at, sizeof(note));
		left -= sizeof(note);
		if (note.name_len > left || padded(note.name_len) > left ||
		    note.desc_len > left - padded(note.name_len))
			return;
		desc = name + padded(note.name_len);
		if (note.type == WIRE_MARK_NOTE && note.desc_len == sizeof(va) &&
		    note.name_len == sizeof(owner) && memcmp(name, owner, sizeof(owner)) == 0) {
			memcpy(&va, desc, sizeof(va));
			add_slot(img, va, to);
		}
		left -= padded(note.name_len);
		left -= MIN(padded(note.desc_len), left);
		at = desc + padded(note.desc_len);
	}
}

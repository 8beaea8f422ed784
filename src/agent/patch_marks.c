// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The slot of a copy of the crate `futrace`: its marks are to come to us. It lies in memory that is
 * writable anyhow. Only what stands before the semaphores is compared: the kernel counts in these.
 */
#include <stddef.h>

#include "agent/patch.h"
#include "wire/mark.h"

enum { MAGIC, RECORD, NR_WORDS };
_Static_assert(offsetof(struct wire_mark_slot, record) == RECORD * 8, "words of the plan");

static bool is_sane(const struct wire_table *t)
{
	return t->nr_words == NR_WORDS && !t->code_mask && t->words[MAGIC] == WIRE_MARK_MAGIC;
}

static bool hook(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	struct wire_mark_slot *slot = (struct wire_mark_slot *)words;

	patch_write(&words[RECORD], (const void *)core_mark);
	__atomic_store_n(&slot->recorder, 1, __ATOMIC_RELEASE);
	return true;
}

static bool is_hooked(const struct wire_table *t, const uint64_t *words)
{
	return words[RECORD] == (uint64_t)core_mark;
}

const struct table_kind table_marks = {
	.is_sane = is_sane,
	.hook = hook,
	.is_hooked = is_hooked,
};

// SPDX-License-Identifier: MIT OR Apache-2.0
/* Marks and spans: probes of provider `futrace`, and the slot that a recorder finds by a note. */
#include "mark.h"
#include "usdt.h"

#include <pthread.h>

#define SLOT OWN(futrace_marks)

extern struct wire_mark_slot SLOT;
struct wire_mark_slot SLOT __attribute__((section(".probes"), aligned(8))) = { .magic = WIRE_MARK_MAGIC };

/* .8byte: as in probes' notes, a link-time address that nothing relocates. */
__asm__("	.pushsection .note.futrace,\"\",\"note\"\n"
	"	.balign 4\n"
	"	.4byte 992f-991f, 994f-993f, " USDT_STRING(WIRE_MARK_NOTE) "\n"
	"991:	.asciz \"futrace\"\n"
	"992:	.balign 4\n"
	"993:	.8byte " USDT_STRING(SLOT) "\n"
	"994:	.popsection\n");

/* arg0 name, arg1 id, arg2 … arg5 the values of its fields: numbers, or texts that end with 0. */
#define MARK_PROBE(probe, off)                                                                     \
	USDT("futrace", probe, USDT_STRING(SLOT) "+" #off, "8@%0 8@%1 8@%2 8@%3 8@%4 8@%5",       \
	     "r"(m->name), "r"(m->id), "r"(values[0]), "r"(values[1]), "r"(values[2]),            \
	     "r"(values[3]))

USDT_KEEP void OWN(futrace_fire)(const struct wire_mark *m);
void OWN(futrace_fire)(const struct wire_mark *m)
{
	const struct wire_field *fields = (const struct wire_field *)m->fields;
	uint64_t values[WIRE_MARK_FIELDS] = { 0 };
	uint64_t record;

	for (unsigned i = 0; i < m->nr_fields && i < WIRE_MARK_FIELDS; i++)
		values[i] = fields[i].value;
	if (m->kind == WIRE_MARK && __atomic_load_n(&SLOT.mark, __ATOMIC_RELAXED))
		MARK_PROBE("mark", 16);
	else if (m->kind == WIRE_SPAN_START && __atomic_load_n(&SLOT.span_start, __ATOMIC_RELAXED))
		MARK_PROBE("span" DASH "start", 18);
	else if (m->kind == WIRE_SPAN_END && __atomic_load_n(&SLOT.span_end, __ATOMIC_RELAXED))
		MARK_PROBE("span" DASH "end", 20);
	if (!__atomic_load_n(&SLOT.recorder, __ATOMIC_ACQUIRE))
		return;
	record = __atomic_load_n(&SLOT.record, __ATOMIC_RELAXED);
	if (record)
		((void (*)(const struct wire_mark *))record)(m);
}

/*
 * A small number that no other copy of this crate in the process has, nor had: the C library gives
 * it, for as long as we keep it, and we do. Beyond its bounds: there is none.
 */
uint32_t OWN(futrace_copy)(void);
uint32_t OWN(futrace_copy)(void)
{
	pthread_key_t key;

	return pthread_key_create(&key, 0) ? UINT32_MAX : key;
}

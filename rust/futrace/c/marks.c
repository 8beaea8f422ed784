// SPDX-License-Identifier: MIT OR Apache-2.0
/* Marks and spans: probes of provider `futrace`, and the slot that a recorder finds by a note. */
#include <limits.h>
#include <pthread.h>
#include <stddef.h>

#include "mark.h"
#include "own.h"

#define SLOT		 OWN(futrace_marks)
#define SEMAPHORES	 OWN(futrace_marks_semaphores)
#define PROBE_MARK	 OWN(futrace_probe_mark)
#define PROBE_SPAN_START OWN(futrace_probe_span_start)
#define PROBE_SPAN_END	 OWN(futrace_probe_span_end)

/* arg0 name, arg1 id, arg2 … arg5 the values of its fields: numbers, or texts that end with 0. */
#define OPERANDS                                                                      \
	USDT_OPERAND_1_str USDT_OPERAND_2_u64 USDT_OPERAND_3_u64 USDT_OPERAND_4_u64 \
		USDT_OPERAND_5_u64 USDT_OPERAND_6_u64

/*
 * The slot is made of what comes next to each other here: its magic and its function, then the
 * semaphores, in their order, then the word for recorders. The note has, as those of probes do, a
 * link-time address that nothing relocates.
 *
 * It begins a page: lld maps the page of the file in which read-only data (RELRO) end once more for
 * what follows, and Linux, which counts a semaphore up by its place in the file, takes the first
 * mapping of it that can be written. In a program that starts after its tracer that is the other.
 */
/* clang-format off */
__asm__("	.pushsection .probes, \"aw\", %progbits\n"
	"	.balign 4096\n"
	"	.globl " OWN_STRING(SLOT) "\n"
	"	.hidden " OWN_STRING(SLOT) "\n"
	OWN_STRING(SLOT) ":\n"
	"	.ascii \"FUTMARK1\"\n"
	"	.8byte 0\n"
	"	.popsection\n"
	OWN_BEGIN(SEMAPHORES)
	OWN_PROBE(PROBE_MARK, "futrace", "mark", OPERANDS)
	OWN_PROBE(PROBE_SPAN_START, "futrace", "span" DASH "start", OPERANDS)
	OWN_PROBE(PROBE_SPAN_END, "futrace", "span" DASH "end", OPERANDS)
	USDT_NO_PROBE
	USDT_END
	OWN_KEEP(PROBE_MARK, SEMAPHORES)
	"	.pushsection .note.futrace, \"\", %note\n"
	"	.balign 4\n"
	"	.4byte 992f - 991f, 994f - 993f, " OWN_STRING(WIRE_MARK_NOTE) "\n"
	"991:	.asciz \"futrace\"\n"
	"992:	.balign 4\n"
	"993:	.8byte " OWN_STRING(SLOT) "\n"
	"994:	.popsection\n");
/* clang-format on */
_Static_assert(offsetof(struct wire_mark_slot, mark) == 16 &&
		       offsetof(struct wire_mark_slot, recorder) == 22,
	       "as it is laid out above");

typedef void probe_fn(uint64_t name, uint64_t id, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

extern struct wire_mark_slot SLOT;
extern probe_fn PROBE_MARK, PROBE_SPAN_START, PROBE_SPAN_END;

void OWN(futrace_fire)(const struct wire_mark *m);
void OWN(futrace_fire)(const struct wire_mark *m)
{
	static probe_fn *const probes[] = { PROBE_MARK, PROBE_SPAN_START, PROBE_SPAN_END };
	const uint16_t *semaphore = &SLOT.mark + m->kind;
	const struct wire_field *fields = (const struct wire_field *)m->fields;
	uint64_t v[WIRE_MARK_FIELDS] = { 0 };
	uint64_t record;

	for (unsigned i = 0; i < m->nr_fields && i < WIRE_MARK_FIELDS; i++)
		v[i] = fields[i].value;
	if (__atomic_load_n(semaphore, __ATOMIC_RELAXED))
		probes[m->kind](m->name, m->id, v[0], v[1], v[2], v[3]);
	if (!__atomic_load_n(&SLOT.recorder, __ATOMIC_ACQUIRE))
		return;
	record = __atomic_load_n(&SLOT.record, __ATOMIC_RELAXED);
	if (record)
		((void (*)(const struct wire_mark *))record)(m);
}

/*
 * A small number that no other copy of this crate in the process has, nor had: the C library gives
 * it, for as long as we keep it, and we do. A program that loads and unloads a library again and
 * again must not run out of them: from MAX_KEYS on there is none, and the rest is the program's.
 */
enum { MAX_KEYS = PTHREAD_KEYS_MAX / 4 * 3 };

uint32_t OWN(futrace_copy)(void);
uint32_t OWN(futrace_copy)(void)
{
	pthread_key_t key;

	if (pthread_key_create(&key, 0))
		return UINT32_MAX;
	if (key < MAX_KEYS)
		return key;
	pthread_key_delete(key);
	return UINT32_MAX;
}

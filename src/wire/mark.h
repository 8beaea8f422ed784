// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Between the crate `futrace`, as it is compiled into a program, and the recorder of the program:
 * how marks and spans of the program's own reach the recorder. The crate has this file, too.
 *
 * Each copy of the crate has one *slot*, and a note in its ELF file that tells where:
 *
 *	section .note.futrace, name "futrace", type WIRE_MARK_NOTE, 8 bytes: the slot's va
 *
 * Nobody records: `on` is 0, and a mark costs one load and one branch. The recorder stores its
 * function, and then sets `recorder`. The other three are semaphores of USDT probes, counted by the
 * kernel. All four lie in one word, so that one test finds any recorder or tracer.
 */
#ifndef WIRE_MARK_H
#define WIRE_MARK_H

#include <stdint.h>

#define WIRE_MARK_MAGIC	   UINT64_C(0x314b52414d545546) /* "FUTMARK1": this very layout */
#define WIRE_MARK_NOTE	   1
#define WIRE_MARK_FIELDS   4   /* at most */
#define WIRE_MARK_TEXT_MAX 128 /* bytes of text in all fields of a mark; what is beyond is cut */

struct wire_mark_slot {
	uint64_t magic;
	uint64_t record; /* address of: void (const struct wire_mark *); 0: none */
	uint16_t mark, span_start, span_end; /* tracers of these probes */
	uint16_t recorder;		     /* 1: call `record` */
};

enum wire_mark_kind { WIRE_MARK, WIRE_SPAN_START, WIRE_SPAN_END };

enum wire_field_kind {
	WIRE_FIELD_UNSIGNED,
	WIRE_FIELD_SIGNED,
	WIRE_FIELD_FLOAT, /* value: the bits of a double */
	WIRE_FIELD_TEXT,  /* value: its address */
	WIRE_FIELD_NONE, /* an Option without a value: keeps the places of those behind it in probes
			  */
};

/* Names are addresses of UTF-8 that never changes, and so tell who it is. */
struct wire_field {
	uint64_t name;
	uint64_t value;
	uint32_t name_len;
	uint32_t len;  /* of a text */
	uint32_t kind; /* enum wire_field_kind */
	uint32_t pad;
};

struct wire_mark {
	uint64_t name;
	uint64_t id; /* what the program calls it; 0: nothing. The same at both ends of a span */
	uint64_t fields; /* address of nr_fields */
	uint32_t name_len;
	uint16_t kind; /* enum wire_mark_kind */
	uint16_t nr_fields;
};

_Static_assert(sizeof(struct wire_mark_slot) == 24, "wire_mark_slot");
_Static_assert(sizeof(struct wire_field) == 32, "wire_field");
_Static_assert(sizeof(struct wire_mark) == 32, "wire_mark");

#endif

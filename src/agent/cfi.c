// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How to get from a frame to its caller's, by .eh_frame: the tables that every Rust program carries
 * for its panics, stripped or not. libgcc reads them too, but may take the loader's lock for it,
 * and needs microseconds; here nothing is called, and only what compilers write for ordinary
 * functions is understood. Anything else ends the walk.
 *
 * Words: the *CFA*, canonical frame address, is what rsp was before the call of the function. An
 * *FDE* describes one function, a *CIE* what several have in common.
 */
#include "agent/agent.h"
#include "arch/frame.h"

#include <string.h>

#define ENC_UDATA4	   0x03
#define ENC_PCREL_SDATA4   0x1b
#define ENC_DATAREL_SDATA4 0x3b
#define MAX_REMEMBERED	   4
#define MAX_CFA_OFF	   (512 << 10)

/* Instructions; the first three have an operand in their low bits. */
enum {
	CFA_advance_loc = 0x40,
	CFA_offset = 0x80,
	CFA_restore = 0xc0,
	CFA_nop = 0x00,
	CFA_advance_loc1 = 0x02,
	CFA_advance_loc2 = 0x03,
	CFA_advance_loc4 = 0x04,
	CFA_offset_extended = 0x05,
	CFA_restore_extended = 0x06,
	CFA_undefined = 0x07,
	CFA_same_value = 0x08,
	CFA_remember_state = 0x0a,
	CFA_restore_state = 0x0b,
	CFA_def_cfa = 0x0c,
	CFA_def_cfa_register = 0x0d,
	CFA_def_cfa_offset = 0x0e,
	CFA_expression = 0x10,
	CFA_val_expression = 0x16,
	CFA_GNU_args_size = 0x2e,
};

/* Bytes of the object. Whatever reaches beyond its memory is broken. */
struct bytes {
	const uint8_t *at, *end;
	bool is_bad;
};

static uint64_t take(struct bytes *b, unsigned nr)
{
	uint64_t value = 0;

	if (b->is_bad || (uint64_t)(b->end - b->at) < nr) {
		b->is_bad = true;
		return 0;
	}
	__builtin_memcpy(&value, b->at, nr); /* little-endian, as the architecture */
	b->at += nr;
	return value;
}

static void skip(struct bytes *b, uint64_t nr)
{
	if (b->is_bad || (uint64_t)(b->end - b->at) < nr)
		b->is_bad = true;
	else
		b->at += nr;
}

static uint64_t take_uleb(struct bytes *b)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t c = take(b, 1);

		value |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return value;
	}
	b->is_bad = true;
	return 0;
}

static int64_t take_sleb(struct bytes *b)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 63;) {
		uint8_t c = take(b, 1);

		value |= (uint64_t)(c & 0x7f) << shift;
		shift += 7;
		if (!(c & 0x80))
			return value | (c & 0x40 ? -(UINT64_C(1) << shift) : 0);
	}
	b->is_bad = true;
	return 0;
}

/* ---- finding a function ---- */

/* The FDE that the sorted table of .eh_frame_hdr names for pc, or NULL. */
static const uint8_t *find_fde(const struct cfi_object *o, uint64_t pc)
{
	const uint8_t *h = o->header;
	int64_t wanted = pc - (uint64_t)h;
	uint32_t nr, lo = 0;
	int32_t entry[2];

	if (!h || (uint64_t)h + 12 > o->to || h[0] != 1 || h[2] != ENC_UDATA4 ||
	    h[3] != ENC_DATAREL_SDATA4 || (h[1] & 0x0f) != (ENC_PCREL_SDATA4 & 0x0f))
		return NULL;
	__builtin_memcpy(&nr, h + 8, 4);
	if (!nr || nr > (o->to - (uint64_t)h - 12) / 8)
		return NULL;
	for (uint32_t hi = nr; hi - lo > 1;) {
		uint32_t mid = lo + (hi - lo) / 2;

		__builtin_memcpy(entry, h + 12 + (uint64_t)mid * 8, 8);
		if (entry[0] <= wanted)
			lo = mid;
		else
			hi = mid;
	}
	__builtin_memcpy(entry, h + 12 + (uint64_t)lo * 8, 8);
	return entry[0] <= wanted ? h + entry[1] : NULL;
}

/* ---- what it says ---- */

struct state {
	uint64_t cfa_reg;
	int64_t cfa_off;
	int64_t rbp_off; /* from the CFA, 0: unchanged */
	bool is_odd;	 /* a rule that is not understood holds now */
};

struct program {
	struct bytes b;
	uint64_t pc, code_align;
	int64_t data_align;
	struct state now, initial, remembered[MAX_REMEMBERED];
	unsigned nr_remembered;
	uint64_t wanted;
};

static void set_rule(struct program *p, uint64_t reg, int64_t off)
{
	if (reg == ARCH_DWARF_FRAME_POINTER)
		p->now.rbp_off = off;
	else if (reg == ARCH_DWARF_RETURN && off != ARCH_RETURN_OFF)
		p->now.is_odd = true;
}

static void set_odd(struct program *p, uint64_t reg)
{
	p->now.is_odd |= reg == ARCH_DWARF_FRAME_POINTER || reg == ARCH_DWARF_RETURN;
}

static void restore(struct program *p, uint64_t reg)
{
	if (reg == ARCH_DWARF_FRAME_POINTER)
		p->now.rbp_off = p->initial.rbp_off;
}

static void step_rare(struct program *p, uint8_t op)
{
	struct bytes *b = &p->b;
	uint64_t reg;

	switch (op) {
	case CFA_offset_extended:
		reg = take_uleb(b);
		set_rule(p, reg, (int64_t)take_uleb(b) * p->data_align);
		break;
	case CFA_restore_extended:
		restore(p, take_uleb(b));
		break;
	case CFA_same_value:
		restore(p, take_uleb(b));
		break;
	case CFA_undefined: /* of the return address: the outermost frame */
		set_odd(p, take_uleb(b));
		break;
	case CFA_expression:
	case CFA_val_expression:
		set_odd(p, take_uleb(b));
		skip(b, take_uleb(b));
		break;
	case CFA_GNU_args_size:
		take_uleb(b);
		break;
	default:
		b->is_bad = true;
	}
}

static void step(struct program *p, uint8_t op)
{
	struct bytes *b = &p->b;

	switch (op) {
	case CFA_nop:
		break;
	case CFA_advance_loc1:
	case CFA_advance_loc2:
		p->pc += take(b, op - CFA_advance_loc1 + 1) * p->code_align;
		break;
	case CFA_advance_loc4:
		p->pc += take(b, 4) * p->code_align;
		break;
	case CFA_def_cfa:
		p->now.cfa_reg = take_uleb(b);
		p->now.cfa_off = take_uleb(b);
		break;
	case CFA_def_cfa_register:
		p->now.cfa_reg = take_uleb(b);
		break;
	case CFA_def_cfa_offset:
		p->now.cfa_off = take_uleb(b);
		break;
	case CFA_remember_state:
		if (p->nr_remembered == MAX_REMEMBERED)
			b->is_bad = true;
		else
			p->remembered[p->nr_remembered++] = p->now;
		break;
	case CFA_restore_state:
		if (p->nr_remembered)
			p->now = p->remembered[--p->nr_remembered];
		else
			b->is_bad = true;
		break;
	default:
		step_rare(p, op);
	}
}

/* Up to the row that holds at `wanted`. */
static void run(struct program *p)
{
	while (!p->b.is_bad && p->b.at < p->b.end) {
		uint8_t op = take(&p->b, 1), low = op & 0x3f;
		struct state before = p->now;

		switch (op & 0xc0) {
		case CFA_advance_loc:
			p->pc += low * p->code_align;
			break;
		case CFA_offset:
			set_rule(p, low, (int64_t)take_uleb(&p->b) * p->data_align);
			break;
		case CFA_restore:
			restore(p, low);
			break;
		default:
			step(p, op);
		}
		if (p->pc > p->wanted) {
			p->now = before;
			return;
		}
	}
}

/* The CIE up to its instructions. False: of a kind that is not understood, or a signal's frame. */
static bool read_cie(struct program *p, struct bytes b)
{
	uint64_t len = take(&b, 4), augmentation_len;
	const uint8_t *augmentation;
	bool has_pcrel = false;

	if (b.is_bad || len < 9 || len > (uint64_t)(b.end - b.at))
		return false;
	b.end = b.at + len;
	if (take(&b, 4) != 0 || take(&b, 1) != 1)
		return false;
	augmentation = b.at;
	while (take(&b, 1))
		;
	p->code_align = take_uleb(&b);
	p->data_align = take_sleb(&b);
	if (take(&b, 1) != ARCH_DWARF_RETURN || b.is_bad || *augmentation++ != 'z')
		return false;
	augmentation_len = take_uleb(&b);
	if (b.is_bad || augmentation_len > (uint64_t)(b.end - b.at))
		return false;
	for (const uint8_t *at = b.at; *augmentation && at < b.end; augmentation++) {
		if (*augmentation == 'P')
			at += 1 + ((*at & 7) == 3 ? 4 : 8);
		else if (*augmentation == 'L')
			at++;
		else if (*augmentation == 'R')
			has_pcrel = *at++ == ENC_PCREL_SDATA4;
		else
			return false;
	}
	skip(&b, augmentation_len);
	p->b = b;
	return has_pcrel && !b.is_bad;
}

static struct cfi_rule as_rule(const struct program *p)
{
	const struct state *s = &p->now;

	if (p->b.is_bad || s->is_odd ||
	    (s->cfa_reg != ARCH_DWARF_STACK_POINTER && s->cfa_reg != ARCH_DWARF_FRAME_POINTER) ||
	    s->cfa_off < 8 || s->cfa_off >= MAX_CFA_OFF || s->cfa_off % 8 || s->rbp_off > 0 ||
	    s->rbp_off % 8)
		return (struct cfi_rule){ 0 };
	return (struct cfi_rule){ .is_known = true,
				  .by_rbp = s->cfa_reg == ARCH_DWARF_FRAME_POINTER,
				  .cfa_off = s->cfa_off,
				  .rbp_below = -s->rbp_off };
}

struct cfi_rule cfi_find(const struct cfi_object *o, uint64_t pc)
{
	const struct cfi_rule unknown = { 0 };
	struct bytes all = { .end = (const uint8_t *)o->to }, b;
	const uint8_t *fde = find_fde(o, pc), *cie;
	struct program p = { .wanted = UINT64_MAX };
	uint64_t len, begin;

	if (!fde || (uint64_t)fde < o->from || (uint64_t)fde + 16 > o->to)
		return unknown;
	b = all;
	b.at = fde;
	len = take(&b, 4);
	if (len < 12 || len > (uint64_t)(b.end - b.at))
		return unknown;
	b.end = b.at + len;
	cie = b.at; /* pointers are distances from where they stand */
	cie -= (uint32_t)take(&b, 4);
	if ((uint64_t)cie < o->from || cie >= fde)
		return unknown;
	all.at = cie;
	if (!read_cie(&p, all))
		return unknown;
	run(&p);
	begin = (uint64_t)b.at;
	begin += (int64_t)(int32_t)take(&b, 4);
	if (p.b.is_bad || pc < begin || pc - begin >= take(&b, 4))
		return unknown;
	skip(&b, take_uleb(&b));
	p.initial = p.now;
	p.b = b;
	p.pc = begin;
	p.wanted = pc;
	run(&p);
	return as_rule(&p);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Does a function use what lies somewhere in its frame as a coroutine? Where the coroutine's code
 * was inlined into it, it looks at the number that is the state; otherwise it gives the address to
 * that code.
 */
#include "symbol/code.h"
#include "symbol/code_decode.h"

#define MAX_BETWEEN 6 /* instructions between an argument and its call */

static bool is_in_frame(const ZydisDecodedOperand *o, const struct code_pinned *p, int64_t off)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       o->mem.base == (p->by_rbp ? ZYDIS_REGISTER_RBP : ZYDIS_REGISTER_RSP) &&
	       o->mem.index == ZYDIS_REGISTER_NONE && o->mem.disp.value == off;
}

static bool reads_state(const struct instruction *i, const struct code_pinned *p)
{
	bool is_look = i->in.mnemonic == ZYDIS_MNEMONIC_MOVZX ||
		       i->in.mnemonic == ZYDIS_MNEMONIC_CMP || i->in.mnemonic == ZYDIS_MNEMONIC_MOV;

	for (unsigned k = 0; is_look && k < i->in.operand_count_visible; k++) {
		const ZydisDecodedOperand *o = &i->operands[k];

		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ && o->size == 8 * p->state_bytes &&
		    is_in_frame(o, p, (int64_t)p->off + p->state_off))
			return true;
	}
	return false;
}

/* Results that are larger than registers are given a place first. */
static bool gives_address(const struct instruction *i, const struct code_pinned *p)
{
	return i->in.mnemonic == ZYDIS_MNEMONIC_LEA &&
	       (i->operands[0].reg.value == ZYDIS_REGISTER_RDI ||
		i->operands[0].reg.value == ZYDIS_REGISTER_RSI) &&
	       is_in_frame(&i->operands[1], p, p->off);
}

static bool calls_body(const struct image *img, const struct instruction *i, uint64_t va,
		       const struct code_pinned *p)
{
	uint64_t target = i->in.meta.category == ZYDIS_CATEGORY_CALL ? code_called(img, i, va) : 0;

	for (uint32_t k = 0; target && k < p->nr_bodies; k++)
		if (p->bodies[k] == target)
			return true;
	return false;
}

bool code_uses_pinned(const struct image *img, uint64_t va, uint64_t nr_bytes,
		      const struct code_pinned *p)
{
	const uint8_t *code = image_at(img, va, nr_bytes);
	unsigned given = MAX_BETWEEN; /* instructions since the address was given */
	struct instruction i;

	for (uint64_t at = 0; code && at < nr_bytes; at += i.in.length) {
		if (!code_decode(code + at, nr_bytes - at, &i))
			return false;
		if (reads_state(&i, p) || (given < MAX_BETWEEN && calls_body(img, &i, va + at, p)))
			return true;
		given = gives_address(&i, p) ? 0 : given + (given < MAX_BETWEEN);
	}
	return false;
}

/* ---- arguments ---- */

/* Which registers still hold arguments. */
struct kept {
	bool holds[ZYDIS_REGISTER_MAX_VALUE + 1];
	bool is_begin; /* nothing was called, and the way has not parted */
	unsigned nr;   /* times that one was stored at the place */
	bool is_spoilt;
};

static void follow(struct kept *k, const struct instruction *i, const struct code_pinned *p)
{
	const ZydisDecodedOperand *to = &i->operands[0], *from = &i->operands[1];
	bool is_copy = i->in.mnemonic == ZYDIS_MNEMONIC_MOV &&
		       from->type == ZYDIS_OPERAND_TYPE_REGISTER && from->size == 64 &&
		       k->holds[from->reg.value];

	for (unsigned n = 0; n < i->in.operand_count_visible; n++) {
		const ZydisDecodedOperand *o = &i->operands[n];

		if (!(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER)
			k->holds[ZydisRegisterGetLargestEnclosing(
				ZYDIS_MACHINE_MODE_LONG_64, o->reg.value)] = is_copy && o == to;
		else if (is_in_frame(o, p, p->off) && is_copy && k->is_begin)
			k->nr++;
		else if (is_in_frame(o, p, p->off))
			k->is_spoilt = true;
	}
	if (i->in.meta.category == ZYDIS_CATEGORY_CALL ||
	    i->in.meta.category == ZYDIS_CATEGORY_COND_BR)
		k->is_begin = false;
}

bool code_keeps_argument(const struct image *img, uint64_t va, uint64_t nr_bytes,
			 const struct code_pinned *p)
{
	const uint8_t *code = image_at(img, va, nr_bytes);
	struct kept k = { .is_begin = true };
	struct instruction i;

	k.holds[ZYDIS_REGISTER_RDI] = k.holds[ZYDIS_REGISTER_RSI] = true;
	for (uint64_t at = 0; code && at < nr_bytes; at += i.in.length) {
		if (!code_decode(code + at, nr_bytes - at, &i))
			return false;
		follow(&k, &i, p);
	}
	return k.nr == 1 && !k.is_spoilt;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Code of coroutines in optimised builds begins alike: it reads the coroutine's state, a number
 * behind one of its arguments, and jumps by a table to where it goes on from there. State 1 is
 * "returned", and to be called then is a panic with a function of its own.
 */
#include <string.h>

#include "symbol/code.h"
#include "symbol/code_decode.h"

#define MAX_STEPS	48 /* instructions before the jump */
#define MAX_TAIL	6  /* instructions before a call */
#define MAX_INSTRUCTION 15 /* bytes */

enum { NOTHING, FIRST_ARG, SECOND_ARG, STATE, TABLE, TARGET };

/* What the registers hold, as far as it matters. */
struct walk {
	uint8_t holds[ZYDIS_REGISTER_MAX_VALUE + 1];
	struct code_state state;
};

static ZydisRegister whole(ZydisRegister r)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
}

static bool is_reg(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static uint8_t holds(const struct walk *w, ZydisRegister r)
{
	return w->holds[whole(r)];
}

/* What the instruction leaves in its first operand. */
static uint8_t result(struct walk *w, const struct instruction *i, uint64_t va)
{
	const ZydisDecodedOperand *to = &i->operands[0], *from = &i->operands[1];
	bool is_memory = from->type == ZYDIS_OPERAND_TYPE_MEMORY;

	switch (i->in.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return is_reg(from) && from->size == 64 ? holds(w, from->reg.value) : NOTHING;
	case ZYDIS_MNEMONIC_MOVZX:
		if (is_reg(from)) /* of itself, once more */
			return holds(w, from->reg.value) == STATE &&
					       from->size >= 8 * w->state.nr_bytes
				       ? STATE
				       : NOTHING;
		if (!is_memory || from->mem.index != ZYDIS_REGISTER_NONE ||
		    from->mem.disp.value < 0 || from->mem.disp.value > INT32_MAX ||
		    (holds(w, from->mem.base) != FIRST_ARG &&
		     holds(w, from->mem.base) != SECOND_ARG))
			return NOTHING;
		w->state.arg = holds(w, from->mem.base) - FIRST_ARG;
		w->state.off = from->mem.disp.value;
		w->state.nr_bytes = from->size / 8;
		return STATE;
	case ZYDIS_MNEMONIC_LEA:
		if (from->mem.base != ZYDIS_REGISTER_RIP)
			return NOTHING;
		w->state.table = va + i->in.length + from->mem.disp.value;
		return TABLE;
	case ZYDIS_MNEMONIC_MOVSXD:
		return is_memory && from->mem.scale == 4 && holds(w, from->mem.base) == TABLE &&
				       holds(w, from->mem.index) == STATE
			       ? TARGET
			       : NOTHING;
	case ZYDIS_MNEMONIC_ADD: /* of the distance and the table */
		return is_reg(from) && is_reg(to) && holds(w, to->reg.value) == TARGET &&
				       holds(w, from->reg.value) == TABLE
			       ? TARGET
			       : NOTHING;
	default:
		return NOTHING;
	}
}

static void step(struct walk *w, const struct instruction *i, uint64_t va)
{
	uint8_t left = result(w, i, va);

	for (unsigned k = 0; k < i->in.operand_count; k++)
		if (is_reg(&i->operands[k]) &&
		    i->operands[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			w->holds[whole(i->operands[k].reg.value)] = k ? NOTHING : left;
}

bool code_find_state(const struct image *img, uint64_t va, uint64_t nr_bytes,
		     struct code_state *state)
{
	const uint8_t *code = image_at(img, va, nr_bytes);
	struct walk w = { 0 };
	struct instruction i;
	uint64_t at = 0;

	w.holds[ZYDIS_REGISTER_RDI] = FIRST_ARG;
	w.holds[ZYDIS_REGISTER_RSI] = SECOND_ARG;
	for (unsigned n = 0; code && n < MAX_STEPS && at < nr_bytes; n++, at += i.in.length) {
		if (!code_decode(code + at, nr_bytes - at, &i))
			return false;
		switch (i.in.meta.category) {
		case ZYDIS_CATEGORY_UNCOND_BR:
			*state = w.state;
			return is_reg(&i.operands[0]) &&
			       holds(&w, i.operands[0].reg.value) == TARGET;
		case ZYDIS_CATEGORY_CALL:
		case ZYDIS_CATEGORY_RET:
		case ZYDIS_CATEGORY_COND_BR:
			return false;
		default:
			step(&w, &i, va + at);
		}
	}
	return false;
}

int code_find_owner(const struct image *img, uint64_t va, uint64_t off, unsigned nr_bytes)
{
	struct walk w = { 0 };
	struct instruction i;

	w.holds[ZYDIS_REGISTER_RDI] = FIRST_ARG;
	w.holds[ZYDIS_REGISTER_RSI] = SECOND_ARG;
	for (unsigned n = 0; n < MAX_STEPS; n++, va += i.in.length) {
		const uint8_t *code = image_at(img, va, MAX_INSTRUCTION);

		if (!code || !code_decode(code, MAX_INSTRUCTION, &i) ||
		    i.in.meta.category == ZYDIS_CATEGORY_CALL ||
		    i.in.meta.category == ZYDIS_CATEGORY_RET ||
		    i.in.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		    i.in.meta.category == ZYDIS_CATEGORY_COND_BR)
			return -1;
		for (unsigned k = 0; k < i.in.operand_count_visible; k++) {
			const ZydisDecodedOperand *o = &i.operands[k];
			uint8_t held = o->type == ZYDIS_OPERAND_TYPE_MEMORY ? holds(&w, o->mem.base)
									    : NOTHING;

			if ((held == FIRST_ARG || held == SECOND_ARG) && o->size == 8 * nr_bytes &&
			    o->actions & ZYDIS_OPERAND_ACTION_MASK_READ &&
			    o->mem.index == ZYDIS_REGISTER_NONE &&
			    o->mem.disp.value == (int64_t)off)
				return held - FIRST_ARG;
		}
		step(&w, &i, va);
	}
	return -1;
}

uint64_t code_called(const struct image *img, const struct instruction *i, uint64_t va)
{
	const ZydisDecodedOperand *o = &i->operands[0];
	uint64_t target;

	if (code_jump_target(i, va, &target))
		return target;
	if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP &&
	    image_word(img, va + i->in.length + o->mem.disp.value, &target))
		return target;
	return 0;
}

uint64_t code_called_in_state(const struct image *img, uint64_t va, uint64_t nr_bytes,
			      const struct code_state *s, unsigned state)
{
	const uint8_t *entry = image_at(img, s->table + 4 * (uint64_t)state, 4);
	struct instruction i;
	int32_t distance;
	uint64_t at;

	if (!entry)
		return 0;
	memcpy(&distance, entry, 4);
	at = s->table + distance;
	for (unsigned n = 0; n < MAX_TAIL && at - va < nr_bytes; n++, at += i.in.length) {
		uint64_t left = va + nr_bytes - at;
		const uint8_t *code = image_at(img, at, left);

		if (!code || !code_decode(code, left, &i))
			return 0;
		if (i.in.meta.category == ZYDIS_CATEGORY_CALL)
			return code_called(img, &i, at);
		if (i.in.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		    i.in.meta.category == ZYDIS_CATEGORY_COND_BR ||
		    i.in.meta.category == ZYDIS_CATEGORY_RET)
			return 0;
	}
	return 0;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "symbol/code.h"

#include "symbol/code_decode.h"

#define MAX_FLAG_OFF 65536
#define MAX_STEPS    16 /* instructions that are followed to a flag */

bool code_decode(const uint8_t *code, size_t nr_bytes, struct instruction *i)
{
	ZydisDecoder decoder;

	return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					     ZYDIS_STACK_WIDTH_64)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, nr_bytes, &i->in, i->operands));
}

static bool is_straight(const struct instruction *i)
{
	switch (i->in.meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
		return false;
	default:
		/* endbr64 must stay where pointers to the function lead */
		return i->in.mnemonic != ZYDIS_MNEMONIC_ENDBR64 &&
		       i->in.mnemonic != ZYDIS_MNEMONIC_UD2;
	}
}

/* Is it relative to the instruction pointer, by data that it uses? Jumps are not straight. */
static bool uses_data(const struct instruction *i)
{
	for (unsigned k = 0; k < i->in.operand_count; k++)
		if (i->operands[k].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    i->operands[k].mem.base == ZYDIS_REGISTER_RIP)
			return i->in.raw.disp.size == 32 && i->in.raw.disp.offset;
	return false;
}

static bool is_movable(const struct instruction *i, bool may_be_far)
{
	return is_straight(i) &&
	       (!(i->in.attributes & ZYDIS_ATTRIB_IS_RELATIVE) || (may_be_far && uses_data(i)));
}

/* Where a relative jump at `at` leads; false: it is none. */
bool code_jump_target(const struct instruction *i, uint64_t at, uint64_t *target)
{
	const ZydisDecodedOperand *o = &i->operands[0];

	if (o->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !o->imm.is_relative)
		return false;
	*target = at + i->in.length + o->imm.value.s;
	return true;
}

unsigned code_landing(const uint8_t *code, size_t nr_bytes)
{
	struct instruction i;

	return code_decode(code, nr_bytes, &i) && i.in.mnemonic == ZYDIS_MNEMONIC_ENDBR64
		       ? i.in.length
		       : 0;
}

/* Does anything in the function jump into its first `moved` bytes, or is it not understood? To its
 * beginning too: a loop would pass through the hook each time. */
static bool jumps_into(const uint8_t *code, size_t nr_bytes, unsigned moved)
{
	struct instruction i;
	uint64_t target;

	for (size_t at = moved; at < nr_bytes; at += i.in.length)
		if (!code_decode(code + at, nr_bytes - at, &i) ||
		    (i.in.meta.category != ZYDIS_CATEGORY_CALL &&
		     code_jump_target(&i, at, &target) && target < moved))
			return true;
	return false;
}

/* distance_at: NULL: there may be none. One with a distance is as long as a jump: it is the last.
 */
static unsigned movable(const uint8_t *code, size_t nr_bytes, unsigned max, uint8_t *distance_at)
{
	struct instruction i;
	unsigned moved = 0;

	while (moved < CODE_JUMP_BYTES) {
		if (!code_decode(code + moved, nr_bytes - moved, &i) ||
		    !is_movable(&i, distance_at))
			return 0;
		if (i.in.attributes & ZYDIS_ATTRIB_IS_RELATIVE)
			*distance_at = moved + i.in.raw.disp.offset;
		moved += i.in.length;
	}
	return moved <= max && !jumps_into(code, nr_bytes, moved) ? moved : 0;
}

unsigned code_movable(const uint8_t *code, size_t nr_bytes, unsigned max)
{
	return movable(code, nr_bytes, max, NULL);
}

unsigned code_movable_far(const uint8_t *code, size_t nr_bytes, unsigned max, uint8_t *distance_at)
{
	unsigned moved;

	*distance_at = 0;
	moved = movable(code, nr_bytes, max, distance_at);
	*distance_at = moved ? *distance_at : 0;
	return moved;
}

static bool is_rdi(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->reg.value == ZYDIS_REGISTER_RDI;
}

static bool writes_rdi(const struct instruction *i)
{
	for (unsigned k = 0; k < i->in.operand_count; k++)
		if (i->operands[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    i->operands[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     i->operands[k].reg.value) ==
			    ZYDIS_REGISTER_RDI)
			return true;
	return false;
}

/* xchg %al, off(%rdi); before Tokio 1.48 movb $1, off(%rdi) */
static bool sets_flag(const struct instruction *i, int64_t *off)
{
	bool is_store = i->in.mnemonic == ZYDIS_MNEMONIC_MOV &&
			i->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
			i->operands[1].imm.value.u == 1;

	for (unsigned k = 0; (is_store || i->in.mnemonic == ZYDIS_MNEMONIC_XCHG) && k < 2; k++) {
		const ZydisDecodedOperand *o = &i->operands[k];

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->size == 8 &&
		    o->mem.base == ZYDIS_REGISTER_RDI && o->mem.index == ZYDIS_REGISTER_NONE) {
			*off += o->mem.disp.value;
			return true;
		}
	}
	return false;
}

static bool is_offset(int64_t off, uint32_t *to)
{
	*to = off;
	return off > 0 && off < MAX_FLAG_OFF;
}

bool code_find_flag(const struct image *img, uint64_t va, bool calls, uint32_t *off)
{
	int64_t moved = 0; /* of rdi, since the function began */

	for (unsigned step = 0; step < MAX_STEPS; step++) {
		const uint8_t *code = image_at(img, va, ZYDIS_MAX_INSTRUCTION_LENGTH);
		struct instruction i;
		uint64_t target;

		if (!code || !code_decode(code, ZYDIS_MAX_INSTRUCTION_LENGTH, &i))
			return false;
		if (sets_flag(&i, &moved))
			return is_offset(moved, off);
		if (calls && i.in.meta.category == ZYDIS_CATEGORY_CALL)
			return is_offset(moved, off);
		if (i.in.meta.category == ZYDIS_CATEGORY_UNCOND_BR &&
		    code_jump_target(&i, va, &target)) {
			va = target;
			continue;
		}
		if (!is_straight(&i))
			return false;
		if (i.in.mnemonic == ZYDIS_MNEMONIC_ADD && is_rdi(&i.operands[0]) &&
		    i.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			moved += i.operands[1].imm.value.s;
		else if (writes_rdi(&i))
			return false;
		va += i.in.length;
	}
	return false;
}

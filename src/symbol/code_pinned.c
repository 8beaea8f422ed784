// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What does a function use as a coroutine that lies in its frame? Where the coroutine's code was
 * inlined into it, it looks at the number that is the state; otherwise it hands the address to that
 * code.
 */
#include "symbol/code.h"
#include "symbol/code_decode.h"

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

bool code_uses_pinned(const struct image *img, uint64_t va, uint64_t nr_bytes,
		      const struct code_pinned *p)
{
	const uint8_t *code = image_at(img, va, nr_bytes);
	struct instruction i;

	for (uint64_t at = 0; code && at < nr_bytes; at += i.in.length) {
		if (!code_decode(code + at, nr_bytes - at, &i))
			return false;
		if (reads_state(&i, p))
			return true;
	}
	return false;
}

/* ---- what is handed to the coroutine's code ---- */

/* An address in the frame. */
struct address {
	bool is_known, by_rbp;
	int32_t off;
	uint64_t since; /* where the register got it */
};

struct giving {
	const struct image *img;
	const struct code_function *function;
	const uint8_t *code;
	/* Registers that calls leave alone, and that are written to once. */
	struct address kept[ZYDIS_REGISTER_MAX_VALUE + 1];
	unsigned nr_writes[ZYDIS_REGISTER_MAX_VALUE + 1];
};

static ZydisRegister whole(ZydisRegister r)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
}

static bool is_kept(ZydisRegister r)
{
	return r == ZYDIS_REGISTER_RBX || (r >= ZYDIS_REGISTER_R12 && r <= ZYDIS_REGISTER_R15);
}

/* What the instruction leaves in its first operand. */
static struct address result(const struct giving *g, const struct instruction *i, uint64_t va)
{
	const ZydisDecodedOperand *from = &i->operands[1];
	struct address a = { .is_known = true, .since = va };
	ZydisRegister base;

	if (i->in.mnemonic == ZYDIS_MNEMONIC_MOV && from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    from->size == 64) {
		base = from->reg.value;
		if (is_kept(base) && g->nr_writes[base] == 1) {
			a = g->kept[base];
			a.since = va;
			return a;
		}
	} else if (i->in.mnemonic == ZYDIS_MNEMONIC_LEA && i->operands[0].size == 64 &&
		   from->mem.index == ZYDIS_REGISTER_NONE &&
		   (int32_t)from->mem.disp.value == from->mem.disp.value) {
		base = from->mem.base;
		a.off = from->mem.disp.value;
	} else {
		return (struct address){ 0 };
	}
	a.by_rbp = base == ZYDIS_REGISTER_RBP && g->function->by_rbp;
	a.is_known = base == ZYDIS_REGISTER_RSP || a.by_rbp;
	return a;
}

static bool writes(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
}

/* Fills in what registers hold throughout the function; what it restores at its end is no write. */
static bool find_kept(struct giving *g)
{
	const struct code_function *f = g->function;
	struct instruction i;

	for (uint64_t at = 0; at < f->nr_bytes; at += i.in.length) {
		if (!code_decode(g->code + at, f->nr_bytes - at, &i))
			return false;
		for (unsigned k = 0; k < i.in.operand_count; k++) {
			ZydisRegister r = i.operands[k].reg.value;

			if (!writes(&i.operands[k]) || i.in.mnemonic == ZYDIS_MNEMONIC_POP)
				continue;
			g->nr_writes[whole(r)]++;
			g->kept[whole(r)] = k ? (struct address){ 0 } : result(g, &i, f->va + at);
		}
	}
	return true;
}

/* Does a jump lead between the two? */
static bool is_entered(const struct giving *g, uint64_t va, uint64_t end_va)
{
	const struct code_function *f = g->function;
	struct instruction i;
	uint64_t target;

	for (uint64_t at = 0; at < f->nr_bytes; at += i.in.length) {
		if (!code_decode(g->code + at, f->nr_bytes - at, &i))
			return true;
		if (i.in.meta.category != ZYDIS_CATEGORY_CALL &&
		    code_jump_target(&i, f->va + at, &target) && target > va && target <= end_va)
			return true;
	}
	return false;
}

/* Which of its arguments the coroutine is: the one whose state the code looks at. -1: none. */
static int own_argument(const struct giving *g, uint64_t body, const struct code_pinned *p)
{
	for (uint32_t k = 0; k < p->nr_bodies; k++)
		if (p->bodies[k] == body)
			return code_find_owner(g->img, body, p->state_off, p->state_bytes);
	return -1;
}

static void step(const struct giving *g, const struct instruction *i, uint64_t va,
		 struct address args[2])
{
	static const ZydisRegister registers[] = { ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI };
	bool is_end = i->in.meta.category == ZYDIS_CATEGORY_CALL ||
		      i->in.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
		      i->in.meta.category == ZYDIS_CATEGORY_RET;

	for (unsigned n = 0; n < ARRAY_SIZE(registers); n++) {
		if (is_end)
			args[n] = (struct address){ 0 };
		for (unsigned k = 0; k < i->in.operand_count; k++)
			if (writes(&i->operands[k]) &&
			    whole(i->operands[k].reg.value) == registers[n])
				args[n] = k ? (struct address){ 0 } : result(g, i, va);
	}
}

bool code_find_pinned(const struct image *img, const struct code_function *f, uint64_t va,
		      uint64_t end_va, struct code_pinned *p)
{
	struct giving g = { img, f, image_at(img, f->va, f->nr_bytes) };
	struct address args[2] = { 0 }, found = { 0 };
	struct instruction i;

	if (!g.code || va < f->va || end_va > f->va + f->nr_bytes || !find_kept(&g))
		return false;
	for (; va < end_va; va += i.in.length) {
		uint64_t called;
		int arg;

		if (!code_decode(g.code + (va - f->va), end_va - va, &i))
			return false;
		called = i.in.meta.category == ZYDIS_CATEGORY_CALL ? code_called(img, &i, va) : 0;
		arg = called ? own_argument(&g, called, p) : -1;
		if (arg >= 0) {
			if (!args[arg].is_known || is_entered(&g, args[arg].since, va) ||
			    (found.is_known &&
			     (found.off != args[arg].off || found.by_rbp != args[arg].by_rbp)))
				return false;
			found = args[arg];
		}
		step(&g, &i, va, args);
	}
	p->by_rbp = found.by_rbp;
	p->off = found.off;
	return found.is_known;
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
			k->holds[whole(o->reg.value)] = is_copy && o == to;
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

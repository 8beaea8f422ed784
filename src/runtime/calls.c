// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/calls.h"

#include <string.h>

#define MAX_CODE (1 << 20)

/*
 * Where the instruction at p leads: call and jmp (E8, E9) by a distance, or (FF 15, FF 25) through
 * a word of the global offset table; or, in debug builds, load the address (48 8D 05, 48 8B 05) and
 * soon call by register (FF D0). Opcodes are not decoded: any such byte is tried, and counts if it
 * leads exactly to the start of a function. (Chance hits: some hundred such starts in 2^32
 * distances.)
 */
static bool call_target(const struct image *img, const uint8_t *p, uint64_t left, uint64_t va,
			uint64_t *target)
{
	int32_t distance;

	if ((p[0] == 0xe8 || p[0] == 0xe9) && left >= 5) {
		memcpy(&distance, p + 1, 4);
		*target = va + 5 + distance;
		return true;
	}
	if (p[0] == 0xff && left >= 6 && (p[1] == 0x15 || p[1] == 0x25)) {
		memcpy(&distance, p + 2, 4);
		return image_word(img, va + 6 + distance, target);
	}
	if (p[0] == 0x48 && left >= 7 && (p[1] == 0x8d || p[1] == 0x8b) && p[2] == 0x05 &&
	    memmem(p + 7, MIN(left - 7, 16), "\xff\xd0", 2)) {
		memcpy(&distance, p + 3, 4);
		*target = va + 7 + distance;
		return p[1] == 0x8d || image_word(img, *target, target);
	}
	return false;
}

void calls_each(struct finding *f, uint64_t va, calls_fn *fn, void *ctx)
{
	const struct symbol *s = symtab_at(f->syms, va, NULL);
	uint64_t len = s ? MIN(s->size_bytes, (uint64_t)MAX_CODE) : 0, target;
	const uint8_t *code = image_at(f->img, va, len);

	for (uint64_t i = 0; code && i < len; i++) {
		const struct symbol *to;
		size_t nr;

		if (!call_target(f->img, code + i, len - i, va + i, &target))
			continue;
		to = symtab_at(f->syms, target, &nr);
		if (to && to->is_function)
			fn(f, ctx, to, nr);
	}
}

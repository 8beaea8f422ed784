// SPDX-License-Identifier: MIT OR Apache-2.0
/* An instruction, as Zydis sees it. Only for code*.c. */
#ifndef SYMBOL_CODE_DECODE_H
#define SYMBOL_CODE_DECODE_H

#include <Zydis/Zydis.h>

#include "base/util.h"

struct instruction {
	ZydisDecodedInstruction in;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

bool code_decode(const uint8_t *code, size_t nr_bytes, struct instruction *i);
/* Where a relative jump at `at` leads; false: it is none. */
bool code_jump_target(const struct instruction *i, uint64_t at, uint64_t *target);
struct image;
/* Where a call leads, itself or by a word of the linker's; 0: that is not known. */
uint64_t code_called(const struct image *img, const struct instruction *i, uint64_t va);

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What machine code says, by a disassembler. Code comes from a file and may be anything; where
 * there is doubt the answer is no.
 */
#ifndef SYMBOL_CODE_H
#define SYMBOL_CODE_H

#include "symbol/image.h"

#define CODE_JUMP_BYTES 5 /* of a near jump */

/*
 * How many bytes a function begins with that must stay where pointers to it lead: an endbr64, as C
 * compilers of some systems put it there. What can be redirected is the code behind it.
 */
unsigned code_landing(const uint8_t *code, size_t nr_bytes);

/*
 * How many bytes the first instructions of a function have that can give way to a jump: the fewest
 * whole ones, at least CODE_JUMP_BYTES and at most `max`, none of which depends on where it lies or
 * leaves the straight line, and into whose middle nothing in the function jumps. 0: there are none.
 */
unsigned code_movable(const uint8_t *code, size_t nr_bytes, unsigned max);

/*
 * The offset of a flag from the function's first argument, where the function begins by setting it
 * (one byte), itself or in what it jumps to, or (calls) by handing its address on to
 * another function. False when it does not.
 */
bool code_find_flag(const struct image *img, uint64_t va, bool calls, uint32_t *off);

#endif

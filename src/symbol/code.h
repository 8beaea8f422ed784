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
 * The same, but the last of them may use data at a distance of four bytes from itself: *distance_at
 * is where in the code that stands, 0: there is none. It is to be mended when it is moved.
 */
unsigned code_movable_far(const uint8_t *code, size_t nr_bytes, unsigned max, uint8_t *distance_at);

/*
 * Does a table of jumps that the function uses lead into its first `moved` bytes? Such a table
 * holds distances from its own beginning, and its address is taken in the function.
 */
bool code_is_jumped_into(const struct image *img, uint64_t va, uint64_t nr_bytes, unsigned moved);

/* The state of a coroutine: a number of nr_bytes at off behind the first or second argument. */
struct code_state {
	unsigned arg; /* 0 or 1 */
	uint32_t off;
	unsigned nr_bytes;
	uint64_t table; /* where its code goes on, for each state */
};

/* False: the function does not begin as that of a coroutine does. */
bool code_find_state(const struct image *img, uint64_t va, uint64_t nr_bytes,
		     struct code_state *state);
/* The function that it calls first in that state; 0: it does something else before. */
uint64_t code_called_in_state(const struct image *img, uint64_t va, uint64_t nr_bytes,
			      const struct code_state *s, unsigned state);

/*
 * Which argument of a coroutine's code is the coroutine, 0 or 1: what it looks for the state in
 * first, which has nr_bytes at off. -1: that is not known.
 */
int code_find_owner(const struct image *img, uint64_t va, uint64_t off, unsigned nr_bytes);

/* A coroutine in the frame of a function, off bytes from its stack pointer or rbp. */
struct code_pinned {
	bool by_rbp;
	int32_t off;
	uint64_t state_off; /* in the coroutine */
	uint32_t state_bytes;
	const uint64_t *bodies; /* where its code begins, if it is not inlined */
	uint32_t nr_bodies;
};

/* Does the function look at that state? */
bool code_uses_pinned(const struct image *img, uint64_t va, uint64_t nr_bytes,
		      const struct code_pinned *p);

struct code_function {
	uint64_t va, nr_bytes;
	bool by_rbp; /* it keeps its frame by rbp, which does not change */
};

/*
 * Where the coroutine lies whose code is called in [va, end_va) of a function: fills in by_rbp and
 * off. False: it is called nowhere there, or not always for the same place of the frame.
 */
bool code_find_pinned(const struct image *img, const struct code_function *f, uint64_t va,
		      uint64_t end_va, struct code_pinned *p);

/*
 * Does the function store one of its arguments at off, before anything else, and never write there
 * again?
 */
bool code_keeps_argument(const struct image *img, uint64_t va, uint64_t nr_bytes,
			 const struct code_pinned *p);

/* Unwind tables of a file: how deep the stack is at each instruction. */
struct code_frames;
struct code_frames *code_frames_new(const struct image *img); /* NULL: it has none */
void code_frames_free(struct code_frames *f);

/*
 * Does the function, or may it, look at arguments that it was given on the stack: above where it
 * began? True also when the tables do not tell.
 */
bool code_takes_stack(const struct code_frames *f, const struct image *img, uint64_t va,
		      uint64_t nr_bytes);

/*
 * Has the function, wherever it calls another, a frame of frame_bytes, from the stack pointer to
 * where its caller's begins? False also when the tables do not tell.
 */
bool code_keeps_depth(const struct code_frames *f, const struct image *img,
		      const struct code_function *function, uint32_t frame_bytes);

/*
 * The offset of a flag from the function's first argument, where the function begins by setting it
 * (one byte), itself or in what it jumps to, or (calls) by handing its address on to
 * another function. False when it does not.
 */
bool code_find_flag(const struct image *img, uint64_t va, bool calls, uint32_t *off);

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which parts of a value lead on to the futures that it waits for. A value *holds* a future if it
 * is one, or has or owns one: what only borrows it, shares it or points to it otherwise is no way
 * down, as nobody says that it is still there.
 */
#ifndef FUTURE_PARTS_H
#define FUTURE_PARTS_H

#include "base/vec.h"
#include "symbol/layout.h"

enum parts_role {
	PARTS_NONE,	 /* it holds nothing, or is what is waited for in the end */
	PARTS_COROUTINE, /* by its state: the awaited future */
	PARTS_ENUM,	 /* by its variant: members */
	PARTS_STRUCT,	 /* members, elements */
	PARTS_POINTER,	 /* Box<T>, &mut T: what it points to */
	PARTS_DYN,	 /* the same of a `dyn Future`: whatever its table stands for */
};

#define PARTS_MAX	 16 /* those beyond are left out */
#define PARTS_NO_VARIANT UINT32_MAX

struct part {
	uint64_t off;
	uint32_t type;
};

struct parts {
	struct layouts *layouts;
	VEC(uint8_t) holds; /* by type: what is known of it */
};

void parts_init(struct parts *p, struct layouts *l);
void parts_release(struct parts *p);
bool parts_hold(struct parts *p, uint32_t type);
enum parts_role parts_role(struct parts *p, uint32_t type);
/*
 * Those that hold a future, in the order of their members. variant: an index into the variants of
 * an enum or coroutine. Of a pointer: what it points to, at offset 0. Returns how many.
 */
unsigned parts_list(struct parts *p, uint32_t type, uint32_t variant, struct part out[PARTS_MAX]);
/*
 * Does a value lie as a whole in one of so many bytes? Debug info may say anything, and who follows
 * it reads there. Offsets in recipes are 32 bits wide.
 */
bool parts_fit(uint64_t bytes, uint64_t off, uint64_t part_bytes);
/* A future that is worth a line of its own: it does more than pass on to another. */
bool parts_is_step(const struct layout *t);

#endif

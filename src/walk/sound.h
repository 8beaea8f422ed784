// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Can bytes be a value of that type at all? Types forbid much: an enum has no other variants than
 * its own, a bool is 0 or 1, a pointer leads somewhere, a second has a billion nanoseconds. What
 * lies at a wrong place hardly ever obeys all of it.
 */
#ifndef WALK_SOUND_H
#define WALK_SOUND_H

#include "walk/path.h"

/* Of a value that is initialised as a whole, without what it points to and without the futures in
 * it that the compiler made: these have a state, and parts that are not there. */
bool value_is_sound(const struct snapshot *s, struct value v);

#endif

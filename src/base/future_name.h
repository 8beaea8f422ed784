// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How a future of a library behaves, told by its name: for those who have nothing else, as those
 * who read recordings. Names are readable ones, with their type arguments.
 */
#ifndef BASE_FUTURE_NAME_H
#define BASE_FUTURE_NAME_H

enum future_trait {
	/* It waits for all that it holds. What else has several branches takes the first. */
	FUTURE_JOINS = 1 << 0,
	FUTURE_KEEPS_DONE = 1 << 1, /* those in it are kept when they have finished */
	FUTURE_IS_POLL_FN = 1 << 2, /* a function that polls whatever it has */
	FUTURE_IS_PENDING = 1 << 3, /* it waits for ever, and so is never first */
	/* It is over as soon as what it waits for is. Others may go on with something else. */
	FUTURE_IS_ONE_WAIT = 1 << 4,
};

/* All that it has: enum future_trait. The name is parsed. */
unsigned future_name_traits(const char *name);

#endif

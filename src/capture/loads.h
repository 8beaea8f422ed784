// SPDX-License-Identifier: MIT OR Apache-2.0
/* The libraries that the loader would give a program, as it says itself. */
#ifndef CAPTURE_LOADS_H
#define CAPTURE_LOADS_H

#include "base/err.h"
#include "base/vec.h"

struct loads {
	VEC(char *) paths;
	uint32_t nr_missing; /* libraries that it would not find: the program would not start */
};

/* Nothing of the program is run. -1: the loader cannot be asked, or refuses the program. */
int loads_init(struct loads *l, const char *program, struct err *e);
void loads_release(struct loads *l);

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/* Which functions a function calls, as far as its code shows without being decoded. */
#ifndef RUNTIME_CALLS_H
#define RUNTIME_CALLS_H

#include "runtime/runtime.h"

/* All symbols at the address that is called. */
typedef void calls_fn(struct finding *f, void *ctx, const struct symbol *s, size_t nr);

void calls_each(struct finding *f, uint64_t va, calls_fn *fn, void *ctx);

#endif

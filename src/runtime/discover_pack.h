// SPDX-License-Identifier: MIT OR Apache-2.0
/* A discovery as bytes, for the readings of future/reading.h. */
#ifndef RUNTIME_DISCOVER_PACK_H
#define RUNTIME_DISCOVER_PACK_H

#include "base/intern.h"
#include "base/pack.h"
#include "runtime/discover.h"

void discovery_pack(struct strbuf *b, const struct discovery *d);
struct discovery *discovery_unpack(struct unpack *u); /* NULL: broken */
/* A string that lives as long as `strings` and the data; control bytes are made harmless. */
const char *unpack_clean(struct unpack *u, struct intern *strings);

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/* Facts as bytes, shared by the files that pack them; nobody else includes it. */
#ifndef RUNTIME_READING_PRIV_H
#define RUNTIME_READING_PRIV_H

#include "base/intern.h"
#include "base/pack.h"
#include "runtime/reading.h"

void discovery_pack(struct strbuf *b, const struct discovery *d);
struct discovery *discovery_unpack(struct unpack *u); /* NULL: broken */
/* A string that lives as long as `strings` and the data; control bytes are made harmless. */
const char *unpack_clean(struct unpack *u, struct intern *strings);

void reading_pack(struct strbuf *b, const struct reading *r);
void reading_pack_error(struct strbuf *b, const struct err *e);

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/* Facts as bytes, shared by the files that pack them; nobody else includes it. */
#ifndef FUTURE_READING_PRIV_H
#define FUTURE_READING_PRIV_H

#include "future/reading.h"
#include "runtime/discover_pack.h"

void reading_pack(struct strbuf *b, const struct reading *r);
void reading_pack_wanted(struct strbuf *b, const char *debug_path);
void reading_pack_error(struct strbuf *b, const struct err *e);

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/* Text in lines. Each line but the first is indented by `indent` columns; names are made safe. */
#ifndef SHOW_WRAP_H
#define SHOW_WRAP_H

#include "base/strbuf.h"
#include "show/style.h"

void wrap_text(struct strbuf *out, const char *text, size_t indent, size_t width);
/* A sentence of ours, in ASCII where nothing else can be shown. */
void wrap_sentence(struct strbuf *out, const char *text, size_t indent, const struct styles *s);

#endif

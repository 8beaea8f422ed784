// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace info`: of what a trace file is, when, where, how much, what was lost, how it ended. */
#ifndef SHOW_INFO_H
#define SHOW_INFO_H

#include "analyze/trace_info.h"
#include "base/strbuf.h"

void info_text(const struct info *in, struct strbuf *out);
void info_json(const struct info *in, struct strbuf *out);

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/* What of a recording could not be read, for commands whose output has no place to tell it. */
#ifndef CMD_DAMAGE_H
#define CMD_DAMAGE_H

#include "trace/reader.h"

/* On stderr, and nothing if there is none. All that is known when the recording was read. */
void damage_note(const struct trace *t, const char *path);

#endif

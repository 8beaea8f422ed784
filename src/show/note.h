// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Remarks beside what is shown, such as what could not be read: one line each, without a newline.
 * A command puts them on stderr. They may hold names of the target's, as these are.
 */
#ifndef SHOW_NOTE_H
#define SHOW_NOTE_H

#include "base/util.h"

struct note_sink {
	void (*note)(void *arg, const char *text);
	void *arg;
};

void note_add(const struct note_sink *s, const char *fmt, ...) PRINTF(2, 3);

#endif

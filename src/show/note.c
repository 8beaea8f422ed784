// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/note.h"

#include <stdarg.h>
#include <stdio.h>

void note_add(const struct note_sink *s, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->note(s->arg, text);
}

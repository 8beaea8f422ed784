// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/texts.h"

#include <string.h>

/* The program can write there: everything is copied, and then looked at. */
static uint32_t define(const struct texts *t, struct trace_writer *w, uint32_t number)
{
	uint64_t used = __atomic_load_n(&t->region->texts_used[number / 64], __ATOMIC_ACQUIRE);
	struct wire_text copy;

	if (!(used >> number % 64 & 1))
		return 0;
	memcpy(&copy, &t->region->texts[number], sizeof(copy));
	return trace_writer_string(w, copy.text, MIN(copy.len, (uint32_t)WIRE_TEXT_BYTES));
}

void texts_number(struct texts *t, struct trace_writer *w, struct event *ev)
{
	uint64_t number = ev->a;

	ev->a = 0;
	if (!number || number >= WIRE_MAX_TEXTS)
		return;
	if (!t->numbers[number])
		t->numbers[number] = define(t, w, number);
	ev->a = t->numbers[number];
}

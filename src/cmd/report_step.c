// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/report_step.h"

#include "base/utf8.h"

#define MIN_NAME 12 /* less of a name tells nothing */

const char *say_step_place(const struct trace_step *s, struct strbuf *scratch)
{
	step_add_place(scratch, s);
	return scratch->len ? scratch->s : NULL;
}

void draw_step(const struct trace_step *s, size_t width, struct strbuf *out)
{
	struct strbuf place = STRBUF_INIT;
	size_t used;

	if (s->file[0])
		shorten_place(&place, s->file, s->line, width > MIN_NAME ? width - MIN_NAME : 0);
	if (place.len && s->last_line > s->line)
		strbuf_addf(&place, "-%u", s->last_line);
	used = utf8_columns(place.s, place.len);
	if (used + MIN_NAME <= width) {
		shorten_type(out, step_name(s), width == SIZE_MAX ? width : width - used - 1);
		strbuf_addch(out, ' ');
	}
	shorten_front(out, place.s, width);
	strbuf_release(&place);
}

bool step_is_wanted(const struct report_table *t, const struct trace_step *s)
{
	return futures_want_step(t->opts->futures, s);
}

/* Without tasks, or where options leave none, what the kind says of recording is no reason. */
void explain_no_steps(struct report_table *t, struct analyzer *a, bool has_any)
{
	const struct by_type_row *rows = by_type_get_rows(analyzer_get_types(a));
	uint64_t nr_tasks = 0;

	for (uint32_t g = 0; g < t->rec->nr_groups; g++)
		nr_tasks += rows[g].nr_tasks;
	if (!nr_tasks)
		t->empty = "No task was recorded.";
	else if (has_any)
		t->empty = "None of those that were recorded is wanted.";
}

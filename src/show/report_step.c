// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/report_step.h"

#include "base/utf8.h"

#define MIN_NAME 12 /* less of a name tells nothing */

const char *say_step_place(const struct trace_step *s, struct strbuf *scratch)
{
	step_add_place(scratch, s);
	return scratch->len ? scratch->s : NULL;
}

void draw_step(const struct trace_step *s, size_t width, struct strbuf *out)
{
	bool has_room = width >= 2 * MIN_NAME;
	size_t room = has_room && width != SIZE_MAX ? width - MIN_NAME : width;
	struct strbuf place = STRBUF_INIT;
	const char *slash = strrchr(s->file, '/');

	step_shorten_place(&place, s, room);
	if (slash && utf8_columns(place.s, place.len) > room) {
		struct trace_step bare = *s;

		bare.file = slash + 1;
		strbuf_reset(&place);
		step_shorten_place(&place, &bare, room);
	}
	if (has_room || !place.len) {
		size_t used = MIN(utf8_columns(place.s, place.len), room);

		shorten_body(out, step_name(s), width == SIZE_MAX ? width : width - used - 1);
		strbuf_addch(out, ' ');
	}
	shorten_front(out, place.s, room);
	strbuf_release(&place);
}

bool step_is_wanted(const struct report_table *t, const struct trace_step *s)
{
	return future_filter_wants_step(t->opts->futures, s);
}

/* Without tasks, or where options leave none, what the kind says of recording is no reason. */
void explain_no_steps(struct report_table *t, struct analyzer *a, bool has_any)
{
	const struct by_type_row *rows = by_type_get_rows(analyzer_get_types(a));
	uint64_t nr_tasks = 0;

	for (uint32_t g = 0; g < t->rec->nr_groups; g++)
		nr_tasks += rows[g].nr_tasks;
	if (!nr_tasks)
		t->empty = NULL;
	else if (has_any)
		t->empty = "No recorded row matches.";
}

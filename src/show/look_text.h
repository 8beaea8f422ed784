// SPDX-License-Identifier: MIT OR Apache-2.0
/* How `ps` and `tree` name tasks, and what they say of what could not be seen. */
#ifndef SHOW_LOOK_TEXT_H
#define SHOW_LOOK_TEXT_H

#include "base/strbuf.h"
#include "show/note.h"
#include "walk/look.h"

const char *look_state_name(enum task_state state);
/* Its number, or the address that stands in its place. */
void look_add_id(const struct census_task *t, struct strbuf *out);
/* "task 7"; of a root future, which is none, "thread 4711". */
void look_add_who(const struct census *c, const struct census_task *t, struct strbuf *out);
/* Readable, and the same for all tasks of a table; "table 0x…" when nothing names it. */
void look_add_type(const struct look *l, const struct census_task *t, struct strbuf *out);

/* What could not be seen, and why. */
void look_notes(const struct look *l, const struct note_sink *notes);
/* Why there is no task. filter: what tasks were to fit; NULL: all were wanted. */
void look_note_none(const struct look *l, const char *filter, const struct note_sink *notes);

#endif

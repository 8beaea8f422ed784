// SPDX-License-Identifier: MIT OR Apache-2.0
/* Which tasks can never go on, and why, in words and as JSON. */
#ifndef SHOW_TREE_FINDINGS_H
#define SHOW_TREE_FINDINGS_H

#include "base/json.h"
#include "show/note.h"
#include "show/style.h"
#include "walk/findings.h"

void findings_text(const struct findings *f, const struct styles *styles, struct strbuf *out);
/* What was left out. */
void findings_notes(const struct findings *f, const struct note_sink *notes);
/* The array "findings"; f may be NULL: there are none. */
void findings_json(const struct findings *f, struct json *j);

#endif

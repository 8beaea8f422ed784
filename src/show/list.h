// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace list`: probes as text and JSON. */
#ifndef SHOW_LIST_H
#define SHOW_LIST_H

#include "base/out.h"
#include "probe/probe_list.h"
#include "show/note.h"
#include "show/style.h"

/* What types the argument has, of all sites: "uint64_t", "uint32_t|int64_t". False: none has it. */
bool list_arg_type(const struct list_row *r, size_t arg, struct strbuf *out);

void list_text(const struct probe_list *l, bool is_verbose, const struct styles *styles,
	       struct out *out);
void list_json(const struct probe_list *l, struct out *out);
/* One a line, for other programs: as they are. */
void list_files(const struct probe_list *l, struct out *out);
/* What could not be read. */
void list_notes(const struct probes *p, const struct note_sink *notes);

#endif

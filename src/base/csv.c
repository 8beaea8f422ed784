// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/csv.h"

#include <string.h>

void csv_add(struct strbuf *line, const char *text)
{
	struct strbuf clean = STRBUF_INIT;
	bool is_formula;

	strbuf_add_clean(&clean, text, strlen(text));
	is_formula = clean.s[0] && strchr("=+-@", clean.s[0]);
	if (!is_formula && !strpbrk(clean.s, "\", ")) {
		strbuf_add(line, clean.s, clean.len);
		strbuf_release(&clean);
		return;
	}
	strbuf_addstr(line, is_formula ? "\"'" : "\"");
	for (const char *p = clean.s; *p; p++) {
		if (*p == '"')
			strbuf_addch(line, '"');
		strbuf_addch(line, *p);
	}
	strbuf_addch(line, '"');
	strbuf_release(&clean);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/candidates.h"

#include <string.h>

#define CANDIDATES_BAR " | "

void candidates_each(const char *names, void (*fn)(void *arg, const char *name, size_t len),
		     void *arg)
{
	while (*names) {
		const char *bar = strstr(names, CANDIDATES_BAR);
		size_t len = bar ? (size_t)(bar - names) : strlen(names);

		if (len != 1 || *names != '?')
			fn(arg, names, len);
		names += len + (bar ? strlen(CANDIDATES_BAR) : 0);
	}
}

void label_candidates(struct strbuf *out, const char *names, uint32_t nr_candidates)
{
	const char *bar = strstr(names, CANDIDATES_BAR);

	strbuf_add(out, names, bar ? (size_t)(bar - names) : strlen(names));
	if (nr_candidates > 1)
		strbuf_addf(out, " or %u other%s", nr_candidates - 1,
			    nr_candidates == 2 ? "" : "s");
}

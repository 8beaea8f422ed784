// SPDX-License-Identifier: MIT OR Apache-2.0
/* Names of types, groups and threads, escaped once for a format instead of at every poll. */
#ifndef EXPORT_SAFE_NAMES_H
#define EXPORT_SAFE_NAMES_H

#include "base/strbuf.h"
#include "model/recording.h"

typedef void names_escape(struct strbuf *out, const char *name);

struct names {
	char **v;
	uint32_t nr; /* the last one is for every other number */
};

void names_of_types(struct names *n, const struct recording *rec, names_escape *escape);
/*
 * By group. Two groups may have one text (lists of candidates, kinds of task): each of them then
 * gets the number of its first type, " #7".
 */
void names_of_groups(struct names *n, const struct recording *rec, names_escape *escape);
void names_of_threads(struct names *n, const struct recording *rec, names_escape *escape);
void names_release(struct names *n);

static inline const char *names_get(const struct names *n, uint32_t i)
{
	return n->v[MIN(i, n->nr - 1)];
}

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/names.h"

static void init(struct names *n, uint32_t nr)
{
	n->nr = nr + 1;
	n->v = xcalloc(n->nr, sizeof(*n->v));
}

static char *escaped(const char *name, names_escape *escape)
{
	struct strbuf text = STRBUF_INIT;

	escape(&text, name);
	return strbuf_take(&text);
}

void names_of_types(struct names *n, const struct recording *rec, names_escape *escape)
{
	char buf[32];

	init(n, rec->nr_types);
	for (uint32_t i = 0; i < n->nr; i++)
		n->v[i] = escaped(
			recording_type_name(rec, i < rec->nr_types ? i : EVENT_TYPE_NONE, buf),
			escape);
}

void names_of_threads(struct names *n, const struct recording *rec, names_escape *escape)
{
	init(n, rec->nr_threads);
	for (uint32_t i = 0; i < n->nr; i++)
		n->v[i] = escaped(recording_thread_name(rec, i), escape);
}

void names_release(struct names *n)
{
	for (uint32_t i = 0; i < n->nr; i++)
		free(n->v[i]);
	free(n->v);
	*n = (struct names){ 0 };
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/safe_names.h"

#include "base/intern.h"

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

/* How many groups have the name of each, by the number of the name. */
static struct intern *count_names(const struct recording *rec, uint32_t *nr_of_name)
{
	struct intern *names = intern_new();

	for (uint32_t g = 0; g < rec->nr_groups; g++)
		if (rec->groups[g].name)
			nr_of_name[intern_puts(names, rec->groups[g].name)]++;
	return names;
}

void names_of_groups(struct names *n, const struct recording *rec, names_escape *escape)
{
	uint32_t *nr_of_name = xcalloc(rec->nr_groups + 1, sizeof(*nr_of_name));
	struct intern *names = count_names(rec, nr_of_name);
	char buf[32];

	init(n, rec->nr_groups);
	for (uint32_t g = 0; g < n->nr; g++) {
		const struct recording_group *group = &rec->groups[MIN(g, rec->nr_groups - 1)];
		char *name = xstrdup(recording_type_name(rec, group->type, buf));

		if (group->name && nr_of_name[intern_puts(names, group->name)] > 1) {
			char *plain = name;

			name = xasprintf("%s #%u", plain, group->type);
			free(plain);
		}
		n->v[g] = escaped(name, escape);
		free(name);
	}
	intern_free(names);
	free(nr_of_name);
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

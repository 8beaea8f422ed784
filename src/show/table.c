// SPDX-License-Identifier: MIT OR Apache-2.0
/* What columns know of rows, finding one by its key, and sorting. Text is in table_text.c, data in
 * table_data.c. */
#include "show/table.h"

#include <string.h>

bool column_get(const struct table *t, const struct column *c, const void *row, uint64_t *value)
{
	const struct histogram *h;

	if (c->number)
		return c->number(t, row, value);
	if (c->values) {
		h = c->values(row);
		if (!h || !h->nr)
			return false;
		*value = histogram_percentile(h, c->percent);
		return true;
	}
	memcpy(value, (const char *)row + c->at, sizeof(*value));
	return true;
}

static bool is_sortable(const struct table *t, const struct column *c)
{
	if (t->chooses_early && (c->text || c->is_late))
		return false;
	return c->key && !(c->values && !c->percent);
}

/* The key without its unit: "busy_ns" -> "busy" */
static size_t short_len(const char *key)
{
	size_t len = strlen(key);

	return str_has_suffix(key, "_ns") ? len - 3 : str_has_suffix(key, "_bytes") ? len - 6 : len;
}

static bool is_key(const char *key, const char *wanted)
{
	size_t len = strlen(wanted);

	if (len != strlen(key) && len != short_len(key))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((wanted[i] == '-' ? '_' : wanted[i]) != key[i])
			return false;
	return true;
}

const struct column *table_find_key(const struct table *t, const char *key)
{
	for (size_t c = 0; c < t->nr_columns; c++)
		if (is_sortable(t, &t->columns[c]) && is_key(t->columns[c].key, key))
			return &t->columns[c];
	return NULL;
}

void table_list_keys(const struct table *t, struct strbuf *out)
{
	const char *sep = "";

	for (size_t c = 0; c < t->nr_columns; c++) {
		if (!is_sortable(t, &t->columns[c]))
			continue;
		strbuf_addf(out, "%s%.*s", sep, (int)short_len(t->columns[c].key),
			    t->columns[c].key);
		sep = ", ";
	}
}

struct sorted {
	const void *row;
	size_t before; /* where it stood: equals keep their order */
	bool has;
	uint64_t number;
	char *text;
};

static int compare(const void *pa, const void *pb, void *arg)
{
	const struct sorted *a = pa, *b = pb;
	int order = 0;

	if (a->has != b->has)
		return a->has ? -1 : 1;
	if (a->has && a->text)
		order = strcmp(a->text, b->text);
	else if (a->has)
		order = (a->number < b->number) - (a->number > b->number);
	if (*(const bool *)arg)
		order = -order;
	return order ? order : (a->before > b->before) - (a->before < b->before);
}

void table_sort(struct table *t, const struct column *c, bool is_reverse)
{
	VEC(struct sorted) all = { 0 };
	struct strbuf scratch = STRBUF_INIT;

	for (size_t i = 0; i < t->rows.nr; i++) {
		struct sorted s = { .row = t->rows.v[i], .before = i };
		const char *text;

		strbuf_reset(&scratch);
		text = c->text ? c->text(t, s.row, &scratch) : NULL;
		s.has = c->text ? text != NULL : column_get(t, c, s.row, &s.number);
		s.text = text ? xstrdup(text) : NULL;
		vec_push(&all, s);
	}
	if (all.nr)
		qsort_r(all.v, all.nr, sizeof(*all.v), compare, &is_reverse);
	for (size_t i = 0; i < all.nr; i++) {
		t->rows.v[i] = all.v[i].row;
		free(all.v[i].text);
	}
	strbuf_release(&scratch);
	vec_release(&all);
}

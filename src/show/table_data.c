// SPDX-License-Identifier: MIT OR Apache-2.0
/* A table for programs: every column that has a key, numbers as they are, names whole. */
#include <string.h>

#include "base/csv.h"
#include "show/table.h"

/* A line of CSV has no room for buckets. */
static bool is_in_csv(const struct column *c)
{
	return c->key && !(c->values && !c->percent);
}

static void csv_cell(const struct table *t, const struct column *c, const void *row,
		     struct strbuf *out)
{
	struct strbuf scratch = STRBUF_INIT;
	const char *text;
	uint64_t value;

	if (c->text) {
		text = c->text(t, row, &scratch);
		csv_add(out, text ? text : "");
	} else if (column_get(t, c, row, &value)) {
		strbuf_addf(out, "%llu", (unsigned long long)value);
	}
	strbuf_release(&scratch);
}

void table_csv(const struct table *t, struct out *out)
{
	const char *sep = "";

	for (size_t c = 0; c < t->nr_columns; c++) {
		if (!is_in_csv(&t->columns[c]))
			continue;
		strbuf_addf(&out->buf, "%s%s", sep, t->columns[c].key);
		sep = ",";
	}
	strbuf_addstr(&out->buf, "\n");
	for (size_t i = 0; i < t->rows.nr; i++) {
		sep = "";
		for (size_t c = 0; c < t->nr_columns; c++) {
			if (!is_in_csv(&t->columns[c]))
				continue;
			strbuf_addstr(&out->buf, sep);
			csv_cell(t, &t->columns[c], t->rows.v[i], &out->buf);
			sep = ",";
		}
		strbuf_addstr(&out->buf, "\n");
		out_spill(out);
	}
}

/* NULL: the part has none of this key. */
static const struct column *find_column(const struct table_part *part, const char *key)
{
	const struct table *t = part->table;

	for (size_t c = 0; t && c < t->nr_columns; c++)
		if (is_in_csv(&t->columns[c]) && strcmp(t->columns[c].key, key) == 0)
			return &t->columns[c];
	return NULL;
}

struct keys {
	VEC(const char *) all;
};

/* Each once, in the order of the parts. */
static void add_keys(struct keys *keys, const struct table_part *part,
		     const struct table_part *first)
{
	const struct table *t = part->table;

	for (size_t c = 0; t && c < t->nr_columns; c++) {
		const struct table_part *p = first;

		while (is_in_csv(&t->columns[c]) && !find_column(p, t->columns[c].key))
			p++;
		if (p == part && is_in_csv(&t->columns[c]))
			vec_push(&keys->all, t->columns[c].key);
	}
}

static void csv_row(const struct table_part *part, const void *row, const struct keys *keys,
		    struct out *out)
{
	strbuf_addstr(&out->buf, part->name);
	vec_each (key, &keys->all) {
		const struct column *c = find_column(part, *key);

		strbuf_addch(&out->buf, ',');
		if (c)
			csv_cell(part->table, c, row, &out->buf);
	}
	strbuf_addch(&out->buf, ',');
	if (!part->table)
		strbuf_addf(&out->buf, "%llu", (unsigned long long)part->count);
	strbuf_addch(&out->buf, '\n');
	out_spill(out);
}

void table_csv_parts(const struct table_part *parts, size_t nr, struct out *out)
{
	struct keys keys = { 0 };

	for (size_t p = 0; p < nr; p++)
		add_keys(&keys, &parts[p], parts);
	strbuf_addstr(&out->buf, "part");
	vec_each (key, &keys.all)
		strbuf_addf(&out->buf, ",%s", *key);
	strbuf_addstr(&out->buf, ",count\n");
	for (size_t p = 0; p < nr; p++) {
		size_t nr_rows = parts[p].table ? parts[p].table->rows.nr : 1;

		for (size_t i = 0; i < nr_rows; i++)
			csv_row(&parts[p], parts[p].table ? parts[p].table->rows.v[i] : NULL, &keys,
				out);
	}
	vec_release(&keys.all);
}

/* [[lowest, highest, how many], …]; null: not known */
static void json_buckets(const struct histogram *h, const char *key, struct json *j)
{
	struct histogram_bin bin;
	unsigned pos = 0;

	if (!h) {
		json_null(j, key);
		return;
	}
	json_open_array(j, key);
	while (histogram_next(h, &pos, &bin)) {
		json_open_array(j, NULL);
		json_uint(j, NULL, bin.low);
		json_uint(j, NULL, bin.high);
		json_uint(j, NULL, bin.nr);
		json_close_array(j);
	}
	json_close_array(j);
}

static void json_cell(const struct table *t, const struct column *c, const void *row,
		      struct json *j)
{
	struct strbuf scratch = STRBUF_INIT;
	uint64_t value;

	if (c->text)
		json_str(j, c->key, c->text(t, row, &scratch));
	else if (c->values && !c->percent)
		json_buckets(c->values(row), c->key, j);
	else if (column_get(t, c, row, &value))
		json_uint(j, c->key, value);
	else
		json_null(j, c->key);
	strbuf_release(&scratch);
}

void table_json(const struct table *t, struct json *j)
{
	json_open_array(j, "rows");
	for (size_t i = 0; i < t->rows.nr; i++) {
		json_open_object(j, NULL);
		for (size_t c = 0; c < t->nr_columns; c++)
			if (t->columns[c].key)
				json_cell(t, &t->columns[c], t->rows.v[i], j);
		json_close_object(j);
	}
	json_close_array(j);
}

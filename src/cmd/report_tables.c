// SPDX-License-Identifier: MIT OR Apache-2.0
/* What all tables of the report have in common: finding one by name, its sort key and its limit,
 * and the order of things. */
#include "cmd/report_tables.h"

#include <string.h>

#include "cmd/report_by.h"

static const struct table_kind *const kinds[] = {
#define TABLE(name) &table_by_##name,
	TABLES
#undef TABLE
};

const char *const report_table_names[] = {
#define TABLE(name) #name,
	TABLES
#undef TABLE
		NULL,
};

static const struct table_kind *find_kind(const char *name, struct err *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	err_set(e, ERR_USAGE, "there is no table by '%s'", name);
	return NULL;
}

static int find_sort(struct report_table *t, struct err *e)
{
	const char *key = t->opts->sort ? t->opts->sort : t->kind->sort;
	struct strbuf keys = STRBUF_INIT;

	t->is_reverse = key[0] == '-';
	t->sort = table_find_key(&t->table, key + t->is_reverse);
	if (t->sort)
		return 0;
	table_list_keys(&t->table, &keys);
	err_set(e, ERR_USAGE, "--by=%s cannot be sorted by '%s', only by: %s", t->kind->name, key,
		keys.s);
	strbuf_release(&keys);
	return -1;
}

struct report_table *report_table_new(const struct recording *rec,
				      const struct report_table_opts *opts, struct err *e)
{
	const struct table_kind *kind = find_kind(opts->by ? opts->by : kinds[0]->name, e);
	struct report_table *t;

	if (!kind)
		return NULL;
	t = xcalloc(1, sizeof(*t));
	t->kind = kind;
	t->rec = rec;
	t->opts = opts;
	t->limit = opts->limit != REPORT_TABLE_USUAL ? opts->limit
		   : opts->is_data		     ? kind->data_limit
						     : kind->limit;
	t->table = (struct table){ .columns = kind->columns,
				   .nr_columns = kind->nr_columns,
				   .arg = t,
				   .chooses_early = kind->chooses_early,
				   .is_judged = kind->is_judged,
				   .what = kind->what,
				   .styles = opts->styles,
				   .is_ascii = opts->is_ascii };
	if (find_sort(t, e)) {
		free(t);
		return NULL;
	}
	if (kind->init)
		kind->init(t);
	return t;
}

void report_table_free(struct report_table *t)
{
	if (!t)
		return;
	if (t->kind->release)
		t->kind->release(t->state);
	vec_release(&t->table.rows);
	vec_release(&t->sinks);
	vec_release(&t->second);
	free(t);
}

const struct recording_sink *report_table_get_sinks(struct report_table *t, size_t *nr)
{
	*nr = t->sinks.nr;
	return t->sinks.v;
}

const struct recording_sink *report_table_get_second(struct report_table *t, size_t *nr)
{
	*nr = t->second.nr;
	return t->second.v;
}

void report_table_finish(struct report_table *t, struct analyzer *a, const struct model *m)
{
	t->model = m;
	t->duration_ns = model_get_duration(m);
	t->kind->finish(t, a);
	t->nr_in_all = MAX(t->nr_in_all, t->table.rows.nr);
	table_sort(&t->table, t->sort, t->is_reverse);
	if (t->limit)
		t->table.rows.nr = MIN(t->table.rows.nr, t->limit);
	t->table.nr_left_out = t->nr_in_all - t->table.rows.nr;
}

void report_table_text(struct report_table *t, struct out *out)
{
	strbuf_addch(&out->buf, '\n');
	if (!t->table.rows.nr) {
		strbuf_addf(&out->buf, "%s\n", t->kind->empty);
	} else if (t->opts->is_verbose && t->kind->tell) {
		for (size_t i = 0; i < t->table.rows.nr; i++)
			t->kind->tell(t, t->table.rows.v[i], out);
		table_more(&t->table, out);
	} else {
		table_text(&t->table, t->opts->is_verbose ? SIZE_MAX : t->opts->width, out);
	}
}

void report_table_csv(struct report_table *t, struct out *out)
{
	table_csv(&t->table, out);
}

void report_table_json(struct report_table *t, struct json *j)
{
	json_open_object(j, "table");
	json_str(j, "by", t->kind->name);
	json_str(j, "sort", t->sort->key);
	json_bool(j, "reverse", t->is_reverse);
	json_uint(j, "rows_in_all", t->nr_in_all);
	table_json(&t->table, j);
	json_close_object(j);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/* What all tables of the report have in common: finding one by name, its sort key and its limit,
 * and the order of things. */
#include "show/report_tables.h"

#include <string.h>

#include "base/format.h"
#include "show/report_by.h"

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

static bool find_sort(struct report_table *t, const char *key)
{
	t->is_reverse = key[0] == '-';
	t->sort = table_find_key(&t->table, key + t->is_reverse);
	return t->sort;
}

/* What a part cannot be sorted by leaves it in its usual order; one of them has to know it. */
static int find_sorts(struct report_table *t, struct err *e)
{
	const char *key = t->opts->sort;
	struct strbuf keys = STRBUF_INIT;
	bool is_known = false;

	is_known |= find_sort(t, key ? key : t->kind->sort);
	vec_each (p, &t->parts)
		is_known |= find_sort(*p, key ? key : (*p)->kind->sort);
	if (!t->sort && is_known)
		find_sort(t, t->kind->sort);
	vec_each (p, &t->parts)
		if (!(*p)->sort)
			find_sort(*p, (*p)->kind->sort);
	if (is_known)
		return 0;
	table_list_keys(&t->table, &keys);
	vec_each (p, &t->parts) {
		strbuf_addstr(&keys, "; ");
		table_list_keys(&(*p)->table, &keys);
	}
	err_set(e, ERR_USAGE, "--by=%s cannot be sorted by '%s', only by: %s", t->kind->name, key,
		keys.s);
	strbuf_release(&keys);
	return -1;
}

static struct report_table *make(const struct table_kind *kind, const struct recording *rec,
				 const struct report_table_opts *opts)
{
	struct report_table *t = xcalloc(1, sizeof(*t));

	t->kind = kind;
	t->empty = kind->empty;
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
				   .is_ascii = opts->styles->is_ascii };
	return t;
}

static void release(struct report_table *t)
{
	vec_each (p, &t->parts)
		release(*p);
	vec_release(&t->parts);
	vec_release(&t->table.rows);
	vec_release(&t->sinks);
	vec_release(&t->second);
	free(t);
}

struct report_table *report_table_new(const struct recording *rec,
				      const struct report_table_opts *opts, struct err *e)
{
	const struct table_kind *kind = find_kind(opts->by ? opts->by : kinds[0]->name, e);
	struct report_table *t;

	if (!kind)
		return NULL;
	t = make(kind, rec, opts);
	for (const struct table_kind *const *part = kind->parts; part && *part; part++)
		vec_push(&t->parts, make(*part, rec, opts));
	if (find_sorts(t, e)) {
		release(t);
		return NULL;
	}
	if (kind->init)
		kind->init(t);
	vec_each (p, &t->parts)
		(*p)->state = t->state;
	return t;
}

void report_table_free(struct report_table *t)
{
	if (!t)
		return;
	if (t->kind->release)
		t->kind->release(t->state);
	release(t);
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
	vec_each (p, &t->parts)
		report_table_finish(*p, a, m);
}

/* The names of the runtimes that were found, each once. */
static void add_runtimes(const struct trace_runtime *v, uint32_t nr, struct strbuf *out)
{
	size_t start = out->len;

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t same = 0;

		while (same < i && (strcmp(v[same].name, v[i].name) != 0 ||
				    strcmp(v[same].version, v[i].version) != 0))
			same++;
		if (same < i)
			continue;
		strbuf_addstr(out, out->len > start ? " and " : "");
		strbuf_add_clean(out, v[i].name, strlen(v[i].name));
		strbuf_addstr(out, *v[i].version ? " " : "");
		strbuf_add_clean(out, v[i].version, strlen(v[i].version));
	}
}

/* As far as the file tells why; options may have left out what it has. */
static void add_no_task(const struct recording *rec, struct strbuf *out)
{
	const struct trace *trace = rec->trace;
	const struct trace_runtime *runtimes;
	uint32_t nr;

	strbuf_addstr(out, "No task was recorded");
	if (!trace || trace_get_nr_events(trace)) {
		strbuf_addstr(out, ".\n");
		return;
	}
	runtimes = trace_get_runtimes(trace, &nr);
	if (trace_get_end(trace)->nr_apart) {
		strbuf_addstr(out, ": the async runtime was loaded by dlmopen, into a link "
				   "namespace of its own.\n");
	} else if (nr) {
		strbuf_addstr(out, ": ");
		add_runtimes(runtimes, nr, out);
		strbuf_addstr(out, nr == 1 ? " was found, but no task of it was seen.\n"
					   : " were found, but no task of them was seen.\n");
	} else {
		strbuf_addstr(out, ": no async runtime that can be recorded was found.\n");
	}
}

static void put_text(struct report_table *t, struct out *out)
{
	if (t->kind->head)
		strbuf_addf(&out->buf, "%s%s%s\n", style_on(t->opts->styles, STYLE_HEAD),
			    t->kind->head, style_off(t->opts->styles));
	if (!t->table.rows.nr) {
		if (t->empty)
			strbuf_addf(&out->buf, "%s\n", t->empty);
		else
			add_no_task(t->rec, &out->buf);
	} else if (t->opts->is_verbose && t->kind->tell) {
		for (size_t i = 0; i < t->table.rows.nr; i++)
			t->kind->tell(t, t->table.rows.v[i], out);
		table_more(&t->table, out);
	} else {
		table_text(&t->table, t->opts->is_verbose ? SIZE_MAX : t->opts->styles->width, out);
	}
	if (t->table.rows.nr && t->note)
		strbuf_addf(&out->buf, "\n%s\n", t->note);
}

static void put_sum(const struct report_table *t, const struct table_sum *s, struct out *out)
{
	char buf[FORMAT_SIZE];
	uint64_t value = s->get(t);

	strbuf_addf(&out->buf, "%s: %s\n", s->text,
		    s->unit == COLUMN_NS ? format_span(value, buf) : format_grouped(value, buf));
}

void report_table_text(struct report_table *t, struct out *out)
{
	strbuf_addch(&out->buf, '\n');
	put_text(t, out);
	vec_each (p, &t->parts) {
		strbuf_addch(&out->buf, '\n');
		put_text(*p, out);
	}
	if (t->kind->sums)
		strbuf_addch(&out->buf, '\n');
	for (const struct table_sum *s = t->kind->sums; s && s->key; s++)
		put_sum(t, s, out);
}

void report_table_csv(struct report_table *t, struct out *out)
{
	VEC(struct table_part) parts = { 0 };

	if (!t->kind->parts) {
		table_csv(&t->table, out);
		return;
	}
	vec_push(&parts, (struct table_part){ t->kind->name, &t->table, 0 });
	vec_each (p, &t->parts)
		vec_push(&parts, (struct table_part){ (*p)->kind->name, &(*p)->table, 0 });
	for (const struct table_sum *s = t->kind->sums; s && s->key; s++)
		vec_push(&parts, (struct table_part){ s->key, NULL, s->get(t) });
	table_csv_parts(parts.v, parts.nr, out);
	vec_release(&parts);
}

static void put_json(struct report_table *t, const char *key, struct json *j)
{
	json_open_object(j, key);
	json_str(j, "by", t->kind->name);
	json_str(j, "sort", t->sort->key);
	json_bool(j, "reverse", t->is_reverse);
	json_uint(j, "rows_in_all", t->nr_in_all);
	table_json(&t->table, j);
	for (const struct table_sum *s = t->kind->sums; s && s->key; s++)
		json_uint(j, s->key, s->get(t));
	if (t->parts.nr)
		json_open_array(j, "parts");
	vec_each (p, &t->parts)
		put_json(*p, NULL, j);
	if (t->parts.nr)
		json_close_array(j);
	json_close_object(j);
}

void report_table_json(struct report_table *t, struct json *j)
{
	put_json(t, "table", j);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/* The futures that tasks are made of: those on await paths, and those polled one by one. */
#include "analyze/by_future.h"
#include "export/html.h"

#define MAX_ROWS 2000 /* the page is to stay small: those with the longest polls */

static int longer_first(const void *pa, const void *pb)
{
	const struct by_future_row *a = *(const struct by_future_row *const *)pa;
	const struct by_future_row *b = *(const struct by_future_row *const *)pb;

	if (a->poll_ns != b->poll_ns)
		return a->poll_ns < b->poll_ns ? 1 : -1;
	return a < b ? -1 : a > b;
}

static void put_name(struct json *j, const struct by_future_row *row)
{
	const struct trace_future *f = row->future;
	struct strbuf text = STRBUF_INIT;

	html_name_add(j, by_future_name(row));
	if (f && f->file[0]) {
		strbuf_addf(&text, "%s:%u", f->file, f->line);
		json_str(j, "place", text.s);
	}
	strbuf_release(&text);
}

static void put_row(struct json *j, const struct by_future_row *row)
{
	static const char *const sources[] = { "paths", "some", "exact" };

	json_open_object(j, NULL);
	put_name(j, row);
	json_str(j, "by", sources[row->source]);
	json_uint(j, "count", row->nr);
	json_uint(j, "dropped", row->nr_dropped);
	json_uint(j, "polls", row->polls);
	json_uint(j, "poll_ns", row->poll_ns);
	json_uint(j, "self_ns", row->own.self_ns);
	json_uint(j, "max_ns", row->own.max_ns);
	json_uint(j, "ready", row->own.nr_ready);
	json_uint(j, "unwound", row->own.nr_unwound);
	json_uint(j, "wait_ns", row->wait_ns);
	json_close_object(j);
}

/* As the options that show and hide futures have it; kind: the row's number. */
static bool is_wanted(const struct export_job *job, const struct by_future_row *row, uint32_t kind)
{
	if (!row->nr && !row->exact.polls)
		return false;
	if (row->step)
		return !job->futures || job->futures[kind];
	return !job->polled || job->polled[row->future - job->rec->futures];
}

void html_futures_add(const struct html_facts *f, struct json *j)
{
	VEC(const struct by_future_row *) rows = { 0 };
	uint64_t lost[EV_MAX];
	struct by_future b;

	recording_get_lost(f->rec, f->model, lost);
	by_future_init(&b, f->rec, analyzer_get_paths(f->analyzer), f->inner,
		       lost[EV_FUTURE_START]);
	for (uint32_t i = 0; i < b.nr; i++)
		if (is_wanted(f->job, &b.v[i], i))
			vec_push(&rows, &b.v[i]);
	if (rows.nr)
		qsort(rows.v, rows.nr, sizeof(*rows.v), longer_first);
	json_open_array(j, "futures");
	for (size_t i = 0; i < MIN(rows.nr, (size_t)MAX_ROWS); i++)
		put_row(j, rows.v[i]);
	json_close_array(j);
	vec_release(&rows);
	by_future_release(&b);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/* Where tasks wait: the table of await points, and the frames of the flame graph. */
#include "analyze/by_await.h"
#include "export/html.h"
#include "export/waits.h"

#define MAX_ROWS   2000 /* the page is to stay small: those with the longest waits */
#define MAX_FRAMES 20000

static int longer_first(const void *pa, const void *pb)
{
	const struct by_await_row *a = *(const struct by_await_row *const *)pa;
	const struct by_await_row *b = *(const struct by_await_row *const *)pb;

	if (a->wait_ns != b->wait_ns)
		return a->wait_ns < b->wait_ns ? 1 : -1;
	return a < b ? -1 : a > b;
}

static void put_name(struct json *j, const struct by_await_row *row)
{
	struct strbuf text = STRBUF_INIT;

	html_name_add(j, row->step ? step_name(row->step) : by_await_rest_name(row));
	if (!row->step)
		return;
	step_add_place(&text, row->step);
	json_str(j, "place", text.s);
	if (row->leaf)
		json_str(j, "for", row->leaf->leaf[0] ? row->leaf->leaf : step_name(row->leaf));
	strbuf_release(&text);
}

static void put_row(struct json *j, const struct by_await_row *row)
{
	json_open_object(j, NULL);
	put_name(j, row);
	json_uint(j, "tasks", row->nr_tasks);
	json_uint(j, "waits", row->nr);
	json_uint(j, "wait_ns", row->wait_ns);
	json_uint(j, "sched_ns", row->sched_ns);
	json_uint(j, "all_ns", row->all_ns);
	json_uint(j, "p50", histogram_percentile(&row->wait, 50));
	json_uint(j, "p99", histogram_percentile(&row->wait, 99));
	json_uint(j, "max", row->wait.max);
	json_uint(j, "dropped", row->nr_dropped);
	json_uint(j, "open", row->nr_open);
	json_open_array(j, "by"); /* in the order of causes */
	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++)
		json_uint(j, NULL, row->wakes[i]);
	json_close_array(j);
	json_close_object(j);
}

static void put_awaits(const struct html_facts *f, const struct by_path *paths, struct json *j)
{
	VEC(const struct by_await_row *) rows = { 0 };
	struct by_await b;

	by_await_init(&b, f->job->rec, paths);
	for (uint32_t i = 0; i < b.nr; i++)
		if (b.v[i].nr)
			vec_push(&rows, &b.v[i]);
	if (rows.nr)
		qsort(rows.v, rows.nr, sizeof(*rows.v), longer_first);
	json_open_array(j, "awaits");
	for (size_t i = 0; i < MIN(rows.nr, (size_t)MAX_ROWS); i++)
		put_row(j, rows.v[i]);
	json_close_array(j);
	vec_release(&rows);
	by_await_release(&b);
}

/* An outer frame comes before those in it; so what is left out has nothing in it that is not. */
static void put_frames(const struct html_facts *f, const struct by_path *paths, struct json *j)
{
	struct strbuf label = STRBUF_INIT;
	struct waits w;

	waits_init(&w, f->job, paths);
	json_open_array(j, "waiting");
	for (size_t i = 0; i < MIN(w.frames.nr, (size_t)MAX_FRAMES); i++) {
		const struct waits_frame *frame = &w.frames.v[i];

		strbuf_reset(&label);
		waits_add_label(&label, f->job->rec, frame->step);
		json_open_array(j, NULL);
		json_int(j, NULL, frame->outer == WAITS_ROOT ? -1 : (int64_t)frame->outer);
		json_str(j, NULL, label.s);
		json_uint(j, NULL, frame->ns);
		json_uint(j, NULL, frame->nr);
		json_close_array(j);
	}
	json_close_array(j);
	waits_release(&w);
	strbuf_release(&label);
}

void html_waits_add(const struct html_facts *f, struct json *j)
{
	const struct by_path *paths = analyzer_get_paths(f->analyzer);

	if (!paths)
		return;
	put_awaits(f, paths, j);
	put_frames(f, paths, j);
}

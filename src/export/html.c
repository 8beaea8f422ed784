// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A page to look at: one file that needs nothing else, no network either. The recording is read
 * twice: first for the findings and sums, then for what the page draws, so that what belongs to a
 * finding is kept. Memory is bounded by what the page may hold.
 */
#include "export/html.h"

#include "analyze/inner_polls.h"
#include "base/format.h"
#include "export/exporters.h"
#include "export/html_page.h"

#define MAX_BYTES (UINT64_C(50) << 20) /* what a browser opens at once, and a mail takes */
#define MAX_POLLS (UINT64_C(2) << 20)
/* A poll takes ten to twenty bytes of the page; how many exactly shows when it is packed. */
#define POLL_BYTES 12

struct html {
	struct export_job *job;
	struct analyzer *analyzer;
	struct model *model;
	struct html_polls *polls;
	struct html_tasks *tasks;
	struct html_time *time;
	struct inner_polls inner;
	struct html_pack *pack;
	struct strbuf facts;
};

static void find_faults(struct html *h)
{
	const struct recording_sink *sinks;
	size_t nr;

	h->analyzer = analyzer_new(h->job->rec, h->job->config);
	sinks = analyzer_get_sinks(h->analyzer, &nr);
	h->model = recording_read(h->job->rec, &h->job->view, sinks, nr);
	analyzer_finish(h->analyzer, h->model);
}

static void collect(struct html *h, uint64_t max_bytes)
{
	const struct recording *rec = h->job->rec;
	const struct finding *findings;
	size_t nr;

	findings = analyzer_get_findings(h->analyzer, &nr);
	h->polls = html_polls_new(rec, findings, nr, MIN(MAX_POLLS, max_bytes / POLL_BYTES));
	h->tasks = html_tasks_new(rec, findings, nr);
	h->time = html_time_new(rec, model_get_start(h->model), model_get_end(h->model));
	inner_polls_init(&h->inner, rec);
	model_free(recording_read(h->job->rec, &h->job->view,
				  (struct recording_sink[]){ { &html_polls_ops, h->polls },
							     { &html_tasks_ops, h->tasks },
							     { &html_time_ops, h->time },
							     { &inner_polls_ops, &h->inner } },
				  4));
}

static int pack(struct html *h, struct err *e)
{
	struct html_facts facts = { h->job,   h->job->rec, h->model, h->analyzer,
				    h->polls, h->time,	   &h->inner };

	html_pack_free(h->pack);
	facts.pack = h->pack = html_pack_new();
	html_polls_pack(h->polls, h->pack);
	html_tasks_pack(h->tasks, h->pack);
	html_time_pack(h->time, h->pack);
	if (html_pack_finish(h->pack, e))
		return -1;
	strbuf_reset(&h->facts);
	html_facts_add(&facts, &h->facts);
	return 0;
}

/* False: there is nothing left that could be left out. */
static bool thin(struct html *h, uint64_t bytes, uint64_t max_bytes)
{
	const struct html_kept *kept = html_polls_get_kept(h->polls);
	uint64_t nr = kept->nr_kept, packed = html_pack_text_bytes(h->pack), rest = bytes - packed;
	uint64_t wanted = max_bytes > rest ? nr * (max_bytes - rest) / packed * 9 / 10 : 0;

	/* not all that is packed is polls: in small steps it would take long */
	html_polls_thin(h->polls, MIN(wanted, nr * 3 / 4));
	if (kept->nr_kept == nr) {
		html_polls_unpin(h->polls);
		html_polls_thin(h->polls, MIN(wanted, nr * 3 / 4));
	}
	return kept->nr_kept < nr;
}

/* Again with fewer polls, until it fits or there are none. */
static int pack_to_fit(struct html *h, uint64_t max_bytes, struct err *e)
{
	for (;;) {
		uint64_t bytes = html_page_head_len + html_page_middle_len + html_page_tail_len;

		if (pack(h, e))
			return -1;
		bytes += h->facts.len + html_pack_text_bytes(h->pack);
		if (bytes <= max_bytes || !thin(h, bytes, max_bytes))
			return 0;
	}
}

static void put_page(struct html *h)
{
	struct out *out = h->job->out;

	strbuf_add(&out->buf, html_page_head, html_page_head_len);
	html_pack_write(h->pack, out);
	strbuf_add(&out->buf, html_page_middle, html_page_middle_len);
	strbuf_add(&out->buf, h->facts.s, h->facts.len);
	strbuf_add(&out->buf, html_page_tail, html_page_tail_len);
}

static void tell(const struct html *h)
{
	bool is_too_large = h->job->max_bytes && out_size(h->job->out) > h->job->max_bytes;
	const struct html_kept *kept = html_polls_get_kept(h->polls);
	char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];
	char *text;

	if (!h->job->note || kept->nr_kept == kept->nr_seen || is_too_large)
		return;
	text = xasprintf("the page has %s of %s polls: all that took or waited %s or more, and a "
			 "sample of the others%s; sums and histograms count all of them",
			 format_grouped(kept->nr_kept, a), format_grouped(kept->nr_seen, b),
			 format_span(kept->min_ns, c),
			 kept->is_unpinned ? ", but not all around the findings" : "");
	h->job->note(h->job->note_arg, text);
	free(text);
}

static int run(struct export_job *job, struct err *e)
{
	uint64_t max_bytes = job->max_bytes ? job->max_bytes : UINT64_MAX / 16;
	struct html h = { .job = job, .facts = STRBUF_INIT };
	int rc;

	find_faults(&h);
	collect(&h, max_bytes);
	rc = pack_to_fit(&h, max_bytes, e);
	if (!rc) {
		put_page(&h);
		tell(&h);
	}
	strbuf_release(&h.facts);
	html_pack_free(h.pack);
	inner_polls_release(&h.inner);
	html_time_free(h.time);
	html_tasks_free(h.tasks);
	html_polls_free(h.polls);
	model_free(h.model);
	analyzer_free(h.analyzer);
	return rc;
}

const struct exporter exporter_html = {
	.name = "html",
	.summary = "a page to look at in a browser: findings, timeline, tables",
	.suffix = "html",
	.max_bytes = MAX_BYTES,
	.run = run,
};

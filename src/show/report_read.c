// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/report.h"

#include "base/vec.h"

struct sinks {
	VEC(struct recording_sink) all;
};

static void add_sinks(struct sinks *to, const struct recording_sink *sinks, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		vec_push(&to->all, sinks[i]);
}

static void finish_table(struct report *r)
{
	const struct recording_sink *sinks;
	size_t nr;

	report_table_finish(r->table, r->analyzer, r->model);
	sinks = report_table_get_second(r->table, &nr);
	if (nr)
		model_free(recording_read(&r->rec, &r->view, sinks, nr));
}

void report_read(struct report *r, const struct recording_sink *sinks, size_t nr)
{
	const struct recording_sink *more;
	struct sinks s = { 0 };
	size_t nr_more;

	more = analyzer_get_sinks(r->analyzer, &nr_more);
	add_sinks(&s, more, nr_more);
	add_sinks(&s, sinks, nr);
	if (r->fail_on) {
		more = fail_on_get_sinks(r->fail_on, &nr_more);
		add_sinks(&s, more, nr_more);
	}
	if (r->table) {
		more = report_table_get_sinks(r->table, &nr_more);
		add_sinks(&s, more, nr_more);
	}
	r->model = recording_read(&r->rec, &r->view, s.all.v, s.all.nr);
	analyzer_finish(r->analyzer, r->model);
	if (r->table)
		finish_table(r);
	vec_release(&s.all);
}

void report_text(struct report *r, struct out *out)
{
	struct report_totals totals;

	report_totals_init(&totals, r);
	report_totals_text(r, &totals, &out->buf);
	report_totals_release(&totals);
	report_findings_text(r, &out->buf);
	report_table_text(r->table, out);
}

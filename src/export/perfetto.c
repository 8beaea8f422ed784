// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Perfetto's own format: polls on the tracks of their threads, arrows from wakes and spawns to
 * polls, counters, findings, and tracks of some tasks. The parts are in perfetto_*.c.
 *
 * Passes. Most recordings fit into what a browser takes: the first pass writes the polls, counts
 * and analyses, and a second one, which has little to do, draws the tasks that turned out to be
 * worth it. If the file may come out larger than wanted, the first pass only counts, analyses and
 * measures; then the length is known from which on polls fit, and the second pass writes them and
 * the tasks.
 */
#include <stdio.h>

#include "base/format.h"
#include "export/exporters.h"
#include "export/marks.h"
#include "export/perfetto.h"

/* What one event of the recording can cost at most: both ends of a poll with all that may stand
 * there are some 224 bytes. */
#define MAX_EVENT_BYTES 112
/* … and for each future in it some 80. */
#define MAX_FUTURE_BYTES 40
/* Of the wanted size, for the tracks of tasks: an eighth. */
#define TASKS_SHIFT 3
/* … and as much for marks and spans, if there are any. */
#define SLACK_BYTES 512 /* the last slice or track may not fit */
/* Counters a sixteenth, at most; a value of one takes so much. */
#define COUNTERS_SHIFT 4
#define VALUE_BYTES    32

struct perfetto {
	struct export_job *job;
	struct slices slices;
	struct tasks tasks;
	struct marks marks;
	struct trunks trunks;
	struct counters counters;
	struct analyzer *analyzer;
	struct model *model; /* of the first pass */
};

static void init(struct perfetto *p, struct export_job *job)
{
	uint64_t end_ns = trace_get_duration(job->rec->trace), to_ns = job->view.to_ns;

	*p = (struct perfetto){ .job = job };
	trunks_init(&p->trunks, job, strbuf_addstr);
	p->slices = (struct slices){ .rec = job->rec,
				     .nested = { .trunks = &p->trunks },
				     .out = job->out,
				     .buf = &job->out->buf,
				     .from_ns = job->view.from_ns,
				     .next_flow = 1,
				     .has_runtimes = recording_has_runtimes(job->rec) };
	p->tasks = (struct tasks){ .out = job->out,
				   .buf = &job->out->buf,
				   .chosen = { .nr_wanted = job->nr_tracks } };
	p->marks = (struct marks){ .rec = job->rec, .out = job->out, .buf = &job->out->buf };
	p->tasks.tracks = (struct tracks){ .rec = job->rec,
					   .chosen = &p->tasks.chosen,
					   .trunks = &p->trunks,
					   .ops = &perfetto_tracks_ops,
					   .arg = &p->tasks,
					   .span_ns = (to_ns ? MIN(to_ns, end_ns) : end_ns) -
						      job->view.from_ns };
	counters_init(&p->counters, job->view.from_ns, to_ns ? MIN(to_ns, end_ns) : end_ns,
		      job->max_bytes, COUNTERS_SHIFT, VALUE_BYTES);
	p->analyzer = analyzer_new(job->rec, job->config);
}

static void release(struct perfetto *p)
{
	slices_release(&p->slices);
	tracks_release(&p->tasks.tracks);
	chosen_release(&p->tasks.chosen);
	map_release(&p->marks.tracks);
	trunks_release(&p->trunks);
	counters_release(&p->counters);
	analyzer_free(p->analyzer);
	model_free(p->model);
}

/* Everything is counted and looked at; the polls go to the slices. */
static void read_all(struct perfetto *p, struct slices *slices)
{
	VEC(struct recording_sink) sinks = { 0 };
	size_t nr;
	const struct recording_sink *others = analyzer_get_sinks(p->analyzer, &nr);
	const struct finding *findings;

	vec_push(&sinks, (struct recording_sink){ &slices_ops, slices });
	vec_push(&sinks, (struct recording_sink){ &counters_ops, &p->counters });
	if (p->tasks.chosen.nr_wanted || p->job->has_task)
		vec_push(&sinks, (struct recording_sink){ &chosen_ops, &p->tasks.chosen });
	for (size_t i = 0; i < nr; i++)
		vec_push(&sinks, others[i]);
	p->model = recording_read(p->job->rec, &p->job->view, sinks.v, sinks.nr);
	vec_release(&sinks);
	analyzer_finish(p->analyzer, p->model);
	findings = analyzer_get_findings(p->analyzer, &nr);
	if (p->job->has_task)
		chosen_set_id(&p->tasks.chosen, p->job->task);
	else
		chosen_settle(&p->tasks.chosen, findings, nr);
}

/* What may be written of polls, when all else has its share. rest: what comes behind them. */
static uint64_t poll_budget(const struct perfetto *p, uint64_t rest_bytes)
{
	uint64_t max = p->job->max_bytes, used = out_size(p->job->out) + rest_bytes;

	used += (max >> TASKS_SHIFT) + SLACK_BYTES;
	if (p->model && marks_are_in(p->model))
		used += max >> TASKS_SHIFT;
	return max > used ? max - used : 0;
}

/* A guess: of what comes behind the polls only the counters are known. */
static bool may_be_too_large(const struct perfetto *p)
{
	uint64_t max = p->job->max_bytes, budget = poll_budget(p, max >> COUNTERS_SHIFT);

	uint64_t event_bytes = MAX_EVENT_BYTES + p->trunks.longest * MAX_FUTURE_BYTES;

	return max && trace_get_nr_events(p->job->rec->trace) > budget / event_bytes;
}

static void put_rest(struct perfetto *p, struct strbuf *buf)
{
	uint64_t lost[EV_MAX], nr_lost = recording_get_lost(p->job->rec, p->model, lost);
	size_t nr;
	const struct finding *findings = analyzer_get_findings(p->analyzer, &nr);

	perfetto_put_counters(&p->counters, buf);
	perfetto_put_findings(buf, p->job->rec, findings, nr);
	if (nr_lost)
		perfetto_put_lost(buf, model_get_start(p->model), nr_lost);
}

static void measure(struct perfetto *p)
{
	struct strbuf scratch = STRBUF_INIT;
	struct slices dry = p->slices;

	dry.sizes = xcalloc(THIN_SIZES, sizeof(*dry.sizes));
	dry.buf = &scratch;
	dry.out = NULL;
	read_all(p, &dry);
	strbuf_reset(&scratch);
	put_rest(p, &scratch);
	p->slices.min_ns = thin_fit(dry.sizes, poll_budget(p, scratch.len));
	p->tasks.max_bytes = MAX(p->job->max_bytes >> TASKS_SHIFT, UINT64_C(1));
	p->marks.max_bytes = p->tasks.max_bytes;
	slices_release(&dry);
	free(dry.sizes);
	strbuf_release(&scratch);
}

static void draw(struct perfetto *p, bool with_polls)
{
	struct recording_sink sinks[3];
	size_t nr = 0;

	if (with_polls)
		sinks[nr++] = (struct recording_sink){ &slices_ops, &p->slices };
	if (p->tasks.chosen.v.nr)
		sinks[nr++] = (struct recording_sink){ &tracks_model_ops, &p->tasks.tracks };
	if (marks_are_in(p->model)) {
		perfetto_put_spans(p->marks.buf);
		sinks[nr++] = (struct recording_sink){ &perfetto_marks_ops, &p->marks };
	}
	if (nr)
		model_free(recording_read(p->job->rec, &p->job->view, sinks, nr));
	tracks_finish(&p->tasks.tracks);
}

/* text is freed. */
static void tell(const struct perfetto *p, char *text)
{
	p->job->note(p->job->note_arg, text);
	free(text);
}

static void tell_left_out(const struct perfetto *p)
{
	const struct slices *s = &p->slices;
	char left[FORMAT_SIZE], all[FORMAT_SIZE], span[FORMAT_SIZE], max[FORMAT_SIZE];

	if (p->job->max_bytes && out_size(p->job->out) > p->job->max_bytes)
		return; /* which is worse, and not for us to tell */
	format_bytes(p->job->max_bytes, max);
	format_grouped(s->nr_left_out, left);
	if (s->nr_left_out && s->nr_left_out == s->nr_runs)
		tell(p, xasprintf("all %s polls are left out: %s leave no room for them, see "
				  "--max-size",
				  left, max));
	else if (s->nr_left_out)
		tell(p, xasprintf("%s of %s polls, all that took less than %s, are left out to "
				  "stay below %s; counters and findings are of all. --time-range "
				  "shows a part whole, --max-size sets the limit",
				  left, format_grouped(s->nr_runs, all),
				  format_span(s->min_ns, span), max));
	if (p->marks.nr_left_out)
		tell(p, xasprintf("%s of %s marks and spans are left out to stay below %s",
				  format_grouped(p->marks.nr_left_out, left),
				  format_grouped(p->marks.nr, all), max));
	if (p->tasks.tracks.is_full)
		tell(p, xasprintf("the tracks of tasks are cut short to stay below %s", max));
}

static void finish(struct perfetto *p)
{
	slices_finish(&p->slices);
	put_rest(p, &p->job->out->buf);
	tell_left_out(p);
	if (p->job->has_task && !p->tasks.tracks.v.nr)
		p->job->note(p->job->note_arg, "no task has that id: no track was drawn for it");
}

static int run(struct export_job *job, struct err *e)
{
	struct perfetto p = { 0 };

	init(&p, job);
	perfetto_put_defs(&job->out->buf, job->rec, &p.trunks);
	if (may_be_too_large(&p)) {
		measure(&p);
		draw(&p, true);
	} else {
		read_all(&p, &p.slices);
		draw(&p, false);
	}
	finish(&p);
	release(&p);
	return 0;
}

const struct exporter exporter_perfetto = {
	.name = "perfetto",
	.summary = "a timeline for ui.perfetto.dev: polls, wakes, counters, findings",
	.suffix = "pftrace",
	.has_tracks = true,
	.nr_tracks = 20,
	.max_bytes = UINT64_C(512) << 20,
	.run = run,
};

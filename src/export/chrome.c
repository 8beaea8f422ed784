// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The JSON of chrome://tracing, which every older viewer opens: polls (chrome_polls.c), counters,
 * findings as instants, what the program says of itself (chrome_marks.c); and tracks of tasks on
 * request (chrome_tasks.c). It is large and slow to load: perfetto is the better one.
 */
#include <inttypes.h>

#include "base/format.h"
#include "base/json.h"
#include "export/chrome.h"
#include "export/counters.h"
#include "export/exporters.h"
#include "export/marks.h"
#include "export/safe_names.h"
#include "export/thin.h"

/* Viewers give up on more than that. */
#define CHROME_WARN_BYTES (UINT64_C(200) << 20)
/* For what closes the file. */
#define TAIL_BYTES 1024
/* Of a wanted size counters may take a quarter; a value of one takes at most so much. */
#define COUNTERS_SHIFT 2
#define VALUE_BYTES    112

struct state {
	const struct recording *rec;
	const struct export_job *job;
	struct out *out;
	struct names groups;  /* as JSON strings */
	struct trunks trunks; /* names as JSON strings */
	struct chrome_polls polls;
	struct chrome_tasks tasks;
	struct counters counters;
	struct analyzer *analyzer;
};

static void put_name(const struct state *s, const char *what, uint32_t tid, const char *name)
{
	struct strbuf *b = &s->out->buf;

	strbuf_addf(b, "\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":",
		    what, s->rec->meta->pid, tid);
	chrome_quote(b, name);
	strbuf_addstr(b, "}}");
}

static void put_names(const struct state *s)
{
	strbuf_addstr(&s->out->buf, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	put_name(s, "process_name", s->rec->meta->pid, s->rec->meta->exe);
	for (uint32_t i = 0; i < s->rec->nr_threads; i++) {
		if (!s->rec->threads[i].name[0])
			continue;
		strbuf_addch(&s->out->buf, ',');
		put_name(s, "thread_name", s->rec->threads[i].tid, s->rec->threads[i].name);
		out_spill(s->out);
	}
}

static void put_counter(struct state *s, enum counter which)
{
	struct load *l = s->counters.loads[which];
	struct strbuf *b = &s->out->buf;
	double last = -1;
	const char *unit, *name = counter_name(which, &unit);

	for (uint32_t bin = 0; bin < load_get_nr_bins(l); bin++) {
		double value = counters_get(&s->counters, which, bin);

		if (value == last)
			continue;
		strbuf_addf(b, ",\n{\"ph\":\"C\",\"name\":\"%s\"", name);
		chrome_put_place(b, s->rec, MODEL_NO_THREAD, load_get_bin_start(l, bin));
		strbuf_addf(b, ",\"args\":{\"%s\":%.6g}}", unit, value);
		last = value;
	}
}

static void put_finding(const struct state *s, const struct finding *f)
{
	struct strbuf *b = &s->out->buf;

	strbuf_addf(b, ",\n{\"ph\":\"i\",\"cat\":\"finding\",\"name\":\"%s: %s\",\"s\":\"%c\"",
		    severity_name(f->severity), f->analysis->name,
		    f->thread == MODEL_NO_THREAD ? 'p' : 't');
	chrome_put_place(b, s->rec, f->thread, f->time_ns);
	strbuf_addstr(b, ",\"args\":{\"what\":");
	chrome_quote(b, f->what ? f->what : "");
	strbuf_addstr(b, ",\"advice\":");
	chrome_quote(b, f->advice ? f->advice : "");
	if (f->type != EVENT_TYPE_NONE) {
		strbuf_addstr(b, ",\"type\":");
		strbuf_addstr(b, names_get(&s->groups, recording_group_of(s->rec, f->type)));
	}
	if (f->has_task)
		put_number(b, ",\"task\":", f->task.id);
	strbuf_addstr(b, "}}");
}

/* One pass over everything, with the polls going where s says. The model is the caller's. */
static struct model *read_all(struct state *s)
{
	VEC(struct recording_sink) sinks = { 0 };
	size_t nr;
	const struct recording_sink *theirs = analyzer_get_sinks(s->analyzer, &nr);
	struct model *m;

	for (size_t i = 0; i < nr; i++)
		vec_push(&sinks, theirs[i]);
	vec_push(&sinks, (struct recording_sink){ &chrome_polls_ops, &s->polls });
	vec_push(&sinks, (struct recording_sink){ &counters_ops, &s->counters });
	if (s->tasks.chosen.nr_wanted)
		vec_push(&sinks, (struct recording_sink){ &chosen_ops, &s->tasks.chosen });
	m = recording_read(s->job->rec, &s->job->view, sinks.v, sinks.nr);
	vec_release(&sinks);
	analyzer_finish(s->analyzer, m);
	return m;
}

/* After read_all: another pass. */
static void put_tasks(struct state *s)
{
	size_t nr;
	const struct finding *findings = analyzer_get_findings(s->analyzer, &nr);

	if (s->job->has_task)
		chosen_set_id(&s->tasks.chosen, s->job->task);
	else
		chosen_settle(&s->tasks.chosen, findings, nr);
	if (!s->tasks.chosen.v.nr)
		return;
	strbuf_addf(&s->out->buf,
		    ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRIu64
		    ",\"tid\":0,\"args\":{\"name\":\"tasks\"}}",
		    CHROME_TASKS_PID + s->rec->meta->pid);
	model_free(recording_read(s->job->rec, &s->job->view,
				  &(struct recording_sink){ &tracks_model_ops, &s->tasks.tracks },
				  1));
	tracks_finish(&s->tasks.tracks);
	if (s->job->has_task && !s->tasks.tracks.v.nr)
		s->job->note(s->job->note_arg, "no task has that id: no track was drawn for it");
}

/* After read_all, which has read m: another pass, if there are any. */
static void put_marks(struct state *s, const struct model *m)
{
	struct chrome_marks marks = { .rec = s->rec, .out = s->out };

	if (marks_are_in(m))
		model_free(recording_read(s->job->rec, &s->job->view,
					  &(struct recording_sink){ &chrome_marks_ops, &marks },
					  1));
}

/* After read_all. */
static void put_sums(struct state *s, const struct model *m)
{
	size_t nr;
	const struct finding *findings = analyzer_get_findings(s->analyzer, &nr);

	for (unsigned i = 0; i < NR_COUNTERS; i++)
		put_counter(s, i);
	for (size_t i = 0; i < nr; i++)
		put_finding(s, &findings[i]);
	out_spill(s->out);
	put_tasks(s);
	put_marks(s, m);
}

/* The polls that fit, beside all that has to be there. */
static struct model *read_what_fits(struct state *s)
{
	uint64_t used, max = s->job->max_bytes;
	struct model *m;

	s->polls.sizes = xcalloc(THIN_SIZES, sizeof(*s->polls.sizes));
	m = read_all(s);
	put_sums(s, m);
	used = out_size(s->out) + TAIL_BYTES;
	s->polls.min_ns = thin_fit(s->polls.sizes, max > used ? max - used : 0);
	free(s->polls.sizes);
	s->polls.sizes = NULL;
	s->polls.nr_runs = s->polls.nr_flows = s->polls.nr_torn = 0;
	model_free(recording_read(s->job->rec, &s->job->view,
				  &(struct recording_sink){ &chrome_polls_ops, &s->polls }, 1));
	return m;
}

/* What runtime_id means. */
static void put_runtimes(const struct state *s, struct json *j)
{
	json_open_array(j, "runtimes");
	for (uint32_t i = 0; i < s->rec->nr_runtimes; i++) {
		char *name = recording_runtime_name(s->rec, i);

		json_str(j, NULL, name);
		free(name);
	}
	json_close_array(j);
}

static void put_end(struct state *s, const struct model *m)
{
	uint64_t lost[EV_MAX];
	struct json j;

	chrome_polls_finish(&s->polls);
	strbuf_addstr(&s->out->buf, "\n],\n\"otherData\":");
	json_init(&j, &s->out->buf);
	json_open_object(&j, NULL);
	json_str(&j, "tool", "futrace " FUTRACE_VERSION);
	json_uint(&j, "start_ns", model_get_start(m));
	json_uint(&j, "duration_ns", model_get_duration(m));
	json_uint(&j, "events", model_get_totals(m)->nr_events);
	json_uint(&j, "lost", recording_get_lost(s->rec, m, lost));
	json_uint(&j, "polls_left_out", s->polls.nr_left_out);
	put_runtimes(s, &j);
	json_close_object(&j);
	strbuf_addstr(&s->out->buf, "}\n");
}

static void say_size(const struct state *s)
{
	char left[FORMAT_SIZE], all[FORMAT_SIZE], span[FORMAT_SIZE], size[FORMAT_SIZE];
	char *text = NULL;

	if (s->job->max_bytes && out_size(s->out) > s->job->max_bytes)
		return; /* which is worse, and not for us to tell */
	if (s->polls.nr_left_out)
		text = xasprintf("%s of %s polls, all that took less than %s, are left out to stay "
				 "below %s; counters and findings are of all",
				 format_grouped(s->polls.nr_left_out, left),
				 format_grouped(s->polls.nr_runs, all),
				 format_span(s->polls.min_ns, span),
				 format_bytes(s->job->max_bytes, size));
	else if (out_size(s->out) > CHROME_WARN_BYTES)
		text = xasprintf("%s of JSON: few viewers open that; use --format=perfetto, "
				 "--time-range or --max-size",
				 format_bytes(out_size(s->out), size));
	if (text)
		s->job->note(s->job->note_arg, text);
	free(text);
}

static void init_tasks(struct state *s, uint64_t span_ns)
{
	s->tasks.out = s->out;
	s->tasks.chosen.nr_wanted = s->job->nr_tracks;
	s->tasks.tracks = (struct tracks){ .rec = s->rec,
					   .chosen = &s->tasks.chosen,
					   .trunks = &s->trunks,
					   .ops = &chrome_tracks_ops,
					   .arg = &s->tasks,
					   .span_ns = span_ns };
}

static void release(struct state *s)
{
	chrome_polls_release(&s->polls);
	tracks_release(&s->tasks.tracks);
	chosen_release(&s->tasks.chosen);
	vec_release(&s->tasks.nrs);
	trunks_release(&s->trunks);
	analyzer_free(s->analyzer);
	counters_release(&s->counters);
	names_release(&s->groups);
}

static int run(struct export_job *job, struct err *e)
{
	struct state s = { .rec = job->rec, .job = job, .out = job->out };
	uint64_t end_ns = trace_get_duration(job->rec->trace), to_ns = job->view.to_ns;
	struct model *m;

	end_ns = to_ns ? MIN(to_ns, end_ns) : end_ns;
	trunks_init(&s.trunks, job, chrome_quote);
	s.polls = (struct chrome_polls){ .rec = job->rec,
					 .out = job->out,
					 .groups = &s.groups,
					 .trunks = &s.trunks,
					 .nested.trunks = &s.trunks,
					 .from_ns = job->view.from_ns,
					 .scratch = STRBUF_INIT };
	init_tasks(&s, end_ns - job->view.from_ns);
	names_of_groups(&s.groups, job->rec, chrome_quote);
	counters_init(&s.counters, job->view.from_ns, end_ns, job->max_bytes, COUNTERS_SHIFT,
		      VALUE_BYTES);
	s.analyzer = analyzer_new(job->rec, job->config);
	put_names(&s);
	if (job->max_bytes) {
		m = read_what_fits(&s);
	} else {
		m = read_all(&s);
		put_sums(&s, m);
	}
	put_end(&s, m);
	say_size(&s);
	model_free(m);
	release(&s);
	return 0;
}

const struct exporter exporter_chrome = {
	.name = "chrome",
	.summary = "JSON for chrome://tracing and its relatives",
	.suffix = "trace.json",
	.has_tracks = true,
	.run = run,
};

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The JSON of chrome://tracing, which every older viewer opens: polls as complete events ("X") on
 * their threads, sleeps and futures inside them, arrows from the poll that woke or spawned a task
 * to the poll that followed, counters, findings as instants; and tracks of tasks on request. It is
 * large and slow to load: perfetto is the better one.
 *
 * Viewers sort by time and keep the order of the file among equals, and what comes first is then
 * the outer one. The model tells inner ones first; so what begins together with what is around it
 * is *held* until that one is written. Torn runs do not nest with others of their thread: they are
 * written as asynchronous events, which need not.
 */
#include <inttypes.h>

#include "base/format.h"
#include "base/json.h"
#include "export/chrome.h"
#include "export/counters.h"
#include "export/exporters.h"
#include "export/marks.h"
#include "export/names.h"
#include "export/nested.h"
#include "export/thin.h"

/* Viewers give up on more than that. */
#define CHROME_WARN_BYTES (UINT64_C(200) << 20)
/* For what closes the file. */
#define TAIL_BYTES 1024
/* Of a wanted size counters may take a quarter; a value of one takes at most so much. */
#define COUNTERS_SHIFT 2
#define VALUE_BYTES    112

struct held {
	uint32_t thread;
	uint64_t start_ns;
	char *text;
};

struct state {
	const struct recording *rec;
	const struct export_job *job;
	struct out *out;
	struct names groups;  /* as JSON strings */
	struct trunks trunks; /* names as JSON strings */
	struct nested nested;
	struct chrome_tasks tasks;
	struct counters counters;
	struct analyzer *analyzer;
	uint64_t *sizes; /* while measuring what polls take, else NULL */
	struct strbuf scratch;
	uint64_t min_ns; /* shorter ones are left out */
	uint64_t nr_runs, nr_left_out, nr_flows, nr_torn;
	VEC(struct held) held;
};

/* What is of no thread is of the main one. */
static void put_place(const struct state *s, struct strbuf *b, uint32_t thread, uint64_t time_ns)
{
	uint32_t tid = recording_thread_tid(s->rec, thread);

	put_number(b, ",\"pid\":", s->rec->meta->pid);
	put_number(b, ",\"tid\":", tid ? tid : s->rec->meta->pid);
	put_time(b, ",\"ts\":", time_ns);
}

static void put_flow(struct state *s, struct strbuf *b, const char *kind, uint32_t from,
		     uint64_t from_ns, const struct model_run *to)
{
	uint64_t id = ++s->nr_flows;

	strbuf_addf(b, ",\n{\"ph\":\"s\",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%" PRIu64, kind,
		    kind, id);
	put_place(s, b, from, from_ns);
	strbuf_addf(b,
		    "},\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%" PRIu64,
		    kind, kind, id);
	put_place(s, b, to->thread, to->start_ns);
	strbuf_addch(b, '}');
}

/* An arrow needs a slice at both ends: what woke outside of polls has none. */
static void put_arrow(struct state *s, struct strbuf *b, const struct model_run *run)
{
	const struct model_task *t = run->task;
	const struct model_waker *w = run->waker;

	/* where runs overlapped, the latest wake may be one that came later */
	if (w && w->has_key && w->thread != MODEL_NO_THREAD && w->cause != MODEL_BY_SELF &&
	    w->time_ns >= s->job->view.from_ns && w->time_ns <= run->start_ns)
		put_flow(s, b, "wake", w->thread, w->time_ns, run);
	if (run->is_first && t->spawn_exact && t->has_parent && t->spawn_thread != MODEL_NO_THREAD)
		put_flow(s, b, "spawn", t->spawn_thread, t->spawn_ns, run);
}

static void put_args(const struct state *s, struct strbuf *b, const struct model_run *run)
{
	const struct model_key *key = &run->task->key;

	put_number(b, ",\"args\":{\"task\":", key->id);
	if (s->rec->nr_runtimes > 1 && key->runtime != MODEL_NO_RUNTIME)
		put_number(b, ",\"runtime_id\":", key->runtime);
	if (run->is_gap_known) {
		put_number(b, ",\"sched_ns\":", run->sched_ns);
		put_number(b, ",\"idle_ns\":", run->idle_ns);
	}
	if (run->blocked_ns)
		put_number(b, ",\"blocked_ns\":", run->blocked_ns);
	if (run->waker) {
		strbuf_addf(b, ",\"woken_by\":\"%s\"", model_cause_name(run->waker->cause));
		if (run->waker->has_key)
			put_number(b, ",\"waker\":", run->waker->key.id);
	}
	if (run->path != MODEL_NO_PATH) {
		strbuf_addstr(b, ",\"await\":");
		strbuf_addstr(b, names_get(&s->trunks.waits, run->path));
	}
	if (run->is_open)
		strbuf_addstr(b, ",\"recording_ended_first\":true");
	strbuf_addstr(b, "}}");
}

static void put_head(const struct state *s, struct strbuf *b, char phase,
		     const struct model_run *run)
{
	strbuf_addstr(b, ",\n{\"ph\":\"");
	strbuf_addch(b, phase);
	strbuf_addstr(b, run->flags ? "\",\"cat\":\"drop\",\"name\":"
				    : "\",\"cat\":\"poll\",\"name\":");
	strbuf_addstr(b, names_get(&s->groups, recording_group_of(s->rec, run->task->key.type)));
}

/* Where and when a slice is, and whose: NULL: nobody's that is known. */
struct span {
	const struct model_task *task;
	uint32_t thread;
	uint64_t start_ns, end_ns;
};

/* A slice of a future; its args are to follow. */
static void put_future_head(const struct state *s, struct strbuf *b, const char *category,
			    uint32_t kind, const struct span *span)
{
	strbuf_addf(b, ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", category);
	strbuf_addstr(b, names_get(&s->trunks.futures, kind));
	put_place(s, b, span->thread, span->start_ns);
	put_time(b, ",\"dur\":", span->end_ns - span->start_ns);
	if (span->task)
		chrome_put_colour(b, span->task->nr);
	strbuf_addstr(b, ",\"args\":{");
}

/* Outer ones first: they begin and end together. */
static void put_inner(const struct state *s, struct strbuf *b, struct trunk inner,
		      const struct span *span)
{
	for (uint32_t i = 0; i < inner.nr; i++) {
		put_future_head(s, b, "future", s->rec->awaits.future_of[inner.steps[i]], span);
		chrome_put_await(b, &s->rec->steps[inner.steps[i]]);
		strbuf_addstr(b, "}}");
	}
}

static void put_future(const struct state *s, struct strbuf *b, const struct model_future *f,
		       struct trunk inner)
{
	const struct span span = { f->task, f->thread, f->start_ns, f->end_ns };

	put_future_head(s, b, "future_poll", s->trunks.kinds.of_future[f->future], &span);
	put_number(b, "\"self_ns\":", f->self_ns);
	if (f->flags)
		strbuf_addf(b, ",\"result\":\"%s\"", model_result_name(f->flags));
	if (f->is_open)
		strbuf_addstr(b, ",\"recording_ended_first\":true");
	strbuf_addstr(b, "}}");
	put_inner(s, b, inner, &span);
}

static void put_run(struct state *s, struct strbuf *b, const struct model_run *run,
		    struct trunk inner)
{
	put_head(s, b, 'X', run);
	put_place(s, b, run->thread, run->start_ns);
	put_time(b, ",\"dur\":", run->end_ns - run->start_ns);
	chrome_put_colour(b, run->task->nr);
	put_args(s, b, run);
	put_inner(s, b, inner,
		  &(struct span){ run->task, run->thread, run->start_ns, run->end_ns });
	put_arrow(s, b, run);
}

static void put_torn(struct state *s, struct strbuf *b, const struct model_run *run)
{
	put_head(s, b, 'b', run);
	strbuf_addf(b, ",\"id\":\"torn%" PRIu64 "\"", ++s->nr_torn);
	put_place(s, b, run->thread, run->start_ns);
	put_args(s, b, run);
	put_head(s, b, 'e', run);
	strbuf_addf(b, ",\"id\":\"torn%" PRIu64 "\"", s->nr_torn);
	put_place(s, b, run->thread, run->end_ns);
	strbuf_addch(b, '}');
}

static struct strbuf *begin(struct state *s, bool is_held)
{
	return s->sizes || is_held ? &s->scratch : &s->out->buf;
}

/* What was held back because it began together with that run; inner ones were held first. */
static void let_go(struct state *s, uint32_t thread, uint64_t start_ns)
{
	size_t kept = 0;

	for (size_t i = s->held.nr; i-- > 0;)
		if (s->held.v[i].thread == thread && s->held.v[i].start_ns == start_ns) {
			strbuf_addstr(&s->out->buf, s->held.v[i].text);
			free(s->held.v[i].text);
			s->held.v[i].text = NULL;
		}
	vec_each (h, &s->held)
		if (h->text)
			s->held.v[kept++] = *h;
	s->held.nr = kept;
}

/* ns: how long what was written took. It nests with nothing. */
static void end_alone(struct state *s, uint64_t ns)
{
	if (s->sizes) {
		thin_add(s->sizes, ns, s->scratch.len);
		strbuf_reset(&s->scratch);
	} else {
		out_spill(s->out);
	}
}

static void end(struct state *s, bool is_held, uint32_t thread, uint64_t start_ns, uint64_t ns)
{
	if (!s->sizes && is_held) {
		vec_push(&s->held, (struct held){ thread, start_ns, strbuf_take(&s->scratch) });
		return;
	}
	if (unlikely(s->held.nr))
		let_go(s, thread, start_ns);
	end_alone(s, ns);
}

/* Is it too short? */
static bool leave_out(struct state *s, uint64_t ns)
{
	s->nr_runs++;
	s->nr_left_out += ns < s->min_ns;
	return ns < s->min_ns;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	uint64_t ns = run->end_ns - run->start_ns;
	bool is_held = run->around_ns == run->start_ns && !run->is_torn;
	struct strbuf *b = begin(s, is_held);
	struct trunk inner = nested_in_run(&s->nested, run);

	if (leave_out(s, ns))
		return;
	if (unlikely(run->is_torn)) {
		put_torn(s, b, run);
		end_alone(s, ns);
		return;
	}
	put_run(s, b, run, inner);
	end(s, is_held, run->thread, run->start_ns, ns);
}

static void on_future(void *sink, const struct model_future *f)
{
	struct state *s = sink;
	uint64_t ns = f->end_ns - f->start_ns;
	bool is_held = f->around_ns == f->start_ns;
	struct strbuf *b = begin(s, is_held);
	struct trunk inner = nested_in_future(&s->nested, f);

	if (!trunks_show(&s->trunks, f->future) || leave_out(s, ns))
		return;
	put_future(s, b, f, inner);
	end(s, is_held, f->thread, f->start_ns, ns);
}

/* Only those that somebody's poll has to answer for. They are told before the run around them. */
static void on_sleep(void *sink, const struct model_sleep *sleep)
{
	struct state *s = sink;
	uint64_t ns = sleep->end_ns - sleep->start_ns;
	bool is_held = sleep->start_ns == sleep->around_ns;
	struct strbuf *b = begin(s, is_held);

	if (!sleep->task || !ns || ns < s->min_ns)
		return;
	strbuf_addf(b, ",\n{\"ph\":\"X\",\"cat\":\"sleep\",\"name\":\"asleep: %s\"",
		    model_sleep_name(sleep->flags));
	put_place(s, b, sleep->thread, sleep->start_ns);
	put_time(b, ",\"dur\":", ns);
	strbuf_addch(b, '}');
	end(s, is_held, sleep->thread, sleep->start_ns, ns);
}

static const struct model_ops ops = { .run = on_run, .sleep = on_sleep, .future = on_future };

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
		put_place(s, b, MODEL_NO_THREAD, load_get_bin_start(l, bin));
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
	put_place(s, b, f->thread, f->time_ns);
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
	vec_push(&sinks, (struct recording_sink){ &ops, s });
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

	s->sizes = xcalloc(THIN_SIZES, sizeof(*s->sizes));
	m = read_all(s);
	put_sums(s, m);
	used = out_size(s->out) + TAIL_BYTES;
	s->min_ns = thin_fit(s->sizes, max > used ? max - used : 0);
	free(s->sizes);
	s->sizes = NULL;
	s->nr_runs = s->nr_flows = s->nr_torn = 0;
	model_free(
		recording_read(s->job->rec, &s->job->view, &(struct recording_sink){ &ops, s }, 1));
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

	/* those whose outer run turned out to be none */
	while (s->held.nr)
		let_go(s, s->held.v[0].thread, s->held.v[0].start_ns);
	strbuf_addstr(&s->out->buf, "\n],\n\"otherData\":");
	json_init(&j, &s->out->buf);
	json_open_object(&j, NULL);
	json_str(&j, "tool", "futrace " FUTRACE_VERSION);
	json_uint(&j, "start_ns", model_get_start(m));
	json_uint(&j, "duration_ns", model_get_duration(m));
	json_uint(&j, "events", model_get_totals(m)->nr_events);
	json_uint(&j, "lost", recording_get_lost(s->rec, m, lost));
	json_uint(&j, "polls_left_out", s->nr_left_out);
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
	if (s->nr_left_out)
		text = xasprintf("%s of %s polls, all that took less than %s, are left out to stay "
				 "below %s; counters and findings are of all",
				 format_grouped(s->nr_left_out, left),
				 format_grouped(s->nr_runs, all), format_span(s->min_ns, span),
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
	nested_release(&s->nested);
	tracks_release(&s->tasks.tracks);
	chosen_release(&s->tasks.chosen);
	vec_release(&s->tasks.nrs);
	trunks_release(&s->trunks);
	analyzer_free(s->analyzer);
	counters_release(&s->counters);
	names_release(&s->groups);
	strbuf_release(&s->scratch);
	vec_release(&s->held);
}

static int run(struct export_job *job, struct err *e)
{
	struct state s = { .rec = job->rec, .job = job, .out = job->out, .scratch = STRBUF_INIT };
	uint64_t end_ns = trace_get_duration(job->rec->trace), to_ns = job->view.to_ns;
	struct model *m;

	end_ns = to_ns ? MIN(to_ns, end_ns) : end_ns;
	trunks_init(&s.trunks, job, chrome_quote);
	s.nested.trunks = &s.trunks;
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

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The JSON of chrome://tracing, which every older viewer opens: polls as complete events ("X") on
 * their threads, sleeps inside them, arrows from the poll that woke or spawned a task to the poll
 * that followed, findings as instants. It is large and slow to load: perfetto is the better one.
 */
#include <inttypes.h>

#include "base/json.h"
#include "export/exporters.h"
#include "export/names.h"

/* Viewers give up on more than that. */
#define CHROME_WARN_BYTES (UINT64_C(200) << 20)

struct state {
	const struct recording *rec;
	const struct export_job *job;
	struct out *out;
	struct names types; /* as JSON strings */
	uint64_t nr_flows, nr_left_out;
};

static void quote(struct strbuf *out, const char *name)
{
	struct json j;

	json_init(&j, out);
	json_str(&j, NULL, name);
}

/* Microseconds, the format's unit, with three decimals: exact. */
static void put_time(struct strbuf *b, const char *key, uint64_t ns)
{
	strbuf_addstr(b, key);
	strbuf_adduint(b, ns / 1000);
	strbuf_addch(b, '.');
	strbuf_addch(b, '0' + ns / 100 % 10);
	strbuf_addch(b, '0' + ns / 10 % 10);
	strbuf_addch(b, '0' + ns % 10);
}

static void put_place(struct state *s, uint32_t thread, uint64_t time_ns)
{
	struct strbuf *b = &s->out->buf;

	strbuf_addstr(b, ",\"pid\":");
	strbuf_adduint(b, s->rec->meta->pid);
	strbuf_addstr(b, ",\"tid\":");
	strbuf_adduint(b, recording_thread_tid(s->rec, thread));
	put_time(b, ",\"ts\":", time_ns);
}

static bool is_full(struct state *s)
{
	out_spill(s->out);
	return s->job->max_bytes && out_size(s->out) >= s->job->max_bytes;
}

static void put_flow(struct state *s, const char *kind, uint32_t from, uint64_t from_ns,
		     const struct model_run *to)
{
	struct strbuf *b = &s->out->buf;
	uint64_t id = ++s->nr_flows;

	strbuf_addf(b, ",\n{\"ph\":\"s\",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%" PRIu64, kind,
		    kind, id);
	put_place(s, from, from_ns);
	strbuf_addf(b,
		    "},\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%" PRIu64,
		    kind, kind, id);
	put_place(s, to->thread, to->start_ns);
	strbuf_addch(b, '}');
}

/* An arrow needs a slice at both ends: what woke outside of polls has none. */
static void put_arrow(struct state *s, const struct model_run *run)
{
	const struct model_waker *w = run->waker;
	uint64_t ready_ns = run->start_ns - run->sched_ns;

	if (!run->is_gap_known)
		return;
	if (w && w->has_key && w->thread != MODEL_NO_THREAD && w->cause != MODEL_BY_SELF)
		put_flow(s, "wake", w->thread, ready_ns, run);
	else if (!w && run->is_first && run->task->spawn_exact && run->task->has_parent)
		put_flow(s, "spawn", run->task->spawn_thread, run->task->spawn_ns, run);
}

static void put_number(struct strbuf *b, const char *key, uint64_t value)
{
	strbuf_addstr(b, key);
	strbuf_adduint(b, value);
}

static void on_run(void *sink, const struct model_run *run)
{
	struct state *s = sink;
	struct strbuf *b = &s->out->buf;

	if (is_full(s)) {
		s->nr_left_out++;
		return;
	}
	strbuf_addstr(b, ",\n{\"ph\":\"X\",\"cat\":");
	strbuf_addstr(b, run->flags ? "\"drop\"" : "\"poll\"");
	strbuf_addstr(b, ",\"name\":");
	strbuf_addstr(b, names_get(&s->types, run->task->key.type));
	put_place(s, run->thread, run->start_ns);
	put_time(b, ",\"dur\":", run->end_ns - run->start_ns);
	put_number(b, ",\"args\":{\"task\":", run->task->key.id);
	if (run->is_gap_known) {
		put_number(b, ",\"sched_ns\":", run->sched_ns);
		put_number(b, ",\"idle_ns\":", run->idle_ns);
	}
	if (run->waker) {
		strbuf_addf(b, ",\"woken_by\":\"%s\"", model_cause_name(run->waker->cause));
		if (run->waker->has_key)
			put_number(b, ",\"waker\":", run->waker->key.id);
	}
	strbuf_addstr(b, "}}");
	put_arrow(s, run);
}

static void on_sleep(void *sink, const struct model_sleep *sleep)
{
	struct state *s = sink;

	if (!sleep->task || is_full(s))
		return;
	strbuf_addf(&s->out->buf, ",\n{\"ph\":\"X\",\"cat\":\"sleep\",\"name\":\"asleep: %s\"",
		    model_sleep_name(sleep->flags));
	put_place(s, sleep->thread, sleep->start_ns);
	put_time(&s->out->buf, ",\"dur\":", sleep->end_ns - sleep->start_ns);
	strbuf_addch(&s->out->buf, '}');
}

static const struct model_ops ops = { .run = on_run, .sleep = on_sleep };

static void put_name(struct state *s, const char *what, uint32_t tid, const char *name)
{
	struct strbuf *b = &s->out->buf;

	strbuf_addf(b,
		    "%s\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":",
		    tid == s->rec->meta->pid && what[0] == 'p' ? "" : ",", what, s->rec->meta->pid,
		    tid);
	quote(b, name);
	strbuf_addstr(b, "}}");
}

static void put_finding(struct state *s, const struct finding *f)
{
	struct strbuf *b = &s->out->buf;
	char *name = xasprintf("%s: %s", severity_name(f->severity), f->analysis->name);

	strbuf_addstr(b, ",\n{\"ph\":\"i\",\"cat\":\"finding\",\"name\":");
	quote(b, name);
	strbuf_addstr(b, f->thread == MODEL_NO_THREAD ? ",\"s\":\"p\"" : ",\"s\":\"t\"");
	put_place(s, f->thread, f->time_ns);
	strbuf_addstr(b, ",\"args\":{\"type\":");
	strbuf_addstr(b, names_get(&s->types, f->type));
	strbuf_addstr(b, ",\"what\":");
	quote(b, f->what ? f->what : "");
	strbuf_addstr(b, ",\"advice\":");
	quote(b, f->advice ? f->advice : "");
	strbuf_addstr(b, "}}");
	free(name);
}

static void say_size(struct state *s)
{
	char *text = NULL;

	if (s->nr_left_out)
		text = xasprintf("%" PRIu64 " later polls were left out: the file has its size "
				 "(--max-size)",
				 s->nr_left_out);
	else if (out_size(s->out) > CHROME_WARN_BYTES)
		text = xasprintf("%" PRIu64 " MB of JSON: few viewers open that; use "
				 "--format=perfetto, --time-range or --max-size",
				 out_size(s->out) >> 20);
	if (text)
		s->job->note(s->job->note_arg, text);
	free(text);
}

static int run(struct export_job *job, struct err *e)
{
	struct state s = { .rec = job->rec, .job = job, .out = job->out };
	struct analyzer *a = analyzer_new(job->rec, job->config);
	const struct finding *findings;
	size_t nr_findings;
	struct model *m;

	names_of_types(&s.types, job->rec, quote);
	strbuf_addstr(&job->out->buf, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	put_name(&s, "process_name", job->rec->meta->pid, job->rec->meta->exe);
	for (uint32_t i = 0; i < job->rec->nr_threads; i++)
		put_name(&s, "thread_name", job->rec->threads[i].tid, job->rec->threads[i].name);
	m = export_read(job, a, &ops, &s);
	findings = analyzer_get_findings(a, &nr_findings);
	for (size_t i = 0; i < nr_findings; i++)
		put_finding(&s, &findings[i]);
	strbuf_addstr(&job->out->buf, "\n]}\n");
	say_size(&s);
	model_free(m);
	analyzer_free(a);
	names_release(&s.types);
	return 0;
}

const struct exporter exporter_chrome = {
	.name = "chrome",
	.summary = "JSON for chrome://tracing and its relatives",
	.suffix = "trace.json",
	.run = run,
};

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A line of JSON for each spawn, poll, wake, task and thread, as they become certain, and for each
 * finding: for jq, ClickHouse, Loki. The keys are those of `report --json`, and "kind" comes first.
 * Where tasks waited is told by the number of a path, whose line comes before.
 * The first line says what the recording is of, the last one how much there was: a file without it
 * is not whole.
 */
#include "base/json.h"
#include "export/exporters.h"
#include "export/json_parts.h"
#include "export/marks.h"

#define NDJSON_SCHEMA_VERSION 1

struct state {
	const struct recording *rec;
	struct out *out;
	struct json json;
	uint64_t nr_lines;
};

static struct json *begin(struct state *s, const char *kind, uint64_t time_ns)
{
	json_init(&s->json, &s->out->buf);
	json_open_object(&s->json, NULL);
	json_str(&s->json, "kind", kind);
	json_uint(&s->json, "time_ns", time_ns);
	return &s->json;
}

static void end(struct state *s)
{
	json_close_object(&s->json);
	strbuf_addch(&s->out->buf, '\n');
	out_spill(s->out);
	s->nr_lines++;
}

static void put_type(const struct state *s, struct json *j, uint16_t type)
{
	char buf[32];

	json_str(j, "type", recording_type_name(s->rec, type, buf));
	if (type < s->rec->nr_types)
		json_uint(j, "type_id", type);
}

static void put_task(const struct state *s, struct json *j, const struct model_key *key)
{
	json_uint(j, "task", key->id);
	if (key->runtime != MODEL_NO_RUNTIME)
		json_uint(j, "runtime_id", key->runtime);
	put_type(s, j, key->type);
}

static void put_thread(const struct state *s, struct json *j, uint32_t thread)
{
	if (thread != MODEL_NO_THREAD)
		json_uint(j, "tid", recording_thread_tid(s->rec, thread));
}

static void put_waker(const struct state *s, struct json *j, const struct model_waker *w)
{
	json_str(j, "cause", model_cause_name(w->cause));
	if (!w->has_key)
		return;
	json_uint(j, "waker", w->key.id);
	if (w->key.runtime != MODEL_NO_RUNTIME)
		json_uint(j, "waker_runtime_id", w->key.runtime);
}

static void put_parent(struct json *j, const struct model_task *t)
{
	json_str(j, "spawn", t->spawn_exact ? "exact" : "first_seen");
	if (t->has_parent) {
		json_uint(j, "parent", t->parent.id);
		if (t->parent.runtime != MODEL_NO_RUNTIME)
			json_uint(j, "parent_runtime_id", t->parent.runtime);
	} else if (t->spawn_exact) {
		json_null(j, "parent");
	}
}

static void on_spawn(void *sink, const struct model_task *t)
{
	struct json *j = begin(sink, "spawn", t->spawn_ns);

	put_task(sink, j, &t->key);
	put_thread(sink, j, t->spawn_thread);
	json_str(j, "task_kind", model_kind_name(t->kind));
	put_parent(j, t);
	end(sink);
}

static void on_run(void *sink, const struct model_run *run)
{
	struct json *j = begin(sink, run->flags ? "drop" : "poll", run->start_ns);

	put_task(sink, j, &run->task->key);
	put_thread(sink, j, run->thread);
	json_uint(j, "busy_ns", run->end_ns - run->start_ns);
	json_uint(j, "blocked_ns", run->blocked_ns);
	if (run->is_gap_known) {
		json_uint(j, "sched_ns", run->sched_ns);
		json_uint(j, "idle_ns", run->idle_ns);
	}
	if (run->waker)
		put_waker(sink, j, run->waker);
	if (run->path != MODEL_NO_PATH)
		json_uint(j, "path", run->path);
	if (run->is_open)
		json_bool(j, "open", true);
	end(sink);
}

static void on_wake(void *sink, const struct model_wake *wake)
{
	struct json *j = begin(sink, "wake", wake->time_ns);

	put_task(sink, j, &wake->task->key);
	put_thread(sink, j, wake->waker->thread);
	put_waker(sink, j, wake->waker);
	end(sink);
}

static void put_future(const struct state *s, struct json *j, uint32_t future)
{
	json_uint(j, "future_id", future);
	if (future < s->rec->nr_futures)
		json_str(j, "future", s->rec->futures[future].name);
}

static void on_future(void *sink, const struct model_future *f)
{
	struct json *j = begin(sink, "future_poll", f->start_ns);

	put_future(sink, j, f->future);
	if (f->task)
		put_task(sink, j, &f->task->key);
	put_thread(sink, j, f->thread);
	json_uint(j, "depth", f->depth);
	json_uint(j, "busy_ns", f->end_ns - f->start_ns);
	json_uint(j, "self_ns", f->self_ns);
	if (f->flags)
		json_str(j, "result", model_result_name(f->flags));
	if (f->is_open)
		json_bool(j, "open", true);
	end(sink);
}

static void on_mark(void *sink, const struct model_mark *m)
{
	struct state *s = sink;
	struct json *j = begin(s, "mark", m->time_ns);

	json_str(j, "name", mark_name(s->rec, m->name));
	json_uint(j, "id", m->id);
	if (m->task)
		put_task(s, j, &m->task->key);
	put_thread(s, j, m->thread);
	marks_put_fields(j, "fields", s->rec, m->fields, m->nr_fields);
	end(s);
}

static void on_span(void *sink, const struct model_span *span)
{
	struct state *s = sink;
	struct json *j = begin(s, "span", span->start_ns);

	json_str(j, "name", mark_name(s->rec, span->name));
	json_uint(j, "id", span->id);
	if (span->has_task)
		put_task(s, j, &span->task);
	put_thread(s, j, span->thread);
	json_uint(j, "end_tid", recording_thread_tid(s->rec, span->end_thread));
	json_uint(j, "lasted_ns", span->end_ns - span->start_ns);
	marks_put_fields(j, "fields", s->rec, span->fields, span->nr_fields);
	if (span->is_open)
		json_bool(j, "open", true);
	end(s);
}

static void put_sums(struct json *j, const struct model_task *t)
{
	json_uint(j, "polls", t->polls);
	json_states(j, t->ns);
	json_uint(j, "max_poll_ns", t->max_poll_ns);
	json_uint(j, "max_sched_ns", t->max_sched_ns);
	json_uint(j, "blocked_ns", t->blocked_ns);
	json_uint(j, "wakes", model_sum_wakes(t->wakes));
	json_uint(j, "self_wakes", t->wakes[MODEL_BY_SELF]);
}

static void on_task(void *sink, const struct model_task *t)
{
	struct json *j = begin(sink, "task", t->spawn_ns);

	put_task(sink, j, &t->key);
	json_str(j, "name", t->name);
	json_str(j, "task_kind", model_kind_name(t->kind));
	put_parent(j, t);
	json_str(j, "end", model_end_name(t->end));
	if (t->end == MODEL_ALIVE)
		json_null(j, "end_ns");
	else
		json_uint(j, "end_ns", t->end_ns);
	put_sums(j, t);
	if (t->last_path != MODEL_NO_PATH)
		json_uint(j, "path", t->last_path);
	end(sink);
}

static void on_thread(void *sink, const struct model_thread *t)
{
	struct state *s = sink;
	struct json *j = begin(s, "thread", 0);

	put_thread(s, j, t->thread);
	json_str(j, "name", recording_thread_name(s->rec, t->thread));
	json_str(j, "thread_kind", model_thread_kind_name(t->kind));
	if (t->runtime != MODEL_NO_RUNTIME)
		json_uint(j, "runtime_id", t->runtime);
	json_uint(j, "polls", t->polls);
	json_uint(j, "busy_ns", t->busy_ns);
	json_uint(j, "asleep_ns", t->asleep_ns);
	json_uint(j, "sleeps", t->sleeps);
	json_uint(j, "blocked_ns", t->blocked_ns);
	json_uint(j, "blocks", t->nr_blocks);
	end(s);
}

static const struct model_ops ops = {
	.spawn = on_spawn,
	.run = on_run,
	.wake = on_wake,
	.future = on_future,
	.mark = on_mark,
	.span = on_span,
	.task = on_task,
	.thread = on_thread,
};

static void put_finding(struct state *s, const struct finding *f)
{
	struct json *j = begin(s, "finding", f->time_ns);

	json_str(j, "rule", f->analysis->name);
	json_str(j, "severity", severity_name(f->severity));
	if (f->type != EVENT_TYPE_NONE)
		put_type(s, j, f->type);
	if (f->has_task)
		json_uint(j, "task", f->task.id);
	put_thread(s, j, f->thread);
	json_uint(j, "span_ns", f->span_ns);
	json_str(j, "what", f->what);
	json_str(j, "advice", f->advice);
	end(s);
}

static void put_recording(struct state *s)
{
	struct json *j = begin(s, "recording", 0);

	json_uint(j, "schema", NDJSON_SCHEMA_VERSION);
	json_str(j, "tool", "futrace " FUTRACE_VERSION);
	json_str(j, "exe", s->rec->meta->exe);
	json_uint(j, "pid", s->rec->meta->pid);
	end(s);
}

static void put_runtimes(struct state *s)
{
	for (uint32_t i = 0; i < s->rec->nr_runtimes; i++) {
		const struct recording_runtime *r = &s->rec->runtimes[i];
		struct json *j = begin(s, "runtime", 0);

		json_uint(j, "runtime_id", i);
		json_str(j, "name", r->name);
		if (r->version[0])
			json_str(j, "version", r->version);
		if (r->scheduler[0])
			json_str(j, "scheduler", r->scheduler);
		json_uint(j, "copy", r->copy);
		end(s);
	}
}

static void put_step(struct state *s, uint32_t number)
{
	const struct trace_step *step = &s->rec->steps[number];
	struct json *j = begin(s, "step", 0);

	json_uint(j, "step", number);
	if (step->outer != TRACE_NO_STEP)
		json_uint(j, "outer", step->outer);
	json_str(j, "state", step_state_name(step->state));
	json_bool(j, "generated", step->is_generated);
	json_str(j, "future", step->future);
	if (step->function[0])
		json_str(j, "function", step->function);
	if (step->file[0]) {
		json_str(j, "file", step->file);
		json_uint(j, "line", step->line);
	}
	if (step->last_line)
		json_uint(j, "last_line", step->last_line);
	if (step->leaf[0])
		json_str(j, "leaf", step->leaf);
	if (step->is_foreign)
		json_bool(j, "foreign", true);
	end(s);
}

/* Its innermost steps, and those that a person would look for its waits at. */
static void put_paths(struct state *s)
{
	const struct recording *rec = s->rec;
	struct path_seats seats;

	path_seats_init(&seats, &rec->awaits, rec->paths, rec->nr_paths);
	for (uint32_t i = 0; i < rec->nr_paths; i++) {
		struct json *j;

		if (!rec->paths[i].nr_steps)
			continue;
		j = begin(s, "path", 0);
		json_uint(j, "path", i);
		json_open_array(j, "steps");
		for (uint32_t k = 0; k < rec->paths[i].nr_steps; k++)
			json_uint(j, NULL, rec->paths[i].steps[k]);
		json_close_array(j);
		json_open_array(j, "waits_at");
		for (uint32_t k = seats.first[i]; k < seats.first[i + 1]; k++)
			json_uint(j, NULL, rec->awaits.points[seats.v[k]]);
		json_close_array(j);
		end(s);
	}
	path_seats_release(&seats);
}

static void put_futures(struct state *s)
{
	for (uint32_t i = 0; i < s->rec->nr_futures; i++) {
		const struct trace_future *f = &s->rec->futures[i];
		struct json *j = begin(s, "future", 0);

		put_future(s, j, i);
		if (f->function[0])
			json_str(j, "function", f->function);
		if (f->file[0]) {
			json_str(j, "file", f->file);
			json_uint(j, "line", f->line);
		}
		json_bool(j, "generated", f->is_generated);
		json_str(j, "seen", model_seen_name(f->seen));
		end(s);
	}
}

static void put_end(struct state *s, const struct model *m)
{
	uint64_t lost[EV_MAX];
	struct json *j = begin(s, "end", model_get_end(m));

	json_uint(j, "start_ns", model_get_start(m));
	json_uint(j, "duration_ns", model_get_duration(m));
	json_uint(j, "events", model_get_totals(m)->nr_events);
	json_uint(j, "lost", recording_get_lost(s->rec, m, lost));
	json_uint(j, "lines", s->nr_lines + 1);
	end(s);
}

static int run(struct export_job *job, struct err *e)
{
	struct state s = { .rec = job->rec, .out = job->out };
	struct analyzer *a = analyzer_new(job->rec, job->config);
	const struct finding *findings;
	struct model *m;
	size_t nr;

	put_recording(&s);
	put_runtimes(&s);
	for (uint32_t i = 0; i < job->rec->nr_steps; i++)
		put_step(&s, i);
	put_paths(&s);
	put_futures(&s);
	m = export_read(job, a, &ops, &s);
	findings = analyzer_get_findings(a, &nr);
	for (size_t i = 0; i < nr; i++)
		put_finding(&s, &findings[i]);
	put_end(&s, m);
	model_free(m);
	analyzer_free(a);
	return 0;
}

const struct exporter exporter_ndjson = {
	.name = "ndjson",
	.summary = "a line of JSON for each poll, wake, task, thread and finding",
	.suffix = "ndjson",
	.is_text = true,
	.is_whole = true,
	.run = run,
};

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A line of JSON for each poll, wake, task and thread, as they become certain: for jq, ClickHouse,
 * Loki. The keys are those of `report --json`, and "kind" comes first.
 */
#include "base/json.h"
#include "export/exporters.h"

struct state {
	const struct recording *rec;
	struct out *out;
	struct json json;
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
}

static void put_task(struct state *s, struct json *j, const struct model_task *t)
{
	char buf[32];

	json_uint(j, "task", t->key.id);
	if (t->key.runtime != MODEL_NO_RUNTIME)
		json_uint(j, "runtime_id", t->key.runtime);
	json_str(j, "type", recording_type_name(s->rec, t->key.type, buf));
}

static void put_thread(struct state *s, struct json *j, uint32_t thread)
{
	if (thread != MODEL_NO_THREAD)
		json_uint(j, "tid", recording_thread_tid(s->rec, thread));
}

static void on_run(void *sink, const struct model_run *run)
{
	struct json *j = begin(sink, run->flags ? "drop" : "poll", run->start_ns);

	put_task(sink, j, run->task);
	put_thread(sink, j, run->thread);
	json_uint(j, "busy_ns", run->end_ns - run->start_ns);
	json_uint(j, "blocked_ns", run->blocked_ns);
	if (run->is_gap_known) {
		json_uint(j, "sched_ns", run->sched_ns);
		json_uint(j, "idle_ns", run->idle_ns);
	}
	end(sink);
}

static void on_wake(void *sink, const struct model_wake *wake)
{
	struct json *j = begin(sink, "wake", wake->time_ns);

	put_task(sink, j, wake->task);
	put_thread(sink, j, wake->waker->thread);
	json_str(j, "cause", model_cause_name(wake->waker->cause));
	if (wake->waker->has_key)
		json_uint(j, "waker", wake->waker->key.id);
	end(sink);
}

static void on_task(void *sink, const struct model_task *t)
{
	struct json *j = begin(sink, "task", t->spawn_ns);

	put_task(sink, j, t);
	json_str(j, "task_kind", model_kind_name(t->kind));
	if (t->has_parent)
		json_uint(j, "parent", t->parent.id);
	json_str(j, "end", model_end_name(t->end));
	json_uint(j, "end_ns", t->end_ns);
	json_uint(j, "polls", t->polls);
	json_uint(j, "busy_ns", t->ns[MODEL_RUNNING]);
	json_uint(j, "sched_ns", t->ns[MODEL_SCHEDULED]);
	json_uint(j, "idle_ns", t->ns[MODEL_IDLE]);
	json_uint(j, "unknown_ns", t->ns[MODEL_UNKNOWN]);
	end(sink);
}

static const struct model_ops ops = { .run = on_run, .wake = on_wake, .task = on_task };

static int run(struct export_job *job, struct err *e)
{
	struct state s = { .rec = job->rec, .out = job->out };

	model_free(recording_read(job->rec, &job->view, &(struct recording_sink){ &ops, &s }, 1));
	return 0;
}

const struct exporter exporter_ndjson = {
	.name = "ndjson",
	.summary = "a line of JSON for each poll, wake and task",
	.suffix = "ndjson",
	.is_text = true,
	.is_whole = true,
	.run = run,
};

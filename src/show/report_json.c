// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The report as JSON. Tasks are written as they end and kept nowhere, so the sums follow behind
 * them. Names and meanings are a contract: see futrace-report(1).
 */
#include <string.h>

#include "base/json.h"
#include "export/json_parts.h"
#include "runtime/known.h"
#include "show/json_candidates.h"
#include "show/report.h"

struct json_sink {
	const struct report *r;
	struct out *out;
	struct json json;
	struct strbuf workers; /* told after the tasks, while the array of tasks is still open */
	struct json workers_json;
	uint8_t *is_type_used;
};

static void put_index(struct json *j, const char *key, uint32_t index, uint32_t nr)
{
	if (index < nr)
		json_uint(j, key, index);
	else
		json_null(j, key);
}

static void put_location(struct json *j, const struct trace_type *type)
{
	char *place;

	if (!type || !type->file[0]) {
		json_null(j, "location");
		return;
	}
	place = xasprintf("%s:%u", type->file, type->line);
	json_str(j, "location", place);
	free(place);
}

static void put_identity(const struct recording *rec, const struct model_task *t, struct json *j)
{
	const struct trace_type *type =
		t->key.type < rec->nr_types ? &rec->types[t->key.type] : NULL;
	char buf[32], *spawned_at = recording_spawn_place(rec, t);

	json_uint(j, "id", t->key.id);
	json_str(j, "name", t->name);
	json_str(j, "runtime", recording_type_library(rec, t->key.type));
	put_index(j, "runtime_id", t->key.runtime, rec->nr_runtimes);
	json_str(j, "kind", model_kind_name(t->kind));
	json_str(j, "type", recording_type_name(rec, t->key.type, buf));
	put_index(j, "type_id", t->key.type, rec->nr_types);
	put_location(j, type);
	json_str(j, "spawned_at", spawned_at);
	free(spawned_at);
}

/* No key: not known. null: it has none. */
static void put_spawn(struct json *j, const struct model_task *t)
{
	if (t->has_parent) {
		json_uint(j, "parent", t->parent.id);
		if (t->parent.runtime != t->key.runtime)
			put_index(j, "parent_runtime_id", t->parent.runtime, MODEL_NO_RUNTIME);
	} else if (t->spawn_exact) {
		json_null(j, "parent");
	}
	json_str(j, "spawn", t->spawn_exact ? "exact" : "first_seen");
	if (t->spawn_exact)
		json_uint(j, "spawn_thread", t->spawn_thread);
	json_uint(j, "spawn_ns", t->spawn_ns);
}

static void put_end(struct json *j, const struct model_task *t)
{
	if (t->end == MODEL_ALIVE)
		json_null(j, "end_ns");
	else
		json_uint(j, "end_ns", t->end_ns);
	json_str(j, "end", model_end_name(t->end));
	if (t->end != MODEL_ALIVE)
		json_bool(j, "wanted", t->is_wanted);
}

static void put_wakes(struct json *j, const struct model_task *t)
{
	json_uint(j, "wakes", model_sum_wakes(t->wakes));
	json_uint(j, "self_wakes", t->wakes[MODEL_BY_SELF]);
	json_open_object(j, "wakes_by");
	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++)
		if (t->wakes[i])
			json_uint(j, model_cause_name(i), t->wakes[i]);
	json_close_object(j);
}

void report_put_task(const struct recording *rec, const struct model_task *t, struct json *j)
{
	put_identity(rec, t, j);
	put_spawn(j, t);
	put_end(j, t);
	json_uint(j, "polls", t->polls);
	json_states(j, t->ns);
	json_uint(j, "max_poll_ns", t->max_poll_ns);
	json_uint(j, "max_sched_ns", t->max_sched_ns);
	json_uint(j, "blocked_ns", t->blocked_ns);
	json_uint(j, "max_blocked_ns", t->max_blocked_ns);
	if (t->kind == TRACE_BLOCKING) {
		if (t->spawn_exact)
			json_uint(j, "queue_ns", t->ns[MODEL_SCHEDULED]);
		else
			json_null(j, "queue_ns");
		json_uint(j, "run_ns", t->ns[MODEL_RUNNING]);
	}
	put_wakes(j, t);
}

static void put_task(void *sink, const struct model_task *t)
{
	struct json_sink *s = sink;

	if (t->key.type < s->r->rec.nr_types)
		s->is_type_used[t->key.type] = 1;
	json_open_object(&s->json, NULL);
	report_put_task(&s->r->rec, t, &s->json);
	json_close_object(&s->json);
	out_spill(s->out);
}

static void put_worker(void *sink, const struct model_thread *t)
{
	struct json_sink *s = sink;
	struct json *j = &s->workers_json;
	bool is_known = t->thread < s->r->rec.nr_threads;

	json_open_object(j, NULL);
	json_uint(j, "thread", t->thread);
	json_uint(j, "tid", is_known ? s->r->rec.threads[t->thread].tid : 0);
	json_str(j, "name", is_known ? s->r->rec.threads[t->thread].name : "");
	put_index(j, "runtime_id", t->runtime, s->r->rec.nr_runtimes);
	json_str(j, "kind", model_thread_kind_name(t->kind));
	json_uint(j, "polls", t->polls);
	json_uint(j, "busy_ns", t->busy_ns);
	json_uint(j, "asleep_ns", t->asleep_ns);
	json_uint(j, "sleeps", t->sleeps);
	json_uint(j, "blocked_ns", t->blocked_ns);
	json_uint(j, "blocks", t->nr_blocks);
	json_uint(j, "max_blocked_ns", t->max_blocked_ns);
	json_close_object(j);
}

static const struct model_ops json_ops = { .task = put_task, .thread = put_worker };

/* "multi_thread+current_thread" */
static void add_flavour(struct strbuf *text, const char *flavour)
{
	if (flavour[0] && !strstr(text->s, flavour))
		strbuf_addf(text, "%s%s", text->len ? "+" : "", flavour);
}

/* Where no name tells, the place may where its tasks run. */
static void infer_flavour(struct json_sink *s, uint32_t runtime, struct strbuf *text)
{
	const struct known_runtime *k = known_runtime_named(s->r->rec.runtimes[runtime].name);
	unsigned places = model_runtime_get_places(s->r->model, runtime);

	if (k && k->worker_scheduler && places & MODEL_IN_WORKER)
		add_flavour(text, k->worker_scheduler);
	if (k && k->other_scheduler && places & MODEL_OUTSIDE)
		add_flavour(text, k->other_scheduler);
}

/* The schedulers that its tasks were seen on. */
static void put_flavour(struct json_sink *s, uint32_t runtime)
{
	const struct recording_runtime *r = &s->r->rec.runtimes[runtime];
	struct strbuf text = STRBUF_INIT;

	if (r->scheduler[0])
		strbuf_addstr(&text, r->scheduler);

	for (uint32_t i = 0; r->is_whole_copy && i < s->r->rec.nr_types; i++) {
		const struct trace_type *type = &s->r->rec.types[i];

		if (s->is_type_used[i] && type->runtime == r->copy && type->kind != TRACE_BLOCKING)
			add_flavour(&text, type->scheduler);
	}
	/* a root's runtime may have lain where one of another flavour was before */
	if (!text.len || !r->owner)
		infer_flavour(s, runtime, &text);
	json_str(&s->json, "flavour", text.len ? text.s : NULL);
	strbuf_release(&text);
}

static void put_runtimes(struct json_sink *s)
{
	const struct report *r = s->r;
	const struct by_runtime_row *rows = by_runtime_get_rows(analyzer_get_runtimes(r->analyzer));
	struct json *j = &s->json;

	json_open_array(j, "runtimes");
	for (uint32_t i = 0; i < r->rec.nr_runtimes; i++) {
		const struct recording_runtime *rt = &r->rec.runtimes[i];

		if (rt->never_ran)
			continue;
		json_open_object(j, NULL);
		json_uint(j, "id", i);
		json_str(j, "name", rt->name);
		json_str(j, "version", rt->version[0] ? rt->version : NULL);
		put_flavour(s, i);
		json_uint(j, "copy", rt->copy);
		if (rt->owner)
			json_uint(j, "owner", rt->owner);
		else
			json_null(j, "owner");
		json_uint(j, "tasks", rows[i].nr_tasks);
		json_uint(j, "polls", rows[i].polls);
		json_uint(j, "busy_ns", rows[i].busy_ns);
		json_uint(j, "workers", rows[i].nr_workers);
		json_uint(j, "blocking_threads", rows[i].nr_blocking);
		json_str(j, "object",
			 rt->object < r->rec.nr_objects ? r->rec.objects[rt->object].path : NULL);
		json_close_object(j);
	}
	json_close_array(j);
}

static void put_types(struct json_sink *s)
{
	struct json *j = &s->json;
	char buf[32];

	json_open_array(j, "types");
	for (uint32_t i = 0; i < s->r->rec.nr_types; i++) {
		const struct trace_type *type = &s->r->rec.types[i];

		json_open_object(j, NULL);
		json_uint(j, "id", i);
		json_str(j, "name", type->name[0] ? recording_type_name(&s->r->rec, i, buf) : NULL);
		json_str(j, "kind", model_kind_name(type->kind));
		put_index(j, "runtime_id", recording_type_runtime(&s->r->rec, i),
			  s->r->rec.nr_runtimes);
		json_uint(j, "copy", type->runtime);
		json_str(j, "scheduler", type->scheduler[0] ? type->scheduler : NULL);
		put_location(j, type);
		if (type->size_bytes)
			json_uint(j, "size_bytes", type->size_bytes);
		else
			json_null(j, "size_bytes");
		json_bool(j, "own_ids", type->has_numbers);
		json_uint(j, "candidates", type->nr_candidates);
		if (type->nr_candidates > 1)
			json_candidates(j, type->name);
		json_close_object(j);
	}
	json_close_array(j);
}

static void put_lost(struct json_sink *s)
{
	struct json *j = &s->json;

	json_lost(j, &s->r->rec, s->r->model);
	json_uint(j, "threads_not_recorded", trace_get_end(s->r->rec.trace)->nr_unslotted);
	json_uint(j, "children_not_followed", trace_get_end(s->r->rec.trace)->nr_unfollowed);
	json_uint(j, "functions_not_redirected", trace_get_end(s->r->rec.trace)->nr_unredirected);
	json_uint(j, "libraries_apart", trace_get_end(s->r->rec.trace)->nr_apart);
	json_uint(j, "spawns_unmatched", model_get_totals(s->r->model)->nr_spawns_unmatched);
}

static void put_damage(struct json_sink *s)
{
	const struct trace_damage *d = trace_get_damage(s->r->rec.trace);
	struct json *j = &s->json;

	json_open_object(j, "damage");
	json_bool(j, "cut", d->cut);
	json_uint(j, "bad_blocks", d->bad_blocks);
	json_uint(j, "bad_events", d->bad_events);
	json_uint(j, "bytes_skipped", d->bytes_skipped);
	json_uint(j, "stray_events", model_get_totals(s->r->model)->nr_stray);
	json_close_object(j);
}

static void put_recording_end(struct json_sink *s)
{
	static const char *const kinds[] = { "cut",    "exited",  "signaled",
					     "execed", "stopped", "gone" };
	const struct trace_end *end = trace_get_end(s->r->rec.trace);
	struct json *j = &s->json;

	json_open_object(j, "recording");
	json_str(j, "end",
		 trace_get_damage(s->r->rec.trace)->is_live ? "recording" : kinds[end->kind]);
	if (end->kind == TRACE_GONE)
		json_null(j, "status");
	else
		json_uint(j, "status", end->status);
	json_close_object(j);
	json_open_object(j, "cost");
	json_uint(j, "tool_cpu_ns", end->tool_cpu_ns);
	if (end->target_cpu_ns)
		json_uint(j, "target_cpu_ns", end->target_cpu_ns);
	else
		json_null(j, "target_cpu_ns");
	json_close_object(j);
}

static void put_workers(struct json_sink *s)
{
	json_close_array(&s->workers_json);
	/* made beside the tasks, by a writer of its own: it only has to be put in its place */
	strbuf_addstr(&s->out->buf, ",\n \"workers\":");
	strbuf_add(&s->out->buf, s->workers.s, s->workers.len);
}

static void put_all(struct json_sink *s)
{
	struct report_totals totals;
	const struct report *r = s->r;
	struct json *j = &s->json;

	put_workers(s);
	put_runtimes(s);
	put_types(s);
	json_uint(j, "duration_ns", model_get_duration(r->model));
	json_uint(j, "events", model_get_totals(r->model)->nr_events);
	put_lost(s);
	put_damage(s);
	put_recording_end(s);
	report_totals_init(&totals, r);
	report_totals_json(r, &totals, j);
	report_totals_release(&totals);
	report_findings_json(r, j);
}

void report_json(struct report *r, struct out *out)
{
	struct json_sink s = { .r = r, .out = out, .workers = STRBUF_INIT };
	struct json *j = &s.json;

	s.is_type_used = xcalloc(r->rec.nr_types + 1, 1);
	json_init(j, &out->buf);
	j->pretty = true;
	json_init(&s.workers_json, &s.workers);
	json_open_array(&s.workers_json, NULL);
	json_open_object(j, NULL);
	json_uint(j, "schema", 1);
	json_str(j, "exe", r->rec.meta->exe);
	json_uint(j, "pid", r->rec.meta->pid);
	json_open_array(j, "tasks");
	report_read(r, &(struct recording_sink){ &json_ops, &s }, 1);
	json_close_array(j);
	put_all(&s);
	if (r->table)
		report_table_json(r->table, j);
	json_close_object(j);
	strbuf_addch(&out->buf, '\n');
	strbuf_release(&s.workers);
	free(s.is_type_used);
}

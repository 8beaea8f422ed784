// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace info --json` */
#include "base/json.h"
#include "export/json_parts.h"
#include "model/model.h"
#include "model/steps.h"
#include "show/info.h"

static void json_kinds(struct json *j, const char *key, const uint64_t *counts)
{
	uint64_t nr_unknown = 0;

	json_open_object(j, key);
	for (unsigned i = 0; i < EV_MAX; i++)
		if (event_descs[i].name)
			json_uint(j, event_descs[i].name, counts[i]);
		else
			nr_unknown += counts[i];
	json_uint(j, "unknown", nr_unknown);
	json_close_object(j);
}

static void json_origin(struct json *j, const struct info *in)
{
	const struct trace_meta *m = in->meta;

	json_str(j, "tool", m->tool);
	json_str(j, "exe", m->exe);
	json_argv(j, m);
	json_str(j, "cwd", m->cwd);
	json_uint(j, "pid", m->pid);
	json_uint(j, "uid", m->uid);
	if (m->parent_pid)
		json_uint(j, "parent_pid", m->parent_pid);
	json_str(j, "host", m->host);
	json_str(j, "os", m->os);
	json_str(j, "cpu", m->cpu);
	json_uint(j, "nr_cpus", m->nr_cpus);
	json_str(j, "clock", m->clock == CLOCK_KIND_TSC ? "tsc" : "monotonic");
	if (in->start_real_ns)
		json_uint(j, "start_unix_ns", in->start_real_ns);
	else
		json_null(j, "start_unix_ns");
	json_uint(j, "duration_ns", trace_get_duration(in->t));
}

static void json_end(struct json *j, const struct info *in)
{
	static const char *const kinds[] = { "cut",    "exited",  "signaled",
					     "execed", "stopped", "gone" };
	const struct trace_end *end = in->end;

	json_open_object(j, "end");
	json_str(j, "kind", in->damage->is_live ? "recording" : kinds[end->kind]);
	if (end->kind == TRACE_STOPPED)
		json_str(j, "reason", info_stop_reason(in));
	else if (end->kind == TRACE_EXITED || end->kind == TRACE_SIGNALED)
		json_uint(j, end->kind == TRACE_EXITED ? "status" : "signal", end->status);
	if (end->kind != TRACE_CUT) {
		json_uint(j, "tool_cpu_ns", end->tool_cpu_ns);
		json_uint(j, "target_cpu_ns", end->target_cpu_ns);
		json_uint(j, "unrecorded_threads", end->nr_unslotted);
		json_uint(j, "children_not_followed", end->nr_unfollowed);
		json_uint(j, "functions_not_redirected", end->nr_unredirected);
		json_uint(j, "libraries_apart", end->nr_apart);
		json_uint(j, "paths_without_room", end->nr_no_path);
		json_uint(j, "paths_not_understood", end->nr_bad_path);
	}
	json_close_object(j);
	json_open_object(j, "damage");
	json_bool(j, "cut", in->damage->cut);
	json_uint(j, "bad_blocks", in->damage->bad_blocks);
	json_uint(j, "bad_events", in->damage->bad_events);
	json_uint(j, "bytes_skipped", in->damage->bytes_skipped);
	json_close_object(j);
}

static void json_thread_cpu(struct json *j, const struct info *in)
{
	uint32_t nr;
	const struct trace_cpu *u = trace_get_cpu(in->t, &nr);

	json_open_array(j, "thread_cpu");
	for (uint32_t i = 0; i < nr; i++) {
		json_open_object(j, NULL);
		json_uint(j, "thread", u[i].thread);
		json_uint(j, "time_ns", u[i].time);
		json_uint(j, "cpu_ns", u[i].cpu_ns);
		json_uint(j, "wait_ns", u[i].wait_ns);
		json_close_object(j);
	}
	json_close_array(j);
}

static void json_runtimes(struct json *j, const struct info *in)
{
	json_open_array(j, "runtimes");
	for (uint32_t i = 0; i < in->nr_runtimes; i++) {
		json_open_object(j, NULL);
		json_uint(j, "id", i);
		json_str(j, "name", in->runtimes[i].name);
		json_str(j, "version", in->runtimes[i].version);
		json_str(j, "object", info_object_path(in, &in->runtimes[i]));
		json_bool(j, "ran", in->has_run[i]);
		json_close_object(j);
	}
	json_close_array(j);
}

static void json_instances(struct json *j, const struct info *in)
{
	uint32_t nr;
	const struct trace_instance *instances = trace_get_instances(in->t, &nr);

	json_open_array(j, "instances");
	for (uint32_t i = 0; i < nr; i++) {
		if (!instances[i].owner && !instances[i].addr)
			continue;
		json_open_object(j, NULL);
		json_uint(j, "number", i);
		json_uint(j, "type_id", instances[i].type);
		json_uint(j, "owner", instances[i].owner);
		json_uint(j, "addr", instances[i].addr);
		json_str(j, "scheduler", instances[i].scheduler[0] ? instances[i].scheduler : NULL);
		json_uint(j, "root", instances[i].root);
		json_close_object(j);
	}
	json_close_array(j);
}

/* On which tasks were spawned that stay on their thread. */
static void json_local_stacks(struct json *j, const struct info *in)
{
	uint32_t nr;
	const struct trace_stack *stacks = trace_get_stacks(in->t, &nr);

	json_open_array(j, "local_stacks");
	for (uint32_t i = 0; i < nr; i++)
		if (stacks[i].is_local)
			json_uint(j, NULL, i);
	json_close_array(j);
}

static void json_steps(struct json *j, const struct info *in)
{
	uint32_t nr;
	const struct trace_step *steps = trace_get_steps(in->t, &nr);

	json_open_array(j, "steps");
	for (uint32_t i = 0; i < nr; i++) {
		const struct trace_step *s = &steps[i];

		json_open_object(j, NULL);
		json_uint(j, "number", i);
		if (s->outer == TRACE_NO_STEP)
			json_null(j, "outer");
		else
			json_uint(j, "outer", s->outer);
		json_str(j, "state", step_state_name(s->state));
		json_bool(j, "generated", s->is_generated);
		json_str(j, "future", s->future);
		json_str(j, "function", s->function);
		json_str(j, "file", s->file);
		json_uint(j, "line", s->line);
		json_uint(j, "last_line", s->last_line);
		json_str(j, "leaf", s->leaf);
		json_bool(j, "foreign", s->is_foreign);
		json_close_object(j);
	}
	json_close_array(j);
}

static void json_stands(struct json *j, const struct info *in)
{
	uint32_t nr;
	const struct trace_stand *stands = trace_get_stands(in->t, &nr);

	json_open_array(j, "stands");
	for (uint32_t i = 0; i < nr; i++) {
		json_open_object(j, NULL);
		json_uint(j, "task", stands[i].task);
		json_uint(j, "type_id", stands[i].type);
		json_uint(j, "time_ns", stands[i].time);
		json_uint(j, "path", stands[i].path);
		json_close_object(j);
	}
	json_close_array(j);
}

static void json_paths(struct json *j, const struct info *in)
{
	uint32_t nr;
	const struct trace_path *paths = trace_get_paths(in->t, &nr);

	json_open_array(j, "paths");
	for (uint32_t i = 0; i < nr; i++) {
		if (!paths[i].nr_steps)
			continue;
		json_open_object(j, NULL);
		json_uint(j, "number", i);
		json_open_array(j, "steps");
		for (uint32_t k = 0; k < paths[i].nr_steps; k++)
			json_uint(j, NULL, paths[i].steps[k]);
		json_close_array(j);
		json_close_object(j);
	}
	json_close_array(j);
}

static void json_futures(struct json *j, const struct info *in)
{
	uint32_t nr;
	const struct trace_future *f = trace_get_futures(in->t, &nr);

	json_open_array(j, "futures");
	for (uint32_t i = 0; i < nr; i++) {
		json_open_object(j, NULL);
		json_uint(j, "number", i);
		json_str(j, "name", f[i].name);
		json_str(j, "function", f[i].function);
		json_str(j, "file", f[i].file);
		json_uint(j, "line", f[i].line);
		json_bool(j, "generated", f[i].is_generated);
		json_str(j, "seen", model_seen_name(f[i].seen));
		json_uint(j, "object", f[i].object);
		json_uint(j, "va", f[i].va);
		json_close_object(j);
	}
	json_close_array(j);
}

void info_json(const struct info *in, struct strbuf *out)
{
	struct json j;

	json_init(&j, out);
	j.pretty = true;
	json_open_object(&j, NULL);
	json_uint(&j, "schema", 1);
	json_str(&j, "file", in->path);
	json_origin(&j, in);
	json_uint(&j, "bytes", trace_get_size(in->t));
	json_uint(&j, "threads", in->nr_threads);
	json_uint(&j, "types", in->nr_types);
	json_uint(&j, "types_seen", in->nr_used_types);
	json_uint(&j, "events", in->nr_events);
	json_kinds(&j, "events_by_kind", in->nr_of);
	json_uint(&j, "lost", in->nr_lost);
	json_kinds(&j, "lost_by_kind", in->lost);
	json_runtimes(&j, in);
	json_instances(&j, in);
	json_local_stacks(&j, in);
	json_steps(&j, in);
	json_paths(&j, in);
	json_stands(&j, in);
	json_futures(&j, in);
	json_thread_cpu(&j, in);
	json_end(&j, in);
	json_close_object(&j);
	strbuf_addch(out, '\n');
}

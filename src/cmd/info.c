// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * futrace info: what a trace file is: of what, when, where, how much, what was lost, how it ended.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/format.h"
#include "base/json.h"
#include "cmd/command.h"
#include "export/parts.h"
#include "model/steps.h"
#include "model/model.h"
#include "trace/reader.h"

struct info_opts {
	bool json;
};

static const struct opt info_options[] = {
	OPT(0, "json", OPT_FLAG, struct info_opts, json, NULL, "print a JSON object"),
	{ 0 },
};

struct info {
	struct trace *t;
	const char *path;
	const struct trace_meta *meta;
	const struct trace_end *end;
	const struct trace_damage *damage;
	const struct trace_type *types;
	const struct trace_runtime *runtimes;
	const struct trace_object *objects;
	const struct clock_anchor *anchors;
	uint32_t nr_types, nr_runtimes, nr_objects, nr_threads, nr_anchors;
	uint64_t nr_events; /* that could be read */
	uint64_t nr_of[EV_MAX], lost[EV_MAX];
	uint64_t nr_lost;
	uint32_t nr_used_types; /* that an event names */
	uint64_t start_real_ns; /* 0: unknown */
	double ticks_per_ns;	/* 0: unknown */
	struct strbuf out;
};

/* One pass over all events: the only way to know what can be read. */
static void count_events(struct info *in)
{
	bool *used = xcalloc(1 << 16, sizeof(bool));
	const struct event *evs;
	size_t n;

	while ((n = trace_read(in->t, &evs))) {
		in->nr_events += n;
		for (const struct event *ev = evs; ev < evs + n; ev++) {
			in->nr_of[ev->kind]++;
			used[ev->type] = true;
			if (ev->kind == EV_LOST && ev->a < EV_MAX)
				in->lost[ev->a] += ev->b;
		}
	}
	for (uint32_t i = 0; i < in->nr_types; i++)
		in->nr_used_types += used[i];
	free(used);
	/* The end block counts also what no LOST event told; a cut file has only those. */
	for (unsigned i = 0; i < EV_MAX; i++) {
		in->lost[i] = MAX(in->lost[i], in->end->lost[i]);
		in->nr_lost += in->lost[i];
	}
}

static void find_start(struct info *in)
{
	const struct clock_anchor *a = in->anchors, *z;

	in->start_real_ns = trace_get_zero(in->t).real_ns;
	if (!in->nr_anchors)
		return;
	z = &a[in->nr_anchors - 1];
	if (z->ticks > a->ticks && z->mono_ns > a->mono_ns)
		in->ticks_per_ns = (double)(z->ticks - a->ticks) / (z->mono_ns - a->mono_ns);
}

static void info_init(struct info *in, struct trace *t, const char *path)
{
	*in = (struct info){ .t = t, .path = path };
	strbuf_init(&in->out);
	in->meta = trace_get_meta(t);
	in->end = trace_get_end(t);
	in->damage = trace_get_damage(t);
	in->types = trace_get_types(t, &in->nr_types);
	in->runtimes = trace_get_runtimes(t, &in->nr_runtimes);
	in->objects = trace_get_objects(t, &in->nr_objects);
	in->anchors = trace_get_anchors(t, &in->nr_anchors);
	trace_get_threads(t, &in->nr_threads);
	count_events(in);
	find_start(in);
}

static const char *or_unknown(const char *s)
{
	return *s ? s : "unknown";
}

static const char *runtime_path(const struct info *in, const struct trace_runtime *r)
{
	return r->object < in->nr_objects ? or_unknown(in->objects[r->object].path) : "unknown";
}

/* "label   text", the text made harmless for a terminal. */
static void add_text(struct strbuf *out, const char *label, char *text)
{
	strbuf_addf(out, "%-10s ", label);
	strbuf_add_clean(out, text, strlen(text));
	strbuf_addch(out, '\n');
	free(text);
}

#define add_row(out, label, ...) add_text(out, label, xasprintf(__VA_ARGS__))

static void format_start(const struct info *in, char *buf, size_t len)
{
	time_t seconds = in->start_real_ns / 1000000000;
	struct tm tm;

	if (!in->start_real_ns || !localtime_r(&seconds, &tm) ||
	    !strftime(buf, len, "%Y-%m-%d %H:%M:%S %z", &tm))
		snprintf(buf, len, "at an unknown time");
}

static const char *const stop_reasons[] = {
	[0] = "unknown",
	[TRACE_STOP_DURATION] = "duration",
	[TRACE_STOP_SIZE] = "size",
	[TRACE_STOP_INTERRUPT] = "interrupt",
	[TRACE_STOP_ERROR] = "error",
};

static const char *stop_reason(uint32_t status)
{
	return stop_reasons[status < ARRAY_SIZE(stop_reasons) ? status : 0];
}

static void add_end(struct info *in)
{
	const struct trace_end *end = in->end;
	const char *sig = end->kind == TRACE_SIGNALED ? sigabbrev_np(end->status) : NULL;

	switch (end->kind) {
	case TRACE_CUT:
		add_row(&in->out, "ended", "cut: the recorder died, or still writes");
		break;
	case TRACE_EXITED:
		add_row(&in->out, "ended", "program left with status %" PRIu32, end->status);
		break;
	case TRACE_SIGNALED:
		add_row(&in->out, "ended", "program was killed by signal %" PRIu32 " (%s)",
			end->status, sig ? sig : "unknown");
		break;
	case TRACE_EXECED:
		add_row(&in->out, "ended", "process went on as another program");
		break;
	case TRACE_STOPPED:
		add_row(&in->out, "ended", "recording was stopped first: %s",
			stop_reason(end->status));
		break;
	case TRACE_GONE:
		add_row(&in->out, "ended", "program ended, only its parent knows how");
		break;
	}
	if (end->kind == TRACE_CUT)
		add_row(&in->out, "cost", "unknown");
	else if (end->target_cpu_ns)
		add_row(&in->out, "cost", "futrace used %.3f s of CPU, the program %.3f s",
			end->tool_cpu_ns * 1e-9, end->target_cpu_ns * 1e-9);
	else
		add_row(&in->out, "cost", "futrace used %.3f s of CPU", end->tool_cpu_ns * 1e-9);
}

static void add_origin(struct info *in)
{
	const struct trace_meta *m = in->meta;
	struct strbuf args = STRBUF_INIT;
	char start[64];

	for (uint32_t i = 0; i < m->argc; i++)
		strbuf_addf(&args, "%s%s", i ? " " : "", m->argv[i][0] ? m->argv[i] : "''");
	format_start(in, start, sizeof(start));
	add_row(&in->out, "file", "%s", in->path);
	add_row(&in->out, "program", "%s", or_unknown(m->exe));
	add_row(&in->out, "command", "%s", or_unknown(args.s));
	add_row(&in->out, "in", "%s", or_unknown(m->cwd));
	if (m->parent_pid)
		add_row(&in->out, "process", "%" PRIu32 " of user %" PRIu32 ", child of %" PRIu32,
			m->pid, m->uid, m->parent_pid);
	else
		add_row(&in->out, "process", "%" PRIu32 " of user %" PRIu32, m->pid, m->uid);
	add_row(&in->out, "recorded", "%s, %.6f s, by %s", start, trace_get_duration(in->t) * 1e-9,
		or_unknown(m->tool));
	add_row(&in->out, "machine", "%s, %s, %" PRIu32 " x %s", or_unknown(m->host),
		or_unknown(m->os), m->nr_cpus, or_unknown(m->cpu));
	if (m->clock == CLOCK_KIND_TSC)
		add_row(&in->out, "clock", "TSC, %.6f GHz, %" PRIu32 " anchor%s", in->ticks_per_ns,
			in->nr_anchors, plural(in->nr_anchors));
	else
		add_row(&in->out, "clock", "CLOCK_MONOTONIC, %" PRIu32 " anchor%s", in->nr_anchors,
			plural(in->nr_anchors));
	strbuf_release(&args);
}

static void add_damage(struct info *in)
{
	const struct trace_damage *d = in->damage;

	if (d->bad_blocks || d->bad_events || d->bytes_skipped)
		add_row(&in->out, "damage",
			"%" PRIu64 " blocks, %" PRIu64 " events and %" PRIu64
			" bytes could not be read",
			d->bad_blocks, d->bad_events, d->bytes_skipped);
	else
		add_row(&in->out, "damage", "none");
	if (in->end->nr_unslotted)
		add_row(&in->out, "unseen", "%" PRIu64 " threads could not be recorded",
			in->end->nr_unslotted);
	if (in->end->nr_no_path || in->end->nr_bad_path)
		add_row(&in->out, "paths",
			"%" PRIu64 " runs without one: %" PRIu64 " for want of room, %" PRIu64
			" not understood",
			in->end->nr_no_path + in->end->nr_bad_path, in->end->nr_no_path,
			in->end->nr_bad_path);
	if (in->end->nr_unfollowed)
		add_row(&in->out, "children",
			"%" PRIu64 " forked and not followed (record --follow)",
			in->end->nr_unfollowed);
	if (in->end->nr_unredirected)
		add_row(&in->out, "unwatched",
			"%" PRIu64 " functions were not redirected, in libraries loaded later or "
			"where code may not be changed",
			in->end->nr_unredirected);
}

/* Also of what is no kind: the recorder counts as kind 0 what it could not tell apart. */
static const char *kind_name(unsigned kind)
{
	return event_descs[kind].name ? event_descs[kind].name : "unknown";
}

/* What is unreadable is lost as well, and nobody knows exactly how much that is. */
static void add_lost(struct info *in)
{
	const struct trace_damage *d = in->damage;
	bool damaged = d->bad_blocks || d->bad_events || (d->bytes_skipped && !d->cut);
	uint64_t nr = in->nr_lost + d->bad_events;

	if (damaged && !nr)
		add_row(&in->out, "lost", "unknown: the file is damaged");
	else
		add_row(&in->out, "lost", "%s%" PRIu64 " event%s%s", damaged ? "at least " : "", nr,
			nr == 1 ? "" : "s", d->cut ? " up to the cut" : "");
}

static void add_counts(struct info *in)
{
	uint64_t size = trace_get_size(in->t);

	for (uint32_t i = 0; i < in->nr_runtimes; i++)
		add_row(&in->out, "runtime", "%s %s in %s", or_unknown(in->runtimes[i].name),
			in->runtimes[i].version, runtime_path(in, &in->runtimes[i]));
	add_row(&in->out, "types", "%" PRIu32 " task type%s, %" PRIu32 " of them seen",
		in->nr_types, in->nr_types == 1 ? "" : "s", in->nr_used_types);
	add_row(&in->out, "threads", "%" PRIu32, in->nr_threads);
	add_row(&in->out, "size", "%" PRIu64 " bytes, %.2f per event", size,
		in->nr_events ? (double)size / in->nr_events : 0.0);
	add_lost(in);
	add_row(&in->out, "events", "%" PRIu64, in->nr_events);
	for (unsigned i = 0; i < EV_MAX; i++) {
		if (!in->nr_of[i] && !in->lost[i])
			continue;
		strbuf_addf(&in->out, "  %-14s %14" PRIu64, kind_name(i), in->nr_of[i]);
		if (in->lost[i])
			strbuf_addf(&in->out, "  and %" PRIu64 " lost", in->lost[i]);
		strbuf_addch(&in->out, '\n');
	}
}

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
	json_str(j, "kind", kinds[end->kind]);
	if (end->kind == TRACE_STOPPED)
		json_str(j, "reason", stop_reason(end->status));
	else if (end->kind == TRACE_EXITED || end->kind == TRACE_SIGNALED)
		json_uint(j, end->kind == TRACE_EXITED ? "status" : "signal", end->status);
	if (end->kind != TRACE_CUT) {
		json_uint(j, "tool_cpu_ns", end->tool_cpu_ns);
		json_uint(j, "target_cpu_ns", end->target_cpu_ns);
		json_uint(j, "unrecorded_threads", end->nr_unslotted);
		json_uint(j, "children_not_followed", end->nr_unfollowed);
		json_uint(j, "functions_not_redirected", end->nr_unredirected);
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

static void make_json(struct info *in)
{
	struct json j;

	json_init(&j, &in->out);
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
	json_open_array(&j, "runtimes");
	for (uint32_t i = 0; i < in->nr_runtimes; i++) {
		json_open_object(&j, NULL);
		json_uint(&j, "id", i);
		json_str(&j, "name", in->runtimes[i].name);
		json_str(&j, "version", in->runtimes[i].version);
		json_str(&j, "object", runtime_path(in, &in->runtimes[i]));
		json_close_object(&j);
	}
	json_close_array(&j);
	json_instances(&j, in);
	json_local_stacks(&j, in);
	json_steps(&j, in);
	json_paths(&j, in);
	json_futures(&j, in);
	json_thread_cpu(&j, in);
	json_end(&j, in);
	json_close_object(&j);
	strbuf_addch(&in->out, '\n');
}

static int run(const void *options, int nr, char **argv)
{
	const struct info_opts *opts = options;
	const char *path = nr ? argv[0] : CMD_DEFAULT_FILE;
	struct err e = ERR_INIT;
	struct trace *t;
	struct info in;

	if (nr > 1)
		return cmd_usage("one FILE at a time, not also '%s'", argv[1]);
	t = trace_open(path, &e);
	if (!t)
		return cmd_fail(&e);
	info_init(&in, t, path);
	if (opts->json) {
		make_json(&in);
	} else {
		add_origin(&in);
		add_end(&in);
		add_damage(&in);
		add_counts(&in);
	}
	fwrite(in.out.s, 1, in.out.len, stdout);
	strbuf_release(&in.out);
	trace_close(t);
	return EXIT_OK;
}

const struct command cmd_info = {
	.name = "info",
	.summary = "tell what a trace file holds: of what, when, where, how much, what was lost",
	.synopsis = "[options] [FILE]",
	.options = info_options,
	.options_size = sizeof(struct info_opts),
	.run = run,
};

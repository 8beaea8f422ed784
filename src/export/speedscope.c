// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * speedscope's JSON: three profiles (busy, scheduled, idle), each with a stack for every way in
 * which tasks came about, outermost spawner first; and, where await points were recorded, one
 * (waiting) of who awaits whom. The form is that of speedscope's own file-format-spec.ts.
 */
#include <string.h>

#include "base/json.h"
#include "export/exporters.h"
#include "export/safe_names.h"
#include "export/waits.h"
#include "model/lineage.h"

struct state {
	const struct recording *rec;
	const struct lineage_path *paths;
	uint32_t nr_paths;
	struct names names; /* of groups, not escaped */
	struct waits waits; /* their frames come after those of the groups */
	struct out *out;
	struct json json;
};

static void put_wait_frames(struct state *s)
{
	struct json *j = &s->json;
	struct strbuf label = STRBUF_INIT;

	vec_each (frame, &s->waits.frames) {
		const struct trace_step *step =
			frame->step < s->rec->nr_steps ? &s->rec->steps[frame->step] : NULL;

		strbuf_reset(&label);
		waits_add_label(&label, s->rec, frame->step);
		json_open_object(j, NULL);
		json_str(j, "name", label.s);
		if (step && step->file[0]) {
			json_str(j, "file", step->file);
			json_uint(j, "line", step->line);
		}
		json_close_object(j);
		out_spill(s->out);
	}
	strbuf_release(&label);
}

static void put_frames(struct state *s)
{
	struct json *j = &s->json;

	json_open_object(j, "shared");
	json_open_array(j, "frames");
	for (uint32_t g = 0; g < s->rec->nr_groups; g++) {
		uint16_t type = s->rec->groups[g].type;

		json_open_object(j, NULL);
		json_str(j, "name", names_get(&s->names, g));
		if (type < s->rec->nr_types && s->rec->types[type].file[0]) {
			json_str(j, "file", s->rec->types[type].file);
			json_uint(j, "line", s->rec->types[type].line);
		}
		json_close_object(j);
		out_spill(s->out);
	}
	put_wait_frames(s);
	json_close_array(j);
	json_close_object(j);
}

static void put_stack(struct state *s, uint32_t path)
{
	if (s->paths[path].parent != LINEAGE_ROOT)
		put_stack(s, s->paths[path].parent);
	json_uint(&s->json, NULL, s->paths[path].group);
}

/* Its samples come next. */
static void open_profile(struct json *j, const char *name)
{
	json_open_object(j, NULL);
	json_str(j, "type", "sampled");
	json_str(j, "name", name);
	json_str(j, "unit", "nanoseconds");
	json_open_array(j, "samples");
}

static void close_profile(struct json *j, uint64_t sum)
{
	json_close_array(j);
	json_uint(j, "startValue", 0);
	json_uint(j, "endValue", sum);
	json_close_object(j);
}

static void put_profile(struct state *s, const char *name, enum model_state state)
{
	struct json *j = &s->json;
	uint64_t sum = 0;

	open_profile(j, name);
	for (uint32_t i = 0; i < s->nr_paths; i++) {
		if (!s->paths[i].ns[state])
			continue;
		json_open_array(j, NULL);
		put_stack(s, i);
		json_close_array(j);
		out_spill(s->out);
	}
	json_close_array(j);
	json_open_array(j, "weights");
	for (uint32_t i = 0; i < s->nr_paths; i++) {
		if (s->paths[i].ns[state])
			json_uint(j, NULL, s->paths[i].ns[state]);
		sum += s->paths[i].ns[state];
		out_spill(s->out);
	}
	close_profile(j, sum);
}

static void put_wait_stack(struct state *s, uint32_t frame)
{
	if (s->waits.frames.v[frame].outer != WAITS_ROOT)
		put_wait_stack(s, s->waits.frames.v[frame].outer);
	json_uint(&s->json, NULL, s->rec->nr_groups + frame);
}

static void put_waiting(struct state *s)
{
	struct json *j = &s->json;
	uint64_t sum = 0;

	open_profile(j, "waiting: by chain of awaits");
	for (uint32_t i = 0; i < s->waits.frames.nr; i++) {
		if (!s->waits.frames.v[i].ns)
			continue;
		json_open_array(j, NULL);
		put_wait_stack(s, i);
		json_close_array(j);
		out_spill(s->out);
	}
	json_close_array(j);
	json_open_array(j, "weights");
	vec_each (frame, &s->waits.frames) {
		if (frame->ns)
			json_uint(j, NULL, frame->ns);
		sum += frame->ns;
		out_spill(s->out);
	}
	close_profile(j, sum);
}

/* One pass for both kinds of stacks. */
static struct model *read_stacks(struct state *s, struct export_job *job, struct lineage *l)
{
	struct by_path *paths = by_path_new(job->rec);
	struct recording_sink sinks[] = { { &lineage_ops, l }, { &by_path_ops, paths } };
	struct model *m = recording_read(job->rec, &job->view, sinks, job->rec->nr_paths ? 2 : 1);

	by_path_finish(paths);
	waits_init(&s->waits, job, paths);
	by_path_free(paths);
	return m;
}

static int run(struct export_job *job, struct err *e)
{
	static const char schema[] = "https://www.speedscope.app/file-format-schema.json";
	struct lineage *l = lineage_new(job->rec);
	struct state s = { .rec = job->rec, .out = job->out };
	const char *exe = job->rec->meta->exe, *slash = strrchr(exe, '/');
	struct model *m;

	names_of_groups(&s.names, job->rec, strbuf_addstr);
	m = read_stacks(&s, job, l);
	s.paths = lineage_get_paths(l, &s.nr_paths);
	json_init(&s.json, &job->out->buf);
	json_open_object(&s.json, NULL);
	json_str(&s.json, "$schema", schema);
	json_str(&s.json, "name", slash ? slash + 1 : exe);
	json_str(&s.json, "exporter", "futrace " FUTRACE_VERSION);
	json_uint(&s.json, "activeProfileIndex",
		  job->weight == EXPORT_WAITING && !job->rec->nr_paths ? EXPORT_IDLE : job->weight);
	put_frames(&s);
	json_open_array(&s.json, "profiles");
	put_profile(&s, "busy: inside polls", MODEL_RUNNING);
	put_profile(&s, "scheduled: waiting for a worker", MODEL_SCHEDULED);
	put_profile(&s, "idle: waiting for something", MODEL_IDLE);
	if (job->rec->nr_paths)
		put_waiting(&s);
	json_close_array(&s.json);
	json_close_object(&s.json);
	strbuf_addch(&job->out->buf, '\n');
	export_note_lost(job, m);
	model_free(m);
	names_release(&s.names);
	waits_release(&s.waits);
	lineage_free(l);
	return 0;
}

const struct exporter exporter_speedscope = {
	.name = "speedscope",
	.summary = "speedscope's JSON: chains of spawns, by busy, scheduled and idle time; chains "
		   "of awaits",
	.suffix = "speedscope.json",
	.is_whole = true,
	.has_stacks = true,
	.run = run,
};

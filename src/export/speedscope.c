// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * speedscope's JSON: three profiles (busy, scheduled, idle), each with a stack for every way in
 * which tasks came about, outermost spawner first. The form is that of speedscope's own
 * file-format-spec.ts.
 */
#include <string.h>

#include "base/json.h"
#include "export/exporters.h"
#include "export/names.h"
#include "model/lineage.h"

struct state {
	const struct recording *rec;
	const struct lineage_path *paths;
	uint32_t nr_paths;
	struct names names; /* of groups, not escaped */
	struct out *out;
	struct json json;
};

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
	json_close_array(j);
	json_close_object(j);
}

static void put_stack(struct state *s, uint32_t path)
{
	if (s->paths[path].parent != LINEAGE_ROOT)
		put_stack(s, s->paths[path].parent);
	json_uint(&s->json, NULL, s->paths[path].group);
}

static void put_profile(struct state *s, const char *name, enum model_state state)
{
	struct json *j = &s->json;
	uint64_t sum = 0;

	json_open_object(j, NULL);
	json_str(j, "type", "sampled");
	json_str(j, "name", name);
	json_str(j, "unit", "nanoseconds");
	json_open_array(j, "samples");
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
	json_close_array(j);
	json_uint(j, "startValue", 0);
	json_uint(j, "endValue", sum);
	json_close_object(j);
}

static int run(struct export_job *job, struct err *e)
{
	static const char schema[] = "https://www.speedscope.app/file-format-schema.json";
	struct lineage *l = lineage_new(job->rec);
	struct state s = { .rec = job->rec, .out = job->out };
	const char *exe = job->rec->meta->exe, *slash = strrchr(exe, '/');
	struct model *m;

	names_of_groups(&s.names, job->rec, strbuf_addstr);
	m = recording_read(job->rec, &job->view, &(struct recording_sink){ &lineage_ops, l }, 1);
	s.paths = lineage_get_paths(l, &s.nr_paths);
	json_init(&s.json, &job->out->buf);
	json_open_object(&s.json, NULL);
	json_str(&s.json, "$schema", schema);
	json_str(&s.json, "name", slash ? slash + 1 : exe);
	json_str(&s.json, "exporter", "futrace " FUTRACE_VERSION);
	json_uint(&s.json, "activeProfileIndex", job->weight);
	put_frames(&s);
	json_open_array(&s.json, "profiles");
	put_profile(&s, "busy: inside polls", MODEL_RUNNING);
	put_profile(&s, "scheduled: waiting for a worker", MODEL_SCHEDULED);
	put_profile(&s, "idle: waiting for something", MODEL_IDLE);
	json_close_array(&s.json);
	json_close_object(&s.json);
	strbuf_addch(&job->out->buf, '\n');
	export_note_lost(job, m);
	model_free(m);
	names_release(&s.names);
	lineage_free(l);
	return 0;
}

const struct exporter exporter_speedscope = {
	.name = "speedscope",
	.summary = "speedscope's JSON: who spawned whom, by busy, scheduled and idle time",
	.suffix = "speedscope.json",
	.is_whole = true,
	.has_stacks = true,
	.run = run,
};

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Folded stacks, "a;b;c N": for flamegraph.pl, inferno, speedscope, Pyroscope. A stack is the
 * program, then who spawned whom by type; N is how long tasks that came about that way were busy,
 * scheduled or idle, in ns.
 */
#include <string.h>

#include "export/exporters.h"
#include "model/lineage.h"

static const enum model_state states[] = {
	[EXPORT_BUSY] = MODEL_RUNNING,
	[EXPORT_SCHEDULED] = MODEL_SCHEDULED,
	[EXPORT_IDLE] = MODEL_IDLE,
};

/* Readers split at semicolons and lines. */
static void add_frame(struct strbuf *line, const char *name)
{
	size_t from = line->len;

	strbuf_add_clean(line, name, strlen(name));
	for (size_t i = from; i < line->len; i++)
		if (line->s[i] == ';')
			line->s[i] = ',';
}

static void add_stack(struct strbuf *line, const struct recording *rec,
		      const struct lineage_path *paths, uint32_t path)
{
	char buf[32];

	if (paths[path].parent != LINEAGE_ROOT)
		add_stack(line, rec, paths, paths[path].parent);
	strbuf_addch(line, ';');
	add_frame(line, recording_type_name(rec, rec->groups[paths[path].group].type, buf));
}

static int run(struct export_job *job, struct err *e)
{
	struct lineage *l = lineage_new(job->rec);
	const char *slash = strrchr(job->rec->meta->exe, '/');
	struct strbuf *line = &job->out->buf;
	const struct lineage_path *paths;
	uint32_t nr;

	model_free(recording_read(job->rec, &job->view, &(struct recording_sink){ &lineage_ops, l },
				  1));
	paths = lineage_get_paths(l, &nr);
	for (uint32_t i = 0; i < nr; i++) {
		if (!paths[i].ns[states[job->weight]])
			continue;
		add_frame(line, slash ? slash + 1 : job->rec->meta->exe);
		add_stack(line, job->rec, paths, i);
		strbuf_addf(line, " %llu\n", (unsigned long long)paths[i].ns[states[job->weight]]);
		out_spill(job->out);
	}
	lineage_free(l);
	return 0;
}

const struct exporter exporter_folded = {
	.name = "folded",
	.summary = "folded stacks for flame graphs: who spawned whom, by --weight",
	.suffix = "folded",
	.is_text = true,
	.is_whole = true,
	.run = run,
};

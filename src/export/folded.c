// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Folded stacks, "a;b;c N": for flamegraph.pl, inferno, speedscope, Pyroscope. A stack is the
 * program, then who spawned whom by type; N is how long tasks that came about that way were busy,
 * scheduled or idle, in ns.
 */
#include <string.h>

#include "export/exporters.h"
#include "export/names.h"
#include "model/lineage.h"

static const enum model_state states[] = {
	[EXPORT_BUSY] = MODEL_RUNNING,
	[EXPORT_SCHEDULED] = MODEL_SCHEDULED,
	[EXPORT_IDLE] = MODEL_IDLE,
};

/*
 * Readers split at semicolons and lines, and what ends in a space and a number has another weight
 * to them.
 */
static void add_frame(struct strbuf *line, const char *name)
{
	size_t from = line->len, end;

	strbuf_add_clean(line, name, strlen(name));
	for (size_t i = from; i < line->len; i++)
		if (line->s[i] == ';')
			line->s[i] = ',';
	for (end = line->len; end > from && strchr("0123456789.", line->s[end - 1]); end--)
		;
	if (end > from && line->s[end - 1] == ' ')
		line->s[end - 1] = '_';
}

static void add_stack(struct strbuf *line, const struct names *names,
		      const struct lineage_path *paths, uint32_t path)
{
	if (paths[path].parent != LINEAGE_ROOT)
		add_stack(line, names, paths, paths[path].parent);
	strbuf_addch(line, ';');
	strbuf_addstr(line, names_get(names, paths[path].group));
}

static int run(struct export_job *job, struct err *e)
{
	struct lineage *l = lineage_new(job->rec);
	const char *slash = strrchr(job->rec->meta->exe, '/');
	const char *program = slash ? slash + 1 : job->rec->meta->exe;
	struct strbuf *line = &job->out->buf;
	const struct lineage_path *paths;
	struct names names;
	struct model *m;
	uint32_t nr;

	names_of_groups(&names, job->rec, add_frame);
	m = recording_read(job->rec, &job->view, &(struct recording_sink){ &lineage_ops, l }, 1);
	paths = lineage_get_paths(l, &nr);
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t ns = paths[i].ns[states[job->weight]];

		if (!ns)
			continue;
		add_frame(line, program[0] ? program : "program");
		add_stack(line, &names, paths, i);
		strbuf_addch(line, ' ');
		strbuf_adduint(line, ns);
		strbuf_addch(line, '\n');
		out_spill(job->out);
	}
	export_note_lost(job, m);
	model_free(m);
	names_release(&names);
	lineage_free(l);
	return 0;
}

const struct exporter exporter_folded = {
	.name = "folded",
	.summary = "folded stacks for flame graphs: who spawned whom, by --weight",
	.suffix = "folded",
	.is_text = true,
	.is_whole = true,
	.has_stacks = true,
	.run = run,
};

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Folded stacks, "a;b;c N": for flamegraph.pl, inferno, speedscope, Pyroscope. A stack is the
 * program, then who spawned whom by type; N is how long tasks that came about that way were busy,
 * scheduled or idle, in ns. By --weight=waiting it is who awaits whom, and how long that took.
 */
#include <string.h>

#include "export/exporters.h"
#include "export/safe_names.h"
#include "export/waits.h"
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

static void put_weight(struct export_job *job, uint64_t ns)
{
	strbuf_addch(&job->out->buf, ' ');
	strbuf_adduint(&job->out->buf, ns);
	strbuf_addch(&job->out->buf, '\n');
	out_spill(job->out);
}

static void add_waits(struct strbuf *line, const struct recording *rec, const struct waits *w,
		      uint32_t frame)
{
	struct strbuf label = STRBUF_INIT;

	if (w->frames.v[frame].outer != WAITS_ROOT)
		add_waits(line, rec, w, w->frames.v[frame].outer);
	strbuf_addch(line, ';');
	waits_add_label(&label, rec, w->frames.v[frame].step);
	add_frame(line, label.s);
	strbuf_release(&label);
}

static const char *program_name(const struct recording *rec)
{
	const char *slash = strrchr(rec->meta->exe, '/');
	const char *name = slash ? slash + 1 : rec->meta->exe;

	return name[0] ? name : "program";
}

static void put_waiting(struct export_job *job)
{
	struct strbuf *line = &job->out->buf;
	struct waits w;
	struct model *m = waits_read(&w, job);

	for (uint32_t i = 0; i < w.frames.nr; i++) {
		if (!w.frames.v[i].ns)
			continue;
		add_frame(line, program_name(job->rec));
		add_waits(line, job->rec, &w, i);
		put_weight(job, w.frames.v[i].ns);
	}
	export_note_lost(job, m);
	model_free(m);
	waits_release(&w);
}

static void put_lineages(struct export_job *job)
{
	struct lineage *l = lineage_new(job->rec);
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
		add_frame(line, program_name(job->rec));
		add_stack(line, &names, paths, i);
		put_weight(job, ns);
	}
	export_note_lost(job, m);
	model_free(m);
	names_release(&names);
	lineage_free(l);
}

static int run(struct export_job *job, struct err *e)
{
	if (job->weight == EXPORT_WAITING)
		put_waiting(job);
	else
		put_lineages(job);
	return 0;
}

const struct exporter exporter_folded = {
	.name = "folded",
	.summary = "folded stacks for flame graphs: chains of spawns or, waiting, of awaits",
	.suffix = "folded",
	.is_text = true,
	.is_whole = true,
	.has_stacks = true,
	.run = run,
};

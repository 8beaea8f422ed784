// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/export.h"

#include <string.h>

#include "base/format.h"
#include "base/vec.h"
#include "export/exporters.h"

const struct exporter *const exporters[] = {
#define EXPORTER(name) &exporter_##name,
	EXPORTERS
#undef EXPORTER
		NULL,
};

const struct exporter *exporter_find(const char *name)
{
	for (const struct exporter *const *x = exporters; *x; x++)
		if (strcmp((*x)->name, name) == 0)
			return *x;
	return NULL;
}

struct model *export_read(struct export_job *job, struct analyzer *a, const struct model_ops *ops,
			  void *sink)
{
	VEC(struct recording_sink) sinks = { 0 };
	const struct recording_sink *theirs;
	struct model *m;
	size_t nr;

	theirs = analyzer_get_sinks(a, &nr);
	for (size_t i = 0; i < nr; i++)
		vec_push(&sinks, theirs[i]);
	vec_push(&sinks, (struct recording_sink){ ops, sink });
	m = recording_read(job->rec, &job->view, sinks.v, sinks.nr);
	analyzer_finish(a, m);
	vec_release(&sinks);
	return m;
}

void export_note_lost(const struct export_job *job, const struct model *m)
{
	uint64_t lost[EV_MAX], nr_lost = recording_get_lost(job->rec, m, lost);
	char nr[FORMAT_SIZE], *text;

	if (!nr_lost)
		return;
	text = xasprintf("%s events were lost when this was recorded: the sums may be too small",
			 format_grouped(nr_lost, nr));
	job->note(job->note_arg, text);
	free(text);
}

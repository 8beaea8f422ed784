// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Futures that are large: each task of the type holds all of it for life, and it is copied when it
 * is made, joined or spawned. Tokio itself moves what is larger than 16 KiB into a box of its own
 * at the spawn, hence the limit. (tokio-console's is 1 KiB, which the connection of any HTTP server
 * has.) Where debug info does not tell a size there is nothing to say.
 */
#include "analyze/analyses.h"
#include "base/format.h"

/* How fast memory is copied. It makes the harm of a size comparable, and that is little. */
#define BYTES_PER_NS 10

enum { LIMIT_SIZE, LIMIT_TOTAL };

static const struct threshold thresholds[] = {
	[LIMIT_SIZE] = { "large-future", THRESHOLD_BYTES, 16384, "a future of this size" },
	[LIMIT_TOTAL] = { "large-future-total", THRESHOLD_BYTES, UINT64_C(64) << 20,
			  "… all of a type at one time, for a warning" },
	{ 0 },
};

static void say(uint64_t size, const struct by_type_row *row, const struct analysis_input *in)
{
	uint64_t total = size * row->peak;
	struct finding *f =
		finding_add(in, total >= in->limits[LIMIT_TOTAL] ? SEVERITY_WARNING : SEVERITY_NOTE,
			    row->group->type);
	char one[FORMAT_SIZE], peak[FORMAT_SIZE], all[FORMAT_SIZE];

	f->harm_ns = row->nr_tasks * size / BYTES_PER_NS;
	finding_figure(f, "size_bytes", FIGURE_BYTES, size);
	finding_figure(f, "tasks", FIGURE_COUNT, row->nr_tasks);
	finding_figure(f, "peak_tasks", FIGURE_COUNT, row->peak);
	finding_figure(f, "peak_bytes", FIGURE_BYTES, total);
	finding_say(f, "the future has %s; %s at one time, %s in all", format_bytes(size, one),
		    format_grouped(row->peak, peak), format_bytes(total, all));
	finding_advise(f,
		       "keep large arrays that live across an .await on the heap (Vec, Box), and "
		       "Box::pin the large futures that it awaits");
}

static void finish(void *state, const struct analysis_input *in)
{
	uint64_t *sizes = xcalloc(in->rec->nr_groups, sizeof(*sizes));

	/* Not every table of a type has its functions described. */
	for (uint32_t i = 0; i < in->rec->nr_types; i++) {
		uint64_t *size = &sizes[recording_group_of(in->rec, i)];

		*size = MAX(*size, in->rec->types[i].size_bytes);
	}
	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		if (in->rows[g].nr_tasks && sizes[g] && sizes[g] >= in->limits[LIMIT_SIZE] &&
		    in->rows[g].group->kind <= TRACE_LOCAL)
			say(sizes[g], &in->rows[g], in);
	free(sizes);
}

const struct analysis analysis_large_future = {
	.name = "large-future",
	.summary = "tasks whose future is large",
	.thresholds = thresholds,
	.finish = finish,
};

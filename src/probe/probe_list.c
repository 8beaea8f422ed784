// SPDX-License-Identifier: MIT OR Apache-2.0
#include "probe/probe_list.h"

void probe_list_choose(struct probe_list *l, const struct probe_patterns *patterns)
{
	uint32_t id = 0;

	vec_each (h, &l->probes.homes)
		vec_each (p, &h->file->probes) {
			id++;
			if (probe_patterns_fit(patterns, h, p))
				vec_push(&l->rows, (struct list_row){ id, h, p });
		}
}

void probe_list_release(struct probe_list *l)
{
	vec_release(&l->rows);
	probes_release(&l->probes);
}

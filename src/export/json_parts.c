// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/json_parts.h"

#include "trace/event.h"

void json_argv(struct json *j, const struct trace_meta *meta)
{
	json_open_array(j, "argv");
	for (uint32_t i = 0; i < meta->argc; i++)
		json_str(j, NULL, meta->argv[i]);
	json_close_array(j);
}

void json_states(struct json *j, const uint64_t ns[MODEL_NR_STATES])
{
	json_uint(j, "busy_ns", ns[MODEL_RUNNING]);
	json_uint(j, "sched_ns", ns[MODEL_SCHEDULED]);
	json_uint(j, "idle_ns", ns[MODEL_IDLE]);
	json_uint(j, "unknown_ns", ns[MODEL_UNKNOWN]);
}

void json_lost(struct json *j, const struct recording *rec, const struct model *m)
{
	uint64_t lost[EV_MAX];

	json_uint(j, "lost", recording_get_lost(rec, m, lost));
	json_open_object(j, "lost_by_kind");
	for (unsigned i = 0; i < EV_MAX; i++)
		if (lost[i])
			json_uint(j, event_descs[i].name ? event_descs[i].name : "unknown",
				  lost[i]);
	json_close_object(j);
}

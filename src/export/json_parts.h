// SPDX-License-Identifier: MIT OR Apache-2.0
/* Parts of JSON that reports and several exports have. */
#ifndef EXPORT_JSON_PARTS_H
#define EXPORT_JSON_PARTS_H

#include "base/json.h"
#include "model/model.h"
#include "model/recording.h"

void json_argv(struct json *j, const struct trace_meta *meta);
void json_states(struct json *j, const uint64_t ns[MODEL_NR_STATES]); /* busy_ns, sched_ns … */
/* How many events, and how many of each kind. */
void json_lost(struct json *j, const struct recording *rec, const struct model *m);

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "trace/event.h"

#define ARG_NONE     NULL
#define ARG_NAME(x)  ARG_##x
#define ARG_addr     "addr"
#define ARG_size     "size"
#define ARG_tid	     "tid"
#define ARG_kind     "kind"
#define ARG_count    "count"
#define ARG_stack    "stack"
#define ARG_instance "instance"
#define ARG_owner    "owner"
#define ARG_number   "number"
#define ARG_path     "path"
#define ARG_future   "future"
#define ARG_name     "name"
#define ARG_id	     "id"
#define ARG_value    "value"
#define ARG_text_lo  "text_lo"
#define ARG_text_hi  "text_hi"
#define ARG_name_lo  "name_lo"
#define ARG_name_hi  "name_hi"

const struct event_desc event_descs[EV_MAX] = {
#define EVENT(nr, NAME, text, task_, a_, b_) \
	[nr].name = text, [nr].task = EVENT_##task_, [nr].a = ARG_NAME(a_), [nr].b = ARG_NAME(b_),
#define FLAG(NAME, bit, text, ev) [EV_##ev].flags[bit] = text,
#include "wire/event.def"
#undef EVENT
#undef FLAG
};

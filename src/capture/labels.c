// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/labels.h"

#include <string.h>

#include "base/candidates.h"

void labels_release(struct labels *l)
{
	intern_free(l->strings);
	vec_release(&l->offs);
}

/* What is too long is cut: no tracer reads as much. 0, which is "": there is no room. */
static uint32_t put(struct labels *l, struct wire_region *r, const char *s)
{
	uint32_t len = strnlen(s, WIRE_STRING_MAX - 1), number, off;

	if (!l->strings) {
		l->strings = intern_new();
		l->nr_bytes = 1;
	}
	number = intern_put(l->strings, s, len);
	if (number < l->offs.nr)
		return l->offs.v[number];
	off = len && len + 1 <= WIRE_STRING_BYTES - l->nr_bytes ? l->nr_bytes : 0;
	if (off) {
		memcpy(r->strings + off, s, len);
		l->nr_bytes += len + 1;
	}
	vec_push(&l->offs, off);
	return off;
}

/* As reports call it: of a list, what tracers leave out would make all of them look alike. */
static uint32_t put_type(struct labels *l, struct wire_region *r, const struct found_table *t)
{
	struct strbuf name = STRBUF_INIT;
	uint32_t off;

	label_candidates(&name, t->name, t->nr_candidates);
	off = put(l, r, name.s);
	strbuf_release(&name);
	return off;
}

static uint32_t kind_of(const struct found_table *t)
{
	if (t->kind == TRACE_HELPER)
		return WIRE_TASK_WORKER;
	return t->kind == TRACE_BLOCKING ? WIRE_TASK_BLOCKING : WIRE_TASK_POLLED;
}

void labels_plan(struct labels *l, struct wire_region *r, const struct found_table *t,
		 struct wire_table *plan)
{
	if (!wire_is_task_table(plan->kind))
		return;
	plan->name = put_type(l, r, t);
	plan->file = put(l, r, t->file);
	plan->line = t->line;
	plan->task_kind = kind_of(t);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/instances.h"

#define NUMBER_BITS 32 /* of what `numbers` has; above them: flags that were told */

void instances_release(struct instances *in)
{
	map_release(&in->numbers);
}

void instances_know(struct instances *in, const struct known_runtime *k)
{
	if (k->local_scheduler)
		in->known = k;
}

/* What the type does not tell. */
static const char *scheduler(const struct instances *in, uint64_t flags)
{
	if (!in->known || !flags)
		return "";
	return flags & EF_INSTANCE_LOCAL ? in->known->local_scheduler : in->known->other_scheduler;
}

void instances_number(struct instances *in, struct trace_writer *w, struct event *ev,
		      uint64_t *root)
{
	uint64_t key = ev->a + (ev->b << 48), *entry, addr = ev->a,
		 flags = (uint64_t)ev->flags << NUMBER_BITS;
	uint32_t max = ev->b ? TRACE_MAX_INSTANCES : TRACE_MAX_INSTANCES / 2; /* roots: no more */
	bool was_there;

	if (!ev->b)
		*root = addr;
	ev->a = 0;
	if (in->numbers.nr + 1 >= max) { /* some of these may be known */
		entry = map_get(&in->numbers, key);
		ev->a = entry ? (uint32_t)*entry : 0;
		return;
	}
	entry = map_put(&in->numbers, key, &was_there);
	if (!was_there)
		*entry = in->numbers.nr;
	if (!was_there || flags & ~*entry) {
		*entry |= flags;
		trace_writer_instance(
			w, (uint32_t)*entry,
			&(struct trace_instance){ .type = ev->type,
						  .owner = ev->b,
						  .addr = addr,
						  .scheduler = scheduler(in, *entry >> NUMBER_BITS),
						  .root = ev->b ? *root : 0 });
	}
	ev->a = (uint32_t)*entry;
}

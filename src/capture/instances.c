// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/instances.h"

void instances_release(struct instances *in)
{
	map_release(&in->numbers);
}

void instances_number(struct instances *in, struct trace_writer *w, struct event *ev)
{
	uint64_t key = ev->a + (ev->b << 48), *number;
	bool was_there;

	uint32_t max = ev->b ? TRACE_MAX_INSTANCES : TRACE_MAX_INSTANCES / 2; /* roots: no more */
	uint64_t addr = ev->a;

	ev->a = 0;
	if (in->numbers.nr + 1 >= max) { /* some of these may be known */
		number = map_get(&in->numbers, key);
		ev->a = number ? *number : 0;
		return;
	}
	number = map_put(&in->numbers, key, &was_there);
	if (!was_there) {
		*number = in->numbers.nr;
		trace_writer_instance(
			w, *number,
			&(struct trace_instance){ .type = ev->type, .owner = ev->b, .addr = addr });
	}
	ev->a = *number;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/perfetto.h"

static void put_value(struct strbuf *buf, unsigned counter, uint64_t time_ns, double value)
{
	struct proto w = proto_start(buf);
	struct event_mark m = event_open(&w, time_ns, TYPE_COUNTER, UUID_COUNTERS + counter);

	proto_double(&w, EVENT_DOUBLE_COUNTER, value);
	event_close(&w, m);
	proto_finish(&w, buf);
}

void perfetto_put_counters(struct counters *c, struct strbuf *buf)
{
	for (unsigned i = 0; i < NR_COUNTERS; i++) {
		struct load *l = c->loads[i];
		double last = -1;

		for (uint32_t bin = 0; bin < load_get_nr_bins(l); bin++) {
			double value = counters_get(c, i, bin);

			if (value != last)
				put_value(buf, i, load_get_bin_start(l, bin), value);
			last = value;
		}
	}
}

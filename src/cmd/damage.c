// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/damage.h"

#include <inttypes.h>

#include "cmd/command.h"

void damage_note(const struct trace *t, const char *path)
{
	const struct trace_damage *d = trace_get_damage(t);

	if (d->is_live)
		cmd_note("%s is still being recorded: this is what it has so far", path);
	else if (d->cut)
		cmd_note("%s was cut: its recorder died, or writes it without a lock", path);
	if (d->bad_blocks || d->bad_events || (d->bytes_skipped && !d->cut))
		cmd_note("%s is damaged: %" PRIu64 " blocks, %" PRIu64 " events and %" PRIu64
			 " bytes could not be read",
			 path, d->bad_blocks, d->bad_events, d->bytes_skipped);
}

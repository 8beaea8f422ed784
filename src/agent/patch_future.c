// SPDX-License-Identifier: MIT OR Apache-2.0
/* Tables of `dyn Future`, whose polls go to the stub of their future. */
#include "agent/hooks_futures.h"
#include "agent/patch.h"

static bool is_sane(const struct wire_table *t)
{
	return patch_is_slot(t, t->slot_poll) && t->id_off < WIRE_MAX_FUTURES;
}

/* A future may have several tables, one in each part of the program that makes a `dyn` of it. */
static bool hook(const struct wire_table *t, uint64_t *words, uint64_t base)
{
	const struct wire_future *plan = &core_page.region->futures[t->id_off];
	uint64_t poll = patch_planned(t, t->slot_poll, base);

	if (plan->redirect.kind != WIRE_FUTURE || plan->redirect.nr_bytes)
		return false;
	future_set(t->id_off, plan, poll, poll);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	patch_write(words + t->slot_poll, future_stub(t->id_off));
	return true;
}

static bool is_hooked(const struct wire_table *t, const uint64_t *words)
{
	return future_is_stub(words[t->slot_poll]);
}

const struct table_kind table_future = {
	.is_sane = is_sane,
	.hook = hook,
	.is_hooked = is_hooked,
};

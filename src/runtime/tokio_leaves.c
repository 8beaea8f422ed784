// SPDX-License-Identifier: MIT OR Apache-2.0
/* What futures of Tokio wait for. */
#include "runtime/leaf.h"
#include "runtime/tokio.h"

static const struct leaf_rule leaves[] = {
	{
		.type = "tokio::time::sleep::Sleep",
		.kind = "sleep",
		.fields = { { "remaining_ns", "deadline", LEAF_INSTANT } },
	},
	{
		.type = "tokio::runtime::task::join::JoinHandle<",
		.kind = "join",
		.fields = { { "task", "raw.ptr", LEAF_TASK } },
	},
	{
		.type = "tokio::runtime::io::scheduled_io::Readiness",
		.kind = "socket",
		.fields = { { "fd", "scheduled_io.*", LEAF_EPOLL } },
	},
	{
		.type = "tokio::runtime::io::registration::Registration",
		.kind = "socket",
		.fields = { { "fd", "shared.*", LEAF_EPOLL } },
	},
};

static const struct list_rule lists[] = {
	{
		.type = "tokio::task::join_set::JoinSet<",
		.heads = { "inner.lists.*.notified.head", "inner.lists.*.idle.head" },
		.next = "pointers.next",
		.value = "value",
	},
};

static const char *const shared[] = { "alloc::sync::Arc<tokio::net::", NULL };

const struct leaf_rules tokio_leaves = {
	.leaves = leaves,
	.nr_leaves = ARRAY_SIZE(leaves),
	.lists = lists,
	.nr_lists = ARRAY_SIZE(lists),
	.shared = shared,
};

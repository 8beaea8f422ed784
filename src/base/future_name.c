// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/future_name.h"

#include <string.h>

#include "base/rust_name.h"

/* Types by the last segments of their path: what stands in their arguments says nothing of them. */
static const struct {
	const char *type;
	unsigned traits;
} types[] = {
	{ "JoinAll", FUTURE_JOINS },
	{ "TryJoinAll", FUTURE_JOINS },
	{ "FuturesUnordered", FUTURE_JOINS },
	{ "FuturesOrdered", FUTURE_JOINS },
	{ "Join", FUTURE_JOINS },
	{ "TryJoin", FUTURE_JOINS },
	{ "MaybeDone", FUTURE_JOINS | FUTURE_KEEPS_DONE },
	{ "TryMaybeDone", FUTURE_JOINS | FUTURE_KEEPS_DONE },
	{ "poll_fn::PollFn", FUTURE_IS_POLL_FN },
	{ "pending::Pending", FUTURE_IS_PENDING },
};

static const char *const one_wait[] = { "tokio::sync::", "tokio::time::sleep",
					"tokio::time::interval", "tokio::time::timeout",
					"tokio::task::coop::" };

unsigned future_name_traits(const char *name)
{
	unsigned traits = 0;
	struct rust_name n;
	uint32_t path;

	rust_name_init(&n, name, strlen(name));
	path = rust_name_path(&n);
	for (size_t i = 0; path && rust_name_args(&n, path) && i < ARRAY_SIZE(types); i++)
		if (rust_name_path_ends(&n, path, types[i].type))
			traits |= types[i].traits;
	for (size_t i = 0; i < ARRAY_SIZE(one_wait); i++)
		if (str_has_prefix(name, one_wait[i]))
			traits |= FUTURE_IS_ONE_WAIT;
	rust_name_release(&n);
	return traits;
}

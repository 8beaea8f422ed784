// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/future_name.h"

#include <string.h>

#include "base/util.h"

static const struct known {
	const char *text;
	bool is_prefix; /* of the name; else it may stand anywhere in it */
	unsigned traits;
} futures[] = {
	{ "JoinAll", false, FUTURE_JOINS },
	{ "FuturesUnordered", false, FUTURE_JOINS },
	{ "FuturesOrdered", false, FUTURE_JOINS },
	{ "::Join<", false, FUTURE_JOINS },
	{ "::TryJoin<", false, FUTURE_JOINS },
	{ "MaybeDone", false, FUTURE_JOINS },
	{ "MaybeDone<", false, FUTURE_KEEPS_DONE },
	{ "::poll_fn::PollFn<", false, FUTURE_IS_POLL_FN },
	{ "::pending::Pending<", false, FUTURE_IS_PENDING },
	{ "tokio::sync::", true, FUTURE_IS_ONE_WAIT },
	{ "tokio::time::sleep", true, FUTURE_IS_ONE_WAIT },
	{ "tokio::time::interval", true, FUTURE_IS_ONE_WAIT },
	{ "tokio::time::timeout", true, FUTURE_IS_ONE_WAIT },
	{ "tokio::task::coop::", true, FUTURE_IS_ONE_WAIT },
};

bool future_name_has(const char *name, enum future_trait trait)
{
	for (size_t i = 0; i < ARRAY_SIZE(futures); i++)
		if (futures[i].traits & trait &&
		    (futures[i].is_prefix ? str_has_prefix(name, futures[i].text)
					  : strstr(name, futures[i].text) != NULL))
			return true;
	return false;
}

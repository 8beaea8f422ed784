// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/futures.h"

#include <string.h>

static bool has_one(const struct opt_list *parts, const struct trace_step *s)
{
	for (size_t i = 0; i < parts->nr; i++)
		if (strstr(s->future, parts->v[i]) || strstr(s->function, parts->v[i]))
			return true;
	return false;
}

bool futures_wants(const struct futures_opts *o, const struct trace_step *s)
{
	if (has_one(&o->show, s))
		return true;
	return (s->is_generated || !o->only_generated) && !has_one(&o->hide, s);
}

bool futures_is_set(const struct futures_opts *o)
{
	return o->only_generated || o->show.nr || o->hide.nr;
}

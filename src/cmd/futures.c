// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/futures.h"

#include <string.h>

static bool has_one(const struct opt_list *parts, const char *type, const char *function)
{
	for (size_t i = 0; i < parts->nr; i++)
		if (strstr(type, parts->v[i]) || strstr(function, parts->v[i]))
			return true;
	return false;
}

static bool wants(const struct futures_opts *o, const char *type, const char *function,
		  bool is_generated)
{
	if (has_one(&o->show, type, function))
		return true;
	return (is_generated || !o->only_generated) && !has_one(&o->hide, type, function);
}

bool futures_want_step(const struct futures_opts *o, const struct trace_step *s)
{
	return wants(o, s->future, s->function, s->is_generated);
}

bool futures_want(const struct futures_opts *o, const struct trace_future *f)
{
	return wants(o, f->name, f->function, f->is_generated);
}

bool futures_is_set(const struct futures_opts *o)
{
	return o->only_generated || o->show.nr || o->hide.nr;
}

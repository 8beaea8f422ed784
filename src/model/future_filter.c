// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/future_filter.h"

#include <string.h>

static bool has_one(const struct opt_list *parts, const char *type, const char *function)
{
	for (size_t i = 0; i < parts->nr; i++)
		if (strstr(type, parts->v[i]) || strstr(function, parts->v[i]))
			return true;
	return false;
}

static bool wants(const struct future_filter *f, const char *type, const char *function,
		  bool is_generated)
{
	if (has_one(&f->show, type, function))
		return true;
	return (is_generated || !f->only_generated) && !has_one(&f->hide, type, function);
}

bool future_filter_is_set(const struct future_filter *f)
{
	return f->only_generated || f->show.nr || f->hide.nr;
}

bool future_filter_wants(const struct future_filter *f, const struct trace_future *future)
{
	return wants(f, future->name, future->function, future->is_generated);
}

bool future_filter_wants_step(const struct future_filter *f, const struct trace_step *s)
{
	return wants(f, s->future, s->function, s->is_generated);
}

bool *future_filter_of_awaits(const struct future_filter *f, const struct recording *rec)
{
	bool *shown;

	if (!future_filter_is_set(f))
		return NULL;
	shown = xcalloc((size_t)rec->awaits.nr_futures + 1, sizeof(*shown));
	for (uint32_t i = 0; i < rec->awaits.nr_futures; i++)
		shown[i] = future_filter_wants_step(f, &rec->steps[rec->awaits.futures[i]]);
	return shown;
}

bool *future_filter_of_polls(const struct future_filter *f, const struct recording *rec)
{
	bool *shown;

	if (!future_filter_is_set(f))
		return NULL;
	shown = xcalloc((size_t)rec->nr_futures + 1, sizeof(*shown));
	for (uint32_t i = 0; i < rec->nr_futures; i++)
		shown[i] = future_filter_wants(f, &rec->futures[i]);
	return shown;
}

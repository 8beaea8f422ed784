// SPDX-License-Identifier: MIT OR Apache-2.0
/* Finds rules by type. */
#include "future/leaf.h"

#include <string.h>

#include "runtime/runtime.h"

/* "a::B<" fits "a::B<C>", "a::B" only itself. */
static bool fits(const char *rule, const char *type)
{
	size_t len = strlen(rule);

	return len && rule[len - 1] == '<' ? strncmp(rule, type, len) == 0
					   : strcmp(rule, type) == 0;
}

static const struct leaf_rules *rules_at(size_t i)
{
	return i ? runtimes[i - 1]->leaves : &library_leaves;
}

/* Runtimes may have none. */
#define each_rules(r)                                          \
	for (size_t at = 0; at == 0 || runtimes[at - 1]; at++) \
		for (const struct leaf_rules *r = rules_at(at); r; r = NULL)

const struct leaf_rule *leaf_find(const char *type)
{
	each_rules (r)
		for (size_t i = 0; i < r->nr_leaves; i++)
			if (fits(r->leaves[i].type, type))
				return &r->leaves[i];
	return NULL;
}

const struct list_rule *leaf_find_list(const char *type)
{
	each_rules (r)
		for (size_t i = 0; i < r->nr_lists; i++)
			if (fits(r->lists[i].type, type))
				return &r->lists[i];
	return NULL;
}

static bool is_listed(const char *const *types, const char *type)
{
	for (; types && *types; types++)
		if (str_has_prefix(type, *types))
			return true;
	return false;
}

const struct guard_rule *leaf_find_guard(const char *type)
{
	each_rules (r)
		for (size_t i = 0; i < r->nr_guards; i++)
			if (fits(r->guards[i].type, type))
				return &r->guards[i];
	return NULL;
}

const struct shared_rule *leaf_find_shared(const char *type)
{
	each_rules (r)
		for (size_t i = 0; i < r->nr_shared; i++)
			if (str_has_prefix(type, r->shared[i].type))
				return &r->shared[i];
	return NULL;
}

bool leaf_is_ready(const char *type)
{
	each_rules (r)
		if (is_listed(r->ready, type))
			return true;
	return false;
}

/* Where the first type argument begins of what is fed by it; NULL: it is none of these. */
static const char *source_of(const char *type)
{
	each_rules (r)
		for (const char *const *f = r->fed; f && *f; f++)
			if (str_has_prefix(type, *f))
				return type + strlen(*f);
	return NULL;
}

bool leaf_is_fed(const char *type)
{
	const char *source = source_of(type);

	while (source && !leaf_is_ready(source))
		source = source_of(source);
	return source;
}

bool leaf_is_passing(const char *type)
{
	each_rules (r)
		if (is_listed(r->passing, type))
			return true;
	return false;
}

bool leaf_is_never(const char *type)
{
	each_rules (r)
		if (is_listed(r->never, type))
			return true;
	return false;
}

bool leaf_is_loop(const char *type)
{
	const char *args = strchr(type, '<');

	each_rules (r) {
		const char *loop = r->loop ? strstr(type, r->loop) : NULL;

		if (loop && (!args || loop < args) && str_has_prefix(type, r->loop_crate))
			return true;
	}
	return false;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/source.h"

#include <string.h>

#include "base/crate_path.h"
#include "base/rust_name.h"
#include "base/util.h"
#include "runtime/runtime.h"

/* Folders that hold what others wrote. */
static const char *const of_rust[] = { "/rustc/", "/rustlib/src/rust/", NULL };
static const char *const fetched[] = { "/registry/src/", "/cargo/registry/", "/git/checkouts/",
				       "/vendor/", NULL };

static bool holds_one(const char *file, const char *const *parts)
{
	for (; parts && *parts; parts++)
		if (strstr(file, *parts))
			return true;
	return false;
}

/* "-0123456789abcdef/": what cargo adds to the name of a repository. */
static bool is_checkout(const char *s)
{
	return s[0] == '-' && strspn(s + 1, "0123456789abcdef") == 16 && s[17] == '/';
}

/* Is there a folder NAME-1.2.3 in it, or, where cargo puts what it fetched, any of that NAME? */
static bool is_of_crate(const char *file, const char *name, bool is_fetched)
{
	size_t len = strlen(name);

	for (const char *at = file; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, name, len) != 0)
			continue;
		if (crate_skip_version(at + len) ||
		    (is_fetched && (str_has_prefix(at + len, "/src/") || is_checkout(at + len))))
			return true;
	}
	return false;
}

static bool is_of_runtime(const char *file, const struct runtime *r, bool is_fetched)
{
	for (const char *const *crate = r->crates; *crate; crate++)
		if (is_of_crate(file, *crate, is_fetched))
			return true;
	return holds_one(file, r->copies);
}

enum source_owner source_owner(const char *file)
{
	bool is_fetched = holds_one(file, fetched);

	if (holds_one(file, of_rust))
		return SOURCE_OF_RUNTIME;
	for (size_t i = 0; runtimes[i]; i++)
		if (is_of_runtime(file, runtimes[i], is_fetched))
			return SOURCE_OF_RUNTIME;
	return is_fetched || crate_find_version(file) || str_has_prefix(file, "vendor/")
		       ? SOURCE_OF_LIBRARY
		       : SOURCE_OF_PROGRAM;
}

bool source_allocates(const char *file)
{
	return holds_one(file, of_rust) && strstr(file, "/library/alloc/src/alloc.rs");
}

bool source_spawns_local(const struct source_function *f)
{
	for (size_t i = 0; runtimes[i]; i++)
		if (runtimes[i]->spawns_local && runtimes[i]->spawns_local(f))
			return true;
	return false;
}

const char *source_scheduler(const struct source_function *f)
{
	const char *name = NULL;

	for (size_t i = 0; runtimes[i] && !name; i++)
		name = runtimes[i]->scheduler ? runtimes[i]->scheduler(f) : NULL;
	return name;
}

/* Crates are called with a `-`, paths with a `_`. */
static bool is_crate(const char *crate, const char *path, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (crate[i] != path[i] && (crate[i] != '-' || path[i] != '_'))
			return false;
	return !crate[len];
}

static bool is_one_of(const char *const *crates, const char *path, size_t len)
{
	for (; *crates; crates++)
		if (is_crate(*crates, path, len))
			return true;
	return false;
}

enum source_owner source_owner_of_path(const char *path)
{
	static const char *const of_rust_crates[] = { "core", "alloc", "std", NULL };
	struct rust_name n;
	struct span crate;

	rust_name_init(&n, path, strlen(path));
	crate = rust_name_crate(&n, RUST_NAME_ROOT);
	rust_name_release(&n);
	if (is_one_of(of_rust_crates, crate.s, crate.len))
		return SOURCE_OF_RUNTIME;
	for (size_t i = 0; runtimes[i]; i++)
		if (is_one_of(runtimes[i]->crates, crate.s, crate.len))
			return SOURCE_OF_RUNTIME;
	return SOURCE_OF_PROGRAM;
}

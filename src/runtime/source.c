// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/source.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"

/* Folders that hold what others wrote. */
static const char *const of_rust[] = { "/rustc/", "/rustlib/src/rust/" };
static const char *const fetched[] = { "/registry/src/", "/cargo/registry/", "/git/checkouts/",
				       "/vendor/" };
/* A copy of a runtime beside the program. Its folder alone says nothing: programs have such names
 * too. */
static const char *const copies[] = { "/tokio/src/runtime/", "/tokio/src/task/" };
/* Crates that a spawn goes through inside of a runtime. */
static const char *const runtimes[] = { "tokio",	  "async-std", "async-task",
					"async-executor", "async-io",  "async-global-executor",
					"smol",		  "blocking" };

static bool holds_one(const char *file, const char *const *parts, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

/* "-1.2.3/": a version (not a number: "tokio-101"), and the end of the component. */
static const char *skip_version(const char *s)
{
	size_t nr = s[0] == '-' ? strspn(s + 1, "0123456789") : 0;

	if (!nr || s[1 + nr] != '.' || !isdigit((unsigned char)s[2 + nr]))
		return NULL;
	s += strcspn(s, "/");
	return *s ? s : NULL;
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
		if (skip_version(at + len) ||
		    (is_fetched && (str_has_prefix(at + len, "/src/") || is_checkout(at + len))))
			return true;
	}
	return false;
}

/* With trimmed paths a crate's files begin with its name and version. */
static bool is_trimmed_crate(const char *file)
{
	const char *slash = strchr(file, '/');

	if (file[0] == '/' || !slash)
		return false;
	for (const char *s = file; s < slash; s++)
		if (skip_version(s) == slash)
			return true;
	return false;
}

enum source_owner source_owner(const char *file)
{
	bool is_fetched = holds_one(file, fetched, ARRAY_SIZE(fetched));

	if (holds_one(file, of_rust, ARRAY_SIZE(of_rust)) ||
	    holds_one(file, copies, ARRAY_SIZE(copies)))
		return SOURCE_OF_RUNTIME;
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (is_of_crate(file, runtimes[i], is_fetched))
			return SOURCE_OF_RUNTIME;
	return is_fetched || is_trimmed_crate(file) || str_has_prefix(file, "vendor/")
		       ? SOURCE_OF_LIBRARY
		       : SOURCE_OF_PROGRAM;
}

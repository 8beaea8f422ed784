// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/crate_path.h"

#include <stddef.h>
#include <string.h>

#define DIGITS	"0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

const char *crate_skip_version(const char *s)
{
	for (unsigned i = 0; i < 3; i++) {
		size_t nr = *s == (i ? '.' : '-') ? strspn(s + 1, DIGITS) : 0;

		if (!nr)
			return NULL;
		s += 1 + nr;
	}
	if (*s == '-' || *s == '+') /* a pre-release, the build */
		s += strspn(s, DIGITS LETTERS "-+.");
	return *s == '/' ? s : NULL;
}

const char *crate_find_version(const char *file)
{
	const char *slash = strchr(file, '/');

	for (const char *s = file; slash && s < slash; s++)
		if (s > file && crate_skip_version(s) == slash)
			return s;
	return NULL;
}

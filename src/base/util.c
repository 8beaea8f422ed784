// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/util.h"

#include <stdio.h>
#include <string.h>

static void (*on_no_memory)(void);

void set_no_memory_handler(void (*handler)(void))
{
	on_no_memory = handler;
}

static _Noreturn void no_memory(void)
{
	if (on_no_memory)
		on_no_memory();
	abort();
}

/* Out of memory: nothing sensible is left to do, and every caller would only do this. */
static void *check(void *p)
{
	if (unlikely(!p))
		no_memory();
	return p;
}

void *xmalloc(size_t size)
{
	return check(malloc(size ? size : 1));
}

void *xcalloc(size_t nr, size_t size)
{
	return check(calloc(nr ? nr : 1, size ? size : 1));
}

void *xaligned_alloc(size_t align, size_t size)
{
	return check(aligned_alloc(align, size));
}

void *xrealloc(void *p, size_t size)
{
	return check(realloc(p, size ? size : 1));
}

void *xreallocarray(void *p, size_t nr, size_t size)
{
	return check(reallocarray(p, nr ? nr : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return check(strdup(s));
}

char *xstrndup(const char *s, size_t len)
{
	return check(strndup(s, len));
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s;

	return check(vasprintf(&s, fmt, ap) < 0 ? NULL : s);
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}

bool str_has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && memcmp(s + n - k, suffix, k) == 0;
}

bool str_has_item(const char *list, const char *item, const char *separator)
{
	size_t n = strlen(item);

	for (;;) {
		const char *end = strstr(list, separator);
		size_t len = end ? (size_t)(end - list) : strlen(list);

		if (len == n && memcmp(list, item, n) == 0)
			return true;
		if (!end)
			return false;
		list = end + strlen(separator);
	}
}

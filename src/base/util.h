// SPDX-License-Identifier: MIT OR Apache-2.0
/* Small things that every file may use. Allocation never fails: out of memory ends the tool, by the
 * handler that was set. */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ARRAY_SIZE(a)	  (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)	  ((a) < (b) ? (a) : (b))
#define MAX(a, b)	  ((a) > (b) ? (a) : (b))
#define ROUND_UP(x, to)	  (((x) + (to)-1) / (to) * (to))
#define likely(x)	  __builtin_expect(!!(x), 1)
#define unlikely(x)	  __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE	  inline __attribute__((always_inline))
#define NOINLINE	  __attribute__((noinline))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/*
 * Binary search. The first ones of nr elements fit a condition and the others do not: how many do?
 * In other words, which is the first that does not? The condition calls its element i:
 *
 *	first = partition_point(i, nr, v[i].va < va);
 */
#define partition_point(i, nr, condition)                           \
	({                                                          \
		size_t low_ = 0, high_ = (nr);                      \
                                                                    \
		while (low_ < high_) {                              \
			const size_t i = low_ + (high_ - low_) / 2; \
                                                                    \
			if (condition)                              \
				low_ = i + 1;                       \
			else                                        \
				high_ = i;                          \
		}                                                   \
		low_;                                               \
	})

/* Called when there is no memory. It must neither return nor allocate; without one the tool
 * aborts. */
void set_no_memory_handler(void (*handler)(void));
void *xmalloc(size_t size);
void *xcalloc(size_t nr, size_t size);
void *xaligned_alloc(size_t align, size_t size); /* size: a multiple of align */
void *xrealloc(void *p, size_t size);
void *xreallocarray(void *p, size_t nr, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len);
char *xasprintf(const char *fmt, ...) PRINTF(1, 2);
char *xvasprintf(const char *fmt, va_list ap) PRINTF(1, 0);

bool str_has_prefix(const char *s, const char *prefix);
bool str_has_suffix(const char *s, const char *suffix);
/* Is it one of the items that separators stand between? */
bool str_has_item(const char *list, const char *item, const char *separator);

#endif

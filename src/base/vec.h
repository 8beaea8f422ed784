// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Typed growing arrays: `VEC(struct foo) foos = {0};` then foos.v[i] for i < foos.nr. Zeroed memory
 * is an empty vector. Pushing may move the elements.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/util.h"

#define VEC(type)               \
	struct {                \
		type *v;        \
		size_t nr, cap; \
	}

#define vec_grow(vec, more)                                                                    \
	do {                                                                                   \
		if ((vec)->nr + (more) > (vec)->cap) {                                         \
			(vec)->cap = MAX((vec)->nr + (more), MAX((vec)->cap * 2, (size_t)16)); \
			(vec)->v = xreallocarray((vec)->v, (vec)->cap, sizeof(*(vec)->v));     \
		}                                                                              \
	} while (0)

#define vec_push(vec, ...)                             \
	do {                                           \
		vec_grow(vec, 1);                      \
		(vec)->v[(vec)->nr++] = (__VA_ARGS__); \
	} while (0)

#define vec_release(vec)                    \
	do {                                \
		free((vec)->v);             \
		(vec)->v = NULL;            \
		(vec)->nr = (vec)->cap = 0; \
	} while (0)

/* An empty vector has no memory, and NULL + 0 is undefined in C: hence the test of nr first. */
#define vec_each(item, vec) \
	for (typeof(*(vec)->v) *item = (vec)->v; (vec)->nr && item < (vec)->v + (vec)->nr; item++)

#endif

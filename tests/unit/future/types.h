// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Types that a test made up: what symbol/layout.h would tell of a program. They are all gone after
 * types_release; numbers are those of the layouts, whichever `struct layouts *` is given.
 */
#ifndef TESTS_RUNTIME_TYPES_H
#define TESTS_RUNTIME_TYPES_H

#include "unit.h"

#include "symbol/layout.h"

/* The name is copied. Without members, variants or a target. */
uint32_t type_new(const char *name, enum layout_kind kind, uint64_t size_bytes);
/* To be changed as a test likes. */
struct layout *type_of(uint32_t type);
void type_member(uint32_t type, const char *name, uint32_t member, uint64_t off);
/* Returns its index. */
uint32_t type_variant(uint32_t type, const char *name, uint64_t value);
void type_variant_member(uint32_t type, uint32_t variant, const char *name, uint32_t member,
			 uint64_t off);

/* An async fn of NAME.rs, whose state is the byte at state_off; not started is 0, done 1. */
uint32_t type_async(const char *name, uint64_t size_bytes, uint64_t state_off);
/* An await in it; its state is 3 for the first and so on, which is returned. */
uint32_t type_await(uint32_t async, uint32_t line, uint32_t awaitee, uint64_t off);
/* tokio's Sleep, 8 bytes: a leaf. */
uint32_t type_sleep(void);
/* Box<T>, Pin<Box<T>> and &mut T. */
uint32_t type_box(uint32_t target);
uint32_t type_pin_box(uint32_t target);
uint32_t type_mut(uint32_t target);
/* Box<dyn Future>: pointer, then table. */
uint32_t type_dyn(void);
/* MaybeDone<T>: the number in the first word is 0 before it is done; the future lies behind it. */
uint32_t type_maybe_done(uint32_t future);
/* A table of a dyn, in order of va. */
void type_vtable(uint64_t va, uint32_t type);
void types_release(void);

#endif

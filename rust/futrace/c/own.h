// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the two files with probes share. */
#ifndef OWN_H
#define OWN_H

#include <stdint.h>

#include "usdt.h"

/*
 * The plain no-op, of one byte, which no kernel makes cheap. Linux 6.18 puts a call in place of the
 * longer one, into a page that a child by fork does not get: it dies at its first probe. The agent
 * fires none in such a child; a program does.
 */
#undef USDT_NOP
#define USDT_NOP "nop"

/* A symbol of this version of the crate; SUFFIX comes from build.rs. */
#define OWN_PASTE_(a, b)			   a##b
#define OWN_PASTE(a, b)				   OWN_PASTE_(a, b)
#define OWN_STRING_(a)				   #a
#define OWN_STRING(a)				   OWN_STRING_(a)
#define OWN(name)				   OWN_PASTE(name, SUFFIX)
#define OWN_BEGIN(semaphores)			   USDT_BEGIN(semaphores)
#define OWN_PROBE(symbol, provider, name, operands) USDT_PROBE(symbol, provider, name, operands)

#ifdef FOR_PERF /* which takes names of C only */
#define DASH "_"
#else
#define DASH "-"
#endif

/*
 * Linkers throw away what nobody calls, but never notes, which would then tell of code that is not
 * there, and of semaphores. So each file has an array of what must stay.
 */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define OWN_KEEP __attribute__((used, retain))
#endif
#endif
#ifndef OWN_KEEP
#define OWN_KEEP __attribute__((used))
#endif

extern const char usdt_base[] __asm__("_.stapsdt.base");

#endif

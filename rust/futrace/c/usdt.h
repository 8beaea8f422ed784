// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * USDT probes as bpftrace, perf, SystemTap and DTrace know them: a nop, and a note (version 3 of
 * "stapsdt") that tells where it is, which registers hold the arguments, and where the semaphore
 * lies that the kernel raises for each tracer. Whoever fires a probe looks at its semaphore first.
 *
 * Code with probes is compiled without a red zone: a tracer may replace the nop by a call.
 */
#ifndef USDT_H
#define USDT_H

#include <stdint.h>

/* A symbol of this copy of the crate; SUFFIX comes from build.rs. */
#define USDT_PASTE_(a, b) a##b
#define USDT_PASTE(a, b)  USDT_PASTE_(a, b)
#define USDT_STRING_(a)	  #a
#define USDT_STRING(a)	  USDT_STRING_(a)
#define OWN(name)	  USDT_PASTE(name, SUFFIX)

#ifdef FOR_PERF /* which takes names of C only */
#define DASH "_"
#else
#define DASH "-"
#endif

/*
 * For functions with probes: linkers throw away what nobody calls, but never notes, which would then
 * tell of code that is not there.
 */
#if defined(__has_attribute) && __has_attribute(retain)
#define USDT_KEEP __attribute__((used, retain))
#else
#define USDT_KEEP __attribute__((used))
#endif

/* "R": linkers that throw away what nobody refers to must not, for notes do not count. */
#define USDT_BASE                                                                        \
	"	.ifndef _.stapsdt.base\n"                                                \
	"	.pushsection .stapsdt.base,\"aGR\",\"progbits\",.stapsdt.base,comdat\n"  \
	"	.weak _.stapsdt.base\n"                                                  \
	"	.hidden _.stapsdt.base\n"                                                \
	"_.stapsdt.base: .space 1\n"                                                     \
	"	.size _.stapsdt.base, 1\n"                                               \
	"	.popsection\n"                                                           \
	"	.endif\n"

/*
 * Fires a probe. provider and name are strings, semaphore is a symbol of ours with an offset, both
 * as text; arguments say of each "SIZE@%OPERAND".
 */
#define USDT(provider, name, semaphore, arguments, ...)                \
	__asm__ volatile("990:	nop\n"                                 \
			 "	.pushsection .note.stapsdt,\"\",\"note\"\n" \
			 "	.balign 4\n"                           \
			 "	.4byte 992f-991f, 994f-993f, 3\n"      \
			 "991:	.asciz \"stapsdt\"\n"                  \
			 "992:	.balign 4\n"                           \
			 "993:	.8byte 990b, _.stapsdt.base, " semaphore "\n" \
			 "	.asciz \"" provider "\"\n"             \
			 "	.asciz \"" name "\"\n"                 \
			 "	.asciz \"" arguments "\"\n"            \
			 "994:	.balign 4\n"                           \
			 "	.popsection\n" USDT_BASE               \
			 :                                             \
			 : __VA_ARGS__                                 \
			 : "memory")

#endif

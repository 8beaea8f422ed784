// SPDX-License-Identifier: MIT OR Apache-2.0
/* Shared by the two files with probes. */
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
 * Linkers discard uncalled code, but never notes, which would then tell of code that is not
 * there, and of semaphores: lld lets them say that it is at 0, and gold gives up. So each file has
 * a note of this kind. It is loaded, unlike those of probes, and what it speaks of stays with it,
 * in all linkers. Distances need no relocation when it is. Its type has no readers. The
 * attribute `retain` would do the same, if all compilers had it.
 */
#define OWN_KEEP(site, semaphores)                                               \
	".pushsection .note.futrace.kept, \"a\", %note\n"                        \
	".balign 4\n"                                                            \
	".4byte 992f - 991f, 994f - 993f, 2\n"                                   \
	"991: .asciz \"futrace\"\n"                                              \
	"992: .balign 4\n"                                                       \
	"993: .4byte " OWN_STRING(site) " - ., " OWN_STRING(semaphores) " - .\n" \
	".4byte _.stapsdt.base - .\n"                                            \
	"994: .popsection\n"

#endif

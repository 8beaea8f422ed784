// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A USDT probe as a function of its own: a no-op that tracers may put a breakpoint on, `ret`, and a
 * note of the kind "stapsdt" that says where it is, where its arguments are, and which counter (the
 * *semaphore*) the kernel raises while a tracer is attached. perf, bpftrace, bcc, SystemTap, libbpf
 * and DTrace read such notes. One asm statement holds all probes of an object:
 *
 *	__asm__(USDT_BEGIN(semaphores)
 *		USDT_PROBE(symbol, "provider", "name", USDT_OPERAND_1_u64 USDT_OPERAND_2_str)
 *		USDT_END);
 *
 * `semaphores` then is an array of uint16_t, one for each probe in this order, and a probe fires by
 * a call of `symbol`, whose arguments are those of the note. Nothing here needs another header, so
 * that this file can be compiled into other programs as it is.
 *
 * Why not <sys/sdt.h>: it makes a symbol of the probe's name, which cannot have a hyphen then, and
 * it puts its no-op into the middle of whatever function it is used in. There a uprobe that the
 * kernel has replaced by a call, which is cheaper than a breakpoint, may overwrite variables: it
 * pushes a word below the stack pointer, where a function that calls nothing keeps some (the *red
 * zone*). Whoever calls a function of ours keeps nothing there.
 *
 * The no-op that the note names is of one byte, which is always a breakpoint. Behind it is one of
 * ten, which tracers and kernels that know better take (libbpf's USDT does so): later kernels
 * replace that one by a call.
 *
 * Linux 6.18 and those after it do so with one of five, for any tracer. Many of them are not to
 * be trusted with it: when the tracer goes, the call stays, and the next one may leave half of it
 * behind, which is no instruction. All of them lead a child by fork to a page that it does not
 * have. So USDT_PROBE_TWICE makes a second site of that kind, with a note of its own and the same
 * semaphore, for callers that know when to call which: tracers attach to both, one of them is
 *called.
 *
 * Where a site is in the file, most tracers learn from the program headers. perf takes the section
 * .stapsdt.base to be as far from its address as the code is. Elsewhere that section is data, and
 * LLD, which leaves out what would align segments in the file, makes that a mistake of a page: perf
 * attaches to some other instruction. So here it lies with the code.
 */
#ifndef ARCH_USDT_H
#define ARCH_USDT_H

#if defined(__x86_64__)
#define USDT_NOP	   "nop\n.byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00"
#define USDT_NOP_FOR_CALL  ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#define USDT_OPERAND_1_u64 "8@%rdi"
#define USDT_OPERAND_2_u64 " 8@%rsi"
#define USDT_OPERAND_3_u64 " 8@%rdx"
#define USDT_OPERAND_4_u64 " 8@%rcx"
#define USDT_OPERAND_5_u64 " 8@%r8"
#define USDT_OPERAND_6_u64 " 8@%r9"
#define USDT_OPERAND_1_u32 "4@%edi"
#define USDT_OPERAND_2_u32 " 4@%esi"
#define USDT_OPERAND_3_u32 " 4@%edx"
#define USDT_OPERAND_4_u32 " 4@%ecx"
#define USDT_OPERAND_5_u32 " 4@%r8d"
#define USDT_OPERAND_6_u32 " 4@%r9d"
#elif defined(__aarch64__)
#define USDT_NOP	   "nop"
#define USDT_NOP_FOR_CALL  "nop"
#define USDT_OPERAND_1_u64 "8@x0"
#define USDT_OPERAND_2_u64 " 8@x1"
#define USDT_OPERAND_3_u64 " 8@x2"
#define USDT_OPERAND_4_u64 " 8@x3"
#define USDT_OPERAND_5_u64 " 8@x4"
#define USDT_OPERAND_6_u64 " 8@x5"
#define USDT_OPERAND_1_u32 "4@x0"
#define USDT_OPERAND_2_u32 " 4@x1"
#define USDT_OPERAND_3_u32 " 4@x2"
#define USDT_OPERAND_4_u32 " 4@x3"
#define USDT_OPERAND_5_u32 " 4@x4"
#define USDT_OPERAND_6_u32 " 4@x5"
#else
#error "no USDT probes for this processor"
#endif

/* a pointer to a string that ends with NUL */
#define USDT_OPERAND_1_str USDT_OPERAND_1_u64
#define USDT_OPERAND_2_str USDT_OPERAND_2_u64
#define USDT_OPERAND_3_str USDT_OPERAND_3_u64
#define USDT_OPERAND_4_str USDT_OPERAND_4_u64
#define USDT_OPERAND_5_str USDT_OPERAND_5_u64
#define USDT_OPERAND_6_str USDT_OPERAND_6_u64

/* For prototypes: a comma before all parameters but the first, and C's name of a type. */
#define USDT_COMMA_1
#define USDT_COMMA_2 ,
#define USDT_COMMA_3 ,
#define USDT_COMMA_4 ,
#define USDT_COMMA_5 ,
#define USDT_COMMA_6 ,
#define USDT_C_u64   uint64_t
#define USDT_C_u32   uint32_t
#define USDT_C_str   const char *

/* Behind the array there is room enough to read it by whole words. */
#define USDT_BEGIN(semaphores)                                                    \
	".pushsection .stapsdt.base, \"axG\", %progbits, .stapsdt.base, comdat\n" \
	".weak _.stapsdt.base\n"                                                  \
	".hidden _.stapsdt.base\n"                                                \
	"_.stapsdt.base: .space 1\n"                                              \
	".size _.stapsdt.base, 1\n"                                               \
	".popsection\n"                                                           \
	".pushsection .probes, \"aw\", %progbits\n"                               \
	".balign 8\n"                                                             \
	".globl " #semaphores "\n"                                                \
	".hidden " #semaphores "\n" #semaphores ":\n"                             \
	".popsection\n"

#define USDT_END                                    \
	".pushsection .probes, \"aw\", %progbits\n" \
	".space 8\n"                                \
	".popsection\n"

#define USDT_SEMAPHORE                              \
	".pushsection .probes, \"aw\", %progbits\n" \
	"990: .2byte 0\n"                           \
	".popsection\n"

/* A semaphore that no note speaks of: keeps the numbers of those behind it. */
#define USDT_NO_PROBE USDT_SEMAPHORE

#define USDT_FUNCTION(symbol, body)                    \
	".pushsection .text\n"                         \
	".p2align 4\n"                                 \
	".globl " #symbol "\n"                         \
	".hidden " #symbol "\n"                        \
	".type " #symbol ", %function\n" #symbol ":\n" \
	".cfi_startproc\n" body ".cfi_endproc\n"       \
	".size " #symbol ", . - " #symbol "\n"         \
	".popsection\n"

/* The semaphore that was made last. */
#define USDT_NOTE(site, provider, name, operands)                   \
	".pushsection .note.stapsdt, \"\", %note\n"                 \
	".balign 4\n"                                               \
	".4byte 992f - 991f, 994f - 993f, 3\n"                      \
	"991: .asciz \"stapsdt\"\n"                                 \
	"992: .balign 4\n"                                          \
	"993: .8byte " #site ", _.stapsdt.base, 990b\n"             \
	".asciz \"" provider "\", \"" name "\", \"" operands "\"\n" \
	"994: .balign 4\n"                                          \
	".popsection\n"

#define USDT_PROBE(symbol, provider, name, operands) \
	USDT_SEMAPHORE                               \
	USDT_FUNCTION(symbol, USDT_NOP "\n"          \
				       "ret\n")      \
	USDT_NOTE(symbol, provider, name, operands)

/* One function with two entries: the other is symbol_call. */
#define USDT_PROBE_TWICE(symbol, provider, name, operands)                  \
	USDT_SEMAPHORE                                                      \
	USDT_FUNCTION(symbol, USDT_NOP "\n"                                 \
				       "ret\n"                              \
				       ".p2align 4\n"                       \
				       ".globl " #symbol "_call\n"          \
				       ".hidden " #symbol "_call\n" #symbol \
				       "_call:\n" USDT_NOP_FOR_CALL "\n"    \
				       "ret\n")                             \
	USDT_NOTE(symbol, provider, name, operands)                         \
	USDT_NOTE(symbol##_call, provider, name, operands)

#endif

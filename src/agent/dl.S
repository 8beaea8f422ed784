// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * dlopen, dlmopen and dlsym look at their return address to learn who asks: RUNPATH, $ORIGIN and RTLD_NEXT depend on it.
 * So we must not call them from a frame of our own. These thunks do our work first and then *jump*: the real
 * function sees the program's return address. What dlopen loaded is looked for at the next dlsym.
 */
	.text
	.macro thunk name before real
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	endbr64
	push %rdi
	.cfi_adjust_cfa_offset 8
	push %rsi
	.cfi_adjust_cfa_offset 8
	push %rdx
	.cfi_adjust_cfa_offset 8
	call \before
	pop %rdx
	.cfi_adjust_cfa_offset -8
	pop %rsi
	.cfi_adjust_cfa_offset -8
	pop %rdi
	.cfi_adjust_cfa_offset -8
	jmp *\real(%rip)
	.cfi_endproc
	.size \name, . - \name
	.endm

	thunk dlopen agent_before_dlopen agent_real_dlopen
	thunk dlmopen agent_before_dlopen agent_real_dlmopen
	thunk dlsym agent_before_dlsym agent_real_dlsym

	.section .note.GNU-stack, "", @progbits

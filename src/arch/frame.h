// SPDX-License-Identifier: MIT OR Apache-2.0
/* Registers by which frames are found, by their numbers in DWARF. */
#ifndef ARCH_FRAME_H
#define ARCH_FRAME_H

#define ARCH_DWARF_FRAME_POINTER 6  /* rbp */
#define ARCH_DWARF_STACK_POINTER 7  /* rsp */
#define ARCH_DWARF_RETURN	 16 /* the return address's column */
#define ARCH_RETURN_OFF		 -8 /* where a call puts it, from the canonical frame address */

#endif

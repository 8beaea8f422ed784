// SPDX-License-Identifier: MIT OR Apache-2.0
/* What files of this machine have in their headers, and how addresses in them are relocated. */
#ifndef ARCH_ELF_H
#define ARCH_ELF_H

#include <elf.h>

#define ARCH_NAME	    "x86-64"
#define ARCH_ELF_MACHINE    EM_X86_64
#define ARCH_RELOC_RELATIVE R_X86_64_RELATIVE /* the base and the addend */
#define ARCH_RELOC_SYMBOL   R_X86_64_64	      /* the symbol's address and the addend */

#endif

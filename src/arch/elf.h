// SPDX-License-Identifier: MIT OR Apache-2.0
/* The numbers in ELF headers of this machine, and how its files are relocated. */
#ifndef ARCH_ELF_H
#define ARCH_ELF_H

#include <elf.h>

#define ARCH_NAME	    "x86-64"
#define ARCH_ELF_MACHINE    EM_X86_64
#define ARCH_RELOC_RELATIVE R_X86_64_RELATIVE /* the base and the addend */
#define ARCH_RELOC_SYMBOL   R_X86_64_64	      /* the symbol's address and the addend */

#endif

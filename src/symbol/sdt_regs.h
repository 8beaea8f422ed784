// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef SYMBOL_SDT_REGS_H
#define SYMBOL_SDT_REGS_H

#include "symbol/sdt_args.h"

/* By its name without '%'. False: there is none of that name. */
bool sdt_reg_parse(const char *name, size_t len, struct sdt_reg *r);

#endif

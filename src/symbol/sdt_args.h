// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where the arguments of a USDT probe are: "8@%rdi -4@-24(%rbp) 8@$5", operands of the assembler
 * (AT&T) with their size in bytes before them, '-' where they are signed and 'f' where they are
 * floating point. Compilers put any operand there that they know, and old notes have no size.
 */
#ifndef SYMBOL_SDT_ARGS_H
#define SYMBOL_SDT_ARGS_H

#include "base/util.h"

enum sdt_where {
	SDT_UNKNOWN, /* an operand that nobody here knows */
	SDT_CONSTANT,
	SDT_REGISTER,
	SDT_MEMORY,
};

enum sdt_reg_kind { SDT_REG_NONE, SDT_REG_GENERAL, SDT_REG_RIP, SDT_REG_VECTOR };

struct sdt_reg {
	enum sdt_reg_kind kind;
	uint8_t number;	    /* as instructions encode it: rax rcx rdx rbx rsp rbp rsi rdi r8 … */
	uint8_t size_bytes; /* of the part that is named */
	bool is_high;	    /* the second byte: %ah */
};

struct sdt_arg {
	const char *text; /* the operand, without its size; borrowed, text_len long */
	size_t text_len;
	enum sdt_where where;
	uint8_t size_bytes; /* 0: nothing tells */
	bool is_signed, is_float;
	char segment;		    /* 'f', 'g' of %fs: or %gs:, else 0 */
	struct sdt_reg base, index; /* of a register: base */
	uint8_t scale;		    /* of the index: 1, 2, 4, 8 */
	/* A constant, or what is added to the registers: value + the address of symbol. */
	int64_t value;
	const char *symbol; /* NULL: none; borrowed */
	size_t symbol_len;
};

#define SDT_MAX_ARGS 12 /* that sys/sdt.h has macros for */

/* Returns how many there are; max of them are stored. */
size_t sdt_args_parse(const char *args, struct sdt_arg *into, size_t max);
/* "uint64_t", "int32_t", "double"; "?" where nothing tells. */
const char *sdt_arg_type(const struct sdt_arg *a);
const char *sdt_where_name(enum sdt_where where);
/* "rdi", "eax", "rip", "xmm3"; "" of none. buf: of SDT_REG_NAME_SIZE. */
#define SDT_REG_NAME_SIZE 8
const char *sdt_reg_name(const struct sdt_reg *r, char *buf);

#endif

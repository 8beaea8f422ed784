// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The parser of operands. It reads from a *cursor*, the part of the text that is left; each step
 * takes something from its front or takes nothing. What is not understood to the last letter is
 * unknown, not half known.
 */
#include "symbol/sdt_args.h"

#include <ctype.h>
#include <string.h>

#include "symbol/sdt_regs.h"

#define MAX_ARG_BYTES 64 /* of zmm0 */

struct cursor {
	const char *at, *end;
};

static bool is_at_end(const struct cursor *c)
{
	return c->at == c->end;
}

static bool take(struct cursor *c, char what)
{
	if (c->at == c->end || *c->at != what)
		return false;
	c->at++;
	return true;
}

static bool take_comma(struct cursor *c)
{
	if (!take(c, ','))
		return false;
	while (take(c, ' '))
		;
	return true;
}

static int digit(char c, unsigned radix)
{
	int value = isdigit((unsigned char)c)	 ? c - '0'
		    : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
						 : 16;

	return value < (int)radix ? value : -1;
}

/* Decimal, 0x… or 0…, as the assembler reads it. False: there is none, or it is too large. */
static bool take_number(struct cursor *c, uint64_t *value)
{
	unsigned radix = 10;
	const char *first;

	if (c->end - c->at > 2 && c->at[0] == '0' && (c->at[1] | 0x20) == 'x') {
		radix = 16;
		c->at += 2;
	} else if (c->at != c->end && *c->at == '0') {
		radix = 8;
	}
	*value = 0;
	for (first = c->at; c->at != c->end && digit(*c->at, radix) >= 0; c->at++)
		if (__builtin_mul_overflow(*value, radix, value) ||
		    __builtin_add_overflow(*value, digit(*c->at, radix), value))
			return false;
	return c->at != first;
}

static bool is_symbol_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '@';
}

/* Numbers and at most one symbol, added: "-8", "counter+4", "16+table". Nothing is 0. */
static bool take_sum(struct cursor *c, struct sdt_arg *a)
{
	for (bool is_first = true; !is_at_end(c) && *c->at != '('; is_first = false) {
		bool is_minus = false, has_sign = false;
		uint64_t n;

		for (; !is_at_end(c) && (*c->at == '+' || *c->at == '-'); c->at++) {
			is_minus ^= *c->at == '-';
			has_sign = true;
		}
		if (is_at_end(c) || (!is_first && !has_sign))
			return false;
		if (isdigit((unsigned char)*c->at)) {
			if (!take_number(c, &n))
				return false;
			a->value = (uint64_t)a->value + (is_minus ? -n : n);
			continue;
		}
		if (a->symbol || is_minus || !is_symbol_char(*c->at))
			return false;
		a->symbol = c->at;
		while (!is_at_end(c) && is_symbol_char(*c->at))
			c->at++;
		a->symbol_len = c->at - a->symbol;
	}
	return true;
}

static bool take_register(struct cursor *c, struct sdt_reg *r)
{
	const char *name = c->at + 1;

	if (!take(c, '%'))
		return false;
	while (!is_at_end(c) && isalnum((unsigned char)*c->at))
		c->at++;
	return sdt_reg_parse(name, c->at - name, r);
}

/* "%fs:" */
static void take_segment(struct cursor *c, struct sdt_arg *a)
{
	if (c->end - c->at < 4 || c->at[0] != '%' || c->at[2] != 's' || c->at[3] != ':')
		return;
	if (c->at[1] == 'f' || c->at[1] == 'g')
		a->segment = c->at[1];
	c->at += 4;
}

/* "(%base)", "(%base,%index,scale)", "(,%index,scale)" */
static bool take_address(struct cursor *c, struct sdt_arg *a)
{
	uint64_t scale = 1;

	if (!take(c, '('))
		return true;
	if (!is_at_end(c) && *c->at == '%' && !take_register(c, &a->base))
		return false;
	if (take_comma(c)) {
		if (!take_register(c, &a->index) || a->index.kind != SDT_REG_GENERAL)
			return false;
		if (take_comma(c) &&
		    (!take_number(c, &scale) || scale > 8 || !scale || (scale & (scale - 1))))
			return false;
		a->scale = scale;
	}
	return take(c, ')') && a->base.kind != SDT_REG_VECTOR && (a->base.kind || a->index.kind);
}

static enum sdt_where parse_operand(struct cursor c, struct sdt_arg *a)
{
	if (is_at_end(&c))
		return SDT_UNKNOWN;
	if (take(&c, '$'))
		return !is_at_end(&c) && take_sum(&c, a) && is_at_end(&c) ? SDT_CONSTANT
									  : SDT_UNKNOWN;
	take_segment(&c, a);
	if (!is_at_end(&c) && *c.at == '%')
		return !a->segment && take_register(&c, &a->base) && is_at_end(&c) &&
				       a->base.kind != SDT_REG_RIP
			       ? SDT_REGISTER
			       : SDT_UNKNOWN;
	return !is_at_end(&c) && take_sum(&c, a) && take_address(&c, a) && is_at_end(&c)
		       ? SDT_MEMORY
		       : SDT_UNKNOWN;
}

/* "8@", "-4@", "8f@". False: there is a size, but none that a value can have. */
static bool take_size(struct cursor *c, struct sdt_arg *a)
{
	struct cursor try = *c;
	bool is_signed = take(&try, '-'), is_float;
	uint64_t size;

	if (!take_number(&try, &size))
		return true;
	is_float = take(&try, 'f');
	if (!take(&try, '@'))
		return true;
	*c = try;
	if (!size || size > MAX_ARG_BYTES || (size & (size - 1)))
		return false;
	a->size_bytes = size;
	a->is_signed = is_signed;
	a->is_float = is_float;
	return true;
}

static void parse_arg(struct cursor c, struct sdt_arg *a)
{
	bool is_sized;

	*a = (struct sdt_arg){ 0 };
	is_sized = take_size(&c, a);
	a->text = c.at;
	a->text_len = c.end - c.at;
	if (is_sized)
		a->where = parse_operand(c, a);
	if (a->where == SDT_REGISTER && !a->size_bytes)
		a->size_bytes = a->base.size_bytes;
}

size_t sdt_args_parse(const char *args, struct sdt_arg *into, size_t max)
{
	size_t nr = 0;

	while (*(args += strspn(args, " \t"))) {
		struct cursor c = { args, args };
		int depth = 0; /* some compilers put a space behind a comma */

		for (; *c.end && (depth > 0 || (*c.end != ' ' && *c.end != '\t')); c.end++)
			depth +=
				(*c.end == '(' || *c.end == '[') - (*c.end == ')' || *c.end == ']');
		if (nr < max)
			parse_arg(c, &into[nr]);
		nr++;
		args = c.end;
	}
	return nr;
}

const char *sdt_arg_type(const struct sdt_arg *a)
{
	static const char *const types[][2] = {
		{ "uint8_t", "int8_t" },     { "uint16_t", "int16_t" },
		{ "uint32_t", "int32_t" },   { "uint64_t", "int64_t" },
		{ "uint128_t", "int128_t" }, { "uint256_t", "int256_t" },
		{ "uint512_t", "int512_t" },
	};

	if (!a->size_bytes)
		return "?";
	if (a->is_float)
		return a->size_bytes == 4    ? "float"
		       : a->size_bytes == 8  ? "double"
		       : a->size_bytes == 16 ? "long double"
					     : "?";
	return types[__builtin_ctz(a->size_bytes)][a->is_signed];
}

const char *sdt_where_name(enum sdt_where where)
{
	static const char *const names[] = {
		[SDT_UNKNOWN] = "unknown",
		[SDT_CONSTANT] = "constant",
		[SDT_REGISTER] = "register",
		[SDT_MEMORY] = "memory",
	};

	return names[where];
}

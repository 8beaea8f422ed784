// SPDX-License-Identifier: MIT OR Apache-2.0
/* The names of registers, of x86-64. */
#include "symbol/sdt_regs.h"

#include <stdio.h>
#include <string.h>

#define NR_OLD	   8
#define NR_GENERAL 16
#define NR_VECTOR  32

/* The last column names the second byte. */
static const struct {
	uint8_t size_bytes;
	const char *names[NR_OLD];
} old_names[] = {
	{ 8, { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi" } },
	{ 4, { "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi" } },
	{ 2, { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di" } },
	{ 1, { "al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil" } },
	{ 1, { "ah", "ch", "dh", "bh" } },
};

#define HIGH_ROW (ARRAY_SIZE(old_names) - 1)

/* r8 … r15, and parts of them. */
static const struct {
	uint8_t size_bytes;
	const char *suffix;
} parts[] = { { 8, "" }, { 4, "d" }, { 2, "w" }, { 1, "b" }, { 1, "l" } };

static const struct {
	uint8_t size_bytes;
	const char *prefix;
} vectors[] = { { 16, "xmm" }, { 32, "ymm" }, { 64, "zmm" } };

static bool is(const char *name, size_t len, const char *what)
{
	return strlen(what) == len && memcmp(name, what, len) == 0;
}

static bool parse_old(const char *name, size_t len, struct sdt_reg *r)
{
	for (size_t row = 0; row < ARRAY_SIZE(old_names); row++)
		for (uint8_t i = 0; i < NR_OLD; i++) {
			const char *known = old_names[row].names[i];

			if (!known || !is(name, len, known))
				continue;
			*r = (struct sdt_reg){ .kind = SDT_REG_GENERAL,
					       .number = i,
					       .size_bytes = old_names[row].size_bytes,
					       .is_high = row == HIGH_ROW };
			return true;
		}
	return false;
}

/* A number of one or two digits at the front of *s, or -1. */
static int take_number(const char **s, const char *end)
{
	int n = -1;

	for (int digits = 0; digits < 2 && *s < end && **s >= '0' && **s <= '9'; digits++, ++*s)
		n = MAX(n, 0) * 10 + (**s - '0');
	return n;
}

static bool parse_new(const char *name, size_t len, struct sdt_reg *r)
{
	const char *at = name + 1, *end = name + len;
	int number = len > 1 && *name == 'r' ? take_number(&at, end) : -1;

	for (size_t i = 0; number >= NR_OLD && number < NR_GENERAL && i < ARRAY_SIZE(parts); i++) {
		if (!is(at, end - at, parts[i].suffix))
			continue;
		*r = (struct sdt_reg){ .kind = SDT_REG_GENERAL,
				       .number = number,
				       .size_bytes = parts[i].size_bytes };
		return true;
	}
	return false;
}

static bool parse_vector(const char *name, size_t len, struct sdt_reg *r)
{
	const char *at = name + 3, *end = name + len;
	int number = len > 3 ? take_number(&at, end) : -1;

	for (size_t i = 0;
	     number >= 0 && number < NR_VECTOR && at == end && i < ARRAY_SIZE(vectors); i++) {
		if (memcmp(name, vectors[i].prefix, 3) != 0)
			continue;
		*r = (struct sdt_reg){ .kind = SDT_REG_VECTOR,
				       .number = number,
				       .size_bytes = vectors[i].size_bytes };
		return true;
	}
	return false;
}

bool sdt_reg_parse(const char *name, size_t len, struct sdt_reg *r)
{
	if (is(name, len, "rip") || is(name, len, "eip")) {
		*r = (struct sdt_reg){ .kind = SDT_REG_RIP, .size_bytes = 8 };
		return true;
	}
	return parse_old(name, len, r) || parse_new(name, len, r) || parse_vector(name, len, r);
}

const char *sdt_reg_name(const struct sdt_reg *r, char *buf)
{
	*buf = '\0';
	if (r->kind == SDT_REG_RIP)
		return "rip";
	if (r->kind == SDT_REG_GENERAL && r->number < NR_OLD)
		for (size_t row = 0; row < ARRAY_SIZE(old_names); row++)
			if (old_names[row].size_bytes == r->size_bytes &&
			    r->is_high == (row == HIGH_ROW))
				return old_names[row].names[r->number];
	for (size_t i = 0; r->kind == SDT_REG_GENERAL && !*buf && i < ARRAY_SIZE(parts); i++)
		if (parts[i].size_bytes == r->size_bytes)
			snprintf(buf, SDT_REG_NAME_SIZE, "r%u%s", r->number, parts[i].suffix);
	for (size_t i = 0; r->kind == SDT_REG_VECTOR && i < ARRAY_SIZE(vectors); i++)
		if (vectors[i].size_bytes == r->size_bytes)
			snprintf(buf, SDT_REG_NAME_SIZE, "%s%u", vectors[i].prefix, r->number);
	return buf;
}

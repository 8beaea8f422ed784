// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * usage: test_layout PROGRAM TRUTH CACHE | test_layout --why PROGRAM MODE
 *
 * Proves that a program's values are read as the program itself says they lie (see
 * fake/layouts.rs): without a cache, when it is filled, from it, and when it is damaged. Or that a
 * program without types is refused with a sentence that says why.
 */
#include <dirent.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/vec.h"
#include "check.h"
#include "symbol/dwarf.h"
#include "symbol/layout.h"

#define MAX_FIELDS 8

static const char letters[] = "SMVBANTCFOPL";
static const char *const kinds[] = {
	[LAYOUT_OPAQUE] = "opaque",	  [LAYOUT_NUMBER] = "number", [LAYOUT_POINTER] = "pointer",
	[LAYOUT_ARRAY] = "array",	  [LAYOUT_STRUCT] = "struct", [LAYOUT_ENUM] = "enum",
	[LAYOUT_COROUTINE] = "coroutine",
};

struct bytes {
	uint8_t v[1 << 16];
	size_t nr;
};

static struct bytes object;

static void read_hex(const char *hex)
{
	object.nr = 0;
	for (; hex[0] && hex[1] && object.nr < sizeof(object.v); hex += 2) {
		char digits[3] = { hex[0], hex[1], '\0' };

		object.v[object.nr++] = strtoul(digits, NULL, 16);
	}
}

static uint64_t number_at(uint64_t off, uint64_t bytes)
{
	uint64_t x = 0;

	check_num(bytes <= 8 && off <= object.nr && bytes <= object.nr - off, true);
	if (bytes <= 8 && off <= object.nr && bytes <= object.nr - off)
		memcpy(&x, object.v + off, bytes);
	return x;
}

static const struct layout *named(struct layouts *l, const char *name)
{
	const struct layout *t = layouts_get(l, layouts_named(l, name));

	check_str(t->name, name);
	return t;
}

static const struct layout_variant *variant_named(const struct layout *t, const char *name)
{
	for (uint32_t i = 0; i < t->nr_variants; i++)
		if (strcmp(t->variants[i].name, name) == 0)
			return &t->variants[i];
	printf("%s has no variant %s\n", t->name, name);
	nr_failed++;
	return NULL;
}

/* What is behind the saved ones are the captured ones again. */
static void check_saved(const struct layout *t)
{
	const struct layout_variant *captures = variant_named(t, "Unresumed");

	for (uint32_t i = 0; captures && i < t->nr_variants; i++) {
		const struct layout_variant *v = &t->variants[i];

		check_num(captures->nr_saved, captures->nr_members);
		if (v == captures)
			continue;
		check_num(v->nr_members - v->nr_saved, captures->nr_members);
		for (uint32_t m = v->nr_saved; m < v->nr_members; m++)
			check_str(v->members[m].name, captures->members[m - v->nr_saved].name);
	}
}

static void check_type(struct layouts *l, char **f)
{
	const struct layout *t = named(l, f[1]);

	check_num(t->size_bytes, strtoull(f[2], NULL, 10));
	check_str(kinds[t->kind], f[3]);
	check_num(t->is_future, strtoull(f[4], NULL, 10));
	if (t->kind == LAYOUT_STRUCT || t->align)
		check_num(t->align, strtoull(f[5], NULL, 10));
	if (t->kind == LAYOUT_COROUTINE)
		check_saved(t);
}

/* Pointers and arrays lead on to the type in their name; numbers say what they are. */
static void check_inside(struct layouts *l, const struct layout *t)
{
	static const struct {
		const char *name;
		enum layout_number number;
		uint64_t bytes;
	} numbers[] = { { "u8", LAYOUT_UNSIGNED, 1 },	{ "u16", LAYOUT_UNSIGNED, 2 },
			{ "i64", LAYOUT_SIGNED, 8 },	{ "char", LAYOUT_CHAR, 4 },
			{ "bool", LAYOUT_BOOL, 1 },	{ "f32", LAYOUT_FLOAT, 4 },
			{ "u128", LAYOUT_UNSIGNED, 16 } };
	const struct layout *target = layouts_get(l, t->target);

	if (t->kind == LAYOUT_POINTER) {
		check_num(t->size_bytes, 8);
		check_num(strstr(t->name, target->name) && *target->name, true);
	} else if (t->kind == LAYOUT_ARRAY) {
		char *name =
			xasprintf("[%s; %llu]", target->name, (unsigned long long)t->nr_elements);

		check_str(name, t->name);
		check_num(t->size_bytes, target->size_bytes * t->nr_elements);
		free(name);
		check_inside(l, target);
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(t->name, numbers[i].name) != 0)
			continue;
		check_str(kinds[t->kind], "number");
		check_num(t->number, numbers[i].number);
		check_num(t->size_bytes, numbers[i].bytes);
	}
}

static void check_member(struct layouts *l, char **f)
{
	const struct layout *t = named(l, f[1]);
	const struct layout_member *m = layout_member(t, f[2]);

	check_num(m != NULL, true);
	if (!m)
		return;
	check_num(m->off, strtoull(f[3], NULL, 10));
	check_str(layouts_get(l, m->type)->name, f[4]);
	check_inside(l, layouts_get(l, m->type));
}

/* An awaited coroutine has been started and is not done. */
static void check_awaitee(struct layouts *l, const struct layout_variant *v)
{
	const struct layout *t = layouts_get(l, v->members[v->awaitee].type);
	const struct layout_variant *inner;

	check_num(t->is_future, true);
	if (t->kind != LAYOUT_COROUTINE)
		return;
	inner = layout_variant(
		t, number_at(v->members[v->awaitee].off + t->discr_off, t->discr_bytes));
	check_num(inner && str_has_prefix(inner->name, "Suspend"), true);
}

static void check_value(struct layouts *l, char **f)
{
	const struct layout *t = named(l, f[1]);
	const struct layout_variant *v;

	read_hex(f[2]);
	check_num(object.nr, t->size_bytes);
	v = layout_variant(t, number_at(t->discr_off, t->discr_bytes));
	check_str(v ? v->name : NULL, f[3]);
	for (uint32_t i = 0; v && *f[4] && i < v->nr_members; i++) {
		const struct layout_member *m = &v->members[i];

		if (strcmp(m->name, f[4]) != 0)
			continue;
		check_num(number_at(m->off, layouts_get(l, m->type)->size_bytes),
			  strtoull(f[5], NULL, 10));
		f[4] = "";
	}
	check_str(f[4], ""); /* found */
	if (v && t->kind == LAYOUT_COROUTINE) {
		check_num(v->awaitee >= 0, str_has_prefix(v->name, "Suspend"));
		if (v->awaitee >= 0)
			check_awaitee(l, v);
	}
}

static void check_body(struct layouts *l, char **f)
{
	const struct layout *t = named(l, f[1]);

	check_num(t->first_line, strtoull(f[2], NULL, 10));
	check_num(t->last_line, strtoull(f[3], NULL, 10));
	check_str(t->function, f[4]);
	check_str(t->file, f[5]);
}

static void check_await(struct layouts *l, char **f)
{
	const struct layout *t = named(l, f[1]);
	const struct layout_variant *v = variant_named(t, f[2]);

	if (!v)
		return;
	check_num(v->line, strtoull(f[3], NULL, 10));
	check_num(v->last_line, strtoull(f[4], NULL, 10));
	check_str(v->file, t->file);
	check_num(v->awaitee >= 0 && (uint32_t)v->awaitee < v->nr_saved, true);
	if (v->awaitee >= 0)
		check_str(layouts_get(l, v->members[v->awaitee].type)->name, f[5]);
}

static void check_code(const struct layout *t, uint64_t va)
{
	bool found = false;

	for (uint32_t i = 0; i < t->nr_bodies; i++)
		found |= t->bodies[i] == va;
	check_num(found, true);
}

static const struct layout *behind(struct layouts *l, const char *table)
{
	return layouts_get(l, layouts_of_vtable(l, strtoull(table, NULL, 16)));
}

static void check_offset(const struct layout *t, char **f)
{
	const struct layout_member *m = layout_member(t, f[2]);

	check_str(t->name, "dep::Thing");
	check_num(m ? m->off : UINT64_MAX, strtoull(f[3], NULL, 10));
}

/* Behind Option<Box<Thing>>. */
static void check_boxed(struct layouts *l, char **f)
{
	const struct layout_variant *v = variant_named(behind(l, f[1]), "Some");

	if (v && v->nr_members)
		check_offset(layouts_get(l, layouts_get(l, v->members[0].type)->target), f);
	check_num(v && v->nr_members, true);
}

static void check_future(struct layouts *l, char **f)
{
	const struct layout *t = behind(l, f[1]);

	check_str(t->function, "dep::run");
	check_num(t->first_line, strtoull(f[2], NULL, 10));
	check_num(t->nr_bodies, 1);
	check_code(t, strtoull(f[3], NULL, 16));
}

static void check_line(struct layouts *l, char **f)
{
	switch (f[0][0]) {
	case 'S':
		check_type(l, f);
		break;
	case 'M':
		check_member(l, f);
		break;
	case 'V':
		check_value(l, f);
		break;
	case 'B':
		check_body(l, f);
		break;
	case 'A':
		check_await(l, f);
		break;
	case 'N':
		check_str(named(l, f[1])->function, f[2]);
		break;
	case 'T':
		check_str(behind(l, f[1])->name, f[2]);
		break;
	case 'C':
		check_code(named(l, f[1]), strtoull(f[2], NULL, 16));
		break;
	case 'O':
		check_offset(behind(l, f[1]), f);
		break;
	case 'P':
		check_boxed(l, f);
		break;
	case 'L':
		check_future(l, f);
		break;
	case 'F':
		check_str(layouts_get(l, layouts_of_function(l, strtoull(f[1], NULL, 16), f[2]))
				  ->name,
			  f[3]);
		break;
	}
}

static void check_truth(struct layouts *l, const char *truth)
{
	unsigned seen[sizeof(letters)] = { 0 };
	char *text = xstrdup(truth), *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		char *f[MAX_FIELDS] = { 0 }, *at = line;
		const char *letter = *line ? strchr(letters, *line) : NULL;

		for (unsigned i = 0; i < MAX_FIELDS && at; i++)
			f[i] = strsep(&at, "\t");
		if (!letter)
			continue;
		seen[letter - letters]++;
		check_line(l, f);
	}
	for (size_t i = 0; letters[i]; i++)
		check_num(seen[i] > 0, true);
	free(text);
}

/* One name is one number, however it is come by; what is not there has none. */
static void check_numbers(struct layouts *l)
{
	uint32_t wait = layouts_named(l, "layouts::Wait");
	const struct layout *leaf = named(l, "layouts::leaf::{async_fn_env#0}");
	const struct layout_variant *v = variant_named(leaf, "Suspend0");

	if (v && v->awaitee >= 0)
		check_num(v->members[v->awaitee].type, wait);
	check_num(layouts_named(l, "layouts::Wai"), LAYOUT_NONE);
	check_num(layouts_named(l, ""), LAYOUT_NONE);
	check_num(layouts_of_vtable(l, 1), LAYOUT_NONE);
	check_num(layouts_of_function(l, 1, "T"), LAYOUT_NONE);
	check_num(layouts_get(l, LAYOUT_NONE)->kind, LAYOUT_OPAQUE);
	check_num(layouts_nr_broken(l), 0);
}

static void check_program(const char *path, const char *truth, const char *cache)
{
	const char *why;
	struct layouts *l = layouts_open(path, cache, &why);

	check_num(l != NULL, true);
	if (!l) {
		printf("%s\n", why);
		return;
	}
	check_str(why, "");
	check_truth(l, truth);
	check_numbers(l);
	layouts_close(l);
}

/* Flips a byte in the middle of the only file. */
static void damage(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	unsigned nr = 0;

	while (d && (entry = readdir(d))) {
		struct strbuf file = STRBUF_INIT;
		char *path = xasprintf("%s/%s", dir, entry->d_name);

		if (entry->d_name[0] != '.' && io_read_file(path, &file, 1 << 28, NULL) == 0) {
			file.s[file.len / 2] ^= 0x10;
			check_num(io_replace_file(path, file.s, file.len, 0600, NULL), 0);
			nr++;
		}
		free(path);
		strbuf_release(&file);
	}
	if (d)
		closedir(d);
	check_num(nr, 1);
}

static void check_why(const char *path, const char *mode)
{
	static const struct {
		const char *mode, *word;
	} words[] = {
		{ "why-none", "no debug info" },
		{ "why-lines", "no types" },
		{ "why-split", "split-debuginfo" },
		{ "other-build", "another build" },
		{ "old-packed", "objcopy --decompress-debug-sections" },
		{ "stripped", "no debug info" },
		{ "no-elf", "ELF" },
		{ "missing", "ELF" },
	};
	const char *why = NULL, *unreadable;
	struct layouts *l = layouts_open(path, NULL, &why);
	struct dwarf *d = dwarf_open(path, &unreadable);
	bool known = false;

	check_num(l == NULL, true);
	layouts_close(l);
	check_num(d && dwarf_is_split(d), strcmp(mode, "why-split") == 0);
	dwarf_close(d);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].mode, mode) != 0)
			continue;
		known = true;
		if (!strstr(why, words[i].word))
			check_str(why, words[i].word);
	}
	check_num(known, true);
	/* What must be built anew is built with types. */
	if (strstr(why, "debug info has") || strstr(why, "no debug info"))
		check_num(strstr(why, "debug = 2") != NULL, true);
}

int main(int argc, char **argv)
{
	struct strbuf truth = STRBUF_INIT;

	if (argc != 4)
		return 2;
	if (strcmp(argv[1], "--why") == 0) {
		check_why(argv[2], argv[3]);
		return check_result();
	}
	check_num(io_read_file(argv[2], &truth, 1 << 24, NULL), 0);
	check_program(argv[1], truth.s, NULL);
	check_program(argv[1], truth.s, argv[3]);
	check_program(argv[1], truth.s, argv[3]);
	damage(argv[3]);
	check_program(argv[1], truth.s, argv[3]);
	strbuf_release(&truth);
	return check_result();
}

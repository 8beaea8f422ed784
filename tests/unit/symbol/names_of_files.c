// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Hands every name of real programs to the fuzz target: symbols, mangled and demangled, and all
 * strings of debug info, each once, among which are the names of functions, types and members.
 *
 *	names_of_files [-v] FILE...	-v: a line for each file
 */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "symbol/demangle.h"
#include "symbol/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct counts {
	uint64_t nr_legacy, nr_v0, nr_strings;
	size_t longest;
};

/* Hashes of the names that were tried: programs have most of them in common. */
static struct map tried = MAP_INIT;

static void try(struct counts *c, const char *name)
{
	size_t len = strlen(name);
	uint64_t hash = 0xcbf29ce484222325;
	bool was_tried;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3;
	map_put(&tried, hash, &was_tried);
	if (was_tried)
		return;
	c->longest = MAX(c->longest, len);
	LLVMFuzzerTestOneInput((const uint8_t *)name, len);
}

static void try_symbol(void *arg, const char *symbol)
{
	struct counts *c = arg;
	char *name = demangle(symbol);

	if (!name)
		return;
	c->nr_v0 += demangle_is_v0(symbol);
	c->nr_legacy += !demangle_is_v0(symbol);
	try(c, symbol);
	try(c, name);
	free(name);
}

static void try_strings(struct counts *c, const struct image *img, const char *section)
{
	const struct image_section *s = image_section(img, section);
	const char *at = (const char *)image_section_data(img, s), *end;

	for (end = at && s ? at + s->size_bytes : at; at < end; at += strnlen(at, end - at) + 1) {
		char *name = xstrndup(at, end - at);

		c->nr_strings++;
		try(c, name);
		free(name);
	}
}

static bool try_file(struct counts *c, const char *path)
{
	struct image *img = image_open(path, NULL, NULL);
	struct symtab *syms;

	if (!img)
		return false;
	syms = symtab_new(img);
	for (size_t i = 0; i < syms->nr; i++)
		try_symbol(c, syms->v[i].name);
	try_strings(c, img, ".debug_str");
	symtab_free(syms);
	image_close(img);
	return true;
}

static void say(const char *what, const struct counts *c)
{
	printf("%s: %llu legacy symbols, %llu v0 symbols, %llu strings of debug info; the longest has "
	       "%zu bytes\n",
	       what, (unsigned long long)c->nr_legacy, (unsigned long long)c->nr_v0,
	       (unsigned long long)c->nr_strings, c->longest);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	bool is_verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	struct counts all = { 0 };
	char text[40];
	int nr = 0;

	for (int i = 1 + is_verbose; i < argc; i++) {
		struct counts one = { 0 };

		if (!try_file(&one, argv[i])) {
			printf("%s: not a readable ELF file\n", argv[i]);
			continue;
		}
		if (is_verbose)
			say(argv[i], &one);
		nr += one.nr_legacy + one.nr_v0 + one.nr_strings > 0;
		all.nr_legacy += one.nr_legacy;
		all.nr_v0 += one.nr_v0;
		all.nr_strings += one.nr_strings;
		all.longest = MAX(all.longest, one.longest);
	}
	snprintf(text, sizeof(text), "%d files with names", nr);
	say(text, &all);
	printf("%zu different names\n", tried.nr);
	map_release(&tried);
	return nr ? 0 : 1; /* without a name nothing is proved */
}

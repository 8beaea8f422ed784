// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * usage: test_pinned PROGRAM TRUTH UNSEEN...
 *
 * Proves that the futures of block_on lie where they are said to (see fake/pinned.rs), all but the
 * UNSEEN ones, of which nothing is said.
 */
#include <stdlib.h>

#include "base/io.h"
#include "base/strbuf.h"
#include "check.h"
#include "future/root_frames.h"

#define MAX_FRAMED 32
#define MAX_WORDS  4096
#define NR_ROOTS   7

struct root {
	const char *name;
	uint64_t pc, sp, rbp, leaf;
	uint64_t words[MAX_WORDS]; /* from sp on */
	unsigned nr_words;
};

static struct recipes recipes;
static struct layouts *layouts;
static struct root_frame framed[MAX_FRAMED];
static uint32_t nr_framed;

static bool read_root(char *line, struct root *r)
{
	char *rest = line, *letter = strsep(&rest, "\t"), *word;

	*r = (struct root){ .name = strsep(&rest, "\t") };
	if (strcmp(letter, "R") != 0 || !rest)
		return false;
	r->pc = strtoull(strsep(&rest, "\t"), NULL, 16);
	r->sp = strtoull(strsep(&rest, "\t"), NULL, 16);
	r->rbp = strtoull(strsep(&rest, "\t"), NULL, 16);
	r->leaf = strtoull(strsep(&rest, "\t"), NULL, 16);
	while (r->nr_words < MAX_WORDS && (word = strsep(&rest, " ")))
		r->words[r->nr_words++] = strtoull(word, NULL, 16);
	return r->nr_words > 1;
}

static uint64_t word_at(const struct root *r, uint64_t addr)
{
	check_num(addr % 8, 0);
	check_num(addr >= r->sp && (addr - r->sp) / 8 < r->nr_words, true);
	return (addr - r->sp) / 8 < r->nr_words ? r->words[(addr - r->sp) / 8] : 0;
}

static uint32_t type_of(const struct root *r)
{
	char *name = xasprintf("pinned::%s::{async_fn_env#0}", r->name);
	uint32_t type = layouts_named(layouts, name);

	check_num(type != LAYOUT_NONE, true);
	free(name);
	return type;
}

/* Where it is, by where its leaf is. */
static uint64_t addr_of(const struct root *r)
{
	const struct layout *t = layouts_get(layouts, type_of(r));

	for (uint32_t i = 0; i < t->nr_variants; i++)
		if (strcmp(t->variants[i].name, "Suspend0") == 0 && t->variants[i].awaitee >= 0)
			return r->leaf - t->variants[i].members[t->variants[i].awaitee].off;
	check_str(t->name, "a coroutine that waits");
	return 0;
}

static const struct wire_framed *find_framed(uint64_t pc, bool *is_one)
{
	const struct wire_framed *found = NULL;

	*is_one = true;
	for (uint32_t i = 0; i < nr_framed; i++) {
		const struct wire_framed *f = &framed[i].plan;

		if (!f->recipe || pc <= f->addr || pc > f->end_addr)
			continue;
		*is_one = !found;
		found = f;
	}
	return found;
}

static void check_root(const struct root *r, bool is_seen)
{
	bool is_argument = strcmp(r->name, "in_guard") == 0, is_one;
	const struct wire_framed *f = find_framed(r->pc, &is_one);
	uint64_t base, at;

	if ((f != NULL) != is_seen || !is_one)
		printf("%s: %s\n", r->name, is_seen ? "is not there once" : "should not be there");
	check_num(f && is_one, is_seen);
	if (!f)
		return;
	base = f->by_frame_pointer ? r->rbp : r->sp;
	at = base + (int64_t)f->off;
	check_num(is_argument ? word_at(r, at) : at, addr_of(r));
	check_num(f->bytes, is_argument ? 8 : layouts_get(layouts, type_of(r))->size_bytes);
	if (f->has_pointer)
		check_num(word_at(r, base + (int64_t)f->pointer_off), at);
	check_num(f->recipe > 0 && f->recipe < recipes.edges.nr, true);
}

static void check_truth(char *truth, char **unseen, int nr_unseen)
{
	char *rest = truth, *line;
	unsigned nr = 0;

	while ((line = strsep(&rest, "\n"))) {
		bool is_seen = true;
		struct root r;

		if (!read_root(line, &r))
			continue;
		for (int i = 0; i < nr_unseen; i++)
			is_seen &= strcmp(unseen[i], r.name) != 0;
		check_root(&r, is_seen);
		nr++;
	}
	check_num(nr, NR_ROOTS);
}

int main(int argc, char **argv)
{
	struct found_runtime runtimes[] = { { .name = "tokio" },
					    { .name = "smol", .descriptor = 1 } };
	struct discovery d = { .runtimes = runtimes,
			       .nr_runtimes = ARRAY_SIZE(runtimes),
			       .roots = { .nr_redirects = 1, .nr_parks = 1 } };
	struct strbuf truth = STRBUF_INIT;
	const char *why;

	if (argc < 3)
		return 2;
	check_num(io_read_file(argv[2], &truth, 1 << 24, NULL), 0);
	layouts = layouts_open(argv[1], NULL, &why);
	check_str(why, "");
	recipes_init(&recipes);
	nr_framed = root_frames_find(recipes_add(&recipes, layouts, 0), layouts, &d, argv[1], 0,
				     framed, MAX_FRAMED);
	check_truth(truth.s, argv + 3, argc - 3);
	recipes_release(&recipes);
	layouts_close(layouts);
	strbuf_release(&truth);
	return check_result();
}

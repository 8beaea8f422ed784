// SPDX-License-Identifier: MIT OR Apache-2.0
/* Which line on a stack spawned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "capture/place_choice.h"

#define MAX_LINES 8
#define RUST	  "/rustc/0123456789abcdef/library/"
#define REGISTRY  "/u/.cargo/registry/src/z/"
#define ALLOC                                                 \
	{                                                     \
		.file = RUST "alloc/src/alloc.rs", .line = 95 \
	}
#define TOKIO                                                                  \
	{                                                                      \
		.file = REGISTRY "tokio-1.54.1/src/task/spawn.rs", .line = 210 \
	}
#define BLOCK_ON                                                                 \
	{                                                                        \
		.file = REGISTRY "tokio-1.54.1/src/runtime/park.rs", .line = 280 \
	}
#define OWN(n)                                          \
	{                                               \
		.file = "/u/app/src/main.rs", .line = n \
	}
#define CRATE(n)                                                                    \
	{                                                                           \
		.file = REGISTRY "tokio-util-0.7.1/src/task/join_map.rs", .line = n \
	}
#define NO_LINES  \
	{         \
		0 \
	}

static const struct {
	const char *what;
	struct dwarf_place places[MAX_LINES]; /* from the inside out */
	uint32_t line;			      /* 0: none */
} cases[] = {
	{ "the innermost of the program's own", { ALLOC, TOKIO, OWN(20), OWN(16) }, 20 },
	{ "rather than a library's", { ALLOC, TOKIO, CRATE(5), OWN(20) }, 20 },
	{ "or that", { ALLOC, TOKIO, CRATE(5), CRATE(6), BLOCK_ON }, 5 },
	{ "the runtime's alone is none", { ALLOC, TOKIO, BLOCK_ON }, 0 },
	{ "not in the program's allocator", { OWN(4), OWN(7), ALLOC, TOKIO, OWN(20) }, 20 },
	{ "nor in a library's", { CRATE(4), ALLOC, TOKIO, BLOCK_ON }, 0 },
	{ "nor in what that calls", { OWN(3), ALLOC, OWN(4), ALLOC, TOKIO, OWN(20) }, 20 },
	{ "a runtime without lines", { NO_LINES, OWN(20), BLOCK_ON, OWN(16) }, 20 },
};

static size_t fill(struct place_line *lines, const struct dwarf_place *places)
{
	size_t nr = 0;

	for (; nr < MAX_LINES; nr++)
		lines[nr] = (struct place_line){ .place = places[nr].file ? &places[nr] : NULL };
	return nr;
}

static void test_chosen(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct place_line lines[MAX_LINES];
		size_t nr = fill(lines, cases[i].places);
		struct place_choice c = place_choose(lines, nr);

		if ((c.place ? c.place->line : 0) != cases[i].line)
			print_error("%s\n", cases[i].what);
		assert_int_equal(c.place ? c.place->line : 0, cases[i].line);
		assert_false(c.is_local);
	}
}

/* Only what lies between the allocation and the line of the program's own counts. */
static void test_local(void **state)
{
	const struct dwarf_place own = OWN(20), alloc = ALLOC, tokio = TOKIO;
	struct place_line lines[] = { { &own }, { &alloc }, { &tokio }, { &own }, { NULL } };
	const bool expected[] = { false, false, true, true, false };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct place_choice c;

		lines[i].is_in_local = true;
		c = place_choose(lines, ARRAY_SIZE(lines));
		assert_ptr_equal(c.place, &own);
		assert_int_equal(c.is_local, expected[i]);
		lines[i].is_in_local = false;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

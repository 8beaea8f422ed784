// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that each line of a process's maps is read whole, with any path, and broken ones are
 * skipped. */
#include "unit.h"

#include <unistd.h>

#include "base/maps.h"

static void test_lines(void **state)
{
	static const struct maps_line expected[] = {
		{ 0x1000, 0x3000, 0x2000, 77, 8, 0x1f, "r-xp", "/lib/libc.so.6" },
		{ 0x3000, 0x4000, 0, 0, 0, 0, "rw-p", "" },
		{ 0x5000, 0x6000, 0, 0, 0, 0, "rw-p", "" },
		{ 0x7000, 0x8000, 0, 5, 0, 1, "r--s", "/tmp/two words (deleted)" },
		{ 0x9000, 0xa000, 0, 6, 0, 1, "r--p", "/tmp/with\\012newline" },
		{ 0xfffffffff6000000, 0xffffffffff601000, 0, 0, 0, 0, "--xp", "[vsyscall]" },
	};
	struct maps_line line;
	struct maps maps;

	maps_open_text(&maps,
		       "1000-3000 r-xp 00002000 08:1f 77                         /lib/libc.so.6\n"
		       "3000-4000 rw-p 00000000 00:00 0 \n"
		       "5000-6000 rw-p 00000000 00:00 0\n"
		       "\n"
		       "6000-6000 rw-p 00000000 00:00 0 /empty\n"
		       "6000-7000 rw 00000000 00:00 0 /short\n"
		       "6000-7000 rwxpq 00000000 00:00 0 /long\n"
		       "6000-7000\n"
		       "7000-8000 r--s 00000000 00:01 5  /tmp/two words (deleted)\n"
		       "9000-a000 r--p 00000000 00:01 6  /tmp/with\\012newline\n"
		       "fffffffff6000000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]");
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_true(maps_next(&maps, &line));
		assert_int_equal(line.addr, expected[i].addr);
		assert_int_equal(line.end_addr, expected[i].end_addr);
		assert_int_equal(line.off, expected[i].off);
		assert_int_equal(line.inode, expected[i].inode);
		assert_int_equal(line.major, expected[i].major);
		assert_int_equal(line.minor, expected[i].minor);
		assert_string_equal(line.perms, expected[i].perms);
		assert_string_equal(line.path, expected[i].path);
	}
	assert_false(maps_next(&maps, &line));
	maps_close(&maps);
}

static void test_own(void **state)
{
	struct maps_line line;
	struct maps maps;
	bool found = false;

	assert_int_equal(maps_open(&maps, getpid(), NULL), 0);
	while (maps_next(&maps, &line))
		found |= (uintptr_t)test_own >= line.addr && (uintptr_t)test_own < line.end_addr &&
			 line.perms[2] == 'x' && *line.path == '/';
	assert_true(found);
	maps_close(&maps);
}

static void test_none(void **state)
{
	struct maps_line line;
	struct maps maps;

	assert_int_equal(maps_open(&maps, 0x7fffffff, NULL), -1);
	assert_false(maps_next(&maps, &line));
	maps_close(&maps);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

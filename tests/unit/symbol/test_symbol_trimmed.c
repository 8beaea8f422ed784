// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that a path which was trimmed to a crate's folder is not taken for one below the unit's
 * own folder. The program that is looked at is the test. */
#include <link.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "symbol/dwarf.h"

/* clang-format off */
#line 100 "tokio-util-0.7.20/src/task/task_tracker.rs"
__attribute__((noinline)) static void in_crate(void) { __asm__ volatile(""); }
#line 200 "src/main.rs"
__attribute__((noinline)) static void in_program(void) { __asm__ volatile(""); }
#line 17 "test_symbol_trimmed.c"
/* clang-format on */

static int note_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uint64_t *)arg = info->dlpi_addr;
	return 1; /* the program is the first */
}

/* The rest of the file behind the unit's folder, which the build chose. */
static void check_file(const char *path, void (*function)(void), const char *expected,
		       bool is_joined)
{
	struct dwarf_point point = { .va = (uintptr_t)function };
	const char *why, *file;
	struct dwarf *d = dwarf_open(path, &why);
	uint64_t base = 0;

	function();
	dl_iterate_phdr(note_base, &base);
	point.va -= base;
	dwarf_find_places(d, &point, 1);
	check_num(point.nr_places > 0, true);
	file = point.nr_places && point.places[0].file ? point.places[0].file : "";
	check_num(file[0] == '/', is_joined);
	check_str(strlen(file) > strlen(expected) ? file + strlen(file) - strlen(expected) : file,
		  expected);
	free(point.places);
	dwarf_close(d);
}

int main(int argc, char **argv)
{
	check_file(argv[0], in_crate, "tokio-util-0.7.20/src/task/task_tracker.rs", false);
	check_file(argv[0], in_program, "/src/main.rs", true);
	return check_result();
}

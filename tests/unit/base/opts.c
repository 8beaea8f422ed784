// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unit.h"

#include <string.h>

#include "base/opts.h"

struct values {
	bool quiet, all;
	const char *output, *word, *colour, *only;
	uint64_t number, size, time;
	struct opt_list list;
};

static const char *const colours[] = { "red", "green", NULL };

static const struct opt table[] = {
	OPT('q', "quiet", OPT_FLAG, struct values, quiet, NULL, "say nothing"),
	OPT('a', "all", OPT_FLAG, struct values, all, NULL, "everything"),
	OPT('o', "output", OPT_STR, struct values, output, "FILE", "write to FILE"),
	OPT('w', "word", OPT_STR, struct values, word, "WORD", "any text"),
	OPT(0, "number", OPT_UINT, struct values, number, "N", "how many"),
	OPT('s', "size", OPT_SIZE, struct values, size, "SIZE", "how much"),
	OPT(0, "time", OPT_TIME, struct values, time, "TIME", "how long"),
	OPT('l', "list", OPT_LIST, struct values, list, "WORD", "one more"),
	OPT_CHOICE('c', "colour", struct values, colour, "COLOUR", "in which", colours),
	OPT('y', "only", OPT_MAYBE, struct values, only, "NAME", "one alone"),
	{ 0 },
};

static char *args[16];
static struct values v;
static struct err e;

/* Splits words, parses them, and returns the number of operands. */
static int parse(const char *words, enum opts_end end)
{
	static char copy[256];
	int argc = 1;

	memset(args, 0, sizeof(args));
	opts_release(table, &v);
	memset(&v, 0, sizeof(v));
	e.tag = ERR_NONE;
	args[0] = (char *)"command";
	memcpy(copy, words, strlen(words) + 1);
	for (char *save = NULL, *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		args[argc++] = w;
	return opts_parse(table, &v, argc, args, end, &e);
}

/* Long options take their argument behind = or as the next word. */
static void test_long(void **state)
{
	assert_int_equal(parse("--quiet --output=a --number 17 --size=3K --time=1.5s", false), 0);
	assert_true(v.quiet);
	assert_false(v.all);
	assert_string_equal(v.output, "a");
	assert_int_equal(v.number, 17);
	assert_int_equal(v.size, 3072);
	assert_int_equal(v.time, 1500000000);
	assert_int_equal(parse("--word=", false), 0);
	assert_string_equal(v.word, "");
}

/* Where a command asks for it "--" stays, behind what stood before it. */
static void test_keeps_dashes(void **state)
{
	assert_int_equal(parse("a -q b -- -x c", OPTS_KEEP_DASHES), 5);
	assert_true(v.quiet);
	assert_string_equal(args[2], "b");
	assert_string_equal(args[3], "--");
	assert_string_equal(args[4], "-x");
	assert_null(args[6]);
	assert_int_equal(parse("a -q", OPTS_KEEP_DASHES), 1);
	assert_int_equal(parse("--", OPTS_KEEP_DASHES), 1);
}

/* Letters can be put together, and an argument may follow at once. */
static void test_letters(void **state)
{
	assert_int_equal(parse("-qa -ofile -s 2M", false), 0);
	assert_true(v.quiet && v.all);
	assert_string_equal(v.output, "file");
	assert_int_equal(v.size, 2 << 20);
	assert_int_equal(parse("-qo x", false), 0);
	assert_string_equal(v.output, "x");
}

/* A list takes all that it is given, in order. */
static void test_list(void **state)
{
	assert_int_equal(parse("-l a operand --list=b --list c", false), 1);
	assert_int_equal(v.list.nr, 3);
	assert_string_equal(v.list.v[0], "a");
	assert_string_equal(v.list.v[1], "b");
	assert_string_equal(v.list.v[2], "c");
	opts_release(table, &v);
	assert_int_equal(v.list.nr, 0);
	assert_null(v.list.v);
}

/* Operands are gathered from among the options; "-" is one, and all after "--" are. */
static void test_operands(void **state)
{
	assert_int_equal(parse("one -q two - -- -a --size", false), 5);
	assert_true(v.quiet);
	assert_false(v.all);
	assert_string_equal(args[1], "one");
	assert_string_equal(args[2], "two");
	assert_string_equal(args[3], "-");
	assert_string_equal(args[4], "-a");
	assert_string_equal(args[5], "--size");
	assert_null(args[6]);
}

/* With stop_at_operand, what follows the first operand belongs to somebody else. */
static void test_stop(void **state)
{
	assert_int_equal(parse("-q program -a --nonsense", true), 3);
	assert_true(v.quiet);
	assert_false(v.all);
	assert_string_equal(args[1], "program");
	assert_string_equal(args[3], "--nonsense");
	assert_int_equal(parse("-q -- -a", true), 1);
	assert_false(v.all);
	assert_string_equal(args[1], "-a");
}

/* An option with choices takes these words and no others. */
static void test_choices(void **state)
{
	assert_int_equal(parse("--colour=green", false), 0);
	assert_string_equal(v.colour, "green");
	assert_int_equal(parse("-c red", false), 0);
	assert_string_equal(v.colour, "red");
}

/* An argument that may be left out is "" then; the next option, and --, are not taken for it. */
static void test_left_out(void **state)
{
	static const char *const without[] = { "--only", "--only -q",  "--only --",
					       "-qy",	 "-y --quiet", "--only=" };

	assert_int_equal(parse("", false), 0);
	assert_null(v.only);
	for (size_t i = 0; i < ARRAY_SIZE(without); i++) {
		assert_int_equal(parse(without[i], false), 0);
		assert_string_equal(v.only, "");
	}
	assert_int_equal(parse("--only x y", false), 1);
	assert_string_equal(v.only, "x");
	assert_int_equal(parse("-yx --only=z", false), 0);
	assert_string_equal(v.only, "z");
}

/* Each mistake is a usage error whose message names the word that is wrong. */
static void test_errors(void **state)
{
	static const char *const cases[][2] = {
		{ "--nonsense", "--nonsense" },
		{ "-x", "-x" },
		{ "-qx", "-x" },
		{ "--quiet=1", "--quiet" },
		{ "--output", "--output" },
		{ "-o", "-o" },
		{ "--output=", "FILE" },
		{ "--number=x", "'x'" },
		{ "--number=1x", "'1x'" },
		{ "--number=-1", "'-1'" },
		{ "--number=99999999999999999999", "9999', which is too large" },
		{ "--number=1e9", "whole number, not '1e9'" },
		{ "--size=K", "'K'" },
		{ "--time=3parsec", "'3parsec'" },
		{ "--out=a", "--out" },
		{ "--outputs=a", "--outputs" },
		{ "--colour=blue", "red, green, not 'blue'" },
		{ "-c r", "'r'" },
		{ "--colour=", "''" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(parse(cases[i][0], false) < 0);
		assert_int_equal(e.tag, ERR_USAGE);
		assert_non_null(strstr(e.msg, cases[i][1]));
	}
}

/* Help has a line for each option, with its letter, name, argument and text. */
static void test_help(void **state)
{
	struct strbuf out = STRBUF_INIT;
	int lines = 0;

	opts_help(table, &out);
	for (const char *p = out.s; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, ARRAY_SIZE(table) - 1);
	assert_non_null(strstr(out.s, "  -o, --output=FILE          write to FILE\n"));
	assert_non_null(strstr(out.s, "      --number=N "));
	assert_non_null(strstr(out.s, "  -c, --colour=COLOUR        in which: red, green\n"));
	assert_non_null(strstr(out.s, "  -y, --only[=NAME]          one alone\n"));
	strbuf_release(&out);
}

static void check_number(int (*f)(const char *, uint64_t *), const char *text, uint64_t want)
{
	uint64_t got = 0;

	assert_int_equal(f(text, &got), 0);
	assert_int_equal(got, want);
}

/* Sizes are powers of 1024, times are nanoseconds, bare times seconds; fractions are rounded. */
static void test_numbers(void **state)
{
	check_number(parse_size, "0", 0);
	check_number(parse_size, "10", 10);
	check_number(parse_size, "1k", 1024);
	check_number(parse_size, "64KiB", 65536);
	check_number(parse_size, "1.5M", 1536 << 10);
	check_number(parse_size, "2G", UINT64_C(2) << 30);
	check_number(parse_time, "2", 2000000000);
	check_number(parse_time, "7ns", 7);
	check_number(parse_time, "1.5us", 1500);
	check_number(parse_time, "250ms", 250000000);
	check_number(parse_time, "2m", UINT64_C(120000000000));
	check_number(parse_time, "2min", UINT64_C(120000000000));
	check_number(parse_time, "1h", UINT64_C(3600000000000));
}

/* What is no number, has an unknown unit, or does not fit, is refused and stores nothing. */
static void test_bad_numbers(void **state)
{
	static const char *const bad[] = { "",	    "x",    "-1",  "+1",  " 1",	 "1x",
					   "1 k",   "1kk",  "inf", "nan", ".5",	 "99999999999G",
					   "1e400", "1e30", "0x1", "0X1", "0x1b" };
	uint64_t got = 42;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(parse_size(bad[i], &got), -1);
		assert_int_equal(parse_time(bad[i], &got), -1);
	}
	assert_int_equal(parse_time("1k", &got), -1);
	assert_int_equal(parse_size("1ms", &got), -1);
	assert_int_equal(got, 42);
}

/* A number that no process can have is refused, and does not become another one. */
static void test_pids(void **state)
{
	static const char *const bad[] = { "",
					   "0",
					   "-1",
					   "+1",
					   " 1",
					   "1 ",
					   "1x",
					   "1.",
					   "2147483648",
					   "4294967297",
					   "99999999999999999999" };
	uint32_t pid = 42;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(parse_pid(bad[i], &pid), -1);
	assert_int_equal(pid, 42);
	assert_int_equal(parse_pid("2147483647", &pid), 0);
	assert_int_equal(pid, 2147483647);
	assert_int_equal(parse_pid("07", &pid), 0);
	assert_int_equal(pid, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long),	 cmocka_unit_test(test_keeps_dashes),
		cmocka_unit_test(test_letters),	 cmocka_unit_test(test_list),
		cmocka_unit_test(test_operands), cmocka_unit_test(test_stop),
		cmocka_unit_test(test_errors),	 cmocka_unit_test(test_help),
		cmocka_unit_test(test_numbers),	 cmocka_unit_test(test_bad_numbers),
		cmocka_unit_test(test_choices),	 cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_pids),
	};

	return cmocka_run_group_tests_name("opts", tests, NULL, NULL);
}

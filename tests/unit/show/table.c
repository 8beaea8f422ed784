// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that a table fits its line and keeps its columns whatever is in them, and that text, CSV,
 * JSON and sorting go by the same columns. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "model/shorten.h"
#include "show/table.h"

struct fruit {
	const char *name; /* NULL: none */
	uint64_t nr, ns, none;
	struct histogram values;
};

static const char *name(const struct table *t, const void *row, struct strbuf *scratch)
{
	return ((const struct fruit *)row)->name;
}

static bool odd(const struct table *t, const void *row, uint64_t *value)
{
	*value = ((const struct fruit *)row)->nr;
	return *value % 2;
}

static const struct histogram *values(const void *row)
{
	return &((const struct fruit *)row)->values;
}

static void draw(const struct table *t, const void *row, size_t width, struct strbuf *out)
{
	const char *text = ((const struct fruit *)row)->name;

	shorten_type(out, text ? text : "-", width);
}

#define AT(member) .at = offsetof(struct fruit, member)

static const struct column columns[] = {
	{ .key = "name", .text = name },
	{ .key = "nr", .head = "NR", AT(nr) },
	{ .key = "time_ns", .head = "TIME", .unit = COLUMN_NS, .warn = 1000, .bad = 2000, AT(ns) },
	{ .key = "none", .head = "NOTHING", .hides_zero = true, .rank = 1, AT(none) },
	{ .key = "odd", .head = "ODD", .rank = 2, .number = odd, .note = "ODD: not even." },
	{ .key = "p50_ns",
	  .head = "P50",
	  .group = "VALUES",
	  .unit = COLUMN_NS,
	  .rank = 4,
	  .values = values,
	  .percent = 50 },
	{ .key = "bars",
	  .head = TABLE_PICTURE_HEAD,
	  .group = "VALUES",
	  .rank = 3,
	  .values = values },
	{ .head = "NAME", .draw = draw },
};

static const struct styles plain;

static void add(struct table *t, struct fruit *rows, size_t nr)
{
	*t = (struct table){ .columns = columns,
			     .nr_columns = ARRAY_SIZE(columns),
			     .styles = &plain,
			     .what = "fruit" };
	for (size_t i = 0; i < nr; i++)
		vec_push(&t->rows, &rows[i]);
}

static void check(struct table *t, size_t width, const char *expected)
{
	struct out out;

	out_init(&out, -1);
	table_text(t, width, &out);
	assert_string_equal(out.buf.s, expected);
	strbuf_release(&out.buf);
}

/* A column is as wide as what is in it; names come last. */
static void test_text(void **state)
{
	struct fruit rows[] = { { "apple", 1, 999, 0 }, { "pear", 1234568, 60800000, 3 } };
	struct table t;

	histogram_add(&rows[0].values, 500);
	histogram_add(&rows[0].values, 2000000);
	add(&t, rows, 2);
	check(&t, 80,
	      "                          --- VALUES ---\n"
	      "    NR   TIME NOTHING ODD   P50 1us...1s NAME\n"
	      "     1  999ns       -   1 503ns █   █    apple\n"
	      "1.235M 60.8ms       3   -     - -        pear\n"
	      "\nODD: not even.\n");
	t.is_ascii = true;
	t.nr_left_out = 1;
	check(&t, SIZE_MAX,
	      "                          --- VALUES ---\n"
	      "    NR   TIME NOTHING ODD   P50 1us...1s NAME\n"
	      "     1  999ns       -   1 503ns #   #    apple\n"
	      "1.235M 60.8ms       3   -     - -        pear\n"
	      "and 1 more fruit: --limit=0 shows all\n"
	      "\nODD: not even.\n");
	vec_release(&t.rows);
	histogram_release(&rows[0].values);
}

/* Without rows there are heads; the caller may say something better. */
static void test_no_rows(void **state)
{
	struct table t;

	add(&t, NULL, 0);
	check(&t, 40, "NR TIME NAME\n");
}

/* What has nothing in it is not there; the greatest rank goes first, a note with its column. */
static void test_leaving_out(void **state)
{
	struct fruit rows[] = { { "a::very::long::name::of::a::fruit", 1, 5 } };
	struct table t;

	histogram_add(&rows[0].values, 500);
	add(&t, rows, 1);
	check(&t, 200,
	      "            --- VALUES ---\n"
	      "NR TIME ODD   P50 1us...1s NAME\n"
	      " 1  5ns   1 500ns █        a::very::long::name::of::a::fruit\n"
	      "\nODD: not even.\n");
	check(&t, 54,
	      "            --- VALUES ---\n"
	      "NR TIME ODD   P50 1us...1s NAME\n"
	      " 1  5ns   1 500ns █        name::of::a::fruit\n"
	      "\nODD: not even.\n");
	check(&t, 46,
	      "            VALUES\n"
	      "NR TIME ODD 1us...1s NAME\n"
	      " 1  5ns   1 █        name::of::a::fruit\n"
	      "\nODD: not even.\n");
	check(&t, 40, "NR TIME ODD NAME\n 1  5ns   1 name::of::a::fruit\n\nODD: not even.\n");
	check(&t, 32, "NR TIME NAME\n 1  5ns name::of::a::fruit\n");
	check(&t, 1, "NR TIME NAME\n 1  5ns name::of::a::fruit\n");
	vec_release(&t.rows);
	histogram_release(&rows[0].values);
}

/* Two flexible columns share what is left: evenly, but none gets more than it needs. */
static void test_sharing(void **state)
{
	static const struct column two[] = { { .head = "FROM", .draw = draw },
					     { .head = "NR", AT(nr) },
					     { .head = "TO", .draw = draw } };
	struct fruit rows[] = { { "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", 7 } };
	struct table t;

	add(&t, rows, 1);
	t.columns = two;
	t.nr_columns = ARRAY_SIZE(two);
	check(&t, 60,
	      "FROM                         NR TO\n"
	      "abcdefghijklm..nopqrstuvwxyz  7 abcdefghijklm..nopqrstuvwxyz\n");
	check(&t, 200,
	      "FROM                                                 NR TO\n"
	      "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz  7 "
	      "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\n");
	vec_release(&t.rows);
}

static uint64_t first_letter(const struct table *t, const void *row)
{
	return *((const struct fruit *)row)->name;
}

static unsigned nr_drawn;

static void draw_and_count(const struct table *t, const void *row, size_t width, struct strbuf *out)
{
	nr_drawn++;
	draw(t, row, width, out);
}

/* What rows have in common is made once to measure and once to print, in whatever order they come;
 * the first of those that are alike speaks for all. */
static void test_alike(void **state)
{
	static const struct column two[] = {
		{ .head = "KIND", .draw = draw_and_count, .share = first_letter },
		{ .head = "NAME", .text = name, .share = first_letter },
		{ .head = "NR", AT(nr) }
	};
	struct fruit rows[] = {
		{ "apple", 1 }, { "apricot", 2 }, { "pear", 3 }, { "apple", 4 }, { "plum", 5 }
	};
	struct table t;

	add(&t, rows, ARRAY_SIZE(rows));
	t.columns = two;
	t.nr_columns = ARRAY_SIZE(two);
	nr_drawn = 0;
	check(&t, 80,
	      "KIND  NAME  NR\n"
	      "apple apple  1\n"
	      "apple apple  2\n"
	      "pear  pear   3\n"
	      "apple apple  4\n"
	      "pear  pear   5\n");
	assert_int_equal(nr_drawn, 4);
	vec_release(&t.rows);
}

static void draw_too_much(const struct table *t, const void *row, size_t width, struct strbuf *out)
{
	for (unsigned i = 0; i < 40; i++)
		strbuf_addstr(out, "\xe6\xa2\xa8"); /* two columns each */
}

/* Whoever draws too much is cut, between two characters; what stands under a heading is as wide. */
static void test_cutting(void **state)
{
	static const struct column two[] = {
		{ .head = "N", .group = "FRUITS", AT(nr) },
		{ .head = "M", .group = "FRUITS", AT(nr) },
		{ .head = "NAME", .draw = draw_too_much },
		{ .head = "T", .group = "Z", AT(nr) },
	};
	struct fruit rows[] = { { "x", 7 } };
	struct table t;

	add(&t, rows, 1);
	t.columns = two;
	t.nr_columns = ARRAY_SIZE(two);
	check(&t, 34,
	      "FRUITS                           Z\n"
	      "   N M NAME                      T\n"
	      "   7 7 \xe6\xa2\xa8\xe6\xa2\xa8\xe6\xa2\xa8\xe6\xa2\xa8\xe6\xa2\xa8\xe6\xa2\xa8"
	      "\xe6\xa2\xa8\xe6\xa2\xa8\xe6\xa2\xa8\xe6\xa2\xa8\xe6\xa2\xa8\xe6\xa2\xa8  7\n");
	vec_release(&t.rows);
}

/* Of two columns of one rank under one heading none stays alone. */
static void test_pairs(void **state)
{
	static const struct column pairs[] = {
		{ .head = "FIRST", .group = "FRUITS", .rank = 1, AT(nr) },
		{ .head = "OTHER", .group = "FRUITS", .rank = 1, AT(nr) },
		{ .head = "NR", AT(nr) },
	};
	struct fruit rows[] = { { "x", 7 } };
	struct table t;

	add(&t, rows, 1);
	t.columns = pairs;
	t.nr_columns = ARRAY_SIZE(pairs);
	check(&t, 14,
	      "- FRUITS --\n"
	      "FIRST OTHER NR\n"
	      "    7     7  7\n");
	check(&t, 13, "NR\n 7\n");
	vec_release(&t.rows);
}

/* Names that are no ASCII, or meant to do harm, keep their columns, and no line is too long. */
static void test_names(void **state)
{
	static const struct column named[] = { { .head = "NAME", .text = name },
					       { .head = "NR", AT(nr) } };
	struct fruit rows[] = {
		{ "\xc3\xa4pfel", 1 },	     { "\xe6\xa2\xa8", 2 },
		{ "\x1b[31m\xc2\x9b\n", 3 }, { NULL, 4 },
		{ "\xff\xfe", 5 },	     { "a name that is longer than any thread can have", 6 }
	};
	struct table t;

	add(&t, rows, ARRAY_SIZE(rows));
	t.columns = named;
	t.nr_columns = ARRAY_SIZE(named);
	check(&t, 80,
	      "NAME                             NR\n"
	      "\xc3\xa4pfel                             1\n"
	      "\xe6\xa2\xa8                                2\n"
	      "\\x1b[31m\\u{9b}\\x0a                3\n"
	      "-                                 4\n"
	      "\\xff\\xfe                          5\n"
	      "a name that is longer than any t  6\n");
	vec_release(&t.rows);
}

/* Whatever the names and numbers: with room for the columns that stay, no line is wider. */
static void test_never_too_wide(void **state)
{
	uint64_t seed = 4711;

	for (unsigned round = 0; round < 200; round++) {
		char names[4][200];
		struct fruit rows[4] = { 0 };
		size_t width = 60 + unit_random(&seed) % 100;
		struct table t;
		struct out out;

		for (unsigned i = 0; i < 4; i++) {
			size_t len = unit_random(&seed) % 199;

			for (size_t k = 0; k < len; k++)
				names[i][k] = 1 + unit_random(&seed) % 255;
			names[i][len] = '\0';
			rows[i] = (struct fruit){ names[i], unit_random(&seed),
						  unit_random(&seed) >> unit_random(&seed) % 64,
						  unit_random(&seed) % 2 };
		}
		add(&t, rows, 4);
		out_init(&out, -1);
		table_text(&t, width, &out);
		for (char *line = strtok(out.buf.s, "\n"); line; line = strtok(NULL, "\n"))
			assert_true(utf8_columns(line, strlen(line)) <= width);
		strbuf_release(&out.buf);
		vec_release(&t.rows);
	}
}

/* Colours stand around what they mean and take no room; rows that are not judged have none. */
static bool is_judged(const struct table *t, const void *row)
{
	return ((const struct fruit *)row)->nr != 3;
}

static void test_meaning(void **state)
{
	static const struct styles colours = { .has_colors = true };
	struct fruit rows[] = {
		{ "a", 1, 1000 }, { "b", 2, 999 }, { "c", 2, 2000 }, { "d", 3, 2000 }
	};
	struct table t;
	char *expected = xasprintf(
		"%sNR  TIME NAME%s\n 1   %s1us%s a\n 2 999ns b\n 2   %s2us%s c\n 3   2us d\n",
		style_on(&colours, STYLE_HEAD), style_off(&colours),
		style_on(&colours, STYLE_WARNING), style_off(&colours),
		style_on(&colours, STYLE_CRITICAL), style_off(&colours));

	add(&t, rows, 4);
	t.styles = &colours;
	t.is_judged = is_judged;
	check(&t, 14, expected);
	free(expected);
	vec_release(&t.rows);
}

static void test_data(void **state)
{
	struct fruit rows[] = { { "=cmd|'a'!x, \"y\"\n", 1, 5 },
				{ NULL, 2, 18446744073709551615u } };
	struct strbuf text = STRBUF_INIT;
	struct table t;
	struct json j;
	struct out out;

	histogram_add(&rows[0].values, 3);
	histogram_add(&rows[0].values, 3);
	histogram_add(&rows[0].values, 1000);
	add(&t, rows, 2);
	out_init(&out, -1);
	table_csv(&t, &out);
	assert_string_equal(out.buf.s, "name,nr,time_ns,none,odd,p50_ns\n"
				       "\"'=cmd|'a'!x, \"\"y\"\"\\x0a\",1,5,0,1,3\n"
				       ",2,18446744073709551615,0,,\n");
	strbuf_release(&out.buf);
	json_init(&j, &text);
	json_open_object(&j, NULL);
	table_json(&t, &j);
	json_close_object(&j);
	assert_string_equal(
		text.s,
		"{\"rows\":[{\"name\":\"=cmd|'a'!x, \\\"y\\\"\\u000a\",\"nr\":1,\"time_ns\":5,"
		"\"none\":0,\"odd\":1,\"p50_ns\":3,\"bars\":[[3,3,2],[992,1007,1]]},"
		"{\"name\":null,\"nr\":2,\"time_ns\":18446744073709551615,\"none\":0,"
		"\"odd\":null,\"p50_ns\":null,\"bars\":[]}]}");
	strbuf_release(&text);
	vec_release(&t.rows);
	histogram_release(&rows[0].values);
}

/* Each part has its own columns, the same key is the same column, and a number is a part as well.
 */
static void test_parts(void **state)
{
	static const struct column others[] = { { .key = "weight", AT(ns) },
						{ .key = "nr", .number = odd },
						{ .head = "NAME", .draw = draw } };
	struct fruit rows[] = { { "a,b", 1, 5 }, { "c", 2, 6 } };
	struct table t, other;
	struct out out;

	add(&t, rows, 2);
	add(&other, rows, 2);
	other.columns = others;
	other.nr_columns = ARRAY_SIZE(others);
	out_init(&out, -1);
	table_csv_parts((struct table_part[]){ { "first", &t, 0 },
					       { "other", &other, 0 },
					       { "sum", NULL, 42 } },
			3, &out);
	assert_string_equal(out.buf.s, "part,name,nr,time_ns,none,odd,p50_ns,weight,count\n"
				       "first,\"a,b\",1,5,0,1,,,\n"
				       "first,c,2,6,0,,,,\n"
				       "other,,1,,,,,5,\n"
				       "other,,,,,,,6,\n"
				       "sum,,,,,,,,42\n");
	strbuf_release(&out.buf);
	vec_release(&t.rows);
	vec_release(&other.rows);
}

static void check_order(struct table *t, const char *key, bool is_reverse, const char *expected)
{
	struct strbuf order = STRBUF_INIT;

	assert_non_null(table_find_key(t, key));
	table_sort(t, table_find_key(t, key), is_reverse);
	for (size_t i = 0; i < t->rows.nr; i++) {
		const struct fruit *f = t->rows.v[i];

		strbuf_addstr(&order, f->name ? f->name : "-");
	}
	assert_string_equal(order.s, expected);
	strbuf_release(&order);
}

/* Greatest first, names by the alphabet, what has none last; equals keep their order. */
static void test_sort(void **state)
{
	static const struct column early[] = { { .key = "time", .text = name },
					       { .key = "time_ns", AT(ns) },
					       { .key = "late", .is_late = true, AT(nr) } };
	struct fruit rows[] = { { "b", 3, 10 }, { "a", 2, 30 }, { NULL, 5, 20 }, { "c", 3, 0 } };
	struct strbuf keys = STRBUF_INIT;
	struct table t;

	add(&t, rows, 4);
	check_order(&t, "time", false, "a-bc");
	check_order(&t, "time_ns", true, "cb-a");
	check_order(&t, "name", false, "abc-");
	check_order(&t, "name", true, "cba-");
	check_order(&t, "nr", false, "-cba");
	check_order(&t, "odd", false, "-cba");
	check_order(&t, "odd", true, "cb-a");
	assert_null(table_find_key(&t, "tim"));
	assert_null(table_find_key(&t, ""));
	assert_null(table_find_key(&t, "bars"));
	assert_ptr_equal(table_find_key(&t, "p50-ns"), table_find_key(&t, "p50"));
	table_list_keys(&t, &keys);
	assert_string_equal(keys.s, "name, nr, time, none, odd, p50");
	/* names, and what is known too late, are not there to choose by: "time" is a number then */
	t.columns = early;
	t.nr_columns = ARRAY_SIZE(early);
	assert_ptr_equal(table_find_key(&t, "time"), &early[0]);
	t.chooses_early = true;
	assert_ptr_equal(table_find_key(&t, "time"), &early[1]);
	assert_null(table_find_key(&t, "late"));
	strbuf_reset(&keys);
	table_list_keys(&t, &keys);
	assert_string_equal(keys.s, "time");
	strbuf_release(&keys);
	vec_release(&t.rows);
}

/* Each power of ten has its place, what is out of range the first or last one. */
static void test_bars(void **state)
{
	struct histogram h = { 0 };
	struct strbuf out = STRBUF_INIT;

	for (uint64_t ns = 1; ns < UINT64_C(1000000000000); ns *= 10)
		histogram_add(&h, ns * 2);
	table_draw_bars(&h, 8, 1, true, &out);
	/* three below a microsecond, three from a second on */
	assert_string_equal(out.s, "#::::::#");
	strbuf_reset(&out);
	histogram_release(&h);
	histogram_add(&h, 150);
	histogram_add(&h, 1500);
	for (unsigned i = 0; i < 1000; i++)
		histogram_add(&h, 470000);
	table_draw_bars(&h, 48, 6, true, &out);
	assert_string_equal(out.s, " .     .              #                         ");
	strbuf_reset(&out);
	table_draw_bars(&h, 8, 1, false, &out);
	assert_string_equal(out.s, "▁▁ █    ");
	strbuf_release(&out);
	histogram_release(&h);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	       cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_leaving_out),    cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_alike),	       cmocka_unit_test(test_cutting),
		cmocka_unit_test(test_names),	       cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_never_too_wide), cmocka_unit_test(test_meaning),
		cmocka_unit_test(test_data),	       cmocka_unit_test(test_parts),
		cmocka_unit_test(test_sort),	       cmocka_unit_test(test_bars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/* The writer against text that is known to be right, and against another reader of JSON: Python's.
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"

/* Commas and nesting come from the writer. */
static void test_nesting(void **state)
{
	struct strbuf out = STRBUF_INIT;
	struct json j;

	json_init(&j, &out);
	json_open_object(&j, NULL);
	json_uint(&j, "a", UINT64_MAX);
	json_int(&j, "b", INT64_MIN);
	json_open_array(&j, "c");
	json_bool(&j, NULL, true);
	json_bool(&j, NULL, false);
	json_open_object(&j, NULL);
	json_close_object(&j);
	json_open_array(&j, NULL);
	json_close_array(&j);
	json_null(&j, NULL);
	json_close_array(&j);
	json_str(&j, "d", NULL);
	json_double(&j, "e", 0.5);
	json_double(&j, "f", NAN);
	json_double(&j, "g", INFINITY);
	json_close_object(&j);
	assert_string_equal(out.s, "{\"a\":18446744073709551615,\"b\":-9223372036854775808,"
				   "\"c\":[true,false,{},[],null],\"d\":null,\"e\":0.5,"
				   "\"f\":null,\"g\":null}");
	strbuf_release(&out);
}

static const char *quoted(struct strbuf *out, const char *text)
{
	struct json j;

	strbuf_reset(out);
	json_init(&j, out);
	json_str(&j, NULL, text);
	return out->s;
}

/* What JSON does not allow inside a string is escaped; what is no UTF-8 becomes U+FFFD. */
static void test_strings(void **state)
{
	static const char *const cases[][2] = {
		{ "", "\"\"" },
		{ "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ "\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\"" },
		{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\xa6\x80",
		  "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\xa6\x80\"" },
		/* harm on a terminal: CSI of C1, right-to-left, an end of line, an invisible tag */
		{ "\xc2\x9b"
		  "1m\xc2\x80",
		  "\"\\u009b1m\\u0080\"" },
		{ "\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8", "\"\\u202e\\u2066\\u2028\"" },
		{ "\xf3\xa0\x80\x81", "\"\\udb40\\udc01\"" },
		{ "\xff", "\"\xef\xbf\xbd\"" },
		{ "\xc3", "\"\xef\xbf\xbd\"" },			/* cut */
		{ "\xc3z", "\"\xef\xbf\xbdz\"" },		/* followed by something else */
		{ "\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\"" }, /* an overlong NUL */
		{ "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* a surrogate */
		{ "\xf4\x90\x80\x80",						/* beyond Unicode */
		  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	};
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(quoted(&out, cases[i][0]), cases[i][1]);
	strbuf_release(&out);
}

static void random_text(uint64_t *seed, char text[static 24])
{
	size_t len = unit_random(seed) % 23;

	for (size_t i = 0; i < len; i++)
		text[i] = unit_random(seed) % 255 + 1;
	text[len] = '\0';
}

/* A random document: members of all kinds, random bytes as keys and strings. Returns its number of
 * values. */
static unsigned random_values(struct json *j, uint64_t *seed, unsigned depth, bool in_object)
{
	unsigned nr = unit_random(seed) % 6, total = 0;
	char key_text[40], text[24];

	for (unsigned i = 0; i < nr; i++) {
		const char *key = in_object ? key_text : NULL;
		unsigned kind = unit_random(seed) % (depth < 6 ? 7 : 5);

		/* a number in front keeps the keys of one object different */
		random_text(seed, text);
		snprintf(key_text, sizeof(key_text), "%u%s", i, text);
		total++;
		if (kind == 0)
			json_str(j, key, text);
		else if (kind == 1)
			json_uint(j, key, unit_random(seed));
		else if (kind == 2)
			json_double(j, key, (double)unit_random(seed) / 1e9);
		else if (kind == 3)
			json_bool(j, key, unit_random(seed) & 1);
		else if (kind == 4)
			json_null(j, key);
		else if (kind == 5)
			json_open_object(j, key);
		else
			json_open_array(j, key);
		if (kind >= 5)
			total += random_values(j, seed, depth + 1, kind == 5);
		if (kind == 5)
			json_close_object(j);
		else if (kind == 6)
			json_close_array(j);
	}
	return total;
}

/* Reads lines "number of values, TAB, document" and fails unless each is strict JSON with that many
 * values. */
static const char python[] =
	"import json, sys\n"
	"def count(v):\n"
	"    if isinstance(v, dict): v = list(v.values())\n"
	"    return 1 + (sum(map(count, v)) if isinstance(v, list) else 0)\n"
	"for line in sys.stdin.buffer.read().decode('utf-8').split('\\0')[:-1]:\n"
	"    nr, text = line.split('\\t', 1)\n"
	"    def refuse(c): raise ValueError(c)\n"
	"    assert count(json.loads(text, parse_constant=refuse)) == int(nr), line\n"
	"    print('ok')\n";

/* Gives text to Python and returns how many documents it accepted, or -1. */
static int ask_python(const struct strbuf *text)
{
	char path[] = "/tmp/futrace-json-XXXXXX", line[16];
	int fd = mkstemp(path), nr = 0, status;
	char *command;
	FILE *f;

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text->s, text->len), 0);
	close(fd);
	command = xasprintf("python3 -c \"$PROGRAM\" < %s", path);
	setenv("PROGRAM", python, 1);
	f = popen(command, "r");
	while (fgets(line, sizeof(line), f))
		nr++;
	status = pclose(f);
	unlink(path);
	free(command);
	return status ? -1 : nr;
}

/* Whatever is written, plain or pretty, an independent reader understands it and finds as many
 * values. */
static void test_python(void **state)
{
	struct strbuf all = STRBUF_INIT, out = STRBUF_INIT;
	uint64_t seed = 20240607;
	const int nr = 401;

	for (int i = 0; i < nr; i++) {
		struct json j;
		unsigned values;

		strbuf_reset(&out);
		json_init(&j, &out);
		j.pretty = i & 1;
		json_open_object(&j, NULL);
		values = random_values(&j, &seed, 1, true);
		json_close_object(&j);
		strbuf_addf(&all, "%u\t%s", values + 1, out.s);
		strbuf_addch(&all, '\0');
	}
	assert_int_equal(ask_python(&all), nr);
	strbuf_release(&all);
	strbuf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_python),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}

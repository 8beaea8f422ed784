// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that patterns choose probes as DTrace's descriptions do, and that a process has the probes
 * of its own file. */
#include <string.h>
#include <unistd.h>

#include "unit.h"

#include "probe/pattern.h"

static const struct probe_file file = { .path = (char *)"/bin/my-service", .module = "my-service" };
static const struct probe_home alone = { .file = &file },
			       in_process = { .file = &file, .pid = 4711 };
static const struct probe spawn = { .provider = "tokio",
				    .name = "task-spawn",
				    .note_name = "task__spawn",
				    .symbol = "_ZN5hooks8on_spawnE",
				    .function = "hooks::on_spawn" };

static bool fits(const struct probe_home *home, const char *text)
{
	struct probe_patterns p = { 0 };
	bool is_fit;

	assert_int_equal(probe_patterns_add(&p, text, NULL), 0);
	is_fit = probe_patterns_fit(&p, home, &spawn);
	probe_patterns_release(&p);
	return is_fit;
}

/* Empty parts fit everything, and what is missing is missing in front. */
static void test_shapes(void **state)
{
	static const char *const fit[] = { ":::",
					   "",
					   "tokio:::",
					   ":my-service::",
					   "::*on_spawn*:",
					   ":::task-spawn",
					   "task-*",
					   "task__spawn",
					   "hooks??on_spawn:task-spawn",
					   "_ZN5*:task-s[a-p]*",
					   "my-*::task-*",
					   "no, task-*",
					   "tokio:::task-*,x:::" };
	static const char *const unfit[] = { "tokio",	 "task", "toki:::", "::hooks:",
					     ":::task-", "x,y",	 "TOKIO:::" };

	for (size_t i = 0; i < sizeof(fit) / sizeof(*fit); i++)
		if (!fits(&alone, fit[i]))
			fail_msg("'%s' does not fit", fit[i]);
	for (size_t i = 0; i < sizeof(unfit) / sizeof(*unfit); i++)
		if (fits(&alone, unfit[i]))
			fail_msg("'%s' fits", unfit[i]);
}

/* A provider has the id of its process behind its name. */
static void test_pids(void **state)
{
	assert_true(fits(&in_process, "tokio4711:::"));
	assert_true(fits(&in_process, "tokio*:::"));
	assert_true(fits(&in_process, "tokio:::"));
	assert_true(fits(&in_process, "tokio$target:::"));
	assert_false(fits(&in_process, "tokio471:::"));
	assert_false(fits(&in_process, "tokio4712:::"));
	assert_true(fits(&alone, "tokio$target:::"));
	assert_false(fits(&alone, "tokio4711:::"));
}

static void test_too_many(void **state)
{
	struct probe_patterns p = { 0 };
	struct err e = ERR_INIT;

	assert_int_equal(probe_patterns_add(&p, "a:b:c:d:e", &e), -1);
	assert_int_equal(e.tag, ERR_USAGE);
	probe_patterns_release(&p);
}

/* What no name can fit is refused, and sets that are whole are not. */
static void test_broken(void **state)
{
	static const char
		*const bad[] = { "[", "task-[a", "tokio:::[]", "[!]", "a\\", ":[z-a]*::" },
		       *const good[] = { "[]]",	 "[!]a]", "\\[",  "task-[r-t]pawn",
					 "[a-]", "[-A]",  "[^-A]" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct probe_patterns p = { 0 };
		struct err e = ERR_INIT;

		if (probe_patterns_add(&p, bad[i], &e) != -1)
			fail_msg("%s was taken", bad[i]);
		assert_int_equal(e.tag, ERR_USAGE);
		probe_patterns_release(&p);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		fits(&alone, good[i]);
	assert_true(fits(&alone, "task-[r-t]pawn"));
}

/* Nobody's, and a number that is too large for one. */
static void test_no_process(void **state)
{
	struct err e = ERR_INIT;
	struct probes p;

	probes_init(&p);
	assert_int_equal(probes_add_process(&p, INT32_MAX, true, &e), -1);
	assert_int_equal(e.tag, ERR_NO_PROCESS);
	assert_int_equal(probes_add_file(&p, "/nowhere", &e), -1);
	assert_int_equal(probes_add_file(&p, "/etc/passwd", &e), -1);
	assert_int_equal(e.tag, ERR_NOT_ELF);
	assert_int_equal(probes_add_process(&p, getpid(), true, &e), 0);
	probes_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),	   cmocka_unit_test(test_pids),
		cmocka_unit_test(test_too_many),   cmocka_unit_test(test_broken),
		cmocka_unit_test(test_no_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

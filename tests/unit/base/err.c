// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

/* A reason is kept with its tag, and the return value is the one to pass on. */
static void test_set(void **state)
{
	struct err e = ERR_INIT;

	assert_int_equal(e.tag, ERR_NONE);
	assert_int_equal(err_set(&e, ERR_NOT_ELF, "%s is %d", "x", 7), -1);
	assert_int_equal(e.tag, ERR_NOT_ELF);
	assert_string_equal(e.msg, "x is 7");
}

/* Nobody has to be interested in the reason. */
static void test_null(void **state)
{
	assert_int_equal(err_set(NULL, ERR_USAGE, "x"), -1);
	errno = ENOENT;
	assert_int_equal(err_sys(NULL, "x"), -1);
	assert_int_equal(err_prefix(NULL, "x"), -1);
}

/* The text of errno follows; a lack of permission has a tag of its own; errno survives. */
static void test_sys(void **state)
{
	struct err e = ERR_INIT;

	errno = ENOENT;
	assert_int_equal(err_sys(&e, "cannot open %s", "a"), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(e.tag, ERR_SYS);
	assert_string_equal(e.msg, "cannot open a: No such file or directory");
	errno = EACCES;
	err_sys(&e, "x");
	assert_int_equal(e.tag, ERR_PERMISSION);
	errno = EPERM;
	err_sys(&e, "x");
	assert_int_equal(e.tag, ERR_PERMISSION);
	errno = EMFILE;
	err_sys(&e, "x");
	assert_int_equal(errno, EMFILE);
	assert_non_null(strstr(e.msg, "'ulimit -n'"));
}

/* However long a name is, the reason is told. */
static void test_long(void **state)
{
	char big[3000];
	struct err e = ERR_INIT;

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	errno = ENAMETOOLONG;
	err_sys(&e, "cannot open %s", big);
	assert_non_null(strstr(e.msg, ": File name too long"));
}

/* A prefix goes in front and keeps the tag, also when nothing more fits. */
static void test_prefix(void **state)
{
	char big[3000];
	struct err e = ERR_INIT;

	err_set(&e, ERR_BAD_ELF, "truncated");
	assert_int_equal(err_prefix(&e, "%s", "lib.so"), -1);
	assert_int_equal(e.tag, ERR_BAD_ELF);
	assert_string_equal(e.msg, "lib.so: truncated");

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	err_set(&e, ERR_SYS, "%s", big);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	err_prefix(&e, "y");
	assert_int_equal(strncmp(e.msg, "y: xxx", 6), 0);
	err_prefix(&e, "%s", big);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),    cmocka_unit_test(test_null),
		cmocka_unit_test(test_sys),    cmocka_unit_test(test_long),
		cmocka_unit_test(test_prefix),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/* Where an output goes: links are followed, descriptors and devices written as they are. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dest.h"
#include "base/io.h"

static char folder[32];

static int enter(void **state)
{
	strcpy(folder, "/tmp/futrace-dest-XXXXXX");
	return mkdtemp(folder) && chdir(folder) == 0 && mkdir("far", 0700) == 0 ? 0 : -1;
}

static int leave(void **state)
{
	static const char *const names[] = { "far/f", "far/back", "far", "link", "file", "loop" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (unlink(names[i]))
			rmdir(names[i]);
	return chdir("/") || rmdir(folder);
}

static void assert_is_at(const char *path, const char *where, bool exists)
{
	struct dest d;

	assert_int_equal(dest_open(&d, path), 0);
	assert_int_equal(d.fd, -1);
	assert_true(d.dir >= 0);
	assert_string_equal(d.path, where);
	assert_string_equal(d.name, strrchr(where, '/') ? strrchr(where, '/') + 1 : where);
	assert_int_equal(d.exists, exists);
	dest_close(&d);
}

static void assert_fails(const char *path, int reason)
{
	struct dest d;

	assert_int_equal(dest_open(&d, path), -1);
	assert_int_equal(errno, reason);
	assert_int_equal(d.dir, -1);
}

/* A link, dangling or not, relative or not, leads to its file; a path without links is as given. */
static void test_links(void **state)
{
	char *far = xasprintf("%s/far/f", folder);

	assert_is_at("file", "file", false);
	assert_is_at("./far/f", "./far/f", false);
	assert_int_equal(symlink("far/back", "link"), 0);
	assert_is_at("link", "./far/back", false);
	assert_int_equal(symlink(far, "far/back"), 0);
	assert_is_at("link", far, false);
	assert_int_equal(io_replace_file(far, "x", 1, 0600, NULL), 0);
	assert_is_at("link", far, true);
	free(far);
}

/* What cannot be an output is an error that says why. */
static void test_errors(void **state)
{
	assert_fails("far", EISDIR);
	assert_fails("far/", EISDIR);
	assert_fails(".", EISDIR);
	assert_fails("", ENOENT);
	assert_fails("none/f", ENOENT);
	assert_int_equal(symlink("loop", "loop"), 0);
	assert_fails("loop", ELOOP);
}

/* A link that another user has put into a folder such as /tmp is not followed. */
static void test_planted(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(".", 01777), 0);
	assert_int_equal(symlink("file", "link"), 0);
	assert_is_at("link", "./file", false);
	assert_int_equal(lchown("link", 65534, 65534), 0);
	assert_fails("link", EACCES);
	assert_int_equal(chmod(".", 0700), 0);
	assert_is_at("link", "./file", false);
}

static int write_to(const char *path, const char *text)
{
	struct dest d;
	int rc;

	if (dest_open(&d, path))
		return -1;
	assert_int_equal(d.dir, -1);
	rc = io_write_all(d.fd, text, strlen(text));
	assert_true(fcntl(d.fd, F_GETFD) & FD_CLOEXEC);
	dest_close(&d);
	return rc;
}

/* A descriptor is written where it stands, under each of its names, and through links. */
static void test_descriptor(void **state)
{
	static const char *const names[] = { "/dev/fd/%d", "/proc/self/fd/%d",
					     "/proc/thread-self/fd/%d" };
	struct strbuf got = STRBUF_INIT;
	struct err e = ERR_INIT;
	char path[64];
	int fd = open("file", O_RDWR | O_CREAT, 0600);

	assert_int_equal(write(fd, "0", 1), 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), names[i], fd);
		assert_int_equal(write_to(path, "1"), 0);
	}
	assert_int_equal(symlink(path, "link"), 0);
	assert_int_equal(write_to("link", "2"), 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	assert_int_equal(write_to(path, "3"), 0);
	assert_int_equal(write(fd, "4", 1), 1);
	assert_int_equal(io_read_file("file", &got, 100, &e), 0);
	assert_string_equal(got.s, "0111234");
	strbuf_release(&got);
	close(fd);
	assert_fails("/proc/self/fd/777", EBADF);
}

/* What is not open for writing, or is the program's own, was not meant by its caller. */
static void test_not_a_descriptor(void **state)
{
	char path[64];
	int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600), reader;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_fails(path, EBADF);
	reader = open("file", O_RDONLY);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", reader);
	assert_fails(path, EBADF);
	close(reader);
	close(fd);
}

/* A socket has no name by which it could be opened; a full one is waited for. */
static void test_socket(void **state)
{
	char path[64], got[8] = "";
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", pair[0]);
	assert_int_equal(write_to(path, "data"), 0);
	assert_int_equal(read(pair[1], got, sizeof(got)), 4);
	assert_string_equal(got, "data");
	close(pair[0]);
	close(pair[1]);
}

/* A device is opened as it is. */
static void test_device(void **state)
{
	struct stat before, after;

	assert_int_equal(stat("/dev/null", &before), 0);
	assert_int_equal(write_to("/dev/null", "x"), 0);
	assert_int_equal(symlink("/dev/null", "link"), 0);
	assert_int_equal(write_to("link", "x"), 0);
	assert_int_equal(stat("/dev/null", &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
	const struct CMUnitTest tests[] = {
		TEST(test_links),      TEST(test_errors),	    TEST(test_planted),
		TEST(test_descriptor), TEST(test_not_a_descriptor), TEST(test_socket),
		TEST(test_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

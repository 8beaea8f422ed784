// SPDX-License-Identifier: MIT OR Apache-2.0
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

static char folder[] = "/tmp/futrace-io-XXXXXX";

static int enter(void **state)
{
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
	return chdir("/") || rmdir(folder);
}

/* A replaced file holds the new bytes, NULs included, has the wanted mode, and leaves nothing
 * beside it. */
static void test_replace(void **state)
{
	struct strbuf text = STRBUF_INIT;
	struct err e = ERR_INIT;
	struct stat st;

	umask(022);
	assert_int_equal(io_replace_file("a", "old", 3, 0644, &e), 0);
	assert_int_equal(io_replace_file("a", "new\0er", 6, 0600, &e), 0);
	assert_int_equal(io_read_file("a", &text, 100, &e), 0);
	assert_int_equal(text.len, 6);
	assert_memory_equal(text.s, "new\0er", 7);
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	unlink("a");
	strbuf_release(&text); /* leave() fails unless the folder is empty */
}

/* What cannot be written is an error with its reason, and leaves no temporary file. */
static void test_replace_fails(void **state)
{
	struct err e = ERR_INIT;

	assert_int_equal(io_replace_file("none/a", "x", 1, 0600, &e), -1);
	assert_int_equal(e.tag, ERR_SYS);
	assert_non_null(strstr(e.msg, "none/a"));
	assert_int_equal(mkdir("dir", 0700), 0);
	assert_int_equal(mkdir("dir/sub", 0700), 0);
	assert_int_equal(io_replace_file("dir", "x", 1, 0600, &e), -1);
	rmdir("dir/sub");
	rmdir("dir");
}

/* Reading appends; exactly max bytes are good, one more is an error. */
static void test_read_limit(void **state)
{
	struct strbuf text = STRBUF_INIT;
	struct err e = ERR_INIT;

	assert_int_equal(io_replace_file("a", "12345", 5, 0600, &e), 0);
	strbuf_addstr(&text, "0");
	assert_int_equal(io_read_file("a", &text, 5, &e), 0);
	assert_string_equal(text.s, "012345");
	assert_int_equal(io_read_file("a", &text, 4, &e), -1);
	assert_int_equal(e.tag, ERR_SYS);
	unlink("a");
	strbuf_release(&text);
}

/* No file, and a folder in its place, are errors that name it. */
static void test_read_fails(void **state)
{
	struct strbuf text = STRBUF_INIT;
	struct err e = ERR_INIT;

	assert_int_equal(io_read_file("nothing", &text, 5, &e), -1);
	assert_string_equal(e.msg, "cannot open nothing: No such file or directory");
	assert_int_equal(io_read_file(".", &text, 5, &e), -1);
	assert_string_equal(e.msg, "cannot read .: Is a directory");
	strbuf_release(&text);
}

/* A read at an offset is whole or fails; the end of the file is told from an error by errno 0. */
static void test_pread(void **state)
{
	char buf[8] = "";
	struct err e = ERR_INIT;
	int fd;

	assert_int_equal(io_replace_file("a", "12345", 5, 0600, &e), 0);
	fd = open("a", O_RDONLY);
	assert_int_equal(io_pread_all(fd, buf, 3, 2), 0);
	assert_string_equal(buf, "345");
	assert_int_equal(io_pread_all(fd, buf, 0, 99), 0);
	errno = EIO;
	assert_int_equal(io_pread_all(fd, buf, 4, 2), -1);
	assert_int_equal(errno, 0);
	close(fd);
	assert_int_equal(io_pread_all(fd, buf, 1, 0), -1);
	assert_int_equal(errno, EBADF);
	unlink("a");
}

static void *drain(void *arg)
{
	static char got[3000000];
	size_t len = 0;
	ssize_t n;

	while ((n = read(*(int *)arg, got + len, sizeof(got) - len)) > 0)
		len += n;
	got[len] = '\0';
	return len ? got : NULL;
}

/* Much more than a pipe holds arrives whole although each write is short. */
static void test_write_pipe(void **state)
{
	size_t len = 2000003;
	char *data = xmalloc(len);
	pthread_t thread;
	void *got;
	int fds[2];

	for (size_t i = 0; i < len; i++)
		data[i] = 'a' + i % 23;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pthread_create(&thread, NULL, drain, &fds[0]), 0);
	assert_int_equal(io_write_all(fds[1], data, len), 0);
	close(fds[1]);
	pthread_join(thread, &got);
	assert_memory_equal(got, data, len);
	close(fds[0]);
	assert_int_equal(io_write_all(fds[1], data, 1), -1);
	free(data);
}

/* A full disk is an error, not a short file. */
static void test_write_full(void **state)
{
	int fd = open("/dev/full", O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, "x", 1), -1);
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replace),	   cmocka_unit_test(test_replace_fails),
		cmocka_unit_test(test_read_limit), cmocka_unit_test(test_read_fails),
		cmocka_unit_test(test_pread),	   cmocka_unit_test(test_write_pipe),
		cmocka_unit_test(test_write_full),
	};

	return cmocka_run_group_tests_name("io", tests, enter, leave);
}

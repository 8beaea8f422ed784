// SPDX-License-Identifier: MIT OR Apache-2.0
/* The output file: what was there before is kept, and errors say what to do. */
#include "capture/output.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "fake.h"

static char dir[64];

static int begin(void **state)
{
	strcpy(dir, "/tmp/test-output-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static char *in_dir(const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

static int end(void **state)
{
	static const char *const names[] = { "f", "f.old", "f.old.tmp", "fifo", "sub" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path = in_dir(names[i]);

		if (unlink(path))
			rmdir(path);
		free(path);
	}
	return rmdir(dir);
}

static void write_file(const char *path, const char *text)
{
	struct err e = ERR_INIT;

	assert_int_equal(io_replace_file(path, text, strlen(text), 0644, &e), 0);
}

static void assert_content(const char *path, const char *text)
{
	struct strbuf got = STRBUF_INIT;
	struct err e = ERR_INIT;

	assert_int_equal(io_read_file(path, &got, 1000, &e), 0);
	assert_string_equal(got.s, text);
	strbuf_release(&got);
}

static void assert_absent(const char *name)
{
	char *path = in_dir(name);

	assert_int_not_equal(access(path, F_OK), 0);
	free(path);
}

/* The file is private; the one before becomes .old, and the one before that goes. */
static void test_old(void **state)
{
	char *path = in_dir("f"), *old = in_dir("f.old");
	struct output o;
	struct err e = ERR_INIT;
	struct stat st;

	write_file(old, "oldest");
	write_file(path, "older");
	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	assert_content(old, "older");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(write(o.fd, "new", 3), 3);
	output_release(&o);
	assert_content(path, "new");
	assert_content(old, "older");
	assert_absent("f.old.tmp");
	free(path);
	free(old);
}

/* Undone, everything is as it was: the file, the one before it, or none at all. */
static void test_undo(void **state)
{
	char *path = in_dir("f"), *old = in_dir("f.old");
	struct output o;
	struct err e = ERR_INIT;

	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	assert_int_equal(output_undo(&o), 0);
	assert_absent("f");
	write_file(path, "older");
	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	assert_int_equal(output_undo(&o), 0);
	assert_content(path, "older");
	assert_absent("f.old");
	write_file(old, "oldest");
	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	assert_int_equal(write(o.fd, "new", 3), 3);
	assert_int_equal(output_undo(&o), 0);
	assert_content(path, "older");
	assert_content(old, "oldest");
	assert_absent("f.old.tmp");
	free(path);
	free(old);
}

/* Once settled nothing waits for being put back; a file of no bytes displaces no .old. */
static void test_settle(void **state)
{
	char *path = in_dir("f"), *old = in_dir("f.old");
	struct output o;
	struct err e = ERR_INIT;

	write_file(old, "oldest");
	write_file(path, "");
	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	assert_null(o.old_name);
	assert_int_equal(write(o.fd, "older", 5), 5);
	output_release(&o);
	assert_content(old, "oldest");
	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	output_settle(&o);
	assert_absent("f.old.tmp");
	assert_content(old, "older");
	output_release(&o);
	free(path);
	free(old);
}

/* Rewinding forgets what was written. */
static void test_rewind(void **state)
{
	char *path = in_dir("f");
	struct output o;
	struct err e = ERR_INIT;

	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	assert_int_equal(write(o.fd, "first", 5), 5);
	assert_int_equal(output_rewind(&o), 0);
	assert_int_equal(write(o.fd, "2nd", 3), 3);
	output_release(&o);
	assert_content(path, "2nd");
	free(path);
}

/* What happened to the name f, as bits of inotify(7). */
static uint32_t seen_of_f(int watch)
{
	_Alignas(struct inotify_event) char buf[4096];
	ssize_t len = read(watch, buf, sizeof(buf));
	uint32_t seen = 0;

	for (ssize_t at = 0; at < len;) {
		const struct inotify_event *event = (const void *)(buf + at);

		if (event->len && strcmp(event->name, "f") == 0)
			seen |= event->mask;
		at += sizeof(*event) + event->len;
	}
	return seen;
}

/* At no moment there is an empty file under the name: who is killed leaves a recording. */
static void test_never_empty(void **state)
{
	const struct trace_meta first = { .tool = "futrace", .exe = "/bin/true" };
	int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct strbuf born = STRBUF_INIT, now = STRBUF_INIT;
	char *path = in_dir("f"), much[1000] = "";
	struct output o;
	struct err e = ERR_INIT;

	assert_true(inotify_add_watch(watch, dir, IN_CREATE | IN_MODIFY) >= 0);
	assert_int_equal(output_open(&o, path, &first, &e), 0);
	assert_int_equal(seen_of_f(watch), IN_CREATE);
	assert_int_equal(io_read_file(path, &born, sizeof(much), &e), 0);
	assert_true(born.len > 0);
	assert_int_equal(write(o.fd, much, sizeof(much)), sizeof(much));
	assert_int_equal(output_rewind(&o), 0);
	assert_int_equal(io_read_file(path, &now, sizeof(much), &e), 0);
	assert_int_equal(now.len, born.len);
	assert_memory_equal(now.s, born.s, born.len);
	output_release(&o);
	strbuf_release(&born);
	strbuf_release(&now);
	close(watch);
	free(path);
}

/* A device or FIFO is written as it is, and not moved away. */
static void test_special(void **state)
{
	char *path = in_dir("fifo");
	struct output o;
	struct err e = ERR_INIT;
	struct stat st;
	int reader;

	assert_int_equal(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	assert_false(o.is_regular);
	assert_int_not_equal(output_rewind(&o), 0);
	output_undo(&o);
	close(reader);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(output_open(&o, "/dev/null", NULL, &e), 0);
	assert_false(o.is_regular);
	output_release(&o);
	free(path);
}

/* The umask does not decide who may read a recording: its owner. */
static void test_umask(void **state)
{
	const struct trace_meta first = { .tool = "futrace", .exe = "/bin/true" };
	char *path = in_dir("f");
	mode_t mask = umask(0777);
	struct err e = ERR_INIT;
	struct output o;
	struct stat st;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(output_open(&o, path, i ? &first : NULL, &e), 0);
		assert_int_equal(fstat(o.fd, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		output_undo(&o);
	}
	umask(mask);
	free(path);
}

/* A link, also to another disk and to no file yet, stays one: the older file is kept where it
 * really is, and everything can be undone there. */
static void test_link(void **state)
{
	char *path = in_dir("f"), *far = xstrdup("/dev/shm/test-output-XXXXXX"), *old;
	struct output o;
	struct err e = ERR_INIT;
	struct stat st;

	if (!mkdtemp(far))
		skip();
	old = xasprintf("%s/g.old", far);
	far = xrealloc(far, strlen(far) + 3);
	strcat(far, "/g");
	assert_int_equal(symlink(far, path), 0);
	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	assert_true(o.is_regular);
	assert_string_equal(o.dest.path, far);
	assert_int_equal(write(o.fd, "first", 5), 5);
	output_release(&o);
	assert_content(far, "first");
	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	assert_content(old, "first");
	assert_int_equal(output_undo(&o), 0);
	assert_content(far, "first");
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_absent("f.old");
	unlink(far);
	assert_int_not_equal(unlink(old), 0);
	*strrchr(far, '/') = '\0';
	assert_int_equal(rmdir(far), 0);
	free(path);
	free(old);
	free(far);
}

/* A descriptor is written where it stands; nothing is moved, removed or put before it. */
static void test_descriptor(void **state)
{
	const struct trace_meta first = { .tool = "futrace", .exe = "/bin/true" };
	char *path = in_dir("f"), name[32];
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	struct output o;
	struct err e = ERR_INIT;

	assert_int_equal(write(fd, "a", 1), 1);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(output_open(&o, name, &first, &e), 0);
		assert_false(o.is_regular);
		assert_int_not_equal(output_rewind(&o), 0);
		assert_int_equal(write(o.fd, "b", 1), 1);
		if (i)
			output_undo(&o);
		else
			output_release(&o);
	}
	assert_content(path, "abb");
	assert_absent("f.old");
	close(fd);
	free(path);
}

/* A FIFO that nobody reads yet is waited for: what is written to it reaches the reader. */
static void test_late_reader(void **state)
{
	char *path = in_dir("fifo"), got[8] = "";
	struct output o;
	struct err e = ERR_INIT;
	int status;
	pid_t pid;

	assert_int_equal(mkfifo(path, 0600), 0);
	pid = fork();
	if (pid == 0) {
		int fd;

		alarm(5);
		usleep(100000);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		free(path);
		_exit(read(fd, got, sizeof(got)) == 4 && memcmp(got, "data", 4) == 0 ? 0 : 1);
	}
	assert_true(pid > 0);
	assert_int_equal(output_open(&o, path, NULL, &e), 0);
	assert_int_equal(write(o.fd, "data", 4), 4);
	output_release(&o);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	free(path);
}

static bool says(const char *path, const char *text)
{
	struct err e = ERR_INIT;
	struct output o;

	assert_int_not_equal(output_open(&o, path, NULL, &e), 0);
	assert_non_null(strstr(e.msg, "cannot create"));
	return strstr(e.msg, text);
}

/* Each error names the file and the way out. */
static void test_errors(void **state)
{
	char *sub = in_dir("sub");
	const char *const paths[] = { "/nonexistent/f", sub, "/proc/f" };

	assert_int_equal(mkdir(sub, 0700), 0);
	/* not a word of a directory that were missing where it is not */
	assert_false(says("/proc/f", "does not exist"));
	assert_true(says("/nonexistent/f", "does not exist"));
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct err e = ERR_INIT;
		struct output o;

		assert_int_not_equal(output_open(&o, paths[i], NULL, &e), 0);
		assert_int_not_equal(e.tag, ERR_NONE);
		assert_non_null(strstr(e.msg, paths[i]));
		assert_non_null(strstr(e.msg, "-o FILE"));
		assert_int_equal(o.fd, -1);
	}
	free(sub);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_old),		TEST(test_undo),	TEST(test_settle),
		TEST(test_rewind),	TEST(test_never_empty), TEST(test_special),
		TEST(test_umask),	TEST(test_link),	TEST(test_descriptor),
		TEST(test_late_reader), TEST(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that the cache gives back what was stored or nothing, whatever happens to its files, and
 * stays small; and that nothing of another user is read or written through.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "check.h"
#include "symbol/cache.h"
#include "symbol/cache_dir.h"

static char dir[64];

static char *only_file(void)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char *path = NULL;

	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.') {
			free(path);
			path = xasprintf("%s/%s", dir, entry->d_name);
		}
	if (d)
		closedir(d);
	return path;
}

static bool has(const char *key, const char *want)
{
	struct strbuf out = STRBUF_INIT;
	bool ok = cache_get(dir, key, &out);

	if (ok)
		check_str(out.s, want);
	strbuf_release(&out);
	return ok;
}

static void test_round_trip(void)
{
	check_num(has("k", ""), false);
	cache_put(dir, "k", "hello", 5, 1 << 20);
	check_num(has("k", "hello"), true);
	check_num(has("other", ""), false);
	cache_put(dir, "k", "", 0, 1 << 20);
	check_num(has("k", ""), true);
	cache_put(dir, "k", "again", 5, 1 << 20);
	check_num(has("k", "again"), true);
}

/* Every single flipped byte and every cut is noticed. */
static void test_damage(void)
{
	char *path = only_file();
	struct strbuf good = STRBUF_INIT;

	check_num(io_read_file(path, &good, 1 << 20, NULL), 0);
	for (size_t i = 0; i < good.len; i++) {
		good.s[i] ^= 0x40;
		io_replace_file(path, good.s, good.len, 0600, NULL);
		check_num(has("k", ""), false);
		good.s[i] ^= 0x40;
		io_replace_file(path, good.s, i, 0600, NULL);
		check_num(has("k", ""), false);
	}
	cache_put(dir, "k", "mended", 6, 1 << 20);
	check_num(has("k", "mended"), true);
	strbuf_release(&good);
	free(path);
}

static void test_bounded(void)
{
	static char big[10000];
	uint64_t total = 0;
	DIR *d;
	struct dirent *entry;

	for (int i = 0; i < 20; i++) {
		char *key = xasprintf("key %d", i);

		cache_put(dir, key, big, sizeof(big), 50000);
		free(key);
		usleep(2000); /* so that their times differ */
	}
	d = opendir(dir);
	while ((entry = readdir(d))) {
		char *path = xasprintf("%s/%s", dir, entry->d_name);
		struct stat st;

		if (entry->d_name[0] != '.' && stat(path, &st) == 0)
			total += st.st_size;
		free(path);
	}
	closedir(d);
	check_num(total <= 50000, true);
	check_num(total >= 30000, true);
	check_num(has("key 0", ""), false);
	check_num(has("key 19", ""), true);
}

static time_t used_at(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mtime : 0;
}

/* What a worker reads is in use as well, though only its caller can write that down. */
static void test_used_by_worker(void)
{
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct strbuf kept = STRBUF_INIT;
	char *path;

	cache_put(dir, "used", "by a worker", 11, 1 << 20);
	path = only_file();
	check_num(utimensat(AT_FDCWD, path, old, 0), 0);
	cache_divert(&kept);
	check_num(has("used", "by a worker"), true);
	check_num(has("absent", ""), false);
	check_num(used_at(path), 1);
	cache_put(dir, "new", "also", 4, 1 << 20);
	cache_divert(NULL);
	check_num(has("new", ""), false);
	cache_put_packed(dir, kept.s, kept.len);
	check_num(used_at(path) > 1, true);
	check_num(has("used", "by a worker"), true);
	check_num(has("new", "also"), true);
	strbuf_release(&kept);
	free(path);
}

/* What is no regular file counts as absent, at once, and is replaced, not written through. */
static void test_planted(void)
{
	char *path = only_file(), *bait = xasprintf("%s-bait", dir);
	struct strbuf kept = STRBUF_INIT;
	struct stat st;

	unlink(path);
	free(path);
	cache_put(dir, "k", "good", 4, 1 << 20);
	path = only_file();
	check_num(unlink(path), 0);
	check_num(mkfifo(path, 0600), 0);
	alarm(10); /* a reader that waits for the other end would do so for ever */
	check_num(has("k", ""), false);
	check_num(unlink(path), 0);
	io_replace_file(bait, "bait", 4, 0600, NULL);
	check_num(symlink(bait, path), 0);
	check_num(has("k", ""), false);
	cache_put(dir, "k", "good", 4, 1 << 20);
	alarm(0);
	check_num(has("k", "good"), true);
	check_num(lstat(path, &st), 0);
	check_num(S_ISREG(st.st_mode), true);
	check_num(st.st_mode & 07777, 0600);
	check_num(io_read_file(bait, &kept, 100, NULL), 0);
	check_str(kept.s, "bait");
	check_num(truncate(path, (off_t)1 << 40), 0);
	check_num(has("k", ""), false);
	unlink(bait);
	unlink(path);
	strbuf_release(&kept);
	free(bait);
	free(path);
}

/* Is a cache in home/.cache used? Leaves home as it was. */
static bool is_used(const char *home)
{
	char *cache = xasprintf("%s/.cache", home), *folder = xasprintf("%s/futrace", cache);
	struct strbuf out = STRBUF_INIT;
	bool used;
	int fd;

	cache_put(folder, "k", "v", 1, 1 << 20);
	used = cache_get(folder, "k", &out);
	strbuf_release(&out);
	fd = cache_dir_open(folder, false);
	check_num(fd >= 0, used);
	if (fd >= 0) {
		struct dirent *entry;
		DIR *d = fdopendir(fd);

		while ((entry = readdir(d)))
			if (entry->d_name[0] != '.')
				unlinkat(fd, entry->d_name, 0);
		closedir(d);
	}
	rmdir(folder);
	rmdir(cache);
	free(folder);
	free(cache);
	return used;
}

/* A folder that other users can write to, or that is one's of them, is not used. */
static void test_whose(void)
{
	char *home = xasprintf("%s/home", dir), *cache = xasprintf("%s/.cache", home),
	     *link = xasprintf("%s/link", dir);
	mode_t mask = umask(0777);

	mkdir(home, 0);
	chmod(home, 0755);
	check_num(is_used(home), true); /* whatever the umask */
	umask(mask);
	chmod(home, 0777);
	check_num(is_used(home), false);
	chmod(home, 01777);
	check_num(is_used(home), true);
	chmod(home, 0755);
	check_num(symlink(home, link), 0);
	check_num(is_used(link), true);
	for (int i = 0; i < 2; i++) {
		char *folder = xasprintf("%s/futrace", cache);

		/* an existing folder must be closed to others already */
		check_num(mkdir(cache, 0755) || mkdir(folder, i ? 0700 : 0755), 0);
		check_num(is_used(home), i);
		free(folder);
	}
	check_num(cache_dir_open("home", true), -1);
	if (geteuid() == 0) {
		check_num(lchown(link, 65534, 65534), 0);
		check_num(is_used(link), false);
		check_num(chown(home, 65534, 65534), 0);
		check_num(is_used(home), false);
	}
	unlink(link);
	rmdir(home);
	free(link);
	free(cache);
	free(home);
}

/* Temporary files of a process that was killed are removed some time later, and not before. */
static void test_left_over(void)
{
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	char *dead = xasprintf("%s/a.tmp", dir), *busy = xasprintf("%s/b.tmp", dir);

	io_replace_file(dead, "x", 1, 0600, NULL);
	io_replace_file(busy, "x", 1, 0600, NULL);
	check_num(utimensat(AT_FDCWD, dead, old, 0), 0);
	cache_put(dir, "k", "v", 1, 1 << 20);
	check_num(access(dead, F_OK) == 0, false);
	check_num(access(busy, F_OK) == 0, true);
	free(dead);
	free(busy);
}

static void clean_up(void)
{
	char *path;

	while ((path = only_file())) {
		unlink(path);
		free(path);
	}
	rmdir(dir);
}

int main(void)
{
	snprintf(dir, sizeof(dir), "/tmp/futrace-cache-test-%d", (int)getpid());
	test_round_trip();
	test_damage();
	test_bounded();
	clean_up();
	test_used_by_worker();
	clean_up();
	test_round_trip();
	test_planted();
	test_whose();
	test_left_over();
	clean_up();
	return check_result();
}

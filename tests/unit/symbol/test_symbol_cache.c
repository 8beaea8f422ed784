// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that the cache gives back what was stored or nothing, whatever happens to its files, and
 * stays small.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "check.h"
#include "symbol/cache.h"

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
	return check_result();
}

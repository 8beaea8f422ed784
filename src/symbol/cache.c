// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A cache file: header, key, data. Its name is a hash of the key; the key inside settles
 * collisions.
 */
#include "symbol/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/pack.h"
#include "base/vec.h"
#include "symbol/cache_dir.h"

#define MAGIC	    UINT64_C(0x3245484341435446) /* "FTCACHE2" */
#define SUFFIX	    ".cache"
#define MAX_FILE    (48 << 20)
#define MAX_WRITE_S 3600 /* a temporary file that is older has no writer */

struct header {
	uint64_t magic, checksum; /* of everything behind the header */
	uint64_t key_len, data_len;
};

/* Eight bytes at a time: files of megabytes are read at each start. */
static uint64_t checksum(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ len, word;

	while (len) {
		size_t n = MIN(len, sizeof(word));

		word = 0;
		memcpy(&word, p, n);
		h = (h ^ word) * UINT64_C(0x100000001b3);
		h ^= h >> 29;
		p += n;
		len -= n;
	}
	return h;
}

static char *file_of(const char *key)
{
	return xasprintf("%016llx" SUFFIX, (unsigned long long)checksum(key, strlen(key)));
}

static bool is_good(const struct strbuf *file, const char *key, const struct header *h)
{
	size_t body = file->len - sizeof(*h);

	return h->magic == MAGIC && h->key_len == strlen(key) && h->key_len <= body &&
	       h->data_len == body - h->key_len &&
	       memcmp(file->s + sizeof(*h), key, h->key_len) == 0 &&
	       h->checksum == checksum(file->s + sizeof(*h), body);
}

/*
 * NULL: files are written. Otherwise for each file its key, how large the cache may be, and what is
 * in it. The cache may have 0 bytes: it was only used.
 */
static struct strbuf *diverted;

void cache_divert(struct strbuf *to)
{
	diverted = to;
}

/* What is in use is the last to be removed. */
static void note_use(int dir, const char *name, const char *key)
{
	if (!diverted) {
		utimensat(dir, name, NULL, AT_SYMLINK_NOFOLLOW);
		return;
	}
	pack_string(diverted, key);
	pack_number(diverted, 0);
	pack_blob(diverted, "", 0);
}

bool cache_get(const char *path, const char *key, struct strbuf *out)
{
	int dir = cache_dir_open(path, false);
	char *name = file_of(key);
	struct strbuf file = STRBUF_INIT;
	struct header h;
	bool ok = false;

	if (dir >= 0 && io_read_regular_at(dir, name, &file, MAX_FILE, NULL) == 0 &&
	    file.len >= sizeof(h)) {
		memcpy(&h, file.s, sizeof(h));
		ok = is_good(&file, key, &h);
	}
	if (ok) {
		strbuf_add(out, file.s + sizeof(h) + h.key_len, h.data_len);
		note_use(dir, name, key);
	}
	strbuf_release(&file);
	if (dir >= 0)
		close(dir);
	free(name);
	return ok;
}

struct old_file {
	char *name;
	uint64_t bytes;
	struct timespec used;
};

static int by_age(const void *a, const void *b)
{
	const struct old_file *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* Left by a process that was killed before it could rename it? */
static bool is_left_over(const char *name, const struct stat *st)
{
	return str_has_suffix(name, ".tmp") && time(NULL) - st->st_mtime > MAX_WRITE_S;
}

/* Also removes temporary files that nobody writes any more. dir is closed. */
static void shrink(int dir, uint64_t max_bytes)
{
	VEC(struct old_file) files = { 0 };
	uint64_t total = 0;
	DIR *d = fdopendir(dir);
	struct dirent *entry;
	struct stat st;

	if (!d) {
		close(dir);
		return;
	}
	while ((entry = readdir(d))) {
		struct old_file f = { 0 };

		if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (is_left_over(entry->d_name, &st))
			unlinkat(dir, entry->d_name, 0);
		if (!str_has_suffix(entry->d_name, SUFFIX))
			continue;
		f.name = xstrdup(entry->d_name);
		f.bytes = st.st_size;
		f.used = st.st_mtim;
		total += f.bytes;
		vec_push(&files, f);
	}
	if (files.nr)
		qsort(files.v, files.nr, sizeof(*files.v), by_age);
	vec_each (f, &files) {
		if (total > max_bytes && unlinkat(dir, f->name, 0) == 0)
			total -= f->bytes;
		free(f->name);
	}
	vec_release(&files);
	closedir(d);
}

/* Of the whole cache, whatever a reader asks for. */
#define LEAST_TOTAL (UINT64_C(64) << 20)

static void touch(const char *path, const char *key)
{
	int dir = cache_dir_open(path, false);
	char *name = file_of(key);

	if (dir >= 0) {
		note_use(dir, name, key);
		close(dir);
	}
	free(name);
}

void cache_put_packed(const char *path, const void *data, size_t len)
{
	struct unpack u = UNPACK_INIT(data, len);

	while (u.p < u.end && !u.is_broken) {
		const char *key = unpack_string(&u);
		uint64_t max_bytes = unpack_number(&u);
		size_t nr_bytes;
		const void *bytes = unpack_blob(&u, &nr_bytes);

		if (bytes && !max_bytes) {
			touch(path, key);
			continue;
		}
		/* A reader that was taken over must not answer for files that it never read. */
		if (bytes && !str_has_prefix(key, "reading ") && !str_has_prefix(key, "lines "))
			cache_put(path, key, bytes, nr_bytes, MAX(max_bytes, LEAST_TOTAL));
	}
}

void cache_put(const char *path, const char *key, const void *data, size_t len, uint64_t max_bytes)
{
	struct header h = { .magic = MAGIC, .key_len = strlen(key), .data_len = len };
	struct strbuf file = STRBUF_INIT;
	char *name = file_of(key);
	int dir = -1;

	if (len > MAX_FILE - sizeof(h) - h.key_len)
		goto out;
	if (diverted) {
		pack_string(diverted, key);
		pack_number(diverted, max_bytes);
		pack_blob(diverted, data, len);
		goto out;
	}
	dir = cache_dir_open(path, true);
	if (dir < 0)
		goto out;
	strbuf_add(&file, &h, sizeof(h));
	strbuf_add(&file, key, h.key_len);
	strbuf_add(&file, data, len);
	h.checksum = checksum(file.s + sizeof(h), file.len - sizeof(h));
	memcpy(file.s, &h, sizeof(h));
	if (io_replace_at(dir, name, file.s, file.len, 0600, NULL) == 0)
		shrink(dir, max_bytes);
	else
		close(dir);
out:
	strbuf_release(&file);
	free(name);
}

void cache_add_image(struct strbuf *key, const struct image *img)
{
	static const char *const sections[] = { ".symtab",	 ".strtab",    ".debug_info",
						".debug_abbrev", ".debug_str", ".debug_line" };

	strbuf_addf(key, " %s %zu", img->build_id, img->size_bytes);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		const struct image_section *s = image_section(img, sections[i]);

		strbuf_addf(key, " %llx", s ? (unsigned long long)s->size_bytes : 0);
	}
}

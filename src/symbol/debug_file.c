// SPDX-License-Identifier: MIT OR Apache-2.0
#include "symbol/debug_file.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define DEBUG_ROOT "/usr/lib/debug"

/* Same build-id where both have one; otherwise the checksum of the debug link must agree. */
static bool belongs(const struct image *img, const char *candidate, const uint32_t *crc)
{
	struct image *other = image_open(candidate, NULL, NULL);
	bool ok = false;

	if (!other)
		return false;
	if (img->build_id[0] && other->build_id[0])
		ok = strcmp(img->build_id, other->build_id) == 0;
	else if (crc && other->size_bytes <= UINT_MAX)
		ok = crc32(0, other->data, other->size_bytes) == *crc;
	ok = ok && (image_section(other, ".debug_info") || image_section(other, ".symtab"));
	image_close(other);
	return ok;
}

/* The folder of the file itself, also when path is a link such as /proc/PID/exe. */
static char *folder_of(const char *path)
{
	char real[PATH_MAX];
	char *slash;
	ssize_t n = readlink(path, real, sizeof(real) - 1);

	if (n > 0 && real[0] == '/')
		real[n] = '\0';
	else
		snprintf(real, sizeof(real), "%s", path);
	slash = strrchr(real, '/');
	if (!slash)
		return xstrdup(".");
	*slash = '\0';
	return xstrdup(real);
}

struct candidates {
	char **v;
	size_t nr;
	uint32_t crc; /* of those by link */
	size_t first_by_link;
};

static void add(struct candidates *c, char *path)
{
	c->v = xreallocarray(c->v, c->nr + 1, sizeof(*c->v));
	c->v[c->nr++] = path;
}

static void add_by_link(struct candidates *c, const struct image *img, const char *path)
{
	static const char *const forms[] = { "%s/%s", "%s/.debug/%s", DEBUG_ROOT "%s/%s" };
	const struct image_section *s = image_section(img, ".gnu_debuglink");
	const uint8_t *data = image_section_data(img, s);
	const char *name = data ? image_string(img, s->off, s->off + s->size_bytes) : NULL;
	uint64_t crc_at;
	char *folder;

	if (!name || !*name || strchr(name, '/'))
		return;
	crc_at = ROUND_UP(strlen(name) + 1, 4);
	if (crc_at + 4 > s->size_bytes)
		return;
	memcpy(&c->crc, data + crc_at, sizeof(c->crc));
	folder = folder_of(path);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		char candidate[2 * PATH_MAX];

		snprintf(candidate, sizeof(candidate), forms[i], folder, name);
		add(c, xstrdup(candidate));
	}
	free(folder);
}

static struct candidates candidates_of(const struct image *img, const char *path)
{
	struct candidates c = { 0 };

	if (strlen(img->build_id) >= 4)
		add(&c, xasprintf("%s/.build-id/%.2s/%s.debug", DEBUG_ROOT, img->build_id,
				  img->build_id + 2));
	c.first_by_link = c.nr;
	add_by_link(&c, img, path);
	return c;
}

char **debug_file_candidates(const struct image *img, const char *path, size_t *nr)
{
	struct candidates c = candidates_of(img, path);

	*nr = c.nr;
	return c.v;
}

char *debug_file_find(const struct image *img, const char *path, bool *is_other)
{
	struct candidates c = candidates_of(img, path);
	char *found = NULL;
	bool other = false;

	for (size_t i = 0; i < c.nr; i++) {
		if (!found && access(c.v[i], R_OK) == 0) {
			if (belongs(img, c.v[i], i < c.first_by_link ? NULL : &c.crc))
				found = xstrdup(c.v[i]);
			else
				other = true;
		}
		free(c.v[i]);
	}
	free(c.v);
	if (is_other)
		*is_other = other && !found;
	return found;
}

bool debug_file_is_one(const char *path)
{
	struct image *img = image_open(path, NULL, NULL);
	const struct image_section *code = img ? image_section(img, ".text") : NULL;
	bool is_one = code && code->type == SHT_NOBITS;

	image_close(img);
	return is_one;
}

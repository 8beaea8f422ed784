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

static char *by_build_id(const struct image *img, bool *is_other)
{
	char *path;

	if (strlen(img->build_id) < 4)
		return NULL;
	path = xasprintf("%s/.build-id/%.2s/%s.debug", DEBUG_ROOT, img->build_id,
			 img->build_id + 2);
	if (access(path, R_OK) == 0) {
		if (belongs(img, path, NULL))
			return path;
		*is_other = true;
	}
	free(path);
	return NULL;
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

static char *by_link(const struct image *img, const char *path, bool *is_other)
{
	static const char *const forms[] = { "%s/%s", "%s/.debug/%s", DEBUG_ROOT "%s/%s" };
	const struct image_section *s = image_section(img, ".gnu_debuglink");
	const uint8_t *data = image_section_data(img, s);
	const char *name = data ? image_string(img, s->off, s->off + s->size_bytes) : NULL;
	char *folder, *found = NULL;
	uint64_t crc_at;
	uint32_t crc;

	if (!name || !*name || strchr(name, '/'))
		return NULL;
	crc_at = ROUND_UP(strlen(name) + 1, 4);
	if (crc_at + 4 > s->size_bytes)
		return NULL;
	memcpy(&crc, data + crc_at, sizeof(crc));
	folder = folder_of(path);
	for (size_t i = 0; i < ARRAY_SIZE(forms) && !found; i++) {
		char candidate[2 * PATH_MAX];

		snprintf(candidate, sizeof(candidate), forms[i], folder, name);
		if (access(candidate, R_OK) != 0)
			continue;
		if (belongs(img, candidate, &crc))
			found = xstrdup(candidate);
		else
			*is_other = true;
	}
	free(folder);
	return found;
}

char *debug_file_find(const struct image *img, const char *path, bool *is_other)
{
	bool other = false;
	char *found = by_build_id(img, &other);

	if (!found)
		found = by_link(img, path, &other);
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

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "symbol/fingerprint.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/map.h"

#define END_BYTES    8192
#define SAMPLE_BYTES 64
#define NR_SAMPLES   512

static uint64_t add(uint64_t hash, const uint8_t *bytes, size_t len)
{
	uint64_t word;

	for (; len; bytes += MIN(len, sizeof(word)), len -= MIN(len, sizeof(word))) {
		word = 0;
		memcpy(&word, bytes, MIN(len, sizeof(word)));
		hash = map_hash(hash ^ word) + (hash << 7 | hash >> 57);
	}
	return hash;
}

static bool add_range(int fd, uint64_t off, size_t len, uint64_t *hash)
{
	uint8_t bytes[END_BYTES];

	if (io_pread_all(fd, bytes, len, off) < 0)
		return false;
	*hash = add(*hash, bytes, len);
	return true;
}

static bool add_all(int fd, struct fingerprint *f)
{
	uint64_t size = f->size_bytes, step = size / NR_SAMPLES;

	f->hash = 1;
	if (!add_range(fd, 0, MIN(size, (uint64_t)END_BYTES), &f->hash))
		return false;
	if (size > END_BYTES && !add_range(fd, size - END_BYTES, END_BYTES, &f->hash))
		return false;
	for (uint64_t i = 1; i < NR_SAMPLES && step >= SAMPLE_BYTES; i++)
		if (!add_range(fd, i * step, SAMPLE_BYTES, &f->hash))
			return false;
	return true;
}

bool fingerprint_file(const char *path, struct fingerprint *f)
{
	int fd = io_open(path);
	struct stat st;
	bool ok;

	*f = (struct fingerprint){ 0 };
	if (fd < 0)
		return false;
	ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	if (ok)
		f->size_bytes = st.st_size;
	ok = ok && add_all(fd, f);
	if (!ok)
		*f = (struct fingerprint){ 0 };
	close(fd);
	return ok;
}

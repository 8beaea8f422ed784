// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Damages real ELF files at random, where it hurts, and hands them to the fuzz target: libFuzzer
 *alone would hardly ever make an ELF file.
 *
 *	damage_elf SECONDS FILE...	from $FUZZ_SEED, or from a seed that is printed
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t seed;

static uint64_t roll(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return below ? seed % below : 0;
}

/* Somewhere in a section: each is as likely as any other, so that small ones are not spared. */
static size_t place_in_section(const uint8_t *data, size_t size)
{
	Elf64_Ehdr eh;
	Elf64_Shdr sh;
	uint64_t at;

	if (size < sizeof(eh))
		return roll(size);
	memcpy(&eh, data, sizeof(eh));
	at = eh.e_shoff + roll(eh.e_shnum) * sizeof(sh);
	if (at >= size || size - at < sizeof(sh))
		return roll(size);
	memcpy(&sh, data + at, sizeof(sh));
	at = sh.sh_offset + roll(sh.sh_size);
	return at < size ? at : roll(size);
}

static size_t place(const uint8_t *data, size_t size)
{
	switch (roll(4)) {
	case 0:
		return roll(MIN(size, (size_t)1024));
	case 1:
		return size - 1 - roll(MIN(size, (size_t)8192));
	default:
		return place_in_section(data, size);
	}
}

static void damage(uint8_t *data, size_t *size)
{
	static const uint64_t values[] = { 0,	 1,	     0x7f,	 0x80,
					   0xff, 0x7fffffff, 0xffffffff, UINT64_MAX };

	for (uint64_t n = 1 + roll(roll(4) ? 8 : 2000); n; n--) {
		size_t at = place(data, *size), len = (size_t)1 << roll(4);
		uint64_t value = roll(2) ? values[roll(ARRAY_SIZE(values))] : seed;

		memcpy(data + at, &value, MIN(len, *size - at));
	}
	if (roll(8) == 0)
		*size = 1 + roll(*size);
}

int main(int argc, char **argv)
{
	uint64_t end_ns, nr = 0, started = clock_mono_ns();
	struct strbuf *files = xcalloc(argc, sizeof(*files));

	if (argc < 3) {
		fprintf(stderr, "usage: damage_elf SECONDS FILE...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		struct err e = ERR_INIT;

		strbuf_init(&files[i]);
		if (io_read_file(argv[i], &files[i], 1 << 28, &e) < 0) {
			fprintf(stderr, "%s\n", e.msg);
			return 2;
		}
	}
	seed = getenv("FUZZ_SEED") ? strtoull(getenv("FUZZ_SEED"), NULL, 0) : started | 1;
	printf("FUZZ_SEED=%" PRIu64 "\n", seed);
	fflush(stdout);
	end_ns = started + strtoull(argv[1], NULL, 10) * UINT64_C(1000000000);
	for (; clock_mono_ns() < end_ns; nr++) {
		const struct strbuf *from = &files[2 + roll(argc - 2)];
		size_t size = from->len;
		uint8_t *data = xmalloc(size + 1);

		memcpy(data, from->s, size);
		if (size)
			damage(data, &size);
		LLVMFuzzerTestOneInput(data, size);
		free(data);
	}
	printf("%" PRIu64 " files\n", nr);
	for (int i = 2; i < argc; i++)
		strbuf_release(&files[i]);
	free(files);
	return 0;
}

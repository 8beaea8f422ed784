// SPDX-License-Identifier: MIT OR Apache-2.0
/* Discovery of damaged ELF files: whatever is inside, it must end without a crash or a wild read.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "runtime/discover.h"
#include "symbol/dwarf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of some points all over the code. */
static void find_places(const char *path)
{
	struct dwarf_point points[16] = { 0 };
	struct image *img = image_open(path, "fuzz", NULL);
	const char *why;
	struct dwarf *d = img ? dwarf_open(path, &why) : NULL;

	for (size_t i = 0; d && i < ARRAY_SIZE(points); i++)
		points[i].va = img->exec_min + (img->exec_max - img->exec_min) / 16 * i;
	if (d)
		dwarf_find_places(d, points, ARRAY_SIZE(points));
	for (size_t i = 0; i < ARRAY_SIZE(points); i++)
		free(points[i].places);
	dwarf_close(d);
	image_close(img);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct futures_wanted futures = { .patterns = "*" };
	struct discover_opts opts = { .names = true, .futures = &futures };
	int fd = memfd_create("fuzz_elf", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || io_write_all(fd, data, size) < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	discovery_free(discover_file(path, "fuzz", &opts, NULL));
	find_places(path);
	close(fd);
	return 0;
}

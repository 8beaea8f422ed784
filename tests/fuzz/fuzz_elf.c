// SPDX-License-Identifier: MIT OR Apache-2.0
/* Discovery of damaged ELF files: whatever is inside, it must end without a crash or a wild read.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "runtime/discover.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct discover_opts opts = { .names = true };
	int fd = memfd_create("fuzz_elf", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || io_write_all(fd, data, size) < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	discovery_free(discover_file(path, "fuzz", &opts, NULL));
	close(fd);
	return 0;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which allocator a file brings with it. A task's memory is seen to be taken only where libc gives
 * it. Symbols may be stripped, but these libraries complain in a text of their own.
 */
#include <string.h>

#include "runtime/runtime.h"

const char *allocator_in(const struct image *img)
{
	static const struct {
		const char *name, *mark;
	} known[] = {
		{ "jemalloc", "<jemalloc>: " },
		{ "mimalloc", "mimalloc: warning: " },
	};
	const struct image_section *rodata = image_section(img, ".rodata");
	const void *data = image_section_data(img, rodata);

	for (size_t i = 0; data && i < ARRAY_SIZE(known); i++)
		if (memmem(data, rodata->size_bytes, known[i].mark, strlen(known[i].mark)))
			return known[i].name;
	return "";
}

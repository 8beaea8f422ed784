// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Layouts of damaged debug info: whatever is inside, reading ends without a crash or a wild read.
 * Types are followed as a walker follows them, from whatever can be asked for.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "symbol/layout.h"

#define MAX_TYPES 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum; /* of all that is read, so that nothing of it is left out */

static void look(const struct layout_member *members, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		sum += members[i].name[0] + members[i].type + members[i].off;
}

static void look_at_type(struct layouts *l, uint32_t type)
{
	const struct layout *t = layouts_get(l, type);

	sum += t->name[0] + t->size_bytes + layouts_get(l, t->target)->nr_elements;
	look(t->members, t->nr_members);
	for (uint32_t i = 0; i < t->nr_variants; i++) {
		const struct layout_variant *v = &t->variants[i];

		look(v->members, v->nr_members);
		sum += v->name[0] + v->file[0] + v->line;
		if (v->nr_saved > v->nr_members || v->awaitee >= (int32_t)v->nr_members)
			abort();
		if (layout_variant(t, v->value) == NULL)
			abort();
	}
	for (uint32_t i = 0; i < t->nr_params; i++)
		sum += t->params[i].name[0] + t->params[i].type;
	if (t->kind == LAYOUT_COROUTINE)
		sum += t->function[0] + t->file[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz_layout", MFD_CLOEXEC);
	struct layouts *l;
	const char *why;
	char path[64];

	if (fd < 0 || io_write_all(fd, data, size) < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	l = layouts_open(path, NULL, &why);
	if (l) {
		layouts_named(l, "layouts::leaf::{async_fn_env#0}");
		for (uint64_t va = 0; va < 1 << 16; va += 8)
			layouts_of_vtable(l, va);
		for (uint64_t va = 0; va < 1 << 20; va += 16)
			layouts_of_function(l, va, "T");
		for (uint32_t type = 0; type < MAX_TYPES; type++)
			look_at_type(l, type);
	}
	layouts_close(l);
	close(fd);
	return 0;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Core files that are broken in any way: opening, reading and a census end without a crash or a
 * wild read. The census looks for two tables, of either runtime, that input can easily have
 * addresses of.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "runtime/known.h"
#include "walk/roots.h"
#include "walk/walker.h"

#define TABLE	  0x4040404040404040
#define MAX_BYTES (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_task(void *arg, size_t index, const struct walk_result *r)
{
	if (r->tree->nodes.nr) /* nobody knows its type */
		__builtin_trap();
}

static void look(struct memory *m)
{
	struct found_runtime runtimes[] = { { .descriptor = 0 }, { .descriptor = 1 } };
	struct found_table tables[] = {
		{ .plan = { .va = TABLE, .kind = WIRE_TABLE_TOKIO, .id_off = 40 } },
		{ .plan = { .va = TABLE + 8, .kind = WIRE_TABLE_ASYNC_TASK }, .runtime = 1 },
	};
	struct discovery d = {
		.runtimes = runtimes,
		.nr_runtimes = 2,
		.tables = tables,
		.nr_tables = 2,
		.debug_path = "",
	};
	struct objects objects = { 0 };
	struct census census;
	struct census_task t;
	char build_id[MEMORY_BUILD_ID_SIZE];
	uint64_t sum = 0;

	vec_push(&objects.list, (struct object){ .d = &d });
	vec_each (f, &m->files)
		memory_build_id(m, f->addr, build_id);
	census_init(&census, m, &objects);
	roots_find(&census);
	vec_each (task, &census.tasks) {
		if (!memory_is_readable(m, task->addr, TASK_HEADER_BYTES))
			__builtin_trap();
		sum += census_find(&census, task->addr, &t);
	}
	if (sum != census.tasks.nr) /* nothing changes in a core file */
		__builtin_trap();
	walk_tasks(&census, &(struct walk_opts){ 0 }, on_task, NULL);
	census_release(&census);
	vec_release(&objects.list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("core", MFD_CLOEXEC);
	struct memory *m = NULL;
	char *path;

	if (fd < 0 || size > MAX_BYTES)
		return 0;
	path = xasprintf("/proc/self/fd/%d", fd);
	if (io_write_all(fd, data, size) == 0)
		m = memory_open_core(path, NULL, NULL);
	if (m)
		look(m);
	memory_close(m);
	free(path);
	close(fd);
	return 0;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/* The memory limits of control groups, as machines and containers show them: trees of files that
 * the test makes. */
#include "capture/cgroup.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "fake.h"

#define MB UINT64_C(1048576)

static char root[64];

static int begin(void **state)
{
	strcpy(root, "/tmp/test-cgroup-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	char *rm = xasprintf("rm -rf %s", root);
	int rc = system(rm);

	free(rm);
	return rc;
}

static void put(const char *name, const char *text)
{
	char *path = xasprintf("%s%s", root, name);
	struct err e = ERR_INIT;

	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0700);
	}
	assert_int_equal(io_replace_file(path, text, strlen(text), 0600, &e), 0);
	free(path);
}

static void expect(uint64_t limit, uint64_t left)
{
	struct cgroup_memory m;

	cgroup_memory(root, 7, &m);
	assert_int_equal(m.limit_bytes, limit);
	assert_int_equal(m.free_bytes, left);
}

/* Version 2: the smallest limit of a group and those above it, max or high; pages of files that
 * nobody uses are free. */
static void test_v2_nested(void **state)
{
	put("/proc/7/cgroup", "0::/system.slice/a b.service\n");
	put("/proc/self/mountinfo",
	    "25 20 0:22 / /sys rw - sysfs sysfs rw\n"
	    "30 25 0:26 / /sys/fs/my\\040cgroup rw,nosuid shared:9 - cgroup2 "
	    "cgroup2 rw,nsdelegate\n");
	put("/sys/fs/my cgroup/system.slice/a b.service/memory.max", "max\n");
	put("/sys/fs/my cgroup/system.slice/a b.service/memory.high", "268435456\n");
	put("/sys/fs/my cgroup/system.slice/a b.service/memory.current", "104857600\n");
	put("/sys/fs/my cgroup/system.slice/a b.service/memory.stat",
	    "anon 5\ninactive_file 52428800\nactive_file 1\n");
	expect(256 * MB, 206 * MB);
	put("/sys/fs/my cgroup/system.slice/memory.max", "314572800\n");
	put("/sys/fs/my cgroup/system.slice/memory.current", "209715200\n");
	expect(256 * MB, 100 * MB);
	put("/sys/fs/my cgroup/system.slice/memory.max", "134217728\n");
	expect(128 * MB, 0);
}

/* Version 1: a mount of its own, and a limit of groups that cannot be seen. */
static void test_v1_container(void **state)
{
	put("/proc/7/cgroup", "9:name=systemd:/docker/x\n4:cpu,memory:/docker/x/y\n0::/docker/x\n");
	put("/proc/self/mountinfo",
	    "35 31 0:32 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,cpu,memory\n"
	    "36 31 0:33 /docker/x /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
	    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
	put("/sys/fs/cgroup/memory/y/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/y/memory.usage_in_bytes", "1048576\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "12582912\n");
	put("/sys/fs/cgroup/memory/memory.stat", "cache 1\ntotal_inactive_file 2097152\n");
	put("/sys/fs/cgroup/pids/memory.limit_in_bytes", "1\n");
	expect(512 * MB, 502 * MB);
	put("/sys/fs/cgroup/memory/y/memory.stat", "hierarchical_memory_limit 134217728\n");
	expect(128 * MB, 502 * MB);
}

/* A namespace of its own, a group outside of what is mounted: the mount itself is what counts. */
static void test_outside(void **state)
{
	static const char *const groups[] = { "0::/\n", "0::/../other\n", "0::/elsewhere\n" };

	put("/proc/self/mountinfo", "30 25 0:26 /pod/c /cg rw - cgroup2 cgroup2 rw\n");
	put("/cg/memory.max", "67108864\n");
	put("/cg/memory.current", "0\n");
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		put("/proc/7/cgroup", groups[i]);
		expect(64 * MB, 64 * MB);
	}
}

/* Nothing to read, or rubbish, is no limit. */
static void test_rubbish(void **state)
{
	static const char *const rubbish[] = { "",	  "\n\n\n",
					       "0",	  "0:",
					       "0::",	  ":::::\n",
					       "a - b\n", "1 2 3 / / rw - cgroup2 x y\n\\",
					       "-1\n",	  "max" };

	expect(CGROUP_NO_LIMIT, CGROUP_NO_LIMIT);
	for (size_t i = 0; i < ARRAY_SIZE(rubbish); i++)
		for (size_t k = 0; k < ARRAY_SIZE(rubbish); k++) {
			put("/proc/7/cgroup", rubbish[i]);
			put("/proc/self/mountinfo", rubbish[k]);
			put("/memory.max", rubbish[i]);
			expect(CGROUP_NO_LIMIT, CGROUP_NO_LIMIT);
		}
	put("/proc/7/cgroup", "0::/\n");
	put("/proc/self/mountinfo", "1 2 3 / /cg rw - cgroup2 x y\n");
	put("/cg/memory.max", "99999999999999999999999\n");
	expect(CGROUP_NO_LIMIT, CGROUP_NO_LIMIT);
}

/* An eighth of the limit, half of what is left, and never nothing. */
static void test_share(void **state)
{
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

	assert_int_equal(cgroup_share(root, 7, 0), machine / 8);
	put("/proc/7/cgroup", "0::/\n");
	put("/proc/self/mountinfo", "1 2 3 / /cg rw - cgroup2 x y\n");
	put("/cg/memory.max", "134217728\n");
	put("/cg/memory.current", "0\n");
	assert_int_equal(cgroup_share(root, 7, 0), 16 * MB);
	put("/cg/memory.current", "125829120\n");
	assert_int_equal(cgroup_share(root, 7, 0), 4 * MB);
	assert_int_equal(cgroup_share(root, 7, 4 * MB), 6 * MB);
	put("/cg/memory.current", "134217728\n");
	assert_int_equal(cgroup_share(root, 7, 0), 256 << 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_v2_nested), TEST(test_v1_container), TEST(test_outside),
		TEST(test_rubbish),   TEST(test_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

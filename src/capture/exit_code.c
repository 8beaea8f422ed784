// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/exit_code.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"

/* From <linux/pidfd.h>, which older systems have without it. */
struct info {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};
_Static_assert(sizeof(struct info) == 64, "the first version of struct pidfd_info");

#define GET_INFO  _IOWR(0xff, 11, struct info)
#define INFO_EXIT 8

static bool ask_pidfd(int pidfd, int *wait_status)
{
	struct info info = { .mask = INFO_EXIT };

	if (ioctl(pidfd, GET_INFO, &info) || !(info.mask & INFO_EXIT))
		return false;
	*wait_status = info.exit_code;
	return true;
}

/* pid (comm) state …, the exit code last: comm may hold anything, even ')'. */
static bool read_stat(uint32_t pid, int *wait_status)
{
	struct strbuf text = STRBUF_INIT;
	char path[64], *paren, *last;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (io_read_file(path, &text, 1 << 16, NULL) == 0) {
		paren = strrchr(text.s, ')');
		last = strrchr(text.s, ' ');
		found = paren && strncmp(paren, ") Z ", 4) == 0 &&
			sscanf(last, "%d", wait_status) == 1;
	}
	strbuf_release(&text);
	return found;
}

/* Not yet collected: until then its number is its own. */
static bool is_there(int pidfd)
{
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0;
}

bool exit_code_get(int pidfd, uint32_t pid, int *wait_status)
{
	if (pidfd < 0)
		return false;
	return ask_pidfd(pidfd, wait_status) || (read_stat(pid, wait_status) && is_there(pidfd)) ||
	       ask_pidfd(pidfd, wait_status);
}

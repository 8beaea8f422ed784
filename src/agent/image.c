// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * May a program be started with the agent? Only if the loader that will read LD_PRELOAD is glibc's
 * for this architecture and can read the agent: musl's would fail to relocate it and end the
 * program, a 32-bit one would complain on the program's stderr. A script is judged by its
 * interpreter. A privileged program would ignore the agent, and keep our variable for its children.
 * In doubt, no: then the program runs untraced.
 */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOADER	   "ld-linux-x86-64.so.2"
#define MAX_DEPTH  4 /* scripts whose interpreter is a script */
#define HEAD_BYTES 512

/* "#!/usr/bin/env -S foo" -> "/usr/bin/env", in place. NULL when there is none. */
static const char *interpreter(char *head)
{
	char *at = head + 2 + strspn(head + 2, " \t");

	at[strcspn(at, " \t\r\n")] = '\0';
	return *at == '/' ? at : NULL;
}

static bool has_our_loader(int fd, const Elf64_Ehdr *eh)
{
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		char path[256] = "";
		Elf64_Phdr ph;

		if (!wire_read_phdr(pread, fd, eh, i, &ph))
			return false;
		if (ph.p_type != PT_INTERP)
			continue;
		if (ph.p_filesz >= sizeof(path) ||
		    pread(fd, path, ph.p_filesz, ph.p_offset) != (ssize_t)ph.p_filesz)
			return false;
		return strrchr(path, '/') && strcmp(strrchr(path, '/') + 1, LOADER) == 0;
	}
	return false;
}

static bool takes_agent(const char *path, char needed[WIRE_SANITIZER_MAX], unsigned depth)
{
	char head[HEAD_BYTES + 1] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const Elf64_Ehdr *eh = (const void *)head;
	const char *next;
	bool takes = false;
	ssize_t len;

	/* May be executed but not read: most likely one like us, and the tool will say why it sees
	 * nothing. */
	if (fd < 0)
		return errno == EACCES;
	len = read(fd, head, HEAD_BYTES);
	if (len >= 2 && head[0] == '#' && head[1] == '!') {
		next = interpreter(head);
		takes = next && depth < MAX_DEPTH && takes_agent(next, needed, depth + 1);
	} else if (len > 0 && wire_is_elf(head, len)) {
		takes = has_our_loader(fd, eh);
		wire_find_sanitizer(pread, fd, eh, needed);
	}
	close(fd);
	return takes;
}

static bool is_privileged(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_mode & (S_ISUID | S_ISGID);
}

bool image_takes_agent(const char *path, const char *agent, char needed[WIRE_SANITIZER_MAX])
{
	*needed = '\0';
	return access(agent, R_OK) == 0 && !is_privileged(path) && takes_agent(path, needed, 0);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The memory of a running process, by process_vm_readv and /proc. It is not stopped, and pages that
 * it never touched are not touched by us either.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/io.h"
#include "base/maps.h"
#include "memory/epoll.h"
#include "memory/memory.h"

#define PAGE_BITS	  12
#define PAGES_AT_ONCE	  8192
#define PAGEMAP_SOMETHING (UINT64_C(3) << 62) /* present or swapped out */
#define MAX_VECTOR	  512

struct process_memory {
	struct memory m;
	int mem_fd; /* belongs to the program that ran when it was opened, not to the next one */
	int pagemap_fd;	     /* -1: not allowed */
	uint64_t first_addr; /* that may be read */
};

static struct process_memory *self(struct memory *m)
{
	return (struct process_memory *)m;
}

/* Reads [0, n) of the pieces; returns how many were read whole. */
static size_t read_some(struct memory *m, struct memory_piece *pieces, size_t nr)
{
	struct iovec local[MAX_VECTOR], remote[MAX_VECTOR];
	ssize_t got;
	size_t i;

	for (i = 0; i < nr; i++) {
		local[i] = (struct iovec){ pieces[i].into, pieces[i].len };
		remote[i] = (struct iovec){ (void *)pieces[i].addr, pieces[i].len };
	}
	got = process_vm_readv(m->pid, local, nr, remote, nr, 0);
	for (i = 0; i < nr && got >= (ssize_t)pieces[i].len; i++) {
		got -= pieces[i].len;
		pieces[i].was_read = true;
	}
	return i;
}

static void process_read(struct memory *m, struct memory_piece *pieces, size_t nr)
{
	while (nr) {
		size_t now = MIN(nr, (size_t)MAX_VECTOR), done = read_some(m, pieces, now);

		done = MIN(done + 1, now); /* what could not be read is passed over */
		pieces += done;
		nr -= done;
	}
}

static void each_present(struct memory *m, const struct memory_area *a, memory_range_fn *fn,
			 void *arg)
{
	struct process_memory *p = self(m);
	uint64_t *flags = p->pagemap_fd < 0 ? NULL : xcalloc(PAGES_AT_ONCE, sizeof(*flags));
	uint64_t run = 0, addr = a->addr;

	while (flags && addr < a->end_addr) {
		uint64_t nr = MIN((a->end_addr - addr) >> PAGE_BITS, (uint64_t)PAGES_AT_ONCE);

		if (io_pread_all(p->pagemap_fd, flags, nr * 8, (addr >> PAGE_BITS) * 8) < 0)
			break;
		for (uint64_t i = 0; i < nr; i++, addr += UINT64_C(1) << PAGE_BITS) {
			bool is_something = flags[i] & PAGEMAP_SOMETHING;

			if (is_something && !run)
				run = addr;
			else if (!is_something && run) {
				fn(arg, run, addr);
				run = 0;
			}
		}
	}
	free(flags);
	if (!run && addr < a->end_addr)
		run = addr; /* the rest is not known */
	if (run)
		fn(arg, run, a->end_addr);
}

static bool is_same_file(const char *path, const struct memory_file *f)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == f->inode && major(st.st_dev) == f->major &&
	       minor(st.st_dev) == f->minor;
}

/*
 * A mapped file may be gone or replaced, or lie in another mount namespace, so it is opened by
 * /proc/PID/map_files where the kernel allows that, else below /proc/PID/root and then checked to
 * be the same inode. Some file systems report another device in maps than in stat: then nothing
 * but the program itself is found.
 */
static char *path_of(struct memory *m, const struct memory_file *f)
{
	char *path = xasprintf("/proc/%u/map_files/%llx-%llx", m->pid, (unsigned long long)f->addr,
			       (unsigned long long)f->end_addr);

	if (access(path, R_OK) == 0)
		return path;
	free(path);
	path = xasprintf("/proc/%u/root%s", m->pid, f->path);
	if (is_same_file(path, f))
		return path;
	free(path);
	path = xasprintf("/proc/%u/exe", m->pid); /* also when the program's file was deleted */
	if (is_same_file(path, f) || strcmp(f->path, m->exe) == 0)
		return path;
	free(path);
	return NULL;
}

/* Memory that a process left behind, by exit or exec, has no bytes any more. */
static bool is_there(struct memory *m)
{
	char byte;

	return pread(self(m)->mem_fd, &byte, 1, self(m)->first_addr) == 1;
}

static void process_close(struct memory *m)
{
	if (self(m)->mem_fd >= 0)
		close(self(m)->mem_fd);
	if (self(m)->pagemap_fd >= 0)
		close(self(m)->pagemap_fd);
	free(m);
}

static void add_line(struct memory *m, const struct maps_line *l)
{
	struct memory_area a = { 0 };

	a.addr = l->addr;
	a.end_addr = a.held_end = l->end_addr;
	a.may_write = l->perms[1] == 'w';
	a.is_private = l->perms[3] == 'p';
	a.is_stack = a.is_main_stack = str_has_prefix(l->path, "[stack");
	/* what belongs to the kernel, and devices, is not for reading */
	a.may_read = l->perms[0] == 'r' && !str_has_prefix(l->path, "[v") &&
		     !str_has_prefix(l->path, "/dev/");
	vec_push(&m->areas, a);
	if (*l->path == '/')
		vec_push(&m->files, (struct memory_file){
					    .addr = l->addr,
					    .end_addr = l->end_addr,
					    .off = l->off,
					    .inode = l->inode,
					    .major = l->major,
					    .minor = l->minor,
					    .is_exec = l->perms[2] == 'x',
					    .path = xstrdup(l->path),
				    });
}

static int fail(uint32_t pid, int failure, struct err *e)
{
	if (failure == ENOENT && !io_has_proc())
		return err_set(e, ERR_SYS, "cannot inspect process %u: " ERR_TEXT_NO_PROC, pid);
	if (failure == ENOENT || failure == ESRCH)
		return err_set(e, ERR_NO_PROCESS, "there is no process %u", pid);
	if (failure == EACCES || failure == EPERM)
		return err_set(e, ERR_PERMISSION, "no permission to inspect process %u: %s", pid,
			       geteuid() ? "run futrace as its user or as root"
					 : "root lacks CAP_SYS_PTRACE here, as in most containers");
	errno = failure;
	return err_sys(e, "cannot inspect process %u", pid);
}

/* The stack pointer of a thread that waits in the kernel. */
static uint64_t stack_pointer(uint32_t pid, const char *tid)
{
	char path[64], text[512];
	unsigned long long sp = 0;
	int fd, len;

	snprintf(path, sizeof(path), "/proc/%u/task/%.16s/syscall", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (len <= 0)
		return 0;
	text[len] = 0;
	/* "number six arguments sp pc", or "-1 sp pc" where it is stopped elsewhere */
	if (sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %llx %*x", &sp) != 1 &&
	    sscanf(text, "-1 %llx %*x", &sp) != 1)
		return 0;
	return sp;
}

static void add_threads(struct memory *m)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", m->pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			vec_push(&m->threads, (struct memory_thread){
						      .tid = strtoul(entry->d_name, NULL, 10),
						      .sp = stack_pointer(m->pid, entry->d_name),
					      });
	if (dir)
		closedir(dir);
}

static char *read_exe(uint32_t pid)
{
	char path[64], exe[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	len = readlink(path, exe, sizeof(exe));
	return len > 0 ? xstrndup(exe, len) : xstrdup("");
}

static int add_lines(struct memory *m, struct err *e)
{
	struct maps_line line;
	struct maps maps;
	int failure = maps_open(&maps, m->pid, e) < 0 ? errno : 0;

	while (maps_next(&maps, &line))
		add_line(m, &line);
	maps_close(&maps);
	return failure ? fail(m->pid, failure, e) : 0;
}

static int read_maps(struct process_memory *p, struct err *e)
{
	if (add_lines(&p->m, e) < 0)
		return -1;
	if (!p->m.areas.nr)
		return err_set(e, ERR_NO_PROCESS,
			       "process %u has no memory: a kernel thread, or one that has ended",
			       p->m.pid);
	for (size_t i = p->m.areas.nr; i-- > 0;)
		if (p->m.areas.v[i].may_read)
			p->first_addr = p->m.areas.v[i].addr;
	return 0;
}

static void keep(struct memory *m)
{
}

static const struct memory_ops map_ops = { .close = keep };

/* Files and threads stay as they were found. */
static void refresh(struct memory *m)
{
	struct memory now = { .ops = &map_ops, .pid = m->pid };
	struct memory_area *areas = m->areas.v;
	size_t nr = m->areas.nr, cap = m->areas.cap;

	if (add_lines(&now, NULL) == 0 && now.areas.nr) {
		m->areas.v = now.areas.v;
		m->areas.nr = now.areas.nr;
		m->areas.cap = now.areas.cap;
		now.areas.v = areas;
		now.areas.nr = nr;
		now.areas.cap = cap;
		memory_settle(m);
	}
	memory_close(&now);
}

static const struct memory_ops process_ops = {
	.read = process_read,
	.each_present = each_present,
	.path_of = path_of,
	.refresh = refresh,
	.is_there = is_there,
	.close = process_close,
};

static struct process_memory *open_map(uint32_t pid, struct err *e)
{
	struct process_memory *p = xcalloc(1, sizeof(*p));

	p->m.ops = &process_ops;
	p->m.pid = pid;
	p->m.exe = read_exe(pid);
	p->mem_fd = p->pagemap_fd = -1;
	if (read_maps(p, e) == 0)
		return p;
	memory_close(&p->m);
	return NULL;
}

struct memory *memory_open_map(uint32_t pid, struct err *e)
{
	struct process_memory *p = open_map(pid, e);

	return p ? &p->m : NULL;
}

struct memory *memory_open_process(uint32_t pid, struct err *e)
{
	struct process_memory *p = open_map(pid, e);
	char path[64];

	if (!p)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%u/pagemap", pid);
	p->pagemap_fd = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	p->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (p->mem_fd < 0) {
		fail(pid, errno, e);
		memory_close(&p->m);
		return NULL;
	}
	add_threads(&p->m);
	epoll_find(pid, &p->m.epoll, &p->m.fd_kinds);
	memory_settle(&p->m);
	return &p->m;
}

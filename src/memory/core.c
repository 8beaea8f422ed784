// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The memory of a core file, as the kernel or gcore wrote it: PT_LOAD segments, NT_FILE for what
 * was mapped, NT_PRSTATUS for the threads. All of it is hostile input. A file that was cut (a full
 * disk, a limit) lacks the end of its segments: that is counted, and the rest is used.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/elf.h"
#include "base/io.h"
#include "memory/memory.h"

#define MAX_SEGMENTS (1u << 20)
#define MAX_NOTES    (64u << 20)
#define MAX_FILES    (1u << 14)
#define MAX_ADDR     (UINT64_C(1) << 63) /* the rest belongs to the kernel */
#define REG_SP	     19			 /* of x86-64's user_regs_struct */

struct core_segment {
	uint64_t addr, end_addr, off;
};

struct core_memory {
	struct memory m;
	int fd;
	uint64_t size_bytes;
	uint64_t nr_held;		   /* bytes of it that are memory: none is twice */
	VEC(struct core_segment) segments; /* what is in the file, sorted */
	uint64_t phdr_addr;		   /* of the program, as passed to its loader; 0: unknown */
};

/* Bytes of a note, read from front to back. */
struct cursor {
	const uint8_t *p;
	uint64_t left;
};

static struct core_memory *self(struct memory *m)
{
	return (struct core_memory *)m;
}

static const struct core_segment *segment_of(const struct core_memory *c, uint64_t addr)
{
	size_t s = partition_point(i, c->segments.nr, c->segments.v[i].end_addr <= addr);

	return s < c->segments.nr && c->segments.v[s].addr <= addr ? &c->segments.v[s] : NULL;
}

static bool read_piece(const struct core_memory *c, const struct memory_piece *p)
{
	uint64_t addr = p->addr, left = p->len;
	uint8_t *into = p->into;

	while (left) {
		const struct core_segment *s = segment_of(c, addr);
		uint64_t now = s ? MIN(left, s->end_addr - addr) : 0;

		if (!s || io_pread_all(c->fd, into, now, s->off + (addr - s->addr)) < 0)
			return false;
		addr += now;
		into += now;
		left -= now;
	}
	return true;
}

static void core_read(struct memory *m, struct memory_piece *pieces, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		pieces[i].was_read = read_piece(self(m), &pieces[i]);
}

static char *path_of(struct memory *m, const struct memory_file *f)
{
	const char *path = m->exe_file && memory_is_program(m, f) ? m->exe_file : f->path;

	return access(path, R_OK) == 0 ? xstrdup(path) : NULL;
}

static void core_close(struct memory *m)
{
	vec_release(&self(m)->segments);
	if (self(m)->fd >= 0)
		close(self(m)->fd);
	free(m);
}

static const struct memory_ops core_ops = {
	.read = core_read,
	.path_of = path_of,
	.close = core_close,
};

static bool take(struct cursor *c, void *into, uint64_t len)
{
	if (len > c->left)
		return false;
	memcpy(into, c->p, len);
	c->p += len;
	c->left -= len;
	return true;
}

static void add_thread(struct memory *m, struct cursor note)
{
	struct elf_prstatus status;

	if (take(&note, &status, sizeof(status)))
		vec_push(&m->threads,
			 (struct memory_thread){ status.pr_pid, status.pr_reg[REG_SP] });
}

static void add_program(struct memory *m, struct cursor note)
{
	struct elf_prpsinfo info;

	if (take(&note, &info, sizeof(info)))
		m->pid = info.pr_pid;
}

static void add_auxv(struct core_memory *c, struct cursor note)
{
	Elf64_auxv_t entry;

	while (take(&note, &entry, sizeof(entry)))
		if (entry.a_type == AT_PHDR)
			c->phdr_addr = entry.a_un.a_val;
}

/* count, page size, count times {start, end, page of the file}, then the paths */
static void add_files(struct memory *m, struct cursor note)
{
	uint64_t head[2], entry[3];
	struct cursor paths = note;

	if (!take(&note, head, sizeof(head)) || head[0] > MAX_FILES ||
	    note.left < head[0] * sizeof(entry))
		return;
	paths.p = note.p + head[0] * sizeof(entry);
	paths.left = note.left - head[0] * sizeof(entry);
	for (uint64_t i = 0; i < head[0] && take(&note, entry, sizeof(entry)); i++) {
		uint64_t len = strnlen((const char *)paths.p, paths.left);

		if (len == paths.left)
			return;
		vec_push(&m->files, (struct memory_file){
					    .addr = entry[0],
					    .end_addr = entry[1],
					    .off = entry[2] * head[1],
					    .is_exec = true,
					    .path = xstrndup((const char *)paths.p, len),
				    });
		paths.p += len + 1;
		paths.left -= len + 1;
	}
}

static void add_note(struct core_memory *c, uint32_t type, struct cursor note)
{
	if (type == NT_PRSTATUS)
		add_thread(&c->m, note);
	else if (type == NT_PRPSINFO)
		add_program(&c->m, note);
	else if (type == NT_AUXV)
		add_auxv(c, note);
	else if (type == NT_FILE)
		add_files(&c->m, note);
}

static void read_notes(struct core_memory *c, uint64_t off, uint64_t len)
{
	uint8_t *data;
	struct cursor at;
	Elf64_Nhdr n;

	if (off >= c->size_bytes)
		return;
	len = MIN(MIN(len, c->size_bytes - off), (uint64_t)MAX_NOTES);
	data = xmalloc(len + 1);
	at = (struct cursor){ data, len };
	if (io_pread_all(c->fd, data, len, off) < 0)
		at.left = 0;
	while (take(&at, &n, sizeof(n))) {
		uint64_t name = ROUND_UP((uint64_t)n.n_namesz, 4),
			 desc = ROUND_UP((uint64_t)n.n_descsz, 4);

		if (name + n.n_descsz > at.left)
			break;
		if (n.n_namesz == 5 && memcmp(at.p, "CORE", 5) == 0)
			add_note(c, n.n_type, (struct cursor){ at.p + name, n.n_descsz });
		at.p += MIN(name + desc, at.left);
		at.left -= MIN(name + desc, at.left);
	}
	free(data);
}

static void add_segment(struct core_memory *c, const Elf64_Phdr *ph)
{
	uint64_t held = ph->p_filesz;
	struct memory_area a = {
		.addr = ph->p_vaddr,
		.end_addr = ph->p_vaddr + MAX(ph->p_memsz, ph->p_filesz),
		.may_read = ph->p_flags & PF_R,
		.may_write = ph->p_flags & PF_W,
		.is_private = true,
	};

	if (a.end_addr < a.addr || a.end_addr > MAX_ADDR)
		return;
	held = MIN(held, c->size_bytes - MIN(ph->p_offset, c->size_bytes));
	held = MIN(held, c->size_bytes - c->nr_held);
	c->nr_held += held;
	c->m.nr_missing_bytes += ph->p_filesz - held;
	a.held_end = a.addr + held;
	vec_push(&c->m.areas, a);
	if (held)
		vec_push(&c->segments,
			 (struct core_segment){ a.addr, a.addr + held, ph->p_offset });
}

static int by_addr(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* More segments than fit into the header are counted in the first section. */
static uint64_t nr_segments(const struct core_memory *c, const Elf64_Ehdr *eh)
{
	Elf64_Shdr sh;

	if (eh->e_phnum == PN_XNUM && io_pread_all(c->fd, &sh, sizeof(sh), eh->e_shoff) == 0)
		return MIN(sh.sh_info, MAX_SEGMENTS);
	return eh->e_phnum;
}

static int read_header(struct core_memory *c, const char *path, Elf64_Ehdr *eh, struct err *e)
{
	if (io_pread_all(c->fd, eh, sizeof(*eh), 0) < 0 ||
	    memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(e, ERR_NOT_ELF, "%s is not a core file", path);
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_machine != ARCH_ELF_MACHINE)
		return err_set(e, ERR_FOREIGN, "%s is of another kind of machine", path);
	if (eh->e_type != ET_CORE)
		return err_set(e, ERR_NOT_ELF,
			       "%s is a program, not a core file; `gcore PID` makes one", path);
	if (eh->e_phentsize != sizeof(Elf64_Phdr))
		return err_set(e, ERR_BAD_ELF, "%s is broken: it has no segments", path);
	return 0;
}

static int read_segments(struct core_memory *c, const char *path, struct err *e)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	uint64_t nr;

	if (read_header(c, path, &eh, e) < 0)
		return -1;
	nr = nr_segments(c, &eh);
	for (uint64_t i = 0; i < nr; i++) {
		if (io_pread_all(c->fd, &ph, sizeof(ph), eh.e_phoff + i * sizeof(ph)) < 0)
			break;
		if (ph.p_type == PT_NOTE)
			read_notes(c, ph.p_offset, ph.p_filesz);
		else if (ph.p_type == PT_LOAD)
			add_segment(c, &ph);
	}
	if (c->segments.nr)
		qsort(c->segments.v, c->segments.nr, sizeof(*c->segments.v), by_addr);
	if (!c->segments.nr)
		return err_set(e, ERR_BAD_ELF, "%s is cut: it contains no memory", path);
	if (!c->m.files.nr)
		return err_set(e, ERR_BAD_ELF,
			       c->m.nr_missing_bytes
				       ? "%s was cut: the list of mapped files, which gcore writes "
					 "at its end, is missing"
				       : "%s does not say which files were mapped (NT_FILE)",
			       path);
	return 0;
}

static const char *find_exe(const struct core_memory *c)
{
	vec_each (f, &c->m.files)
		if (f->addr <= c->phdr_addr && c->phdr_addr < f->end_addr)
			return f->path;
	return c->m.files.nr ? c->m.files.v[0].path : "";
}

struct memory *memory_open_core(const char *path, const char *exe_file, struct err *e)
{
	struct core_memory *c = xcalloc(1, sizeof(*c));
	struct stat st;

	c->m.ops = &core_ops;
	c->m.is_core = true;
	c->fd = io_open(path);
	if (c->fd < 0 || fstat(c->fd, &st) < 0) {
		if (errno == EACCES)
			err_set(e, ERR_PERMISSION, "may not read %s", path);
		else
			err_sys(e, "cannot open %s", path);
		memory_close(&c->m);
		return NULL;
	}
	c->size_bytes = st.st_size;
	if (read_segments(c, path, e) < 0) {
		memory_close(&c->m);
		return NULL;
	}
	c->m.exe = xstrdup(find_exe(c));
	c->m.exe_file = exe_file ? xstrdup(exe_file) : NULL;
	memory_settle(&c->m);
	return &c->m;
}

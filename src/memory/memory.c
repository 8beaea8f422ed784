// SPDX-License-Identifier: MIT OR Apache-2.0
#include "memory/memory.h"

#include <string.h>

#define MAX_GAP	     2048
#define MAX_GATHERED (UINT64_C(64) << 10)
#define MIN_GATHERED 3

void memory_close(struct memory *m)
{
	if (!m)
		return;
	vec_each (f, &m->files)
		free(f->path);
	vec_release(&m->files);
	vec_release(&m->areas);
	vec_release(&m->threads);
	map_release(&m->epoll);
	map_release(&m->fd_kinds);
	free(m->exe);
	free(m->exe_file);
	m->ops->close(m);
}

static int by_addr(const void *a, const void *b)
{
	const struct memory_area *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The last area that begins at or before the address; NULL: none does. */
static struct memory_area *last_before(const struct memory *m, uint64_t addr)
{
	size_t nr = partition_point(i, m->areas.nr, m->areas.v[i].addr <= addr);

	return nr ? &m->areas.v[nr - 1] : NULL;
}

const struct memory_area *memory_area(const struct memory *m, uint64_t addr)
{
	struct memory_area *a = last_before(m, addr);

	return a && addr < a->end_addr ? a : NULL;
}

void memory_settle(struct memory *m)
{
	size_t kept = 0;

	if (m->areas.nr)
		qsort(m->areas.v, m->areas.nr, sizeof(*m->areas.v), by_addr);
	/* A core file is hostile input: what overlaps is cut. */
	for (size_t i = 0; i < m->areas.nr; i++) {
		struct memory_area *a = &m->areas.v[i];

		if (kept && a->addr < m->areas.v[kept - 1].end_addr)
			a->addr = MIN(m->areas.v[kept - 1].end_addr, a->end_addr);
		a->held_end = MAX(a->held_end, a->addr);
		if (a->addr < a->end_addr)
			m->areas.v[kept++] = *a;
	}
	m->areas.nr = kept;
	vec_each (t, &m->threads) {
		struct memory_area *a = t->sp ? last_before(m, t->sp) : NULL;

		if (a && t->sp < a->end_addr)
			a->is_stack = true;
	}
}

bool memory_is_readable(const struct memory *m, uint64_t addr, uint64_t len)
{
	const struct memory_area *a = memory_area(m, addr);

	/* neighbours with other rights, as parts of one heap may be, follow each other */
	while (a && a->may_read && addr < a->held_end) {
		if (len <= a->held_end - addr)
			return true;
		if (a->held_end != a->end_addr || a + 1 == m->areas.v + m->areas.nr ||
		    a[1].addr != a->end_addr)
			return false;
		len -= a->end_addr - addr;
		addr = a->end_addr;
		a++;
	}
	return false;
}

/*
 * Small things that lie close together are read in one piece: what costs is to look up pages, not
 * to copy them. Returns how many pieces belong together, from the first on.
 */
static size_t gather(const struct memory *m, const struct memory_piece *pieces, size_t nr,
		     uint64_t *end_addr)
{
	uint64_t first = pieces[0].addr, end = first + pieces[0].len;
	size_t n = 1;

	for (; n < nr && pieces[n].addr >= first && pieces[n].addr <= end + MAX_GAP; n++) {
		uint64_t next = MAX(end, pieces[n].addr + pieces[n].len);

		if (next - first > MAX_GATHERED || !memory_is_readable(m, first, next - first))
			break;
		end = next;
	}
	*end_addr = end;
	return n;
}

/* False: it did not work, which says nothing of the single pieces. */
static bool read_gathered(struct memory *m, struct memory_piece *pieces, size_t nr,
			  uint64_t end_addr)
{
	uint8_t bytes[MAX_GATHERED];
	struct memory_piece all = { .addr = pieces[0].addr,
				    .into = bytes,
				    .len = end_addr - pieces[0].addr };

	m->ops->read(m, &all, 1);
	for (size_t i = 0; i < nr && all.was_read; i++) {
		memcpy(pieces[i].into, bytes + (pieces[i].addr - all.addr), pieces[i].len);
		pieces[i].was_read = true;
	}
	return all.was_read;
}

static void read_readable(struct memory *m, struct memory_piece *pieces, size_t nr)
{
	size_t first = 0, n;
	uint64_t end_addr;

	for (size_t i = 0; i < nr; i += n) {
		n = gather(m, pieces + i, nr - i, &end_addr);
		if (n < MIN_GATHERED || !read_gathered(m, pieces + i, n, end_addr))
			continue;
		if (i > first)
			m->ops->read(m, pieces + first, i - first);
		first = i + n;
	}
	if (nr > first)
		m->ops->read(m, pieces + first, nr - first);
}

bool memory_read_pieces(struct memory *m, struct memory_piece *pieces, size_t nr)
{
	size_t first = 0;
	bool are_all = true;

	for (size_t i = 0; i < nr; i++)
		pieces[i].was_read = false;
	if (unlikely(__atomic_load_n(&m->is_given_up, __ATOMIC_RELAXED)))
		return !nr;
	/* as many together as the map allows */
	for (size_t i = 0; i <= nr; i++) {
		if (i < nr && memory_is_readable(m, pieces[i].addr, pieces[i].len))
			continue;
		if (i > first)
			read_readable(m, pieces + first, i - first);
		first = i + 1;
	}
	for (size_t i = 0; i < nr; i++)
		are_all = are_all && pieces[i].was_read;
	return are_all;
}

bool memory_read(struct memory *m, uint64_t addr, void *into, uint64_t len)
{
	struct memory_piece piece = { .addr = addr, .into = into, .len = len };

	return memory_read_pieces(m, &piece, 1);
}

void memory_each_present(struct memory *m, const struct memory_area *a, memory_range_fn *fn,
			 void *arg)
{
	if (m->ops->each_present)
		m->ops->each_present(m, a, fn, arg);
	else if (a->addr < a->held_end)
		fn(arg, a->addr, a->held_end);
}

char *memory_path_of(struct memory *m, const struct memory_file *f, struct err *e)
{
	char *path = m->ops->path_of ? m->ops->path_of(m, f) : NULL;

	if (path)
		return path;
	if (!m->is_core)
		err_set(e, ERR_SYS, "%s is no longer the file that was loaded", f->path);
	else if (!memory_is_program(m, f))
		err_set(e, ERR_SYS, "%s does not exist: restore the file that was loaded", f->path);
	else if (m->exe_file)
		err_sys(e, "cannot read %s", m->exe_file);
	else
		err_set(e, ERR_SYS,
			"%s does not exist: name the file that was loaded with --exe=FILE",
			f->path);
	return NULL;
}

static bool is_same(const struct memory_file *a, const struct memory_file *b)
{
	return a->inode == b->inode && a->minor == b->minor && a->major == b->major &&
	       strcmp(a->path, b->path) == 0;
}

bool memory_is_object(const struct memory *m, const struct memory_file *f)
{
	bool is_exec = false; /* some part of it */

	if (f->off != 0)
		return false;
	vec_each (other, &m->files) {
		if (!is_same(f, other))
			continue;
		if (other < f && other->off == 0)
			return false;
		is_exec = is_exec || other->is_exec;
	}
	return is_exec;
}

bool memory_is_program(const struct memory *m, const struct memory_file *f)
{
	return strcmp(f->path, m->exe) == 0;
}

bool memory_is_there(struct memory *m)
{
	return !m->ops->is_there || m->ops->is_there(m);
}

void memory_give_up(struct memory *m)
{
	__atomic_store_n(&m->is_given_up, true, __ATOMIC_RELAXED);
}

void memory_refresh(struct memory *m)
{
	if (m->ops->refresh)
		m->ops->refresh(m);
}

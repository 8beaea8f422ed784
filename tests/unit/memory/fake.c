// SPDX-License-Identifier: MIT OR Apache-2.0
#include "fake.h"

#include <string.h>

static uint8_t *find(struct fake *f, uint64_t addr, uint64_t len)
{
	vec_each (r, &f->ranges)
		if (addr >= r->addr && addr + len <= r->addr + r->len)
			return r->bytes + (addr - r->addr);
	return NULL;
}

static void fake_read(struct memory *m, struct memory_piece *pieces, size_t nr)
{
	struct fake *f = (struct fake *)m;

	f->nr_reads++;
	for (size_t i = 0; i < nr; i++) {
		const uint8_t *bytes;

		if (f->before)
			f->before(f, pieces[i].addr);
		bytes = find(f, pieces[i].addr, pieces[i].len);
		if (bytes)
			memcpy(pieces[i].into, bytes, pieces[i].len);
		pieces[i].was_read = bytes;
	}
}

static void fake_close(struct memory *m)
{
	struct fake *f = (struct fake *)m;

	vec_each (r, &f->ranges)
		free(r->bytes);
	vec_release(&f->ranges);
	free(f);
}

static const struct memory_ops ops = { .read = fake_read, .close = fake_close };

struct fake *fake_new(void)
{
	struct fake *f = xcalloc(1, sizeof(*f));

	f->m.ops = &ops;
	f->m.exe = xstrdup("");
	return f;
}

uint8_t *fake_add(struct fake *f, uint64_t addr, uint64_t len)
{
	struct fake_range r = { addr, xcalloc(1, len), len };

	vec_push(&f->ranges, r);
	vec_push(&f->m.areas, (struct memory_area){
				      .addr = addr,
				      .end_addr = addr + len,
				      .held_end = addr + len,
				      .may_read = true,
				      .may_write = true,
				      .is_private = true,
			      });
	return r.bytes;
}

void fake_put(struct fake *f, uint64_t addr, uint64_t word)
{
	memcpy(find(f, addr, sizeof(word)), &word, sizeof(word));
}

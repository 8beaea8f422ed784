// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Memory is cut into pieces and read in jobs of many pieces, by as many threads as there are
 * processors. Nearly every word is no address of a table, and is told so by its range and a small
 * set of bits; only what passes both is looked up.
 */
#include "walk/census.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define MAX_ID	     (UINT64_C(1) << 40)
#define PIECE_BYTES  (UINT64_C(64) << 10)
#define JOB_PIECES   16
#define FILTER_BITS  (1u << 16)
#define MAX_THREADS  16
#define HEADER_WORDS (TASK_HEADER_BYTES / 8)

struct range {
	uint64_t addr, len;
};

struct scan {
	struct census *c;
	uint64_t first_addr, span;
	uint64_t filter[FILTER_BITS / 64];
	VEC(struct range) pieces;
	size_t next_job; /* atomic */
};

/* What one thread found. */
struct worker {
	struct scan *s;
	pthread_t thread;
	uint8_t *buffer;
	VEC(struct census_task) tasks;
	uint64_t nr_over, scanned_bytes;
};

/* A part of memory that was copied. */
struct copied {
	const uint8_t *bytes;
	uint64_t addr, len;
};

static uint64_t load(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static unsigned filter_bit(uint64_t addr)
{
	return addr / 8 % FILTER_BITS;
}

static bool read_at(const struct census *c, const struct copied *copy, uint64_t addr, void *into,
		    uint64_t len)
{
	if (copy && addr >= copy->addr && addr - copy->addr < copy->len &&
	    len <= copy->len - (addr - copy->addr)) {
		memcpy(into, copy->bytes + (addr - copy->addr), len);
		return true;
	}
	return memory_read(c->memory, addr, into, len);
}

/* Ids count tasks. In what is just being made, or was freed, an address may stand there. */
static bool is_id(uint64_t id)
{
	return id && id < MAX_ID;
}

static bool look_at(const struct census *c, const struct copied *copy, uint64_t addr,
		    const struct census_table *t, unsigned table_word, struct task_look *look)
{
	uint64_t header[HEADER_WORDS];
	uint32_t id_off = t->shape->id_off(t->found);

	if (!read_at(c, copy, addr, header, sizeof(header)) || header[table_word] != t->addr)
		return false;
	*look = t->shape->look(t->found, header, table_word);
	if (look->state == TASK_NONE)
		return false;
	return !id_off ||
	       (read_at(c, copy, addr + id_off, &look->id, sizeof(look->id)) && is_id(look->id));
}

static bool may_have_table(const struct census_table *t, unsigned word)
{
	uint8_t words[TASK_MAX_TABLE_WORDS];
	unsigned nr = t->shape->table_words(t->found, words), i = 0;

	while (i < nr && words[i] != word)
		i++;
	return i < nr;
}

bool census_find(const struct census *c, uint64_t addr, struct census_task *task)
{
	uint64_t header[HEADER_WORDS], *table;
	struct task_look look;

	if (addr % 8 || !memory_read(c->memory, addr, header, sizeof(header)))
		return false;
	for (unsigned i = 0; i < HEADER_WORDS; i++) {
		table = map_get(&c->by_addr, header[i]);
		if (!table || !may_have_table(&c->tables.v[*table], i) ||
		    !look_at(c, NULL, addr, &c->tables.v[*table], i, &look))
			continue;
		*task = (struct census_task){
			.addr = addr,
			.id = look.id ? look.id : addr,
			.table = *table,
			.state = look.state,
			.table_word = i,
		};
		return true;
	}
	return false;
}

/* A word that is the address of a table: is it a header's? */
static void hit(struct worker *w, const struct copied *copy, uint64_t addr, uint32_t table)
{
	const struct census_table *t = &w->s->c->tables.v[table];
	uint8_t words[TASK_MAX_TABLE_WORDS];
	unsigned nr = t->shape->table_words(t->found, words);
	struct task_look look;

	for (unsigned i = 0; i < nr; i++) {
		struct census_task task = { .addr = addr - 8 * words[i],
					    .table = table,
					    .table_word = words[i] };

		if (!look_at(w->s->c, copy, task.addr, t, words[i], &look))
			continue;
		task.id = look.id ? look.id : task.addr;
		task.state = look.state;
		task.may_be_copy = look.may_be_copy;
		if (look.state == TASK_OVER)
			w->nr_over++;
		else if (t->found->kind != TRACE_HELPER)
			vec_push(&w->tasks, task);
		return;
	}
}

static void scan_piece(struct worker *w, const struct copied *copy)
{
	const struct scan *s = w->s;
	uint64_t first = s->first_addr, span = s->span;

	for (uint64_t off = 0; off + 8 <= copy->len; off += 8) {
		uint64_t word = load(copy->bytes + off), bit, *table;

		if (likely(word - first > span))
			continue;
		bit = filter_bit(word);
		if (!(s->filter[bit / 64] & UINT64_C(1) << bit % 64))
			continue;
		table = map_get(&s->c->by_addr, word);
		if (table)
			hit(w, copy, copy->addr + off, *table);
	}
	w->scanned_bytes += copy->len;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct scan *s = w->s;
	struct memory_piece pieces[JOB_PIECES];

	for (;;) {
		size_t first = __atomic_fetch_add(&s->next_job, JOB_PIECES, __ATOMIC_RELAXED);
		size_t nr =
			first < s->pieces.nr ? MIN((size_t)JOB_PIECES, s->pieces.nr - first) : 0;

		if (!nr)
			return NULL;
		for (size_t i = 0; i < nr; i++)
			pieces[i] = (struct memory_piece){
				.addr = s->pieces.v[first + i].addr,
				.len = s->pieces.v[first + i].len,
				.into = w->buffer + i * PIECE_BYTES,
			};
		memory_read_pieces(s->c->memory, pieces, nr);
		for (size_t i = 0; i < nr; i++)
			if (pieces[i].was_read)
				scan_piece(w, &(struct copied){ pieces[i].into, pieces[i].addr,
								pieces[i].len });
	}
}

static void add_range(void *arg, uint64_t addr, uint64_t end_addr)
{
	struct scan *s = arg;

	for (addr = ROUND_UP(addr, 8); addr < end_addr; addr += PIECE_BYTES)
		vec_push(&s->pieces, (struct range){ addr, MIN(end_addr - addr, PIECE_BYTES) });
}

static void prepare(struct scan *s)
{
	uint64_t last = 0;

	s->first_addr = UINT64_MAX;
	for (size_t i = 0; i < s->c->tables.nr; i++) {
		uint64_t addr = s->c->tables.v[i].addr, bit = filter_bit(addr);

		s->filter[bit / 64] |= UINT64_C(1) << bit % 64;
		s->first_addr = MIN(s->first_addr, addr);
		last = MAX(last, addr);
	}
	s->span = last - s->first_addr;
	vec_each (a, &s->c->memory->areas)
		if (a->may_read && a->may_write && a->is_private)
			memory_each_present(s->c->memory, a, add_range, s);
}

static void run(struct scan *s)
{
	size_t nr = MIN(MAX(sysconf(_SC_NPROCESSORS_ONLN), 1), MAX_THREADS);
	struct worker workers[MAX_THREADS] = { 0 };
	bool has_thread[MAX_THREADS] = { false };

	nr = MIN(nr, s->pieces.nr / JOB_PIECES + 1);
	for (size_t i = 0; i < nr; i++) {
		workers[i].s = s;
		workers[i].buffer = xmalloc(JOB_PIECES * PIECE_BYTES);
		has_thread[i] = i && !pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	work(&workers[0]);
	for (size_t i = 0; i < nr; i++) {
		struct worker *w = &workers[i];

		if (has_thread[i])
			pthread_join(w->thread, NULL);
		vec_grow(&s->c->tasks, w->tasks.nr);
		if (w->tasks.nr)
			memcpy(s->c->tasks.v + s->c->tasks.nr, w->tasks.v,
			       w->tasks.nr * sizeof(*w->tasks.v));
		s->c->tasks.nr += w->tasks.nr;
		s->c->nr_over += w->nr_over;
		s->c->scanned_bytes += w->scanned_bytes;
		vec_release(&w->tasks);
		free(w->buffer);
	}
}

static const struct census_table *table_of(const struct census *c, const struct census_task *t)
{
	return &c->tables.v[t->table];
}

/* Ids repeat in the copies of a runtime, and in another runtime. */
static uint64_t runtime_of(const struct census *c, const struct census_task *t)
{
	return (uint64_t)table_of(c, t)->object << 32 | table_of(c, t)->found->runtime;
}

static uint64_t identity(const struct census *c, const struct census_task *t)
{
	return map_hash(t->id) + runtime_of(c, t) * 31;
}

/* A task that looks new is a copy on a stack if it lies on one, or if there is another of its id.
 */
static void drop_copies(struct census *c)
{
	struct map doubtful = MAP_INIT; /* identity -> times seen */
	size_t kept = 0;

	vec_each (t, &c->tasks)
		if (t->may_be_copy)
			map_put(&doubtful, identity(c, t), NULL);
	vec_each (t, &c->tasks) {
		uint64_t *seen = doubtful.nr ? map_get(&doubtful, identity(c, t)) : NULL;

		if (seen && !t->may_be_copy)
			++*seen;
	}
	for (size_t i = 0; i < c->tasks.nr; i++) {
		const struct census_task *t = &c->tasks.v[i];
		const struct memory_area *a =
			t->may_be_copy ? memory_area(c->memory, t->addr) : NULL;

		if (a && (a->is_stack || (*map_get(&doubtful, identity(c, t)))++))
			c->nr_copies++;
		else
			c->tasks.v[kept++] = *t;
	}
	c->tasks.nr = kept;
	map_release(&doubtful);
}

static int by_identity(const void *a, const void *b, void *arg)
{
	const struct census_task *x = a, *y = b;

	if (x->table != y->table) {
		uint64_t x_runtime = runtime_of(arg, x), y_runtime = runtime_of(arg, y);

		if (x_runtime != y_runtime)
			return x_runtime < y_runtime ? -1 : 1;
	}
	return x->id < y->id ? -1 : x->id > y->id;
}

static void add_tables(struct census *c)
{
	for (size_t i = 0; i < c->objects->list.nr; i++) {
		const struct object *o = &c->objects->list.v[i];

		for (uint32_t k = 0; k < o->d->nr_tables; k++) {
			const struct found_table *t = &o->d->tables[k];

			if (wire_is_task_table(t->plan.kind))
				vec_push(&c->tables, (struct census_table){
							     .found = t,
							     .shape = task_shape(o->d, t),
							     .object = i,
							     .addr = o->base + t->plan.va,
						     });
		}
	}
}

void census_init(struct census *c, struct memory *m, const struct objects *o)
{
	struct scan s = { .c = c };

	*c = (struct census){ .memory = m, .objects = o };
	add_tables(c);
	for (size_t i = 0; i < c->tables.nr; i++)
		*map_put(&c->by_addr, c->tables.v[i].addr, NULL) = i;
	if (!c->tables.nr)
		return;
	prepare(&s);
	run(&s);
	drop_copies(c);
	if (c->tasks.nr)
		qsort_r(c->tasks.v, c->tasks.nr, sizeof(*c->tasks.v), by_identity, c);
	vec_release(&s.pieces);
}

void census_release(struct census *c)
{
	vec_each (r, &c->roots)
		free(*r);
	vec_each (name, &c->names)
		free(*name);
	vec_release(&c->roots);
	vec_release(&c->names);
	map_release(&c->by_addr);
	vec_release(&c->tables);
	vec_release(&c->tasks);
}

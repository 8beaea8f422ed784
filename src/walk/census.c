// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/census.h"

#include <string.h>

#include "walk/scan.h"

#define MAX_ID	     (UINT64_C(1) << 40)
#define HEADER_WORDS (TASK_HEADER_BYTES / 8)

/* What one thread found. */
struct finds {
	VEC(struct census_task) tasks;
	uint64_t nr_over;
};

struct count {
	struct census *census;
	struct finds finds[SCAN_MAX_THREADS];
};

/* Ids count tasks. In what is just being made, or was freed, an address may stand there. */
static bool is_id(uint64_t id)
{
	return id && id < MAX_ID;
}

static bool look_at(const struct census *c, const struct scan_piece *piece, uint64_t addr,
		    const struct census_table *t, unsigned table_word, struct task_look *look)
{
	uint64_t header[HEADER_WORDS];
	uint32_t id_off = t->shape->id_off(t->found);

	if (!scan_read(piece, c->memory, addr, header, sizeof(header)) ||
	    header[table_word] != t->addr)
		return false;
	*look = t->shape->look(t->found, header, table_word);
	if (look->state == TASK_NONE)
		return false;
	return !id_off ||
	       (scan_read(piece, c->memory, addr + id_off, &look->id, sizeof(look->id)) &&
		is_id(look->id));
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
static void hit(void *arg, unsigned worker, const struct scan_piece *piece, uint64_t addr,
		uint64_t table)
{
	struct count *count = arg;
	struct finds *f = &count->finds[worker];
	const struct census_table *t = &count->census->tables.v[table];
	uint8_t words[TASK_MAX_TABLE_WORDS];
	unsigned nr = t->shape->table_words(t->found, words);
	struct task_look look;

	for (unsigned i = 0; i < nr; i++) {
		struct census_task task = { .addr = addr - 8 * words[i],
					    .table = table,
					    .table_word = words[i] };

		if (!look_at(count->census, piece, task.addr, t, words[i], &look))
			continue;
		task.id = look.id ? look.id : task.addr;
		task.state = look.state;
		task.may_be_copy = look.may_be_copy;
		task.nr_wakers = MIN(look.nr_wakers, (uint64_t)UINT8_MAX);
		if (look.state == TASK_OVER)
			f->nr_over++;
		else if (t->found->kind != TRACE_HELPER)
			vec_push(&f->tasks, task);
		return;
	}
}

static void gather(struct census *c, struct finds *f)
{
	vec_grow(&c->tasks, f->tasks.nr);
	if (f->tasks.nr)
		memcpy(c->tasks.v + c->tasks.nr, f->tasks.v, f->tasks.nr * sizeof(*f->tasks.v));
	c->tasks.nr += f->tasks.nr;
	c->nr_over += f->nr_over;
	vec_release(&f->tasks);
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

/* `spawn` makes a task on a stack and moves it: the copy there looks new until other words lie on
 * it. What a thread has as its stack may be a part of the heap. */
static bool lies_on_stack(const struct census *c, const struct census_task *t)
{
	const struct memory_area *a = memory_area(c->memory, t->addr);

	return a && (a->is_main_stack || (t->may_be_copy && a->is_stack));
}

static void drop_copies_on_stacks(struct census *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->tasks.nr; i++) {
		if (lies_on_stack(c, &c->tasks.v[i]))
			c->nr_copies++;
		else
			c->tasks.v[kept++] = c->tasks.v[i];
	}
	c->tasks.nr = kept;
}

/* One that looks new has an owner, or somebody who has its address. */
static bool is_unsure(const struct census *c, const struct census_task *t)
{
	const struct census_table *table = table_of(c, t);
	const struct memory_area *a;

	if (t->may_be_copy)
		return !table->shape->id_off(table->found) || table->found->kind == TRACE_BLOCKING;
	a = memory_area(c->memory, t->addr);
	return a && a->is_stack;
}

static void is_held(void *arg, unsigned worker, const struct scan_piece *piece, uint64_t addr,
		    uint64_t task)
{
	bool *held = arg;

	__atomic_store_n(&held[task], true, __ATOMIC_RELAXED);
}

/*
 * A value that is moved from the stack to the heap takes along what it has not filled in, and with
 * that perhaps a copy of a header. Who runs a new task and who waits for it both have its address;
 * that of a copy nobody has.
 */
static void drop_unheld(struct census *c)
{
	struct map addrs = MAP_INIT; /* -> index of the task */
	size_t kept = 0;
	bool *held;

	for (size_t i = 0; i < c->tasks.nr; i++)
		if (is_unsure(c, &c->tasks.v[i]))
			*map_put(&addrs, c->tasks.v[i].addr, NULL) = i;
	if (addrs.nr && !c->memory->nr_missing_bytes) {
		held = xcalloc(c->tasks.nr, sizeof(*held));
		scan_memory(c->memory, &addrs, is_held, held);
		for (size_t i = 0; i < c->tasks.nr; i++) {
			if (!held[i] && is_unsure(c, &c->tasks.v[i]))
				c->nr_copies++;
			else
				c->tasks.v[kept++] = c->tasks.v[i];
		}
		c->tasks.nr = kept;
		free(held);
	}
	map_release(&addrs);
}

/* A task that looks new is a copy if there is another of its id. */
static void drop_copies_of_others(struct census *c)
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

		if (t->may_be_copy && (*map_get(&doubtful, identity(c, t)))++)
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
	struct count count = { .census = c };

	*c = (struct census){ .memory = m, .objects = o };
	add_tables(c);
	for (size_t i = 0; i < c->tables.nr; i++)
		*map_put(&c->by_addr, c->tables.v[i].addr, NULL) = i;
	c->scanned_bytes = scan_memory(m, &c->by_addr, hit, &count);
	for (size_t i = 0; i < SCAN_MAX_THREADS; i++)
		gather(c, &count.finds[i]);
	drop_copies_on_stacks(c);
	drop_unheld(c);
	drop_copies_of_others(c);
	if (c->tasks.nr)
		qsort_r(c->tasks.v, c->tasks.nr, sizeof(*c->tasks.v), by_identity, c);
}

void census_release(struct census *c)
{
	vec_each (r, &c->roots)
		free(*r);
	vec_each (name, &c->names)
		free(*name);
	vec_release(&c->roots);
	vec_release(&c->rootless);
	vec_release(&c->names);
	map_release(&c->by_addr);
	vec_release(&c->tables);
	vec_release(&c->tasks);
}

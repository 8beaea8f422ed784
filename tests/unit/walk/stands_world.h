// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the tests of walk/stands.h share: a program with a few task tables, and tasks put by hand.
 */
#ifndef TESTS_WALK_STANDS_WORLD_H
#define TESTS_WALK_STANDS_WORLD_H

#include "memory/fake.h"
#include "walk/stands.h"

#define TABLE	 0x400000
#define OTHER	 0x500000 /* of another object */
#define HEAP	 UINT64_C(0x7f0000000000)
#define LENGTH	 0x10000
#define ID_OFF	 40
#define FUTURE	 64			  /* where it begins in a task */
#define WORD	 UINT64_C(0x123456789abc) /* that a table must hold */

#define IDLE	 (2 << 6 | 8)
#define RUNNING	 1
#define NOTIFIED 4

struct world {
	struct fake *f;
	struct found_runtime runtime;
	struct found_table other, tables[2];
	struct stands_table own[2], others;
	struct discovery d, other_d;
	struct stands s;
	/* what becomes of memory, and when: before that read of that piece */
	uint64_t piece, at, word;
	unsigned nr_reads, change_at;
	unsigned gone; /* that range can no more be read; 0: they all can */
};

static inline void change(struct fake *f, uint64_t addr)
{
	struct world *w = f->arg;

	if (addr != w->piece || ++w->nr_reads != w->change_at)
		return;
	if (w->gone)
		f->ranges.v[w->gone].len = 0;
	else
		fake_put(f, w->at, w->word);
}

static inline struct found_table a_table(uint64_t va)
{
	return (struct found_table){ .kind = TRACE_TASK,
				     .plan = { .va = va,
					       .kind = WIRE_TABLE_TOKIO,
					       .nr_words = 3,
					       .words = { 0, 0, WORD },
					       .slot_poll = 0,
					       .slot_schedule = 1,
					       .slot_dealloc = WIRE_NO_SLOT,
					       .slot_shutdown = WIRE_NO_SLOT,
					       .slot_abort = WIRE_NO_SLOT,
					       .id_off = ID_OFF } };
}

static inline void world_init(struct world *w, const struct wire_node *nodes, size_t nr_nodes,
			      const struct wire_edge *edges, size_t nr_edges)
{
	*w = (struct world){ .f = fake_new(),
			     .runtime = { .name = "tokio" },
			     .tables = { a_table(TABLE), a_table(TABLE + 0x100) },
			     .other = a_table(OTHER),
			     .own = { { .recipe = 1, .type = 7 } },
			     .others = { .recipe = 1, .type = 9 } };
	w->d = (struct discovery){
		.runtimes = &w->runtime, .nr_runtimes = 1, .tables = w->tables, .nr_tables = 2
	};
	w->other_d = (struct discovery){
		.runtimes = &w->runtime, .nr_runtimes = 1, .tables = &w->other, .nr_tables = 1
	};
	w->s.clock = CLOCK_KIND_MONOTONIC;
	for (size_t i = 0; i < nr_nodes; i++)
		vec_push(&w->s.nodes, nodes[i]);
	for (size_t i = 0; i < nr_edges; i++)
		vec_push(&w->s.edges, edges[i]);
	vec_push(&w->s.objects, (struct stands_object){ &w->d, 0, w->own });
	w->f->arg = w;
	w->f->before = change;
	fake_add(w->f, HEAP, LENGTH);
	fake_add(w->f, TABLE, 0x1000);
	fake_add(w->f, OTHER, 0x1000);
	memory_settle(&w->f->m);
	fake_put(w->f, TABLE + 16, WORD);
	fake_put(w->f, TABLE + 0x110, WORD);
	fake_put(w->f, OTHER + 16, WORD);
}

#define WORLD_INIT(w, nodes, edges) \
	world_init(w, nodes, ARRAY_SIZE(nodes), edges, ARRAY_SIZE(edges))

static inline void world_release(struct world *w)
{
	stands_release(&w->s);
	memory_close(&w->f->m);
}

static inline void put_task(struct world *w, uint64_t addr, uint64_t table, uint64_t state,
			    uint64_t id)
{
	fake_put(w->f, addr, state);
	fake_put(w->f, addr + 16, table);
	fake_put(w->f, addr + 24, 7);
	fake_put(w->f, addr + ID_OFF, id);
}

/* An idle one, and the first word of its future. */
static inline void put_idle(struct world *w, uint64_t addr, uint64_t id, uint64_t future)
{
	put_task(w, addr, TABLE, IDLE, id);
	fake_put(w->f, addr + FUTURE, future);
}

static inline void look(struct world *w)
{
	w->s.list.nr = 0;
	w->nr_reads = 0;
	assert_true(stands_look(&w->s, &w->f->m));
}

static inline const struct stand *find(const struct world *w, uint64_t id)
{
	const struct stand *found = NULL;

	vec_each (s, &w->s.list)
		if (s->task == id) {
			assert_null(found);
			found = s;
		}
	return found;
}

static inline void check(const struct world *w, uint64_t id, const uint32_t *choices, uint32_t nr)
{
	const struct stand *s = find(w, id);
	const struct stands_trail *t;

	assert_non_null(s);
	t = &w->s.trails.v[s->trail];
	assert_int_equal(t->recipe, 1);
	assert_int_equal(t->nr_choices, nr);
	assert_memory_equal(t->choices, choices, nr * sizeof(*choices));
}

#define CHECK(w, id, ...)                               \
	check(w, id, (const uint32_t[]){ __VA_ARGS__ }, \
	      ARRAY_SIZE(((const uint32_t[]){ __VA_ARGS__ })))

#endif

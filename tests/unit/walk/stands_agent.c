// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that a task is told to stand just where the agent itself says: recipes at random, over
 * memory at random, followed by both. It is real memory, as the agent knows no other.
 */
#include "walk/stands.h"

#include <string.h>

#include "agent/path.h"
#include "memory/fake.h"

#define TABLE	 0x400000
#define LENGTH	 (UINT64_C(256) << 10)
#define TARGETS	 (UINT64_C(32) << 10) /* what pointers lead to */
#define MARGIN	 0x1000		      /* where nothing points to */
#define NR_TASKS 64
#define IDLE	 (2 << 6 | 8)
#define ID_OFF	 32
#define NR_NODES 24
#define NR_DYNS	 6

struct world {
	struct fake *f;
	uint8_t *bytes;
	uint64_t addr; /* of these bytes, for both */
	struct wire_region *region;
	struct found_runtime runtime;
	struct found_table table;
	struct discovery d;
	struct stands_table own;
	struct stands s;
	uint64_t seed;
	uint64_t nr_told, nr_bad, nr_full;
};

static struct wire_lobby lobby; /* without limits */
static uint64_t below(struct world *w, uint64_t nr)
{
	return (unit_random(&w->seed) >> 11) % nr;
}

/* Numbers lie in even words, pointers in odd ones: whatever is followed leads into this memory. */
static uint64_t place(struct world *w)
{
	return 16 * below(w, 8);
}

static void fill(struct world *w)
{
	for (uint64_t off = 0; off < LENGTH; off += 16) {
		uint64_t to = w->addr + MARGIN + 16 * below(w, TARGETS / 16), number = 0;

		for (unsigned i = 0; i < 8; i++)
			number |= below(w, below(w, 8) ? 3 : 4) << 8 * i;
		memcpy(w->bytes + off, &number, sizeof(number));
		to = below(w, 24) ? to : 0;
		memcpy(w->bytes + off + 8, &to, sizeof(to));
	}
	for (uint64_t i = 0; i < NR_TASKS; i++) {
		uint64_t addr = w->addr + MARGIN + TARGETS + 256 * i;

		fake_put(w->f, addr, IDLE);
		fake_put(w->f, addr + 16, TABLE);
		fake_put(w->f, addr + ID_OFF, i + 1);
	}
}

static struct wire_node a_node(struct world *w)
{
	static const uint8_t kinds[] = { WIRE_NODE_STATE, WIRE_NODE_STATE, WIRE_NODE_STATE,
					 WIRE_NODE_CASE,  WIRE_NODE_CASE,  WIRE_NODE_DEREF,
					 WIRE_NODE_DYN,	  WIRE_NODE_FORK };
	struct wire_node n = { .kind = kinds[below(w, ARRAY_SIZE(kinds))], .off = place(w) };

	switch (n.kind) {
	case WIRE_NODE_STATE:
	case WIRE_NODE_CASE:
		n.bytes = below(w, 4) ? 1 : 1 << below(w, 4);
		n.off += below(w, 8 / n.bytes) * n.bytes;
		n.nr = 3 + below(w, 2);
		n.other = n.kind == WIRE_NODE_CASE && below(w, 2);
		break;
	case WIRE_NODE_DEREF:
		n.off += 8;
		n.nr = 1;
		break;
	case WIRE_NODE_DYN:
		n.other = n.off + 8;
		n.off = place(w) + 8;
		break;
	default:
		n.nr = 1 + below(w, 3);
	}
	return n;
}

/* Edge 1 is the recipe; edges lead anywhere, to the end too. */
static void make_recipes(struct world *w)
{
	struct wire_region *r = w->region;

	r->nr_nodes = 1;
	r->nr_edges = 2;
	for (; r->nr_nodes < NR_NODES; r->nr_nodes++) {
		struct wire_node n = a_node(w);

		n.first = r->nr_edges;
		r->nodes[r->nr_nodes] = n;
		for (unsigned i = 0; i < n.nr; i++)
			r->edges[r->nr_edges++] = (struct wire_edge){ .value = i };
	}
	for (unsigned i = 0; i < NR_DYNS; i++)
		r->nr_edges++;
	for (uint32_t i = 1; i < r->nr_edges; i++) {
		r->edges[i].off = place(w);
		r->edges[i].node = below(w, 8) ? 1 + below(w, NR_NODES - 1) : 0;
	}
	r->edges[1].off = 64;
	r->edges[1].node = 1;
	r->edges[0] = (struct wire_edge){ 0 };
}

/* Half of what pointers lead to is taken for a known table. */
static void make_dyns(struct world *w)
{
	memset(w->region->dyns, 0, sizeof(w->region->dyns));
	for (uint64_t off = MARGIN; off < MARGIN + TARGETS; off += 32) {
		uint64_t addr = w->addr + off;
		uint32_t edge = w->region->nr_edges - 1 - below(w, NR_DYNS);

		for (unsigned i = 0; i < WIRE_DYN_TRIES; i++) {
			struct wire_dyn *d =
				&w->region->dyns[(wire_dyn_home(addr) + i) % WIRE_MAX_DYNS];

			if (d->addr)
				continue;
			*d = (struct wire_dyn){ .addr = addr, .edge = edge };
			*map_put(&w->s.dyns, addr, NULL) = edge;
			break;
		}
	}
}

static void copy_recipes(struct world *w)
{
	for (uint32_t i = 0; i < w->region->nr_nodes; i++)
		vec_push(&w->s.nodes, w->region->nodes[i]);
	for (uint32_t i = 0; i < w->region->nr_edges; i++)
		vec_push(&w->s.edges, w->region->edges[i]);
	vec_push(&w->s.objects, (struct stands_object){ &w->d, 0, &w->own });
}

static const struct stand *find(const struct world *w, uint64_t id)
{
	vec_each (s, &w->s.list)
		if (s->task == id)
			return s;
	return NULL;
}

static void compare(struct world *w, uint64_t id, uint64_t number)
{
	const struct stand *s = find(w, id);
	const struct wire_path *p = &w->region->paths[number];
	const struct stands_trail *t;

	assert_int_equal(!s, !number);
	w->nr_bad += !s;
	if (!s)
		return;
	t = &w->s.trails.v[s->trail];
	assert_int_equal(t->nr_choices, p->nr_choices);
	assert_memory_equal(t->choices, p->choices, t->nr_choices * sizeof(*t->choices));
	w->nr_told++;
	w->nr_full += t->nr_choices == WIRE_MAX_CHOICES;
}

static void forget_paths(struct world *w)
{
	for (uint32_t i = 0; i < WIRE_MAX_PATHS; i++)
		if (w->region->paths[i].hash)
			w->region->paths[i] = (struct wire_path){ 0 };
}

static void play(struct world *w)
{
	static uint32_t start;
	uint64_t task = w->addr + MARGIN + TARGETS;

	fill(w);
	make_recipes(w);
	make_dyns(w);
	copy_recipes(w);
	forget_paths(w);
	core_page.nr_sound_nodes = 0; /* they are others */
	start = path_add(w->region, 1, start);
	assert_int_not_equal(start, 0);
	assert_true(stands_look(&w->s, &w->f->m));
	for (uint64_t i = 0; i < NR_TASKS; i++)
		compare(w, i + 1, path_find(task + 256 * i, &path_starts[start]));
	stands_release(&w->s);
	w->s = (struct stands){ .clock = CLOCK_KIND_MONOTONIC };
}

static void test_as_the_agent(void **state)
{
	struct world w = {
		.f = fake_new(),
		.region = xaligned_alloc(WIRE_PAGE, sizeof(*w.region)),
		.runtime = { .name = "tokio" },
		.table = { .kind = TRACE_TASK,
			   .plan = { .va = TABLE, .kind = WIRE_TABLE_TOKIO, .id_off = ID_OFF } },
		.own = { .recipe = 1 },
		.s = { .clock = CLOCK_KIND_MONOTONIC },
		.seed = 88172645463325252
	};

	memset(w.region, 0, sizeof(*w.region));
	w.d = (struct discovery){
		.runtimes = &w.runtime, .nr_runtimes = 1, .tables = &w.table, .nr_tables = 1
	};
	w.bytes = fake_add(w.f, 0, LENGTH);
	w.addr = (uint64_t)w.bytes;
	w.f->ranges.v[0].addr = w.f->m.areas.v[0].addr = w.addr;
	w.f->m.areas.v[0].end_addr = w.f->m.areas.v[0].held_end = w.addr + LENGTH;
	fake_add(w.f, TABLE, 0x1000);
	memory_settle(&w.f->m);
	core_page.region = w.region;
	core_page.lobby = &lobby;
	for (unsigned i = 0; i < 200; i++)
		play(&w);
	core_page = (struct core_page){ 0 };
	/* each of them is among what was made */
	assert_true(w.nr_told > 1000 && w.nr_bad > 1000 && w.nr_full > 100);
	memory_close(&w.f->m);
	free(w.region);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_as_the_agent) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

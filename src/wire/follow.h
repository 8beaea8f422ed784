// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How a recipe (wire/region.h) is followed from a task down to what it waits for. The agent does so
 * in its own memory, the tool from outside in copies of it: both include this code, so that they
 * choose the same. It calls nothing but what the file that includes it defines, for the memory that
 * it reads; all of that is inlined.
 */
#ifndef WIRE_FOLLOW_H
#define WIRE_FOLLOW_H

#include <stdbool.h>

#include "wire/region.h"

#define FOLLOW_MAX_VISITS 512 /* nodes of one walk: a list that leads in a circle ends here */
#define FOLLOW_MAX_FORKS  8
#define FOLLOW_NO_EDGE	  UINT32_MAX

/* Branches that are yet to be taken. */
struct wire_fork {
	uint64_t addr;
	uint32_t next, end; /* edges */
	uint32_t base;
	uint32_t pad;
};

struct follow {
	uint32_t nr_choices, nr_forks;
	uint32_t base; /* of what the memory calls the pointer that led here; 0: none did */
	uint32_t pad;
	uint32_t choices[WIRE_MAX_CHOICES]; /* edges */
	struct wire_fork forks[FOLLOW_MAX_FORKS];
};

/* Defined by the file that includes this one, with what it needs for it. */
struct follow_memory;
/* The word at an address. False: it cannot be read, and the walk fails. */
static inline bool follow_word(struct follow_memory *m, uint64_t addr, uint64_t *word);
/* The edge of the type whose `dyn` table lies there; 0: it is not known. */
static inline uint32_t follow_dyn(struct follow_memory *m, uint64_t table);
/* The way depends on this: a choice, the number that made it, or that it was none of some. */
static inline void follow_chose(struct follow_memory *m, uint32_t edge);
static inline void follow_saw(struct follow_memory *m, uint32_t base, uint64_t addr, uint64_t value,
			      uint64_t mask);
static inline void follow_saw_other(struct follow_memory *m);
/* A pointer was read at addr, and the way goes on at `to`. Returns the base from there on. */
static inline uint32_t follow_moved(struct follow_memory *m, uint32_t base, uint64_t addr,
				    uint64_t to);

static inline uint64_t follow_mask(unsigned bytes)
{
	return ~UINT64_C(0) >> (64 - 8 * bytes);
}

/* A number within one word, which is in memory as a whole if any of it is. */
static inline bool follow_number(struct follow_memory *m, uint64_t addr, unsigned bytes,
				 uint64_t *number)
{
	uint64_t word;

	if (!follow_word(m, addr & ~UINT64_C(7), &word))
		return false;
	*number = word >> addr % 8 * 8 & follow_mask(bytes);
	return true;
}

static inline uint32_t follow_choose(struct follow *f, struct follow_memory *m, uint32_t edge)
{
	follow_chose(m, edge);
	f->choices[f->nr_choices++] = edge;
	return edge;
}

static inline bool follow_pointer(struct follow *f, struct follow_memory *m, uint64_t at,
				  uint64_t *addr)
{
	if (!follow_word(m, at, addr) || !*addr)
		return false;
	f->base = follow_moved(m, f->base, at, *addr);
	return true;
}

static inline uint32_t follow_state(struct follow *f, struct follow_memory *m,
				    const struct wire_node *n, uint64_t addr)
{
	uint64_t state;

	if (__builtin_expect(!follow_number(m, addr + n->off, n->bytes, &state) || state >= n->nr,
			     0))
		return FOLLOW_NO_EDGE;
	follow_saw(m, f->base, addr + n->off, state, follow_mask(n->bytes));
	return follow_choose(f, m, n->first + state);
}

static inline uint32_t follow_case(struct follow *f, struct follow_memory *m,
				   const struct wire_node *n, const struct wire_edge *edges,
				   uint64_t addr)
{
	uint32_t end = n->first + n->nr - (n->other ? 1 : 0);
	uint64_t number;

	if (!follow_number(m, addr + n->off, n->bytes, &number))
		return FOLLOW_NO_EDGE;
	for (uint32_t i = n->first; i < end; i++)
		if (edges[i].value == number) {
			follow_saw(m, f->base, addr + n->off, number, follow_mask(n->bytes));
			return follow_choose(f, m, i);
		}
	if (!n->other)
		return FOLLOW_NO_EDGE;
	follow_saw_other(m);
	return follow_choose(f, m, end);
}

static inline uint32_t follow_table(struct follow *f, struct follow_memory *m,
				    const struct wire_node *n, uint64_t *addr)
{
	uint64_t table;
	uint32_t edge;

	if (!follow_word(m, *addr + n->other, &table))
		return FOLLOW_NO_EDGE;
	edge = follow_choose(f, m, follow_dyn(m, table));
	follow_saw(m, f->base, *addr + n->other, table, ~UINT64_C(0));
	return follow_pointer(f, m, *addr + n->off, addr) ? edge : FOLLOW_NO_EDGE;
}

static inline uint32_t follow_fork(struct follow *f, const struct wire_node *n, uint64_t addr)
{
	if (n->nr == 1)
		return n->first;
	if (f->nr_forks == FOLLOW_MAX_FORKS)
		return FOLLOW_NO_EDGE;
	f->forks[f->nr_forks++] = (struct wire_fork){
		.addr = addr, .next = n->first + 1, .end = n->first + n->nr, .base = f->base
	};
	return n->first;
}

/* The end of a branch: where the next one begins; 0: that was the last. */
static inline uint32_t follow_next_branch(struct follow *f, uint64_t *addr)
{
	struct wire_fork *fork;
	uint32_t edge;

	if (!f->nr_forks)
		return 0;
	fork = &f->forks[f->nr_forks - 1];
	edge = fork->next++;
	*addr = fork->addr;
	f->base = fork->base;
	if (fork->next == fork->end)
		f->nr_forks--;
	return edge;
}

/* All but states and ends. Returns the edge to take. */
static inline uint32_t follow_step(struct follow *f, struct follow_memory *m,
				   const struct wire_node *n, const struct wire_edge *edges,
				   uint64_t *addr)
{
	switch (n->kind) {
	case WIRE_NODE_CASE:
		return follow_case(f, m, n, edges, *addr);
	case WIRE_NODE_DEREF:
		return follow_pointer(f, m, *addr + n->off, addr) ? n->first : FOLLOW_NO_EDGE;
	case WIRE_NODE_DYN:
		return follow_table(f, m, n, addr);
	default:
		return follow_fork(f, n, *addr);
	}
}

/* Fills in f->choices. False: memory is not as the recipe says. */
static inline bool follow_recipe(struct follow *f, struct follow_memory *m,
				 const struct wire_node *nodes, const struct wire_edge *edges,
				 uint32_t edge, uint64_t addr)
{
	f->nr_choices = f->nr_forks = f->base = 0;
	for (unsigned i = 0; i < FOLLOW_MAX_VISITS; i++) {
		const struct wire_node *n = &nodes[edges[edge].node];

		addr += edges[edge].off;
		if (__builtin_expect(n->kind == WIRE_NODE_STATE, 1)) {
			edge = follow_state(f, m, n, addr);
		} else if (n->kind == WIRE_NODE_END) {
			edge = follow_next_branch(f, &addr);
			if (!edge)
				return true;
		} else {
			edge = follow_step(f, m, n, edges, &addr);
		}
		if (__builtin_expect(edge == FOLLOW_NO_EDGE, 0))
			return false;
		if (__builtin_expect(f->nr_choices == WIRE_MAX_CHOICES, 0))
			return true;
	}
	return false;
}

#endif

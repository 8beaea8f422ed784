// SPDX-License-Identifier: MIT OR Apache-2.0
#include "agent/root_future.h"

#include "agent/path.h"

/* states of coroutines; others before the first await: not started, panicked */
#define RETURNED    1
#define FIRST_AWAIT 3

#define MAX_BETWEEN 8 /* frames from where a root begins up to the one that tells its type */

static uint32_t starts[WIRE_MAX_FRAMED]; /* of the recipes; 0: there is none */
static uint32_t nr_known;

void root_futures_add(const struct wire_region *r, bool is_again)
{
	uint32_t nr = r->nr_framed < WIRE_MAX_FRAMED ? r->nr_framed : WIRE_MAX_FRAMED;

	for (uint32_t i = is_again ? 0 : nr_known; i < nr; i++)
		starts[i] = path_add(r, r->framed[i].recipe, starts[i]);
	nr_known = nr;
}

static const struct wire_framed *find_plan(const struct wire_region *r, uint64_t pc)
{
	for (uint32_t i = 0; i < nr_known; i++)
		if (starts[i] && pc > r->framed[i].addr && pc <= r->framed[i].end_addr)
			return &r->framed[i];
	return NULL;
}

/*
 * Whoever waits for a coroutine has polled it, and it is not done; or it is. If there is only a
 * pointer to it, it leads to a frame further up.
 */
static void judge(const struct wire_region *r, const struct wire_framed *p, struct root_future *f,
		  uint64_t addr, uint64_t end)
{
	const struct wire_edge *e = &r->edges[p->recipe];
	const struct wire_node *n = &r->nodes[e->node];
	uint64_t at = addr + e->off, state = 0;

	if (n->kind == WIRE_NODE_DEREF) {
		e = &r->edges[n->first];
		at = *(const uint64_t *)(at + n->off) + e->off;
		n = &r->nodes[e->node];
		if (n->kind != WIRE_NODE_STATE || !stack_holds(end - 1, at) ||
		    !stack_holds(end, at + n->off + n->bytes))
			return;
	}
	if (n->kind == WIRE_NODE_STATE) {
		__builtin_memcpy(&state, (const void *)(at + n->off), n->bytes);
		f->is_done = state == RETURNED;
		if (state < FIRST_AWAIT || state >= n->nr)
			return;
	}
	f->addr = addr;
}

/* What the plan says of the frame, and what is there, must agree. */
static bool is_sound(const struct stack_frame *f, const struct wire_framed *p, uint64_t base)
{
	uint64_t addr = base + (int64_t)p->off, at = base + (int64_t)p->pointer_off;

	if (addr < f->sp || addr > f->end || p->bytes > f->end - addr)
		return false;
	return !p->has_pointer ||
	       (at >= f->sp && at % 8 == 0 && at <= f->end - 8 && *(const uint64_t *)at == addr);
}

struct search {
	struct root_future *found;
	uint64_t outermost;
};

static bool is_it(const struct stack_frame *f, void *arg)
{
	const struct wire_region *r = core_page.region;
	const struct wire_framed *p = find_plan(r, f->pc);
	const struct search *s = arg;
	uint64_t base;

	if (!p || f->sp > s->outermost)
		return f->sp > s->outermost;
	base = p->by_frame_pointer ? f->rbp : f->sp;
	if (is_sound(f, p, base)) {
		s->found->frame = f->sp;
		s->found->start = starts[p - r->framed];
		s->found->type = p->type;
		judge(r, p, s->found, base + (int64_t)p->off, f->end);
	}
	return true;
}

void root_future_find(struct root_future *f, const uint64_t *frame, uint64_t outermost)
{
	struct search s = { f, outermost };

	*f = (struct root_future){ 0 };
	if (core_page.region && nr_known)
		stack_find(frame, is_it, &s);
}

/* ---- what begins ---- */

struct entry {
	uint64_t end;
	unsigned nr_frames;
	uint16_t type;
};

/* Of functions that were inlined into each other, the inner ones come later. */
static bool is_entry(const struct stack_frame *f, void *arg)
{
	const struct wire_region *r = core_page.region;
	struct entry *e = arg;

	if (f->sp >= e->end || e->nr_frames++ == MAX_BETWEEN)
		return true;
	for (uint32_t i = 0; i < nr_known; i++)
		if (!r->framed[i].recipe && f->pc > r->framed[i].addr &&
		    f->pc <= r->framed[i].end_addr)
			e->type = r->framed[i].type;
	return e->type != EVENT_TYPE_NONE;
}

uint16_t root_future_type(const uint64_t *frame, uint64_t end)
{
	struct entry e = { .end = end, .type = EVENT_TYPE_NONE };

	if (core_page.region && nr_known)
		stack_find(frame, is_entry, &e);
	return e.type;
}

/* ---- paths ---- */

/* One that once was not as its recipe says is not believed any more. */
uint64_t root_future_path(struct root_future *f)
{
	uint64_t number = f->addr ? path_find(f->addr, &path_starts[f->start]) : 0;

	if (!number)
		f->addr = 0;
	return number;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Events -> columns (docs/FORMAT.md). This is the recorder's hot path: no division, no allocation
 * but for a growing dictionary, and branches that go the same way as long as the program does.
 */
#include "trace/encode.h"

#include "base/map.h"

/* Side columns end a block early when they reach this; it bounds raw_len far below RAW_LEN_MAX. */
#define COLUMN_LEN 65536
#define REFS_LEN   (3 * BLOCK_EVENTS_MAX)
#define SLACK	   64
#define ARGS_LEN   (2 * BLOCK_EVENTS_MAX)
#define MEMORY_LEN (3 * BLOCK_EVENTS_MAX + 2 * COLUMN_LEN + REFS_LEN + ARGS_LEN + 4 * SLACK)

_Static_assert(EVENTS_HEADER_LEN + SHAPES_MAX * SHAPE_LEN + MEMORY_LEN <= RAW_LEN_MAX,
	       "a full block fits the format");

static uint8_t *column_init(struct encode_column *c, uint8_t *at, size_t len)
{
	c->start = c->p = at;
	c->limit = at + len;
	return at + len + SLACK;
}

void encoder_init(struct encoder *n)
{
	uint8_t *at;

	*n = (struct encoder){ 0 };
	memset(n->layout_of, ENCODE_ASIDE, sizeof(n->layout_of));
	for (unsigned kind = 0; kind < EV_MAX; kind++)
		if (event_descs[kind].name)
			n->layout_of[kind] = event_layout(kind);
	n->layout_of[EV_THREAD_START] |= ENCODE_ASIDE;
	n->layout_of[EV_THREAD_NAME] |= ENCODE_ASIDE;
	/*
	 * Pages that a quiet thread never reaches cost nothing: malloc maps an area of this size.
	 */
	n->memory = at = xmalloc(MEMORY_LEN);
	n->ops = at;
	n->low = at + BLOCK_EVENTS_MAX;
	n->high = at + 2 * BLOCK_EVENTS_MAX;
	at = column_init(&n->wide, at + 3 * BLOCK_EVENTS_MAX, COLUMN_LEN);
	at = column_init(&n->refs, at, REFS_LEN);
	at = column_init(&n->defs, at, COLUMN_LEN);
	column_init(&n->args, at, ARGS_LEN);
	n->slots = xcalloc(ENCODE_SLOTS, sizeof(*n->slots));
	n->cap_tasks = 64;
	n->tasks = xmalloc(n->cap_tasks * sizeof(*n->tasks));
	encoder_reset(n);
}

void encoder_release(struct encoder *n)
{
	free(n->memory);
	free(n->slots);
	free(n->tasks);
	*n = (struct encoder){ 0 };
}

void encoder_reset(struct encoder *n)
{
	n->nr = 0;
	n->tail = BLOCK_EVENTS_MAX;
	n->wide.p = n->wide.start;
	n->refs.p = n->refs.start;
	n->defs.p = n->defs.start;
	n->args.p = n->args.start;
	memset(n->op_of, 0, sizeof(n->op_of));
	n->nr_shapes = 0;
	memset(n->last, 0xff, sizeof(n->last));
	memset(n->prev_a, 0, sizeof(n->prev_a));
	memset(n->prev_b, 0, sizeof(n->prev_b));
	n->prev_id = n->prev_addr = 0;
	n->nr_tasks = 0;
}

/*
 * Call after each event's bytes, which are fewer than SLACK: past the limit there is no room for
 * another.
 */
static void column_check(struct encoder *n, const struct encode_column *c)
{
	if (unlikely(c->p > c->limit))
		n->tail = n->nr;
}

static NOINLINE uint8_t new_shape(struct encoder *n, unsigned op, unsigned layout)
{
	uint8_t *shape = n->shapes + n->nr_shapes * SHAPE_LEN;

	shape[0] = op & (EV_MAX - 1);
	shape[1] = op >> EVENT_KIND_BITS & ((1 << EVENT_FLAG_BITS) - 1);
	shape[2] = layout;
	shape[3] = 0;
	n->op_of[op] = ++n->nr_shapes;
	if (n->nr_shapes == SHAPES_MAX)
		n->tail = n->nr; /* room for no further shape: the next event begins a block */
	return n->nr_shapes;
}

static inline bool is_task(const struct encode_task *t, const struct event *ev, bool with_addr)
{
	return t->id == ev->task && t->type == ev->type &&
	       (!with_addr || !t->has_addr || t->addr == ev->addr);
}

/* Spells out the address of a task: with the task, or later, when a wake was its first event. */
static NOINLINE void put_addr(struct encoder *n, struct encode_task *t, uint64_t addr)
{
	n->defs.p = varint_put(n->defs.p, zigzag(addr - n->prev_addr));
	n->prev_addr = t->addr = addr;
	t->has_addr = true;
	column_check(n, &n->defs);
}

static NOINLINE uint32_t new_task(struct encoder *n, const struct event *ev)
{
	if (n->nr_tasks == n->cap_tasks) {
		n->cap_tasks *= 2;
		n->tasks = xreallocarray(n->tasks, n->cap_tasks, sizeof(*n->tasks));
	}
	n->tasks[n->nr_tasks] =
		(struct encode_task){ .id = ev->task, .next = DICT_NONE, .type = ev->type };
	n->defs.p = varint_put(n->defs.p, zigzag(ev->task - n->prev_id));
	n->defs.p = varint_put(n->defs.p, (uint16_t)(ev->type + 1));
	n->prev_id = ev->task;
	column_check(n, &n->defs);
	return n->nr_tasks++;
}

/* Not predicted: look it up, or make a new entry. Two slots a task, the newer one first. */
static NOINLINE uint32_t find_task(struct encoder *n, const struct event *ev, bool with_addr)
{
	size_t h = map_hash(ev->task ^ (uint64_t)ev->type << 48) >> 20 & (ENCODE_SLOTS - 1);
	uint32_t i;

	for (size_t way = 0; way < 2; way++) {
		i = n->slots[h ^ way];
		if (i < n->nr_tasks && is_task(&n->tasks[i], ev, with_addr)) {
			n->refs.p = varint_put(n->refs.p, n->nr_tasks - i + 1);
			return i;
		}
	}
	*n->refs.p++ = REF_NEW;
	i = new_task(n, ev);
	n->slots[h ^ 1] = n->slots[h];
	n->slots[h] = i;
	return i;
}

static inline void put_task(struct encoder *n, const struct event *ev, bool with_addr)
{
	uint32_t last = n->last[ev->kind], cur = DICT_NONE;

	if (likely(last != DICT_NONE))
		cur = n->tasks[last].next;
	if (likely(cur != DICT_NONE && is_task(&n->tasks[cur], ev, with_addr))) {
		*n->refs.p++ = REF_PREDICTED;
	} else {
		cur = find_task(n, ev, with_addr);
		if (last != DICT_NONE)
			n->tasks[last].next = cur;
	}
	n->last[ev->kind] = cur;
	if (with_addr && unlikely(!n->tasks[cur].has_addr))
		put_addr(n, &n->tasks[cur], ev->addr);
}

/* Tasks stand at the same places again and again: a difference from where this one last stood. */
static inline void put_path(struct encoder *n, const struct event *ev)
{
	struct encode_task *t = &n->tasks[n->last[ev->kind]];

	n->args.p = varint_put(n->args.p, zigzag(ev->path - t->path));
	t->path = ev->path;
	column_check(n, &n->args);
}

static NOINLINE void put_args(struct encoder *n, const struct event *ev, unsigned layout)
{
	if (layout & LAYOUT_A) {
		n->args.p = varint_put(n->args.p, zigzag(ev->a - n->prev_a[ev->kind]));
		n->prev_a[ev->kind] = ev->a;
	}
	if (layout & LAYOUT_B) {
		n->args.p = varint_put(n->args.p, zigzag(ev->b - n->prev_b[ev->kind]));
		n->prev_b[ev->kind] = ev->b;
	}
	column_check(n, &n->args);
}

static NOINLINE void put_wide(struct encoder *n, uint64_t delta)
{
	n->high[n->nr - 1] = WIDE_HIGH;
	n->wide.p = varint_put(n->wide.p, delta >> 8);
	column_check(n, &n->wide);
}

static ALWAYS_INLINE void put(struct encoder *n, const struct event *ev, unsigned layout)
{
	bool has_addr = (layout & LAYOUT_TASK) == EVENT_TASK_ADDR;
	bool has_path = has_addr && ev->path;
	unsigned flags = ev->flags & ((1 << EVENT_FLAG_BITS) - 1);
	unsigned shape = ev->kind | flags << EVENT_KIND_BITS | has_path << EVENT_TICK_SHIFT;
	uint64_t delta = 0;
	uint32_t i = n->nr++;
	uint8_t op = n->op_of[shape];

	if (has_addr && !has_path)
		layout &= ~LAYOUT_B;
	if (likely(ev->time > n->last_tick)) {
		delta = ev->time - n->last_tick;
		n->last_tick = ev->time;
	}
	if (unlikely(!op))
		op = new_shape(n, shape, layout);
	n->ops[i] = op - 1;
	n->low[i] = delta;
	n->high[i] = delta >> 8;
	if (unlikely(delta >= WIDE_HIGH << 8))
		put_wide(n, delta);
	if (layout & LAYOUT_TASK)
		put_task(n, ev, has_addr);
	if (has_path)
		put_path(n, ev);
	else if (unlikely(layout & ~LAYOUT_TASK))
		put_args(n, ev, layout);
}

void encoder_put(struct encoder *n, const struct event *ev)
{
	if (n->nr == 0)
		n->first_tick = n->last_tick = ev->time;
	put(n, ev, n->layout_of[ev->kind] & LAYOUT_KNOWN);
}

size_t encoder_put_all(struct encoder *n, const struct event *ev, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && n->nr < n->tail; i++) {
		unsigned layout = n->layout_of[ev[i].kind];

		if (unlikely(layout & ENCODE_ASIDE))
			break;
		put(n, &ev[i], layout);
	}
	return i;
}

size_t encoder_finish(const struct encoder *n, uint8_t *out)
{
	const struct encode_column *const sides[] = { &n->wide, &n->refs, &n->defs, &n->args };
	const uint8_t *const planes[] = { n->ops, n->low, n->high };
	uint8_t *p = out + EVENTS_HEADER_LEN;

	put_le32(out, n->nr_shapes);
	memcpy(p, n->shapes, n->nr_shapes * SHAPE_LEN);
	p += n->nr_shapes * SHAPE_LEN;
	for (size_t i = 0; i < ARRAY_SIZE(planes); i++, p += n->nr)
		memcpy(p, planes[i], n->nr);
	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		size_t len = sides[i]->p - sides[i]->start;

		put_le32(out + 4 + 4 * i, len);
		memcpy(p, sides[i]->start, len);
		p += len;
	}
	return p - out;
}

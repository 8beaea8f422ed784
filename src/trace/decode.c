// SPDX-License-Identifier: MIT OR Apache-2.0
/* Columns -> events: the mirror of encode.c, for bytes that are not trusted. */
#include "trace/decode.h"

static bool split(struct decoder *d, const struct block_header *h, const uint8_t *raw)
{
	struct cursor *const sides[] = { &d->wide, &d->refs, &d->defs, &d->args };
	uint64_t need = EVENTS_HEADER_LEN;
	const uint8_t *p;

	if (h->raw_len < need)
		return false;
	d->nr_shapes = get_le32(raw);
	if (d->nr_shapes == 0 || d->nr_shapes > SHAPES_MAX)
		return false;
	need += d->nr_shapes * SHAPE_LEN + 3 * (uint64_t)h->nr_events;
	for (size_t i = 0; i < ARRAY_SIZE(sides); i++)
		need += get_le32(raw + 4 + 4 * i);
	if (need != h->raw_len)
		return false;
	p = raw + EVENTS_HEADER_LEN + d->nr_shapes * SHAPE_LEN;
	d->ops = p;
	d->low = p + h->nr_events;
	d->high = p + 2 * (size_t)h->nr_events;
	p += 3 * (size_t)h->nr_events;
	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		uint32_t len = get_le32(raw + 4 + 4 * i);

		*sides[i] = (struct cursor){ .p = p, .end = p + len };
		p += len;
	}
	return true;
}

bool decoder_start(struct decoder *d, const struct block_header *h, const uint8_t *raw)
{
	if (!split(d, h, raw))
		return false;
	for (uint32_t i = 0; i < d->nr_shapes; i++) {
		const uint8_t *s = raw + EVENTS_HEADER_LEN + i * SHAPE_LEN;

		d->shapes[i] = (struct decode_shape){
			.kind = s[0],
			.flags = s[1],
			.layout = s[2],
			.is_known = s[0] < EV_MAX && event_descs[s[0]].name != NULL,
		};
	}
	d->i = 0;
	d->nr = h->nr_events;
	d->tick = h->first_tick;
	d->nr_bad = 0;
	memset(d->last, 0xff, sizeof(d->last));
	memset(d->prev_a, 0, sizeof(d->prev_a));
	memset(d->prev_b, 0, sizeof(d->prev_b));
	d->prev_id = d->prev_addr = 0;
	d->tasks.nr = 0;
	return true;
}

/* The rest of the block cannot be understood. */
static bool give_up(struct decoder *d)
{
	d->nr_bad += d->nr - d->i;
	d->i = d->nr;
	return false;
}

static uint32_t take_new_task(struct decoder *d)
{
	struct decode_task t = { .next = DICT_NONE };

	t.id = d->prev_id += unzigzag(cursor_varint(&d->defs));
	t.type = cursor_varint(&d->defs) - 1;
	if (d->defs.bad)
		return DICT_NONE;
	vec_push(&d->tasks, t);
	return d->tasks.nr - 1;
}

static bool take_addr(struct decoder *d, struct decode_task *t)
{
	t->addr = d->prev_addr += unzigzag(cursor_varint(&d->defs));
	t->has_addr = true;
	return !d->defs.bad;
}

static uint32_t take_task(struct decoder *d, unsigned kind)
{
	uint64_t ref = cursor_varint(&d->refs);
	uint32_t last = d->last[kind], cur;

	if (unlikely(d->refs.bad))
		return DICT_NONE;
	if (likely(ref == REF_PREDICTED)) {
		if (last == DICT_NONE)
			return DICT_NONE;
		cur = d->tasks.v[last].next;
		if (unlikely(cur == DICT_NONE))
			return DICT_NONE;
	} else {
		if (ref == REF_NEW)
			cur = take_new_task(d);
		else
			cur = ref - 1 <= d->tasks.nr ? d->tasks.nr - (ref - 1) : DICT_NONE;
		if (cur == DICT_NONE)
			return DICT_NONE;
		if (last != DICT_NONE)
			d->tasks.v[last].next = cur;
	}
	return d->last[kind] = cur;
}

/* Moves to the next event, whose time is needed before the event itself is. */
static inline void step(struct decoder *d)
{
	uint64_t delta;
	uint32_t i = ++d->i;

	if (unlikely(i >= d->nr))
		return;
	delta = d->low[i] | (uint32_t)d->high[i] << 8;
	if (unlikely(d->high[i] == WIDE_HIGH)) {
		delta = cursor_varint(&d->wide) << 8 | d->low[i];
		if (d->wide.bad) {
			give_up(d);
			return;
		}
	}
	if (unlikely(__builtin_add_overflow(d->tick, delta, &d->tick)))
		d->tick = UINT64_MAX;
}

bool decoder_next(struct decoder *d, struct event *ev)
{
	uint8_t op = d->ops[d->i];
	struct decode_shape s;
	uint64_t *prev_b;

	if (unlikely(op >= d->nr_shapes))
		return give_up(d);
	s = d->shapes[op];
	ev->kind = s.kind;
	ev->flags = s.flags;
	ev->type = EVENT_TYPE_NONE;
	ev->task = 0;
	ev->a = 0;
	ev->b = 0;
	prev_b = &d->prev_b[s.kind];
	if (s.layout & LAYOUT_TASK) {
		uint32_t cur = take_task(d, s.kind);
		struct decode_task *t;

		if (unlikely(cur == DICT_NONE))
			return give_up(d);
		t = &d->tasks.v[cur];
		ev->task = t->id;
		ev->type = t->type;
		if ((s.layout & LAYOUT_TASK) == EVENT_TASK_ADDR) {
			if (unlikely(!t->has_addr) && !take_addr(d, t))
				return give_up(d);
			ev->addr = t->addr;
			prev_b = &t->path;
		}
	}
	if (unlikely(s.layout & ~LAYOUT_TASK)) {
		if (s.layout & LAYOUT_A)
			ev->a = d->prev_a[s.kind] += unzigzag(cursor_varint(&d->args));
		if (s.layout & LAYOUT_B)
			ev->b = *prev_b += unzigzag(cursor_varint(&d->args));
		if (d->args.bad || s.layout & ~LAYOUT_KNOWN)
			return give_up(d);
	}
	step(d);
	d->nr_bad += !s.is_known;
	return s.is_known;
}

void decoder_release(struct decoder *d)
{
	vec_release(&d->tasks);
}

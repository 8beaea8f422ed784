// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * All events of a trace in order of time. Each thread with events is a *stream* of blocks; a heap
 * holds the streams by the tick of their next event. A stream has a decoded block (a *page*) only
 * while time is inside that block, so memory goes with the threads that are busy at once, not with
 * the length of the trace.
 */
#include "trace/reader.h"

#include "trace/decode.h"
#include "trace/load.h"
#include "trace/timeline.h"

#define BATCH 1024 /* events a call: 40 KiB, small enough to stay in the caches */

struct page {
	struct page *next_free;
	uint8_t *raw;
	size_t cap;
	struct decoder dec;
};

struct stream {
	uint64_t tick; /* of its next event */
	uint32_t thread;
	uint32_t block, end; /* next block, and that behind its last: indices into load.blocks */
	struct page *page;   /* or NULL: time has not reached the block */
};

struct trace {
	struct load load;
	struct timeline timeline;
	uint64_t nr_events, duration_ns;
	struct trace_damage damage; /* load's, and what reading has met so far */
	VEC(struct stream) streams;
	struct stream **heap; /* room for all streams */
	size_t nr_heap;
	struct page *free_pages;
	struct event batch[BATCH];
};

static bool is_before(const struct stream *a, const struct stream *b)
{
	return a->tick != b->tick ? a->tick < b->tick : a->thread < b->thread;
}

static void sift_down(struct trace *t, size_t i)
{
	struct stream *s = t->heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= t->nr_heap)
			break;
		if (child + 1 < t->nr_heap && is_before(t->heap[child + 1], t->heap[child]))
			child++;
		if (!is_before(t->heap[child], s))
			break;
		t->heap[i] = t->heap[child];
		i = child;
	}
	t->heap[i] = s;
}

static struct page *take_page(struct trace *t, size_t len)
{
	struct page *p = t->free_pages;

	if (p)
		t->free_pages = p->next_free;
	else
		p = xcalloc(1, sizeof(*p));
	if (p->cap < len) {
		free(p->raw);
		p->cap = ROUND_UP(len, 4096);
		p->raw = xmalloc(p->cap);
	}
	return p;
}

/* Puts the page away and looks forward to the stream's next block, if there is one. */
static void leave_block(struct trace *t, struct stream *s)
{
	if (s->page) {
		t->damage.bad_events += s->page->dec.nr_bad;
		s->page->next_free = t->free_pages;
		t->free_pages = s->page;
		s->page = NULL;
	}
	/* Blocks of one stream follow each other in time; where they do not, order wins. */
	if (++s->block < s->end)
		s->tick = MAX(s->tick, t->load.blocks.v[s->block].header.first_tick);
}

static bool enter_block(struct trace *t, struct stream *s)
{
	const struct load_block *b = &t->load.blocks.v[s->block];
	struct page *p = take_page(t, b->header.raw_len);

	p->dec.nr_bad = 0;
	s->page = p;
	if (load_payload(&t->load, &b->header, b->off, p->raw) &&
	    decoder_start(&p->dec, &b->header, p->raw))
		return true;
	t->damage.bad_blocks++;
	t->damage.bad_events += b->header.nr_events;
	leave_block(t, s);
	return false;
}

/* The stream that comes second in time; NULL when the first is alone. */
static const struct stream *runner_up(const struct trace *t)
{
	if (t->nr_heap < 2)
		return NULL;
	if (t->nr_heap > 2 && is_before(t->heap[2], t->heap[1]))
		return t->heap[2];
	return t->heap[1];
}

/* Takes events of s until another stream's turn, the block's end, or a full batch. */
static size_t take_run(struct trace *t, struct stream *s, const struct stream *other, size_t n)
{
	struct decoder *d = &s->page->dec;

	do {
		struct event *ev = &t->batch[n];

		ev->thread = s->thread;
		if (likely(decoder_next(d, ev))) {
			ev->time = timeline_ns(&t->timeline, s->tick);
			n++;
		}
		s->tick = MAX(s->tick, d->tick);
	} while (d->i < d->nr && n < BATCH && (!other || is_before(s, other)));
	if (d->i >= d->nr)
		leave_block(t, s);
	return n;
}

size_t trace_read(struct trace *t, const struct event **evs)
{
	size_t n = 0;

	*evs = t->batch;
	while (n < BATCH && t->nr_heap) {
		struct stream *s = t->heap[0];

		if (s->page || enter_block(t, s))
			n = take_run(t, s, runner_up(t), n);
		if (s->block >= s->end)
			t->heap[0] = t->heap[--t->nr_heap];
		if (t->nr_heap)
			sift_down(t, 0);
	}
	return n;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct load_block *x = a, *y = b;

	if (x->header.thread != y->header.thread)
		return x->header.thread < y->header.thread ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

/* Blocks by thread; those of one thread stay in the order of the file. */
static void make_streams(struct trace *t)
{
	uint64_t last_tick = 0;

	if (t->load.blocks.nr)
		qsort(t->load.blocks.v, t->load.blocks.nr, sizeof(*t->load.blocks.v),
		      compare_blocks);
	for (uint32_t i = 0; i < t->load.blocks.nr; i++) {
		const struct block_header *h = &t->load.blocks.v[i].header;

		if (!i || h->thread != t->load.blocks.v[i - 1].header.thread)
			vec_push(&t->streams, (struct stream){ .thread = h->thread });
		t->nr_events += h->nr_events;
		last_tick = MAX(last_tick, h->last_tick);
	}
	if (t->load.has_end)
		last_tick = MAX(last_tick, t->load.end.ticks - t->load.meta.base_ticks);
	t->duration_ns = timeline_ns(&t->timeline, last_tick);
	t->heap = xcalloc(t->streams.nr + 1, sizeof(struct stream *));
}

void trace_rewind(struct trace *t)
{
	const struct load_block *b = t->load.blocks.v;
	uint32_t at = 0;

	t->nr_heap = 0;
	vec_each (s, &t->streams) {
		if (s->page) {
			s->page->next_free = t->free_pages;
			t->free_pages = s->page;
		}
		*s = (struct stream){ .thread = s->thread, .block = at };
		s->tick = b[at].header.first_tick;
		while (at < t->load.blocks.nr && b[at].header.thread == s->thread)
			at++;
		s->end = at;
		t->heap[t->nr_heap++] = s;
	}
	for (size_t i = t->nr_heap / 2; i-- > 0;)
		sift_down(t, i);
	t->damage = t->load.damage;
}

struct trace *trace_open(const char *path, struct err *e)
{
	struct trace *t = xcalloc(1, sizeof(*t));

	if (load_open(&t->load, path, e) < 0) {
		load_release(&t->load);
		free(t);
		return NULL;
	}
	timeline_init(&t->timeline, t->load.anchors.v, t->load.anchors.nr, t->load.meta.base_ticks);
	vec_each (u, &t->load.cpu)
		u->time = timeline_ns(&t->timeline, u->time);
	vec_each (s, &t->load.stands)
		s->time = timeline_ns(&t->timeline, s->time);
	make_streams(t);
	trace_rewind(t);
	return t;
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	trace_rewind(t); /* all pages become free ones */
	while (t->free_pages) {
		struct page *p = t->free_pages;

		t->free_pages = p->next_free;
		decoder_release(&p->dec);
		free(p->raw);
		free(p);
	}
	vec_release(&t->streams);
	free(t->heap);
	timeline_release(&t->timeline);
	load_release(&t->load);
	free(t);
}

const struct trace_meta *trace_get_meta(const struct trace *t)
{
	return &t->load.meta;
}

const struct trace_end *trace_get_end(const struct trace *t)
{
	return &t->load.end;
}

const struct trace_damage *trace_get_damage(const struct trace *t)
{
	return &t->damage;
}

#define GETTER(what, type)                                                       \
	const struct type *trace_get_##what(const struct trace *t, uint32_t *nr) \
	{                                                                        \
		*nr = t->load.what.nr;                                           \
		return t->load.what.v;                                           \
	}
GETTER(objects, trace_object)
GETTER(runtimes, trace_runtime)
GETTER(types, trace_type)
GETTER(threads, trace_thread)
GETTER(anchors, clock_anchor)
GETTER(cpu, trace_cpu)
GETTER(stands, trace_stand)

/* An anchor further than that from time 0, in ticks, is damage. */
#define MAX_TICKS ((__int128)1 << 62)

/* By the first anchor, which stands near time 0, and the rate between it and the last. */
struct clock_anchor trace_get_zero(const struct trace *t)
{
	struct clock_anchor zero = { .ticks = t->load.meta.base_ticks };
	const struct clock_anchor *a, *z;
	__int128 ns;

	if (!t->load.anchors.nr)
		return zero;
	a = &t->load.anchors.v[0];
	z = &t->load.anchors.v[t->load.anchors.nr - 1];
	ns = (__int128)zero.ticks - a->ticks;
	if (ns > MAX_TICKS || ns < -MAX_TICKS)
		return zero;
	if (z->ticks > a->ticks && z->mono_ns > a->mono_ns)
		ns = ns * (z->mono_ns - a->mono_ns) / (z->ticks - a->ticks);
	zero.mono_ns = a->mono_ns + (int64_t)ns;
	zero.boot_ns = a->boot_ns + (int64_t)ns;
	zero.real_ns = a->real_ns + (int64_t)ns;
	return zero;
}
GETTER(stacks, trace_stack)
GETTER(instances, trace_instance)
GETTER(steps, trace_step)
GETTER(paths, trace_path)
GETTER(futures, trace_future)

const char *trace_get_string(const struct trace *t, uint64_t number)
{
	const char *s = number < t->load.strings.nr ? t->load.strings.v[number] : NULL;

	return s ? s : "";
}

uint64_t trace_get_size(const struct trace *t)
{
	return t->load.size;
}

uint64_t trace_get_duration(const struct trace *t)
{
	return t->duration_ns;
}

uint64_t trace_get_nr_events(const struct trace *t)
{
	return t->nr_events;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * All events of a trace in order of time. Each thread with events is a *stream* of blocks; a heap
 * holds the streams by the tick of their next event. A stream has a decoded block (a *page*) only
 * while time is inside that block, so memory goes with the threads that are busy at once, not with
 * the length of the trace.
 */
#include "trace/reader.h"

#include <string.h>

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
	uint32_t block; /* the next one */
	VEC(struct load_block) blocks;
	struct page *page; /* or NULL: time has not reached the block */
	bool is_queued;	   /* in the heap: it has a next event */
};

struct trace {
	struct trace_sink sink; /* of what is fed by a writer */
	struct load load;
	struct timeline timeline;
	size_t nr_anchors; /* in the timeline */
	uint64_t nr_events, last_tick, duration_ns;
	struct trace_damage damage;	 /* all of it: what scanning has met … */
	struct trace_damage read_damage; /* … and what reading has */
	bool is_growing;		 /* more may come; blocks are forgotten once read */
	uint64_t mark;	  /* while it grows: events of earlier ticks may be read, others wait */
	uint64_t nr_late; /* events that came when their mark had passed */
	/* Stands in the heap before all that has to wait. */
	struct stream limit;
	VEC(struct stream *) streams;
	VEC(struct stream *) stream_of; /* by thread; NULL: it has none */
	VEC(struct stream *) heap;
	struct page *free_pages;
	struct event batch[BATCH];
};

static bool is_before(const struct stream *a, const struct stream *b)
{
	return a->tick != b->tick ? a->tick < b->tick : a->thread < b->thread;
}

static void sift_down(struct trace *t, size_t i)
{
	struct stream *s = t->heap.v[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= t->heap.nr)
			break;
		if (child + 1 < t->heap.nr && is_before(t->heap.v[child + 1], t->heap.v[child]))
			child++;
		if (!is_before(t->heap.v[child], s))
			break;
		t->heap.v[i] = t->heap.v[child];
		i = child;
	}
	t->heap.v[i] = s;
}

static void enqueue(struct trace *t, struct stream *s)
{
	size_t i = t->heap.nr;

	vec_push(&t->heap, s);
	s->is_queued = true;
	for (; i && is_before(s, t->heap.v[(i - 1) / 2]); i = (i - 1) / 2)
		t->heap.v[i] = t->heap.v[(i - 1) / 2];
	t->heap.v[i] = s;
}

static void dequeue_first(struct trace *t)
{
	t->heap.v[0]->is_queued = false;
	t->heap.v[0] = t->heap.v[--t->heap.nr];
	if (t->heap.nr)
		sift_down(t, 0);
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

static void give_page(struct trace *t, struct stream *s)
{
	if (!s->page)
		return;
	s->page->next_free = t->free_pages;
	t->free_pages = s->page;
	s->page = NULL;
}

/* The damage found by the scan, and that found in the content of blocks. */
static void sum_damage(struct trace *t)
{
	t->damage = t->load.damage;
	t->damage.bad_blocks += t->read_damage.bad_blocks;
	t->damage.bad_events += t->read_damage.bad_events;
}

/* Those that were read, now and then: what is left moves. */
static void forget_blocks(struct stream *s)
{
	enum { MANY = 16 };

	if (s->block < s->blocks.nr && (s->block < MANY || 2 * s->block < s->blocks.nr))
		return;
	s->blocks.nr -= s->block;
	memmove(s->blocks.v, s->blocks.v + s->block, s->blocks.nr * sizeof(*s->blocks.v));
	s->block = 0;
}

/* Puts the page away and looks forward to the stream's next block, if there is one. */
static void leave_block(struct trace *t, struct stream *s)
{
	struct load_block *b = &s->blocks.v[s->block++];

	give_page(t, s);
	free(b->stored);
	b->stored = NULL;
	if (t->is_growing)
		forget_blocks(s);
	/* Blocks of one stream follow each other in time; where they do not, order wins. */
	if (s->block < s->blocks.nr)
		s->tick = MAX(s->tick, s->blocks.v[s->block].header.first_tick);
}

static bool enter_block(struct trace *t, struct stream *s)
{
	const struct load_block *b = &s->blocks.v[s->block];
	struct page *p = take_page(t, b->header.raw_len);

	p->dec.nr_bad = 0;
	s->page = p;
	if (load_payload(&t->load, b, p->raw) && decoder_start(&p->dec, &b->header, p->raw))
		return true;
	t->read_damage.bad_blocks++;
	t->read_damage.bad_events += b->header.nr_events;
	sum_damage(t);
	leave_block(t, s);
	return false;
}

/* The stream that comes second in time; NULL when the first is alone. */
static const struct stream *runner_up(const struct trace *t)
{
	if (t->heap.nr < 2)
		return NULL;
	if (t->heap.nr > 2 && is_before(t->heap.v[2], t->heap.v[1]))
		return t->heap.v[2];
	return t->heap.v[1];
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
	if (d->i >= d->nr) {
		t->read_damage.bad_events += d->nr_bad;
		if (d->nr_bad)
			sum_damage(t);
		leave_block(t, s);
	}
	return n;
}

size_t trace_read(struct trace *t, const struct event **evs)
{
	size_t n = 0;

	*evs = t->batch;
	while (n < BATCH && t->heap.nr) {
		struct stream *s = t->heap.v[0];

		if (unlikely(s == &t->limit))
			break;
		if (s->page || enter_block(t, s))
			n = take_run(t, s, runner_up(t), n);
		if (s->block >= s->blocks.nr)
			dequeue_first(t);
		else
			sift_down(t, 0);
	}
	return n;
}

/* ---- what has come ---- */

static struct stream *stream_of(struct trace *t, uint32_t thread)
{
	struct stream *s;

	while (t->stream_of.nr <= thread)
		vec_push(&t->stream_of, NULL);
	s = t->stream_of.v[thread];
	if (s)
		return s;
	s = t->stream_of.v[thread] = xcalloc(1, sizeof(*s));
	s->thread = thread;
	vec_push(&t->streams, s);
	return s;
}

/* Its stream's later ones stay behind it, in the order of the file. */
static void add_block(struct trace *t, const struct load_block *b)
{
	const struct block_header *h = &b->header;
	struct stream *s = stream_of(t, h->thread);

	t->nr_events += h->nr_events;
	t->last_tick = MAX(t->last_tick, h->last_tick);
	vec_push(&s->blocks, *b);
	if (s->is_queued)
		return;
	s->tick = MAX(s->tick, h->first_tick);
	/* too late for its place: time does not run backwards */
	s->tick = MAX(s->tick, t->mark);
	enqueue(t, s);
}

static void count_late(struct trace *t, const struct block_header *h)
{
	if (h->first_tick < t->mark)
		t->nr_late += h->nr_events;
}

/* The blocks that the scan found, and up to where all have come. */
static void take_found(struct trace *t)
{
	struct load *l = &t->load;

	vec_each (b, &l->blocks) {
		count_late(t, &b->header);
		add_block(t, b);
	}
	l->blocks.nr = 0;
	for (; t->nr_anchors < l->anchors.nr; t->nr_anchors++)
		timeline_add(&t->timeline, &l->anchors.v[t->nr_anchors], l->meta.base_ticks);
	if (l->has_end)
		t->last_tick = MAX(t->last_tick, l->end.ticks - l->meta.base_ticks);
	t->duration_ns = timeline_ns(&t->timeline, t->last_tick);
	sum_damage(t);
}

/* Events wait for the mark before which all have come, and whose time no anchor will change. */
static void raise_limit(struct trace *t)
{
	uint64_t mark = MIN(t->load.mark, timeline_settled(&t->timeline));

	if (mark <= t->mark)
		return;
	t->mark = mark;
	t->limit.tick = mark - 1;
	for (size_t i = 0; i < t->heap.nr; i++)
		if (t->heap.v[i] == &t->limit)
			return sift_down(t, i);
}

/* Nothing has to wait any longer. */
static void finish(struct trace *t)
{
	struct load *l = &t->load;

	load_finish_defs(l);
	vec_each (u, &l->cpu)
		u->time = timeline_ns(&t->timeline, u->time);
	vec_each (s, &l->stands)
		s->time = timeline_ns(&t->timeline, s->time);
	if (!t->is_growing)
		return;
	t->is_growing = false;
	t->mark = 0;
	for (size_t i = t->heap.nr; i-- > 0;)
		if (t->heap.v[i] == &t->limit)
			t->heap.v[i] = t->heap.v[--t->heap.nr];
	for (size_t i = t->heap.nr / 2; i-- > 0;)
		sift_down(t, i);
}

static void release_streams(struct trace *t)
{
	vec_each (s, &t->streams) {
		give_page(t, *s);
		vec_each (b, &(*s)->blocks)
			free(b->stored);
		vec_release(&(*s)->blocks);
		free(*s);
	}
	vec_release(&t->streams);
	vec_release(&t->stream_of);
	vec_release(&t->heap);
	timeline_release(&t->timeline);
}

static struct trace *new_trace(bool is_growing)
{
	struct trace *t = xcalloc(1, sizeof(*t));

	t->is_growing = is_growing;
	t->limit = (struct stream){ .thread = UINT32_MAX };
	if (is_growing)
		enqueue(t, &t->limit);
	return t;
}

/* The file was begun anew: all that was read of it is of no use. */
static int restart(struct trace *t, struct err *e)
{
	release_streams(t);
	t->timeline = (struct timeline){ 0 };
	t->nr_anchors = 0;
	t->nr_events = t->last_tick = t->mark = 0;
	t->read_damage = (struct trace_damage){ 0 };
	t->limit.tick = 0;
	enqueue(t, &t->limit);
	return load_restart(&t->load, e);
}

static int scan(struct trace *t, struct err *e)
{
	bool is_final = t->load.source.is_final;

	if (load_scan(&t->load, e) < 0)
		return -1;
	take_found(t);
	if (is_final)
		finish(t);
	else
		raise_limit(t);
	return 0;
}

/* Reads the bytes that have come. A file with an end block does not grow, even if a writer has it
 * open. */
static int look(struct trace *t, struct err *e)
{
	struct source *s = &t->load.source;

	if (!source_grow(s)) {
		if (restart(t, e) < 0)
			return -1;
		s->nr_head = 0;
		source_grow(s);
	}
	if (scan(t, e) < 0)
		return -1;
	if (s->kind != SOURCE_FILE || s->is_final || !t->load.has_end)
		return 0;
	s->is_final = true;
	source_grow(s);
	return scan(t, e);
}

static struct trace *open_trace(const char *path, bool is_growing, struct err *e)
{
	struct trace *t = new_trace(is_growing);

	if (load_open(&t->load, path, is_growing, e) == 0 && look(t, e) == 0)
		return t;
	trace_close(t);
	return NULL;
}

struct trace *trace_open(const char *path, struct err *e)
{
	return open_trace(path, false, e);
}

struct trace *trace_follow(const char *path, struct err *e)
{
	return open_trace(path, true, e);
}

struct trace *trace_new(struct err *e)
{
	struct trace *t = new_trace(true);

	if (load_open_fed(&t->load, e) == 0)
		return t;
	trace_close(t);
	return NULL;
}

int trace_feed(struct trace *t, const void *bytes, size_t len, struct err *e)
{
	source_feed(&t->load.source, bytes, len);
	return scan(t, e);
}

int trace_feed_end(struct trace *t, struct err *e)
{
	t->load.source.is_final = true;
	return t->is_growing ? scan(t, e) : 0;
}

static int write_to_trace(struct trace_sink *s, const void *bytes, size_t len, struct err *e)
{
	return trace_feed((struct trace *)s, bytes, len, e);
}

static int end_trace(struct trace_sink *s, struct err *e)
{
	return trace_feed_end((struct trace *)s, e);
}

struct trace_sink *trace_get_sink(struct trace *t)
{
	t->sink = (struct trace_sink){ .write = write_to_trace, .close = end_trace };
	return &t->sink;
}

bool trace_is_over(const struct trace *t)
{
	return !t->is_growing;
}

int trace_wait(struct trace *t, int timeout_ms, struct err *e)
{
	if (!t->is_growing)
		return 0;
	source_wait(&t->load.source, timeout_ms);
	return look(t, e);
}

uint64_t trace_get_nr_late(const struct trace *t)
{
	return t->nr_late;
}

void trace_rewind(struct trace *t)
{
	t->heap.nr = 0;
	vec_each (p, &t->streams) {
		struct stream *s = *p;

		give_page(t, s);
		s->block = 0;
		if (!s->blocks.nr)
			continue;
		s->tick = s->blocks.v[0].header.first_tick;
		enqueue(t, s);
	}
	t->read_damage = (struct trace_damage){ 0 };
	sum_damage(t);
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	release_streams(t); /* all pages become free ones */
	while (t->free_pages) {
		struct page *p = t->free_pages;

		t->free_pages = p->next_free;
		decoder_release(&p->dec);
		free(p->raw);
		free(p);
	}
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
	return t->load.source.size;
}

uint64_t trace_get_duration(const struct trace *t)
{
	return t->duration_ns;
}

uint64_t trace_get_nr_events(const struct trace *t)
{
	return t->nr_events;
}

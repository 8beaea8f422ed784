// SPDX-License-Identifier: MIT OR Apache-2.0
#include "fake.h"

#include "base/intern.h"
#include "future/reading.h"
#include "runtime/task.h"
#include "symbol/reader.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the trace file ---- */

struct fake_file fake_file;

struct trace_stream {
	uint32_t tid;
	struct trace_stream *next, **at; /* among the open ones */
};

struct trace_writer {
	int fd;
};

static struct trace_stream *streams;

void fake_file_reset(void)
{
	vec_release(&fake_file.events);
	vec_release(&fake_file.types);
	vec_release(&fake_file.runtimes);
	vec_release(&fake_file.instances);
	vec_release(&fake_file.futures);
	vec_release(&fake_file.objects);
	fake_file = (struct fake_file){ 0 };
}

struct trace_writer *trace_writer_new(int fd, const struct trace_meta *meta)
{
	struct trace_writer *w = xcalloc(1, sizeof(*w));

	assert_non_null(meta->exe);
	w->fd = fd;
	/* the first bytes of a file are of no process yet */
	fake_file.nr_writers += meta->pid != 0;
	assert_true(meta->pid ? write(fd, "trace", 5) == 5 : write(fd, "cut", 3) == 3);
	return w;
}

uint32_t trace_writer_object(struct trace_writer *w, const struct trace_object *o)
{
	vec_push(&fake_file.objects, *o);
	return fake_file.objects.nr - 1;
}

uint32_t trace_writer_runtime(struct trace_writer *w, const struct trace_runtime *r)
{
	vec_push(&fake_file.runtimes, *r);
	return fake_file.runtimes.nr - 1;
}

uint32_t trace_writer_type(struct trace_writer *w, const struct trace_type *t)
{
	vec_push(&fake_file.types, *t);
	return fake_file.types.nr - 1;
}

uint32_t trace_writer_step(struct trace_writer *w, const struct trace_step *s)
{
	return 0;
}

void trace_writer_path(struct trace_writer *w, uint32_t number, const struct trace_path *p)
{
}

void trace_writer_stack(struct trace_writer *w, uint32_t number, const struct trace_stack *s)
{
}

void trace_writer_instance(struct trace_writer *w, uint32_t number, const struct trace_instance *i)
{
	vec_push(&fake_file.instances, *i);
}

/* Its length tells which it was. */
uint32_t trace_writer_string(struct trace_writer *w, const char *s, size_t len)
{
	return strnlen(s, len);
}

uint32_t trace_writer_future(struct trace_writer *w, const struct trace_future *f)
{
	vec_push(&fake_file.futures, *f);
	return fake_file.futures.nr - 1;
}

void trace_writer_anchor(struct trace_writer *w, const struct clock_anchor *a)
{
	fake_file.nr_anchors++;
}

struct trace_stream *trace_writer_thread(struct trace_writer *w, uint32_t tid)
{
	struct trace_stream *s = xcalloc(1, sizeof(*s));

	s->tid = tid;
	s->next = streams;
	s->at = &streams;
	if (streams)
		streams->at = &s->next;
	streams = s;
	fake_file.nr_threads++;
	fake_file.nr_open_streams++;
	return s;
}

void trace_stream_put(struct trace_stream *s, const struct event *ev)
{
	vec_push(&fake_file.events, (struct fake_event){ s->tid, *ev });
}

void trace_stream_put_all(struct trace_stream *s, const struct event *ev, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		trace_stream_put(s, &ev[i]);
}

void trace_stream_cpu(struct trace_stream *s, const struct trace_cpu *u)
{
	fake_file.nr_counts++;
}

void trace_writer_stand(struct trace_writer *w, const struct trace_stand *s)
{
}

void trace_stream_close(struct trace_stream *s)
{
	fake_file.nr_open_streams--;
	*s->at = s->next;
	if (s->next)
		s->next->at = s->at;
	free(s);
}

void trace_writer_flush(struct trace_writer *w)
{
}

void trace_writer_mark(struct trace_writer *w, const struct clock_anchor *a)
{
	fake_file.nr_anchors++;
}

void trace_writer_set_prepare(struct trace_writer *w, void (*prepare)(void *arg), void *arg)
{
}

uint64_t trace_writer_bytes(const struct trace_writer *w)
{
	return fake_file.events.nr * fake_file.bytes_per_event;
}

const struct err *trace_writer_error(const struct trace_writer *w)
{
	return fake_file.error.tag == ERR_NONE ? NULL : &fake_file.error;
}

int trace_writer_close(struct trace_writer *w, const struct trace_end *end, struct err *e)
{
	fake_file.is_closed = true;
	fake_file.has_end = end != NULL;
	if (end)
		fake_file.end = *end;
	while (streams)
		trace_stream_close(streams);
	close(w->fd);
	free(w);
	return 0;
}

/* ---- discovery ---- */

struct discovery *fake_discovery;
unsigned fake_nr_discovered;

struct discovery *discover_file(const char *path, const char *shown_path,
				const struct discover_opts *opts, struct err *e)
{
	return NULL;
}

enum worker_end reader_run(const struct reader *r, struct strbuf *answer, char why[WORKER_WHY],
			   int *signal_number)
{
	r->run(r->arg, answer);
	return WORKER_DONE;
}

void reading_make(const char *path, const char *shown_path, const struct reading_opts *o,
		  struct strbuf *answer)
{
	fake_nr_discovered++;
	strbuf_addstr(answer, shown_path);
}

char *reading_wanted(const struct strbuf *answer)
{
	return NULL;
}

struct reading *reading_unpack(struct strbuf *data, struct err *e)
{
	struct reading *r = fake_discovery ? xcalloc(1, sizeof(*r)) : NULL;

	if (!r) {
		err_set(e, ERR_NOT_ELF, "%s is no ELF file", data->s);
		return NULL;
	}
	r->d = fake_discovery;
	r->strings = intern_new();
	return r;
}

void reading_free(struct reading *r)
{
	if (r)
		intern_free(r->strings);
	free(r);
}

char *reading_key(const struct fingerprint *f, const struct reading_opts *o)
{
	return NULL;
}

bool reading_is_fresh(const struct reading *r)
{
	return true;
}

void discovery_free(struct discovery *d)
{
}

static bool no_place(struct layouts *l, const struct found_table *t, struct task_place *place)
{
	return false;
}

static const struct task_shape shape = { .locate = no_place };

const struct task_shape *task_shape(const struct discovery *d, const struct found_table *t)
{
	return &shape;
}

const struct task_shape *task_shape_of(const struct found_runtime *r)
{
	return &shape;
}

void fake_discovery_init(struct discovery *d, struct found_runtime *runtime,
			 struct found_table *tables, uint32_t nr_tables)
{
	*runtime = (struct found_runtime){ .name = "tokio", .version = "1.54.1", .note = "" };
	for (uint32_t i = 0; i < nr_tables; i++)
		tables[i] = (struct found_table){
			.plan = { .va = 0x1000 + i * 80, .nr_words = 10, .kind = WIRE_TABLE_TOKIO },
			.name = "app::task",
			.scheduler = "multi_thread",
			.file = "",
			.nr_candidates = 1,
		};
	*d = (struct discovery){ .path = "x",
				 .build_id = "",
				 .rung_note = "",
				 .debug_path = "",
				 .runtimes = runtime,
				 .tables = tables,
				 .nr_runtimes = 1,
				 .nr_tables = nr_tables };
}

/* ---- the agent ---- */

void fake_agent_init(struct fake_agent *a, struct lobby *l, uint32_t pid)
{
	*a = (struct fake_agent){ .lobby = l };
	while (l->page->doors[a->door].state != WIRE_DOOR_FREE)
		a->door++;
	l->page->doors[a->door] = (struct wire_door){ WIRE_DOOR_TAKEN, pid };
	a->region =
		mmap(NULL, l->page->region_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		     l->fd, l->page->region_off + a->door * l->page->region_size);
	assert_ptr_not_equal(a->region, MAP_FAILED);
	a->region->pid = pid;
	a->region->state = WIRE_REGION_LIVE;
}

void fake_agent_release(struct fake_agent *a)
{
	munmap(a->region, a->lobby->page->region_size);
}

struct wire_thread *fake_thread(struct fake_agent *a, uint32_t slot, uint32_t tid)
{
	struct wire_thread *t = &a->region->threads[slot];

	assert_int_equal(t->key, 0);
	t->key = 0x7f0000001000 + slot * 0x1000;
	t->tid = tid;
	t->big = 0;
	t->head = t->tail = t->segment_end = t->bias = t->ring_from = 0;
	memset(t->lost, 0, sizeof(t->lost));
	t->life++;
	t->state = WIRE_THREAD_LIVE;
	a->region->slots_used[slot / 64] |= UINT64_C(1) << slot % 64;
	return t;
}

void fake_thread_ends(struct wire_thread *t)
{
	t->state = WIRE_THREAD_DEAD;
	t->key = WIRE_KEY_DEAD;
}

static uint64_t *ring_of(struct fake_agent *a, struct wire_thread *t)
{
	return (uint64_t *)((char *)a->region +
			    wire_ring_off(a->lobby->page, t - a->region->threads, t->big));
}

static uint64_t ring_words(const struct fake_agent *a, const struct wire_thread *t)
{
	return t->big ? a->lobby->page->ring_words : a->lobby->page->small_words;
}

static uint64_t segment_words(const struct fake_agent *a, const struct wire_thread *t)
{
	return ring_words(a, t) < 64 * 64 ? 64 : ring_words(a, t) / 64;
}

/* Which segment that word of the count is in. */
static uint8_t *order_of(struct wire_thread *t, uint64_t size, uint64_t count)
{
	return &t->order[t->big != 0][(count - t->ring_from) / size % WIRE_MAX_SEGMENTS];
}

static bool is_in_use(struct wire_thread *t, uint64_t size, uint64_t nr)
{
	uint64_t tail = __atomic_load_n(&t->tail, __ATOMIC_ACQUIRE);

	for (uint64_t at = MAX(tail, t->ring_from); at < t->segment_end; at += size)
		if (*order_of(t, size, at) == nr)
			return true;
	return false;
}

/* Threads in odd slots take a large ring when the small one is full. */
static bool grow(struct fake_agent *a, struct wire_thread *t)
{
	uint32_t slot = t - a->region->threads;

	if (t->big || slot % 2 == 0)
		return false;
	t->ring_from = t->segment_end;
	__atomic_store_n(&t->big, 1 + slot % 8, __ATOMIC_RELEASE);
	return true;
}

/* Begins another segment, taken in no sensible order: the reader must go by what it is told. */
static bool next_segment(struct fake_agent *a, struct wire_thread *t)
{
	uint64_t size = segment_words(a, t), nr_segments = ring_words(a, t) / size;

	if (t->head < t->segment_end)
		ring_of(a, t)[t->head + t->bias] = 0;
	for (uint64_t i = 0; i < nr_segments; i++) {
		uint64_t nr = (t->segment_end / size * 5 + i) % nr_segments;

		if (is_in_use(t, size, nr))
			continue;
		if (!(t->touched[t->big != 0] >> nr & 1)) {
			__atomic_fetch_add(&a->lobby->page->rings.used, size * 8, __ATOMIC_RELAXED);
			__atomic_fetch_or(&t->touched[t->big != 0], UINT64_C(1) << nr,
					  __ATOMIC_RELAXED);
		}
		*order_of(t, size, t->segment_end) = nr;
		t->bias = nr * size - t->segment_end; /* here an index, as nobody else looks */
		__atomic_store_n(&t->head, t->segment_end, __ATOMIC_RELEASE);
		t->segment_end += size;
		return true;
	}
	return grow(a, t) && next_segment(a, t);
}

bool fake_words(struct fake_agent *a, struct wire_thread *t, const uint64_t *words, size_t nr)
{
	if (t->head + nr > t->segment_end && !next_segment(a, t))
		return false;
	for (size_t i = 0; i < nr; i++)
		ring_of(a, t)[t->head + i + t->bias] = words[i];
	__atomic_store_n(&t->head, t->head + nr, __ATOMIC_RELEASE);
	return true;
}

bool fake_put(struct fake_agent *a, struct wire_thread *t, const struct event *ev)
{
	uint64_t words[5] = { EVENT_WORD0(ev->kind, ev->flags, ev->time) };
	size_t nr = 1;

	/* By hand, not from event.def: the decoder shall not check itself. */
	switch (ev->kind) {
	case EV_RUN_START:
		words[nr++] = EVENT_WORD1(ev->task, ev->type);
		words[nr++] = ev->addr;
		break;
	case EV_WAKE:
		words[nr++] = EVENT_WORD1(ev->task, ev->type);
		break;
	case EV_THREAD_START:
		words[nr++] = ev->a;
		break;
	case EV_SPAWN:
	case EV_THREAD_NAME:
	case EV_LOST:
		words[nr++] = ev->a;
		words[nr++] = ev->b;
		break;
	}
	if (fake_words(a, t, words, nr))
		return true;
	t->lost[ev->kind]++;
	return false;
}

void fake_announce(struct fake_agent *a, const char *path, uint64_t base)
{
	struct wire_object *o = &a->region->objects[a->region->nr_objects];

	o->base = base;
	strncpy(o->path, path, sizeof(o->path) - 1);
	o->state = WIRE_OBJECT_ANNOUNCED;
	__atomic_store_n(&a->region->nr_objects, a->region->nr_objects + 1, __ATOMIC_RELEASE);
}

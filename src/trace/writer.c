// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Writes a trace file: collects definitions, fills one block of events per thread, compresses full
 * blocks and writes them, several with one write where several are complete. Pending definitions
 * always go out before the next block of events, so nothing in the file refers to what is not yet
 * there.
 */
#include "trace/writer.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <zstd.h>

#include "base/intern.h"
#include "base/io.h"
#include "base/vec.h"
#include "trace/encode.h"

/* A fifth to a third smaller than level -5, and fast enough (docs/FORMAT.md, Choices). */
#define ZSTD_LEVEL 1
/* The size of zstd's hash table for events: a table that stays in the nearest cache, and is
 * quickly cleared for a small block, finds nearly all repetitions (docs/FORMAT.md, Choices). */
#define ZSTD_HASH_LOG 10
/*
 * Pending definitions are written when they reach this. One record may be longer, but not by much.
 */
#define DEFS_LEN   (128u << 10)
#define STRING_LEN (64u << 10)
/* Complete blocks are written when they reach this, and by what promises to write. */
#define OUT_LEN	   (256u << 10)
#define BLOCK_ROOM (FILE_HEADER_LEN + BLOCK_HEADER_LEN + ZSTD_compressBound(RAW_LEN_MAX))
/*
 * A stream that had nothing to write for so many flushes gives its memory back: threads may be
 * thousands.
 */
#define IDLE_MAX 16

struct trace_stream {
	struct trace_writer *w;
	uint32_t thread, tid;
	char name[17];
	uint64_t last_tick;
	bool is_ready;	  /* the encoder has its memory */
	unsigned nr_idle; /* flushes with nothing to write, in a row */
	struct encoder enc;
	size_t pos; /* in w->streams */
};

struct trace_writer {
	int fd;			/* -1: no file */
	struct trace_sink *tee; /* or NULL */
	uint64_t base_ticks;
	uint64_t nr_bytes; /* of all complete blocks */
	struct err error;
	ZSTD_CCtx *zstd;
	uint8_t *raw; /* a block before compression */
	uint8_t *out; /* blocks that are not yet written */
	size_t out_len;
	struct strbuf defs; /* records not yet written */
	uint32_t nr_defs;
	struct intern *strings; /* number in the file: that here, plus one */
	uint32_t nr_objects, nr_runtimes, nr_types, nr_threads, nr_steps, nr_futures;
	VEC(struct trace_stream *) streams;
	void (*prepare)(void *arg); /* or NULL */
	void *prepare_arg;
};

static void close_tee(struct trace_writer *w)
{
	if (w->tee)
		w->tee->close(w->tee, NULL);
	w->tee = NULL;
}

static void write_out(struct trace_writer *w)
{
	size_t len = w->out_len;

	w->out_len = 0;
	if (w->error.tag || !len)
		return;
	if (w->fd >= 0 && io_write_all(w->fd, w->out, len) < 0) {
		err_sys(&w->error, "cannot write the trace");
		w->nr_bytes -= len;
	} else if (w->tee && w->tee->write(w->tee, w->out, len, NULL) < 0)
		close_tee(w);
}

/*
 * Compresses raw and appends it as a block. h tells kind, thread, count and ticks. The file's
 * header goes out together with the first block: a file that has one thus has both.
 */
static void add_block(struct trace_writer *w, struct block_header *h, const void *raw, size_t len)
{
	size_t n, lead = w->nr_bytes ? 0 : FILE_HEADER_LEN;
	uint8_t *block = w->out + w->out_len + lead;

	if (w->error.tag)
		return;
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_hashLog,
			       h->kind == BLOCK_EVENTS ? ZSTD_HASH_LOG : 0);
	n = ZSTD_compress2(w->zstd, block + BLOCK_HEADER_LEN, ZSTD_compressBound(RAW_LEN_MAX), raw,
			   len);
	if (ZSTD_isError(n)) {
		err_set(&w->error, ERR_SYS, "cannot compress the trace: %s", ZSTD_getErrorName(n));
		return;
	}
	h->codec = CODEC_ZSTD;
	h->stored_len = n;
	h->raw_len = len;
	if (lead)
		file_header_pack(w->out);
	block_header_pack(h, block);
	w->out_len += lead + BLOCK_HEADER_LEN + n;
	w->nr_bytes += lead + BLOCK_HEADER_LEN + n;
	if (w->out_len >= OUT_LEN)
		write_out(w);
}

static void add_defs(struct trace_writer *w)
{
	struct block_header h = { .kind = BLOCK_DEFS, .nr_events = w->nr_defs };

	if (!w->nr_defs)
		return;
	add_block(w, &h, w->defs.s, w->defs.len);
	strbuf_reset(&w->defs);
	w->nr_defs = 0;
}

static void add_varint(struct strbuf *b, uint64_t v)
{
	uint8_t buf[VARINT_MAX];

	strbuf_add(b, buf, varint_put(buf, v) - buf);
}

static void add_record(struct trace_writer *w, enum def_tag tag, const struct strbuf *body)
{
	if (w->defs.len + body->len > DEFS_LEN)
		add_defs(w);
	add_varint(&w->defs, tag);
	add_varint(&w->defs, body->len);
	strbuf_add(&w->defs, body->s, body->len);
	w->nr_defs++;
}

/* The number of a string in the file; it is defined on first use. */
static uint64_t bytes_number(struct trace_writer *w, const char *s, size_t len)
{
	struct strbuf body = STRBUF_INIT;
	uint32_t before = intern_count(w->strings), number;

	if (!len || before >= STRINGS_MAX - 1)
		return 0;
	number = intern_put(w->strings, s, len);
	if (number == before) {
		add_varint(&body, number + 1);
		strbuf_add(&body, s, len);
		add_record(w, DEF_STRING, &body);
		strbuf_release(&body);
	}
	return (uint64_t)number + 1;
}

static uint64_t string_number(struct trace_writer *w, const char *s)
{
	return bytes_number(w, s, s ? MIN(strlen(s), (size_t)STRING_LEN) : 0);
}

/* Numbers one after another as a record. Strings among them must have been numbered before. */
static void add_numbers(struct trace_writer *w, enum def_tag tag, const uint64_t *v, size_t nr)
{
	struct strbuf body = STRBUF_INIT;

	for (size_t i = 0; i < nr; i++)
		add_varint(&body, v[i]);
	add_record(w, tag, &body);
	strbuf_release(&body);
}

static void add_meta(struct trace_writer *w, const struct trace_meta *m)
{
	uint32_t argc = MIN(m->argc, (uint32_t)ARGS_MAX);
	const uint64_t head[] = {
		string_number(w, m->tool),
		string_number(w, m->exe),
		string_number(w, m->cwd),
		string_number(w, m->os),
		string_number(w, m->cpu),
		string_number(w, m->host),
		m->pid,
		m->uid,
		m->nr_cpus,
		m->parent_pid,
		m->clock,
		m->base_ticks,
		argc,
	};
	uint64_t *v = xmalloc(sizeof(head) + argc * sizeof(*v));

	memcpy(v, head, sizeof(head));
	for (uint32_t i = 0; i < argc; i++)
		v[ARRAY_SIZE(head) + i] = string_number(w, m->argv[i]);
	add_numbers(w, DEF_META, v, ARRAY_SIZE(head) + argc);
	free(v);
}

struct trace_writer *trace_writer_new(int fd, const struct trace_meta *meta)
{
	return trace_writer_new_tee(fd, NULL, meta);
}

struct trace_writer *trace_writer_new_tee(int fd, struct trace_sink *tee,
					  const struct trace_meta *meta)
{
	struct trace_writer *w = xcalloc(1, sizeof(*w));

	w->fd = fd;
	w->tee = tee;
	w->base_ticks = meta->base_ticks;
	w->raw = xmalloc(RAW_LEN_MAX);
	/* Pages that are never reached cost nothing: malloc maps an area of this size. */
	w->out = xmalloc(OUT_LEN + BLOCK_ROOM);
	strbuf_init(&w->defs);
	w->strings = intern_new();
	w->zstd = ZSTD_createCCtx();
	if (w->zstd) {
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
	} else {
		err_set(&w->error, ERR_SYS, "cannot start zstd: out of memory");
	}
	add_meta(w, meta);
	add_defs(w);
	write_out(w);
	return w;
}

void trace_writer_set_prepare(struct trace_writer *w, void (*prepare)(void *arg), void *arg)
{
	w->prepare = prepare;
	w->prepare_arg = arg;
}

uint32_t trace_writer_string(struct trace_writer *w, const char *s, size_t len)
{
	return bytes_number(w, s, strnlen(s, MIN(len, (size_t)STRING_LEN)));
}

uint32_t trace_writer_object(struct trace_writer *w, const struct trace_object *o)
{
	const uint64_t v[] = { w->nr_objects, string_number(w, o->path),
			       string_number(w, o->build_id), o->base };

	add_numbers(w, DEF_OBJECT, v, ARRAY_SIZE(v));
	return w->nr_objects++;
}

uint32_t trace_writer_runtime(struct trace_writer *w, const struct trace_runtime *r)
{
	const uint64_t v[] = { w->nr_runtimes, r->object, string_number(w, r->name),
			       string_number(w, r->version) };

	add_numbers(w, DEF_RUNTIME, v, ARRAY_SIZE(v));
	return w->nr_runtimes++;
}

uint32_t trace_writer_type(struct trace_writer *w, const struct trace_type *t)
{
	const uint64_t v[] = {
		w->nr_types,
		t->runtime,
		t->kind,
		string_number(w, t->name),
		string_number(w, t->scheduler),
		string_number(w, t->file),
		t->line,
		t->nr_candidates,
		t->va,
		t->size_bytes,
		t->has_numbers,
	};

	add_numbers(w, DEF_TYPE, v, ARRAY_SIZE(v));
	return w->nr_types++;
}

void trace_writer_stack(struct trace_writer *w, uint32_t number, const struct trace_stack *s)
{
	const uint64_t v[] = { number,	    string_number(w, s->file),	   s->line, s->is_foreign,
			       s->is_local, string_number(w, s->scheduler) };

	add_numbers(w, DEF_STACK, v, ARRAY_SIZE(v));
}

void trace_writer_instance(struct trace_writer *w, uint32_t number, const struct trace_instance *i)
{
	const uint64_t v[] = { number, i->type, i->owner, i->addr, string_number(w, i->scheduler),
			       i->root };

	add_numbers(w, DEF_INSTANCE, v, ARRAY_SIZE(v));
}

uint32_t trace_writer_step(struct trace_writer *w, const struct trace_step *s)
{
	const uint64_t v[] = {
		w->nr_steps,
		s->outer == TRACE_NO_STEP ? 0 : s->outer + UINT64_C(1),
		s->state,
		s->is_generated,
		string_number(w, s->future),
		string_number(w, s->function),
		string_number(w, s->file),
		s->line,
		s->last_line,
		string_number(w, s->leaf),
		s->is_foreign,
		s->is_borrowed,
	};

	if (w->nr_steps >= STEPS_MAX)
		return TRACE_NO_STEP;
	add_numbers(w, DEF_STEP, v, ARRAY_SIZE(v));
	return w->nr_steps++;
}

void trace_writer_path(struct trace_writer *w, uint32_t number, const struct trace_path *p)
{
	uint32_t nr = MIN(p->nr_steps, (uint32_t)PATH_STEPS_MAX);
	uint64_t *v = xmalloc((nr + 2) * sizeof(*v));

	v[0] = number;
	v[1] = nr;
	for (uint32_t i = 0; i < nr; i++)
		v[i + 2] = p->steps[i];
	add_numbers(w, DEF_PATH, v, nr + 2);
	free(v);
}

uint32_t trace_writer_future(struct trace_writer *w, const struct trace_future *f)
{
	const uint64_t v[] = {
		w->nr_futures,
		f->object,
		f->is_generated,
		string_number(w, f->name),
		string_number(w, f->function),
		string_number(w, f->file),
		f->line,
		f->va,
		f->seen,
	};

	add_numbers(w, DEF_FUTURE, v, ARRAY_SIZE(v));
	return w->nr_futures++;
}

void trace_writer_stand(struct trace_writer *w, const struct trace_stand *s)
{
	const uint64_t v[] = { s->type, s->task, zigzag(s->time - w->base_ticks), s->path };

	add_numbers(w, DEF_STAND, v, ARRAY_SIZE(v));
}

static void add_anchor(struct trace_writer *w, const struct clock_anchor *a, bool is_complete)
{
	const uint64_t v[] = { zigzag(a->ticks - w->base_ticks), a->mono_ns, a->boot_ns, a->real_ns,
			       is_complete };

	add_numbers(w, DEF_ANCHOR, v, ARRAY_SIZE(v) - !is_complete);
}

void trace_writer_anchor(struct trace_writer *w, const struct clock_anchor *a)
{
	add_anchor(w, a, false);
}

static void add_thread(struct trace_stream *s)
{
	const uint64_t v[] = { s->thread, s->tid, string_number(s->w, s->name) };

	add_numbers(s->w, DEF_THREAD, v, ARRAY_SIZE(v));
}

struct trace_stream *trace_writer_thread(struct trace_writer *w, uint32_t tid)
{
	struct trace_stream *s = xcalloc(1, sizeof(*s));

	s->w = w;
	s->tid = tid;
	s->thread = w->nr_threads++;
	s->pos = w->streams.nr;
	if (s->thread == THREADS_MAX)
		trace_writer_flush(w); /* after an error nothing more is written */
	if (s->thread >= THREADS_MAX && !w->error.tag)
		err_set(&w->error, ERR_SYS, "cannot record more than %u threads; stopped here",
			THREADS_MAX);
	vec_push(&w->streams, s);
	add_thread(s);
	return s;
}

void trace_stream_cpu(struct trace_stream *s, const struct trace_cpu *u)
{
	const uint64_t v[] = { s->thread, zigzag(u->time - s->w->base_ticks), u->cpu_ns,
			       u->wait_ns };

	add_numbers(s->w, DEF_CPU, v, ARRAY_SIZE(v));
}

static void prepare(struct trace_writer *w)
{
	if (w->prepare)
		w->prepare(w->prepare_arg);
}

static void add_events(struct trace_stream *s)
{
	struct trace_writer *w = s->w;
	struct block_header h = { .kind = BLOCK_EVENTS,
				  .thread = s->thread,
				  .nr_events = s->enc.nr,
				  .first_tick = s->enc.first_tick,
				  .last_tick = s->enc.last_tick };

	add_defs(w);
	add_block(w, &h, w->raw, encoder_finish(&s->enc, w->raw));
	s->last_tick = s->enc.last_tick;
	encoder_reset(&s->enc);
}

static void flush_stream(struct trace_stream *s)
{
	if (!s->enc.nr)
		return;
	prepare(s->w);
	add_events(s);
}

static void write_full(struct trace_stream *s)
{
	flush_stream(s);
	write_out(s->w);
}

/* Names and tids are definitions too, so that readers know a thread before they read its events. */
static void note_thread(struct trace_stream *s, const struct event *ev)
{
	if (ev->kind == EV_THREAD_START) {
		if (s->tid == ev->a)
			return;
		s->tid = ev->a;
	} else {
		uint8_t name[16];

		put_le64(name, ev->a);
		put_le64(name + 8, ev->b);
		if (memcmp(name, s->name, sizeof(name)) == 0)
			return;
		memcpy(s->name, name, sizeof(name));
	}
	add_thread(s);
}

/*
 * The first event of a block: its time is held to the stream's order here, later ones by the
 * encoder.
 */
static void put_first(struct trace_stream *s, const struct event *ev)
{
	struct event first = *ev;

	if (!s->is_ready)
		encoder_init(&s->enc);
	s->is_ready = true;
	s->nr_idle = 0;
	first.time = MAX(ev->time, s->last_tick);
	encoder_put(&s->enc, &first);
}

void trace_stream_put(struct trace_stream *s, const struct event *ev)
{
	if (unlikely(ev->kind >= EV_MAX || !event_descs[ev->kind].name))
		return;
	if (unlikely(ev->kind == EV_THREAD_NAME || ev->kind == EV_THREAD_START))
		note_thread(s, ev);
	if (unlikely(!s->enc.nr))
		put_first(s, ev);
	else
		encoder_put(&s->enc, ev);
	if (unlikely(encoder_is_full(&s->enc)))
		write_full(s);
}

void trace_stream_put_all(struct trace_stream *s, const struct event *ev, size_t nr)
{
	const struct event *end = ev + nr;

	while (ev < end) {
		size_t put = s->enc.nr ? encoder_put_all(&s->enc, ev, end - ev) : 0;

		ev += put;
		if (encoder_is_full(&s->enc) && s->enc.nr)
			write_full(s);
		else if (!put)
			trace_stream_put(s, ev++);
	}
}

void trace_stream_close(struct trace_stream *s)
{
	struct trace_writer *w = s->w;
	struct trace_stream *moved = w->streams.v[w->streams.nr - 1];

	flush_stream(s);
	w->streams.v[s->pos] = moved;
	moved->pos = s->pos;
	w->streams.nr--;
	if (s->is_ready)
		encoder_release(&s->enc);
	free(s);
}

static void release_if_idle(struct trace_stream *s)
{
	if (!s->is_ready || s->enc.nr || ++s->nr_idle < IDLE_MAX)
		return;
	encoder_release(&s->enc);
	s->is_ready = false;
}

static void gather(struct trace_writer *w)
{
	prepare(w);
	add_defs(w);
	vec_each (s, &w->streams) {
		release_if_idle(*s);
		if ((*s)->enc.nr)
			add_events(*s);
	}
}

void trace_writer_flush(struct trace_writer *w)
{
	gather(w);
	write_out(w);
}

void trace_writer_mark(struct trace_writer *w, const struct clock_anchor *a)
{
	gather(w);
	add_anchor(w, a, true);
	add_defs(w);
	write_out(w);
}

uint64_t trace_writer_bytes(const struct trace_writer *w)
{
	return w->nr_bytes;
}

const struct err *trace_writer_error(const struct trace_writer *w)
{
	return w->error.tag ? &w->error : NULL;
}

static void write_end(struct trace_writer *w, const struct trace_end *end)
{
	struct block_header h = { .kind = BLOCK_END, .nr_events = 1 };
	uint8_t raw[END_LEN_MAX];

	add_block(w, &h, raw, end_pack(end, w->base_ticks, raw));
}

int trace_writer_close(struct trace_writer *w, const struct trace_end *end, struct err *e)
{
	int rc = 0;

	trace_writer_flush(w);
	if (end)
		write_end(w, end);
	while (w->streams.nr)
		trace_stream_close(w->streams.v[0]);
	write_out(w);
	close_tee(w);
	if (w->fd >= 0 && close(w->fd) < 0 && !w->error.tag)
		err_sys(&w->error, "cannot write the trace");
	if (w->error.tag)
		rc = err_set(e, w->error.tag, "%s", w->error.msg);
	vec_release(&w->streams);
	intern_free(w->strings);
	strbuf_release(&w->defs);
	ZSTD_freeCCtx(w->zstd);
	free(w->raw);
	free(w->out);
	free(w);
	return rc;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The program's own: marks as instants on the tracks of their threads, so that they lie inside of
 * the polls in which they were; spans on tracks of their own, by name. Spans of one name that are
 * open at once are on several tracks of that name, which Perfetto shows as one.
 */
#include "export/marks.h"
#include "export/perfetto.h"

static void put_text(struct proto *w, struct strbuf *buf, const char *name, const char *text)
{
	size_t arg = proto_open(w, EVENT_ARG);

	proto_string(w, buf, ARG_NAME, name);
	proto_string(w, buf, ARG_STRING, text);
	proto_close(w, arg);
}

static void put_field(struct proto *w, struct strbuf *buf, const struct recording *rec,
		      const struct model_field *f)
{
	char text[MODEL_MAX_TEXT_BYTES + 1];
	const char *name = trace_get_string(rec->trace, f->name);
	size_t arg;

	if (f->kind == MODEL_TEXT) {
		put_text(w, buf, name, field_text(f, text));
		return;
	}
	arg = proto_open(w, EVENT_ARG);
	proto_string(w, buf, ARG_NAME, name);
	if (f->kind == MODEL_FLOAT)
		proto_double(w, ARG_DOUBLE, field_fraction(f));
	else
		proto_uint(w, f->kind == MODEL_SIGNED ? ARG_INT : ARG_UINT, f->value);
	proto_close(w, arg);
}

/* Of an event that is open; task NULL: it was in none. */
static void put_args(const struct marks *m, struct proto *w, uint64_t id,
		     const struct model_key *task, const struct model_field *fields, uint32_t nr)
{
	if (id)
		event_arg(w, PF_ID, ARG_UINT, id);
	if (task)
		event_arg(w, PF_TASK, ARG_UINT, task->id);
	for (uint32_t i = 0; i < nr; i++)
		put_field(w, m->buf, m->rec, &fields[i]);
}

static void put_name(const struct marks *m, struct proto *w, uint32_t name)
{
	const char *text = mark_name(m->rec, name);

	proto_string(w, m->buf, EVENT_NAME, text ? text : "?");
}

static bool is_full(struct marks *m)
{
	m->nr++;
	m->nr_left_out += m->max_bytes && m->bytes >= m->max_bytes;
	return m->nr_left_out;
}

static void wrote(struct marks *m, size_t before)
{
	m->bytes += m->buf->len - before;
	out_spill(m->out);
}

static void on_mark(void *sink, const struct model_mark *mark)
{
	struct marks *m = sink;
	size_t before = m->buf->len;
	struct proto w;
	struct event_mark ev;

	if (is_full(m))
		return;
	w = proto_start(m->buf);
	ev = event_open(&w, mark->time_ns, TYPE_INSTANT, UUID_THREADS + mark->thread);
	proto_uint(&w, EVENT_CATEGORY_IIDS, CATEGORY_MARK);
	put_name(m, &w, mark->name);
	put_args(m, &w, mark->id, mark->task ? &mark->task->key : NULL, mark->fields,
		 mark->nr_fields);
	event_close(&w, ev);
	proto_finish(&w, m->buf);
	wrote(m, before);
}

static void put_track(struct marks *m, uint64_t uuid, uint32_t name)
{
	struct proto w = proto_start(m->buf);
	size_t packet = packet_open(&w, 0), track = proto_open(&w, PACKET_TRACK_DESCRIPTOR);
	const char *text = mark_name(m->rec, name);

	proto_uint(&w, TRACK_UUID, uuid);
	proto_uint(&w, TRACK_PARENT, UUID_SPANS);
	proto_string(&w, m->buf, TRACK_NAME, text ? text : "?");
	proto_close(&w, track);
	proto_close(&w, packet);
	proto_finish(&w, m->buf);
}

/* There are as many lanes of a name as spans of it were open at once. */
static uint64_t track_of(struct marks *m, const struct model_span *s)
{
	bool was_there;
	uint64_t *nr = map_put(&m->tracks, (uint64_t)s->name << 32 | s->lane, &was_there);

	if (!was_there) {
		*nr = m->tracks.nr;
		put_track(m, UUID_FIRST_SPAN + *nr, s->name);
	}
	return UUID_FIRST_SPAN + *nr;
}

static void on_span(void *sink, const struct model_span *s)
{
	struct marks *m = sink;
	size_t before = m->buf->len;
	struct event_mark ev;
	uint64_t track;
	struct proto w;

	if (is_full(m))
		return;
	track = track_of(m, s);
	w = proto_start(m->buf);
	ev = event_open(&w, s->start_ns, TYPE_SLICE_BEGIN, track);
	proto_uint(&w, EVENT_CATEGORY_IIDS, CATEGORY_SPAN);
	put_name(m, &w, s->name);
	put_args(m, &w, s->id, s->has_task ? &s->task : NULL, s->fields, s->nr_fields);
	event_arg(&w, PF_TID, ARG_UINT, recording_thread_tid(m->rec, s->thread));
	if (s->is_open)
		event_arg(&w, PF_OPEN, ARG_BOOL, true);
	event_close(&w, ev);
	slice_end(&w, s->end_ns, track);
	proto_finish(&w, m->buf);
	wrote(m, before);
}

const struct model_ops perfetto_marks_ops = { .mark = on_mark, .span = on_span };

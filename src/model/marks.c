// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What the program itself tells: marks, and spans from their starts to their ends, wherever these
 * are. A start and an end belong together by name and id; of several that are open, the latest
 * start is taken. Of an end without a start (it was lost, or lies before the recording) and of
 * fields without a mark nothing is told. They change nothing in the lives of tasks.
 */
#include <string.h>

#include "model/internal.h"

/* Those that were told since the latest mark of the thread. */
struct mark_fields {
	struct model_field v[MODEL_MAX_FIELDS];
	uint32_t nr;
	uint32_t text_left; /* of the latest one, yet to come */
	uint32_t used;
	char text[MODEL_MAX_TEXT_BYTES];
};

#define NO_SPAN UINT32_MAX

struct open_span {
	struct model_span pub;	 /* fields are ours */
	char *text;		 /* of them */
	uint32_t older;		 /* of the same key, NO_SPAN */
	bool is_free, is_hidden; /* hidden: a filter does not want it */
};

/* Of one name: those that are not taken, and how many there are. */
struct lanes {
	VEC(uint32_t) free;
	uint32_t nr;
};

struct open_spans {
	VEC(struct open_span) v;
	VEC(uint32_t) free;
	struct map newest; /* by key of name and id: index */
	struct map lanes_by_name;
	VEC(struct lanes) lanes;
};

/* ---- fields ---- */

static void add_field(struct thread *thr, const struct event *ev)
{
	struct mark_fields *f = thr->fields;
	struct model_field *field;

	if (!f)
		f = thr->fields = xcalloc(1, sizeof(*f));
	f->text_left = 0;
	if (f->nr == MODEL_MAX_FIELDS)
		return;
	field = &f->v[f->nr++];
	*field = (struct model_field){ .name = MIN(ev->a, UINT32_MAX), .value = ev->b };
	field->kind = ev->flags & EF_FIELD_TEXT	    ? MODEL_TEXT
		      : ev->flags & EF_FIELD_FLOAT  ? MODEL_FLOAT
		      : ev->flags & EF_FIELD_SIGNED ? MODEL_SIGNED
						    : MODEL_UNSIGNED;
	field->text = f->text + f->used;
	if (field->kind == MODEL_TEXT)
		f->text_left = MIN(ev->b, sizeof(f->text) - f->used);
}

static void add_text(struct thread *thr, const struct event *ev)
{
	struct mark_fields *f = thr->fields;
	uint32_t len;

	if (!f || !f->nr)
		return;
	len = MIN(f->text_left, UINT32_C(16));
	for (uint32_t i = 0; i < len; i++)
		f->text[f->used + i] = (i < 8 ? ev->a : ev->b) >> i % 8 * 8;
	f->used += len;
	f->text_left -= len;
	f->v[f->nr - 1].text_len += len;
}

static void forget_fields(struct thread *thr)
{
	if (thr->fields)
		thr->fields->nr = thr->fields->used = thr->fields->text_left = 0;
}

/* ---- marks ---- */

/* In whose run the thread is; false: what happens there is not wanted. */
static bool find_task(const struct model *m, const struct thread *thr,
		      const struct model_task **task)
{
	const struct task *t = thr->stack.nr ? thr->stack.v[thr->stack.nr - 1].task : NULL;

	*task = t && is_told(m, t) ? &t->pub : NULL;
	return *task || !m->wants;
}

static void mark(struct model *m, struct thread *thr, const struct event *ev)
{
	struct model_mark told = {
		.name = MIN(ev->a, UINT32_MAX),
		.thread = thr->pub.thread,
		.id = ev->b,
		.time_ns = m->now,
		.fields = thr->fields ? thr->fields->v : NULL,
		.nr_fields = thr->fields ? thr->fields->nr : 0,
	};

	if (find_task(m, thr, &told.task))
		tell_mark(m, &told);
	forget_fields(thr);
}

/* ---- spans ---- */

static uint64_t key_of_span(uint32_t name, uint64_t id)
{
	return id ^ name * UINT64_C(0x9e3779b97f4a7c15);
}

static struct lanes *lanes_of(struct open_spans *o, uint32_t name)
{
	bool was_there;
	uint64_t *index = map_put(&o->lanes_by_name, name, &was_there);

	if (!was_there) {
		*index = o->lanes.nr;
		vec_push(&o->lanes, (struct lanes){ 0 });
	}
	return &o->lanes.v[*index];
}

static uint32_t take_lane(struct lanes *l)
{
	return l->free.nr ? l->free.v[--l->free.nr] : l->nr++;
}

/* What the thread was told is kept for as long as the span is open. */
static void keep_fields(struct open_span *s, const struct mark_fields *f)
{
	struct model_field *fields;

	if (!f || !f->nr)
		return;
	fields = xmalloc(f->nr * sizeof(*fields));
	memcpy(fields, f->v, f->nr * sizeof(*fields));
	s->text = f->used ? xmalloc(f->used) : NULL;
	if (f->used)
		memcpy(s->text, f->text, f->used);
	for (uint32_t i = 0; i < f->nr; i++)
		fields[i].text = s->text ? s->text + (f->v[i].text - f->text) : "";
	s->pub.fields = fields;
	s->pub.nr_fields = f->nr;
}

static uint32_t new_index(struct open_spans *o)
{
	if (o->free.nr)
		return o->free.v[--o->free.nr];
	vec_push(&o->v, (struct open_span){ 0 });
	return o->v.nr - 1;
}

static void start(struct model *m, struct thread *thr, const struct event *ev)
{
	const struct model_task *task;
	struct open_spans *o = m->spans;
	struct open_span *s;
	uint64_t *newest;
	uint32_t index;
	bool was_there;

	if (!o)
		o = m->spans = xcalloc(1, sizeof(*o));
	if (o->v.nr - o->free.nr >= MODEL_MAX_OPEN_SPANS) {
		m->totals.nr_stray++;
		forget_fields(thr);
		return;
	}
	index = new_index(o);
	s = &o->v.v[index];
	*s = (struct open_span){ .is_hidden = !find_task(m, thr, &task) };
	s->pub = (struct model_span){ .name = MIN(ev->a, UINT32_MAX),
				      .thread = thr->pub.thread,
				      .id = ev->b,
				      .start_ns = m->now,
				      .has_task = task };
	if (task) {
		s->pub.task = task->key;
		s->pub.task_nr = task->nr;
	}
	s->pub.lane = take_lane(lanes_of(o, s->pub.name));
	keep_fields(s, thr->fields);
	forget_fields(thr);
	newest = map_put(&o->newest, key_of_span(s->pub.name, s->pub.id), &was_there);
	s->older = was_there ? *newest : NO_SPAN;
	*newest = index;
}

/* Takes it out of its chain. NO_SPAN: it is not there. */
static uint32_t take_span(struct open_spans *o, uint32_t name, uint64_t id)
{
	uint64_t key = key_of_span(name, id);
	uint64_t *newest = map_get(&o->newest, key);
	uint32_t index = newest ? *newest : NO_SPAN, newer = NO_SPAN;

	while (index != NO_SPAN && (o->v.v[index].pub.name != name || o->v.v[index].pub.id != id)) {
		newer = index;
		index = o->v.v[index].older;
	}
	if (index == NO_SPAN)
		return NO_SPAN;
	if (newer != NO_SPAN)
		o->v.v[newer].older = o->v.v[index].older;
	else if (o->v.v[index].older != NO_SPAN)
		*newest = o->v.v[index].older;
	else
		map_del(&o->newest, key, NULL);
	return index;
}

static void tell(struct model *m, const struct open_span *s, uint32_t end_thread, bool is_open)
{
	struct model_span span = s->pub;

	span.start_ns = MAX(span.start_ns, m->start);
	span.end_ns = m->now;
	span.end_thread = end_thread;
	span.is_open = is_open;
	if (!s->is_hidden)
		tell_span(m, &span);
}

static void release_span(struct open_span *s)
{
	free((void *)s->pub.fields);
	free(s->text);
	*s = (struct open_span){ .is_free = true };
}

static void end(struct model *m, const struct thread *thr, const struct event *ev)
{
	struct open_spans *o = m->spans;
	uint32_t index = o ? take_span(o, MIN(ev->a, UINT32_MAX), ev->b) : NO_SPAN;

	if (index == NO_SPAN) {
		m->totals.nr_stray++;
		return;
	}
	tell(m, &o->v.v[index], thr->pub.thread, false);
	vec_push(&lanes_of(o, o->v.v[index].pub.name)->free, o->v.v[index].pub.lane);
	release_span(&o->v.v[index]);
	vec_push(&o->free, index);
}

void mark_seen(struct model *m, struct thread *thr, const struct event *ev)
{
	switch (ev->kind) {
	case EV_MARK:
		mark(m, thr, ev);
		break;
	case EV_SPAN_START:
		start(m, thr, ev);
		break;
	case EV_SPAN_END:
		end(m, thr, ev);
		break;
	case EV_FIELD:
		add_field(thr, ev);
		break;
	case EV_TEXT:
		add_text(thr, ev);
		break;
	}
}

void span_finish(struct model *m)
{
	if (!m->spans)
		return;
	vec_each (s, &m->spans->v)
		if (!s->is_free)
			tell(m, s, s->pub.thread, true);
}

void span_release(struct model *m)
{
	struct open_spans *o = m->spans;

	if (!o)
		return;
	vec_each (s, &o->v)
		release_span(s);
	vec_release(&o->v);
	vec_release(&o->free);
	map_release(&o->newest);
	vec_each (l, &o->lanes)
		vec_release(&l->free);
	vec_release(&o->lanes);
	map_release(&o->lanes_by_name);
	free(o);
	m->spans = NULL;
}

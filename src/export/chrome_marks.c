// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The program's own: marks as instants of their threads, spans as asynchronous events, which need
 * not lie inside of anything.
 */
#include <inttypes.h>

#include "export/chrome.h"
#include "export/marks.h"

static void put_head(const struct chrome_marks *c, const char *phase, uint32_t name,
		     uint32_t thread, uint64_t time_ns)
{
	struct strbuf *b = &c->out->buf;
	const char *text = mark_name(c->rec, name);

	strbuf_addf(b, ",\n{\"ph\":%s,\"name\":", phase);
	chrome_quote(b, text ? text : "?");
	chrome_put_place(b, c->rec, thread, time_ns);
}

/* has_id: an id of 0 is one, too. */
static void put_args(const struct chrome_marks *c, bool has_id, uint64_t id,
		     const struct model_key *task, const struct model_field *fields, uint32_t nr)
{
	struct json j;

	strbuf_addstr(&c->out->buf, ",\"args\":");
	json_init(&j, &c->out->buf);
	json_open_object(&j, NULL);
	if (has_id)
		json_uint(&j, "id", id);
	if (task)
		json_uint(&j, "task", task->id);
	if (nr)
		marks_put_fields(&j, "fields", c->rec, fields, nr);
	json_close_object(&j);
	strbuf_addch(&c->out->buf, '}');
	out_spill(c->out);
}

static void on_mark(void *sink, const struct model_mark *m)
{
	const struct chrome_marks *c = sink;

	put_head(c, "\"i\",\"s\":\"t\",\"cat\":\"mark\"", m->name, m->thread, m->time_ns);
	put_args(c, m->id, m->id, m->task ? &m->task->key : NULL, m->fields, m->nr_fields);
}

static void put_end(struct chrome_marks *c, const struct model_span *s, const char *phase,
		    uint32_t thread, uint64_t time_ns)
{
	put_head(c, phase, s->name, thread, time_ns);
	strbuf_addf(&c->out->buf, ",\"id\":\"span%" PRIu64 "\"", c->nr_spans);
}

static void on_span(void *sink, const struct model_span *s)
{
	struct chrome_marks *c = sink;

	c->nr_spans++;
	put_end(c, s, "\"b\",\"cat\":\"span\"", s->thread, s->start_ns);
	put_args(c, true, s->id, s->has_task ? &s->task : NULL, s->fields, s->nr_fields);
	put_end(c, s, "\"e\",\"cat\":\"span\"", s->end_thread, s->end_ns);
	strbuf_addch(&c->out->buf, '}');
}

const struct model_ops chrome_marks_ops = { .mark = on_mark, .span = on_span };

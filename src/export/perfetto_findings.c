// SPDX-License-Identifier: MIT OR Apache-2.0
/* Findings as instants on a track of their own, each at the worst moment that it names. */
#include "export/perfetto.h"
#include "model/shorten.h"

#define NAME_WIDTH 40

static void put_text(struct proto *w, struct strbuf *buf, const char *name, const char *text)
{
	size_t arg = proto_open(w, EVENT_ARG);

	proto_string(w, buf, ARG_NAME, name);
	proto_string(w, buf, ARG_STRING, text);
	proto_close(w, arg);
}

static void put_number(struct proto *w, struct strbuf *buf, const char *name, uint64_t value)
{
	size_t arg = proto_open(w, EVENT_ARG);

	proto_string(w, buf, ARG_NAME, name);
	proto_uint(w, ARG_UINT, value);
	proto_close(w, arg);
}

static void put_name(struct proto *w, struct strbuf *buf, const struct recording *rec,
		     const struct finding *f)
{
	struct strbuf name = STRBUF_INIT;
	char none[32];

	strbuf_addstr(&name, f->analysis->name);
	if (f->type != EVENT_TYPE_NONE) {
		strbuf_addstr(&name, ": ");
		shorten_type(&name, recording_type_name(rec, f->type, none), NAME_WIDTH);
	}
	proto_string(w, buf, EVENT_NAME, name.s);
	strbuf_release(&name);
}

static void put_finding(struct strbuf *buf, const struct recording *rec, const struct finding *f)
{
	struct proto w = proto_start(buf);
	struct event_mark m = event_open(&w, f->time_ns, TYPE_INSTANT, UUID_FINDINGS);
	char none[32];

	proto_uint(&w, EVENT_CATEGORY_IIDS, CATEGORY_FINDING);
	put_name(&w, buf, rec, f);
	put_text(&w, buf, "severity", severity_name(f->severity));
	put_text(&w, buf, "what", f->what ? f->what : "");
	put_text(&w, buf, "advice", f->advice ? f->advice : "");
	if (f->type != EVENT_TYPE_NONE) {
		char *place = recording_type_place(rec, f->type);

		put_text(&w, buf, "type", recording_type_name(rec, f->type, none));
		if (place)
			put_text(&w, buf, "location", place);
		free(place);
	}
	if (f->has_task)
		put_number(&w, buf, "task", f->task.id);
	if (f->thread != MODEL_NO_THREAD)
		put_number(&w, buf, "tid", recording_thread_tid(rec, f->thread));
	if (f->span_ns)
		put_number(&w, buf, "span_ns", f->span_ns);
	for (unsigned i = 0; i < f->nr_figures; i++)
		put_number(&w, buf, f->figures[i].name, f->figures[i].value);
	event_close(&w, m);
	proto_finish(&w, buf);
}

void perfetto_put_findings(struct strbuf *buf, const struct recording *rec,
			   const struct finding *findings, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		put_finding(buf, rec, &findings[i]);
}

void perfetto_put_lost(struct strbuf *buf, uint64_t time_ns, uint64_t nr_lost)
{
	struct proto w = proto_start(buf);
	struct event_mark m = event_open(&w, time_ns, TYPE_INSTANT, UUID_FINDINGS);

	proto_uint(&w, EVENT_CATEGORY_IIDS, CATEGORY_FINDING);
	proto_string(&w, buf, EVENT_NAME, "events were lost");
	put_number(&w, buf, "events", nr_lost);
	event_close(&w, m);
	proto_finish(&w, buf);
}

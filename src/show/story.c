// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/story.h"

#include <string.h>

#include "base/format.h"
#include "export/trunks.h"
#include "model/shorten.h"

#define INDENT	  "               " /* under the time, and two columns more */
#define MAX_WAITS 10		    /* places that are told, as text */

void story_writer_init(struct story_writer *w, const struct report *r, struct out *out,
		       bool is_json)
{
	*w = (struct story_writer){ .r = r, .out = out, .is_json = is_json, .is_first = true };
	if (!is_json)
		return;
	json_init(&w->json, &out->buf);
	w->json.pretty = true;
	json_open_object(&w->json, NULL);
	json_uint(&w->json, "schema", 1);
	json_str(&w->json, "exe", r->rec.meta->exe);
	json_uint(&w->json, "pid", r->rec.meta->pid);
	json_uint(&w->json, "duration_ns", trace_get_duration(r->rec.trace));
	json_open_array(&w->json, "stories");
}

void story_writer_release(struct story_writer *w, uint64_t nr_more)
{
	if (w->is_json) {
		json_close_array(&w->json);
		json_uint(&w->json, "stories_left_out", nr_more);
		json_close_object(&w->json);
		strbuf_addch(&w->out->buf, '\n');
	} else if (nr_more) {
		strbuf_addf(&w->out->buf, "\nand %llu more tasks of this id\n",
			    (unsigned long long)nr_more);
	}
}

/* ---- text ---- */

static void add_type(struct story_writer *w, uint16_t type)
{
	char buf[32];

	shorten_type(&w->out->buf, recording_type_name(&w->r->rec, type, buf),
		     w->r->verbose ? SIZE_MAX : w->r->styles.width / 2);
}

static void add_other(struct story_writer *w, const struct model_key *key)
{
	const struct recording *rec = &w->r->rec;
	bool is_root = key->type < rec->nr_types && rec->types[key->type].kind == TRACE_BLOCK_ON;

	strbuf_addf(&w->out->buf, "%s %llu ", is_root ? "root" : "task",
		    (unsigned long long)key->id);
	add_type(w, key->type);
}

static void add_thread(struct story_writer *w, uint32_t thread)
{
	const char *name = recording_thread_name(&w->r->rec, thread);

	if (thread == MODEL_NO_THREAD)
		return;
	strbuf_addf(&w->out->buf, " on tid %u", recording_thread_tid(&w->r->rec, thread));
	if (!w->r->verbose || !*name)
		return;
	strbuf_addstr(&w->out->buf, " (");
	strbuf_add_clean(&w->out->buf, name, strlen(name));
	strbuf_addch(&w->out->buf, ')');
}

static void add_name(struct strbuf *out, const char *name)
{
	if (!name)
		return;
	strbuf_addstr(out, " \"");
	strbuf_add_clean(out, name, strlen(name));
	strbuf_addch(out, '"');
}

/* What is waited for at a path, on a line of which so much is used. */
static void add_wait(struct story_writer *w, uint32_t path, size_t used)
{
	struct strbuf text = STRBUF_INIT;
	size_t room = w->r->styles.width > used ? w->r->styles.width - used : 0;

	trunks_add_waits(&w->r->rec, path, &text);
	shorten_type(&w->out->buf, text.s, w->r->verbose ? SIZE_MAX : room);
	strbuf_release(&text);
}

/* Where it waited, the longest first. */
static void write_waits(struct story_writer *w, const struct story_waits *waits)
{
	struct strbuf *out = &w->out->buf;
	size_t nr = w->r->verbose ? waits->v.nr : MIN(waits->v.nr, (size_t)MAX_WAITS);
	char a[FORMAT_SIZE], b[FORMAT_SIZE];

	for (size_t i = 0; i < nr; i++) {
		const struct story_wait *x = &waits->v.v[i];
		size_t start = out->len;

		strbuf_addf(out, "waited %s in %s wait%s: ", format_span(x->ns, a),
			    format_grouped(x->nr, b), plural(x->nr));
		add_wait(w, x->path, out->len - start);
		strbuf_addch(out, '\n');
	}
	if (nr < waits->v.nr)
		strbuf_addf(out, "… and at %zu more places (-v lists them)\n", waits->v.nr - nr);
	if (nr)
		strbuf_addch(out, '\n');
}

static void write_head(struct story_writer *w, const struct model_task *t)
{
	const struct recording *rec = &w->r->rec;
	const struct trace_type *type =
		t->key.type < rec->nr_types ? &rec->types[t->key.type] : NULL;
	struct strbuf *out = &w->out->buf;
	char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];
	uint64_t wakes = model_sum_wakes(t->wakes);
	uint32_t place = recording_place_of(rec, t);

	strbuf_addf(out, "%s%s%s %llu", w->is_first ? "" : "\n",
		    style_on(&w->r->styles, STYLE_NAME),
		    t->kind == TRACE_BLOCK_ON ? "root" : "task", (unsigned long long)t->key.id);
	add_name(out, t->name);
	if (recording_has_runtimes(rec) && t->key.runtime < rec->nr_runtimes) {
		char *name = recording_runtime_name(rec, t->key.runtime);

		strbuf_addstr(out, " of ");
		strbuf_add_clean(out, name, strlen(name));
		strbuf_addch(out, ',');
		free(name);
	}
	strbuf_addch(out, ' ');
	add_type(w, t->key.type);
	strbuf_addf(out, "%s%s", style_off(&w->r->styles),
		    t->kind == TRACE_TASK	? ""
		    : t->kind == TRACE_LOCAL	? " (local)"
		    : t->kind == TRACE_BLOCK_ON ? " (root)"
						: " (blocking)");
	if (type && type->file[0]) {
		strbuf_addf(out, "  %s", style_on(&w->r->styles, STYLE_DETAIL));
		shorten_place(out, type->file, type->line, 60);
		strbuf_addstr(out, style_off(&w->r->styles));
	}
	if (place != RECORDING_NO_PLACE) {
		strbuf_addf(out, "\n%s at %s", t->kind == TRACE_BLOCK_ON ? "block_on" : "spawned",
			    style_on(&w->r->styles, STYLE_DETAIL));
		shorten_place(out, w->r->rec.places[place].file, w->r->rec.places[place].line, 60);
		strbuf_addstr(out, style_off(&w->r->styles));
	}
	strbuf_addf(out, "\n%s, %s: ", model_end_name(t->end),
		    format_span(t->end_ns - t->spawn_ns, a));
	if (t->kind == TRACE_BLOCKING)
		strbuf_addf(out, "queued %s, ran %s", format_span(t->ns[MODEL_SCHEDULED], a),
			    format_span(t->ns[MODEL_RUNNING], b));
	else
		strbuf_addf(
			out, "busy %s, scheduled %s, idle %s", format_span(t->ns[MODEL_RUNNING], a),
			format_span(t->ns[MODEL_SCHEDULED], b), format_span(t->ns[MODEL_IDLE], c));
	if (t->ns[MODEL_UNKNOWN])
		strbuf_addf(out, ", unknown %s", format_span(t->ns[MODEL_UNKNOWN], a));
	strbuf_addf(out, "\n%s poll%s, the longest %s; ", format_grouped(t->polls, a),
		    plural(t->polls), format_span(t->max_poll_ns, b));
	strbuf_addf(out, "%s wake%s, %s by itself\n\n", format_grouped(wakes, a), plural(wakes),
		    format_grouped(t->wakes[MODEL_BY_SELF], b));
}

static void write_spawn(struct story_writer *w, const struct story_event *ev)
{
	if (!ev->is_known) {
		strbuf_addstr(&w->out->buf, "first seen; its spawn was not recorded");
		return;
	}
	strbuf_addstr(&w->out->buf, w->is_root ? "block_on called by " : "spawned by ");
	if (ev->has_other)
		add_other(w, &ev->other);
	else
		strbuf_addstr(&w->out->buf, "no task");
	add_thread(w, ev->thread);
}

static void write_wake(struct story_writer *w, const struct story_event *ev)
{
	static const char *const by[] = {
		[MODEL_BY_WORKER] = "woken by the worker (timer, I/O, yield)",
		[MODEL_BY_TASK] = "woken by ",
		[MODEL_BY_SELF] = "woke itself",
		[MODEL_BY_THREAD] = "woken by a thread outside the runtime",
		[MODEL_BY_ABORT] = "aborted by ",
	};

	strbuf_addstr(&w->out->buf, by[ev->cause]);
	if (ev->cause == MODEL_BY_TASK || ev->cause == MODEL_BY_ABORT) {
		if (ev->has_other)
			add_other(w, &ev->other);
		else
			strbuf_addstr(&w->out->buf, "no task");
	}
	add_thread(w, ev->thread);
}

static void write_run(struct story_writer *w, const struct story_event *ev)
{
	struct strbuf *out = &w->out->buf;
	char a[FORMAT_SIZE];

	strbuf_addf(out, "%s %llu", ev->flags ? "dropped in run" : "run",
		    (unsigned long long)ev->nr);
	add_thread(w, ev->thread);
	strbuf_addf(out, ": %s%s%s", style_on(&w->r->styles, STYLE_NAME),
		    format_span(ev->end_ns - ev->time_ns, a), style_off(&w->r->styles));
	if (ev->blocked_ns)
		strbuf_addf(out, ", %s of it asleep", format_span(ev->blocked_ns, a));
	if (ev->is_off_worker)
		strbuf_addstr(out, ", off its worker (block_in_place)");
	if (ev->is_known && (ev->idle_ns || ev->sched_ns)) {
		strbuf_addstr(out, "; before ");
		if (ev->idle_ns)
			strbuf_addf(out, "%s idle, ", format_span(ev->idle_ns, a));
		strbuf_addf(out, "%s scheduled", format_span(ev->sched_ns, a));
	} else if (!ev->is_known) {
		strbuf_addstr(out, "; earlier events are unknown");
	}
	if (ev->is_open)
		strbuf_addstr(out, "; it was still running when the recording ended");
	if (ev->is_known && ev->idle_ns && ev->path != MODEL_NO_PATH) {
		strbuf_addstr(out, "\n" INDENT "waited for ");
		add_wait(w, ev->path, strlen(INDENT "waited for "));
	}
}

static void write_end(struct story_writer *w, const struct story_event *ev)
{
	if (ev->end == MODEL_ALIVE) {
		strbuf_addstr(&w->out->buf, "alive when the recording ended");
		if (ev->path != MODEL_NO_PATH) {
			strbuf_addstr(&w->out->buf, "\n" INDENT "waits for ");
			add_wait(w, ev->path, strlen(INDENT "waits for "));
		}
	} else {
		strbuf_addf(&w->out->buf, "%s%s", model_end_name(ev->end),
			    w->is_root	   ? ""
			    : ev->is_known ? "; its JoinHandle existed"
					   : "; no JoinHandle existed");
	}
}

static void write_event(struct story_writer *w, const struct story_event *ev)
{
	bool is_inside =
		ev->kind == STORY_SLEEP || ev->kind == STORY_SPAWNED || ev->kind == STORY_WOKE;
	struct strbuf *out = &w->out->buf;
	char a[FORMAT_SIZE];

	strbuf_addf(out, "%s%13.9f%s  %s", style_on(&w->r->styles, STYLE_DETAIL),
		    (double)ev->time_ns / 1e9, style_off(&w->r->styles), is_inside ? "  " : "");
	switch (ev->kind) {
	case STORY_SPAWN:
		write_spawn(w, ev);
		break;
	case STORY_WAKE:
		write_wake(w, ev);
		break;
	case STORY_RUN:
		write_run(w, ev);
		break;
	case STORY_SLEEP:
		strbuf_addf(out, "asleep in the kernel for %s (%s)",
			    format_span(ev->end_ns - ev->time_ns, a), model_sleep_name(ev->flags));
		break;
	case STORY_SPAWNED:
	case STORY_WOKE:
		strbuf_addstr(out, ev->kind == STORY_SPAWNED	 ? "spawned "
				   : ev->cause == MODEL_BY_ABORT ? "aborted "
								 : "woke ");
		add_other(w, &ev->other);
		break;
	case STORY_END:
		write_end(w, ev);
	}
	strbuf_addch(out, '\n');
}

/* ---- JSON ---- */

static void put_other(struct json *j, const struct recording *rec, const char *key,
		      const struct story_event *ev)
{
	char buf[32];

	if (!ev->has_other) {
		json_null(j, key);
		return;
	}
	json_uint(j, key, ev->other.id);
	if (ev->other.runtime < rec->nr_runtimes)
		json_uint(j, "other_runtime_id", ev->other.runtime);
	json_str(j, "other_type", recording_type_name(rec, ev->other.type, buf));
}

/* What is waited for at a path: a string, or null. */
static void put_await(struct json *j, const struct recording *rec, uint32_t path)
{
	struct strbuf text = STRBUF_INIT;

	if (path != MODEL_NO_PATH)
		trunks_add_waits(rec, path, &text);
	json_str(j, "await", path != MODEL_NO_PATH ? text.s : NULL);
	strbuf_release(&text);
}

static void put_waits(struct story_writer *w, const struct story_waits *waits)
{
	struct json *j = &w->json;

	json_open_array(j, "waits");
	for (size_t i = 0; i < waits->v.nr; i++) {
		json_open_object(j, NULL);
		put_await(j, &w->r->rec, waits->v.v[i].path);
		json_uint(j, "count", waits->v.v[i].nr);
		json_uint(j, "wait_ns", waits->v.v[i].ns);
		json_close_object(j);
	}
	json_close_array(j);
}

static void put_run(struct json *j, const struct recording *rec, const struct story_event *ev)
{
	json_uint(j, "run", ev->nr);
	json_bool(j, "poll", !ev->flags);
	json_uint(j, "end_ns", ev->end_ns);
	json_uint(j, "blocked_ns", ev->blocked_ns);
	if (ev->is_known) {
		json_uint(j, "idle_ns", ev->idle_ns);
		json_uint(j, "sched_ns", ev->sched_ns);
	}
	put_await(j, rec, ev->path);
	if (ev->is_off_worker)
		json_bool(j, "off_worker", true);
	if (ev->is_open)
		json_bool(j, "open", true);
}

static void put_event(struct story_writer *w, const struct story_event *ev)
{
	static const char *const names[] = { "spawn",	"wake", "run", "sleep",
					     "spawned", "woke", "end" };
	const struct recording *rec = &w->r->rec;
	struct json *j = &w->json;

	json_open_object(j, NULL);
	json_uint(j, "time_ns", ev->time_ns);
	json_str(j, "event", names[ev->kind]);
	if (ev->kind != STORY_END && ev->thread != MODEL_NO_THREAD)
		json_uint(j, "tid", recording_thread_tid(rec, ev->thread));
	switch (ev->kind) {
	case STORY_SPAWN:
		json_str(j, "spawn", ev->is_known ? "exact" : "first_seen");
		if (ev->is_known)
			put_other(j, rec, "task", ev);
		break;
	case STORY_WAKE:
	case STORY_WOKE:
		json_str(j, "by", model_cause_name(ev->cause));
		put_other(j, rec, "task", ev);
		break;
	case STORY_RUN:
		put_run(j, rec, ev);
		break;
	case STORY_SLEEP:
		json_uint(j, "end_ns", ev->end_ns);
		json_str(j, "in", model_sleep_name(ev->flags));
		break;
	case STORY_SPAWNED:
		put_other(j, rec, "task", ev);
		break;
	case STORY_END:
		json_str(j, "end", model_end_name(ev->end));
		if (ev->end == MODEL_ALIVE)
			put_await(j, rec, ev->path);
	}
	json_close_object(j);
}

/* ---- both ---- */

void story_write_head(struct story_writer *w, const struct story *s)
{
	w->is_root = s->task.kind == TRACE_BLOCK_ON;
	if (w->is_json) {
		json_open_object(&w->json, NULL);
		report_put_task(&w->r->rec, &s->task, &w->json);
		json_uint(&w->json, "runs", s->nr_runs);
		put_waits(w, &s->waits);
		json_open_array(&w->json, "events");
	} else {
		write_head(w, &s->task);
		write_waits(w, &s->waits);
	}
	w->is_first = false;
}

void story_write_event(struct story_writer *w, const struct story_event *ev)
{
	if (w->is_json)
		put_event(w, ev);
	else
		write_event(w, ev);
	out_spill(w->out);
}

void story_write_gap(struct story_writer *w, uint64_t nr, const char *what)
{
	char a[FORMAT_SIZE];

	if (!w->is_json) {
		strbuf_addf(&w->out->buf, INDENT "… %s %s%s left out (--limit=0 shows all)\n",
			    format_grouped(nr, a), what, plural(nr));
		return;
	}
	json_open_object(&w->json, NULL);
	json_str(&w->json, "event", "left_out");
	json_str(&w->json, "what", what);
	json_uint(&w->json, "count", nr);
	json_close_object(&w->json);
}

void story_write_tail(struct story_writer *w)
{
	if (!w->is_json)
		return;
	json_close_array(&w->json);
	json_close_object(&w->json);
}

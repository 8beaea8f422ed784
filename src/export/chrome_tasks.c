// SPDX-License-Identifier: MIT OR Apache-2.0
/* Tracks of single tasks: their states, inside of the futures that they were in. */
#include <inttypes.h>

#include "base/json.h"
#include "base/out.h"
#include "export/chrome.h"
#include "model/shorten.h"

#define NAME_WIDTH 60

static void put_place(const struct chrome_tasks *t, uint32_t track, uint64_t time_ns)
{
	struct strbuf *b = &t->out->buf;

	put_number(b, ",\"pid\":", CHROME_TASKS_PID + t->tracks.rec->meta->pid);
	put_number(b, ",\"tid\":", 1 + track);
	put_time(b, ",\"ts\":", time_ns);
}

static void put_track(void *arg, const struct model_task *task, uint32_t track, unsigned rank)
{
	struct chrome_tasks *t = arg;
	struct strbuf *b = &t->out->buf, name = STRBUF_INIT;
	char none[32];

	strbuf_addf(&name, "task %" PRIu64 " ", task->key.id);
	shorten_type(&name, recording_type_name(t->tracks.rec, task->key.type, none), NAME_WIDTH);
	strbuf_addstr(b, ",\n{\"ph\":\"M\",\"name\":\"thread_name\"");
	put_place(t, track, 0);
	strbuf_addstr(b, ",\"args\":{\"name\":");
	chrome_quote(b, name.s);
	strbuf_addstr(b, "}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\"");
	put_place(t, track, 0);
	put_number(b, ",\"args\":{\"sort_index\":", rank);
	strbuf_addstr(b, "}}");
	strbuf_release(&name);
	vec_push(&t->nrs, task->nr);
}

static void put_name(const struct chrome_tasks *t, const struct track_states *s)
{
	static const char *const states[] = { "\"running\"", "\"scheduled\"", "\"idle\"",
					      "\"unknown\"" };

	strbuf_addstr(&t->out->buf, s->nr > 1	 ? "\"many short polls\""
				    : s->is_drop ? "\"dropping\""
				    : s->path != MODEL_NO_PATH
					    ? names_get(&t->tracks.trunks->waits, s->path)
					    : states[s->state]);
}

static void put_end(const struct chrome_tasks *t, uint32_t track, uint64_t time_ns)
{
	strbuf_addstr(&t->out->buf, ",\n{\"ph\":\"E\"");
	put_place(t, track, time_ns);
	strbuf_addch(&t->out->buf, '}');
}

static void put_states(void *arg, uint32_t track, const struct track_states *s, uint64_t end_ns)
{
	static const char *const keys[] = { "running_ns", "scheduled_ns", "idle_ns", "unknown_ns" };
	struct chrome_tasks *t = arg;
	struct strbuf *b = &t->out->buf;
	uint32_t tid = recording_thread_tid(t->tracks.rec, s->thread);

	strbuf_addstr(b, ",\n{\"ph\":\"B\",\"cat\":\"state\",\"name\":");
	put_name(t, s);
	put_place(t, track, s->start_ns);
	if (s->state == MODEL_RUNNING)
		chrome_put_colour(b, t->nrs.v[track]);
	else
		strbuf_addf(b, ",\"cname\":\"%s\"", s->state == MODEL_SCHEDULED ? "bad" : "grey");
	strbuf_addstr(b, ",\"args\":{");
	if (s->nr == 1 && tid)
		put_number(b, "\"tid\":", tid);
	if (s->nr > 1) {
		put_number(b, "\"polls\":", s->nr_runs);
		for (unsigned i = 0; i < MODEL_NR_STATES; i++)
			if (s->ns[i])
				strbuf_addf(b, ",\"%s\":%" PRIu64, keys[i], s->ns[i]);
	}
	strbuf_addstr(b, "}}");
	put_end(t, track, end_ns);
	out_spill(t->out);
}

static void enter(void *arg, uint32_t track, uint32_t step, uint64_t time_ns)
{
	struct chrome_tasks *t = arg;
	struct strbuf *b = &t->out->buf;

	strbuf_addstr(b, ",\n{\"ph\":\"B\",\"cat\":\"future\",\"name\":");
	strbuf_addstr(b,
		      names_get(&t->tracks.trunks->futures, t->tracks.rec->awaits.future_of[step]));
	put_place(t, track, time_ns);
	chrome_put_colour(b, t->nrs.v[track]);
	strbuf_addstr(b, ",\"args\":{");
	chrome_put_await(b, &t->tracks.rec->steps[step]);
	strbuf_addstr(b, "}}");
}

static void leave(void *arg, uint32_t track, uint64_t time_ns)
{
	put_end(arg, track, time_ns);
}

const struct tracks_ops chrome_tracks_ops = {
	.track = put_track, .states = put_states, .enter = enter, .leave = leave
};

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Polls as complete events ("X") on their threads, sleeps and futures inside them, and arrows from
 * the poll that woke or spawned a task to the poll that followed.
 *
 * Viewers sort by time and keep the order of the file among equals, and what comes first is then
 * the outer one. The model tells inner ones first; so what begins together with what is around it
 * is *held* until that one is written. Torn runs do not nest with others of their thread: they are
 * written as asynchronous events, which need not.
 */
#include <inttypes.h>

#include "export/chrome.h"
#include "export/thin.h"

static void put_flow(struct chrome_polls *s, struct strbuf *b, const char *kind, uint32_t from,
		     uint64_t from_ns, const struct model_run *to)
{
	uint64_t id = ++s->nr_flows;

	strbuf_addf(b, ",\n{\"ph\":\"s\",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%" PRIu64, kind,
		    kind, id);
	chrome_put_place(b, s->rec, from, from_ns);
	strbuf_addf(b,
		    "},\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%" PRIu64,
		    kind, kind, id);
	chrome_put_place(b, s->rec, to->thread, to->start_ns);
	strbuf_addch(b, '}');
}

/* An arrow needs a slice at both ends: what woke outside of polls has none. */
static void put_arrow(struct chrome_polls *s, struct strbuf *b, const struct model_run *run)
{
	const struct model_task *t = run->task;
	const struct model_waker *w = run->waker;

	/* where runs overlapped, the latest wake may be one that came later */
	if (w && w->has_key && w->thread != MODEL_NO_THREAD && w->cause != MODEL_BY_SELF &&
	    w->time_ns >= s->from_ns && w->time_ns <= run->start_ns)
		put_flow(s, b, "wake", w->thread, w->time_ns, run);
	if (run->is_first && t->spawn_exact && t->has_parent && t->spawn_thread != MODEL_NO_THREAD)
		put_flow(s, b, "spawn", t->spawn_thread, t->spawn_ns, run);
}

static void put_args(const struct chrome_polls *s, struct strbuf *b, const struct model_run *run)
{
	const struct model_key *key = &run->task->key;

	put_number(b, ",\"args\":{\"task\":", key->id);
	if (recording_has_runtimes(s->rec) && key->runtime != MODEL_NO_RUNTIME)
		put_number(b, ",\"runtime_id\":", key->runtime);
	if (run->is_gap_known) {
		put_number(b, ",\"sched_ns\":", run->sched_ns);
		put_number(b, ",\"idle_ns\":", run->idle_ns);
	}
	if (run->blocked_ns)
		put_number(b, ",\"blocked_ns\":", run->blocked_ns);
	if (run->waker) {
		strbuf_addf(b, ",\"woken_by\":\"%s\"", model_cause_name(run->waker->cause));
		if (run->waker->has_key)
			put_number(b, ",\"waker\":", run->waker->key.id);
	}
	if (run->path != MODEL_NO_PATH) {
		strbuf_addstr(b, ",\"await\":");
		strbuf_addstr(b, names_get(&s->trunks->waits, run->path));
	}
	if (run->is_open)
		strbuf_addstr(b, ",\"recording_ended_first\":true");
	strbuf_addstr(b, "}}");
}

static void put_head(const struct chrome_polls *s, struct strbuf *b, char phase,
		     const struct model_run *run)
{
	strbuf_addstr(b, ",\n{\"ph\":\"");
	strbuf_addch(b, phase);
	strbuf_addstr(b, run->flags ? "\",\"cat\":\"drop\",\"name\":"
				    : "\",\"cat\":\"poll\",\"name\":");
	strbuf_addstr(b, names_get(s->groups, recording_group_of(s->rec, run->task->key.type)));
}

/* Where and when a slice is, and whose: NULL: nobody's that is known. */
struct span {
	const struct model_task *task;
	uint32_t thread;
	uint64_t start_ns, end_ns;
};

/* A slice of a future; its args are to follow. */
static void put_future_head(const struct chrome_polls *s, struct strbuf *b, const char *category,
			    uint32_t kind, const struct span *span)
{
	strbuf_addf(b, ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", category);
	strbuf_addstr(b, names_get(&s->trunks->futures, kind));
	chrome_put_place(b, s->rec, span->thread, span->start_ns);
	put_time(b, ",\"dur\":", span->end_ns - span->start_ns);
	if (span->task)
		chrome_put_colour(b, span->task->nr);
	strbuf_addstr(b, ",\"args\":{");
}

/* Outer ones first: they begin and end together. */
static void put_inner(const struct chrome_polls *s, struct strbuf *b, struct trunk inner,
		      const struct span *span)
{
	for (uint32_t i = 0; i < inner.nr; i++) {
		put_future_head(s, b, "future", s->rec->awaits.future_of[inner.steps[i]], span);
		chrome_put_await(b, &s->rec->steps[inner.steps[i]]);
		strbuf_addstr(b, "}}");
	}
}

static void put_future(const struct chrome_polls *s, struct strbuf *b, const struct model_future *f,
		       struct trunk inner)
{
	const struct span span = { f->task, f->thread, f->start_ns, f->end_ns };

	put_future_head(s, b, "future_poll", s->trunks->kinds.of_future[f->future], &span);
	put_number(b, "\"self_ns\":", f->self_ns);
	if (f->flags)
		strbuf_addf(b, ",\"result\":\"%s\"", model_result_name(f->flags));
	if (f->is_open)
		strbuf_addstr(b, ",\"recording_ended_first\":true");
	strbuf_addstr(b, "}}");
	put_inner(s, b, inner, &span);
}

static void put_run(struct chrome_polls *s, struct strbuf *b, const struct model_run *run,
		    struct trunk inner)
{
	put_head(s, b, 'X', run);
	chrome_put_place(b, s->rec, run->thread, run->start_ns);
	put_time(b, ",\"dur\":", run->end_ns - run->start_ns);
	chrome_put_colour(b, run->task->nr);
	put_args(s, b, run);
	put_inner(s, b, inner,
		  &(struct span){ run->task, run->thread, run->start_ns, run->end_ns });
	put_arrow(s, b, run);
}

static void put_torn(struct chrome_polls *s, struct strbuf *b, const struct model_run *run)
{
	put_head(s, b, 'b', run);
	strbuf_addf(b, ",\"id\":\"torn%" PRIu64 "\"", ++s->nr_torn);
	chrome_put_place(b, s->rec, run->thread, run->start_ns);
	put_args(s, b, run);
	put_head(s, b, 'e', run);
	strbuf_addf(b, ",\"id\":\"torn%" PRIu64 "\"", s->nr_torn);
	chrome_put_place(b, s->rec, run->thread, run->end_ns);
	strbuf_addch(b, '}');
}

static struct strbuf *begin(struct chrome_polls *s, bool is_held)
{
	return s->sizes || is_held ? &s->scratch : &s->out->buf;
}

/* What was held back because it began together with that run; inner ones were held first. */
static void let_go(struct chrome_polls *s, uint32_t thread, uint64_t start_ns)
{
	size_t kept = 0;

	for (size_t i = s->held.nr; i-- > 0;)
		if (s->held.v[i].thread == thread && s->held.v[i].start_ns == start_ns) {
			strbuf_addstr(&s->out->buf, s->held.v[i].text);
			free(s->held.v[i].text);
			s->held.v[i].text = NULL;
		}
	vec_each (h, &s->held)
		if (h->text)
			s->held.v[kept++] = *h;
	s->held.nr = kept;
}

/* ns: how long what was written took. It nests with nothing. */
static void end_alone(struct chrome_polls *s, uint64_t ns)
{
	if (s->sizes) {
		thin_add(s->sizes, ns, s->scratch.len);
		strbuf_reset(&s->scratch);
	} else {
		out_spill(s->out);
	}
}

static void end(struct chrome_polls *s, bool is_held, uint32_t thread, uint64_t start_ns,
		uint64_t ns)
{
	if (!s->sizes && is_held) {
		vec_push(&s->held,
			 (struct chrome_held){ thread, start_ns, strbuf_take(&s->scratch) });
		return;
	}
	if (unlikely(s->held.nr))
		let_go(s, thread, start_ns);
	end_alone(s, ns);
}

/* Is it too short? */
static bool leave_out(struct chrome_polls *s, uint64_t ns)
{
	s->nr_runs++;
	s->nr_left_out += ns < s->min_ns;
	return ns < s->min_ns;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct chrome_polls *s = sink;
	uint64_t ns = run->end_ns - run->start_ns;
	bool is_held = run->around_ns == run->start_ns && !run->is_torn;
	struct strbuf *b = begin(s, is_held);
	struct trunk inner = nested_in_run(&s->nested, run);

	if (leave_out(s, ns))
		return;
	if (unlikely(run->is_torn)) {
		put_torn(s, b, run);
		end_alone(s, ns);
		return;
	}
	put_run(s, b, run, inner);
	end(s, is_held, run->thread, run->start_ns, ns);
}

static void on_future(void *sink, const struct model_future *f)
{
	struct chrome_polls *s = sink;
	uint64_t ns = f->end_ns - f->start_ns;
	bool is_held = f->around_ns == f->start_ns;
	struct strbuf *b = begin(s, is_held);
	struct trunk inner = nested_in_future(&s->nested, f);

	if (!trunks_show(s->trunks, f->future) || leave_out(s, ns))
		return;
	put_future(s, b, f, inner);
	end(s, is_held, f->thread, f->start_ns, ns);
}

/* Only those that somebody's poll has to answer for. They are told before the run around them. */
static void on_sleep(void *sink, const struct model_sleep *sleep)
{
	struct chrome_polls *s = sink;
	uint64_t ns = sleep->end_ns - sleep->start_ns;
	bool is_held = sleep->start_ns == sleep->around_ns;
	struct strbuf *b = begin(s, is_held);

	if (!sleep->task || !ns || ns < s->min_ns)
		return;
	strbuf_addf(b, ",\n{\"ph\":\"X\",\"cat\":\"sleep\",\"name\":\"asleep: %s\"",
		    model_sleep_name(sleep->flags));
	chrome_put_place(b, s->rec, sleep->thread, sleep->start_ns);
	put_time(b, ",\"dur\":", ns);
	strbuf_addch(b, '}');
	end(s, is_held, sleep->thread, sleep->start_ns, ns);
}

const struct model_ops chrome_polls_ops = { .run = on_run, .sleep = on_sleep, .future = on_future };

void chrome_polls_finish(struct chrome_polls *s)
{
	/* those whose outer run turned out to be none */
	while (s->held.nr)
		let_go(s, s->held.v[0].thread, s->held.v[0].start_ns);
}

void chrome_polls_release(struct chrome_polls *s)
{
	nested_release(&s->nested);
	strbuf_release(&s->scratch);
	vec_release(&s->held);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Runs as slices on the tracks of their threads, sleeps inside them as slices inside, and arrows
 * (*flows*) from what made a task runnable to the run that followed.
 *
 * Both ends of an arrow are written when the run is told: its beginning is an instant on the
 * waker's thread at the moment when the task became runnable. So there is no arrow with one end,
 * and nothing has to be kept. A task that wakes itself gets none: it would go from one poll of it
 * to the next, and tasks that do little else would take a third more.
 *
 * A reader sorts packets by time and keeps the order of the file among those of one nanosecond; the
 * end of a slice closes whatever began last. The model tells of runs when they are over, inner ones
 * first. So the order is right by itself, except where a run, sleep or poll of a future begins in
 * the same nanosecond as what is around it: its beginning is held back until that one is told. The
 * futures that a poll goes through, as far as only the path tells, are slices inside of it, and
 * begin and end with it. Torn runs do not nest with the others of their thread: each gets a track
 * of its own below the thread's.
 */
#include "export/perfetto.h"

static uint64_t track_of(uint32_t thread)
{
	return UUID_THREADS + thread;
}

/* What was just written was a slice of that length. */
static void written(struct slices *s, uint64_t ns)
{
	if (unlikely(s->sizes)) {
		thin_add(s->sizes, ns, s->buf->len);
		strbuf_reset(s->buf);
	} else {
		out_spill(s->out);
	}
}

static void put_origin(struct proto *w, uint64_t time_ns, uint32_t thread, unsigned name,
		       uint64_t flow)
{
	struct event_mark m = event_open(w, time_ns, TYPE_INSTANT, track_of(thread));

	event_name(w, name, CATEGORY_WAKE);
	proto_fixed64(w, EVENT_FLOW_IDS, flow);
	event_close(w, m);
}

/* Where the arrows to a run come from. They have the numbers from `flow` on. */
static unsigned put_origins(struct slices *s, struct proto *w, const struct model_run *run,
			    uint64_t flow)
{
	const struct model_task *t = run->task;
	const struct model_waker *by = run->waker;
	unsigned nr = 0;

	/* where runs overlapped, the latest wake may be one that came later */
	if (by && by->cause != MODEL_BY_SELF && by->thread != MODEL_NO_THREAD &&
	    by->time_ns >= s->from_ns && by->time_ns <= run->start_ns)
		put_origin(w, by->time_ns, by->thread, NAME_WAKE, flow + nr++);
	if (run->is_first && t->spawn_exact && t->spawn_thread != MODEL_NO_THREAD)
		put_origin(w, t->spawn_ns, t->spawn_thread, NAME_SPAWN, flow + nr++);
	return nr;
}

static void put_args(const struct slices *s, struct proto *w, const struct model_run *run)
{
	event_arg(w, PF_TASK, ARG_UINT, run->task->key.id);
	if (s->has_runtimes && run->task->key.runtime != MODEL_NO_RUNTIME)
		event_arg(w, PF_RUNTIME, ARG_UINT, run->task->key.runtime);
	if (run->is_gap_known) {
		event_arg(w, PF_SCHED_NS, ARG_UINT, run->sched_ns);
		if (run->idle_ns)
			event_arg(w, PF_IDLE_NS, ARG_UINT, run->idle_ns);
	}
	if (run->blocked_ns)
		event_arg(w, PF_BLOCKED_NS, ARG_UINT, run->blocked_ns);
	if (run->waker) {
		event_arg(w, PF_WOKEN_BY, ARG_STRING_IID, 1 + run->waker->cause);
		if (run->waker->has_key && run->waker->cause != MODEL_BY_SELF)
			event_arg(w, PF_WAKER, ARG_UINT, run->waker->key.id);
	}
	if (run->path != MODEL_NO_PATH)
		event_arg(w, PF_AWAIT, ARG_STRING_IID, ARG_PATHS + run->path);
	if (run->is_open)
		event_arg(w, PF_OPEN, ARG_BOOL, true);
}

/* Of a slice that is open: all polls of a task have one colour. */
static void put_colour(struct proto *w, const struct model_task *task)
{
	proto_uint(w, EVENT_CORRELATION_ID, 1 + task->nr);
}

/* Slices that begin and end together. */
struct bundle {
	const struct model_run *run;	   /* the outermost is one of these, … */
	const struct model_future *future; /* or NULL */
	struct trunk inner;		   /* futures inside of it, by its path */
	uint32_t thread;
	uint64_t start_ns, end_ns, around_ns, track;
};

static void put_inner(struct slices *s, struct proto *w, const struct bundle *b)
{
	const struct model_task *task = b->run ? b->run->task : b->future->task;

	for (uint32_t i = 0; i < b->inner.nr; i++) {
		struct event_mark m = event_open(w, b->start_ns, TYPE_SLICE_BEGIN, b->track);

		perfetto_put_future(w, s->rec, b->inner.steps[i]);
		put_colour(w, task);
		event_close(w, m);
	}
}

static inline void put_run(struct slices *s, struct proto *w, const struct model_run *run,
			   uint64_t track)
{
	uint32_t group = recording_group_of(s->rec, run->task->key.type);
	unsigned nr_flows = put_origins(s, w, run, s->next_flow);
	struct event_mark m = event_open(w, run->start_ns, TYPE_SLICE_BEGIN, track);

	if (run->flags)
		event_name(w, NAME_GROUPS + s->rec->nr_groups + group, CATEGORY_DROP);
	else
		event_name(w, NAME_GROUPS + group, CATEGORY_POLL);
	put_args(s, w, run);
	proto_uint(w, EVENT_SOURCE_IID, 1 + group);
	for (unsigned i = 0; i < nr_flows; i++)
		proto_fixed64(w, EVENT_ENDING_FLOW_IDS, s->next_flow++);
	put_colour(w, run->task);
	event_close(w, m);
}

static void put_future(const struct slices *s, struct proto *w, const struct model_future *f,
		       uint64_t track)
{
	struct event_mark m = event_open(w, f->start_ns, TYPE_SLICE_BEGIN, track);
	unsigned result = f->flags & ((1 << NR_RESULTS) - 1);

	event_name(w, perfetto_future_name(s->rec, s->nested.trunks->kinds.of_future[f->future]),
		   CATEGORY_FUTURE_POLL);
	event_arg(w, PF_SELF_NS, ARG_UINT, f->self_ns);
	if (result)
		event_arg(w, PF_RESULT, ARG_STRING_IID, ARG_RESULTS + 31 - __builtin_clz(result));
	if (f->is_open)
		event_arg(w, PF_OPEN, ARG_BOOL, true);
	proto_uint(w, EVENT_SOURCE_IID, perfetto_future_source(s->rec, f->future));
	if (f->task)
		put_colour(w, f->task);
	event_close(w, m);
}

static inline void put_begin(struct slices *s, struct proto *w, const struct bundle *b)
{
	if (likely(b->run))
		put_run(s, w, b->run, b->track);
	else
		put_future(s, w, b->future, b->track);
	if (unlikely(b->inner.nr))
		put_inner(s, w, b);
}

static inline void put_end(struct proto *w, const struct bundle *b)
{
	for (uint32_t i = 0; i <= b->inner.nr; i++)
		slice_end(w, b->end_ns, b->track);
}

static void hold(struct slices *s, uint32_t thread, uint64_t start_ns, struct strbuf *bytes)
{
	size_t len = bytes->len;

	vec_push(&s->held, (struct held){ thread, start_ns, strbuf_take(bytes), len });
}

/* What was held back because it began together with that run; inner ones were held first. */
static void let_go(struct slices *s, uint32_t thread, uint64_t start_ns)
{
	size_t kept = 0;

	for (size_t i = s->held.nr; i-- > 0;)
		if (s->held.v[i].thread == thread && s->held.v[i].start_ns == start_ns) {
			strbuf_add(s->buf, s->held.v[i].bytes, s->held.v[i].len);
			free(s->held.v[i].bytes);
			s->held.v[i].bytes = NULL;
		}
	vec_each (h, &s->held)
		if (h->bytes)
			s->held.v[kept++] = *h;
	s->held.nr = kept;
}

/* Begins with what is around it, or others may begin with it. */
static void put_entangled(struct slices *s, const struct bundle *b)
{
	struct strbuf bytes = STRBUF_INIT;
	struct proto w = proto_start(&bytes);
	bool is_instant = b->start_ns == b->end_ns;

	put_begin(s, &w, b);
	if (is_instant)
		put_end(&w, b);
	proto_finish(&w, &bytes);
	if (b->around_ns == b->start_ns) {
		hold(s, b->thread, b->start_ns, &bytes);
	} else {
		strbuf_add(s->buf, bytes.s, bytes.len);
		let_go(s, b->thread, b->start_ns);
	}
	strbuf_release(&bytes);
	if (is_instant)
		return;
	w = proto_start(s->buf);
	put_end(&w, b);
	proto_finish(&w, s->buf);
}

/* is_alone: on a track of its own. */
static void put_bundle(struct slices *s, const struct bundle *b, bool is_alone)
{
	struct proto w;

	if (unlikely(s->held.nr || b->around_ns == b->start_ns) && !s->sizes && !is_alone) {
		put_entangled(s, b);
		out_spill(s->out);
		return;
	}
	w = proto_start(s->buf);
	put_begin(s, &w, b);
	put_end(&w, b);
	proto_finish(&w, s->buf);
	written(s, b->end_ns - b->start_ns);
}

static uint64_t put_torn_track(struct slices *s, uint32_t thread)
{
	uint64_t uuid = UUID_FIRST_TORN + s->nr_torn++;
	struct proto w = proto_start(s->buf);
	size_t packet = packet_open(&w, 0), track = proto_open(&w, PACKET_TRACK_DESCRIPTOR);

	proto_uint(&w, TRACK_UUID, uuid);
	proto_uint(&w, TRACK_PARENT, track_of(thread));
	/* of one name: the reader draws them as one */
	proto_string(&w, s->buf, TRACK_NAME, "overlapping");
	proto_close(&w, track);
	proto_close(&w, packet);
	proto_finish(&w, s->buf);
	return uuid;
}

/* Is it too short? */
static bool leave_out(struct slices *s, uint64_t ns)
{
	s->nr_runs++;
	s->nr_left_out += ns < s->min_ns;
	return unlikely(ns < s->min_ns);
}

static void on_run(void *sink, const struct model_run *run)
{
	struct slices *s = sink;
	struct bundle b = { .run = run,
			    .thread = run->thread,
			    .start_ns = run->start_ns,
			    .end_ns = run->end_ns,
			    .around_ns = run->around_ns,
			    .track = track_of(run->thread) };

	if (unlikely(run->path != MODEL_NO_PATH || s->nested.threads.nr))
		b.inner = nested_in_run(&s->nested, run);
	if (leave_out(s, run->end_ns - run->start_ns))
		return;
	if (unlikely(run->is_torn))
		b.track = put_torn_track(s, run->thread);
	put_bundle(s, &b, run->is_torn);
}

static void on_future(void *sink, const struct model_future *f)
{
	struct slices *s = sink;
	struct bundle b = { .future = f,
			    .inner = nested_in_future(&s->nested, f),
			    .thread = f->thread,
			    .start_ns = f->start_ns,
			    .end_ns = f->end_ns,
			    .around_ns = f->around_ns,
			    .track = track_of(f->thread) };

	if (!trunks_show(s->nested.trunks, f->future) || leave_out(s, f->end_ns - f->start_ns))
		return;
	put_bundle(s, &b, false);
}

/* Only those that somebody's poll has to answer for. They are told before the run around them. */
static void on_sleep(void *sink, const struct model_sleep *sleep)
{
	struct slices *s = sink;
	uint64_t ns = sleep->end_ns - sleep->start_ns, track = track_of(sleep->thread);
	struct strbuf bytes = STRBUF_INIT, *buf = s->buf;
	bool is_held = sleep->start_ns == sleep->around_ns && !s->sizes;
	struct event_mark m;
	struct proto w;

	/* what is shorter than min_ns may lie in a run that is; what is not does not */
	if (!sleep->task || !ns || ns < s->min_ns)
		return;
	if (unlikely(is_held))
		buf = &bytes;
	w = proto_start(buf);
	m = event_open(&w, sleep->start_ns, TYPE_SLICE_BEGIN, track);
	event_name(&w, NAME_SLEEPS + (sleep->flags & 15), CATEGORY_SLEEP);
	event_close(&w, m);
	if (unlikely(is_held)) {
		proto_finish(&w, buf);
		hold(s, sleep->thread, sleep->start_ns, &bytes);
		buf = s->buf;
		w = proto_start(buf);
	}
	slice_end(&w, sleep->end_ns, track);
	proto_finish(&w, buf);
	written(s, ns);
}

const struct model_ops slices_ops = { .run = on_run, .sleep = on_sleep, .future = on_future };

void slices_finish(struct slices *s)
{
	/* those whose outer run turned out to be none, or torn */
	while (s->held.nr)
		let_go(s, s->held.v[s->held.nr - 1].thread, s->held.v[s->held.nr - 1].start_ns);
}

void slices_release(struct slices *s)
{
	vec_each (h, &s->held)
		free(h->bytes);
	vec_release(&s->held);
	nested_release(&s->nested);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tracks of single tasks: what each did at any time, as slices named after its states. There may be
 * millions of tasks, so only some get one: those that findings name, then those with the longest
 * poll or wait for a worker. Who they are is known at the end of a pass; the next one draws them.
 *
 * The tracks of *dense* tasks, those with very many polls, would be most of the file, and nobody
 * could see the slices: states of them that are shorter than a small part of the time are put
 * together with those beside them, as one slice that tells their sums.
 *
 * Slices, not Perfetto's own states: those came in 2026, and older readers would show nothing.
 */
#include "base/utf8.h"
#include "export/perfetto.h"
#include "model/shorten.h"

#define NAME_WIDTH  60
#define MAX_TRACKS  1000 /* of one id, which may be given again and again */
#define DENSE_POLLS 10000
/* Of the time; a dense track has at most twice as many slices. Wider than any screen. */
#define BRIEF_PARTS 8192

static bool is_worse(const struct chosen *a, const struct chosen *b)
{
	return a->score != b->score ? a->score > b->score : a->nr < b->nr;
}

/* chosen is in order, the worst first. */
static void insert(struct tasks *t, const struct chosen *new)
{
	size_t i;

	if (t->chosen.nr < t->nr_wanted)
		vec_push(&t->chosen, *new);
	for (i = t->chosen.nr - 1; i > 0 && is_worse(new, &t->chosen.v[i - 1]); i--)
		t->chosen.v[i] = t->chosen.v[i - 1];
	t->chosen.v[i] = *new;
}

static void on_candidate(void *sink, const struct model_task *task)
{
	struct tasks *t = sink;
	struct chosen c = { .nr = task->nr,
			    .key = task->key,
			    .score = MAX(task->max_poll_ns, task->max_sched_ns) };

	if (task->polls > DENSE_POLLS)
		vec_push(&t->dense, task->nr);
	if (t->nr_wanted == 0)
		return;
	if (t->chosen.nr < t->nr_wanted || is_worse(&c, &t->chosen.v[t->chosen.nr - 1]))
		insert(t, &c);
}

const struct model_ops tasks_choose_ops = { .task = on_candidate };

static bool is_same(const struct model_key *a, const struct model_key *b)
{
	return a->id == b->id && a->runtime == b->runtime;
}

static bool has_key(const struct chosen *chosen, size_t nr, const struct model_key *key)
{
	for (size_t i = 0; i < nr; i++)
		if (is_same(&chosen[i].key, key))
			return true;
	return false;
}

void tasks_settle(struct tasks *t, const struct finding *findings, size_t nr)
{
	VEC(struct chosen) first = { 0 };
	size_t nr_named;

	for (size_t i = 0; i < nr && first.nr < t->nr_wanted; i++)
		if (findings[i].has_task && !has_key(first.v, first.nr, &findings[i].task))
			vec_push(&first,
				 (struct chosen){ .nr = UINT64_MAX, .key = findings[i].task });
	nr_named = first.nr;
	for (size_t i = 0; i < t->chosen.nr && first.nr < t->nr_wanted; i++)
		if (!has_key(first.v, nr_named, &t->chosen.v[i].key))
			vec_push(&first, t->chosen.v[i]);
	vec_release(&t->chosen);
	for (size_t i = 0; i < first.nr; i++)
		vec_push(&t->chosen, first.v[i]);
	vec_release(&first);
}

void tasks_choose_id(struct tasks *t, uint64_t id)
{
	t->chosen.nr = 0;
	t->nr_wanted = MAX_TRACKS;
	vec_push(&t->chosen, (struct chosen){ .nr = UINT64_MAX,
					      .key = { .id = id, .runtime = MODEL_NO_RUNTIME } });
}

void tasks_release(struct tasks *t)
{
	vec_release(&t->chosen);
	vec_release(&t->dense);
	vec_release(&t->tracks);
	vec_release(&t->track_of_slot);
}

/* Its place among the chosen, from 1; 0: it is not one of them. */
static unsigned find_rank(const struct tasks *t, const struct model_task *task)
{
	for (size_t i = 0; i < t->chosen.nr; i++) {
		const struct chosen *c = &t->chosen.v[i];
		bool is_any = c->key.runtime == MODEL_NO_RUNTIME && c->key.id == task->key.id;

		if (c->nr == task->nr ||
		    (c->nr == UINT64_MAX && (is_any || is_same(&c->key, &task->key))))
			return i + 1;
	}
	return 0;
}

static bool is_dense(const struct tasks *t, const struct model_task *task)
{
	for (size_t i = 0; i < t->dense.nr; i++)
		if (t->dense.v[i] == task->nr)
			return true;
	return false;
}

/* Since the buffer had so much. */
static void wrote(struct tasks *t, size_t before)
{
	t->bytes += t->buf->len - before;
	t->is_full = t->max_bytes && t->bytes >= t->max_bytes;
}

static void put_track(struct tasks *t, const struct model_task *task, uint64_t uuid, unsigned rank)
{
	struct strbuf name = STRBUF_INIT;
	size_t before = t->buf->len;
	struct proto w = proto_start(t->buf);
	size_t packet = packet_open(&w, 0), track = proto_open(&w, PACKET_TRACK_DESCRIPTOR);
	char none[32];

	strbuf_addf(&name, "task %llu ", (unsigned long long)task->key.id);
	if (task->name) {
		strbuf_addch(&name, '"');
		strbuf_add_utf8(&name, task->name);
		strbuf_addstr(&name, "\" ");
	}
	shorten_type(&name, recording_type_name(t->rec, task->key.type, none), NAME_WIDTH);
	proto_uint(&w, TRACK_UUID, uuid);
	proto_uint(&w, TRACK_PARENT, UUID_TASKS);
	proto_string(&w, t->buf, TRACK_NAME, name.s);
	proto_uint(&w, TRACK_RANK, rank);
	proto_close(&w, track);
	proto_close(&w, packet);
	proto_finish(&w, t->buf);
	strbuf_release(&name);
	wrote(t, before);
}

static void on_spawn(void *sink, const struct model_task *task)
{
	struct tasks *t = sink;
	unsigned rank = find_rank(t, task);
	uint64_t uuid = UUID_FIRST_TASK + t->tracks.nr;

	while (t->track_of_slot.nr <= task->slot)
		vec_push(&t->track_of_slot, 0);
	t->track_of_slot.v[task->slot] = 0;
	if (!rank || t->tracks.nr >= t->nr_wanted || t->is_full)
		return;
	vec_push(&t->tracks, (struct task_track){ .uuid = uuid });
	if (is_dense(t, task))
		t->tracks.v[t->tracks.nr - 1].brief_ns = t->span_ns / BRIEF_PARTS;
	t->track_of_slot.v[task->slot] = t->tracks.nr;
	put_track(t, task, uuid, rank);
}

static struct task_track *track_of(struct tasks *t, const struct model_task *task)
{
	uint32_t nr = t->track_of_slot.v[task->slot];

	return nr ? &t->tracks.v[nr - 1] : NULL;
}

/* When it was spawned is certain only now. */
static void begin(struct task_track *track, const struct model_task *task)
{
	if (!track->has_begun)
		track->last_ns = task->spawn_ns;
	track->has_begun = true;
}

/* What came together on the track is drawn. */
static void put_brief(struct tasks *t, struct task_track *track)
{
	const struct brief *b = &track->brief;
	size_t before = t->buf->len;
	struct event_mark m;
	struct proto w;

	if (!b->nr || t->is_full)
		return;
	w = proto_start(t->buf);
	m = event_open(&w, b->start_ns, TYPE_SLICE_BEGIN, track->uuid);
	event_name(&w, b->nr > 1 ? NAME_BRIEF : b->name, CATEGORY_STATE);
	if (b->nr == 1 && b->tid)
		event_arg(&w, PF_TID, ARG_UINT, b->tid);
	if (b->nr > 1) {
		event_arg(&w, PF_POLLS, ARG_UINT, b->nr_runs);
		for (unsigned i = 0; i < MODEL_NR_STATES; i++)
			if (b->ns[i])
				event_arg(&w, PF_STATES_NS + i, ARG_UINT, b->ns[i]);
	}
	event_close(&w, m);
	slice_end(&w, track->last_ns, track->uuid);
	proto_finish(&w, t->buf);
	wrote(t, before);
	out_spill(t->out);
}

/* The next ns of the track. tid 0: on no thread. */
static void put_state(struct tasks *t, struct task_track *track, enum model_state state,
		      unsigned name, uint64_t ns, uint32_t tid)
{
	struct brief *b = &track->brief;

	/* what is long enough stands alone */
	if (ns >= track->brief_ns || track->last_ns - b->start_ns >= track->brief_ns) {
		put_brief(t, track);
		b->nr = 0;
	}
	if (!b->nr)
		*b = (struct brief){ .start_ns = track->last_ns, .name = name, .tid = tid };
	b->nr++;
	b->nr_runs += state == MODEL_RUNNING;
	b->ns[state] += ns;
	track->last_ns += ns;
}

/* Up to until_ns it did not run: that long idle and scheduled, and for the rest nobody knows. */
static void put_gap(struct tasks *t, struct task_track *track, uint64_t until_ns, uint64_t idle_ns,
		    uint64_t sched_ns)
{
	uint64_t ns[MODEL_NR_STATES] = { [MODEL_IDLE] = idle_ns, [MODEL_SCHEDULED] = sched_ns };
	static const enum model_state order[] = { MODEL_UNKNOWN, MODEL_IDLE, MODEL_SCHEDULED };

	if (until_ns < track->last_ns + idle_ns + sched_ns)
		return;
	ns[MODEL_UNKNOWN] = until_ns - track->last_ns - idle_ns - sched_ns;
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
		if (ns[order[i]])
			put_state(t, track, order[i], NAME_STATES + order[i], ns[order[i]], 0);
		track->drawn_ns[order[i]] += ns[order[i]];
	}
}

static void on_run(void *sink, const struct model_run *run)
{
	struct tasks *t = sink;
	struct task_track *track = track_of(t, run->task);

	if (likely(!track))
		return;
	begin(track, run->task);
	put_gap(t, track, run->start_ns, run->idle_ns, run->sched_ns);
	put_state(t, track, MODEL_RUNNING, run->flags ? NAME_DROPPING : NAME_STATES + MODEL_RUNNING,
		  run->end_ns - run->start_ns, recording_thread_tid(t->rec, run->thread));
}

static void on_task(void *sink, const struct model_task *task)
{
	struct tasks *t = sink;
	struct task_track *track = track_of(t, task);

	if (!track)
		return;
	begin(track, task);
	put_gap(t, track, task->end_ns, task->ns[MODEL_IDLE] - track->drawn_ns[MODEL_IDLE],
		task->ns[MODEL_SCHEDULED] - track->drawn_ns[MODEL_SCHEDULED]);
	put_brief(t, track);
}

const struct model_ops tasks_draw_ops = { .spawn = on_spawn, .run = on_run, .task = on_task };

// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/tracks.h"

/* Of the time; a dense track has at most twice as many slices. Wider than any screen. */
#define BRIEF_PARTS 8192

static void on_spawn(void *sink, const struct model_task *task)
{
	struct tracks *t = sink;
	unsigned rank = chosen_rank(t->chosen, task);

	while (t->track_of_slot.nr <= task->slot)
		vec_push(&t->track_of_slot, 0);
	t->track_of_slot.v[task->slot] = 0;
	if (!rank || t->v.nr >= t->chosen->nr_wanted || t->is_full)
		return;
	vec_push(&t->v, (struct track){ 0 });
	if (chosen_is_dense(t->chosen, task))
		t->v.v[t->v.nr - 1].brief_ns = t->span_ns / BRIEF_PARTS;
	t->track_of_slot.v[task->slot] = t->v.nr;
	t->ops->track(t->arg, task, t->v.nr - 1, rank);
}

static struct track *track_of(struct tracks *t, const struct model_task *task)
{
	uint32_t nr = t->track_of_slot.v[task->slot];

	return nr ? &t->v.v[nr - 1] : NULL;
}

/* When it was spawned is certain only now. */
static void begin(struct track *track, const struct model_task *task)
{
	if (!track->has_begun)
		track->last_ns = task->spawn_ns;
	track->has_begun = true;
}

/* What came together on the track is drawn. */
static void draw(struct tracks *t, struct track *track)
{
	if (track->states.nr && !t->is_full)
		t->ops->states(t->arg, track - t->v.v, &track->states, track->last_ns);
	track->states.nr = 0;
}

/* The next ns of the track. */
static void add_state(struct tracks *t, struct track *track, const struct track_states *next,
		      uint64_t ns)
{
	struct track_states *s = &track->states;

	/* what is long enough stands alone */
	if (ns >= track->brief_ns || track->last_ns - s->start_ns >= track->brief_ns)
		draw(t, track);
	if (!s->nr) {
		*s = *next;
		s->start_ns = track->last_ns;
	}
	s->nr++;
	s->nr_runs += next->state == MODEL_RUNNING;
	s->ns[next->state] += ns;
	track->last_ns += ns;
}

static void leave(struct tracks *t, struct track *track, size_t depth)
{
	for (; track->inside.nr > depth; track->inside.nr--)
		t->ops->leave(t->arg, track - t->v.v, track->last_ns);
}

/* From now on it is in the futures of that path. */
static void go_to(struct tracks *t, struct track *track, const struct model_task *task,
		  uint32_t path)
{
	const uint32_t *node_of = t->rec->awaits.node_of;
	struct trunk trunk = trunks_get(t->trunks, path, task->key.type);
	size_t same = 0;

	if (track->brief_ns)
		return;
	while (same < trunk.nr && same < track->inside.nr &&
	       node_of[track->inside.v[same]] == node_of[trunk.steps[same]])
		same++;
	if (same == track->inside.nr && same == trunk.nr)
		return;
	draw(t, track);
	leave(t, track, same);
	for (; same < trunk.nr && !t->is_full; same++) {
		t->ops->enter(t->arg, track - t->v.v, trunk.steps[same], track->last_ns);
		vec_push(&track->inside, trunk.steps[same]);
	}
}

/* Up to until_ns it did not run: that long idle and scheduled, and for the rest nobody knows. */
static void add_gap(struct tracks *t, struct track *track, uint64_t until_ns, uint64_t idle_ns,
		    uint64_t sched_ns, uint32_t path)
{
	uint64_t ns[MODEL_NR_STATES] = { [MODEL_IDLE] = idle_ns, [MODEL_SCHEDULED] = sched_ns };
	static const enum model_state order[] = { MODEL_UNKNOWN, MODEL_IDLE, MODEL_SCHEDULED };

	if (until_ns < track->last_ns + idle_ns + sched_ns)
		return;
	ns[MODEL_UNKNOWN] = until_ns - track->last_ns - idle_ns - sched_ns;
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
		struct track_states next = { .state = order[i],
					     .thread = MODEL_NO_THREAD,
					     .path = order[i] == MODEL_IDLE ? path
									    : MODEL_NO_PATH };

		if (ns[order[i]])
			add_state(t, track, &next, ns[order[i]]);
		track->drawn_ns[order[i]] += ns[order[i]];
	}
}

static void on_run(void *sink, const struct model_run *run)
{
	struct tracks *t = sink;
	struct track *track = track_of(t, run->task);
	struct track_states next = { .state = MODEL_RUNNING,
				     .is_drop = run->flags,
				     .thread = run->thread,
				     .path = MODEL_NO_PATH };

	if (likely(!track))
		return;
	begin(track, run->task);
	go_to(t, track, run->task, run->path);
	add_gap(t, track, run->start_ns, run->idle_ns, run->sched_ns, run->path);
	add_state(t, track, &next, run->end_ns - run->start_ns);
}

static void on_task(void *sink, const struct model_task *task)
{
	struct tracks *t = sink;
	struct track *track = track_of(t, task);

	if (!track)
		return;
	begin(track, task);
	/* where it was after its last run, mostly nobody saw */
	go_to(t, track, task, task->last_path);
	add_gap(t, track, task->end_ns, task->ns[MODEL_IDLE] - track->drawn_ns[MODEL_IDLE],
		task->ns[MODEL_SCHEDULED] - track->drawn_ns[MODEL_SCHEDULED], task->last_path);
	draw(t, track);
	leave(t, track, 0);
	vec_release(&track->inside);
}

const struct model_ops tracks_model_ops = { .spawn = on_spawn, .run = on_run, .task = on_task };

void tracks_finish(struct tracks *t)
{
	vec_each (track, &t->v) {
		draw(t, track);
		leave(t, track, 0);
	}
}

void tracks_release(struct tracks *t)
{
	vec_each (track, &t->v)
		vec_release(&track->inside);
	vec_release(&t->v);
	vec_release(&t->track_of_slot);
}

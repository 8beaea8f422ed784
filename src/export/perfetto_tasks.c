// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tracks of single tasks: slices named after the task's states, inside of slices of the futures
 * that it was in. Slices, not Perfetto's own states: those came in 2026, and older readers would
 * show nothing.
 */
#include "base/utf8.h"
#include "export/perfetto.h"
#include "model/shorten.h"

#define NAME_WIDTH 60

/* Since the buffer had so much. */
static void wrote(struct tasks *t, size_t before)
{
	t->bytes += t->buf->len - before;
	t->tracks.is_full = t->max_bytes && t->bytes >= t->max_bytes;
}

static uint64_t uuid_of(uint32_t track)
{
	return UUID_FIRST_TASK + track;
}

static void put_track(void *arg, const struct model_task *task, uint32_t nr, unsigned rank)
{
	struct tasks *t = arg;
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
	shorten_type(&name, recording_type_name(t->tracks.rec, task->key.type, none), NAME_WIDTH);
	proto_uint(&w, TRACK_UUID, uuid_of(nr));
	proto_uint(&w, TRACK_PARENT, UUID_TASKS);
	proto_string(&w, t->buf, TRACK_NAME, name.s);
	proto_uint(&w, TRACK_RANK, rank);
	proto_close(&w, track);
	proto_close(&w, packet);
	proto_finish(&w, t->buf);
	strbuf_release(&name);
	wrote(t, before);
}

static uint64_t name_of(const struct tasks *t, const struct track_states *s)
{
	if (s->nr > 1)
		return NAME_BRIEF;
	if (s->is_drop)
		return NAME_DROPPING;
	if (s->path != MODEL_NO_PATH)
		return perfetto_wait_name(t->tracks.rec, s->path);
	return NAME_STATES + s->state;
}

static void put_states(void *arg, uint32_t track, const struct track_states *s, uint64_t end_ns)
{
	struct tasks *t = arg;
	size_t before = t->buf->len;
	struct proto w = proto_start(t->buf);
	struct event_mark m = event_open(&w, s->start_ns, TYPE_SLICE_BEGIN, uuid_of(track));
	uint32_t tid = recording_thread_tid(t->tracks.rec, s->thread);

	event_name(&w, name_of(t, s), CATEGORY_STATE);
	if (s->nr == 1 && tid)
		event_arg(&w, PF_TID, ARG_UINT, tid);
	if (s->nr > 1) {
		event_arg(&w, PF_POLLS, ARG_UINT, s->nr_runs);
		for (unsigned i = 0; i < MODEL_NR_STATES; i++)
			if (s->ns[i])
				event_arg(&w, PF_STATES_NS + i, ARG_UINT, s->ns[i]);
	}
	event_close(&w, m);
	slice_end(&w, end_ns, uuid_of(track));
	proto_finish(&w, t->buf);
	wrote(t, before);
	out_spill(t->out);
}

static void enter(void *arg, uint32_t track, uint32_t step, uint64_t time_ns)
{
	struct tasks *t = arg;
	size_t before = t->buf->len;
	struct proto w = proto_start(t->buf);
	struct event_mark m = event_open(&w, time_ns, TYPE_SLICE_BEGIN, uuid_of(track));

	perfetto_put_future(&w, t->tracks.rec, step);
	event_close(&w, m);
	proto_finish(&w, t->buf);
	wrote(t, before);
}

static void leave(void *arg, uint32_t track, uint64_t time_ns)
{
	struct tasks *t = arg;
	size_t before = t->buf->len;
	struct proto w = proto_start(t->buf);

	slice_end(&w, time_ns, uuid_of(track));
	proto_finish(&w, t->buf);
	wrote(t, before);
}

const struct tracks_ops perfetto_tracks_ops = {
	.track = put_track, .states = put_states, .enter = enter, .leave = leave
};

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What the files of the Perfetto exporter share. Nobody outside includes this.
 *
 * Layout of the file: one *sequence* of packets. First come the clocks, then all names (a packet
 * refers to a name by its *iid*) and the tracks; then polls as they become certain, which is not in
 * the order of time, but Perfetto sorts; then counters and findings.
 */
#ifndef EXPORT_PERFETTO_H
#define EXPORT_PERFETTO_H

#include "base/map.h"
#include "base/vec.h"
#include "export/counters.h"
#include "export/export.h"
#include "export/nested.h"
#include "export/perfetto_fields.h"
#include "export/proto.h"
#include "export/thin.h"
#include "export/tracks.h"

/* Tracks by uuid; small ones take few bytes. */
enum {
	UUID_PROCESS = 1,
	UUID_FINDINGS,
	UUID_TASKS, /* holds the tracks of tasks */
	UUID_COUNTERS,
	UUID_SPANS = 15,   /* holds the tracks of spans */
	UUID_THREADS = 16, /* and the thread's number */
};
#define UUID_FIRST_TASK (UINT64_C(1) << 32)
#define UUID_FIRST_TORN (UINT64_C(2) << 32)
#define UUID_FIRST_SPAN (UINT64_C(3) << 32)

enum category {
	CATEGORY_POLL = 1,
	CATEGORY_DROP,
	CATEGORY_SLEEP,
	CATEGORY_WAKE,
	CATEGORY_STATE,
	CATEGORY_FINDING,
	CATEGORY_FUTURE,
	CATEGORY_FUTURE_POLL,
	CATEGORY_MARK,
	CATEGORY_SPAN
};

/* Names of events: these, then those of the polls and of the drops of each group, of futures on
 * paths, of what is waited for at each path, and of futures that are on none. */
enum {
	NAME_WAKE = 1,
	NAME_SPAWN,
	NAME_STATES, /* in the order of enum model_state */
	NAME_DROPPING = NAME_STATES + MODEL_NR_STATES,
	NAME_BRIEF,  /* many states, too short to be drawn */
	NAME_SLEEPS, /* by the EF_SLEEP_… flags */
	NAME_GROUPS = NAME_SLEEPS + 16,
};

enum arg {
	PF_TASK = 1,
	PF_SCHED_NS,
	PF_IDLE_NS,
	PF_BLOCKED_NS,
	PF_WOKEN_BY,
	PF_WAKER,
	PF_RUNTIME,
	PF_OPEN,
	PF_TID,
	PF_POLLS,
	PF_STATES_NS, /* in the order of enum model_state */
	PF_AWAIT = PF_STATES_NS + MODEL_NR_STATES,
	PF_SELF_NS,
	PF_RESULT,
	PF_ID,
};

/* Strings of args: the causes of wakes, what polls of futures return (by bit of the EF_FUTURE_…
 * flags, of which a greater one says more), then what is waited for at each path. */
#define ARG_RESULTS (1 + MODEL_NR_CAUSES)
#define NR_RESULTS  3
#define ARG_PATHS   (ARG_RESULTS + NR_RESULTS)

/* A slice whose beginning has to wait for that of the run around it. */
struct held {
	uint32_t thread;
	uint64_t start_ns;
	char *bytes;
	size_t len;
};

struct slices {
	const struct recording *rec;
	struct nested nested;
	struct strbuf *buf; /* of the output, or one to measure with */
	struct out *out;    /* NULL while measuring */
	uint64_t from_ns;   /* of the view: what was before it has no arrow */
	uint64_t min_ns;    /* shorter ones are left out */
	uint64_t nr_runs, nr_left_out;
	uint64_t next_flow, nr_torn;
	bool has_runtimes; /* more than one */
	uint64_t *sizes;   /* THIN_SIZES while measuring, else NULL */
	VEC(struct held) held;
};

extern const struct model_ops slices_ops; /* of a struct slices */
void slices_finish(struct slices *s);
void slices_release(struct slices *s);

/* Tracks of tasks, as the driver tells them. */
struct tasks {
	struct tracks tracks;
	struct chosen chosen;
	struct strbuf *buf;
	struct out *out;
	uint64_t max_bytes; /* 0: no limit */
	uint64_t bytes;
};

extern const struct tracks_ops perfetto_tracks_ops; /* of a struct tasks */

/* The program's own marks and spans. */
struct marks {
	const struct recording *rec;
	struct strbuf *buf;
	struct out *out;
	struct map tracks;  /* by name and lane: a number */
	uint64_t max_bytes; /* 0: no limit */
	uint64_t bytes, nr, nr_left_out;
};

extern const struct model_ops perfetto_marks_ops; /* of a struct marks */

void perfetto_put_counters(struct counters *c, struct strbuf *buf);

/* Clocks, names, tracks. */
void perfetto_put_defs(struct strbuf *buf, const struct recording *rec, const struct trunks *t);
/* The track that holds those of spans. */
void perfetto_put_spans(struct strbuf *buf);
void perfetto_put_findings(struct strbuf *buf, const struct recording *rec,
			   const struct finding *findings, size_t nr);
/* An instant on the track of findings. */
void perfetto_put_lost(struct strbuf *buf, uint64_t time_ns, uint64_t nr_lost);

static inline size_t packet_open(struct proto *w, uint64_t time_ns)
{
	size_t packet = proto_open(w, TRACE_PACKET);

	proto_uint(w, PACKET_TIMESTAMP, time_ns);
	proto_uint(w, PACKET_SEQUENCE_ID, 1);
	proto_uint(w, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	return packet;
}

/* An event in its packet. Both are closed by event_close. */
struct event_mark {
	size_t packet, event;
};

static inline struct event_mark event_open(struct proto *w, uint64_t time_ns, unsigned type,
					   uint64_t track)
{
	struct event_mark m;

	m.packet = packet_open(w, time_ns);
	m.event = proto_open(w, PACKET_TRACK_EVENT);
	proto_uint(w, EVENT_TYPE, type);
	proto_uint(w, EVENT_TRACK, track);
	return m;
}

static inline void event_close(struct proto *w, struct event_mark m)
{
	proto_close(w, m.event);
	proto_close(w, m.packet);
}

static inline void event_name(struct proto *w, uint64_t name, enum category category)
{
	proto_uint(w, EVENT_CATEGORY_IIDS, category);
	proto_uint(w, EVENT_NAME_IID, name);
}

static inline void event_arg(struct proto *w, enum arg name, unsigned field, uint64_t value)
{
	size_t arg = proto_open(w, EVENT_ARG);

	proto_uint(w, ARG_NAME_IID, name);
	proto_uint(w, field, value);
	proto_close(w, arg);
}

static inline uint64_t perfetto_wait_name(const struct recording *rec, uint32_t path)
{
	return NAME_GROUPS + UINT64_C(2) * rec->nr_groups + rec->awaits.nr_futures + path;
}

static inline uint64_t perfetto_future_name(const struct recording *rec, uint32_t kind)
{
	uint64_t first = NAME_GROUPS + UINT64_C(2) * rec->nr_groups;

	return first + kind + (kind < rec->awaits.nr_futures ? 0 : rec->nr_paths);
}

static inline uint64_t perfetto_step_source(const struct recording *rec, uint32_t step)
{
	return UINT64_C(1) + rec->nr_groups + step;
}

/* Where a future is written whose polls were recorded. */
static inline uint64_t perfetto_future_source(const struct recording *rec, uint32_t future)
{
	return perfetto_step_source(rec, rec->nr_steps) + future;
}

/* Of an event that is open: it is a future, and stands at its await. */
static inline void perfetto_put_future(struct proto *w, const struct recording *rec, uint32_t step)
{
	event_name(w, perfetto_future_name(rec, rec->awaits.future_of[step]), CATEGORY_FUTURE);
	proto_uint(w, EVENT_SOURCE_IID, perfetto_step_source(rec, step));
}

static inline void slice_end(struct proto *w, uint64_t time_ns, uint64_t track)
{
	event_close(w, event_open(w, time_ns, TYPE_SLICE_END, track));
}

#endif

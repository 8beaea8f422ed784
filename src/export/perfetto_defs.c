// SPDX-License-Identifier: MIT OR Apache-2.0
/* The beginning of a Perfetto file: clocks, names, tracks. */
#include <string.h>

#include "export/perfetto.h"
#include "model/shorten.h"

/* Wider than a slice is on most screens; the whole name stands with the source location. */
#define NAME_WIDTH 60
/* A jump of BOOTTIME against MONOTONIC that is no noise: the machine was suspended. */
#define SUSPEND_NS 1000000

static void put_clock(struct proto *w, unsigned id, uint64_t time_ns)
{
	size_t clock = proto_open(w, SNAPSHOT_CLOCK);

	proto_uint(w, CLOCK_ID, id);
	proto_uint(w, CLOCK_TIMESTAMP, time_ns);
	proto_close(w, clock);
}

/* flags: SEQUENCE_CLEARED for the first packet of all. */
static void put_snapshot(struct strbuf *buf, uint64_t time_ns, const struct clock_anchor *a,
			 unsigned flags)
{
	struct proto w = proto_start(buf);
	size_t packet = proto_open(&w, TRACE_PACKET), part;

	proto_uint(&w, PACKET_SEQUENCE_ID, 1);
	proto_uint(&w, PACKET_SEQUENCE_FLAGS, flags);
	part = proto_open(&w, PACKET_CLOCK_SNAPSHOT);
	put_clock(&w, OWN_CLOCK, time_ns);
	put_clock(&w, BUILTIN_MONOTONIC, a->mono_ns);
	put_clock(&w, BUILTIN_BOOTTIME, a->boot_ns);
	if (a->real_ns)
		put_clock(&w, BUILTIN_REALTIME, a->real_ns);
	proto_close(&w, part);
	if (flags & SEQUENCE_CLEARED) {
		part = proto_open(&w, PACKET_DEFAULTS);
		proto_uint(&w, DEFAULTS_CLOCK_ID, OWN_CLOCK);
		proto_close(&w, part);
	}
	proto_close(&w, packet);
	proto_finish(&w, buf);
}

/*
 * Between two snapshots the reader takes the offsets of the first, so their noise would move slices
 * against each other: only a suspend is worth another one.
 */
static void put_clocks(struct strbuf *buf, const struct recording *rec)
{
	uint32_t nr;
	const struct clock_anchor *anchors = trace_get_anchors(rec->trace, &nr);
	struct clock_anchor zero = trace_get_zero(rec->trace);
	/* where it never slept the two are one, but read one after the other */
	int64_t lead_ns = zero.boot_ns - zero.mono_ns;

	put_snapshot(buf, 0, &zero, SEQUENCE_CLEARED);
	for (uint32_t i = 0; i < nr; i++) {
		const struct clock_anchor *a = &anchors[i];
		int64_t lead = a->boot_ns - a->mono_ns;

		if (a->mono_ns <= zero.mono_ns || (__int128)lead - lead_ns < SUSPEND_NS)
			continue;
		put_snapshot(buf, a->mono_ns - zero.mono_ns, a, SEQUENCE_NEEDS_STATE);
		lead_ns = lead;
	}
}

static void put_interned(struct proto *w, struct strbuf *buf, unsigned field, uint64_t iid,
			 const char *text)
{
	size_t entry = proto_open(w, field);

	proto_uint(w, INTERNED_IID, iid);
	proto_string(w, buf, INTERNED_TEXT, text);
	proto_close(w, entry);
}

static const char *const categories[] = {
	[CATEGORY_POLL] = "poll",     [CATEGORY_DROP] = "drop",
	[CATEGORY_SLEEP] = "sleep",   [CATEGORY_WAKE] = "wake",
	[CATEGORY_STATE] = "state",   [CATEGORY_FINDING] = "finding",
	[CATEGORY_FUTURE] = "future", [CATEGORY_FUTURE_POLL] = "future_poll",
	[CATEGORY_MARK] = "mark",     [CATEGORY_SPAN] = "span",
};

static const char *const args[] = {
	[PF_TASK] = "task",
	[PF_SCHED_NS] = "sched_ns",
	[PF_IDLE_NS] = "idle_ns",
	[PF_BLOCKED_NS] = "blocked_ns",
	[PF_WOKEN_BY] = "woken_by",
	[PF_WAKER] = "waker",
	[PF_RUNTIME] = "runtime_id",
	[PF_OPEN] = "recording_ended_first",
	[PF_TID] = "tid",
	[PF_POLLS] = "polls",
	[PF_STATES_NS + MODEL_RUNNING] = "running_ns",
	[PF_STATES_NS + MODEL_SCHEDULED] = "scheduled_ns",
	[PF_STATES_NS + MODEL_IDLE] = "idle_ns",
	[PF_STATES_NS + MODEL_UNKNOWN] = "unknown_ns",
	[PF_AWAIT] = "await",
	[PF_SELF_NS] = "self_ns",
	[PF_RESULT] = "result",
	[PF_ID] = "id",
};

static const char *const names[] = {
	[NAME_WAKE] = "wake",
	[NAME_SPAWN] = "spawn",
	[NAME_STATES + MODEL_RUNNING] = "running",
	[NAME_STATES + MODEL_SCHEDULED] = "scheduled",
	[NAME_STATES + MODEL_IDLE] = "idle",
	[NAME_STATES + MODEL_UNKNOWN] = "unknown",
	[NAME_DROPPING] = "dropping",
	[NAME_BRIEF] = "many short polls",
};

static void put_sleep_names(struct proto *w, struct strbuf *buf)
{
	for (unsigned flags = 0; flags < 16; flags++) {
		struct strbuf name = STRBUF_INIT;

		strbuf_addstr(&name, "asleep");
		for (unsigned bit = 0; bit < 4; bit++)
			if (flags & 1 << bit)
				strbuf_addf(&name, "%s %s", flags & ((1 << bit) - 1) ? "," : ":",
					    event_descs[EV_SLEEP].flags[bit]);
		put_interned(w, buf, INTERNED_EVENT_NAMES, NAME_SLEEPS + flags, name.s);
		strbuf_release(&name);
	}
}

static void put_names(struct strbuf *buf)
{
	struct proto w = proto_start(buf);
	size_t packet = packet_open(&w, 0), data = proto_open(&w, PACKET_INTERNED_DATA);

	for (unsigned i = 1; i < ARRAY_SIZE(categories); i++)
		put_interned(&w, buf, INTERNED_CATEGORIES, i, categories[i]);
	for (unsigned i = 1; i < ARRAY_SIZE(args); i++)
		put_interned(&w, buf, INTERNED_ARG_NAMES, i, args[i]);
	for (unsigned i = 1; i < ARRAY_SIZE(names); i++)
		put_interned(&w, buf, INTERNED_EVENT_NAMES, i, names[i]);
	put_sleep_names(&w, buf);
	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++)
		put_interned(&w, buf, INTERNED_ARG_STRINGS, 1 + i, model_cause_name(i));
	for (unsigned bit = 0; bit < NR_RESULTS; bit++)
		put_interned(&w, buf, INTERNED_ARG_STRINGS, ARG_RESULTS + bit,
			     model_result_name(1 << bit));
	proto_close(&w, data);
	proto_close(&w, packet);
	proto_finish(&w, buf);
}

static void put_group(struct strbuf *buf, const struct recording *rec, uint32_t group)
{
	uint16_t type = rec->groups[group].type;
	const struct trace_type *t = type < rec->nr_types ? &rec->types[type] : NULL;
	struct strbuf name = STRBUF_INIT;
	struct proto w = proto_start(buf);
	size_t packet = packet_open(&w, 0), data = proto_open(&w, PACKET_INTERNED_DATA), source;
	char none[32];

	strbuf_addstr(&name, "drop: ");
	shorten_type(&name, recording_type_name(rec, type, none), NAME_WIDTH);
	put_interned(&w, buf, INTERNED_EVENT_NAMES, NAME_GROUPS + group, name.s + strlen("drop: "));
	put_interned(&w, buf, INTERNED_EVENT_NAMES, NAME_GROUPS + rec->nr_groups + group, name.s);
	strbuf_release(&name);
	source = proto_open(&w, INTERNED_SOURCES);
	proto_uint(&w, SOURCE_IID, 1 + group);
	proto_string(&w, buf, SOURCE_FUNCTION, recording_type_name(rec, type, none));
	if (t && t->file[0]) {
		proto_string(&w, buf, SOURCE_FILE, t->file);
		proto_uint(&w, SOURCE_LINE, t->line);
	}
	proto_close(&w, source);
	proto_close(&w, data);
	proto_close(&w, packet);
	proto_finish(&w, buf);
}

/* A place of source; file "": it is not known. */
static void put_source(struct strbuf *buf, uint64_t iid, const char *function, const char *file,
		       uint32_t line)
{
	struct proto w = proto_start(buf);
	size_t packet = packet_open(&w, 0), data = proto_open(&w, PACKET_INTERNED_DATA), source;

	source = proto_open(&w, INTERNED_SOURCES);
	proto_uint(&w, SOURCE_IID, iid);
	proto_string(&w, buf, SOURCE_FUNCTION, function);
	if (file[0]) {
		proto_string(&w, buf, SOURCE_FILE, file);
		proto_uint(&w, SOURCE_LINE, line);
	}
	proto_close(&w, source);
	proto_close(&w, data);
	proto_close(&w, packet);
	proto_finish(&w, buf);
}

/* What is waited for at a path: as the name of a slice, and to be told of a poll. */
static void put_path(struct strbuf *buf, const struct trunks *t, uint32_t path)
{
	struct proto w = proto_start(buf);
	size_t packet = packet_open(&w, 0), data = proto_open(&w, PACKET_INTERNED_DATA);
	const char *wait = names_get(&t->waits, path);

	put_interned(&w, buf, INTERNED_EVENT_NAMES, perfetto_wait_name(t->rec, path), wait);
	put_interned(&w, buf, INTERNED_ARG_STRINGS, ARG_PATHS + path, wait);
	proto_close(&w, data);
	proto_close(&w, packet);
	proto_finish(&w, buf);
}

static void put_futures(struct strbuf *buf, const struct trunks *t)
{
	const struct recording *rec = t->rec;

	for (uint32_t i = 0; i < t->kinds.nr; i++) {
		struct proto w = proto_start(buf);
		size_t packet = packet_open(&w, 0), data = proto_open(&w, PACKET_INTERNED_DATA);

		put_interned(&w, buf, INTERNED_EVENT_NAMES, perfetto_future_name(rec, i),
			     names_get(&t->futures, i));
		proto_close(&w, data);
		proto_close(&w, packet);
		proto_finish(&w, buf);
	}
	for (uint32_t i = 0; i < rec->nr_steps; i++)
		put_source(buf, perfetto_step_source(rec, i), step_name(&rec->steps[i]),
			   rec->steps[i].file, rec->steps[i].line);
	for (uint32_t i = 0; i < rec->nr_futures; i++)
		put_source(buf, perfetto_future_source(rec, i), rec->futures[i].name,
			   rec->futures[i].file, rec->futures[i].line);
	for (uint32_t i = 0; i < rec->nr_paths; i++)
		if (rec->paths[i].nr_steps)
			put_path(buf, t, i);
}

static void put_process(struct strbuf *buf, const struct recording *rec)
{
	const struct trace_meta *meta = rec->meta;
	const char *slash = strrchr(meta->exe, '/');
	struct proto w = proto_start(buf);
	size_t packet = packet_open(&w, 0), track = proto_open(&w, PACKET_TRACK_DESCRIPTOR);
	size_t process;

	proto_uint(&w, TRACK_UUID, UUID_PROCESS);
	proto_uint(&w, TRACK_CHILD_ORDERING, ORDERING_EXPLICIT);
	process = proto_open(&w, TRACK_PROCESS);
	proto_uint(&w, PROCESS_PID, meta->pid);
	proto_string(&w, buf, PROCESS_NAME, slash ? slash + 1 : meta->exe);
	for (uint32_t i = 0; i < meta->argc; i++)
		proto_string(&w, buf, PROCESS_CMDLINE, meta->argv[i]);
	proto_close(&w, process);
	proto_close(&w, track);
	proto_close(&w, packet);
	proto_finish(&w, buf);
}

static void put_thread(struct strbuf *buf, const struct recording *rec, uint32_t thread)
{
	struct proto w = proto_start(buf);
	size_t packet = packet_open(&w, 0), track = proto_open(&w, PACKET_TRACK_DESCRIPTOR), part;

	proto_uint(&w, TRACK_UUID, UUID_THREADS + thread);
	proto_uint(&w, TRACK_PARENT, UUID_PROCESS);
	part = proto_open(&w, TRACK_THREAD);
	proto_uint(&w, THREAD_PID, rec->meta->pid);
	proto_uint(&w, THREAD_TID, recording_thread_tid(rec, thread));
	proto_string(&w, buf, THREAD_NAME, recording_thread_name(rec, thread));
	proto_close(&w, part);
	proto_close(&w, track);
	proto_close(&w, packet);
	proto_finish(&w, buf);
}

/* counter_unit: NULL for a track of slices. */
static void put_track(struct strbuf *buf, uint64_t uuid, const char *name, int rank,
		      const char *counter_unit)
{
	struct proto w = proto_start(buf);
	size_t packet = packet_open(&w, 0), track = proto_open(&w, PACKET_TRACK_DESCRIPTOR), part;

	proto_uint(&w, TRACK_UUID, uuid);
	proto_uint(&w, TRACK_PARENT, UUID_PROCESS);
	proto_string(&w, buf, TRACK_NAME, name);
	proto_uint(&w, TRACK_RANK, rank);
	if (uuid == UUID_TASKS)
		proto_uint(&w, TRACK_CHILD_ORDERING, ORDERING_EXPLICIT);
	if (counter_unit) {
		part = proto_open(&w, TRACK_COUNTER);
		proto_string(&w, buf, COUNTER_UNIT_NAME, counter_unit);
		proto_close(&w, part);
	}
	proto_close(&w, track);
	proto_close(&w, packet);
	proto_finish(&w, buf);
}

void perfetto_put_defs(struct strbuf *buf, const struct recording *rec, const struct trunks *t)
{
	put_clocks(buf, rec);
	put_names(buf);
	for (uint32_t i = 0; i < rec->nr_groups; i++)
		put_group(buf, rec, i);
	put_futures(buf, t);
	put_process(buf, rec);
	put_track(buf, UUID_FINDINGS, "findings", 1, NULL);
	for (unsigned i = 0; i < NR_COUNTERS; i++) {
		const char *unit, *name = counter_name(i, &unit);

		put_track(buf, UUID_COUNTERS + i, name, 2 + i, unit);
	}
	put_track(buf, UUID_TASKS, "tasks", 2 + NR_COUNTERS, NULL);
	for (uint32_t i = 0; i < rec->nr_threads; i++)
		put_thread(buf, rec, i);
}

void perfetto_put_spans(struct strbuf *buf)
{
	put_track(buf, UUID_SPANS, "spans", 3 + NR_COUNTERS, NULL);
}

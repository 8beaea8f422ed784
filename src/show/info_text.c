// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace info` as text. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/format.h"
#include "show/info.h"

static const char *or_unknown(const char *s)
{
	return *s ? s : "unknown";
}

/* "label   text", the text made harmless for a terminal. */
static void add_text(struct strbuf *out, const char *label, char *text)
{
	strbuf_addf(out, "%-10s ", label);
	strbuf_add_clean(out, text, strlen(text));
	strbuf_addch(out, '\n');
	free(text);
}

#define add_row(out, label, ...) add_text(out, label, xasprintf(__VA_ARGS__))

static void format_start(const struct info *in, char *buf, size_t len)
{
	time_t seconds = in->start_real_ns / 1000000000;
	struct tm tm;

	if (!in->start_real_ns || !localtime_r(&seconds, &tm) ||
	    !strftime(buf, len, "%Y-%m-%d %H:%M:%S %z", &tm))
		snprintf(buf, len, "at an unknown time");
}

static void add_end(const struct info *in, struct strbuf *out)
{
	const struct trace_end *end = in->end;
	const char *sig = end->kind == TRACE_SIGNALED ? sigabbrev_np(end->status) : NULL;

	switch (end->kind) {
	case TRACE_CUT:
		add_row(out, "ended",
			in->damage->is_live
				? "not yet: still recording"
				: "cut: the recorder died, or writes it without a lock");
		break;
	case TRACE_EXITED:
		add_row(out, "ended", "program left with status %" PRIu32, end->status);
		break;
	case TRACE_SIGNALED:
		add_row(out, "ended", "program was killed by signal %" PRIu32 " (%s)", end->status,
			sig ? sig : "unknown");
		break;
	case TRACE_EXECED:
		add_row(out, "ended", "process became another program");
		break;
	case TRACE_STOPPED:
		add_row(out, "ended", "recording was stopped first: %s", info_stop_reason(in));
		break;
	case TRACE_GONE:
		add_row(out, "ended", "program ended; its status is known to its parent only");
		break;
	}
	if (end->kind == TRACE_CUT)
		add_row(out, "cost", "unknown");
	else if (end->target_cpu_ns)
		add_row(out, "cost", "futrace used %.3f s of CPU, the program %.3f s",
			end->tool_cpu_ns * 1e-9, end->target_cpu_ns * 1e-9);
	else
		add_row(out, "cost", "futrace used %.3f s of CPU", end->tool_cpu_ns * 1e-9);
}

static void add_origin(const struct info *in, struct strbuf *out)
{
	const struct trace_meta *m = in->meta;
	struct strbuf args = STRBUF_INIT;
	char start[64];

	for (uint32_t i = 0; i < m->argc; i++)
		strbuf_addf(&args, "%s%s", i ? " " : "", m->argv[i][0] ? m->argv[i] : "''");
	format_start(in, start, sizeof(start));
	add_row(out, "file", "%s", in->path);
	add_row(out, "program", "%s", or_unknown(m->exe));
	add_row(out, "command", "%s", or_unknown(args.s));
	add_row(out, "in", "%s", or_unknown(m->cwd));
	if (m->parent_pid)
		add_row(out, "process", "%" PRIu32 " of user %" PRIu32 ", child of %" PRIu32,
			m->pid, m->uid, m->parent_pid);
	else
		add_row(out, "process", "%" PRIu32 " of user %" PRIu32, m->pid, m->uid);
	add_row(out, "recorded", "%s, %.6f s, by %s", start, trace_get_duration(in->t) * 1e-9,
		or_unknown(m->tool));
	add_row(out, "machine", "%s, %s, %" PRIu32 " x %s", or_unknown(m->host), or_unknown(m->os),
		m->nr_cpus, or_unknown(m->cpu));
	if (m->clock == CLOCK_KIND_TSC)
		add_row(out, "clock", "TSC, %.6f GHz, %" PRIu32 " anchor%s", in->ticks_per_ns,
			in->nr_anchors, plural(in->nr_anchors));
	else
		add_row(out, "clock", "CLOCK_MONOTONIC, %" PRIu32 " anchor%s", in->nr_anchors,
			plural(in->nr_anchors));
	strbuf_release(&args);
}

static void add_damage(const struct info *in, struct strbuf *out)
{
	const struct trace_damage *d = in->damage;

	if (d->bad_blocks || d->bad_events || d->bytes_skipped)
		add_row(out, "damage",
			"%" PRIu64 " blocks, %" PRIu64 " events and %" PRIu64
			" bytes could not be read",
			d->bad_blocks, d->bad_events, d->bytes_skipped);
	else
		add_row(out, "damage", "none");
	if (in->end->nr_unslotted)
		add_row(out, "unseen", "%" PRIu64 " threads could not be recorded",
			in->end->nr_unslotted);
	if (in->end->nr_no_path || in->end->nr_bad_path)
		add_row(out, "paths",
			"%" PRIu64 " runs without one: %" PRIu64 " for want of room, %" PRIu64
			" not understood",
			in->end->nr_no_path + in->end->nr_bad_path, in->end->nr_no_path,
			in->end->nr_bad_path);
	if (in->end->nr_unfollowed)
		add_row(out, "children", "%" PRIu64 " forked and not followed (record --follow)",
			in->end->nr_unfollowed);
	if (in->end->nr_unredirected)
		add_row(out, "unwatched",
			"%" PRIu64 " functions were not redirected, in libraries loaded later or "
			"where code may not be changed",
			in->end->nr_unredirected);
	if (in->end->nr_apart)
		add_row(out, "apart",
			"%" PRIu64
			" libraries with an async runtime, loaded by dlmopen, are not recorded",
			in->end->nr_apart);
}

/* Also of what is no kind: the recorder counts as kind 0 what it could not tell apart. */
static const char *kind_name(unsigned kind)
{
	return event_descs[kind].name ? event_descs[kind].name : "unknown";
}

/* What is unreadable is lost as well, and nobody knows exactly how much that is. */
static void add_lost(const struct info *in, struct strbuf *out)
{
	const struct trace_damage *d = in->damage;
	bool damaged = d->bad_blocks || d->bad_events || (d->bytes_skipped && !d->cut);
	uint64_t nr = in->nr_lost + d->bad_events;

	if (damaged && !nr)
		add_row(out, "lost", "unknown: the file is damaged");
	else
		add_row(out, "lost", "%s%" PRIu64 " event%s%s", damaged ? "at least " : "", nr,
			plural(nr),
			d->is_live ? " so far"
			: d->cut   ? " up to the cut"
				   : "");
}

static void add_counts(const struct info *in, struct strbuf *out)
{
	uint64_t size = trace_get_size(in->t);

	for (uint32_t i = 0; i < in->nr_runtimes; i++)
		add_row(out, "runtime", "%s %s in %s%s", or_unknown(in->runtimes[i].name),
			in->runtimes[i].version, info_object_path(in, &in->runtimes[i]),
			in->has_run[i] ? "" : " (never ran)");
	add_row(out, "types", "%" PRIu32 " task type%s, %" PRIu32 " of them seen", in->nr_types,
		plural(in->nr_types), in->nr_used_types);
	add_row(out, "threads", "%" PRIu32, in->nr_threads);
	add_row(out, "size", "%" PRIu64 " bytes, %.2f per event", size,
		in->nr_events ? (double)size / in->nr_events : 0.0);
	add_lost(in, out);
	add_row(out, "events", "%" PRIu64, in->nr_events);
	for (unsigned i = 0; i < EV_MAX; i++) {
		if (!in->nr_of[i] && !in->lost[i])
			continue;
		strbuf_addf(out, "  %-14s %14" PRIu64, kind_name(i), in->nr_of[i]);
		if (in->lost[i])
			strbuf_addf(out, "  and %" PRIu64 " lost", in->lost[i]);
		strbuf_addch(out, '\n');
	}
}

void info_text(const struct info *in, struct strbuf *out)
{
	add_origin(in, out);
	add_end(in, out);
	add_damage(in, out);
	add_counts(in, out);
}

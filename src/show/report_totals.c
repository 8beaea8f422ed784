// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The first paragraph of a report: what was recorded, what was lost, what is not known, and what
 * the recording cost. A line that has nothing to say is left out, and details come with --verbose.
 */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "export/json_parts.h"
#include "show/report.h"
#include "show/wrap.h"

/*
 * What an event costs the program, in tenths of a nanosecond: in a storm of polls, where the hooks
 * stay in the caches, and in a server that does other things between two events (bench/RESULTS.md).
 */
#define AGENT_EVENT_WARM 72
#define AGENT_EVENT_COLD 560

#define LABEL		 12 /* columns of the word that begins a line */

static void count_threads(struct report_totals *t, const struct report *r)
{
	uint64_t duration_ns = model_get_duration(r->model);
	const struct model_thread *threads;
	size_t nr;

	threads = analyzer_get_threads(r->analyzer, &nr);
	for (size_t i = 0; i < nr; i++) {
		t->nr_threads[threads[i].kind]++;
		if (threads[i].kind == MODEL_WORKER)
			t->workers_busy_ns += threads[i].busy_ns;
	}
	if (t->nr_threads[MODEL_WORKER] && duration_ns)
		t->workers_busy = (double)t->workers_busy_ns /
				  ((double)t->nr_threads[MODEL_WORKER] * (double)duration_ns);
}

void report_totals_init(struct report_totals *t, const struct report *r)
{
	const struct by_type_row *rows = by_type_get_rows(analyzer_get_types(r->analyzer));
	uint64_t nr_events = trace_get_nr_events(r->rec.trace);

	*t = (struct report_totals){ 0 };
	by_type_get_total(analyzer_get_types(r->analyzer), &t->all);
	by_type_get_kind(analyzer_get_types(r->analyzer), TRACE_BLOCKING, &t->blocking);
	by_type_get_kind(analyzer_get_types(r->analyzer), TRACE_BLOCK_ON, &t->roots);
	t->wakes = model_sum_wakes(t->all.wakes);
	count_threads(t, r);
	t->lost_sum = recording_get_lost(&r->rec, r->model, t->lost);
	for (uint32_t i = 0; i < r->rec.nr_groups; i++) {
		t->nr_unnamed += rows[i].nr_tasks && !rows[i].group->name;
		t->nr_ambiguous +=
			rows[i].nr_tasks && rows[i].group->name && !rows[i].group->is_exact;
	}
	t->agent_min_ns = nr_events * AGENT_EVENT_WARM / 10;
	t->agent_max_ns = nr_events * AGENT_EVENT_COLD / 10;
}

void report_totals_release(struct report_totals *t)
{
	by_type_row_release(&t->all);
	by_type_row_release(&t->blocking);
	by_type_row_release(&t->roots);
}

static void add_program(const struct report *r, struct strbuf *out)
{
	uint64_t start = model_get_start(r->model), end = model_get_end(r->model);
	uint64_t duration = trace_get_duration(r->rec.trace);
	char a[FORMAT_SIZE], b[FORMAT_SIZE], text[RECORDING_OUTCOME_SIZE];

	strbuf_addstr(out, "program     ");
	strbuf_add_clean(out, r->rec.meta->exe, strlen(r->rec.meta->exe));
	strbuf_addf(out, " (pid %u)\nrecorded    %s; %s\n", r->rec.meta->pid,
		    format_span(duration, a), recording_get_outcome(&r->rec, text));
	if (start || end < duration)
		strbuf_addf(out, "looked at   %s from %s on\n", format_span(end - start, a),
			    format_span(start, b));
	if (r->view.filter) {
		strbuf_addstr(out, "looked at   tasks with ");
		strbuf_add_clean(out, r->filter_text, strlen(r->filter_text));
		strbuf_addstr(out, " only; threads are all there\n");
	}
}

static void add_tasks(const struct report *r, const struct report_totals *t, struct strbuf *out)
{
	bool is_live = trace_get_damage(r->rec.trace)->is_live;
	char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];

	strbuf_addf(out, "tasks       %s (%s alive %s), ", format_grouped(t->all.nr_tasks, a),
		    format_grouped(t->all.ends[MODEL_ALIVE], b), is_live ? "now" : "at the end");
	strbuf_addf(out, "%s poll%s, %s wake%s (%s by the task itself)\n",
		    format_grouped(t->all.polls, a), plural(t->all.polls),
		    format_grouped(t->wakes, b), plural(t->wakes),
		    format_grouped(t->all.wakes[MODEL_BY_SELF], c));
}

static void add_threads(const struct report_totals *t, struct strbuf *out)
{
	char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];

	strbuf_addf(out, "threads     %s worker%s", format_grouped(t->nr_threads[MODEL_WORKER], a),
		    plural(t->nr_threads[MODEL_WORKER]));
	if (t->nr_threads[MODEL_WORKER])
		strbuf_addf(out, " (busy %.*f%% of the time)", t->workers_busy < 0.0995 ? 1 : 0,
			    t->workers_busy * 100);
	strbuf_addf(out, ", %s blocking, %s other%s\n",
		    format_grouped(t->nr_threads[MODEL_BLOCKING], b),
		    format_grouped(t->nr_threads[MODEL_OTHER], c),
		    plural(t->nr_threads[MODEL_OTHER]));
}

static void add_spread(const struct histogram *h, const char *what, struct strbuf *out)
{
	char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];

	if (h->nr)
		strbuf_addf(out, "%s p50 %s, p99 %s, max %s", what,
			    format_span(histogram_percentile(h, 50), a),
			    format_span(histogram_percentile(h, 99), b), format_span(h->max, c));
}

/* A closure waits for a thread of the pool, then runs: once, so its times are not those of polls.
 */
static void add_blocking(const struct report_totals *t, struct strbuf *out)
{
	const struct by_type_row *row = &t->blocking;
	char a[FORMAT_SIZE];

	if (!row->nr_tasks)
		return;
	strbuf_addf(out, "blocking    %s closure%s", format_grouped(row->nr_tasks, a),
		    plural(row->nr_tasks));
	add_spread(&row->sched, ": queued", out);
	add_spread(&row->poll, row->sched.nr ? "; ran" : ": ran", out);
	strbuf_addch(out, '\n');
}

/* Were functions of block_on to be redirected? Then there is a type for its futures. */
static bool are_roots_looked_for(const struct report *r)
{
	for (uint32_t i = 0; i < r->rec.nr_types; i++)
		if (r->rec.types[i].kind == TRACE_BLOCK_ON)
			return true;
	return false;
}

/* They are no tasks, but are listed and summed up with them. */
static void add_roots(const struct report *r, const struct report_totals *t, struct strbuf *out)
{
	uint64_t nr = t->roots.nr_tasks;
	char a[FORMAT_SIZE], b[FORMAT_SIZE];

	if (nr)
		strbuf_addf(out, "block_on    %s of these %s, with %s poll%s\n",
			    format_grouped(nr, a),
			    nr == 1 ? "is a root future" : "are root futures",
			    format_grouped(t->roots.polls, b), plural(t->roots.polls));
	else if (t->all.nr_tasks && !are_roots_looked_for(r))
		strbuf_addstr(out, "block_on    not recorded ('futrace doctor' shows why, if not "
				   "--no-roots)\n");
}

#define MAX_RUNTIMES 8 /* lines for them */

static void add_runtime(const struct report *r, uint32_t runtime, const struct by_runtime_row *row,
			struct strbuf *out)
{
	bool is_known = runtime < r->rec.nr_runtimes;
	char *name = is_known ? recording_runtime_name(&r->rec, runtime) : xstrdup("unknown");
	char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];

	strbuf_addstr(out, "runtime     ");
	strbuf_add_clean(out, name, strlen(name));
	free(name);
	strbuf_addf(out, ": %s task%s, %s poll%s, busy %s", format_grouped(row->nr_tasks, a),
		    plural(row->nr_tasks), format_grouped(row->polls, b), plural(row->polls),
		    format_span(row->busy_ns, c));
	if (row->nr_workers)
		strbuf_addf(out, "; %s worker%s", format_grouped(row->nr_workers, a),
			    plural(row->nr_workers));
	if (row->nr_blocking)
		strbuf_addf(out, "%s %s blocking", row->nr_workers ? "," : ";",
			    format_grouped(row->nr_blocking, a));
	strbuf_addch(out, '\n');
}

/* Where there is one, all that is said is said of it. */
static void add_runtimes(const struct report *r, struct strbuf *out)
{
	const struct by_runtime_row *rows = by_runtime_get_rows(analyzer_get_runtimes(r->analyzer));
	uint32_t nr = 0, nr_said = 0;
	char a[FORMAT_SIZE];

	for (uint32_t i = 0; i < r->rec.nr_runtimes; i++)
		nr += rows[i].nr_tasks > 0;
	if (nr < 2)
		return;
	nr += rows[r->rec.nr_runtimes].nr_tasks > 0;
	for (uint32_t i = 0; i <= r->rec.nr_runtimes; i++) {
		if (!rows[i].nr_tasks)
			continue;
		if (nr > MAX_RUNTIMES && nr_said == MAX_RUNTIMES - 1)
			break;
		add_runtime(r, i, &rows[i], out);
		nr_said++;
	}
	if (nr_said < nr)
		strbuf_addf(out, "runtime     %s more, see --json\n",
			    format_grouped(nr - nr_said, a));
}

/* A cut file skips what is left of its last block; that is no damage. */
static bool is_damaged(const struct report *r)
{
	const struct trace_damage *d = trace_get_damage(r->rec.trace);

	return d->bad_blocks || d->bad_events || (d->bytes_skipped && !d->cut);
}

/* What is unreadable is lost as well, and how much that is nobody knows exactly. */
static void add_lost_sum(const struct report *r, uint64_t sum, struct strbuf *out)
{
	const struct trace_damage *d = trace_get_damage(r->rec.trace);
	uint64_t all = sum + d->bad_events;
	const char *until = d->is_live ? " so far" : d->cut ? " up to the cut" : "";
	char a[FORMAT_SIZE], b[FORMAT_SIZE];

	if (!is_damaged(r) && !sum)
		strbuf_addf(out, "nothing%s", until);
	else if (!is_damaged(r))
		strbuf_addf(out, "%s event%s%s", format_grouped(sum, a), plural(sum), until);
	else if (!all)
		strbuf_addstr(out, "unknown: the file is damaged");
	else
		strbuf_addf(out, "at least %s event%s: %s unreadable, %s while recording",
			    format_grouped(all, a), plural(all), format_grouped(d->bad_events, b),
			    sum ? "the others" : "none");
}

static void add_lost(const struct report *r, const struct report_totals *t, struct strbuf *out)
{
	const struct trace_end *end = trace_get_end(r->rec.trace);
	const char *sep = " (";
	char a[FORMAT_SIZE];

	strbuf_addstr(out, "lost        ");
	add_lost_sum(r, t->lost_sum, out);
	for (unsigned i = 0; t->lost_sum && i < EV_MAX; i++) {
		if (!t->lost[i])
			continue;
		strbuf_addf(out, "%s%s %s", sep,
			    event_descs[i].name ? event_descs[i].name : "unknown",
			    format_grouped(t->lost[i], a));
		sep = ", ";
	}
	strbuf_addstr(out, t->lost_sum ? ")" : "");
	if (end->nr_unslotted)
		strbuf_addf(out, "; %s thread%s not recorded", format_grouped(end->nr_unslotted, a),
			    end->nr_unslotted == 1 ? " was" : "s were");
	if (end->nr_no_path || end->nr_bad_path)
		strbuf_addf(out, "\npaths       of %s runs it is not known where their tasks stood",
			    format_grouped(end->nr_no_path + end->nr_bad_path, a));
	if (end->nr_unfollowed)
		strbuf_addf(
			out,
			"\nchildren    %s forked and not followed (record --follow: up to 64 processes at a time)",
			format_grouped(end->nr_unfollowed, a));
	if (end->nr_unredirected)
		strbuf_addf(
			out,
			"\nunwatched   %s function%s not redirected, in libraries loaded later or "
			"where code may not be changed: root futures, spawns or sleeps that pass "
			"through are not seen",
			format_grouped(end->nr_unredirected, a),
			end->nr_unredirected == 1 ? " was" : "s were");
	if (end->nr_apart)
		strbuf_addf(
			out,
			"\napart       %s librar%s an async runtime not recorded: loaded by dlmopen, into a "
			"link namespace of %s own",
			format_grouped(end->nr_apart, a),
			end->nr_apart == 1 ? "y with" : "ies with",
			end->nr_apart == 1 ? "its" : "their");
	if (t->all.ns[MODEL_UNKNOWN])
		strbuf_addf(out,
			    "\nunknown     what tasks did for %s, after a loss or before a first "
			    "sighting",
			    format_span(t->all.ns[MODEL_UNKNOWN], a));
	strbuf_addch(out, '\n');
}

static void add_file(const struct report *r, struct strbuf *out)
{
	const struct trace_damage *d = trace_get_damage(r->rec.trace);
	const struct model_totals *totals = model_get_totals(r->model);
	uint64_t nr_events = trace_get_nr_events(r->rec.trace);
	char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];

	if (r->verbose || d->cut || is_damaged(r))
		strbuf_addf(out, "file        %s event%s, %s bytes, %s\n",
			    format_grouped(nr_events, a), plural(nr_events),
			    format_grouped(trace_get_size(r->rec.trace), b),
			    d->is_live	    ? "still recording: this is what it has so far"
			    : d->cut	    ? "CUT: it has no end, later events are missing"
			    : is_damaged(r) ? "DAMAGED"
					    : "complete");
	if (is_damaged(r))
		strbuf_addf(out,
			    "DAMAGE      %s block%s and %s event%s unreadable, %s byte%s skipped\n",
			    format_grouped(d->bad_blocks, a), plural(d->bad_blocks),
			    format_grouped(d->bad_events, b), plural(d->bad_events),
			    format_grouped(d->bytes_skipped, c), plural(d->bytes_skipped));
	if (totals->nr_stray)
		strbuf_addf(out, "stray       %s event%s nothing that came before\n",
			    format_grouped(totals->nr_stray, a),
			    totals->nr_stray == 1 ? " fits" : "s fit");
}

static void add_unresolved(const struct report *r, const struct report_totals *t,
			   struct strbuf *out)
{
	const char *sep = "unresolved  ";
	char a[FORMAT_SIZE];

	if (t->nr_unnamed)
		strbuf_addf(out, "%s%s type%s without a name", sep,
			    format_grouped(t->nr_unnamed, a), plural(t->nr_unnamed));
	sep = t->nr_unnamed ? "; " : sep;
	if (t->nr_ambiguous)
		strbuf_addf(out, "%s%s type%s with several possible names", sep,
			    format_grouped(t->nr_ambiguous, a), plural(t->nr_ambiguous));
	sep = t->nr_ambiguous ? "; " : sep;
	if (t->all.nr_first_seen && model_get_start(r->model))
		strbuf_addf(out, "%s%s task%s spawned before, or unseen", sep,
			    format_grouped(t->all.nr_first_seen, a),
			    t->all.nr_first_seen == 1 ? " was" : "s were");
	else if (t->all.nr_first_seen)
		strbuf_addf(out, "%sthe spawn of %s task%s was not seen: %s life begins later", sep,
			    format_grouped(t->all.nr_first_seen, a), plural(t->all.nr_first_seen),
			    t->all.nr_first_seen == 1 ? "its" : "their");
	if (t->nr_unnamed || t->nr_ambiguous || t->all.nr_first_seen)
		strbuf_addch(out, '\n');
}

static void add_cost(const struct report *r, const struct report_totals *t, struct strbuf *out)
{
	const struct trace_end *end = trace_get_end(r->rec.trace);
	char a[FORMAT_SIZE], b[FORMAT_SIZE], c[FORMAT_SIZE];

	if (end->kind == TRACE_CUT) {
		strbuf_addf(out, "cost        not known: the recording has no end%s\n",
			    trace_get_damage(r->rec.trace)->is_live ? " yet" : "");
		return;
	}
	strbuf_addf(out, "cost        futrace used %s of CPU", format_span(end->tool_cpu_ns, a));
	if (end->target_cpu_ns)
		strbuf_addf(out, ", the program %s (agent: %s to %s, estimated)",
			    format_span(end->target_cpu_ns, a), format_span(t->agent_min_ns, b),
			    format_span(MIN(t->agent_max_ns, end->target_cpu_ns), c));
	if (model_get_start(r->model) || model_get_end(r->model) < trace_get_duration(r->rec.trace))
		strbuf_addstr(out, ", for all of the recording");
	strbuf_addch(out, '\n');
}

void report_totals_text(const struct report *r, const struct report_totals *t, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;

	add_program(r, &text);
	add_tasks(r, t, &text);
	add_roots(r, t, &text);
	add_threads(t, &text);
	add_blocking(t, &text);
	add_runtimes(r, &text);
	add_lost(r, t, &text);
	add_file(r, &text);
	add_unresolved(r, t, &text);
	add_cost(r, t, &text);
	for (char *save = NULL, *line = strtok_r(text.s, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		strbuf_add(out, line, LABEL);
		wrap_text(out, line + LABEL, LABEL, r->styles.width);
	}
	strbuf_release(&text);
}

static void json_spread(struct json *j, const char *what, const struct histogram *h)
{
	static const char *const keys[] = { "p50_ns", "p90_ns", "p99_ns", "max_ns" };
	const uint64_t values[] = { histogram_percentile(h, 50), histogram_percentile(h, 90),
				    histogram_percentile(h, 99), h->max };

	json_open_object(j, what);
	json_uint(j, "count", h->nr);
	json_uint(j, "sum_ns", h->sum);
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
		if (h->nr)
			json_uint(j, keys[i], values[i]);
		else
			json_null(j, keys[i]);
	}
	json_close_object(j);
}

static void json_blocking(const struct report_totals *t, struct json *j)
{
	json_open_object(j, "blocking");
	json_uint(j, "tasks", t->blocking.nr_tasks);
	json_spread(j, "queue", &t->blocking.sched);
	json_spread(j, "run", &t->blocking.poll);
	json_close_object(j);
}

void report_totals_json(const struct report *r, const struct report_totals *t, struct json *j)
{
	const struct trace_end *end = trace_get_end(r->rec.trace);

	json_open_object(j, "totals");
	json_uint(j, "start_ns", model_get_start(r->model));
	json_uint(j, "end_ns", model_get_end(r->model));
	json_str(j, "filter", r->filter_text);
	json_uint(j, "tasks", t->all.nr_tasks);
	json_open_object(j, "tasks_by_end");
	for (unsigned i = 0; i < MODEL_NR_ENDS; i++)
		json_uint(j, model_end_name(i), t->all.ends[i]);
	json_close_object(j);
	json_uint(j, "tasks_first_seen", t->all.nr_first_seen);
	json_uint(j, "types_unnamed", t->nr_unnamed);
	json_uint(j, "types_ambiguous", t->nr_ambiguous);
	json_uint(j, "polls", t->all.polls);
	json_uint(j, "wakes", t->wakes);
	json_uint(j, "self_wakes", t->all.wakes[MODEL_BY_SELF]);
	json_states(j, t->all.ns);
	json_blocking(t, j);
	json_open_object(j, "block_on");
	json_uint(j, "tasks", t->roots.nr_tasks);
	json_uint(j, "polls", t->roots.polls);
	json_close_object(j);
	json_uint(j, "workers", t->nr_threads[MODEL_WORKER]);
	json_uint(j, "blocking_threads", t->nr_threads[MODEL_BLOCKING]);
	json_uint(j, "other_threads", t->nr_threads[MODEL_OTHER]);
	json_uint(j, "workers_busy_ns", t->workers_busy_ns);
	json_double(j, "workers_busy", t->workers_busy);
	if (end->target_cpu_ns) {
		json_uint(j, "agent_cpu_ns_estimate_min", t->agent_min_ns);
		json_uint(j, "agent_cpu_ns_estimate_max", MIN(t->agent_max_ns, end->target_cpu_ns));
	}
	json_close_object(j);
}

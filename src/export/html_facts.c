// SPDX-License-Identifier: MIT OR Apache-2.0
/* Everything with a name, as JSON: the recording, its totals, findings, types and threads. */
#include <stdio.h>

#include "export/html.h"
#include "export/json_parts.h"
#include "model/shorten.h"

#define SHORT_COLUMNS 64

static void put_program(const struct html_facts *f, struct json *j)
{
	const struct trace_meta *meta = f->rec->meta;

	json_open_object(j, "program");
	json_str(j, "exe", meta->exe);
	json_argv(j, meta);
	json_uint(j, "pid", meta->pid);
	json_str(j, "cwd", meta->cwd);
	json_str(j, "host", meta->host);
	json_str(j, "os", meta->os);
	json_str(j, "cpu", meta->cpu);
	json_uint(j, "cpus", meta->nr_cpus);
	json_str(j, "tool", meta->tool);
	json_close_object(j);
	json_open_array(j, "runtimes");
	for (uint32_t i = 0; i < f->rec->nr_runtimes; i++) {
		if (f->rec->runtimes[i].never_ran)
			continue;
		json_open_object(j, NULL);
		json_str(j, "name", f->rec->runtimes[i].name);
		json_str(j, "version", f->rec->runtimes[i].version);
		json_str(j, "scheduler", f->rec->runtimes[i].scheduler);
		json_close_object(j);
	}
	json_close_array(j);
}

static void put_recording(const struct html_facts *f, struct json *j)
{
	const struct trace_damage *d = trace_get_damage(f->rec->trace);
	const struct trace_end *end = trace_get_end(f->rec->trace);
	char buf[RECORDING_OUTCOME_SIZE];

	json_open_object(j, "recording");
	json_str(j, "end", recording_get_outcome(f->rec, buf));
	json_uint(j, "events", model_get_totals(f->model)->nr_events);
	json_uint(j, "real_ns", trace_get_zero(f->rec->trace).real_ns);
	json_lost(j, f->rec, f->model);
	json_uint(j, "threads_not_recorded", end->nr_unslotted);
	json_bool(j, "cut", d->cut);
	json_uint(j, "bad_blocks", d->bad_blocks);
	json_uint(j, "bad_events", d->bad_events);
	json_uint(j, "tool_cpu_ns", end->tool_cpu_ns);
	json_uint(j, "target_cpu_ns", end->target_cpu_ns);
	json_close_object(j);
}

/*
 * Four bins for each power of two: 0, 1, 2, 3, then [4, 5), [5, 6) … [8, 10) …; the number of a bin
 * and how many are in it, one behind the other.
 */
static unsigned bin_of(uint64_t value)
{
	unsigned log = value < 4 ? 1 : 63 - __builtin_clzll(value);

	return value < 4 ? value : 4 * (log - 1) + (value >> (log - 2) & 3);
}

static void put_histogram(struct json *j, const char *key, const struct histogram *h)
{
	struct histogram_bin bin;
	unsigned pos = 0, at = 0;
	uint64_t nr = 0;

	json_open_object(j, key);
	json_uint(j, "nr", h->nr);
	json_uint(j, "sum", h->sum);
	json_uint(j, "p50", histogram_percentile(h, 50));
	json_uint(j, "p90", histogram_percentile(h, 90));
	json_uint(j, "p99", histogram_percentile(h, 99));
	json_uint(j, "max", h->max);
	json_open_array(j, "bins");
	while (histogram_next(h, &pos, &bin)) {
		if (nr && bin_of(bin.low) != at) {
			json_uint(j, NULL, at);
			json_uint(j, NULL, nr);
			nr = 0;
		}
		at = bin_of(bin.low);
		nr += bin.nr;
	}
	if (nr) {
		json_uint(j, NULL, at);
		json_uint(j, NULL, nr);
	}
	json_close_array(j);
	json_close_object(j);
}

static void put_sums(struct json *j, const struct by_type_row *row)
{
	json_uint(j, "tasks", row->nr_tasks);
	json_uint(j, "alive", row->ends[MODEL_ALIVE]);
	json_uint(j, "polls", row->polls);
	json_uint(j, "wakes", model_sum_wakes(row->wakes));
	json_uint(j, "self_wakes", row->wakes[MODEL_BY_SELF]);
	json_states(j, row->ns);
	json_uint(j, "blocked_ns", row->blocked_ns);
	json_uint(j, "max_poll_ns", row->max_poll_ns);
	put_histogram(j, "poll", &row->poll);
	put_histogram(j, "sched", &row->sched);
}

static void put_totals(const struct html_facts *f, struct json *j)
{
	uint64_t busy_ns = 0, nr_of[3] = { 0 };
	const struct model_thread *threads;
	struct by_type_row total;
	size_t nr;

	threads = analyzer_get_threads(f->analyzer, &nr);
	for (size_t i = 0; i < nr; i++) {
		nr_of[threads[i].kind]++;
		busy_ns += threads[i].kind == MODEL_WORKER ? threads[i].busy_ns : 0;
	}
	by_type_get_total(analyzer_get_types(f->analyzer), &total);
	json_open_object(j, "totals");
	json_uint(j, "start_ns", model_get_start(f->model));
	json_uint(j, "end_ns", model_get_end(f->model));
	json_uint(j, "duration_ns", model_get_duration(f->model));
	json_uint(j, "workers", nr_of[MODEL_WORKER]);
	json_uint(j, "blocking_threads", nr_of[MODEL_BLOCKING]);
	json_uint(j, "workers_busy_ns", busy_ns);
	put_sums(j, &total);
	json_close_object(j);
	by_type_row_release(&total);
}

static void put_figures(struct json *j, const struct finding *f)
{
	static const char *const units[] = { "count", "ns", "bytes", "percent" };

	json_open_array(j, "figures");
	for (unsigned i = 0; i < f->nr_figures; i++) {
		json_open_array(j, NULL);
		json_str(j, NULL, f->figures[i].name);
		json_str(j, NULL, units[f->figures[i].unit]);
		json_uint(j, NULL, f->figures[i].value);
		json_close_array(j);
	}
	json_close_array(j);
}

static void put_findings(const struct html_facts *f, struct json *j)
{
	const struct finding *findings;
	size_t nr;

	findings = analyzer_get_findings(f->analyzer, &nr);
	json_open_array(j, "findings");
	for (size_t i = 0; i < nr; i++) {
		const struct finding *it = &findings[i];
		bool has_type = it->type < f->rec->nr_types || it->has_task;

		json_open_object(j, NULL);
		json_str(j, "rule", it->analysis->name);
		json_str(j, "summary", it->analysis->summary);
		json_str(j, "severity", severity_name(it->severity));
		json_int(j, "group", has_type ? (int64_t)recording_group_of(f->rec, it->type) : -1);
		if (it->has_task)
			json_uint(j, "task", it->task.id);
		json_int(j, "thread", it->thread < f->rec->nr_threads ? (int64_t)it->thread : -1);
		json_uint(j, "time_ns", it->time_ns);
		json_uint(j, "span_ns", it->span_ns);
		put_figures(j, it);
		json_str(j, "what", it->what);
		json_str(j, "advice", it->advice);
		json_close_object(j);
	}
	json_close_array(j);
}

void html_name_add(struct json *j, const char *name)
{
	struct strbuf text = STRBUF_INIT;

	shorten_type(&text, name, SHORT_COLUMNS);
	json_str(j, "name", name);
	json_str(j, "short", text.s);
	strbuf_release(&text);
}

/* By number; null for those without tasks. */
static void put_groups(const struct html_facts *f, struct json *j)
{
	const struct by_type_row *rows = by_type_get_rows(analyzer_get_types(f->analyzer));

	json_open_array(j, "groups");
	for (uint32_t i = 0; i < f->rec->nr_groups; i++) {
		const struct recording_group *g = &f->rec->groups[i];
		char buf[32];
		char *place;

		if (!rows[i].nr_tasks) {
			json_null(j, NULL);
			continue;
		}
		place = recording_type_place(f->rec, g->type);
		json_open_object(j, NULL);
		html_name_add(j, recording_type_name(f->rec, g->type, buf));
		json_bool(j, "exact", g->is_exact);
		json_str(j, "place", place);
		json_str(j, "kind", model_kind_name(g->kind));
		put_sums(j, &rows[i]);
		json_close_object(j);
		free(place);
	}
	json_close_array(j);
}

static void put_threads(const struct html_facts *f, struct json *j)
{
	const struct model_thread *threads;
	size_t nr;

	threads = analyzer_get_threads(f->analyzer, &nr);
	json_open_array(j, "threads");
	for (size_t i = 0; i < nr; i++) {
		const struct model_thread *t = &threads[i];

		if (t->thread >= f->rec->nr_threads)
			continue;
		json_open_object(j, NULL);
		json_uint(j, "thread", t->thread);
		json_uint(j, "tid", recording_thread_tid(f->rec, t->thread));
		json_str(j, "name", recording_thread_name(f->rec, t->thread));
		json_str(j, "kind", model_thread_kind_name(t->kind));
		json_uint(j, "polls", t->polls);
		json_uint(j, "busy_ns", t->busy_ns);
		json_uint(j, "asleep_ns", t->asleep_ns);
		json_uint(j, "blocked_ns", t->blocked_ns);
		json_close_object(j);
	}
	json_close_array(j);
	/* of all threads of the recording, in the order of the columns */
	json_open_array(j, "polls_on");
	for (uint32_t i = 0; i < f->rec->nr_threads; i++)
		json_uint(j, NULL, html_polls_get_nr_on(f->polls, i));
	json_close_array(j);
}

static void put_names(struct json *j)
{
	json_open_array(j, "causes");
	for (int i = 0; i < MODEL_NR_CAUSES; i++)
		json_str(j, NULL, model_cause_name(i));
	json_close_array(j);
	json_open_array(j, "ends");
	for (int i = 0; i < MODEL_NR_ENDS; i++)
		json_str(j, NULL, model_end_name(i));
	json_close_array(j);
}

static void put_kept(const struct html_facts *f, struct json *j)
{
	const struct html_kept *kept = html_polls_get_kept(f->polls);

	json_open_object(j, "kept");
	json_uint(j, "seen", kept->nr_seen);
	json_uint(j, "polls", kept->nr_kept);
	json_uint(j, "min_ns", kept->min_ns);
	json_double(j, "sample", kept->sample);
	json_close_object(j);
}

/*
 * All that could end the script element goes: a < can only stand in a string, where it may be
 * written as an escape.
 */
static void add_harmless(struct strbuf *out, const struct strbuf *text)
{
	for (size_t i = 0; i < text->len; i++) {
		char c = text->s[i];

		if (c == '<' || c == '>' || c == '&')
			strbuf_addf(out, "\\u%04x", c);
		else
			strbuf_addch(out, c);
	}
}

void html_facts_add(const struct html_facts *f, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;
	struct json j;

	json_init(&j, &text);
	json_open_object(&j, NULL);
	json_uint(&j, "schema", 1);
	put_program(f, &j);
	put_recording(f, &j);
	put_totals(f, &j);
	put_findings(f, &j);
	put_groups(f, &j);
	put_threads(f, &j);
	put_names(&j);
	put_kept(f, &j);
	html_waits_add(f, &j);
	html_futures_add(f, &j);
	html_time_json(f->time, &j, "time");
	html_pack_json(f->pack, &j, "columns");
	json_close_object(&j);
	add_harmless(out, &text);
	strbuf_release(&text);
}

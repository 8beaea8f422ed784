// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Over time: how busy each thread was and how long of it asleep in a poll; how many tasks lived,
 * waited for a worker, and ran.
 */
#include "export/html.h"

#define MAX_BINS  2000u
#define MIN_BINS  100u
#define ROOM_BINS 500000u /* of all threads together */

struct html_time {
	const struct recording *rec;
	uint64_t from_ns, to_ns;
	uint32_t nr_bins;
	struct load *live, *scheduled, *running;
	struct load **busy, **blocked; /* by thread; NULL: nothing yet */
};

struct html_time *html_time_new(const struct recording *rec, uint64_t from_ns, uint64_t to_ns)
{
	struct html_time *t = xcalloc(1, sizeof(*t));
	uint32_t nr = ROOM_BINS / (rec->nr_threads + 1);

	t->rec = rec;
	t->from_ns = from_ns;
	t->to_ns = to_ns;
	t->nr_bins = MAX(MIN_BINS, MIN(MAX_BINS, nr));
	t->live = load_new(from_ns, to_ns, t->nr_bins);
	t->scheduled = load_new(from_ns, to_ns, t->nr_bins);
	t->running = load_new(from_ns, to_ns, t->nr_bins);
	t->busy = xcalloc(rec->nr_threads + 1, sizeof(*t->busy));
	t->blocked = xcalloc(rec->nr_threads + 1, sizeof(*t->blocked));
	return t;
}

void html_time_free(struct html_time *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->rec->nr_threads; i++) {
		load_free(t->busy[i]);
		load_free(t->blocked[i]);
	}
	free(t->busy);
	free(t->blocked);
	load_free(t->live);
	load_free(t->scheduled);
	load_free(t->running);
	free(t);
}

static void add_on(struct html_time *t, struct load **loads, uint32_t thread, uint64_t a_ns,
		   uint64_t b_ns)
{
	if (thread >= t->rec->nr_threads)
		return;
	if (unlikely(!loads[thread]))
		loads[thread] = load_new(t->from_ns, t->to_ns, t->nr_bins);
	load_add(loads[thread], a_ns, b_ns);
}

static void on_run(void *sink, const struct model_run *run)
{
	struct html_time *t = sink;

	if (run->outer_start_ns == MODEL_NO_RUN)
		add_on(t, t->busy, run->thread, run->start_ns, run->end_ns);
	load_add(t->running, run->start_ns, run->end_ns);
	if (run->is_gap_known)
		load_add(t->scheduled, run->start_ns - run->sched_ns, run->start_ns);
}

static void on_sleep(void *sink, const struct model_sleep *sleep)
{
	struct html_time *t = sink;

	if (sleep->task)
		add_on(t, t->blocked, sleep->thread, sleep->start_ns, sleep->end_ns);
}

static void on_task(void *sink, const struct model_task *task)
{
	struct html_time *t = sink;

	load_add(t->live, task->spawn_ns, task->end_ns);
}

const struct model_ops html_time_ops = { .run = on_run, .sleep = on_sleep, .task = on_task };

/* On average in a bin. */
static uint64_t get_average(const void *arg, size_t i)
{
	struct load *l = (struct load *)arg; /* remembers where it was */
	uint64_t span_ns = load_get_bin_span(l, i);

	return html_bits_of(span_ns ? load_get(l, i) / (double)span_ns : 0);
}

/* Share of a bin, of 65535. */
static uint64_t get_share(const void *arg, size_t i)
{
	struct load *const *loads = arg;
	struct load *l = loads[0];
	uint64_t span_ns = l ? load_get_bin_span(l, i) : 0;

	return span_ns ? MIN(load_get(l, i), span_ns) * 65535.0 / span_ns : 0;
}

void html_time_pack(struct html_time *t, struct html_pack *pack)
{
	uint32_t nr = load_get_nr_bins(t->live);

	html_pack_put(pack, (struct html_column){ "time.live", 8, nr }, get_average, t->live);
	html_pack_put(pack, (struct html_column){ "time.scheduled", 8, nr }, get_average,
		      t->scheduled);
	html_pack_put(pack, (struct html_column){ "time.running", 8, nr }, get_average, t->running);
	for (uint32_t i = 0; i < t->rec->nr_threads; i++) {
		html_pack_put(pack, (struct html_column){ "busy", 2, t->busy[i] ? nr : 0 },
			      get_share, &t->busy[i]);
		html_pack_put(pack, (struct html_column){ "blocked", 2, t->blocked[i] ? nr : 0 },
			      get_share, &t->blocked[i]);
	}
}

void html_time_json(const struct html_time *t, struct json *j, const char *key)
{
	json_open_object(j, key);
	json_uint(j, "from_ns", t->from_ns);
	json_uint(j, "to_ns", t->to_ns);
	json_uint(j, "bins", load_get_nr_bins(t->live));
	json_uint(j, "bin_ns", load_get_bin_ns(t->live));
	json_close_object(j);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A first pass finds the tasks that answer to the id and counts their runs. Then a pass for each of
 * them tells its story as it goes, without the middle where that is long. So nothing is kept but
 * one *episode*: a run and all that led to it since the run before.
 */
#include "show/report_story.h"

#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "show/story.h"

#define MAX_MATCHES 64
#define MAX_EPISODE 1000 /* events told of one; a run may wake thousands of tasks */
#define USUAL_RUNS  20

struct wanted {
	uint64_t id;
	uint32_t runtime; /* MODEL_NO_RUNTIME: any */
	bool is_root;	  /* a root future's: these are counted by themselves */
};

struct search {
	struct wanted wanted;
	VEC(struct story) found;
	uint64_t nr_more; /* that answer too, but are too many */
};

struct telling {
	struct story *story;
	struct story_writer *writer;
	uint64_t run; /* that comes next */
	VEC(struct story_event) episode;
	uint64_t nr_dropped; /* of the episode */
	uint64_t nr_skipped;
};

static bool is_wanted(const struct wanted *w, const struct model_task *t)
{
	if (t->key.id != w->id)
		return false;
	if (w->is_root)
		return t->kind == TRACE_BLOCK_ON;
	return w->runtime == MODEL_NO_RUNTIME ||
	       (w->runtime == t->key.runtime && t->kind != TRACE_BLOCK_ON);
}

static struct story *find_story(struct search *s, const struct model_task *t)
{
	vec_each (story, &s->found)
		if (story->task.nr == t->nr)
			return story;
	if (s->found.nr == MAX_MATCHES)
		return NULL;
	vec_push(&s->found, (struct story){ .task = *t });
	return &s->found.v[s->found.nr - 1];
}

static void search_run(void *sink, const struct model_run *run)
{
	struct search *s = sink;
	struct story *story;

	if (likely(!is_wanted(&s->wanted, run->task)))
		return;
	story = find_story(s, run->task);
	if (!story)
		return;
	story->nr_runs++;
	story->waited_ns += run->idle_ns + run->sched_ns;
	if (!run->is_first)
		story_waits_add(&story->waits, run->path, run->idle_ns + run->sched_ns);
}

static void search_task(void *sink, const struct model_task *t)
{
	struct search *s = sink;
	struct story *story;

	if (!is_wanted(&s->wanted, t))
		return;
	story = find_story(s, t);
	if (!story) {
		s->nr_more++;
		return;
	}
	story->task = *t;
	story_waits_add(&story->waits, t->last_path,
			t->ns[MODEL_IDLE] + t->ns[MODEL_SCHEDULED] - story->waited_ns);
}

static const struct model_ops search_ops = { .run = search_run, .task = search_task };

static bool is_mine(const struct telling *t, const struct model_task *task)
{
	return task && task->nr == t->story->task.nr;
}

static bool is_my_key(const struct telling *t, const struct model_key *key)
{
	return key->id == t->story->task.key.id && key->runtime == t->story->task.key.runtime;
}

static void add(struct telling *t, const struct story_event *ev)
{
	if (t->episode.nr < MAX_EPISODE)
		vec_push(&t->episode, *ev);
	else
		t->nr_dropped++;
}

static void on_spawn(void *sink, const struct model_task *task)
{
	struct telling *t = sink;

	if (is_mine(t, task))
		add(t, &(struct story_event){ .kind = STORY_SPAWN,
					      .time_ns = task->spawn_ns,
					      .thread = task->spawn_thread,
					      .has_other = task->has_parent,
					      .other = task->parent,
					      .is_known = task->spawn_exact });
	else if (task->has_parent && is_my_key(t, &task->parent))
		add(t, &(struct story_event){ .kind = STORY_SPAWNED,
					      .time_ns = task->spawn_ns,
					      .thread = task->spawn_thread,
					      .has_other = true,
					      .other = task->key });
}

static void on_wake(void *sink, const struct model_wake *wake)
{
	struct telling *t = sink;
	const struct model_waker *w = wake->waker;

	if (is_mine(t, wake->task))
		add(t, &(struct story_event){ .kind = STORY_WAKE,
					      .time_ns = wake->time_ns,
					      .thread = w->thread,
					      .cause = w->cause,
					      .has_other = w->has_key,
					      .other = w->key });
	else if (w->has_key && is_my_key(t, &w->key))
		add(t, &(struct story_event){ .kind = STORY_WOKE,
					      .time_ns = wake->time_ns,
					      .thread = w->thread,
					      .cause = w->cause,
					      .has_other = true,
					      .other = wake->task->key });
}

static void on_sleep(void *sink, const struct model_sleep *sleep)
{
	struct telling *t = sink;

	if (is_mine(t, sleep->task))
		add(t, &(struct story_event){ .kind = STORY_SLEEP,
					      .time_ns = sleep->start_ns,
					      .end_ns = sleep->end_ns,
					      .thread = sleep->thread,
					      .flags = sleep->flags });
}

static int earlier_first(const void *pa, const void *pb)
{
	const struct story_event *a = pa, *b = pb;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

/* Half of the runs that are told stand at the beginning, half at the end. */
static bool is_told(const struct story *s, uint64_t run)
{
	if (!s->limit || s->nr_runs <= s->limit)
		return true;
	return run < (s->limit + 1) / 2 || run >= s->nr_runs - s->limit / 2;
}

static void tell(struct telling *t)
{
	if (t->episode.nr)
		qsort(t->episode.v, t->episode.nr, sizeof(*t->episode.v), earlier_first);
	vec_each (ev, &t->episode)
		story_write_event(t->writer, ev);
	if (t->nr_dropped)
		story_write_gap(t->writer, t->nr_dropped, "event");
}

static void end_episode(struct telling *t, bool is_shown)
{
	if (is_shown && t->nr_skipped) {
		story_write_gap(t->writer, t->nr_skipped, "run");
		t->nr_skipped = 0;
	}
	if (is_shown)
		tell(t);
	else
		t->nr_skipped++;
	t->episode.nr = 0;
	t->nr_dropped = 0;
}

static void on_run(void *sink, const struct model_run *run)
{
	struct telling *t = sink;

	if (likely(!is_mine(t, run->task)))
		return;
	/* beyond the limit of an episode too: it is what the others are about */
	vec_push(&t->episode, (struct story_event){ .kind = STORY_RUN,
						    .time_ns = run->start_ns,
						    .end_ns = run->end_ns,
						    .thread = run->thread,
						    .flags = run->flags,
						    .nr = t->run + 1,
						    .idle_ns = run->idle_ns,
						    .sched_ns = run->sched_ns,
						    .blocked_ns = run->blocked_ns,
						    .path = run->path,
						    .is_known = run->is_gap_known,
						    .is_first = run->is_first,
						    .is_open = run->is_open,
						    .is_off_worker = run->is_off_worker });
	end_episode(t, is_told(t->story, t->run));
	t->run++;
}

static void on_task(void *sink, const struct model_task *task)
{
	struct telling *t = sink;

	if (!is_mine(t, task))
		return;
	vec_push(&t->episode, (struct story_event){ .kind = STORY_END,
						    .time_ns = task->end_ns,
						    .end = task->end,
						    .path = task->last_path,
						    .is_known = task->is_wanted });
	end_episode(t, true);
}

static const struct model_ops tell_ops = {
	.spawn = on_spawn, .run = on_run, .wake = on_wake, .sleep = on_sleep, .task = on_task
};

static int parse_wanted(const char *text, struct wanted *w, struct err *e)
{
	const char *colon = strchr(text, ':'), *id = colon ? colon + 1 : text;
	uint64_t runtime = MODEL_NO_RUNTIME;
	char *end;

	errno = 0;
	w->is_root = str_has_prefix(text, "root:");
	if (colon && !w->is_root) {
		runtime = strtoull(text, &end, 10);
		if (end != colon || *text < '0' || *text > '9')
			errno = EINVAL;
	}
	w->id = strtoull(id, &end, 10);
	w->runtime = MIN(runtime, MODEL_NO_RUNTIME);
	if (errno || *id < '0' || *id > '9' || *end)
		return err_set(e, ERR_USAGE, "--task takes ID, RUNTIME:ID or root:ID, not '%s'",
			       text);
	return 0;
}

static void read_recording(struct report *r, const struct model_ops *ops, void *sink)
{
	/* one task alone was asked for, and others matter only where they meet it */
	struct recording_view view = r->view;

	view.filter = NULL;
	model_free(r->model);
	r->model = recording_read(&r->rec, &view, &(struct recording_sink){ ops, sink }, 1);
}

static void tell_story(struct report *r, struct story *s, struct story_writer *w)
{
	struct telling t = { .story = s, .writer = w };

	story_write_head(w, s);
	read_recording(r, &tell_ops, &t);
	story_write_tail(w);
	vec_release(&t.episode);
}

int report_story(struct report *r, const struct story_opts *o, struct out *out, struct err *e)
{
	struct search s = { 0 };
	struct story_writer w;
	uint64_t limit = o->limit;

	if (parse_wanted(o->task, &s.wanted, e))
		return -1;
	if (limit == STORY_USUAL)
		limit = o->is_json || r->verbose ? 0 : USUAL_RUNS;
	read_recording(r, &search_ops, &s);
	if (!s.found.nr)
		return err_set(e, ERR_NO_TASK, "no task %s in what was recorded", o->task);
	story_writer_init(&w, r, out, o->is_json);
	vec_each (story, &s.found) {
		story->limit = limit;
		story_waits_settle(&story->waits, &r->rec);
		tell_story(r, story, &w);
		story_waits_release(&story->waits);
	}
	story_writer_release(&w, s.nr_more);
	vec_release(&s.found);
	return 0;
}

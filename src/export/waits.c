// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/waits.h"

#include "base/map.h"

#define PLACE_WIDTH 40

struct tree {
	struct waits *out;
	const struct export_job *job;
	const struct steps *steps;
	struct map index; /* frame and what is in it -> frame */
	uint32_t chain[STEPS_MAX_DEPTH];
};

/* Steps of one line are one frame, and so are those of one future that has no line. */
static uint32_t kind_of(const struct steps *s, uint32_t step)
{
	if (step == TRACE_NO_STEP)
		return STEPS_NONE;
	return s->point_of[step] != STEPS_NONE
		       ? s->point_of[step]
		       : s->nr_points + 2 * s->future_of[step] + step_waits(&s->v[step]);
}

static uint32_t frame_in(struct tree *t, uint32_t outer, uint32_t step)
{
	bool was_there;
	uint64_t key = (uint64_t)outer << 32 | kind_of(t->steps, step);
	uint64_t *frame = map_put(&t->index, key, &was_there);

	if (!was_there) {
		*frame = t->out->frames.nr;
		vec_push(&t->out->frames, (struct waits_frame){ .outer = outer, .step = step });
	}
	return *frame;
}

static void add_branch(struct tree *t, uint32_t leaf, uint64_t ns, uint64_t nr)
{
	uint32_t depth = t->steps->depth[leaf] + 1, frame = WAITS_ROOT, own;

	for (uint32_t i = depth, at = leaf; i-- > 0; at = t->steps->outer[at])
		t->chain[i] = at;
	own = steps_find_own(t->steps, t->chain, depth);
	for (uint32_t i = own; i < depth; i++)
		/* the task's own future is there in any case */
		if (i == own || export_shows(t->job, t->chain[i], i + 1 == depth))
			frame = frame_in(t, frame, t->chain[i]);
	t->out->frames.v[frame].ns += ns;
	t->out->frames.v[frame].nr += nr;
}

static bool is_waiting(const struct tree *t, const struct trace_path *p, uint32_t i)
{
	return step_waits(&t->steps->v[p->steps[i]]);
}

static void add_path(struct tree *t, const struct trace_path *p, const struct by_path_row *row)
{
	uint64_t ns = row->idle_ns + row->sched_ns, nr = row->nr;
	uint32_t nr_branches = 0;

	for (uint32_t i = 0; i < p->nr_steps; i++)
		nr_branches += is_waiting(t, p, i);
	if (!nr_branches)
		add_branch(t, p->steps[0], ns, nr);
	for (uint32_t i = 0; nr_branches && i < p->nr_steps; i++) {
		uint64_t share = ns / nr_branches;

		if (!is_waiting(t, p, i))
			continue;
		add_branch(t, p->steps[i], share, nr);
		ns -= share;
		nr = 0;
		nr_branches--;
	}
}

void waits_init(struct waits *w, const struct export_job *job, const struct by_path *paths)
{
	struct tree *t = xcalloc(1, sizeof(*t));
	const struct by_path_row *rows = by_path_get_rows(paths);
	const struct by_path_rest *rest = by_path_get_rest(paths);

	*w = (struct waits){ 0 };
	t->out = w;
	t->job = job;
	t->steps = &job->rec->awaits;
	for (uint32_t i = 0; i < job->rec->nr_paths; i++)
		if (rows[i].nr)
			add_path(t, &job->rec->paths[i], &rows[i]);
	if (rest->nr + rest->nr_open) {
		uint32_t frame = frame_in(t, WAITS_ROOT, TRACE_NO_STEP);

		w->frames.v[frame].ns = rest->ns + rest->open_ns;
		w->frames.v[frame].nr = rest->nr + rest->nr_open;
	}
	map_release(&t->index);
	free(t);
}

struct model *waits_read(struct waits *w, const struct export_job *job)
{
	struct by_path *paths = by_path_new(job->rec);
	struct model *m = recording_read(job->rec, &job->view,
					 &(struct recording_sink){ &by_path_ops, paths }, 1);

	if (!job->rec->nr_paths)
		job->note(job->note_arg, "no await points were recorded: where tasks waited is "
					 "unknown");
	by_path_finish(paths);
	waits_init(w, job, paths);
	by_path_free(paths);
	return m;
}

void waits_release(struct waits *w)
{
	vec_release(&w->frames);
}

void waits_add_label(struct strbuf *out, const struct recording *rec, uint32_t step)
{
	const struct trace_step *s = step < rec->nr_steps ? &rec->steps[step] : NULL;

	if (!s) {
		strbuf_addstr(out, "place not known");
		return;
	}
	strbuf_addstr(out, s->leaf[0] ? s->leaf : step_name(s));
	if (s->state == TRACE_STEP_NOT_STARTED) {
		strbuf_addstr(out, " (not started)");
	} else if (s->file[0]) {
		strbuf_addch(out, ' ');
		step_shorten_place(out, s, PLACE_WIDTH);
	}
}

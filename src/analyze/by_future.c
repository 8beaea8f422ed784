// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/by_future.h"

#include "analyze/by_future_exact.h"
#include "base/future_name.h"
#include "base/leaf_kind.h"

enum fate { FINISHED, DROPPED, UNSURE, UNKNOWN };

/* What is known of a step on the path that a task left. Good where mark is that of the change. */
struct left {
	uint32_t mark;
	bool is_fork; /* several branches part here */
	bool is_ready,
		may_finish; /* a leaf inside of it was ready; could have been, by its waker */
	uint32_t nr_ready, nr_may; /* of the steps right inside of it */
};

struct fold {
	const struct recording *rec;
	const struct steps *steps;
	struct by_future *out;
	const struct by_path_change *change;
	struct left *left;     /* by step */
	enum leaf_kind *kind;  /* by step, of leaves */
	uint8_t *traits;       /* by future: enum future_trait */
	bool *is_join;	       /* by step: what is awaited inside of it all finishes */
	bool *keeps_done;      /* by step: those inside of it are kept when they have finished */
	uint32_t *next_step;   /* by step: mark of the change after which it is there */
	uint32_t *next_node;   /* by node: likewise; */
	uint32_t *left_node;   /* before which it was there; */
	uint32_t *told_node;   /* whose fate was told */
	uint32_t *future_seen; /* by future */
	VEC(uint32_t) visited; /* steps of the path that was left */
	uint32_t mark;
	uint32_t chain[STEPS_MAX_DEPTH];
};

static bool has_trait(const struct fold *f, uint32_t step, enum future_trait trait)
{
	return f->traits[f->steps->future_of[step]] & trait;
}

static void judge_steps(struct fold *f)
{
	for (uint32_t i = 0; i < f->steps->nr; i++) {
		const struct trace_step *s = &f->steps->v[i];
		uint32_t outer = f->steps->outer[i];

		f->kind[i] = leaf_kind_named(s->leaf);
		f->is_join[i] |= !s->is_generated && has_trait(f, i, FUTURE_JOINS);
		/* what keeps a future that is done waits for the others */
		if (s->state == TRACE_STEP_DONE && outer != TRACE_NO_STEP)
			f->is_join[outer] = true;
		if (outer != TRACE_NO_STEP && has_trait(f, i, FUTURE_KEEPS_DONE))
			f->keeps_done[outer] = true;
	}
}

/* Can who woke the task have ended a wait for this? Timers and sockets are the workers' own. */
static bool may_be_ended(enum leaf_kind kind, enum model_cause cause)
{
	enum leaf_ender by = leaf_traits(kind)->ended_by;

	return !(cause == MODEL_BY_TASK && by == LEAF_ENDED_BY_DRIVER) &&
	       !(cause == MODEL_BY_WORKER && by == LEAF_ENDED_BY_OTHERS);
}

static struct left *visit(struct fold *f, uint32_t step)
{
	struct left *l = &f->left[step];

	if (l->mark != f->mark) {
		*l = (struct left){ .mark = f->mark };
		vec_push(&f->visited, step);
		f->left_node[f->steps->node_of[step]] = f->mark;
	}
	return l;
}

/* One branch of the path that was left, from the inside out. */
static void visit_branch(struct fold *f, uint32_t leaf)
{
	const struct trace_step *s = &f->steps->v[leaf];
	bool is_ready = s->state == TRACE_STEP_READY, is_alone = true;
	bool may_finish = step_waits(s) && may_be_ended(f->kind[leaf], f->change->cause) &&
			  !has_trait(f, leaf, FUTURE_IS_PENDING);

	for (uint32_t at = leaf; at != TRACE_NO_STEP; at = f->steps->outer[at]) {
		bool was_there = f->left[at].mark == f->mark;
		struct left *l = visit(f, at);

		/* where it meets the branches before it; or one just like it */
		if (is_alone && was_there && at != leaf) {
			l->is_fork = true;
			is_alone = false;
		}
		l->is_ready |= is_ready;
		l->may_finish |= may_finish;
	}
}

static void visit_left(struct fold *f, const struct trace_path *p)
{
	f->visited.nr = 0;
	for (uint32_t i = 0; i < p->nr_steps; i++)
		visit_branch(f, p->steps[i]);
	vec_each (step, &f->visited) {
		uint32_t outer = f->steps->outer[*step];

		if (outer == TRACE_NO_STEP)
			continue;
		f->left[outer].nr_ready += f->left[*step].is_ready;
		f->left[outer].nr_may += f->left[*step].may_finish;
	}
}

static void mark_next(struct fold *f, const struct trace_path *p)
{
	for (uint32_t i = 0; i < p->nr_steps; i++)
		for (uint32_t at = p->steps[i]; at != TRACE_NO_STEP && f->next_step[at] != f->mark;
		     at = f->steps->outer[at]) {
			f->next_step[at] = f->mark;
			f->next_node[f->steps->node_of[at]] = f->mark;
		}
}

/* Of what is inside of `arm`, when the future around `fork`, which awaits several, went on. */
static enum fate arm_fate(const struct fold *f, uint32_t fork, uint32_t arm)
{
	const struct left *around = &f->left[fork], *l = &f->left[arm];
	bool is_one = around->nr_ready ? l->is_ready : l->may_finish;
	uint32_t nr = around->nr_ready ? around->nr_ready : around->nr_may;

	if (f->is_join[fork])
		return FINISHED;
	return !nr || (is_one && nr > 1) ? UNSURE : is_one ? FINISHED : DROPPED;
}

static int more_first(const void *pa, const void *pb)
{
	const struct by_future_drop *a = pa, *b = pb;

	if (a->nr != b->nr)
		return a->nr < b->nr ? 1 : -1;
	if (a->is_panic != b->is_panic)
		return a->is_panic ? 1 : -1;
	/* places: all steps lie in one array */
	return a->step > b->step ? 1 : a->step < b->step ? -1 : 0;
}

/* The line where it stood: its own, or that of the future that awaits it. */
static const struct trace_step *standing(const struct fold *f, uint32_t step)
{
	if (!step_waits(&f->steps->v[step]))
		return NULL;
	while (step != TRACE_NO_STEP && f->steps->point_of[step] == STEPS_NONE)
		step = f->steps->outer[step];
	return step == TRACE_NO_STEP ? NULL
				     : &f->steps->v[f->steps->points[f->steps->point_of[step]]];
}

static void add_drop(struct by_future_row *row, const struct by_future_drop *drop)
{
	vec_each (d, &row->drops)
		if (d->step == drop->step && d->is_panic == drop->is_panic) {
			d->nr += drop->nr;
			return;
		}
	vec_push(&row->drops, *drop);
}

static void tell(struct fold *f, uint32_t step, enum fate fate, bool is_place_known)
{
	struct by_future_row *row = &f->out->v[f->steps->future_of[step]];
	uint32_t *told = &f->told_node[f->steps->node_of[step]];
	uint64_t nr = f->change->nr;
	bool is_panic = f->change->to == BY_PATH_ENDS + MODEL_PANICKED;

	if (*told == f->mark)
		return;
	*told = f->mark;
	row->nr_finished += fate == FINISHED ? nr : 0;
	row->nr_unsure += fate == UNSURE ? nr : 0;
	row->nr_unknown += fate == UNKNOWN ? nr : 0;
	if (fate != DROPPED)
		return;
	row->nr_dropped += nr;
	add_drop(row, &(struct by_future_drop){
			      .step = is_place_known || is_panic ? standing(f, step) : NULL,
			      .nr = nr,
			      .is_panic = is_panic });
}

/* The same leaf is there again, and it was ready: that one finished, and another one began. */
static void tell_again(struct fold *f, uint32_t step)
{
	struct by_future_row *row = &f->out->v[f->steps->future_of[step]];

	if (f->steps->v[step].state != TRACE_STEP_READY)
		return;
	row->nr_finished += f->change->nr;
	row->nr += f->change->nr;
}

static bool is_over_with_part(const struct fold *f, uint32_t step)
{
	uint32_t outer = f->steps->outer[step];

	if (f->is_join[step] || f->keeps_done[step])
		return false;
	if (!has_trait(f, step, FUTURE_IS_POLL_FN))
		return has_trait(f, step, FUTURE_IS_ONE_WAIT);
	/* select!; or a function of the runtime's. Who calls poll_fn himself may do anything */
	return f->left[step].is_fork ||
	       (outer != TRACE_NO_STEP && has_trait(f, outer, FUTURE_IS_ONE_WAIT));
}

/*
 * The one wait that whoever woke the task can have ended; TRACE_NO_STEP: there are several, or it
 * is not known.
 */
static uint32_t find_ended(const struct fold *f, const struct trace_path *p)
{
	enum model_cause cause = f->change->cause;
	uint32_t found = TRACE_NO_STEP;

	if (!f->change->was_idle || (cause != MODEL_BY_TASK && cause != MODEL_BY_WORKER))
		return TRACE_NO_STEP;
	for (uint32_t i = 0; i < p->nr_steps; i++) {
		if (!f->left[p->steps[i]].may_finish)
			continue;
		if (found != TRACE_NO_STEP)
			return TRACE_NO_STEP;
		found = p->steps[i];
	}
	return found != TRACE_NO_STEP && leaf_traits(f->kind[found])->is_once ? found
									      : TRACE_NO_STEP;
}

/* Is it inside of the other, which would take it along if it were dropped? */
static bool is_owned_by(const struct fold *f, uint32_t step, uint32_t outer)
{
	for (; step != TRACE_NO_STEP && step != outer; step = f->steps->outer[step])
		if (f->steps->v[step].is_borrowed)
			return false;
	return step == outer;
}

/*
 * The task stands where it stood before, but a wait is over: so that future finished, and those
 * around it that wait for nothing else. They began anew, and what else they had was dropped.
 */
static bool tell_anew(struct fold *f, const struct trace_path *p)
{
	uint32_t ended = find_ended(f, p), over = ended, depth;

	if (ended == TRACE_NO_STEP)
		return false;
	while (f->steps->outer[over] != TRACE_NO_STEP &&
	       is_over_with_part(f, f->steps->outer[over]))
		over = f->steps->outer[over];
	vec_each (step, &f->visited) {
		bool is_around = false;

		if (!is_owned_by(f, *step, over))
			continue;
		depth = f->steps->depth[*step];
		for (uint32_t at = ended; !is_around && f->steps->depth[at] >= depth;
		     at = f->steps->outer[at]) {
			is_around = at == *step;
			if (!f->steps->depth[at])
				break;
		}
		tell(f, *step, is_around ? FINISHED : DROPPED, true);
		f->out->v[f->steps->future_of[*step]].nr += f->change->nr;
	}
	return true;
}

/* Is it part of a select! or timeout that may be over, if one of its waits is? */
static bool may_be_over(const struct fold *f, uint32_t step)
{
	for (uint32_t at = step; at != TRACE_NO_STEP; at = f->steps->outer[at])
		if (f->left[at].is_fork && f->left[at].may_finish && is_over_with_part(f, at) &&
		    is_owned_by(f, step, at))
			return true;
	return false;
}

/* The task stands where it stood before, and nobody knows whether the same futures do. */
static void note_again(struct fold *f)
{
	vec_each (step, &f->visited)
		if (f->steps->v[*step].state != TRACE_STEP_READY && may_be_over(f, *step))
			f->out->v[f->steps->future_of[*step]].nr_again += f->change->nr;
}

/* A branch of the path that was left, from the outside in; the task went on or completed. */
static void tell_branch(struct fold *f, uint32_t leaf)
{
	uint32_t nr = f->steps->depth[leaf] + 1;
	enum fate fate = FINISHED;

	for (uint32_t i = nr, at = leaf; i-- > 0; at = f->steps->outer[at])
		f->chain[i] = at;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t step = f->chain[i];

		if (f->next_node[f->steps->node_of[step]] != f->mark)
			tell(f, step, f->steps->v[step].state == TRACE_STEP_DONE ? FINISHED : fate,
			     true);
		else if (step == leaf)
			tell_again(f, step);
		if (fate == FINISHED && i + 1 < nr && f->left[step].is_fork &&
		    f->next_step[step] != f->mark)
			fate = arm_fate(f, step, f->chain[i + 1]);
	}
}

/* The task went on, or it is over, by a run that began at that path. */
static void tell_left(struct fold *f, const struct trace_path *p)
{
	uint32_t to = f->change->to;
	bool goes_on = to < f->rec->nr_paths || to == BY_PATH_ENDS + MODEL_COMPLETED;
	bool is_gone = to == BY_PATH_ENDS + MODEL_CANCELLED ||
		       to == BY_PATH_ENDS + MODEL_PANICKED || to == BY_PATH_ENDS + MODEL_DROPPED;

	if (to == f->change->from && tell_anew(f, p))
		return;
	if (to == f->change->from)
		note_again(f);
	for (uint32_t i = 0; goes_on && i < p->nr_steps; i++)
		tell_branch(f, p->steps[i]);
	if (goes_on)
		return;
	/* where it went after that path nobody saw: of the task's own future the end is known */
	vec_each (step, &f->visited) {
		bool is_own = f->steps->outer[*step] == TRACE_NO_STEP;

		if (to == BY_PATH_DROPS)
			tell(f, *step, DROPPED, true);
		else
			tell(f, *step, is_gone && is_own ? DROPPED : UNKNOWN, false);
	}
}

/* Those that are there now began in the run before: it was the first poll of them. */
static void add_new(struct fold *f, const struct trace_path *p)
{
	const struct by_path_change *c = f->change;

	for (uint32_t i = 0; i < p->nr_steps; i++)
		for (uint32_t at = p->steps[i]; at != TRACE_NO_STEP; at = f->steps->outer[at]) {
			uint32_t node = f->steps->node_of[at], future = f->steps->future_of[at];
			struct by_future_row *row = &f->out->v[future];

			if (f->left_node[node] == f->mark)
				continue;
			f->left_node[node] = f->mark;
			row->nr += c->nr;
			if (c->from == BY_PATH_UNKNOWN || f->future_seen[future] == f->mark)
				continue;
			f->future_seen[future] = f->mark;
			row->polls += c->nr;
			row->poll_ns += c->poll_ns;
		}
}

static void add_change(struct fold *f, const struct by_path_change *c)
{
	bool is_from = c->from < f->rec->nr_paths, is_to = c->to < f->rec->nr_paths;

	f->mark++;
	f->change = c;
	if (is_from)
		visit_left(f, &f->rec->paths[c->from]);
	if (is_to)
		mark_next(f, &f->rec->paths[c->to]);
	if (is_from)
		tell_left(f, &f->rec->paths[c->from]);
	/* it was polled there as well, and is not to be counted twice */
	if (is_from)
		vec_each (step, &f->visited)
			f->future_seen[f->steps->future_of[*step]] = f->mark;
	if (is_to)
		add_new(f, &f->rec->paths[c->to]);
}

static void add_row(struct fold *f, uint32_t path, const struct by_path_row *sums)
{
	const struct trace_path *p = &f->rec->paths[path];

	f->mark++;
	for (uint32_t i = 0; i < p->nr_steps; i++)
		for (uint32_t at = p->steps[i]; at != TRACE_NO_STEP; at = f->steps->outer[at]) {
			uint32_t future = f->steps->future_of[at];
			struct by_future_row *row = &f->out->v[future];

			if (f->future_seen[future] == f->mark)
				continue;
			f->future_seen[future] = f->mark;
			row->polls += sums->nr_polls;
			row->poll_ns += sums->poll_ns;
			if (!step_waits(&f->steps->v[at]))
				continue;
			row->waits += sums->nr;
			row->wait_ns += sums->idle_ns + sums->sched_ns;
		}
}

static void fold_init(struct fold *f, const struct recording *rec)
{
	const struct steps *s = f->steps = &rec->awaits;

	f->rec = rec;
	f->left = xcalloc((size_t)s->nr + 1, sizeof(*f->left));
	f->kind = xcalloc((size_t)s->nr + 1, sizeof(*f->kind));
	f->traits = xcalloc((size_t)s->nr_futures + 1, sizeof(*f->traits));
	for (uint32_t i = 0; i < s->nr_futures; i++)
		f->traits[i] = future_name_traits(s->v[s->futures[i]].future);
	f->is_join = xcalloc((size_t)s->nr + 1, sizeof(*f->is_join));
	f->keeps_done = xcalloc((size_t)s->nr + 1, sizeof(*f->keeps_done));
	f->next_step = xcalloc((size_t)s->nr + 1, sizeof(*f->next_step));
	f->next_node = xcalloc((size_t)s->nr_nodes + 1, sizeof(*f->next_node));
	f->left_node = xcalloc((size_t)s->nr_nodes + 1, sizeof(*f->left_node));
	f->told_node = xcalloc((size_t)s->nr_nodes + 1, sizeof(*f->told_node));
	f->future_seen = xcalloc((size_t)s->nr_futures + 1, sizeof(*f->future_seen));
	judge_steps(f);
}

static void fold_release(struct fold *f)
{
	free(f->left);
	free(f->kind);
	free(f->traits);
	free(f->is_join);
	free(f->keeps_done);
	free(f->next_step);
	free(f->next_node);
	free(f->left_node);
	free(f->told_node);
	free(f->future_seen);
	vec_release(&f->visited);
	free(f);
}

static void add_paths(struct by_future *b, const struct recording *rec, const struct by_path *paths)
{
	const struct by_path_row *rows = by_path_get_rows(paths);
	const struct by_path_change *changes;
	struct fold *f = xcalloc(1, sizeof(*f));
	size_t nr;

	f->out = b;
	fold_init(f, rec);
	for (uint32_t i = 0; i < rec->nr_paths; i++)
		if (rows[i].nr)
			add_row(f, i, &rows[i]);
	changes = by_path_get_changes(paths, &nr);
	for (size_t i = 0; i < nr; i++)
		add_change(f, &changes[i]);
	for (uint32_t i = 0; i < b->nr; i++)
		if (b->v[i].drops.nr)
			qsort(b->v[i].drops.v, b->v[i].drops.nr, sizeof(*b->v[i].drops.v),
			      more_first);
	fold_release(f);
}

void by_future_init(struct by_future *b, const struct recording *rec, const struct by_path *paths,
		    const struct inner_polls *polls, bool is_lossy)
{
	struct future_kinds kinds;

	future_kinds_init(&kinds, rec);
	b->nr = kinds.nr;
	b->v = xcalloc((size_t)b->nr + 1, sizeof(*b->v));
	for (uint32_t i = 0; i < rec->awaits.nr_futures; i++)
		b->v[i].step = &rec->steps[rec->awaits.futures[i]];
	if (paths)
		add_paths(b, rec, paths);
	if (polls)
		by_future_add_exact(b, rec, &kinds, polls, is_lossy);
	future_kinds_release(&kinds);
}

void by_future_release(struct by_future *b)
{
	for (uint32_t i = 0; i < b->nr; i++)
		vec_release(&b->v[i].drops);
	free(b->v);
	*b = (struct by_future){ 0 };
}

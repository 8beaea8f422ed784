// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/by_await.h"

struct fold {
	struct by_await *out;
	const struct steps *steps;
	/* What was met on this path already: its number + 1. */
	uint32_t *step_seen, *own_seen, *all_seen;
	uint32_t *leaf_seen; /* … that the point's leaf is of */
	uint64_t *leaf_ns;   /* by point: what its leaf has */
	uint32_t mark;
};

static void add_own(struct fold *f, const struct by_path_row *path, uint32_t point, uint32_t leaf)
{
	struct by_await_row *row = &f->out->v[point];
	uint64_t ns = path->idle_ns + path->sched_ns;
	bool is_first = !row->wait.nr;

	if (f->own_seen[point] == f->mark) {
		/* of several at once, what is known to be something tells most */
		if (f->leaf_seen[point] == f->mark && !row->leaf->leaf[0] &&
		    f->steps->v[leaf].leaf[0])
			row->leaf = &f->steps->v[leaf];
		return;
	}
	f->own_seen[point] = f->mark;
	if (!row->nr)
		row->group = path->group;
	row->is_of_group &= row->group == path->group && !path->is_mixed;
	row->nr += path->nr;
	row->nr_dropped += path->nr_drops;
	row->nr_open += path->nr_open;
	row->wait_ns += ns;
	row->idle_ns += path->idle_ns;
	row->sched_ns += path->sched_ns;
	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++)
		row->wakes[i] += path->wakes[i];
	histogram_merge(&row->wait, &path->wait);
	if (path->wait.nr)
		row->start_ns = MIN(row->start_ns, path->start_ns);
	row->end_ns = MAX(row->end_ns, path->end_ns);
	if (!row->leaf || ns > f->leaf_ns[point]) {
		row->leaf = &f->steps->v[leaf];
		f->leaf_ns[point] = ns;
		f->leaf_seen[point] = f->mark;
	}
	if (path->wait.nr && (is_first || path->longest_ns > row->longest_ns)) {
		row->longest = path->longest;
		row->longest_ns = path->longest_ns;
		row->longest_at_ns = path->longest_at_ns;
	}
}

static void add_all(struct fold *f, const struct by_path_row *path, uint32_t step)
{
	for (; step != TRACE_NO_STEP && f->step_seen[step] != f->mark;
	     step = f->steps->outer[step]) {
		uint32_t point = f->steps->point_of[step];

		f->step_seen[step] = f->mark;
		if (point == STEPS_NONE || f->all_seen[point] == f->mark)
			continue;
		f->all_seen[point] = f->mark;
		f->out->v[point].nr_all += path->nr;
		f->out->v[point].all_ns += path->idle_ns + path->sched_ns;
	}
}

static void add_rest(struct by_await_row *rows, const struct by_path_rest *rest)
{
	rows[0].nr = rows[0].nr_all = rest->nr;
	rows[0].wait_ns = rows[0].all_ns = rest->ns;
	/* a task has one last wait */
	rows[1].nr = rows[1].nr_all = rows[1].nr_open = rows[1].nr_tasks = rest->nr_open;
	rows[1].wait_ns = rows[1].all_ns = rest->open_ns;
}

static uint32_t *new_marks(uint32_t nr)
{
	return xcalloc((size_t)nr + 1, sizeof(uint32_t));
}

void by_await_init(struct by_await *b, const struct recording *rec, const struct by_path *paths)
{
	const struct steps *s = &rec->awaits;
	const struct by_path_row *rows = by_path_get_rows(paths);
	const uint64_t *nr_tasks = by_path_get_nr_tasks(paths);
	struct fold f = { .out = b,
			  .steps = s,
			  .step_seen = new_marks(s->nr),
			  .own_seen = new_marks(s->nr_points),
			  .all_seen = new_marks(s->nr_points),
			  .leaf_seen = new_marks(s->nr_points),
			  .leaf_ns = xcalloc((size_t)s->nr_points + 1, sizeof(*f.leaf_ns)) };

	b->nr = s->nr_points + 2;
	b->v = xcalloc(b->nr, sizeof(*b->v));
	for (uint32_t i = 0; i < s->nr_points; i++)
		b->v[i] = (struct by_await_row){ .step = &s->v[s->points[i]],
						 .nr_tasks = nr_tasks[i],
						 .start_ns = UINT64_MAX,
						 .is_of_group = true };
	for (uint32_t i = 0; i < rec->nr_paths; i++) {
		const struct trace_path *p = &rec->paths[i];

		f.mark = i + 1;
		for (uint32_t k = 0; rows[i].nr && k < p->nr_steps; k++) {
			uint32_t seat = s->seat_of[p->steps[k]];

			if (seat != STEPS_NONE)
				add_own(&f, &rows[i], seat, p->steps[k]);
			add_all(&f, &rows[i], p->steps[k]);
		}
	}
	add_rest(&b->v[s->nr_points], by_path_get_rest(paths));
	free(f.step_seen);
	free(f.own_seen);
	free(f.all_seen);
	free(f.leaf_seen);
	free(f.leaf_ns);
}

const char *by_await_rest_name(const struct by_await_row *row)
{
	return row->nr_open ? "still waiting at the end" : "place not known";
}

void by_await_release(struct by_await *b)
{
	for (uint32_t i = 0; i < b->nr; i++)
		histogram_release(&b->v[i].wait);
	free(b->v);
	*b = (struct by_await){ 0 };
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks that panicked and whose JoinHandle the program dropped, before or after, without taking the
 * output: the runtime caught the panic, and the program goes on without the task and without
 * knowing.
 *
 * A panic whose handle is still held is remembered until the handle goes, or to the end. Panics are
 * few.
 */
#include "analyze/analyses.h"
#include "base/format.h"
#include "base/map.h"
#include "base/vec.h"

enum { LIMIT_NR };

static const struct threshold thresholds[] = {
	[LIMIT_NR] = { "lost-panic", THRESHOLD_COUNT, 1,
		       "number of panics whose JoinHandle was dropped unread" },
	{ 0 },
};

struct lost {
	uint64_t nr;
	uint64_t busy_ns; /* work that came to nothing */
	uint64_t time_ns; /* of the first one's panic */
	struct model_key task;
};

/* A task that panicked. */
struct panic {
	struct model_key task;
	uint64_t end_ns, busy_ns;
};

struct state {
	const struct recording *rec;
	struct lost *by_group;
	VEC(struct panic) held; /* whose handle was held when the task was told */
	struct map by_task;	/* key -> index of these + 1 */
};

static void init(void *state, const struct analysis_input *in)
{
	struct state *s = state;

	s->rec = in->rec;
	s->by_group = in->by_group;
}

static void lose(struct state *s, const struct panic *p)
{
	struct lost *l = &s->by_group[recording_group_of(s->rec, p->task.type)];

	if (!l->nr++ || p->end_ns < l->time_ns) {
		l->time_ns = p->end_ns;
		l->task = p->task;
	}
	l->busy_ns += p->busy_ns;
}

static void on_task(void *sink, const struct model_task *t)
{
	const struct panic panic = { t->key, t->end_ns, t->ns[MODEL_RUNNING] };
	struct state *s = sink;

	if (t->end != MODEL_PANICKED)
		return;
	if (!t->is_wanted || t->is_let_go) {
		lose(s, &panic);
		return;
	}
	vec_push(&s->held, panic);
	*map_put(&s->by_task, model_key_pack(&t->key), NULL) = s->held.nr;
}

static void on_let_go(void *sink, const struct model_key *task)
{
	struct state *s = sink;
	uint64_t index;

	if (map_del(&s->by_task, model_key_pack(task), &index))
		lose(s, &s->held.v[index - 1]);
}

static const struct model_ops ops = { .task = on_task, .let_go = on_let_go };

static void say(const struct lost *l, const struct by_type_row *row,
		const struct analysis_input *in)
{
	struct finding *f = finding_add(in, SEVERITY_WARNING, row->group->type);
	uint64_t nr_panics = row->ends[MODEL_PANICKED];
	char lost[FORMAT_SIZE], all[FORMAT_SIZE];

	f->harm_ns = l->busy_ns;
	f->has_task = true;
	f->task = l->task;
	f->time_ns = l->time_ns;
	finding_figure(f, "lost_panics", FIGURE_COUNT, l->nr);
	finding_figure(f, "panics", FIGURE_COUNT, nr_panics);
	finding_figure(f, "tasks", FIGURE_COUNT, row->nr_tasks);
	finding_figure(f, "busy_ns", FIGURE_NS, l->busy_ns);
	if (l->nr == nr_panics)
		finding_say(f, "%s task%s panicked, and the JoinHandle was dropped unread",
			    format_grouped(l->nr, lost), plural(l->nr));
	else
		finding_say(f,
			    "the JoinHandles of %s of %s tasks that panicked were dropped unread",
			    format_grouped(l->nr, lost), format_grouped(nr_panics, all));
	finding_advise(f, "keep the JoinHandle, or spawn into a JoinSet, and check the JoinError");
}

static void finish(void *unused, const struct analysis_input *in)
{
	const struct lost *by_group = in->by_group;

	for (uint32_t g = 0; g < in->rec->nr_groups; g++)
		if (by_group[g].nr && by_group[g].nr >= in->limits[LIMIT_NR])
			say(&by_group[g], &in->rows[g], in);
}

static void release(void *state)
{
	struct state *s = state;

	vec_release(&s->held);
	map_release(&s->by_task);
}

const struct analysis analysis_lost_panic = {
	.name = "lost-panic",
	.summary = "tasks that panicked and whose JoinHandle was dropped unread",
	.thresholds = thresholds,
	.group_size = sizeof(struct lost),
	.state_size = sizeof(struct state),
	.init = init,
	.ops = &ops,
	.finish = finish,
	.release = release,
};

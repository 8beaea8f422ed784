// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks that still wait when the recording ends. The run that ends a wait tells where it was; of
 * these, somebody looked at the task meanwhile and found it idle. That is the place of its last
 * wait if it has not begun to run since: all runs were read, unless some were lost.
 */
#include "model/internal.h"

static struct task *task_of(const struct model *m, const struct trace_stand *s)
{
	struct model_key key = { .id = s->task, .type = s->type };

	return s->type < m->types.nr && m->types.v[s->type].is_by_addr ? life_find(m, s->task)
								       : task_find(m, &key);
}

/* Of whatever run, and be it one that did nothing. */
static uint64_t last_start(const struct task *t)
{
	return MAX(t->run_start, MAX(t->shutdown_start, t->finished_start));
}

/* A wake after a loss makes the task certain again, but not the time between its last run and that.
 */
static bool is_in_last_wait(const struct model *m, struct task *t, uint64_t time_ns)
{
	return (t->state == TASK_PENDING || t->state == TASK_SCHEDULED) && t->was_run &&
	       t->loss == m->loss && !next_turn(t)->is_unknown && last_start(t) < time_ns;
}

void stand_settle(struct model *m)
{
	for (uint32_t i = 0; i < m->nr_stands; i++) {
		const struct trace_stand *s = &m->stands[i];
		struct task *t = task_of(m, s);

		if (t && t->pub.key.type == s->type && path_is_known(m, s->path) &&
		    is_in_last_wait(m, t, s->time))
			t->pub.last_path = s->path;
	}
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the files about the life of a task share: task.c, task_overlap.c and task_end.c. */
#ifndef MODEL_TASK_PRIV_H
#define MODEL_TASK_PRIV_H

#include "model/internal.h"

/* A run that begins or ends, or a wake. */
struct task_event {
	struct run_ref run;
	uint8_t flags;			 /* of the event: EF_RUN_…, EF_END_… */
	const struct model_waker *waker; /* of a wake */
};

/* task.c */
/* Adds time outside of runs. */
void task_spend(struct task *t, enum model_state state, uint64_t ns);
/* Records a wake: a transition to runnable at `time`. */
void task_woken(struct model *m, struct task *t, uint64_t time, const struct model_waker *w);
/* The wake that made the task run again although none was seen since its latest run. */
void task_woken_unseen(struct model *m, struct task *t);
/* Makes that run the one that may end the task. The caller sets the state. */
void task_own_run(struct task *t, struct run_ref run, uint64_t start, uint8_t flags);
void task_begin_run(struct model *m, struct task *t, struct run_ref run, uint8_t flags);
/* The time of the open run up to `end` is busy; the run is over unless the recording is. */
void task_close_run(struct model *m, struct task *t, uint64_t end, bool is_open);
void task_add_blocked(struct task *t, uint64_t ns, uint64_t max_ns);

/* The recording ends: whatever the task did until now ends with it. */
void task_cut(struct model *m, struct task *t);

/* task_overlap.c */
/* A poll begins while a run of the task is open. */
void overlap_poll(struct model *m, struct task *t, const struct task_event *ev);
/* A shutdown begins while a run of the task is open. */
void overlap_shutdown(struct model *m, struct task *t, const struct task_event *ev);
/* The run that owns the task is over: the shutdown that waited for it takes the task. */
void overlap_take_over(struct model *m, struct task *t, const struct task_event *ev);
/* Decides between overlapping runs, one of which ends. Returns true if that end does not end the
 * run that owns the task. */
bool overlap_decide(struct model *m, struct task *t, struct run_ref run, uint8_t flags);
/* The rival of the open run, if there is one, counts as if it had not been. */
void overlap_forget_rival(struct model *m, struct task *t);
/* Does the shutdown say, by these flags of its end, that it took the task from a queue? */
bool overlap_did_take(uint8_t flags);

/* task_end.c */
/* The task ends with the run that owns it. */
void task_end(struct model *m, struct task *t, const struct task_event *ev);
/* An event shows that the task did not end: the end seen belonged to a later run. */
void task_revive(struct model *m, struct task *t);

static inline struct frame *frame_at(struct model *m, struct run_ref run)
{
	return &m->threads.v[run.thread].stack.v[run.depth];
}

static inline bool has_shutdown(const struct task *t)
{
	return t->shutdown.thread != MODEL_NO_THREAD;
}

/* A shutdown that goes through all tasks, not through a queue. */
static inline bool takes_idle(uint8_t flags)
{
	return (flags & (EF_RUN_SHUTDOWN | EF_RUN_DROP)) == EF_RUN_SHUTDOWN;
}

extern const struct model_waker task_self_waker;

#endif

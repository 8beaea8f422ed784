// SPDX-License-Identifier: MIT OR Apache-2.0
/* Streams of events written by hand, fed to a model, and everything that its sink was told. */
#ifndef TESTS_UNIT_SCRIPT_H
#define TESTS_UNIT_SCRIPT_H

#include <string.h>

#include "base/intern.h"
#include "base/vec.h"
#include "model/model.h"

/* The types that scripts use. */
enum {
	ASYNC,
	LOCAL,
	BLOCKING,
	LAUNCH,
	STRIPPED,
	STRIPPED_TASK,
	OTHER_COPY,
	NUMBERED,
	UNNUMBERED,
	NR_TYPES
};

static const struct trace_type script_types[NR_TYPES] = {
	[ASYNC] = { .runtime = 0, .kind = TRACE_TASK, .name = "app::work" },
	[LOCAL] = { .runtime = 0, .kind = TRACE_LOCAL, .name = "app::local" },
	[BLOCKING] = { .runtime = 0, .kind = TRACE_BLOCKING, .name = "app::hash" },
	[LAUNCH] = { .runtime = 0, .kind = TRACE_HELPER, .name = "tokio::launch" },
	[STRIPPED] = { .runtime = 0, .kind = TRACE_BLOCKING, .name = "" },
	[STRIPPED_TASK] = { .runtime = 0, .kind = TRACE_TASK, .name = "" },
	[OTHER_COPY] = { .runtime = 1, .kind = TRACE_TASK, .name = "app::work" },
	[NUMBERED] = { .runtime = 2, .kind = TRACE_TASK, .name = "a::b", .has_numbers = true },
	[UNNUMBERED] = { .runtime = 2, .kind = TRACE_BLOCKING, .name = "a::c" },
};

/* Copies without the pointers that were good during the call only. */
struct told {
	VEC(struct model_task) tasks;
	VEC(struct model_thread) threads;
	VEC(struct model_run) runs;
	VEC(struct model_wake) wakes;
	VEC(struct model_waker) wakers; /* of wakes, in the same order */
	VEC(struct model_key) woken;	/* of wakes, in the same order */
	struct intern *names;		/* of tasks */
	struct model_totals totals;
};

static inline void told_task(void *sink, const struct model_task *t)
{
	vec_push(&((struct told *)sink)->tasks, *t);
}

static inline void told_thread(void *sink, const struct model_thread *t)
{
	vec_push(&((struct told *)sink)->threads, *t);
}

static inline void told_run(void *sink, const struct model_run *r)
{
	vec_push(&((struct told *)sink)->runs, *r);
}

static inline void told_wake(void *sink, const struct model_wake *w)
{
	vec_push(&((struct told *)sink)->wakes, *w);
	vec_push(&((struct told *)sink)->wakers, *w->waker);
	vec_push(&((struct told *)sink)->woken, w->task->key);
}

static const struct model_ops told_ops = {
	.task = told_task, .thread = told_thread, .run = told_run, .wake = told_wake
};

static inline void told_release(struct told *told)
{
	vec_release(&told->tasks);
	vec_release(&told->threads);
	vec_release(&told->runs);
	vec_release(&told->wakes);
	vec_release(&told->wakers);
	vec_release(&told->woken);
	intern_free(told->names);
}

/* Told from `start` on. */
static inline void play_from(struct told *told, const struct event *evs, size_t nr, uint64_t start,
			     uint64_t end, const uint64_t *lost)
{
	struct model *m = model_new(script_types, NR_TYPES);

	memset(told, 0, sizeof(*told));
	told->names = intern_new();
	model_set_names(m, told->names);
	model_add_sink(m, &told_ops, told);
	model_set_start(m, start);
	model_feed(m, evs, nr);
	model_finish(m, end, lost);
	told->totals = *model_get_totals(m);
	model_free(m);
}

static inline void play(struct told *told, const struct event *evs, size_t nr, uint64_t duration,
			const uint64_t *lost)
{
	play_from(told, evs, nr, 0, duration, lost);
}

static inline bool script_wants_one(void *arg, const struct model_task *t)
{
	return t->key.id == 1;
}

/* The same for a sink of the test's own. is_filtered: only task 1 is told. */
static inline struct model_totals play_to(const struct model_ops *ops, void *sink,
					  const struct event *evs, size_t nr, uint64_t start,
					  bool is_filtered)
{
	struct model *m = model_new(script_types, NR_TYPES);
	struct model_totals totals;

	model_add_sink(m, ops, sink);
	if (is_filtered)
		model_set_filter(m, script_wants_one, NULL);
	model_set_start(m, start);
	model_feed(m, evs, nr);
	model_finish(m, 1000, NULL);
	totals = *model_get_totals(m);
	model_free(m);
	return totals;
}

static inline const struct model_task *told_find(struct told *told, uint64_t id)
{
	vec_each (t, &told->tasks)
		if (t->key.id == id)
			return t;
	return NULL;
}

#define PLAY(told, duration, ...)                                                 \
	do {                                                                      \
		static const struct event evs_[] = { __VA_ARGS__ };               \
		play(told, evs_, sizeof(evs_) / sizeof(evs_[0]), duration, NULL); \
	} while (0)

#define START_AT(t, th, id, ty, ad, fl)                                                 \
	{                                                                               \
		.time = t, .thread = th, .kind = EV_RUN_START, .flags = fl, .type = ty, \
		.task = id, .addr = ad                                                  \
	}
#define START(t, th, id, ty, fl) START_AT(t, th, id, ty, 0x1000 * (id), fl)
#define POLL(t, th, id)		 START(t, th, id, ASYNC, 0)
#define END(t, th, fl)                                                   \
	{                                                                \
		.time = t, .thread = th, .kind = EV_RUN_END, .flags = fl \
	}
#define WAKE_TYPE(t, th, id, ty, fl)                                                          \
	{                                                                                     \
		.time = t, .thread = th, .kind = EV_WAKE, .flags = fl, .type = ty, .task = id \
	}
#define WAKE(t, th, id, fl) WAKE_TYPE(t, th, id, ASYNC, fl)
#define DETACH(t, th, id)                                                             \
	{                                                                             \
		.time = t, .thread = th, .kind = EV_DETACH, .type = ASYNC, .task = id \
	}
#define SPAWN(t, th, ad)                                                     \
	{                                                                    \
		.time = t, .thread = th, .kind = EV_SPAWN, .a = ad, .b = 128 \
	}
#define EV(t, th, k)                                    \
	{                                               \
		.time = t, .thread = th, .kind = EV_##k \
	}
#define LOST(t, th, k, n)                                                     \
	{                                                                     \
		.time = t, .thread = th, .kind = EV_LOST, .a = EV_##k, .b = n \
	}
#define SHUTDOWN(t, th, id) START(t, th, id, ASYNC, EF_RUN_SHUTDOWN)
#define COMPLETE	    EF_END_COMPLETE
#define CANCELLED	    (COMPLETE | EF_END_CANCELLED)
#define TAKEN		    (CANCELLED | EF_END_NOTIFIED)

#endif

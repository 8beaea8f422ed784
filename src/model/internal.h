// SPDX-License-Identifier: MIT OR Apache-2.0
/* What the files of the model share. Nobody outside includes this. */
#ifndef MODEL_INTERNAL_H
#define MODEL_INTERNAL_H

#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "model/model.h"

/*
 * How long an ended task is kept, in ns of the recording. The processor may read the clock a little
 * before it looks at the state word; if another worker runs the task in between, the COMPLETE seen
 * was that later run's, which then shows up some nanoseconds behind the end. Longer keeps more
 * memory warm for nothing.
 */
#define MODEL_GRACE_NS UINT64_C(1000000)
/*
 * The same for a task that a shutdown took from a queue although nobody was seen to put it there:
 * whoever did has yet to stamp the wake, and may have lost its CPU before. There are few of them.
 */
#define MODEL_LATE_GRACE_NS UINT64_C(1000000000)
#define MODEL_MAX_OVER	    4

/* Of a task, now: see the chart in task.c. */
enum task_state {
	TASK_UNKNOWN = 1, /* what it does is not known: just sighted, or a run's end was not seen */
	TASK_PENDING,	  /* decided by what comes next: idle if a wake, scheduled if a run */
	TASK_SCHEDULED,
	TASK_RUNNING,
	TASK_NOTIFIED, /* running, and a wake came that belongs behind the run */
	TASK_ENDED,
	TASK_TAKEN, /* ended by a shutdown that took it from a queue */
	TASK_NR_STATES
};

/* Where a run stands: which thread, how deep in its stack. */
struct run_ref {
	uint32_t thread, depth;
};
#define RUN_REF_NONE ((struct run_ref){ MODEL_NO_THREAD, 0 })

/* What comes before a run, since the one before it or the spawn, and what happens in it. */
struct turn {
	uint64_t idle_ns, sched_ns;
	uint64_t blocked_ns;	  /* asleep in the run */
	struct model_waker waker; /* the latest wake before it, if is_woken */
	bool is_woken;
	bool is_unknown;     /* … what it did before the run, in part */
	uint8_t sleep_flags; /* what it slept in */
};

#define CACHE_LINE 64

/*
 * With many tasks alive a poll costs what fetching its task costs. So a task is some whole cache
 * lines: two of what is public, one of the state, two turns; the rest is seldom looked at.
 */
struct task {
	_Alignas(CACHE_LINE) struct model_task pub;
	_Alignas(CACHE_LINE) uint64_t since; /* pub.ns is complete up to here */
	uint64_t loss;			     /* model.loss at its latest event */
	uint64_t run_start;		     /* is_running: of the latest-started run */
	struct run_ref run;	 /* is_running: that run, which alone may end the task */
	struct run_ref shutdown; /* a shutdown that came while another run was open */
	struct rival *rival;	 /* NULL, but for a blink */
	uint8_t state;		 /* enum task_state */
	uint8_t turn;		 /* the one to come; the other is that of the latest run */
	uint8_t run_flags;
	/* is_running: what a shutdown that ended meanwhile saw of its end; then what it saw */
	uint8_t over_flags;
	bool is_hidden;		/* nothing is told of it: a filter does not want it */
	bool was_run;		/* it had a run before */
	bool is_first_run;	/* is_running: it had none */
	bool is_off_worker;	/* is_running: it gave its worker away */
	bool is_addr_known;	/* its spawn was looked for */
	bool is_run_woken;	/* woken from elsewhere while it ran, by `waker` */
	bool saw_shutdown;	/* the runtime goes away */
	bool saw_finished;	/* … and found it complete */
	bool is_shutdown_blind; /* a shutdown runs or ran it, and no sign was seen that it was
				   queued */
	bool is_late;		/* ended: in model.late */
	_Alignas(CACHE_LINE) struct turn turns[2];
	struct task *prev,
		*next; /* model.live in order of sighting, or .ended or .late in order of end */
	uint64_t max_run_blocked_ns; /* is_running: the longest sleep in the run, if any */
	uint64_t shutdown_start, shutdown_loss; /* when, and model.loss then */
	uint64_t finished_start;		/* of a run that found it complete */
	uint8_t shutdown_flags;
	struct model_waker waker;
	uint64_t life_addr; /* its address, where the runtime has no ids; 0: it has */
};

/*
 * A poll that began while a shutdown runs the task. One of them took the task, the other one found
 * it taken and did nothing; the first end among the two tells which. A task gets it only then: it
 * is rare.
 */
struct rival {
	struct run_ref run;
	uint64_t start;
	uint64_t loss;			     /* model.loss then */
	uint64_t blocked_ns, max_blocked_ns; /* of the shutdown, since then */
	bool was_notified, was_run_woken;    /* of the task, then */
	struct model_waker waker;
	uint8_t flags;
};

struct task_list {
	struct task *first, *last;
};

/* One open run of a thread. */
struct frame {
	uint64_t start;
	uint64_t blocked_ns, max_blocked_ns, nr_blocks;
	struct task *task; /* NULL: superseded by a later run of the task, or a run that changes
			      nothing */
	struct model_key key;
	uint64_t futures_from, futures_to; /* if has_futures: from the first to the last of them */
	uint32_t path;			   /* MODEL_NO_PATH when not known */
	uint8_t flags;
	bool is_void;	  /* it found the task taken and did nothing */
	bool has_inner;	  /* other runs or sleeps began in it */
	bool has_panic;	  /* a panic began in it */
	bool has_futures; /* … and polls of futures */
};

/* One open poll of an inner future. */
struct future_frame {
	uint64_t start;
	uint64_t inner_ns; /* of what was recorded inside of it, and is over */
	uint32_t future, depth;
	uint32_t run_depth; /* of the stack of runs */
	bool is_resumed, has_inner;
};

struct thread {
	struct model_thread pub;
	VEC(struct frame) stack;
	VEC(struct future_frame) futures;
	uint64_t sleep_start;
	uint8_t sleep_flags;
	bool is_asleep;
	bool was_seen;
	bool ran_worker, ran_blocking;
	uint64_t task_ns; /* when a task last began to run here, outside of any other run; 0: never
			   */
	/*
	 * Runs of root futures that are over although their ends are yet to come, by the depth of
	 * the stack at which those will come: a worker's own, which is none, and one whose thread
	 * has gone on to run tasks.
	 */
	uint32_t over[MODEL_MAX_OVER], nr_over;
	bool is_runtime_sure; /* pub.runtime was told by a task that it owns */
	uint32_t instance;    /* whose tasks it runs now, MODEL_NO_RUNTIME */
	uint32_t place;	      /* where the task that it runs next was spawned, MODEL_NO_STACK */
	uint64_t placed_id;   /* … that task */
	uint16_t placed_type;
	struct strbuf called;	    /* the name of the task that it runs next */
	uint64_t number;	    /* … and its id, 0: was not told */
	uint64_t called_addr;	    /* … and its address */
	bool is_called_whole;	    /* its name has come to its end */
	struct mark_fields *fields; /* of the mark that comes next; NULL: it never had any */
	/* what the end that comes next is of, if has_end_of */
	struct end_of {
		struct model_key key;
		uint64_t id;
		uint32_t future;
	} end_of;
	bool has_end_of;
};

struct type {
	uint32_t copy;	  /* of the runtime's code: where ids are unique */
	uint32_t runtime; /* whose its tasks are if nothing else tells */
	enum trace_task_kind kind;
	bool is_named, is_helper;
	bool is_root;	      /* of root futures, which are no tasks */
	bool has_numbers;     /* as trace_type has it */
	bool is_by_addr;      /* events name its tasks by their addresses */
	bool is_numbered;     /* … and tasks of its copy have ids besides */
	bool has_tasks;	      /* there was one */
	uint8_t places;	      /* MODEL_IN_WORKER, MODEL_OUTSIDE: where its tasks ran */
	uint64_t spawn_bytes; /* of its allocations, 0 when not known */
};

/* An allocation that may become a task. */
struct spawn {
	uint64_t time, size, loss, loss_spawn;
	uint32_t thread, stack;
	uint32_t runtime; /* of the root future that made it, MODEL_NO_RUNTIME */
	bool has_parent;
	struct model_key parent;
};

struct task_slot {
	uint64_t id;
	struct task *task; /* NULL: free */
};

struct sink {
	const struct model_ops *ops;
	void *sink;
};

/* Those sinks that listen to one thing: the things that happen most often. */
struct run_sink {
	void (*tell)(void *sink, const struct model_run *run);
	void *sink;
};

struct wake_sink {
	void (*tell)(void *sink, const struct model_wake *wake);
	void *sink;
};

struct model {
	uint64_t now;
	uint64_t loss;	     /* grows whenever events that move a task were lost */
	uint64_t loss_spawn; /* … or allocations */
	uint64_t start, end;
	bool is_muted;	  /* it is not yet `start` */
	uint64_t reap_at; /* when the first of `ended` has waited long enough */

	struct task_slot *slots; /* open addressing by key */
	size_t nr_tasks, nr_slots;
	unsigned slots_shift; /* of a hash, to get one of nr_slots / 4 */
	struct task *free_tasks;
	uint64_t nr_sighted; /* tasks, ever */
	bool (*wants)(void *arg, const struct model_task *t);
	void *wants_arg;
	VEC(struct task *) chunks;
	struct task_list live, ended, late;

	VEC(struct thread) threads;
	VEC(struct type) types;
	struct model_runtimes runtimes;
	bool has_runtimes; /* they were told; else a copy is one */
	const struct trace_stack *stacks;
	uint32_t nr_stacks;
	bool has_local_stacks; /* some of them tell what the type does not */
	const struct trace_path *paths;
	uint32_t nr_paths;
	const struct trace_stand *stands;
	uint32_t nr_stands;
	uint8_t *runtime_places; /* MODEL_IN_WORKER, MODEL_OUTSIDE, of runtimes.nr */
	bool *is_runtime_local;	 /* the same: a LocalRuntime of Tokio, as far as is known */
	bool has_local_runtimes; /* the recording tells of one */
	const char *
		*runtime_schedulers; /* the same, as the stacks of roots tell; NULL: none does */

	struct map lives; /* address -> task, where runtimes have no ids */
	struct intern *names;
	uint64_t nr_lives;
	struct map spawn_by_addr; /* index into spawns */
	VEC(struct spawn) spawns;
	VEC(uint32_t) free_spawns;
	uint32_t latest_spawn; /* index into spawns: whose stack may come next */

	struct sink sinks[MODEL_MAX_SINKS];
	unsigned nr_sinks;
	struct run_sink run_sinks[MODEL_MAX_SINKS]; /* none before `start` */
	struct wake_sink wake_sinks[MODEL_MAX_SINKS];
	unsigned nr_run_sinks, nr_wake_sinks;
	bool wants_sleeps, wants_futures; /* some sink does, and it is time */
	struct open_spans *spans;	  /* NULL: there was none */
	struct model_totals totals;
};

/* tell_run.c: the run of a task up to `end`, and how it lies among the others of its thread */
void tell_task_run(struct model *m, struct task *t, uint64_t end, bool is_open);

/* table.c: tasks by key, their memory, their lists */
struct task *task_new(struct model *m, const struct model_key *key,
		      enum trace_task_kind kind); /* into the live list */
void task_forget(struct model *m,
		 struct task *t); /* out of the table and its list, memory reused */
void task_move(struct task_list *from, struct task_list *to, struct task *t);
void task_table_release(struct model *m);

/* task.c, task_end.c: the life of a task */
void task_spawned(struct model *m, struct task *t); /* just sighted: its spawn was seen */
void task_run_start(struct model *m, struct task *t, struct run_ref run, uint8_t flags);
void task_run_end(struct model *m, struct task *t, struct run_ref run, uint8_t flags);
void task_run_vanished(struct model *m, struct task *t, struct run_ref run); /* no end was seen */
void task_wake(struct model *m, struct task *t, const struct model_waker *w, uint8_t flags);
/* A worker's main loop began that was made inside a run: whose that is, if it is still open, goes
 * on without a worker. */
void task_gave_worker(struct model *m, const struct model_task *helper);
/* A thread slept in that run. */
void task_blocked(struct task *t, struct run_ref run, const struct model_sleep *sleep);
void task_forget_past(struct model *m); /* all tasks begin to count now */
void task_reap(struct model *m);	/* tell the sinks of those that ended long enough ago */
void task_finish(struct model *m);	/* … and of all others */

/* life.c: tasks without ids */
struct task *life_find(const struct model *m, uint64_t addr); /* NULL: nobody lives there */
/* Whose run begins. NULL: somebody's who is new there; key has the id then. */
struct task *life_run(struct model *m, const struct thread *thr, const struct event *ev,
		      struct model_key *key);
/* What the runtime calls the task that runs next on the thread. */
void life_number_seen(struct thread *thr, const struct event *ev);
void life_name_seen(struct thread *thr, const struct event *ev);
/* The thread was told of that task, which begins to run. */
void life_call(struct model *m, struct thread *thr, struct task *t);
void life_begin(struct model *m, struct task *t, uint64_t addr);
void life_end(struct model *m, struct task *t);
/* A task was spawned there; false: no, who lives there was queued again. */
bool life_spawned(struct model *m, uint64_t addr);

/* spawn.c: allocations waiting to become tasks */
void spawn_seen(struct model *m, const struct event *ev);
void spawn_stack_seen(struct model *m, const struct event *ev);
void spawn_place_seen(struct thread *thr, const struct event *ev);
/* The thread was told where that task was spawned, which begins to run. */
void spawn_place_match(const struct model *m, struct thread *thr, struct task *t);
void spawn_match(struct model *m, struct task *t, uint64_t addr, bool is_new);
void spawn_forget(struct model *m, uint64_t addr); /* it becomes no task */
/* Was it made where tasks are that stay on their thread? */
bool spawn_is_local(const struct model *m, uint64_t addr);
/* Who made the allocation there, of a root only whose it is; false: it was not seen. */
bool spawn_get_parent(const struct model *m, uint64_t addr, struct model_key *parent,
		      uint32_t *thread);
void spawn_release(struct model *m);

/* thread.c: stacks of runs, sleeping and waking */
struct thread *thread_make(struct model *m, uint32_t thread); /* NULL: absurd number */
void thread_run_start(struct model *m, struct thread *thr, const struct event *ev);
void thread_run_end(struct model *m, struct thread *thr, uint8_t flags);
/* Of what the end is that comes next, of a run or a future. */
void thread_end_of(struct model *m, struct thread *thr, const struct event *ev);
void thread_panic(struct thread *thr);
void thread_sleep(struct model *m, struct thread *thr, uint8_t flags);
void thread_awake(struct model *m, struct thread *thr);
void thread_stop(struct model *m, struct thread *thr);
void thread_finish(struct model *m);
/* The task that runs innermost; false: none, or a helper. */
bool thread_current(const struct model *m, const struct thread *thr, struct model_key *key);
/* Whose root future runs innermost, MODEL_NO_RUNTIME. */
uint32_t thread_root_runtime(const struct model *m, const struct thread *thr);
struct model_waker thread_waker(const struct model *m, const struct thread *thr,
				const struct model_key *woken, uint8_t flags);

/* futures.c: polls of inner futures */
void future_start(struct model *m, struct thread *thr, uint64_t future);
void future_end(struct model *m, struct thread *thr, uint8_t flags);
/* The start of the innermost one that holds a run of that depth; otherwise run_start. */
uint64_t future_around(const struct thread *thr, uint32_t run_depth, uint64_t run_start);
/* Are any open in the run of that depth, or inside of it? */
bool future_is_open(const struct thread *thr, uint32_t run_depth);
/* It is over, and the ends of these were not seen. */
void future_cut(struct model *m, struct thread *thr, uint32_t run_depth);
/* A run that began at `start` is over: the stack of the thread is without it. */
void future_run_over(struct model *m, struct thread *thr, uint64_t start);
/* The run of that depth is over, and those inside of it are not. */
void future_run_left(struct model *m, struct thread *thr, uint32_t run_depth);
void future_forget(struct model *m, struct thread *thr); /* the ends of open ones are missing */
void future_finish(struct model *m, struct thread *thr); /* the recording ends */

/* marks.c: what the program itself tells */
void mark_seen(struct model *m, struct thread *thr, const struct event *ev); /* or a part of it */
void span_finish(struct model *m); /* the recording ends */
void span_release(struct model *m);

/* runtimes.c: which runtime a task and a thread belong to */
void runtime_told(const struct model *m, struct thread *thr, uint64_t instance);
/* Of a task that is new, and begins to run. */
uint32_t runtime_of(const struct model *m, const struct thread *thr, const struct event *ev);
/* The kind of such a task: its type's, unless its spawn or its runtime tells better. */
enum trace_task_kind runtime_kind_of(struct model *m, const struct thread *thr,
				     const struct model_key *key, uint64_t addr);
/* The stack on which a root begins may tell the flavour of its runtime. */
void runtime_has_root(struct model *m, const struct model_task *root);
/* A worker of that copy has entered the runtime that was told last. */
void runtime_entered(struct model *m, struct thread *thr, uint32_t copy);
/* What a run that begins says of its thread's. */
void runtime_learn(const struct model *m, struct thread *thr, const struct frame *f);

/* stand.c: where tasks stand that still wait at the end */
void stand_settle(struct model *m);

/* start.c: a range of time begins */
void task_begin_anew(struct model *m, struct task *t);
void thread_forget_past(struct model *m);

/* model.c */
void tell_spawn(struct model *m, const struct model_task *task);
void tell_sleep(struct model *m, const struct model_sleep *sleep);
void tell_future(struct model *m, const struct model_future *future);
void tell_mark(struct model *m, const struct model_mark *mark);
void tell_span(struct model *m, const struct model_span *span);
void tell_end(struct model *m, const struct model_task *task);
void tell_task(struct model *m, const struct model_task *task);

static inline struct model_key key_of(const struct model *m, const struct event *ev)
{
	if (unlikely(ev->type >= m->types.nr))
		return (struct model_key){ ev->task, MODEL_NO_RUNTIME, EVENT_TYPE_NONE };
	return (struct model_key){ ev->task, m->types.v[ev->type].runtime, ev->type };
}

/* NULL: absurd number */
static inline struct thread *thread_get(struct model *m, uint32_t thread)
{
	struct thread *thr =
		likely(thread < m->threads.nr) ? &m->threads.v[thread] : thread_make(m, thread);

	if (likely(thr))
		thr->was_seen = true;
	return thr;
}

/*
 * Where a task belongs in the table. Runtimes count their ids up, and tasks born together run
 * together: four neighbours share a cache line. The golden ratio spreads numbers that follow each
 * other evenly, so that nearly all tasks are at home and the look-up is predicted well.
 */
static inline size_t task_home(const struct model *m, uint64_t id, uint16_t type)
{
	uint32_t copy = likely(type < m->types.nr) ? m->types.v[type].copy : MODEL_NO_RUNTIME;
	uint64_t group = (id >> 2) + (uint64_t)copy * UINT64_C(0xd6e8feb86659fd93);

	return (group * UINT64_C(0x9e3779b97f4a7c15) >> m->slots_shift) << 2 | (id & 3);
}

/*
 * Where it is, or where it would go. Two copies of Tokio that nothing tells apart are one runtime
 * in which an id may be there twice, but never with one type: a copy has its own tables.
 */
static inline size_t task_probe(const struct model *m, const struct model_key *key)
{
	size_t i = task_home(m, key->id, key->type);

	while (m->slots[i].task &&
	       (m->slots[i].id != key->id || m->slots[i].task->pub.key.type != key->type))
		i = (i + 1) & (m->nr_slots - 1);
	return i;
}

static inline struct task *task_find(const struct model *m, const struct model_key *key)
{
	return likely(m->nr_slots) ? m->slots[task_probe(m, key)].task : NULL;
}

static inline bool path_is_known(const struct model *m, uint32_t path)
{
	return path < m->nr_paths && m->paths[path].nr_steps;
}

static inline enum trace_task_kind type_kind(const struct model *m, uint16_t type)
{
	return type < m->types.nr ? m->types.v[type].kind : TRACE_TASK;
}

static inline bool is_helper(const struct model *m, uint16_t type)
{
	return type < m->types.nr && m->types.v[type].is_helper;
}

static inline bool is_root(const struct model *m, uint16_t type)
{
	return type < m->types.nr && m->types.v[type].is_root;
}

static inline bool is_told(const struct model *m, const struct task *t)
{
	return !t->is_hidden && !is_helper(m, t->pub.key.type);
}

static inline void tell_run(struct model *m, const struct model_run *run)
{
	for (unsigned i = 0; i < m->nr_run_sinks; i++)
		m->run_sinks[i].tell(m->run_sinks[i].sink, run);
}

static inline void tell_wake(struct model *m, const struct model_wake *wake)
{
	for (unsigned i = 0; i < m->nr_wake_sinks; i++)
		m->wake_sinks[i].tell(m->wake_sinks[i].sink, wake);
}

static inline struct turn *next_turn(struct task *t)
{
	return &t->turns[t->turn];
}

/* Of the latest run, and the open one while there is one. */
static inline struct turn *run_turn(struct task *t)
{
	return &t->turns[!t->turn];
}

static inline bool is_running(const struct task *t)
{
	return t->state == TASK_RUNNING || t->state == TASK_NOTIFIED;
}

static inline struct task_list *list_of(struct model *m, const struct task *t)
{
	return t->state < TASK_ENDED ? &m->live : t->is_late ? &m->late : &m->ended;
}

static inline bool is_same_task(const struct model_key *a, const struct model_key *b)
{
	return a->id == b->id && a->type == b->type;
}

static inline bool is_same_run(struct run_ref a, struct run_ref b)
{
	return a.thread == b.thread && a.depth == b.depth;
}

#endif

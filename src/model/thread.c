// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A thread is a stack of open runs, and awake or asleep. What the kernel holds it for inside a
 * task's run is that task's fault ("blocked"); everywhere else it just sleeps. A worker of the
 * multi-threaded runtime lives inside one long run of a helper task, which counts as being outside.
 */
#include "model/internal.h"

#define MAX_THREADS (1u << 20)

struct thread *thread_make(struct model *m, uint32_t thread)
{
	if (thread >= MAX_THREADS)
		return NULL;
	vec_grow(&m->threads, thread + 1 - m->threads.nr);
	while (m->threads.nr <= thread) {
		m->threads.v[m->threads.nr] = (struct thread){
			.pub = { .thread = m->threads.nr, .runtime = MODEL_NO_RUNTIME },
			.instance = MODEL_NO_RUNTIME,
			.place = MODEL_NO_STACK,
			.called = STRBUF_INIT,
		};
		m->threads.nr++;
	}
	return &m->threads.v[thread];
}

static struct frame *top(const struct thread *thr)
{
	return thr->stack.nr ? &thr->stack.v[thr->stack.nr - 1] : NULL;
}

bool thread_current(const struct model *m, const struct thread *thr, struct model_key *key)
{
	for (size_t i = thr->stack.nr; i-- > 0;) {
		const struct frame *f = &thr->stack.v[i];

		if (!is_helper(m, f->key.type) && !is_root(m, f->key.type)) {
			*key = f->key;
			return true;
		}
	}
	return false;
}

uint32_t thread_root_runtime(const struct model *m, const struct thread *thr)
{
	const struct frame *f = top(thr);

	return f && is_root(m, f->key.type) ? f->key.runtime : MODEL_NO_RUNTIME;
}

struct model_waker thread_waker(const struct model *m, const struct thread *thr,
				const struct model_key *woken, uint8_t flags)
{
	struct model_waker w = { .cause = MODEL_BY_THREAD, .thread = thr->pub.thread };
	const struct frame *f = top(thr);

	/* A root is no task: whom it wakes is woken by what is around it, unless that is itself. */
	while (f && is_root(m, f->key.type) && !is_same_task(&f->key, woken))
		f = f > thr->stack.v ? f - 1 : NULL;
	if (f && !is_helper(m, f->key.type)) {
		w.has_key = true;
		w.key = f->key;
		w.cause = is_same_task(&f->key, woken) ? MODEL_BY_SELF : MODEL_BY_TASK;
	} else if (f || thr->ran_worker) {
		w.cause = MODEL_BY_WORKER;
	}
	if (flags & EF_WAKE_ABORT)
		w.cause = MODEL_BY_ABORT;
	return w;
}

/* A blocking closure inside which tasks run is a worker's main loop, where names do not tell. */
static void unmask_helper(struct model *m, uint16_t type)
{
	if (type_kind(m, type) == TRACE_BLOCKING && !m->types.v[type].is_named)
		m->types.v[type].is_helper = true;
}

/* What an outermost run says about its thread. */
static void note_kind(const struct model *m, struct thread *thr, const struct model_key *key)
{
	bool is_blocking = type_kind(m, key->type) == TRACE_BLOCKING && !is_helper(m, key->type);

	thr->pub.is_launched |= is_helper(m, key->type);
	if (is_blocking)
		thr->ran_blocking = true;
	else
		thr->ran_worker = true;
}

/* What the run that begins says about its thread. Shutdowns run wherever a runtime happens to be
 * dropped. */
static void learn_kind(struct model *m, struct thread *thr, const struct frame *f)
{
	const struct model_key *outer = thr->stack.nr ? &thr->stack.v[0].key : &f->key;

	if (f->flags & (EF_RUN_SHUTDOWN | EF_RUN_FINISHED))
		return;
	/* tasks of a LocalSet run in the poll of a root */
	if (is_root(m, outer->type)) {
		thr->ran_worker |= type_kind(m, f->key.type) == TRACE_LOCAL;
		return;
	}
	if (thr->stack.nr == 1 && type_kind(m, f->key.type) <= TRACE_LOCAL)
		unmask_helper(m, outer->type);
	if (!thr->ran_worker && (thr->stack.nr == 0 || is_helper(m, outer->type)))
		note_kind(m, thr, outer);
}

/* Where the run that begins stands. A task of another task's runtime is outside of its worker. */
static void note_place(struct model *m, const struct thread *thr, const struct frame *f)
{
	const struct frame *outer = top(thr);
	bool is_in_worker = outer && is_helper(m, outer->key.type) && f->key.type < m->types.nr &&
			    m->types.v[outer->key.type].copy == m->types.v[f->key.type].copy;

	uint8_t place = is_in_worker ? MODEL_IN_WORKER : MODEL_OUTSIDE;

	if (f->key.type >= m->types.nr || f->flags & (EF_RUN_SHUTDOWN | EF_RUN_FINISHED))
		return;
	m->types.v[f->key.type].places |= place;
	if (f->key.runtime < m->runtimes.nr && m->types.v[f->key.type].kind == TRACE_TASK)
		m->runtime_places[f->key.runtime] |= place;
}

/* Where the task stands whose run begins. */
static inline uint32_t path_of(const struct model *m, const struct event *ev)
{
	return path_is_known(m, ev->path) ? ev->path : MODEL_NO_PATH;
}

static void begin_run(struct model *m, struct thread *thr, const struct event *ev)
{
	struct run_ref run = { thr->pub.thread, thr->stack.nr };
	struct model_key key = key_of(m, ev);
	bool is_by_addr = unlikely(ev->task == ev->addr && ev->addr);
	struct task *t = is_by_addr ? life_run(m, thr, ev, &key) : task_find(m, &key);
	bool is_new = !t;
	struct frame *f;

	/* written where it will lie: a copy would wait for what was just written */
	vec_grow(&thr->stack, 1);
	f = &thr->stack.v[run.depth];
	*f = (struct frame){ .start = m->now, .flags = ev->flags, .path = path_of(m, ev) };
	if (is_new)
		key.runtime = runtime_of(m, thr, ev);
	f->key = t ? t->pub.key : key; /* one task, one type, whatever a broken file says */
	thr->is_asleep = false; /* if it was, its waking up was lost, and so is how long it slept */
	if (!thr->ran_worker || (run.depth == 1 && !is_helper(m, thr->stack.v[0].key.type)))
		learn_kind(m, thr, f);
	note_place(m, thr, f);
	if (!run.depth && !ev->flags && type_kind(m, f->key.type) <= TRACE_LOCAL)
		thr->task_ns = m->now;
	if (unlikely(f->key.runtime != thr->pub.runtime || !thr->is_runtime_sure))
		runtime_learn(m, thr, f);
	if (run.depth)
		top(thr)->has_inner = true;
	if (ev->flags & EF_RUN_FINISHED) {
		if (t)
			t->finished_start = m->now;
		if (t && is_running(t) && (ev->flags & EF_RUN_SHUTDOWN))
			t->saw_finished = true;
		thr->stack.nr++;
		return;
	}
	if (is_new)
		t = task_new(m, &key, runtime_kind_of(m, thr, &key, ev->addr));
	if (is_new && is_by_addr)
		life_begin(m, t, ev->addr);
	if (!t->is_addr_known)
		spawn_match(m, t, ev->addr, is_new);
	if (unlikely(thr->called_addr))
		life_call(m, thr, t);
	if (unlikely(thr->place != MODEL_NO_STACK))
		spawn_place_match(m, thr, t);
	if (is_new && is_told(m, t))
		tell_spawn(m, &t->pub);
	if (is_new && is_helper(m, key.type))
		task_gave_worker(m, &t->pub);
	if (is_new && is_root(m, key.type))
		runtime_has_root(m, &t->pub);
	f->task = t;
	thr->stack.nr++;
	task_run_start(m, t, run, ev->flags);
}

/* Is a run open that makes the thread busy? */
static bool is_inside(const struct model *m, const struct thread *thr)
{
	vec_each (f, &thr->stack)
		if (!is_helper(m, f->key.type))
			return true;
	return false;
}

/* A run is over, and counts for its thread, whose stack is without it. */
static void count_run(struct model *m, struct thread *thr, const struct frame *f)
{
	if (is_helper(m, f->key.type)) {
		/* What looked like blocking inside a task was a worker with nothing to do. */
		thr->pub.asleep_ns += f->blocked_ns;
		thr->pub.sleeps += f->nr_blocks;
		/* that it is a worker may have shown on another thread meanwhile */
		if (!thr->stack.nr && !thr->ran_worker &&
		    !(f->flags & (EF_RUN_SHUTDOWN | EF_RUN_FINISHED)))
			note_kind(m, thr, &f->key);
		return;
	}
	thr->pub.blocked_ns += f->blocked_ns;
	thr->pub.nr_blocks += f->nr_blocks;
	thr->pub.max_blocked_ns = MAX(thr->pub.max_blocked_ns, f->max_blocked_ns);
	thr->pub.polls += !f->flags && !f->is_void;
	if (!is_inside(m, thr))
		thr->pub.busy_ns += m->now - f->start;
}

static void pop_run(struct model *m, struct thread *thr)
{
	const struct frame *f = top(thr);

	thr->stack.nr--;
	if (unlikely(thr->futures.nr))
		future_run_over(m, thr, f->start);
	count_run(m, thr, f);
}

/*
 * A root is polled until its thread parks, or turns to the tasks of its runtime: nobody tells of
 * the latter. Tasks of a LocalSet run inside of its poll.
 */
static void leave_root(struct model *m, struct thread *thr, const struct event *ev)
{
	struct run_ref run = { thr->pub.thread, thr->stack.nr - 1 };
	struct frame *f = top(thr);

	/* a runtime may be dropped in its poll, and all tasks of that with it */
	if (ev->type >= m->types.nr || m->types.v[ev->type].kind != TRACE_TASK ||
	    m->types.v[ev->type].copy != m->types.v[f->key.type].copy ||
	    ev->flags & EF_RUN_SHUTDOWN || thr->nr_over == MODEL_MAX_OVER)
		return;
	if (f->task)
		task_run_end(m, f->task, run, 0);
	pop_run(m, thr);
	thr->over[thr->nr_over++] = thr->stack.nr;
}

/* A worker enters its runtime just as block_on does. True: that is all that begins here. */
static bool is_workers_own(struct model *m, struct thread *thr, const struct event *ev)
{
	const struct frame *outer = top(thr);

	if (!outer || !is_helper(m, outer->key.type) || thr->nr_over == MODEL_MAX_OVER)
		return false;
	spawn_forget(m, ev->addr);
	runtime_entered(m, thr, m->types.v[outer->key.type].copy);
	thr->over[thr->nr_over++] = thr->stack.nr;
	return true;
}

void thread_run_start(struct model *m, struct thread *thr, const struct event *ev)
{
	if (unlikely(is_root(m, ev->type)) && is_workers_own(m, thr, ev))
		return;
	if (unlikely(thr->stack.nr && is_root(m, top(thr)->key.type)))
		leave_root(m, thr, ev);
	begin_run(m, thr, ev);
}

void thread_end_of(struct model *m, struct thread *thr, const struct event *ev)
{
	bool is_by_addr = ev->type < m->types.nr && m->types.v[ev->type].is_by_addr;
	struct model_key key = key_of(m, ev);
	const struct task *t = is_by_addr ? life_find(m, ev->task) : task_find(m, &key);

	thr->end_of = (struct end_of){ .key = t ? t->pub.key : key,
				       .id = ev->task,
				       .future = MIN(ev->a, UINT32_MAX) };
	thr->has_end_of = true;
}

/* The latest run of that task on the thread, UINT32_MAX: there is none. */
static uint32_t find_run(const struct thread *thr, const struct model_key *key)
{
	for (size_t i = thr->stack.nr; i-- > 0;)
		if (is_same_task(&thr->stack.v[i].key, key))
			return i;
	return UINT32_MAX;
}

/* The run at `depth` was taken out from under others. If it alone made the thread busy, the next of
 * these goes on with that. */
static void hand_on(const struct model *m, struct thread *thr, uint32_t depth,
		    const struct frame *left)
{
	for (size_t i = 0; i < thr->stack.nr && !is_helper(m, left->key.type); i++) {
		if (is_helper(m, thr->stack.v[i].key.type))
			continue;
		if (i >= depth)
			thr->pub.busy_ns += thr->stack.v[i].start - left->start;
		return;
	}
}

/* That run of the task lies one lower in the stack of its thread from now on. */
static void move_run(struct task *t, struct run_ref from)
{
	if (is_same_run(t->run, from))
		t->run.depth--;
	if (is_same_run(t->shutdown, from))
		t->shutdown.depth--;
	if (t->rival && is_same_run(t->rival->run, from))
		t->rival->run.depth--;
}

/* A run is over with others above it, which go on: they lie one lower now. */
static void take_run_out(struct model *m, struct thread *thr, uint32_t depth, uint8_t flags)
{
	struct run_ref run = { thr->pub.thread, depth };
	struct frame f = thr->stack.v[depth];

	if (f.task)
		task_run_end(m, f.task, run, flags);
	future_run_left(m, thr, depth);
	for (size_t i = depth + 1; i < thr->stack.nr; i++) {
		thr->stack.v[i - 1] = thr->stack.v[i];
		if (thr->stack.v[i].task)
			move_run(thr->stack.v[i].task, (struct run_ref){ thr->pub.thread, i });
	}
	thr->stack.nr--;
	for (uint32_t i = 0; i < thr->nr_over; i++)
		thr->over[i] -= thr->over[i] > depth;
	hand_on(m, thr, depth, &f);
	count_run(m, thr, &f);
}

/* Ends a run of that task, wherever it began. */
static void end_run_of(struct model *m, struct thread *thr, uint8_t flags)
{
	const struct model_key key = thr->end_of.key;
	uint32_t depth = find_run(thr, &key);

	if (depth == UINT32_MAX && is_root(m, key.type) && thr->nr_over) {
		thr->nr_over--; /* its run was over before */
		return;
	}
	for (size_t i = 0; depth == UINT32_MAX && i < m->threads.nr; i++) {
		thr = &m->threads.v[i];
		depth = find_run(thr, &key);
	}
	if (depth == UINT32_MAX) {
		m->totals.nr_stray++;
	} else if (depth + 1 == thr->stack.nr) {
		future_cut(m, thr, depth);
		if (top(thr)->task)
			task_run_end(m, top(thr)->task, (struct run_ref){ thr->pub.thread, depth },
				     flags);
		pop_run(m, thr);
	} else {
		take_run_out(m, thr, depth, flags);
	}
}

void thread_run_end(struct model *m, struct thread *thr, uint8_t flags)
{
	struct run_ref run = { thr->pub.thread, thr->stack.nr - 1 };

	thr->is_asleep = false;
	if (unlikely(thr->has_end_of)) {
		thr->has_end_of = false;
		end_run_of(m, thr, flags);
		return;
	}
	if (unlikely(thr->nr_over && thr->over[thr->nr_over - 1] == thr->stack.nr)) {
		thr->nr_over--;
		return;
	}
	if (!thr->stack.nr) {
		m->totals.nr_stray++;
		return;
	}
	future_cut(m, thr, run.depth);
	if (top(thr)->task)
		task_run_end(m, top(thr)->task, run, flags);
	pop_run(m, thr);
}

void thread_panic(struct thread *thr)
{
	if (thr->stack.nr)
		top(thr)->has_panic = true;
}

void thread_sleep(struct model *m, struct thread *thr, uint8_t flags)
{
	thr->is_asleep = true;
	thr->sleep_flags = flags;
	thr->sleep_start = m->now;
	if (thr->stack.nr)
		top(thr)->has_inner = true;
}

void thread_awake(struct model *m, struct thread *thr)
{
	struct frame *f = top(thr);
	struct model_sleep sleep = { .start_ns = thr->sleep_start,
				     .end_ns = m->now,
				     .thread = thr->pub.thread,
				     .flags = thr->sleep_flags };
	uint64_t ns = m->now - thr->sleep_start;

	if (!thr->is_asleep) {
		m->totals.nr_stray++;
		return;
	}
	thr->is_asleep = false;
	if (f && f->task && is_told(m, f->task)) {
		sleep.task = &f->task->pub;
		sleep.run_start_ns = f->start;
		sleep.around_ns = future_around(thr, thr->stack.nr, f->start);
	}
	if (m->wants_sleeps)
		tell_sleep(m, &sleep);
	if (!f) {
		thr->pub.asleep_ns += ns;
		thr->pub.sleeps++;
		return;
	}
	f->blocked_ns += ns;
	f->max_blocked_ns = MAX(f->max_blocked_ns, ns);
	f->nr_blocks++;
	if (f->task)
		task_blocked(f->task, (struct run_ref){ thr->pub.thread, thr->stack.nr - 1 },
			     &sleep);
}

/* The thread is gone, or what it did is unreadable: the ends of its open runs are missing. */
void thread_stop(struct model *m, struct thread *thr)
{
	thr->is_asleep = thr->has_end_of = false;
	thr->nr_over = 0;
	thr->instance = MODEL_NO_RUNTIME;
	future_forget(m, thr);
	while (thr->stack.nr) {
		struct run_ref run = { thr->pub.thread, thr->stack.nr - 1 };

		if (top(thr)->task)
			task_run_vanished(m, top(thr)->task, run);
		pop_run(m, thr);
		m->totals.nr_stray++;
	}
}

void thread_finish(struct model *m)
{
	vec_each (thr, &m->threads) {
		while (thr->stack.nr)
			pop_run(m, thr);
		thr->pub.kind = thr->ran_worker	    ? MODEL_WORKER
				: thr->ran_blocking ? MODEL_BLOCKING
						    : MODEL_OTHER;
		if (!thr->was_seen)
			continue;
		for (unsigned i = 0; i < m->nr_sinks; i++)
			if (m->sinks[i].ops->thread)
				m->sinks[i].ops->thread(m->sinks[i].sink, &thr->pub);
	}
}

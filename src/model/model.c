// SPDX-License-Identifier: MIT OR Apache-2.0
/* The driver: takes events one by one, and hands what becomes certain to the sinks. */
#include "model/model.h"

#include <assert.h>
#include <string.h>

#include "model/internal.h"

/* Which copies of runtimes have tasks with ids of their own: a later type may tell of earlier ones.
 */
static void note_numbered(struct model *m)
{
	struct map copies = MAP_INIT;

	vec_each (type, &m->types)
		if (type->has_numbers)
			map_put(&copies, type->copy, NULL);
	vec_each (type, &m->types)
		type->is_numbered = map_get(&copies, type->copy) != NULL;
	map_release(&copies);
}

/* Whose the tasks of a type are if nothing else tells. */
static void set_type_runtime(const struct model *m, struct type *type)
{
	const struct model_runtimes *r = &m->runtimes;
	bool is_task = type->kind <= TRACE_LOCAL;

	if (!m->has_runtimes)
		type->runtime = type->copy;
	else if (type->copy >= r->nr_copies)
		type->runtime = MODEL_NO_RUNTIME;
	else
		type->runtime = is_task ? r->of_task[type->copy] : r->of_blocking[type->copy];
}

void model_set_types(struct model *m, const struct trace_type *types, uint32_t nr_types)
{
	for (uint32_t i = m->types.nr; i < nr_types; i++) {
		vec_push(&m->types, (struct type){
					    .copy = types[i].runtime,
					    .kind = types[i].kind,
					    .is_named = types[i].name && types[i].name[0],
					    .is_helper = types[i].kind == TRACE_HELPER,
					    .is_root = types[i].kind == TRACE_BLOCK_ON,
					    .has_numbers = types[i].has_numbers,
				    });
		set_type_runtime(m, &m->types.v[i]);
	}
	note_numbered(m);
}

struct model *model_new(const struct trace_type *types, uint32_t nr_types)
{
	struct model *m = xcalloc(1, sizeof(*m));

	m->reap_at = UINT64_MAX;
	model_set_types(m, types, nr_types);
	return m;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	vec_each (thr, &m->threads) {
		vec_release(&thr->stack);
		strbuf_release(&thr->called);
		vec_release(&thr->futures);
		free(thr->fields);
	}
	vec_release(&m->threads);
	vec_release(&m->types);
	free(m->runtime_places);
	free(m->runtime_schedulers);
	free(m->is_runtime_local);
	map_release(&m->lives);
	spawn_release(m);
	span_release(m);
	task_table_release(m);
	free(m);
}

void model_set_names(struct model *m, struct intern *names)
{
	m->names = names;
}

void model_set_paths(struct model *m, const struct trace_path *paths, uint32_t nr)
{
	m->paths = paths;
	m->nr_paths = nr;
}

void model_set_stands(struct model *m, const struct trace_stand *stands, uint32_t nr)
{
	m->stands = stands;
	m->nr_stands = nr;
}

void model_set_stacks(struct model *m, const struct trace_stack *stacks, uint32_t nr)
{
	m->stacks = stacks;
	m->nr_stacks = nr;
	m->has_local_stacks = false;
	for (uint32_t i = 0; i < nr; i++)
		m->has_local_stacks |= stacks[i].is_local;
}

/* What is known of runtimes so far stays; of new ones nothing is. */
#define GROW(v, from, to)                                                            \
	do {                                                                         \
		(v) = xreallocarray(v, (to) + 1, sizeof(*(v)));                      \
		memset((v) + (from), 0, ((to) + 1 - (size_t)(from)) * sizeof(*(v))); \
	} while (0)

void model_set_runtimes(struct model *m, const struct model_runtimes *r)
{
	uint32_t before = m->runtimes.nr;

	assert(r->nr >= before);
	m->runtimes = *r;
	m->has_runtimes = true;
	GROW(m->runtime_places, before, r->nr);
	GROW(m->runtime_schedulers, before, r->nr);
	GROW(m->is_runtime_local, before, r->nr);
	for (uint32_t i = 0; r->is_local && i < r->nr; i++)
		m->has_local_runtimes |= m->is_runtime_local[i] |= r->is_local[i];
	vec_each (type, &m->types)
		set_type_runtime(m, type);
}

/* Who is told of what, and which calls are worth their preparation. */
static void listen(struct model *m)
{
	m->nr_run_sinks = m->nr_wake_sinks = 0;
	m->wants_sleeps = m->wants_futures = false;
	for (unsigned i = 0; !m->is_muted && i < m->nr_sinks; i++) {
		const struct sink *s = &m->sinks[i];

		if (s->ops->run)
			m->run_sinks[m->nr_run_sinks++] = (struct run_sink){ s->ops->run, s->sink };
		if (s->ops->wake)
			m->wake_sinks[m->nr_wake_sinks++] =
				(struct wake_sink){ s->ops->wake, s->sink };
		m->wants_sleeps |= !!s->ops->sleep;
		m->wants_futures |= !!s->ops->future;
	}
}

void model_add_sink(struct model *m, const struct model_ops *ops, void *sink)
{
	assert(m->nr_sinks < MODEL_MAX_SINKS);
	m->sinks[m->nr_sinks++] = (struct sink){ ops, sink };
	listen(m);
}

void model_set_filter(struct model *m, bool (*wants)(void *arg, const struct model_task *t),
		      void *arg)
{
	m->wants = wants;
	m->wants_arg = arg;
}

void model_set_start(struct model *m, uint64_t start_ns)
{
	m->start = start_ns;
	m->is_muted = start_ns > 0;
	listen(m);
}

/* It is `start`: sinks are told from now on. */
static void begin(struct model *m)
{
	memset(&m->totals, 0, sizeof(m->totals));
	m->now = m->start;
	task_forget_past(m);
	thread_forget_past(m);
	listen(m);
}

/* Tells all who listen to it, unless it is too early. */
#define TELL(m, op, what)                                                        \
	do {                                                                     \
		for (unsigned i = 0; !(m)->is_muted && i < (m)->nr_sinks; i++)   \
			if ((m)->sinks[i].ops->op)                               \
				(m)->sinks[i].ops->op((m)->sinks[i].sink, what); \
	} while (0)

void tell_spawn(struct model *m, const struct model_task *task)
{
	TELL(m, spawn, task);
}

void tell_sleep(struct model *m, const struct model_sleep *sleep)
{
	TELL(m, sleep, sleep);
}

void tell_future(struct model *m, const struct model_future *future)
{
	TELL(m, future, future);
}

void tell_mark(struct model *m, const struct model_mark *mark)
{
	TELL(m, mark, mark);
}

void tell_span(struct model *m, const struct model_span *span)
{
	TELL(m, span, span);
}

void tell_end(struct model *m, const struct model_task *task)
{
	TELL(m, end, task);
}

void tell_task(struct model *m, const struct model_task *task)
{
	TELL(m, task, task);
}

/*
 * Whether events name the tasks of a type by address shows by its first run. If that was lost, a
 * wake must not make a task of the address. Ids count tasks, so hardly one looks like an address.
 */
static bool may_be_addr(const struct model *m, const struct event *ev)
{
	enum { LOWEST = 4 << 20, ALIGN = 16 }; /* where programs and their heaps begin */
	bool has_run = ev->type < m->types.nr && m->types.v[ev->type].places;

	return !has_run && ev->task >= LOWEST && ev->task % ALIGN == 0;
}

static struct task *task_of(struct model *m, const struct event *ev, const struct model_key *key)
{
	bool is_by_addr = ev->type < m->types.nr && m->types.v[ev->type].is_by_addr;

	return is_by_addr ? life_find(m, ev->task) : task_find(m, key);
}

static void feed_detach(struct model *m, const struct event *ev)
{
	struct model_key key = key_of(m, ev);
	struct task *t = task_of(m, ev, &key);

	if (t)
		t->pub.is_let_go = true;
	else
		TELL(m, let_go, &key);
}

static void feed_wake(struct model *m, const struct thread *thr, const struct event *ev)
{
	struct model_key key = key_of(m, ev);
	bool is_by_addr = ev->type < m->types.nr && m->types.v[ev->type].is_by_addr;
	struct task *t = task_of(m, ev, &key);
	/* what looks like an abort may be the mark that a shutdown left */
	uint8_t flags = t && t->saw_shutdown ? ev->flags & ~EF_WAKE_ABORT : ev->flags;
	struct model_waker w = thread_waker(m, thr, t ? &t->pub.key : &key, flags);

	/* what wakes a root on its own thread, outside of all runs, is the driver there */
	if (t && is_root(m, t->pub.key.type) && w.cause == MODEL_BY_THREAD &&
	    t->pub.spawn_thread == thr->pub.thread)
		w.cause = MODEL_BY_WORKER;
	if (!t) {
		/* Such a wake is stamped late and may come when the task is over and forgotten. */
		if (ev->flags & (EF_WAKE_RUNNING | EF_WAKE_TRIED) || is_by_addr ||
		    may_be_addr(m, ev))
			return;
		t = task_new(m, &key, type_kind(m, key.type));
		if (is_told(m, t))
			tell_spawn(m, &t->pub);
	}
	task_wake(m, t, &w, flags);
}

/* Lost sleeps and names leave the lives of tasks certain; lost runs and wakes, or what is not
 * known, do not. */
static void note_loss(struct model *m, uint64_t kind)
{
	switch (kind) {
	case EV_SPAWN:
		m->loss_spawn++;
		break;
	case EV_SPAWN_STACK:
	case EV_SPAWN_PLACE:
	case EV_TASK_NUMBER:
	case EV_TASK_NAME:
	case EV_INSTANCE:
	case EV_DETACH:
	case EV_FUTURE_START:
	case EV_FUTURE_END:
	case EV_MARK:
	case EV_SPAN_START:
	case EV_SPAN_END:
	case EV_FIELD:
	case EV_TEXT:
	case EV_SLEEP:
	case EV_AWAKE:
	case EV_PANIC:
	case EV_THREAD_START:
	case EV_THREAD_STOP:
	case EV_THREAD_NAME:
		break;
	default:
		m->loss++;
	}
}

static void feed_lost(struct model *m, struct thread *thr, const struct event *ev)
{
	/* Of no kind: a hole in the file, with starts and ends of runs in it. */
	if (!ev->a)
		thread_stop(m, thr);
	else if (!ev->b)
		return;
	m->totals.lost[ev->a < EV_MAX ? ev->a : 0] += ev->b;
	note_loss(m, ev->a);
}

static void feed_one(struct model *m, struct thread *thr, const struct event *ev)
{
	switch (ev->kind) {
	case EV_RUN_START:
		thread_run_start(m, thr, ev);
		break;
	case EV_RUN_END:
		thread_run_end(m, thr, ev->flags);
		break;
	case EV_END_OF:
		thread_end_of(m, thr, ev);
		break;
	case EV_WAKE:
		feed_wake(m, thr, ev);
		break;
	case EV_DETACH:
		feed_detach(m, ev);
		break;
	case EV_SPAWN:
		spawn_seen(m, ev);
		break;
	case EV_PANIC:
		thread_panic(thr);
		break;
	case EV_SPAWN_PLACE:
		spawn_place_seen(thr, ev);
		break;
	case EV_TASK_NUMBER:
		life_number_seen(thr, ev);
		break;
	case EV_TASK_NAME:
		life_name_seen(thr, ev);
		break;
	case EV_INSTANCE:
		runtime_told(m, thr, ev->a);
		break;
	case EV_SPAWN_STACK:
		spawn_stack_seen(m, ev);
		break;
	case EV_FUTURE_START:
		future_start(m, thr, ev->a);
		break;
	case EV_FUTURE_END:
		future_end(m, thr, ev->flags);
		break;
	case EV_MARK:
	case EV_SPAN_START:
	case EV_SPAN_END:
	case EV_FIELD:
	case EV_TEXT:
		mark_seen(m, thr, ev);
		break;
	case EV_SLEEP:
		thread_sleep(m, thr, ev->flags);
		break;
	case EV_AWAKE:
		thread_awake(m, thr);
		break;
	case EV_THREAD_STOP:
		thread_stop(m, thr);
		break;
	case EV_LOST:
		feed_lost(m, thr, ev);
		break;
	}
}

void model_feed(struct model *m, const struct event *evs, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct event *ev = &evs[i];
		struct thread *thr;

		if (unlikely(m->is_muted && ev->time >= m->start))
			begin(m);
		thr = thread_get(m, ev->thread);
		m->totals.nr_events++;
		m->totals.nr_events_by_kind[ev->kind % EV_MAX]++;
		if (unlikely(!thr)) {
			m->totals.nr_stray++;
			continue;
		}
		m->now = MAX(m->now, ev->time);
		if (unlikely(m->now > m->reap_at))
			task_reap(m);
		feed_one(m, thr, ev);
	}
}

void model_finish(struct model *m, uint64_t end_ns, const uint64_t *lost)
{
	if (m->is_muted)
		begin(m);
	m->now = m->end = MAX(m->now, end_ns);
	for (unsigned kind = 0; lost && kind < EV_MAX; kind++)
		if (lost[kind] > m->totals.lost[kind])
			note_loss(m, kind);
	vec_each (thr, &m->threads)
		if (thr->is_asleep)
			thread_awake(m, thr);
	vec_each (thr, &m->threads)
		future_finish(m, thr);
	span_finish(m);
	stand_settle(m);
	task_finish(m);
	thread_finish(m);
	m->totals.nr_spawns_unmatched += m->spawn_by_addr.nr;
	/* only the totals are asked for from now on, maybe beside the model of a second pass */
	spawn_release(m);
	task_table_release(m);
}

const struct model_totals *model_get_totals(const struct model *m)
{
	return &m->totals;
}

bool model_type_is_helper(const struct model *m, uint16_t type)
{
	return is_helper(m, type);
}

bool model_type_has_tasks(const struct model *m, uint16_t type)
{
	return type < m->types.nr && m->types.v[type].has_tasks;
}

unsigned model_type_get_places(const struct model *m, uint16_t type)
{
	return type < m->types.nr ? m->types.v[type].places : 0;
}

unsigned model_runtime_get_places(const struct model *m, uint32_t runtime)
{
	return runtime < m->runtimes.nr ? m->runtime_places[runtime] : 0;
}

bool model_runtime_is_local(const struct model *m, uint32_t runtime)
{
	return runtime < m->runtimes.nr && m->is_runtime_local[runtime];
}

const char *model_runtime_get_scheduler(const struct model *m, uint32_t runtime)
{
	return runtime < m->runtimes.nr ? m->runtime_schedulers[runtime] : NULL;
}

uint64_t model_get_start(const struct model *m)
{
	return m->start;
}

uint64_t model_get_end(const struct model *m)
{
	return m->end;
}

uint64_t model_get_duration(const struct model *m)
{
	return m->end - m->start;
}

const char *model_end_name(enum model_end end)
{
	static const char *const names[] = { "alive", "completed", "cancelled", "panicked",
					     "dropped" };

	return names[end];
}

const char *model_cause_name(enum model_cause cause)
{
	static const char *const names[] = { "worker", "task", "self", "thread", "abort" };

	return names[cause];
}

const char *model_thread_kind_name(enum model_thread_kind kind)
{
	static const char *const names[] = { "other", "worker", "blocking" };

	return names[kind];
}

const char *model_sleep_name(uint8_t flags)
{
	return flags & EF_SLEEP_FUTEX	? "futex"
	       : flags & EF_SLEEP_TIMED ? "sleep"
	       : flags & EF_SLEEP_EPOLL ? "epoll"
	       : flags & EF_SLEEP_POLL	? "poll"
					: "kernel";
}

const char *model_result_name(uint8_t flags)
{
	return flags & EF_FUTURE_UNWOUND   ? "unwound"
	       : flags & EF_FUTURE_PENDING ? "pending"
	       : flags & EF_FUTURE_READY   ? "ready"
					   : "unknown";
}

const char *model_seen_name(enum trace_future_seen seen)
{
	static const char *const names[] = { "all", "some", "unsure" };

	return names[seen];
}

const char *model_kind_name(enum trace_task_kind kind)
{
	static const char *const names[] = { "task", "local", "blocking", "helper", "block_on" };

	return kind < ARRAY_SIZE(names) ? names[kind] : "task";
}

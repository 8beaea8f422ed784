// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which runtime a task belongs to. Tasks are owned by one, and the thread that runs them says by
 * which; closures of the blocking pool are owned by nobody. They belong to the runtime that their
 * thread serves, if that is known, else to that of the task, root or thread that made them.
 */
#include "model/internal.h"

static uint32_t copy_of(const struct model *m, uint32_t runtime)
{
	return m->runtimes.nr && runtime < m->runtimes.nr ? m->runtimes.copy_of[runtime] : runtime;
}

void runtime_told(const struct model *m, struct thread *thr, uint64_t instance)
{
	thr->instance = instance < m->runtimes.nr_instances ? m->runtimes.of_instance[instance]
							    : MODEL_NO_RUNTIME;
}

static bool is_of_copy(const struct model *m, uint32_t runtime, uint32_t copy)
{
	return runtime != MODEL_NO_RUNTIME && copy_of(m, runtime) == copy;
}

static bool is_set(const struct model *m, uint32_t runtime)
{
	return runtime < m->runtimes.nr && m->runtimes.is_set[runtime];
}

/* Of whoever made the closure, MODEL_NO_RUNTIME when that is not known. */
static uint32_t of_maker(const struct model *m, const struct type *type, uint64_t addr)
{
	struct model_key parent;
	uint32_t thread;

	if (!spawn_get_parent(m, addr, &parent, &thread))
		return MODEL_NO_RUNTIME;
	/* whoever builds a runtime, and so launches its workers, has no part in it yet */
	if (type->is_helper && parent.type == EVENT_TYPE_NONE)
		return MODEL_NO_RUNTIME;
	/* who only waits in a runtime may have the handle of another */
	if (parent.runtime == MODEL_NO_RUNTIME && thread < m->threads.nr &&
	    m->threads.v[thread].is_runtime_sure)
		parent.runtime = m->threads.v[thread].pub.runtime;
	/* a LocalSet has no pool; whose it was made in is not known */
	if (is_of_copy(m, parent.runtime, type->copy) && !is_set(m, parent.runtime))
		return parent.runtime;
	return MODEL_NO_RUNTIME;
}

static uint32_t of_blocking(const struct model *m, const struct thread *thr,
			    const struct type *type, uint64_t addr)
{
	bool is_mine = is_of_copy(m, thr->pub.runtime, type->copy);
	uint32_t mine = is_mine ? thr->pub.runtime : MODEL_NO_RUNTIME;
	uint32_t runtime = is_mine && thr->is_runtime_sure ? mine : type->runtime;

	if (runtime == MODEL_NO_RUNTIME)
		runtime = of_maker(m, type, addr);
	/* a thread of a pool serves but one */
	return runtime == MODEL_NO_RUNTIME ? mine : runtime;
}

uint32_t runtime_of(const struct model *m, const struct thread *thr, const struct event *ev)
{
	const struct type *type;

	if (ev->type >= m->types.nr)
		return MODEL_NO_RUNTIME;
	type = &m->types.v[ev->type];
	if (type->kind > TRACE_LOCAL && !type->is_root)
		return of_blocking(m, thr, type, ev->addr);
	return is_of_copy(m, thr->instance, type->copy) ? thr->instance : type->runtime;
}

/*
 * All tasks of a LocalRuntime stay on its thread. That it is one shows by the first of them that
 * was spawned as such.
 */
enum trace_task_kind runtime_kind_of(struct model *m, const struct thread *thr,
				     const struct model_key *key, uint64_t addr)
{
	enum trace_task_kind kind = type_kind(m, key->type);
	bool is_told = thr->instance == key->runtime && key->runtime < m->runtimes.nr, is_local;

	if (likely(!m->has_local_stacks && !m->has_local_runtimes) || kind != TRACE_TASK)
		return kind;
	is_local = spawn_is_local(m, addr);
	if (is_told)
		is_local = m->is_runtime_local[key->runtime] |= is_local;
	return is_local ? TRACE_LOCAL : kind;
}

void runtime_has_root(struct model *m, const struct model_task *root)
{
	const char *name =
		root->spawn_stack < m->nr_stacks ? m->stacks[root->spawn_stack].scheduler : NULL;

	if (name && *name && root->key.runtime < m->runtimes.nr)
		m->runtime_schedulers[root->key.runtime] = name;
}

void runtime_entered(struct model *m, struct thread *thr, uint32_t copy)
{
	if (!is_of_copy(m, thr->instance, copy))
		return;
	thr->pub.runtime = thr->instance;
	thr->is_runtime_sure = true;
	if (thr->instance < m->runtimes.nr)
		m->runtime_places[thr->instance] |= MODEL_IN_WORKER;
}

/* Only what runs outermost, but for a worker's main loop, and is no shutdown: that may happen
 * anywhere. */
void runtime_learn(const struct model *m, struct thread *thr, const struct frame *f)
{
	bool is_owned = f->key.type < m->types.nr && m->types.v[f->key.type].kind <= TRACE_LOCAL;
	bool is_outermost = thr->stack.nr == 0 ||
			    (thr->stack.nr == 1 && (is_helper(m, thr->stack.v[0].key.type) ||
						    is_root(m, thr->stack.v[0].key.type)));

	if (f->flags & (EF_RUN_SHUTDOWN | EF_RUN_FINISHED) || !is_outermost ||
	    f->key.runtime == MODEL_NO_RUNTIME)
		return;
	if (thr->pub.runtime == MODEL_NO_RUNTIME || (is_owned && !thr->is_runtime_sure) ||
	    (is_owned && is_set(m, thr->pub.runtime) && !is_set(m, f->key.runtime))) {
		thr->pub.runtime = f->key.runtime;
		thr->is_runtime_sure |= is_owned;
	}
}

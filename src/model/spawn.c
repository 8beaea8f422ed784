// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A task's allocation is seen before anything else of it, but has no id yet. It waits here, by
 * address, until the first run of a task at that address. Foreign allocations of the same shape
 * wait too, until the address is used again.
 */
#include "model/internal.h"

void spawn_seen(struct model *m, const struct event *ev)
{
	struct thread *thr = thread_get(m, ev->thread);
	struct spawn *sp;
	uint64_t *index;
	bool was_there;

	if (!life_spawned(m, ev->a)) {
		m->latest_spawn = UINT32_MAX; /* the stack that comes next is nobody's either */
		return;
	}
	index = map_put(&m->spawn_by_addr, ev->a, &was_there);
	if (was_there) {
		m->totals.nr_spawns_unmatched++;
	} else if (m->free_spawns.nr) {
		*index = m->free_spawns.v[--m->free_spawns.nr];
	} else {
		*index = m->spawns.nr;
		vec_push(&m->spawns, (struct spawn){ 0 });
	}
	sp = &m->spawns.v[*index];
	*sp = (struct spawn){
		.time = m->now,
		.size = ev->b,
		.loss = m->loss,
		.loss_spawn = m->loss_spawn,
		.thread = ev->thread,
		.stack = MODEL_NO_STACK,
		.runtime = thr ? thread_root_runtime(m, thr) : MODEL_NO_RUNTIME,
	};
	m->latest_spawn = *index;
	sp->has_parent = thr && thread_current(m, thr, &sp->parent);
}

/* It stands right behind its spawn; if that is gone from the file, it is nobody's. */
void spawn_stack_seen(struct model *m, const struct event *ev)
{
	struct spawn *sp = m->latest_spawn < m->spawns.nr ? &m->spawns.v[m->latest_spawn] : NULL;

	if (sp && sp->thread == ev->thread && sp->time == m->now && ev->a < MODEL_NO_STACK)
		sp->stack = ev->a;
}

void spawn_place_seen(struct thread *thr, const struct event *ev)
{
	thr->place = MIN(ev->a, MODEL_NO_STACK);
	thr->placed_id = ev->task;
	thr->placed_type = ev->type;
}

static bool is_place_known(const struct model *m, uint32_t stack)
{
	return stack < m->nr_stacks && m->stacks[stack].file[0];
}

/* The runtime's own word counts more than what the stack told, unless it names a library. */
void spawn_place_match(const struct model *m, struct thread *thr, struct task *t)
{
	uint32_t place = thr->place;
	bool is_good = is_place_known(m, place) && !m->stacks[place].is_foreign;

	thr->place = MODEL_NO_STACK;
	if (thr->placed_id != t->pub.key.id || thr->placed_type != t->pub.key.type)
		return;
	if (is_good || !is_place_known(m, t->pub.spawn_stack))
		t->pub.spawn_stack = place;
}

/*
 * After a loss the address may have been used again unseen. All allocations of one table have one
 * size, so a differing one is not this task's.
 */
static bool is_credible(const struct model *m, const struct spawn *sp, const struct task *t,
			const struct type *type)
{
	if (sp->time > t->pub.spawn_ns) /* it was seen before: somebody else's */
		return false;
	return sp->loss_spawn == m->loss_spawn || (type && type->spawn_bytes == sp->size);
}

void spawn_match(struct model *m, struct task *t, uint64_t addr, bool is_new)
{
	uint16_t nr = t->pub.key.type;
	struct type *type = nr < m->types.nr ? &m->types.v[nr] : NULL;
	struct spawn *sp;
	uint64_t index, unknown_ns;

	t->is_addr_known = true;
	if (!map_del(&m->spawn_by_addr, addr, &index))
		return;
	vec_push(&m->free_spawns, index);
	sp = &m->spawns.v[index];
	if (!is_credible(m, sp, t, type)) {
		m->totals.nr_spawns_unmatched++;
		return;
	}
	if (type && !type->spawn_bytes)
		type->spawn_bytes = sp->size;
	if (is_new) {
		task_spawned(m, t);
		t->since = MAX(sp->time, m->start);
		t->loss = sp->loss;
	} else {
		/* a wake was seen before: its first run was lost, or was before the start */
		unknown_ns = t->pub.spawn_ns - MAX(sp->time, m->start);
		t->pub.ns[MODEL_UNKNOWN] += unknown_ns;
		next_turn(t)->is_unknown |= unknown_ns > 0;
	}
	t->pub.spawn_exact = sp->time >= m->start;
	t->pub.spawn_ns = MAX(sp->time, m->start);
	t->pub.spawn_thread = sp->thread;
	t->pub.spawn_stack = sp->stack;
	t->pub.has_parent = sp->has_parent;
	t->pub.parent = sp->parent;
}

void spawn_forget(struct model *m, uint64_t addr)
{
	uint64_t index;

	if (map_del(&m->spawn_by_addr, addr, &index))
		vec_push(&m->free_spawns, index);
}

bool spawn_get_parent(const struct model *m, uint64_t addr, struct model_key *parent,
		      uint32_t *thread)
{
	const uint64_t *index = map_get(&m->spawn_by_addr, addr);
	const struct spawn *sp = index ? &m->spawns.v[*index] : NULL;

	if (!sp)
		return false;
	*parent = sp->has_parent ? sp->parent : (struct model_key){ .type = EVENT_TYPE_NONE };
	if (!sp->has_parent || sp->runtime != MODEL_NO_RUNTIME)
		parent->runtime = sp->runtime;
	*thread = sp->thread;
	return true;
}

bool spawn_is_local(const struct model *m, uint64_t addr)
{
	const uint64_t *index = map_get(&m->spawn_by_addr, addr);
	const struct spawn *sp = index ? &m->spawns.v[*index] : NULL;

	/* after a loss the address may be another's */
	return sp && sp->loss_spawn == m->loss_spawn && sp->stack < m->nr_stacks &&
	       m->stacks[sp->stack].is_local;
}

void spawn_release(struct model *m)
{
	map_release(&m->spawn_by_addr);
	vec_release(&m->spawns);
	vec_release(&m->free_spawns);
}

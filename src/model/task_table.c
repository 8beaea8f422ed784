// SPDX-License-Identifier: MIT OR Apache-2.0
/* Tasks by key: linear probing with backward-shift deletion, memory in chunks that never move. */
#include <string.h>

#include "model/internal.h"

#define CHUNK_TASKS 256

static void grow(struct model *m)
{
	struct task_slot *old = m->slots;
	size_t nr_old = m->nr_slots;

	m->nr_slots = nr_old ? nr_old * 2 : 256;
	m->slots_shift = 64 + 2 - __builtin_ctzll(m->nr_slots);
	m->slots = xaligned_alloc(CACHE_LINE, m->nr_slots * sizeof(*m->slots));
	memset(m->slots, 0, m->nr_slots * sizeof(*m->slots));
	for (size_t i = 0; i < nr_old; i++)
		if (old[i].task)
			m->slots[task_probe(m, &old[i].task->pub.key)] = old[i];
	free(old);
}

static struct task *take_free(struct model *m)
{
	struct task *t;

	if (!m->free_tasks) {
		struct task *chunk = xaligned_alloc(CACHE_LINE, CHUNK_TASKS * sizeof(*chunk));

		vec_push(&m->chunks, chunk);
		for (size_t i = CHUNK_TASKS; i-- > 0;) {
			chunk[i].pub.slot = (m->chunks.nr - 1) * CHUNK_TASKS + i;
			chunk[i].next = m->free_tasks;
			m->free_tasks = &chunk[i];
		}
	}
	t = m->free_tasks;
	m->free_tasks = t->next;
	return t;
}

static void append(struct task_list *list, struct task *t)
{
	t->prev = list->last;
	t->next = NULL;
	if (list->last)
		list->last->next = t;
	else
		list->first = t;
	list->last = t;
}

static void unlink_task(struct task_list *list, struct task *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		list->first = t->next;
	if (t->next)
		t->next->prev = t->prev;
	else
		list->last = t->prev;
}

void task_move(struct task_list *from, struct task_list *to, struct task *t)
{
	unlink_task(from, t);
	append(to, t);
}

struct task *task_new(struct model *m, const struct model_key *key, enum trace_task_kind kind)
{
	struct task *t = take_free(m);
	uint32_t slot;

	if ((m->nr_tasks + 1) * 2 > m->nr_slots)
		grow(m);
	slot = t->pub.slot;
	memset(t, 0, sizeof(*t));
	t->pub.key = *key;
	t->pub.nr = m->nr_sighted++;
	t->pub.slot = slot;
	t->pub.kind = kind;
	t->pub.spawn_ns = m->now;
	t->pub.spawn_thread = MODEL_NO_THREAD;
	t->pub.spawn_stack = MODEL_NO_STACK;
	t->pub.last_path = MODEL_NO_PATH;
	t->since = m->now;
	t->loss = m->loss;
	t->state = TASK_UNKNOWN;
	t->run = t->shutdown = RUN_REF_NONE;
	m->slots[task_probe(m, key)] = (struct task_slot){ key->id, t };
	m->nr_tasks++;
	append(&m->live, t);
	if (key->type < m->types.nr)
		m->types.v[key->type].has_tasks = true;
	t->is_hidden = m->wants && !m->wants(m->wants_arg, &t->pub);
	return t;
}

static void remove_slot(struct model *m, size_t i)
{
	size_t mask = m->nr_slots - 1;

	for (size_t j = (i + 1) & mask; m->slots[j].task; j = (j + 1) & mask) {
		size_t h = task_home(m, m->slots[j].id, m->slots[j].task->pub.key.type);

		/* j may fill the hole at i unless its home lies between them */
		if (((j - h) & mask) >= ((j - i) & mask)) {
			m->slots[i] = m->slots[j];
			i = j;
		}
	}
	m->slots[i].task = NULL;
}

void task_forget(struct model *m, struct task *t)
{
	remove_slot(m, task_probe(m, &t->pub.key));
	m->nr_tasks--;
	unlink_task(list_of(m, t), t);
	t->next = m->free_tasks;
	m->free_tasks = t;
}

void task_table_release(struct model *m)
{
	for (struct task *t = m->live.first; t; t = t->next)
		free(t->rival);
	vec_each (chunk, &m->chunks)
		free(*chunk);
	vec_release(&m->chunks);
	free(m->slots);
	m->slots = NULL;
	m->free_tasks = NULL;
	m->live = (struct task_list){ 0 };
	m->nr_slots = m->nr_tasks = 0;
}

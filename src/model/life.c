// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Runtimes without ids: their events name a task by its address, which is another's when the task
 * is gone. A life begins with a run where nobody lives, and ends with the task; the memory is given
 * back after that end was stamped, so no event of the next life comes before it. Only a run that
 * drops its task may give the memory back before it is over: what is polled or spawned there
 * meanwhile is another. Ids are given here, 1, 2, 3 … in the order of first runs, which is the same
 * in each pass; or the runtime has ids after all, which are told before a first run, and names.
 */
#include <string.h>

#include "base/intern.h"
#include "base/utf8.h"
#include "model/internal.h"

#define MAX_NAME 1024 /* bytes; nobody writes longer ones */
#define UTF8_MAX 4

struct task *life_find(const struct model *m, uint64_t addr)
{
	const uint64_t *t = map_get(&m->lives, addr);

	return t ? (struct task *)*t : NULL;
}

static bool is_being_dropped(const struct task *t)
{
	return is_running(t) && t->run_flags & EF_RUN_DROP;
}

/* A task keeps its type, and is not polled once it is dropped. */
static bool is_same_life(const struct task *t, const struct event *ev, const struct model_key *key)
{
	return t->pub.key.type == key->type && (ev->flags || !is_being_dropped(t));
}

/* The runtime's own, if it was told and is nobody else's; else the next number. */
static uint64_t new_id(struct model *m, const struct thread *thr, const struct event *ev,
		       const struct model_key *key)
{
	bool is_numbered = key->type < m->types.nr && m->types.v[key->type].is_numbered;
	struct model_key own = { thr->number, key->runtime, key->type };

	if (is_numbered && thr->called_addr == ev->addr && own.id && own.id < MODEL_FIRST_NUMBER &&
	    !task_find(m, &own))
		return own.id;
	return m->nr_lives++ + (is_numbered ? MODEL_FIRST_NUMBER : 1);
}

struct task *life_run(struct model *m, const struct thread *thr, const struct event *ev,
		      struct model_key *key)
{
	struct task *t = life_find(m, ev->addr);

	if (key->type < m->types.nr)
		m->types.v[key->type].is_by_addr = true;
	if (t && is_same_life(t, ev, key))
		return t;
	if (t)
		life_end(m, t); /* was not seen, or is still to be stamped */
	/* Cancelled while it was queued: its life is over, and no other begins. */
	if (ev->flags & EF_RUN_FINISHED)
		return NULL;
	key->id = new_id(m, thr, ev, key);
	return NULL;
}

void life_begin(struct model *m, struct task *t, uint64_t addr)
{
	*map_put(&m->lives, addr, NULL) = (uint64_t)t;
	t->life_addr = addr;
}

void life_end(struct model *m, struct task *t)
{
	map_del(&m->lives, t->life_addr, NULL);
	t->life_addr = 0;
}

void life_number_seen(struct thread *thr, const struct event *ev)
{
	thr->number = ev->a;
	thr->called_addr = ev->task;
	thr->is_called_whole = true;
	strbuf_reset(&thr->called);
}

void life_name_seen(struct thread *thr, const struct event *ev)
{
	const uint64_t bytes[2] = { ev->a, ev->b };

	if (thr->called_addr != ev->task || thr->called.len > MAX_NAME)
		return;
	strbuf_add(&thr->called, bytes, strnlen((const char *)bytes, sizeof(bytes)));
	thr->is_called_whole = !(ev->flags & EF_NAME_MORE);
}

/* A name may have been cut in the middle of a character. */
static void add_ellipsis(struct strbuf *name)
{
	size_t whole = 0, len;

	while (whole < name->len && (len = utf8_len(name->s + whole, name->len - whole)))
		whole += len;
	if (name->len - whole < UTF8_MAX)
		name->len = whole;
	strbuf_addstr(name, "…");
}

void life_call(struct model *m, struct thread *thr, struct task *t)
{
	bool is_mine = t->life_addr == thr->called_addr;

	thr->called_addr = thr->number = 0;
	if (!is_mine || !thr->called.len || !m->names)
		return;
	if (!thr->is_called_whole)
		add_ellipsis(&thr->called);
	if (intern_count(m->names) < MODEL_MAX_NAMES)
		t->pub.name =
			intern_get(m->names, intern_put(m->names, thr->called.s, thr->called.len));
}

/* Or may it be, its run being over but for the stamp? */
static bool is_queued(const struct model *m, const struct task *t)
{
	return t->loss == m->loss &&
	       (t->state == TASK_SCHEDULED || (is_running(t) && !is_being_dropped(t)) ||
		(t->state == TASK_PENDING && t->over_flags & EF_END_NOTIFIED));
}

bool life_spawned(struct model *m, uint64_t addr)
{
	struct task *t = m->lives.nr ? life_find(m, addr) : NULL;

	/* A runtime may pass a task that is queued on to another queue. */
	if (t && is_queued(m, t))
		return false;
	if (t)
		life_end(m, t); /* unseen */
	return true;
}

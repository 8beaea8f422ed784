// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/last_look.h"

#include <pthread.h>

#include "capture/process.h"
#include "capture/signals.h"
#include "memory/memory.h"

struct last_look {
	struct stands stands;
	uint32_t pid;
	pthread_t thread;
	bool has_thread;
	bool is_whole; /* valid when done */
	/* atomic */
	bool is_done, is_given_up;
	struct memory *memory;
};

static void *look(void *arg)
{
	struct last_look *l = arg;
	struct memory *m = memory_open_process(l->pid, NULL);

	__atomic_store_n(&l->memory, m, __ATOMIC_SEQ_CST);
	/* either we see the wish, or who has it sees the memory */
	if (m && !__atomic_load_n(&l->is_given_up, __ATOMIC_SEQ_CST))
		l->is_whole = stands_look(&l->stands, m);
	__atomic_store_n(&l->is_done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Libraries may come and go, and recipes with them, while the thread looks: it has its own. */
static void copy_recipes(struct stands *s, const struct process *p)
{
	const struct recipes *r = &p->paths.recipes;

	vec_each (n, &r->nodes)
		vec_push(&s->nodes, *n);
	vec_each (e, &r->edges)
		vec_push(&s->edges, *e);
	/* the agent's: it forgets those of libraries that are gone */
	for (uint32_t i = 0; i < WIRE_MAX_DYNS; i++) {
		const struct wire_dyn *d = &p->region->dyns[i];
		uint64_t addr = __atomic_load_n(&d->addr, __ATOMIC_ACQUIRE);
		uint32_t edge = __atomic_load_n(&d->edge, __ATOMIC_RELAXED);

		if (addr && edge < r->edges.nr)
			*map_put(&s->dyns, addr, NULL) = edge;
	}
	vec_each (o, &p->objects)
		if (o->tables)
			vec_push(&s->objects, (struct stands_object){ o->d, o->base, o->tables });
}

void last_look_begin(struct process *p)
{
	struct last_look *l;

	if (p->last_look || !p->writer || p->is_ended || p->is_stopped || !p->paths.nr_nodes)
		return;
	l = p->last_look = xcalloc(1, sizeof(*l));
	l->pid = p->pid;
	l->stands.clock = p->lobby->clock;
	copy_recipes(&l->stands, p);
	signals_block(); /* they are the session's */
	l->has_thread = pthread_create(&l->thread, NULL, look, l) == 0;
	signals_unblock();
	l->is_done = !l->has_thread;
}

bool last_look_is_done(const struct process *p)
{
	return !p->last_look || __atomic_load_n(&p->last_look->is_done, __ATOMIC_ACQUIRE);
}

static void join(struct last_look *l)
{
	struct memory *m;

	__atomic_store_n(&l->is_given_up, true, __ATOMIC_SEQ_CST);
	m = __atomic_load_n(&l->memory, __ATOMIC_SEQ_CST);
	if (m)
		memory_give_up(m);
	if (l->has_thread)
		pthread_join(l->thread, NULL);
	l->has_thread = false;
}

/* Is there no run of a task after it was looked at that is not in the file, nor counted as lost? */
static bool is_all_read(const struct process *p)
{
	return p->region->note != WIRE_NOTE_GAVE_UP &&
	       !(p->max_bytes && trace_writer_bytes(p->writer) >= p->max_bytes);
}

void last_look_write(struct process *p)
{
	struct last_look *l = p->last_look;

	if (!l)
		return;
	join(l);
	if (l->is_whole && is_all_read(p))
		vec_each (s, &l->stands.list) {
			struct trace_stand stand = {
				.task = s->task & EVENT_ID_MASK,
				.type = s->type,
				.path = paths_number(p, &l->stands.trails.v[s->trail]),
				.time = s->ticks,
			};

			if (stand.path)
				trace_writer_stand(p->writer, &stand);
		}
	p->last_look = NULL;
	last_look_free(l);
}

void last_look_free(struct last_look *l)
{
	if (!l)
		return;
	join(l);
	if (l->memory)
		memory_close(l->memory);
	stands_release(&l->stands);
	free(l);
}

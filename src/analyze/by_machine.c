// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Machines are numbered in the order of their first polls. Which of them polled a live task is a
 * set of bits at the task's slot: that makes "tasks handled" exact, and costs a bit for each
 * machine and live task.
 *
 * A parent may be over long before its children are, or even known: a spawn shows when the task
 * first runs. Its *family* is kept to the end, which is little; only of very many those that can
 * hardly change any more, and are small, are forgotten.
 */
#include "analyze/by_machine.h"

#include <string.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/top.h"

#define MAX_FAMILIES (1u << 20)
#define BITS	     64

/* A live task, by its slot. */
struct life {
	uint64_t nr_blockades;
	uint32_t machine; /* that polled it last, and 1; 0: none did */
	bool is_open;	  /* its parent's family waits for its end */
};

struct family {
	struct by_machine_parent pub;
	uint64_t nr_open; /* children that are alive */
};

struct by_machine {
	struct by_machine_opts o;
	VEC(struct by_machine_row) machines; /* by number */
	VEC(uint32_t) of_thread;	     /* number of the machine, and 1; 0: it is none */
	VEC(struct life) lives;		     /* by slot */
	VEC(uint64_t) ran; /* by slot, nr_words for each: a bit for each machine */
	size_t nr_words;
	struct map live; /* packed keys of the tasks that are alive */

	VEC(struct family) families;
	struct map family_of; /* packed key of the parent -> index */
	size_t max_families;
	uint64_t nr_forgotten;

	uint64_t nr_tasks, nr_ghosts;
	struct top first;		 /* tasks */
	VEC(struct model_thread) others; /* threads that are not yet known to be machines */
	/* When all was seen. */
	struct by_machine_task *tasks;
	size_t nr_kept;
	VEC(struct by_machine_row) rows;
	VEC(struct by_machine_parent) parents;
};

struct by_machine *by_machine_new(const struct by_machine_opts *o)
{
	struct by_machine *b = xcalloc(1, sizeof(*b));

	b->o = *o;
	b->nr_words = 1;
	b->max_families = o->limit ? MAX_FAMILIES : SIZE_MAX;
	top_init(&b->first, sizeof(struct by_machine_task), o->limit);
	return b;
}

void by_machine_free(struct by_machine *b)
{
	if (!b)
		return;
	vec_release(&b->machines);
	vec_release(&b->of_thread);
	vec_release(&b->lives);
	vec_release(&b->ran);
	map_release(&b->live);
	vec_release(&b->families);
	map_release(&b->family_of);
	top_release(&b->first);
	vec_release(&b->others);
	free(b->tasks);
	vec_release(&b->rows);
	vec_release(&b->parents);
	free(b);
}

static bool is_handled(const struct model_task *t)
{
	return t->kind == TRACE_TASK || t->kind == TRACE_LOCAL;
}

static struct life *life_of(struct by_machine *b, uint32_t slot)
{
	while (unlikely(slot >= b->lives.nr))
		vec_push(&b->lives, (struct life){ 0 });
	while (unlikely((slot + 1) * b->nr_words > b->ran.nr))
		vec_push(&b->ran, 0);
	return &b->lives.v[slot];
}

/* Room for the bits of more machines. */
static void widen(struct by_machine *b)
{
	size_t before = b->nr_words, nr_slots = b->ran.nr / before, after = before * 2;
	uint64_t *ran = xcalloc(MAX(nr_slots, (size_t)1) * after, sizeof(*ran));

	for (size_t i = 0; i < b->ran.nr; i++)
		ran[i / before * after + i % before] = b->ran.v[i];
	free(b->ran.v);
	b->ran.v = ran;
	b->ran.nr = b->ran.cap = nr_slots * after;
	b->nr_words = after;
}

/* The number of the thread's machine, and 1. */
static uint32_t machine_of(struct by_machine *b, uint32_t thread)
{
	while (unlikely(thread >= b->of_thread.nr))
		vec_push(&b->of_thread, 0);
	if (unlikely(!b->of_thread.v[thread])) {
		vec_push(&b->machines, (struct by_machine_row){ 0 });
		b->of_thread.v[thread] = b->machines.nr;
		if (b->machines.nr > b->nr_words * BITS)
			widen(b);
	}
	return b->of_thread.v[thread];
}

static void on_run(void *sink, const struct model_run *run)
{
	struct by_machine *b = sink;
	struct by_machine_row *m;
	uint64_t *word, bit;
	uint32_t machine;
	struct life *life;

	if (run->flags || !is_handled(run->task))
		return;
	machine = machine_of(b, run->thread);
	life = life_of(b, run->task->slot);
	m = &b->machines.v[machine - 1];
	word = &b->ran.v[run->task->slot * b->nr_words + (machine - 1) / BITS];
	bit = UINT64_C(1) << (machine - 1) % BITS;
	m->nr_tasks += !(*word & bit);
	*word |= bit;
	m->polls++;
	life->machine = machine;
	/* block_in_place: the machine is another's meanwhile */
	if (unlikely(run->end_ns - run->start_ns >= b->o.blockade_ns) && !run->is_off_worker) {
		m->nr_blockades++;
		life->nr_blockades++;
	}
}

/* Families that nobody can be seen to join, of so many children or fewer. */
static void forget_families(struct by_machine *b, uint64_t nr_children)
{
	size_t kept = 0;

	map_clear(&b->family_of);
	vec_each (f, &b->families) {
		uint64_t key = model_key_pack(&f->pub.key);

		if (!f->nr_open && f->pub.nr_children <= nr_children && !map_get(&b->live, key)) {
			b->nr_forgotten += f->pub.nr_children > 0;
			continue;
		}
		b->families.v[kept] = *f;
		*map_put(&b->family_of, key, NULL) = kept++;
	}
	b->families.nr = kept;
}

static struct family *family_of(struct by_machine *b, const struct model_key *parent)
{
	uint64_t key = model_key_pack(parent), *index;
	bool was_there;

	if (unlikely(b->families.nr >= b->max_families)) {
		for (uint64_t nr = 1; nr < UINT32_MAX && b->families.nr > b->max_families / 2;
		     nr *= 2)
			forget_families(b, nr);
		/* those of living tasks have to stay, and are not looked at all the time */
		b->max_families = MAX(MAX_FAMILIES, 2 * b->families.nr);
	}
	index = map_put(&b->family_of, key, &was_there);
	if (!was_there) {
		*index = b->families.nr;
		vec_push(&b->families, (struct family){ .pub = { .key = *parent } });
	}
	return &b->families.v[*index];
}

static void on_spawn(void *sink, const struct model_task *t)
{
	struct by_machine *b = sink;
	struct life *life = life_of(b, t->slot);

	*life = (struct life){ .is_open = t->has_parent && is_handled(t) };
	memset(&b->ran.v[t->slot * b->nr_words], 0, b->nr_words * sizeof(*b->ran.v));
	*map_put(&b->live, model_key_pack(&t->key), NULL) = 1;
	if (life->is_open)
		family_of(b, &t->parent)->nr_open++;
}

/* The parent is known for sure only now: it may have turned out to be the runtime's own task. */
static void leave_family(struct by_machine *b, const struct model_task *t, const struct life *life)
{
	struct family *f = t->has_parent || life->is_open ? family_of(b, &t->parent) : NULL;

	if (!f)
		return;
	f->nr_open -= life->is_open;
	f->pub.nr_children += t->has_parent;
	f->pub.nr_blocked += t->has_parent && life->nr_blockades;
}

static void note_end(struct by_machine *b, const struct model_task *t, const struct life *life)
{
	struct by_machine_row *m = life->machine ? &b->machines.v[life->machine - 1] : NULL;

	if (!m || t->end != MODEL_COMPLETED)
		return;
	m->nr_completed++;
	if (!t->spawn_exact)
		return;
	m->nr_timed++;
	m->timed_ns += t->end_ns - t->spawn_ns;
}

static void on_task(void *sink, const struct model_task *t)
{
	struct by_machine *b = sink;
	struct life *life = life_of(b, t->slot);
	struct by_machine_task row = { *t, life->nr_blockades }, *kept;

	map_del(&b->live, model_key_pack(&t->key), NULL);
	if (!is_handled(t))
		return;
	b->nr_tasks++;
	b->nr_ghosts += !t->spawn_exact;
	leave_family(b, t, life);
	note_end(b, t, life);
	kept = top_add(&b->first, b->o.rank(b->o.arg, &row), t->nr);
	if (kept)
		*kept = row;
}

static void on_thread(void *sink, const struct model_thread *t)
{
	struct by_machine *b = sink;
	uint32_t machine = t->thread < b->of_thread.nr ? b->of_thread.v[t->thread] : 0;

	if (machine) {
		b->machines.v[machine - 1].thread = *t;
		vec_push(&b->rows, b->machines.v[machine - 1]);
	} else if (t->kind == MODEL_WORKER) {
		vec_push(&b->rows, (struct by_machine_row){ .thread = *t });
	} else if (t->kind == MODEL_OTHER) {
		vec_push(&b->others, *t);
	}
}

const struct model_ops by_machine_ops = {
	.spawn = on_spawn,
	.run = on_run,
	.task = on_task,
	.thread = on_thread,
};

/* "smol-2" -> 5: without the number that tells threads of a pool from each other */
static size_t name_len(const char *name)
{
	size_t len = strlen(name);

	while (len && name[len - 1] >= '0' && name[len - 1] <= '9')
		len--;
	return len;
}

static const char *main_name(const struct recording *rec)
{
	for (uint32_t i = 0; rec->meta && i < rec->nr_threads; i++)
		if (rec->threads[i].tid == rec->meta->pid)
			return rec->threads[i].name;
	return "";
}

/*
 * Threads that bear the name of a machine, and not just the program's, as all have at first. Where
 * a runtime launches its workers it is known who is one, and the blocking pool may be named alike.
 */
static void add_named_alike(struct by_machine *b)
{
	const char *own = main_name(b->o.rec);
	struct intern *names = intern_new();
	uint32_t nr;

	vec_each (row, &b->rows) {
		const char *name = recording_thread_name(b->o.rec, row->thread.thread);

		if (!row->thread.is_launched && name_len(name) && strcmp(name, own) != 0)
			intern_put(names, name, name_len(name));
	}
	nr = intern_count(names);
	vec_each (t, &b->others) {
		const char *name = recording_thread_name(b->o.rec, t->thread);

		if (strcmp(name, own) != 0 && intern_put(names, name, name_len(name)) < nr)
			vec_push(&b->rows, (struct by_machine_row){ .thread = *t });
	}
	intern_free(names);
	vec_release(&b->others);
}

static int by_number(const void *pa, const void *pb)
{
	const struct by_machine_row *a = pa, *b = pb;

	return (a->thread.thread > b->thread.thread) - (a->thread.thread < b->thread.thread);
}

const struct by_machine_row *by_machine_get_rows(struct by_machine *b, size_t *nr)
{
	add_named_alike(b);
	if (b->rows.nr)
		qsort(b->rows.v, b->rows.nr, sizeof(*b->rows.v), by_number);
	*nr = b->rows.nr;
	return b->rows.v;
}

const struct by_machine_task *by_machine_get_tasks(struct by_machine *b, size_t *nr)
{
	if (!b->tasks)
		b->tasks = top_take(&b->first, &b->nr_kept);
	*nr = b->nr_kept;
	return b->tasks;
}

const struct by_machine_parent *by_machine_get_parents(struct by_machine *b, size_t *nr)
{
	if (!b->parents.nr)
		vec_each (f, &b->families)
			if (f->pub.nr_children)
				vec_push(&b->parents, f->pub);
	*nr = b->parents.nr;
	return b->parents.v;
}

uint64_t by_machine_get_nr_tasks(const struct by_machine *b)
{
	return b->nr_tasks;
}

uint64_t by_machine_get_nr_parents(const struct by_machine *b)
{
	uint64_t nr = b->nr_forgotten;

	vec_each (f, &b->families)
		nr += f->pub.nr_children > 0;
	return nr;
}

uint64_t by_machine_get_nr_ghosts(const struct by_machine *b)
{
	return b->nr_ghosts;
}

uint64_t by_machine_get_nr_idle(struct by_machine *b)
{
	size_t nr;
	const struct by_machine_row *rows = by_machine_get_rows(b, &nr);
	uint64_t nr_idle = 0;

	for (size_t i = 0; i < nr; i++)
		nr_idle += !rows[i].polls;
	return nr_idle;
}

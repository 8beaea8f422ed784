// SPDX-License-Identifier: MIT OR Apache-2.0
#include "walk/ties.h"

#include <string.h>

#include "runtime/source.h"

#define NOBODY	   UINT32_MAX
#define MAX_ROUNDS 100

void ties_init(struct ties *t, const struct census *c)
{
	*t = (struct ties){ .census = c };
}

void ties_release(struct ties *t)
{
	vec_release(&t->wants);
	vec_release(&t->holds);
	vec_release(&t->idle);
	vec_release(&t->frees);
	map_release(&t->tasks);
	map_release(&t->out);
}

/* ---- gathering ---- */

static const struct tree_value *value_of(const struct tree *t, const struct tree_node *n,
					 const char *key)
{
	for (uint32_t i = 0; i < n->nr_values; i++)
		if (strcmp(t->values.v[n->first_value + i].field->key, key) == 0)
			return &t->values.v[n->first_value + i];
	return NULL;
}

static bool is_lock(const struct tree_node *n)
{
	return leaf_traits(n->leaf)->is_lock;
}

static struct tie tie_of(size_t task, enum tie_kind kind, uint64_t addr, const struct tree *tree,
			 uint32_t place)
{
	struct tie tie = { .task = task, .kind = kind, .addr = addr, .file = "" };

	if (place != TREE_NO_NODE && tree_has_place(&tree->nodes.v[place])) {
		tie.file = tree->nodes.v[place].variant->file;
		tie.line = tree->nodes.v[place].variant->line;
	}
	return tie;
}

/* The nearest above a leaf that the program has written itself, or the outermost of all. */
static uint32_t own_place(const struct tree *tree, uint32_t node)
{
	uint32_t last = node;

	for (; node != TREE_NO_NODE; node = tree->nodes.v[node].parent) {
		if (!tree_has_place(&tree->nodes.v[node]))
			continue;
		last = node;
		if (source_owner(tree->nodes.v[node].variant->file) == SOURCE_OF_PROGRAM)
			break;
	}
	return last;
}

static bool is_semaphore(const struct tree_node *n)
{
	return n->leaf == LEAF_KIND_SEMAPHORE;
}

/* Who stands in the queue of a lock may have been given it already, and does not know. */
static bool was_given(const struct tree *tree, const struct tree_node *n)
{
	const struct tree_value *missing = value_of(tree, n, "permits_missing");

	return (is_lock(n) || is_semaphore(n)) && missing && !missing->number;
}

/* Who is first in the queue has been given all permits that others do not have. */
static void note_out(struct ties *t, uint64_t lock, const struct tree *tree,
		     const struct tree_node *n)
{
	const struct tree_value *place = value_of(tree, n, "queue_place");
	const struct tree_value *missing = value_of(tree, n, "permits_missing");

	if (n->leaf == LEAF_KIND_RWLOCK && place && place->number == 1 && missing)
		*map_put(&t->out, lock, NULL) = missing->number;
}

/* What the only leaf of a tree waits for. */
static void add_wait(struct ties *t, size_t task, const struct tree *tree)
{
	const struct tree_node *n = &tree->nodes.v[tree_leaf(tree, 0)];
	const struct tree_value *lock = value_of(tree, n, "addr");
	const struct tree_value *joined = value_of(tree, n, "task");
	uint32_t place = tree_main_place(tree);

	if (was_given(tree, n))
		return;
	if (lock && is_lock(n)) {
		vec_push(&t->wants, tie_of(task, TIE_WANTS_LOCK, lock->number, tree, place));
		note_out(t, lock->number, tree, n);
	} else if (lock && is_semaphore(n)) {
		vec_push(&t->wants, tie_of(task, TIE_WANTS_PERMIT, lock->number, tree, place));
	} else if (joined && joined->task_addr) {
		vec_push(&t->wants, tie_of(task, TIE_JOINS, joined->task_addr, tree, place));
	}
}

static void add_holds(struct ties *t, size_t task, enum tie_kind kind, const struct tree *tree)
{
	struct tie tie;

	vec_each (g, &tree->guards) {
		tie = tie_of(task, kind, g->lock_addr, tree, g->node);
		tie.may_be_gone = g->may_be_gone;
		vec_push(&t->holds, tie);
	}
	for (uint32_t i = 0; i < tree->nodes.nr; i++) {
		const struct tree_node *n = &tree->nodes.v[i];
		const struct tree_value *lock =
			was_given(tree, n) ? value_of(tree, n, "addr") : NULL;

		if (!lock)
			continue;
		tie = tie_of(task, kind, lock->number, tree, own_place(tree, i));
		tie.is_sure = n->leaf == LEAF_KIND_MUTEX;
		vec_push(&t->holds, tie);
	}
}

/* Semaphores whose queue the task may leave, since it waits for others as well, or not at all. */
static void add_queues(struct ties *t, size_t task, const struct tree *tree)
{
	vec_each (n, &tree->nodes) {
		const struct tree_value *lock = is_semaphore(n) ? value_of(tree, n, "addr") : NULL;

		if (lock)
			vec_push(&t->frees, (struct tie){ .task = task,
							  .kind = TIE_QUEUES,
							  .addr = lock->number });
	}
}

void ties_add(struct ties *t, size_t task, const struct tree *tree)
{
	if (!tree->nodes.nr)
		return;
	if (t->census->tasks.v[task].state == TASK_IDLE && !tree_waits_for_ever(tree))
		vec_push(&t->idle, tie_of(task, TIE_WAITS, 0, tree, tree_main_place(tree)));
	if (!tree->is_cut && tree_leaf(tree, 0) != TREE_NO_NODE &&
	    tree_leaf(tree, 1) == TREE_NO_NODE)
		add_wait(t, task, tree);
	else
		add_queues(t, task, tree);
	add_holds(t, task, TIE_HAS_LOCK, tree);
	if (tree->kept) {
		add_queues(t, task, tree->kept);
		add_holds(t, task, TIE_KEEPS_LOCK, tree->kept);
	}
}

/* ---- holders ---- */

/* Of what a task has of one lock, the best comes first. */
static int by_lock(const void *a, const void *b)
{
	const struct tie *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->is_sure != y->is_sure)
		return y->is_sure - x->is_sure;
	if (x->may_be_gone != y->may_be_gone)
		return x->may_be_gone - y->may_be_gone;
	return (int)x->kind - (int)y->kind;
}

/* How well one who seems to have a lock is known to have it: only the best of them count. */
static int rank(const struct tie *hold, const uint64_t *wanted)
{
	return hold->is_sure ? 2 : !hold->may_be_gone && wanted[hold->task] != hold->addr;
}

/* Of the ties to one lock, keeps one of each task, and of these the best; returns how many. */
static size_t keep_best(struct tie *holds, size_t nr, const uint64_t *wanted)
{
	size_t kept = 0;
	int best = 0;

	for (size_t i = 0; i < nr; i++)
		best = MAX(best, rank(&holds[i], wanted));
	for (size_t i = 0; i < nr; i++)
		if (rank(&holds[i], wanted) == best &&
		    (!kept || holds[kept - 1].task != holds[i].task))
			holds[kept++] = holds[i];
	return kept;
}

static void choose_holders(struct ties *t)
{
	/* by task: the lock that it waits for, and for nothing else */
	uint64_t *wanted = xcalloc(t->census->tasks.nr + 1, sizeof(*wanted));
	size_t kept = 0;

	vec_each (tie, &t->wants)
		if (tie->kind == TIE_WANTS_LOCK)
			wanted[tie->task] = tie->addr;
	for (size_t i = 0, end; i < t->holds.nr; i = end) {
		size_t nr;

		for (end = i; end < t->holds.nr && t->holds.v[end].addr == t->holds.v[i].addr;)
			end++;
		nr = keep_best(t->holds.v + i, end - i, wanted);
		memmove(t->holds.v + kept, t->holds.v + i, nr * sizeof(*t->holds.v));
		kept += nr;
	}
	t->holds.nr = kept;
	free(wanted);
}

void ties_settle(struct ties *t)
{
	vec_each (hold, &t->holds)
		vec_push(&t->frees, *hold);
	if (t->frees.nr)
		qsort(t->frees.v, t->frees.nr, sizeof(*t->frees.v), by_lock);
	if (t->holds.nr)
		qsort(t->holds.v, t->holds.nr, sizeof(*t->holds.v), by_lock);
	choose_holders(t);
	for (size_t i = 0; i < t->census->tasks.nr; i++)
		*map_put(&t->tasks, t->census->tasks.v[i].addr, NULL) = i;
}

struct holders ties_holders(const struct ties *t, uint64_t lock_addr)
{
	size_t first = partition_point(i, t->holds.nr, t->holds.v[i].addr < lock_addr);
	size_t end = first;

	while (end < t->holds.nr && t->holds.v[end].addr == lock_addr)
		end++;
	return (struct holders){ t->holds.v + first, end - first };
}

/* ---- cycles ---- */

/* Who waits for one thing only, and who holds it up. */
struct graph {
	const struct ties *ties;
	const struct tie **wants;   /* of a task of the census; NULL */
	const struct tie **held_by; /* its tie to the lock; of a join NULL */
	uint32_t *next;		    /* the task that holds it up, NOBODY */
	uint32_t *seen;		    /* in which walk, from 1 */
};

/* Of readers who all want the lock itself, the next; NULL: one of them may let go of it. */
static const struct tie *find_reader(const struct graph *g, struct holders h,
				     const struct tie *wants)
{
	const uint64_t *nr = map_get(&g->ties->out, wants->addr);
	size_t next = 0;

	if (!nr || *nr != h.nr)
		return NULL;
	for (size_t i = 0; i < h.nr; i++) {
		const struct tie *own = g->wants[h.v[i].task];

		if (h.v[i].may_be_gone || !own || own->kind != TIE_WANTS_LOCK ||
		    own->addr != wants->addr)
			return NULL;
		if (h.v[i].task == wants->task)
			next = (i + 1) % h.nr;
	}
	return h.v + next;
}

/* If more than one has it, and each of them is held up, too, any of them leads on to why. */
static void find_next(struct graph *g, const struct tie *wants)
{
	const struct holders h = ties_holders(g->ties, wants->addr);
	const uint64_t *joined = map_get(&g->ties->tasks, wants->addr);
	const struct tie *held_by = NULL;

	if (wants->kind == TIE_JOINS)
		g->next[wants->task] = joined ? *joined : NOBODY;
	else if (h.nr > 1 && wants->kind == TIE_WANTS_LOCK)
		held_by = find_reader(g, h, wants);
	else if (h.nr && !h.v->may_be_gone)
		held_by = h.v;
	if (held_by) {
		g->held_by[wants->task] = held_by;
		g->next[wants->task] = held_by->task;
	}
}

/* Is everybody held up who could let somebody have a permit? */
static bool are_held_up(const struct graph *g, uint64_t semaphore)
{
	const struct ties *t = g->ties;
	size_t i = partition_point(k, t->frees.nr, t->frees.v[k].addr < semaphore);

	for (; i < t->frees.nr && t->frees.v[i].addr == semaphore; i++)
		if (g->next[t->frees.v[i].task] == NOBODY)
			return false;
	return true;
}

/* Takes back what leads to who can go on, one step in each round. */
static bool free_some(struct graph *g)
{
	bool is_any = false;

	vec_each (tie, &g->ties->wants) {
		uint32_t *next = &g->next[tie->task];

		if (*next == NOBODY)
			continue;
		if (g->next[*next] == NOBODY ||
		    (tie->kind == TIE_WANTS_PERMIT && !are_held_up(g, tie->addr))) {
			*next = NOBODY;
			is_any = true;
		}
	}
	return is_any;
}

static bool has_permits(const struct ties *t)
{
	vec_each (tie, &t->wants)
		if (tie->kind == TIE_WANTS_PERMIT)
			return true;
	return false;
}

/* A chain of very many tasks may not come to an end: then nothing is said of semaphores. */
static void free_all(struct graph *g)
{
	for (unsigned i = 0; i < MAX_ROUNDS; i++)
		if (!free_some(g))
			return;
	vec_each (tie, &g->ties->wants)
		if (tie->kind == TIE_WANTS_PERMIT)
			g->next[tie->task] = NOBODY;
}

static const char *rule_of(const struct stuck *s)
{
	const char *rule = "lock-cycle";

	vec_each (x, &s->tasks) {
		if (x->wants->kind == TIE_WANTS_PERMIT)
			return "semaphore-cycle";
		if (x->held_by && x->held_by->kind == TIE_KEEPS_LOCK)
			rule = "futurelock";
		else if (x->wants->kind == TIE_JOINS && strcmp(rule, "lock-cycle") == 0)
			rule = "await-cycle";
	}
	return rule;
}

static void add_cycle(const struct graph *g, uint32_t first, struct stuck_list *found)
{
	struct stuck s = { 0 };
	uint32_t at = first;

	do {
		vec_push(&s.tasks, (struct stuck_task){ g->wants[at], g->held_by[at] });
		at = g->next[at];
	} while (at != first);
	s.rule = rule_of(&s);
	vec_push(&found->all, s);
}

void ties_find_cycles(const struct ties *t, struct stuck_list *found)
{
	size_t nr = t->census->tasks.nr + 1;
	struct graph g = {
		.ties = t,
		.wants = xcalloc(nr, sizeof(*g.wants)),
		.held_by = xcalloc(nr, sizeof(*g.held_by)),
		.next = xcalloc(nr, sizeof(*g.next)),
		.seen = xcalloc(nr, sizeof(*g.seen)),
	};

	vec_each (tie, &t->wants)
		g.wants[tie->task] = tie;
	memset(g.next, 0xff, nr * sizeof(*g.next));
	vec_each (tie, &t->wants)
		find_next(&g, tie);
	if (has_permits(t))
		free_all(&g);
	for (uint32_t i = 0; i < nr - 1; i++) {
		uint32_t at = i;

		for (; at != NOBODY && !g.seen[at]; at = g.next[at])
			g.seen[at] = i + 1;
		if (at != NOBODY && g.seen[at] == i + 1)
			add_cycle(&g, at, found);
	}
	free(g.wants);
	free(g.held_by);
	free(g.next);
	free(g.seen);
}

bool ties_is_by_guards(const struct stuck *s)
{
	vec_each (t, &s->tasks)
		if (t->held_by && !t->held_by->is_sure)
			return true;
	return false;
}

static bool has_task(const struct stuck *s, const struct stuck_task *x)
{
	vec_each (t, &s->tasks)
		if (t->wants->task == x->wants->task)
			return t->wants->addr == x->wants->addr && t->wants->line == x->wants->line;
	return false;
}

/* Each waits for one thing, and who holds that up is of the same cycle. */
bool ties_is_same(const struct stuck *a, const struct stuck *b)
{
	if (a->tasks.nr != b->tasks.nr)
		return false;
	vec_each (t, &a->tasks)
		if (!has_task(b, t))
			return false;
	return true;
}

void stuck_release(struct stuck_list *found)
{
	vec_each (s, &found->all)
		vec_release(&s->tasks);
	vec_release(&found->all);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that tasks which hold each other up are found, whatever ties them, and that who can go on
 * is not named. */
#include "walk/ties.h"

#include <string.h>

#include "memory/fake.h"

#define NR_TASKS 6

static const struct leaf_field addr_field = { "addr", "", LEAF_ADDRESS };
static const struct leaf_field task_field = { "task", "", LEAF_TASK };
static const struct leaf_field missing_field = { "permits_missing", "", LEAF_NUMBER };
static const struct leaf_field place_field = { "queue_place", "", LEAF_QUEUE };
static const struct layout leaf_type = { .name = "leaf", .kind = LAYOUT_STRUCT };
static const struct layout body_type = { .name = "body", .kind = LAYOUT_COROUTINE };
static const struct layout_variant at_line = { .name = "Suspend0",
					       .file = "src/main.rs",
					       .line = 7 };

struct world {
	struct census census;
	struct ties ties;
	struct stuck_list found;
	struct tree trees[NR_TASKS];
};

static int setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	for (uint64_t i = 0; i < NR_TASKS; i++)
		vec_push(&w->census.tasks, (struct census_task){ .addr = 0x1000 + i * 0x100,
								 .id = i,
								 .state = TASK_IDLE });
	ties_init(&w->ties, &w->census);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (unsigned i = 0; i < NR_TASKS; i++)
		tree_release(&w->trees[i]);
	stuck_release(&w->found);
	ties_release(&w->ties);
	vec_release(&w->census.tasks);
	free(w);
	return 0;
}

/* What every tree begins with. */
static void add_body(struct tree *t)
{
	vec_push(&t->nodes, (struct tree_node){ .type = &body_type,
						.variant = &at_line,
						.parent = TREE_NO_NODE });
}

static struct tree *tree_of(struct world *w, unsigned task)
{
	struct tree *t = &w->trees[task];

	if (!t->nodes.nr)
		add_body(t);
	return t;
}

static void add_leaf(struct tree *t, enum leaf_kind kind, const struct tree_value *values,
		     uint32_t nr)
{
	struct tree_node n = { .type = &leaf_type,
			       .depth = 1,
			       .leaf = kind,
			       .first_value = t->values.nr,
			       .nr_values = nr };

	for (uint32_t i = 0; i < nr; i++)
		vec_push(&t->values, values[i]);
	vec_push(&t->nodes, n);
}

static void wants(struct world *w, unsigned task, uint64_t lock)
{
	add_leaf(tree_of(w, task), LEAF_KIND_MUTEX,
		 &(struct tree_value){ .field = &addr_field, .number = lock }, 1);
}

/* Permits of a semaphore; `missing` may be 0: it was given them. */
static void wants_permit(struct world *w, unsigned task, uint64_t semaphore, uint64_t missing)
{
	struct tree_value values[] = { { .field = &addr_field, .number = semaphore },
				       { .field = &missing_field, .number = missing } };

	add_leaf(tree_of(w, task), LEAF_KIND_SEMAPHORE, values, 2);
}

static void joins(struct world *w, unsigned task, unsigned other)
{
	struct tree_value v = { .field = &task_field,
				.number = other,
				.task_addr = w->census.tasks.v[other].addr };

	add_leaf(tree_of(w, task), LEAF_KIND_JOIN, &v, 1);
}

static void holds(struct world *w, unsigned task, uint64_t lock)
{
	struct tree *t = tree_of(w, task);

	vec_push(&t->guards, (struct tree_guard){ .lock_addr = lock });
}

/* A future that the task keeps without polling it has the lock, or stands in its queue. */
static struct tree *keeps(struct world *w, unsigned task)
{
	struct tree *kept = xcalloc(1, sizeof(*kept));

	tree_of(w, task)->kept = kept;
	add_body(kept);
	return kept;
}

static void find(struct world *w)
{
	for (unsigned i = 0; i < NR_TASKS; i++)
		ties_add(&w->ties, i, &w->trees[i]);
	ties_settle(&w->ties);
	ties_find_cycles(&w->ties, &w->found);
}

static void is_cycle(const struct world *w, const char *rule, size_t nr)
{
	assert_int_equal(w->found.all.nr, 1);
	assert_string_equal(w->found.all.v[0].rule, rule);
	assert_int_equal(w->found.all.v[0].tasks.nr, nr);
	vec_each (t, &w->found.all.v[0].tasks)
		assert_int_equal(t->wants->line, at_line.line);
}

static void has_holders(const struct world *w, uint64_t lock, size_t nr, unsigned first)
{
	const struct holders h = ties_holders(&w->ties, lock);

	assert_int_equal(h.nr, nr);
	if (nr)
		assert_int_equal(h.v[0].task, first);
}

static void locks_of_each_other(void **state)
{
	struct world *w = *state;

	holds(w, 1, 0xa0);
	wants(w, 1, 0xb0);
	holds(w, 3, 0xb0);
	wants(w, 3, 0xa0);
	wants(w, 0, 0xa0); /* waits for them, but is no part of it */
	find(w);
	is_cycle(w, "lock-cycle", 2);
	has_holders(w, 0xa0, 1, 1);
	has_holders(w, 0xa8, 0, 0);
	assert_true(ties_is_by_guards(&w->found.all.v[0]));
}

static void its_own_lock(void **state)
{
	struct world *w = *state;

	holds(w, 2, 0xa0);
	wants(w, 2, 0xa0);
	find(w);
	is_cycle(w, "lock-cycle", 1);
}

/* What it waits for besides cannot be seen. */
static void tree_that_was_cut(void **state)
{
	struct world *w = *state;

	holds(w, 2, 0xa0);
	wants(w, 2, 0xa0);
	tree_of(w, 2)->is_cut = true;
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

/* Any of them may have let go of it. */
static void one_of_many(void **state)
{
	struct world *w = *state;

	for (unsigned i = 0; i < 4; i++)
		holds(w, i, 0xa0);
	holds(w, 2, 0xa0); /* in another variable */
	wants(w, 3, 0xb0);
	holds(w, 5, 0xb0);
	wants(w, 5, 0xa0);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
	has_holders(w, 0xa0, 4, 0);
}

/* A cycle, if the guard is still there. */
static void has_moved_something(void **state)
{
	struct world *w = *state;

	holds(w, 1, 0xa0);
	tree_of(w, 1)->guards.v[0].may_be_gone = true;
	wants(w, 1, 0xb0);
	holds(w, 3, 0xb0);
	wants(w, 3, 0xa0);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
	has_holders(w, 0xa0, 1, 1);
}

/* Who still has its guard is the holder, and one who may have moved it away is not. */
static void has_it_for_another(void **state)
{
	struct world *w = *state;

	holds(w, 1, 0xa0);
	tree_of(w, 1)->guards.v[0].may_be_gone = true;
	holds(w, 2, 0xa0);
	wants(w, 2, 0xb0);
	holds(w, 3, 0xb0);
	tree_of(w, 3)->guards.v[0].may_be_gone = true;
	holds(w, 3, 0xb0); /* another future of it has it without a doubt */
	wants(w, 3, 0xa0);
	find(w);
	is_cycle(w, "lock-cycle", 2);
	has_holders(w, 0xa0, 1, 2);
}

/* Who waits for a lock has let go of it, if somebody else seems to have it. */
static void waits_for_what_it_had(void **state)
{
	struct world *w = *state;

	holds(w, 1, 0xa0);
	wants(w, 1, 0xa0);
	holds(w, 2, 0xa0);
	wants(w, 2, 0xa0);
	holds(w, 4, 0xa0);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
	has_holders(w, 0xa0, 1, 4);
}

/* It was given to a task that does not know yet, so who seems to have it has let go. */
static void was_given_meanwhile(void **state)
{
	struct world *w = *state;
	struct tree_value values[] = { { .field = &addr_field, .number = 0xa0 },
				       { .field = &missing_field, .number = 0 } };

	holds(w, 1, 0xa0);
	wants(w, 1, 0xb0);
	holds(w, 2, 0xb0);
	add_leaf(tree_of(w, 2), LEAF_KIND_MUTEX, values, 2);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
	has_holders(w, 0xa0, 1, 2);
}

static void ends_of_each_other(void **state)
{
	struct world *w = *state;

	joins(w, 0, 4);
	joins(w, 4, 2);
	joins(w, 2, 0);
	joins(w, 1, 0);
	find(w);
	is_cycle(w, "await-cycle", 3);
}

static void lock_and_end(void **state)
{
	struct world *w = *state;

	joins(w, 0, 1);
	wants(w, 1, 0xa0);
	holds(w, 0, 0xa0);
	find(w);
	is_cycle(w, "await-cycle", 2);
}

static void future_that_nobody_polls(void **state)
{
	struct world *w = *state;
	struct tree *kept = keeps(w, 0);

	vec_push(&kept->guards, (struct tree_guard){ .lock_addr = 0xa0 });
	wants(w, 0, 0xa0);
	find(w);
	is_cycle(w, "futurelock", 1);
}

static void queue_that_nobody_polls(void **state)
{
	struct world *w = *state;
	struct tree_value values[] = { { .field = &addr_field, .number = 0xa0 },
				       { .field = &missing_field, .number = 0 } };

	add_leaf(keeps(w, 0), LEAF_KIND_MUTEX, values, 2);
	wants(w, 0, 0xa0);
	values[1].number = 1; /* this one was not given the lock */
	values[0].number = 0xb0;
	add_leaf(keeps(w, 1), LEAF_KIND_MUTEX, values, 2);
	wants(w, 1, 0xb0);
	find(w);
	is_cycle(w, "futurelock", 1);
	assert_int_equal(w->found.all.v[0].tasks.v[0].wants->task, 0);
	assert_false(ties_is_by_guards(&w->found.all.v[0])); /* the queue says so */
}

static void who_can_go_on(void **state)
{
	struct world *w = *state;

	/* a chain */
	wants(w, 0, 0xa0);
	holds(w, 1, 0xa0);
	joins(w, 1, 2);
	/* each other's locks, but one of them also waits for something else */
	holds(w, 3, 0xb0);
	wants(w, 3, 0xc0);
	add_leaf(tree_of(w, 3), LEAF_KIND_SLEEP, NULL, 0);
	holds(w, 4, 0xc0);
	wants(w, 4, 0xb0);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

/* To write: who is first in the queue misses one permit for each that reads. */
static void wants_to_write(struct world *w, unsigned task, uint64_t missing, uint64_t place)
{
	struct tree_value values[] = { { .field = &addr_field, .number = 0xa0 },
				       { .field = &missing_field, .number = missing },
				       { .field = &place_field, .number = place } };

	add_leaf(tree_of(w, task), LEAF_KIND_RWLOCK, values, 3);
}

/* 1 and 2 read what both of them want to write. */
static void readers_who_write(struct world *w)
{
	holds(w, 1, 0xa0);
	wants_to_write(w, 1, 999, 2);
	holds(w, 2, 0xa0);
}

static void readers_of_one_lock(void **state)
{
	struct world *w = *state;

	readers_who_write(w);
	wants_to_write(w, 2, 2, 1);
	wants_to_write(w, 3, 999, 3); /* waits for them, but is no part of it */
	find(w);
	is_cycle(w, "lock-cycle", 2);
	assert_true(ties_is_by_guards(&w->found.all.v[0]));
}

/* One more reads than can be seen, or one less: then one has let go of it. */
static void reader_nobody_sees(void **state)
{
	struct world *w = *state;

	readers_who_write(w);
	wants_to_write(w, 2, 3, 1);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

static void reader_that_let_go(void **state)
{
	struct world *w = *state;

	readers_who_write(w);
	wants_to_write(w, 2, 1, 1);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

static void reader_in_doubt(void **state)
{
	struct world *w = *state;

	readers_who_write(w);
	tree_of(w, 2)->guards.v[0].may_be_gone = true;
	wants_to_write(w, 2, 2, 1);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

/* Who is not first does not know how many have it. */
static void readers_behind_another(void **state)
{
	struct world *w = *state;

	readers_who_write(w);
	wants_to_write(w, 2, 2, 3);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

/* Two read, and only wait for something else. */
static void readers_who_go_on(void **state)
{
	struct world *w = *state;

	holds(w, 1, 0xa0);
	holds(w, 2, 0xa0);
	joins(w, 2, 4);
	wants_to_write(w, 3, 2, 1);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

/* 1 and 2 have permits of a semaphore each, and want one of the other's. */
static void permits_of_each_other(struct world *w)
{
	holds(w, 1, 0xa0);
	wants_permit(w, 1, 0xb0, 1);
	holds(w, 2, 0xb0);
	wants_permit(w, 2, 0xa0, 1);
}

static void semaphores(void **state)
{
	struct world *w = *state;

	permits_of_each_other(w);
	wants_permit(w, 0, 0xa0, 1); /* waits for them, but is no part of it */
	holds(w, 3, 0xa0);	     /* held up by them */
	joins(w, 3, 1);
	find(w);
	is_cycle(w, "semaphore-cycle", 2);
	assert_true(ties_is_by_guards(&w->found.all.v[0]));
}

static void its_own_semaphore(void **state)
{
	struct world *w = *state;

	holds(w, 1, 0xa0);
	wants_permit(w, 1, 0xa0, 1);
	find(w);
	is_cycle(w, "semaphore-cycle", 1);
}

static void semaphore_and_lock(void **state)
{
	struct world *w = *state;

	holds(w, 1, 0xa0);
	wants(w, 1, 0xb0);
	holds(w, 2, 0xb0);
	joins(w, 2, 3);
	wants_permit(w, 3, 0xa0, 1);
	find(w);
	is_cycle(w, "semaphore-cycle", 3);
}

/* A third one has a permit, and can go on, at the end of a chain. */
static void another_has_a_permit(void **state)
{
	struct world *w = *state;

	permits_of_each_other(w);
	holds(w, 5, 0xa0);
	joins(w, 5, 4);
	joins(w, 4, 3);
	add_leaf(tree_of(w, 3), LEAF_KIND_SLEEP, NULL, 0);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

/* The same, if it has the permit at all. */
static void another_may_have_a_permit(void **state)
{
	struct world *w = *state;

	permits_of_each_other(w);
	holds(w, 3, 0xa0);
	tree_of(w, 3)->guards.v[0].may_be_gone = true;
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

static void permit_that_was_moved(void **state)
{
	struct world *w = *state;

	permits_of_each_other(w);
	tree_of(w, 1)->guards.v[0].may_be_gone = true;
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

static void permit_was_given_meanwhile(void **state)
{
	struct world *w = *state;

	permits_of_each_other(w);
	wants_permit(w, 3, 0xb0, 0);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
	has_holders(w, 0xb0, 2, 2);
}

/* What the queue keeps for one who leaves it is for who comes next. */
static void leaves_the_queue(void **state)
{
	struct world *w = *state;

	permits_of_each_other(w);
	wants_permit(w, 3, 0xa0, 1);
	add_leaf(tree_of(w, 3), LEAF_KIND_SLEEP, NULL, 0);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

/* Nor does the future matter that stands in the queue and is not polled, as it can be dropped. */
static void is_kept_in_the_queue(void **state)
{
	struct world *w = *state;
	struct tree_value value = { .field = &addr_field, .number = 0xa0 };

	permits_of_each_other(w);
	add_leaf(keeps(w, 3), LEAF_KIND_SEMAPHORE, &value, 1);
	find(w);
	assert_int_equal(w->found.all.nr, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(locks_of_each_other),
		TEST(its_own_lock),
		TEST(tree_that_was_cut),
		TEST(one_of_many),
		TEST(has_moved_something),
		TEST(has_it_for_another),
		TEST(waits_for_what_it_had),
		TEST(was_given_meanwhile),
		TEST(ends_of_each_other),
		TEST(lock_and_end),
		TEST(readers_of_one_lock),
		TEST(reader_nobody_sees),
		TEST(reader_that_let_go),
		TEST(reader_in_doubt),
		TEST(readers_behind_another),
		TEST(readers_who_go_on),
		TEST(semaphores),
		TEST(its_own_semaphore),
		TEST(semaphore_and_lock),
		TEST(another_has_a_permit),
		TEST(another_may_have_a_permit),
		TEST(permit_that_was_moved),
		TEST(permit_was_given_meanwhile),
		TEST(leaves_the_queue),
		TEST(is_kept_in_the_queue),
		TEST(future_that_nobody_polls),
		TEST(queue_that_nobody_polls),
		TEST(who_can_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

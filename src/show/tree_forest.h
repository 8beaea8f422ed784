// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The trees of all tasks, as `tree` prints them: tree_forest.c folds tasks with equal trees into
 * groups, tree_text.c draws a group.
 */
#ifndef SHOW_TREE_FOREST_H
#define SHOW_TREE_FOREST_H

#include <pthread.h>

#include "base/out.h"
#include "show/style.h"
#include "show/tree_findings.h"

#define FOREST_MAX_IDS 8 /* of tasks that share a tree */

struct forest_opts {
	const char *filter;
	bool all;      /* no groups: equal trees are shown one by one */
	bool wrappers; /* futures that only pass on what they hold, too */
	bool locals;   /* variables of plain types, too */
};

/* Tasks with equal trees. */
struct forest_group {
	struct tree *tree;
	enum walk_status status;
	enum task_state state;
	size_t first; /* in the census */
	uint64_t nr;
	size_t tasks[FOREST_MAX_IDS]; /* some of them, in the census */
};

struct forest {
	struct look *look;
	const struct forest_opts *opts;
	const struct styles *styles;
	pthread_mutex_t lock;
	VEC(struct forest_group) groups;
	struct map by_hash; /* the latest group of a hash */
	struct findings findings;
	uint64_t now_ns;
};

/* A walk_fn: adds the task, if it is wanted, to its group. From several threads. */
void forest_gather(void *forest, size_t index, const struct walk_result *r);
/* When all are there: in the order of the census. */
void forest_sort(struct forest *f);
void forest_release(struct forest *f);

/*
 * Variables are printed as they are, so what is folded has the same ones. Values of leaves become
 * ranges, so it has values of the same things: who reads is not folded with who writes.
 */
bool forest_says_same(const struct tree *a, const struct tree_node *x, const struct tree *b,
		      const struct tree_node *y);
/* What the leaves of equal nodes have in different values becomes a range. */
void forest_fold_values(struct tree *t, uint32_t at, const struct tree *other, uint32_t from,
			uint32_t nr);

/* The findings, then all groups. */
void forest_text(const struct forest *f, struct out *out);

#endif

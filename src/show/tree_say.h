// SPDX-License-Identifier: MIT OR Apache-2.0
/* How `ps` and `tree` put into words what a task waits for. All text is safe for a terminal. */
#ifndef SHOW_TREE_SAY_H
#define SHOW_TREE_SAY_H

#include "base/json.h"
#include "walk/peers.h"
#include "walk/ties.h"
#include "walk/tree.h"

struct say {
	const struct tree *tree;
	uint64_t now_ns; /* of CLOCK_MONOTONIC, 0: the memory is a core file's, and it is not known
			  */
	const struct ties *ties; /* NULL: nobody knows who holds a lock */
	struct peers *peers;	 /* NULL: nobody wants to know */
	/* for tree_say.c only: the clock of a leaf's runtime, when that looked last; 0: not known
	 */
	uint64_t clock_ns;
	uint64_t all_permits; /* … and how many a lock has, told by who wants all; 0: not known */
};

/* "shop::checkout", "tokio::time::timeout::Timeout<…>", in at most width columns. */
void say_name(const struct tree_node *n, size_t width, struct strbuf *out);
/* "src/main.rs:12", "src/main.rs:12-20" of an await in a macro; nothing when it is not known. */
void say_place(const struct tree_node *n, size_t width, struct strbuf *out);
/* "sleep 1.5s left", "join task 7" */
void say_leaf(const struct say *s, const struct tree_node *n, struct strbuf *out);
/* "sleep 1.5s left | mpsc 0x55…": all that a task waits for, at most `max` of them. */
void say_leaves(const struct say *s, uint32_t max, struct strbuf *out);
/* "not started", "done"; "" of what waits. */
const char *say_state(const struct tree_node *n);
void say_local(const struct tree_local *l, struct strbuf *out); /* its value */

/* "tree": the nodes with all that is below them; null when there are none. */
void say_json(const struct say *s, struct json *j);

#endif

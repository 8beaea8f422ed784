// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tasks of async-task in memory. Their header has no fixed order of fields, but rustc has never put
 * anything before its table and its state. They have no ids.
 */
#include "runtime/async_task.h"
#include "runtime/task.h"

#define SCHEDULED 1
#define RUNNING	  2
#define COMPLETED 4
#define CLOSED	  8
#define TASK	  16
#define REFERENCE 256
#define MAX_REFS  (1u << 24)
#define NEW	  (SCHEDULED | TASK | REFERENCE)

static unsigned table_words(const struct found_table *t, uint8_t words[TASK_MAX_TABLE_WORDS])
{
	words[0] = 0;
	words[1] = 1;
	return 2;
}

static unsigned state_word(unsigned table_word)
{
	return !table_word;
}

static struct task_look look(const struct found_table *t, const uint64_t *header,
			     unsigned table_word)
{
	uint64_t state = header[state_word(table_word)], refs = state / REFERENCE;
	struct task_look l = { .may_be_copy = state == NEW, .nr_wakers = refs };

	if ((!refs && !(state & TASK)) || refs > MAX_REFS ||
	    (state & COMPLETED && state & (SCHEDULED | RUNNING)))
		return l;
	l.state = state & COMPLETED   ? TASK_OVER
		  : state & RUNNING   ? TASK_RUNNING
		  : state & SCHEDULED ? TASK_SCHEDULED
		  : state & CLOSED    ? TASK_OVER
				      : TASK_IDLE;
	return l;
}

static uint32_t id_off(const struct found_table *t)
{
	return 0;
}

/* async-executor keeps one of each task, to be able to drop it, and wraps the future in what takes
 * that away again; its StaticExecutor does neither. */
static unsigned nr_kept(const char *future)
{
	return str_has_prefix(future, "async_executor::");
}

/* run<F, T, S, M>, and the table's layout says where F is. */
static bool locate(struct layouts *l, const struct found_table *t, struct task_place *place)
{
	place->type = layouts_of_function(l, t->plan.words[t->plan.slot_poll], "F");
	place->off = t->plan.stage_off;
	place->task_bytes = t->plan.trailer_off;
	return place->type != LAYOUT_NONE;
}

/* Their block_on works inside of a thread's local variable, and is inlined for the rest. */
#define IN_LOCAL(symbol)                                            \
	{ symbol, "F", "async_io::driver::block_on::{clo" },        \
	{                                                           \
		symbol, "F", "futures_lite::future::block_on::{clo" \
	}

static const struct root_shape roots[] = {
	IN_LOCAL("LocalKey$LT$T$GT$4with"),
	IN_LOCAL("LocalKey$LT$T$GT$8try_with"),
	IN_LOCAL("8LocalKey"), /* v0 */
	{ "8async_io6driver8block_on", "impl Future<Output = T>", .is_pinned = true,
	  .has_workers = true },
	{ NULL },
};

const struct task_shape async_task_shape = {
	.table_words = table_words,
	.state_word = state_word,
	.look = look,
	.id_off = id_off,
	.nr_kept = nr_kept,
	.locate = locate,
	.roots = roots,
	.shell = "async_std::task::builder::SupportTaskLocals<",
	.root_maker = async_task_root_maker,
};

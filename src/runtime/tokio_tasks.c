// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tokio's tasks in memory. The header begins with the state, whose bits are the same in every 1.x.
 * `spawn` makes a task on its own stack and moves it: the copy that is left there says for ever
 * that it is new. From 1.21 on the header's fourth word names the list that owns the task, and the
 * copy has none; but neither have blocking calls.
 */
#include "runtime/task.h"
#include "runtime/tokio.h"

#define RUNNING	  1
#define COMPLETE  2
#define NOTIFIED  4
#define WANTED	  8 /* somebody has the JoinHandle */
#define REFERENCE 64
#define NEW	  0xcc /* three references, notified, and somebody wants the output */
#define MAX_REFS  (1u << 24)

#define STATE	  0
#define OWNER	  3 /* from 1.21 on */

static unsigned table_words(const struct found_table *t, uint8_t words[TASK_MAX_TABLE_WORDS])
{
	words[0] = 2; /* from 1.21 on */
	words[1] = 4; /* 1.9 to 1.20 */
	words[2] = 5;
	return tokio_is_old(t) ? 3 : 1;
}

static unsigned state_word(unsigned table_word)
{
	return STATE;
}

static struct task_look look(const struct found_table *t, const uint64_t *header,
			     unsigned table_word)
{
	uint64_t state = header[STATE], refs = state / REFERENCE;
	/* An idle task belongs to a list. What has neither that nor the JoinHandle is a waker, or
	 * an AbortHandle, which ends it. */
	struct task_look l = { .may_be_copy = state == NEW,
			       .nr_wakers = refs - 1 - !!(state & WANTED) };

	if (!refs || refs > MAX_REFS)
		return l;
	if (state == NEW && table_word == 2 && t->kind != TRACE_BLOCKING && !header[OWNER])
		return l;
	l.state = state & COMPLETE   ? TASK_OVER
		  : state & RUNNING  ? TASK_RUNNING
		  : state & NOTIFIED ? TASK_SCHEDULED
				     : TASK_IDLE;
	return l;
}

static uint32_t id_off(const struct found_table *t)
{
	return tokio_is_old(t) ? 0 : t->plan.id_off;
}

/* poll<T, S> of a Cell<T, S>, whose stage is the future, its output, or nothing. */
static bool locate(struct layouts *l, const struct found_table *t, struct task_place *place)
{
	uint64_t poll_va = t->plan.words[t->plan.slot_poll];
	uint32_t future = layouts_of_function(l, poll_va, "T"),
		 scheduler = layouts_of_function(l, poll_va, "S");
	char *name;

	if (future == LAYOUT_NONE || scheduler == LAYOUT_NONE)
		return false;
	name = xasprintf("tokio::runtime::task::core::Cell<%s, %s>", layouts_get(l, future)->name,
			 layouts_get(l, scheduler)->name);
	*place = (struct task_place){ .type = layouts_named(l, name) };
	free(name);
	if (place->type == LAYOUT_NONE)
		return false;
	place->task_bytes = layouts_get(l, place->type)->size_bytes;
	place->align = layouts_get(l, place->type)->align;
	return task_member(l, "core.stage.stage", &place->type, &place->off) ||
	       task_member(l, "core.stage", &place->type, &place->off);
}

/*
 * A LocalRuntime is a current_thread runtime whose handle knows its thread (local_tid, an
 * Option<ThreadId>: one word). Tasks have an Arc of it.
 */
static uint32_t local_off(struct layouts *l, const struct found_table *t)
{
	uint32_t type = t ? layouts_of_function(l, t->plan.words[t->plan.slot_poll], "S")
			  : layouts_named(l, "tokio::runtime::scheduler::current_thread::Handle");
	const struct layout_member *m;
	uint64_t off = 0;

	if (t && type != LAYOUT_NONE) {
		if (!task_member(l, "pointer", &type, &off) || off ||
		    layouts_get(l, type)->kind != LAYOUT_POINTER)
			return 0;
		type = layouts_get(l, type)->target;
		m = type == LAYOUT_NONE ? NULL : layout_member(layouts_get(l, type), "data");
		if (!m)
			return 0;
		type = m->type;
		off = m->off;
	}
	m = type == LAYOUT_NONE ? NULL : layout_member(layouts_get(l, type), "local_tid");
	if (!m || layouts_get(l, m->type)->size_bytes != 8)
		return 0;
	off += m->off;
	return off <= UINT16_MAX ? off : 0;
}

static const struct root_shape roots[] = {
	{ "CachedParkThread8block_on", "F", .is_pinned = true },
	{ "CoreGuard8block_on", "F", .is_argument = true },
	{ "13enter_runtime", "F", "::block_on", .is_entry = true },
	{ NULL },
};

const struct task_shape tokio_task_shape = {
	.table_words = table_words,
	.state_word = state_word,
	.look = look,
	.id_off = id_off,
	.local_off = local_off,
	.locate = locate,
	.roots = roots,
	.shell = "tokio::task::local::RunUntil<",
};

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * async-task 4.3 and later, of which async-std, smol and all else on async-executor are made. A
 * task begins with a header that points to a static TaskVTable of its future type:
 *
 *	0 schedule  1 drop_future  2 get_output  3 drop_ref  4 destroy  5 run  6 clone_waker
 *	7 layout_info -> { align, size, offset_s, offset_f, offset_r }
 *
 * offset_s is where the header ends, offset_f and offset_r, which are the same, where future or
 * output begin. clone_waker is also the first word of a RawWakerVTable, which every type has: seven
 * addresses of code, one of such a layout, and a second table that begins with the seventh address
 * are met by nothing else.
 *
 * Wakes do not go through the task's table but through that second one. Nothing in a waker leads
 * back to it, so what it held must be known by clone_waker: all tables that begin with one
 * clone_waker must wake by the same functions, or the task tables with it are refused.
 *
 * The header has no fixed order of fields. Up to 40 bytes it is searched for the pointer at run
 * time. A longer one holds metadata of the program's, whose place is not known: refused.
 */
#include <stdio.h>

#include "base/map.h"
#include "runtime/async_task.h"
#include "runtime/scan.h"

enum { LAYOUT_ALIGN, LAYOUT_SIZE, LAYOUT_S, LAYOUT_F, LAYOUT_R, LAYOUT_WORDS };

#define OLDEST_MINOR 3
#define NR_CODE	     7
#define MIN_HEADER   32 /* without std: no propagate_panic */
#define MAX_HEADER   40
#define MAX_METADATA 4096
#define MAX_ALIGN    4096
#define MAX_BYTES    (1u << 26)
#define HOOKED_WORDS 3 /* clone, wake, wake_by_ref */
#define WAKER_DROP   3

struct search {
	struct map wakers; /* clone_waker -> index + 1 of its first waker table; 0: none yet */
	struct map broken; /* clone_waker whose tables differ, or that a refused task has */
	uint32_t nr_metadata;
	size_t first;
};

static bool is_layout(const uint64_t l[LAYOUT_WORDS])
{
	uint64_t align = l[LAYOUT_ALIGN], size = l[LAYOUT_SIZE];

	return align >= 8 && align <= MAX_ALIGN && !(align & (align - 1)) && size <= MAX_BYTES &&
	       size % align == 0 && l[LAYOUT_S] >= MIN_HEADER && l[LAYOUT_S] <= MAX_METADATA &&
	       l[LAYOUT_F] >= l[LAYOUT_S] && l[LAYOUT_F] == l[LAYOUT_R] && l[LAYOUT_R] <= size;
}

/* Which of size and alignment comes first is the compiler's choice. */
static bool read_layout(const struct finding *f, uint64_t va, uint64_t layout[LAYOUT_WORDS])
{
	uint64_t first;

	for (unsigned i = 0; i < LAYOUT_WORDS; i++)
		if (!image_word(f->img, va + 8 * i, &layout[i]))
			return false;
	if (is_layout(layout))
		return true;
	first = layout[LAYOUT_ALIGN];
	layout[LAYOUT_ALIGN] = layout[LAYOUT_SIZE];
	layout[LAYOUT_SIZE] = first;
	return is_layout(layout);
}

/* The layout of the task table at this place; false: there is none. */
static bool is_table(const struct finding *f, const struct scan_place *at,
		     uint64_t layout[LAYOUT_WORDS])
{
	uint64_t va = scan_load(at->p + 8 * ASYNC_TASK_LAYOUT);

	for (unsigned i = 0; i < NR_CODE; i++)
		if (!scan_is_code(f, at, i))
			return false;
	if (f->img->is_dyn && !image_is_relocated(at->segment, at->va + 8 * ASYNC_TASK_LAYOUT))
		return false;
	return va % 8 == 0 && read_layout(f, va, layout);
}

static bool add_table(struct finding *f, void *arg, const struct scan_place *at)
{
	struct found_table t = { .name = "", .scheduler = "", .file = "", .kind = TRACE_TASK };
	uint64_t layout[LAYOUT_WORDS];
	struct search *s = arg;
	struct wire_table *w = &t.plan;

	if (!is_table(f, at, layout))
		return false;
	*w = (struct wire_table){
		.va = at->va,
		.nr_words = ASYNC_TASK_NR_WORDS,
		.code_mask = (1 << ASYNC_TASK_NR_WORDS) - 1, /* the layout's address as well */
		.type = EVENT_TYPE_NONE,
		.kind = WIRE_TABLE_ASYNC_TASK,
		.slot_poll = ASYNC_TASK_RUN,
		.slot_schedule = ASYNC_TASK_SCHEDULE,
		.slot_dealloc = ASYNC_TASK_DESTROY,
		.slot_shutdown = ASYNC_TASK_DROP_FUTURE,
		.slot_wake = WIRE_NO_SLOT,
		.slot_wake_by_ref = WIRE_NO_SLOT,
		.id_off = layout[LAYOUT_S],
		.stage_off = layout[LAYOUT_R],
		.trailer_off = layout[LAYOUT_SIZE],
	};
	for (unsigned i = 0; i < ASYNC_TASK_NR_WORDS; i++)
		w->words[i] = scan_load(at->p + 8 * i);
	map_put(&s->wakers, w->words[ASYNC_TASK_CLONE_WAKER], NULL);
	if (layout[LAYOUT_S] > MAX_HEADER || layout[LAYOUT_SIZE] < MAX_HEADER)
		map_put(&s->broken, w->words[ASYNC_TASK_CLONE_WAKER], NULL);
	vec_push(&f->tables, t);
	return true;
}

static bool add_waker(struct finding *f, void *arg, const struct scan_place *at)
{
	uint64_t *index, clone = scan_load(at->p);
	struct found_table t = scan_waker(at->va, WIRE_TABLE_ASYNC_TASK_WAKER);
	struct search *s = arg;

	t.plan.slot_dealloc = WAKER_DROP;
	index = map_get(&s->wakers, clone);
	if (!index || scan_is_got(f, at->va))
		return false;
	for (unsigned i = 0; i < WAKER_WORDS; i++) {
		if (!scan_is_code(f, at,
				  i)) /* the clone_waker of a task table: the layout follows */
			return false;
		t.plan.words[i] = scan_load(at->p + 8 * i);
	}
	/* drop_waker is inline: each part of a program that was compiled alone may have its own */
	if (*index && memcmp(f->tables.v[*index - 1].plan.words, t.plan.words, 8 * HOOKED_WORDS))
		map_put(&s->broken, clone, NULL);
	vec_push(&f->tables, t);
	if (!*index)
		*index = f->tables.nr;
	return true;
}

static uint64_t clone_of(const struct wire_table *w)
{
	return w->words[w->kind == WIRE_TABLE_ASYNC_TASK ? ASYNC_TASK_CLONE_WAKER : 0];
}

/*
 * Keeps tables whose wakers are known, and wakers all of whose tasks are. What has no waker table
 * is no task table; the others are counted. Returns how many.
 */
static uint32_t refuse(struct finding *f, struct search *s)
{
	size_t kept = s->first;
	uint32_t nr = 0;

	for (size_t i = s->first; i < f->tables.nr; i++) {
		const struct wire_table *w = &f->tables.v[i].plan;
		bool has_waker = *map_get(&s->wakers, clone_of(w));

		if (has_waker && !map_get(&s->broken, clone_of(w))) {
			f->tables.v[kept++] = f->tables.v[i];
		} else if (has_waker && w->kind == WIRE_TABLE_ASYNC_TASK) {
			s->nr_metadata += w->id_off > MAX_HEADER;
			nr++;
		}
	}
	f->tables.nr = kept;
	return nr;
}

/* By what a program knows it; each is made of the next. */
static const struct {
	const char *crate, *name;
	bool is_other; /* than its name says, so its version is not */
} makers[] = {
	{ "async-std-1", "async-std" },
	{ "smol-2", "smol" },
	{ "smol-1", "smol" },
	{ "async-executor-1", "smol", .is_other = true },
	{ "async-io-2", "smol", .is_other = true },
	{ "async-io-1", "smol", .is_other = true },
	{ "async-task-4", "async-task" },
};

static void name_runtime(struct finding *f, struct found_runtime *r)
{
	struct strbuf version = STRBUF_INIT;

	r->name = "async-task";
	r->version = "";
	for (size_t i = 0; i < ARRAY_SIZE(makers) && !version.len; i++) {
		scan_versions(f, makers[i].crate, &version);
		if (!version.len)
			continue;
		r->name = makers[i].name;
		r->version = makers[i].is_other ? "" : finding_string(f, version.s);
	}
	strbuf_release(&version);
}

/* Its code, but none of its tables; or that of async-io, which has roots. */
static void note_absence(struct finding *f, struct found_runtime *r)
{
	struct strbuf version = STRBUF_INIT, roots = STRBUF_INIT;
	unsigned minor = OLDEST_MINOR;

	scan_versions(f, "async-task-4", &version);
	if (version.len)
		sscanf(version.s, "4.%u.", &minor);
	scan_versions(f, "async-io-2", &roots);
	scan_versions(f, "async-io-1", &roots);
	if (version.len || roots.len) {
		name_runtime(f, r);
		r->note = minor < OLDEST_MINOR
				  ? "its task tables have another shape; async-task 4.3 and later "
				    "can be recorded"
				  : "its code is inside, but no task is ever spawned with it";
		r->waker_known = false;
		vec_push(&f->runtimes, *r);
	}
	strbuf_release(&version);
	strbuf_release(&roots);
}

static void recognise(struct finding *f)
{
	struct found_runtime r = { .waker_known = true, .note = "", .found_by = "shape" };
	struct search s = { .wakers = MAP_INIT, .broken = MAP_INIT, .first = f->tables.nr };

	scan_tables(f, ASYNC_TASK_NR_WORDS, add_table, &s);
	if (s.wakers.nr)
		scan_tables(f, WAKER_WORDS, add_waker, &s);
	r.nr_refused = refuse(f, &s);
	for (size_t i = s.first; i < f->tables.nr; i++) {
		f->tables.v[i].runtime = f->runtimes.nr;
		r.nr_tables += f->tables.v[i].plan.kind == WIRE_TABLE_ASYNC_TASK;
	}
	if (r.nr_tables || r.nr_refused) {
		name_runtime(f, &r);
		if (s.nr_metadata)
			r.note = "tasks with metadata of the program's own are not recorded";
		vec_push(&f->runtimes, r);
	} else {
		note_absence(f, &r);
	}
	map_release(&s.wakers);
	map_release(&s.broken);
}

static const char *const names[] = { "async-std", "smol", "async-task", NULL };
static const char *const schedulers[] = { "local", "executor", NULL };
static const char *const crates[] = {
	"async-std", "async-task", "async-executor", "async-io", "async-global-executor", "smol",
	"blocking",  NULL
};

/*
 * A LocalExecutor is an Executor: its tables and types are the same, but the way in is another.
 * That has a twin, Executor::spawn, which is equal when optimised.
 */
static bool spawns_local(const struct source_function *f)
{
	return f->linkage && !f->may_be_merged && strstr(f->linkage, "14async_executor") &&
	       strstr(f->linkage, "13LocalExecutor5spawn");
}

const struct runtime runtime_async_task = {
	.known = {
		.text = "async-std, smol",
		.names = names,
		.schedulers = schedulers,
	},
	.crates = crates,
	.recognise = recognise,
	.give_names = async_task_give_names,
	.find_roots = async_task_find_waits,
	.spawns_local = spawns_local,
	.judge = async_task_judge,
	.tasks = &async_task_shape,
	.leaves = &async_task_leaves,
};

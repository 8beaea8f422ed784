// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Tokio 1.23 and later. A task header points (+16) to a static table of its future type:
 *
 *	0 poll  1 schedule  2 dealloc  3 try_read_output  4 drop_join_handle_slow
 *	5 drop_abort_handle  6 shutdown  7 trailer_offset  8 scheduler_offset  9 id_offset
 *	[10 spawn_location_offset: tokio_unstable since 1.46]
 *
 * That shape, seven addresses of code and three small offsets that must agree with each other, is
 * met by nothing else (0 in 1.6 million relocations of programs without Tokio), so no symbol is
 * needed. Earlier releases have other tables: tokio_old.c.
 */
#include "runtime/scan.h"
#include "runtime/tokio.h"

enum { WORD_TRAILER = 7, WORD_SCHEDULER, WORD_ID, NR_WORDS, WORD_LOCATION = 10 };

#define HEADER_VTABLE_OFF 16
#define HEADER_OWNER_OFF  24

/*
 * Is there a task table at this word? In a relocatable file every address must be a relocated word.
 */
static bool is_table(const struct finding *f, const struct scan_place *at)
{
	uint64_t trailer = scan_load(at->p + 8 * WORD_TRAILER),
		 scheduler = scan_load(at->p + 8 * WORD_SCHEDULER),
		 id = scan_load(at->p + 8 * WORD_ID);

	if ((trailer | scheduler | id) % 8 || scheduler < 24 || scheduler > 4096 ||
	    id < scheduler || id > scheduler + 128 || trailer <= id || trailer >= 1 << 26)
		return false;
	for (unsigned i = 0; i < NR_WORDS; i++) {
		if (i < TOKIO_NR_CODE && !scan_is_code(f, at, i))
			return false;
		if (i >= TOKIO_NR_CODE && f->img->is_dyn &&
		    image_is_relocated(at->segment, at->va + 8 * i))
			return false;
	}
	return true;
}

static bool add_table(struct finding *f, void *arg, const struct scan_place *at)
{
	struct found_table t = { .name = "", .scheduler = "", .file = "" };
	struct wire_table *w = &t.plan;

	if (!is_table(f, at))
		return false;
	w->va = at->va;
	w->nr_words = NR_WORDS;
	for (unsigned i = 0; i < NR_WORDS; i++)
		w->words[i] = scan_load(at->p + 8 * i);
	/* The word behind the table; whether it belongs to it is decided when all are found. */
	if (at->left >= 8 * (WORD_LOCATION + 1) &&
	    !image_is_relocated(at->segment, at->va + 8 * WORD_LOCATION))
		w->words[WORD_LOCATION] = scan_load(at->p + 8 * WORD_LOCATION);
	w->code_mask = (1 << TOKIO_NR_CODE) - 1;
	w->type = EVENT_TYPE_NONE;
	w->kind = WIRE_TABLE_TOKIO;
	w->slot_poll = TOKIO_POLL;
	w->slot_schedule = TOKIO_SCHEDULE;
	w->slot_dealloc = TOKIO_DEALLOC;
	w->slot_shutdown = TOKIO_SHUTDOWN;
	w->slot_wake = w->slot_wake_by_ref = w->slot_abort = WIRE_NO_SLOT;
	w->vtable_off = HEADER_VTABLE_OFF;
	w->id_off = w->words[WORD_ID];
	w->stage_off = w->id_off + 8;
	w->trailer_off = w->words[WORD_TRAILER];
	/*
	 * Between scheduler and id lies the scheduler handle: one Arc for tasks; BlockingSchedule
	 * is empty up to 1.39 and two words since.
	 */
	t.kind = w->words[WORD_ID] - w->words[WORD_SCHEDULER] == 8 ? TRACE_TASK : TRACE_BLOCKING;
	w->scheduler_off = t.kind == TRACE_TASK ? w->words[WORD_SCHEDULER] : HEADER_OWNER_OFF;
	if (t.kind == TRACE_BLOCKING)
		t.scheduler = "blocking";
	vec_push(&f->tables, t);
	return true;
}

/* tokio_unstable is a property of the build, so all tables have the eleventh word or none has. */
static bool settle_unstable(struct finding *f, size_t first)
{
	for (size_t i = first; i < f->tables.nr; i++)
		if (f->tables.v[i].plan.words[WORD_LOCATION] !=
		    f->tables.v[i].plan.words[WORD_ID] + 8)
			break;
		else if (i + 1 == f->tables.nr) {
			for (i = first; i < f->tables.nr; i++) {
				f->tables.v[i].plan.nr_words = WORD_LOCATION + 1;
				f->tables.v[i].plan.stage_off = f->tables.v[i].plan.id_off + 16;
			}
			return true;
		}
	for (size_t i = first; i < f->tables.nr; i++)
		f->tables.v[i].plan.words[WORD_LOCATION] = 0;
	return false;
}

/* Its tables are those from `first` on. */
static void add_runtime(struct finding *f, const struct found_runtime *r, size_t first)
{
	for (size_t i = first; i < f->tables.nr; i++)
		f->tables.v[i].runtime = f->runtimes.nr;
	vec_push(&f->runtimes, *r);
}

static void recognise(struct finding *f)
{
	struct found_runtime r = { .name = "tokio", .note = "", .found_by = "shape" }, old = r;
	struct strbuf versions = STRBUF_INIT;
	size_t first = f->tables.nr, first_old;

	scan_tables(f, NR_WORDS, add_table, NULL);
	scan_versions(f, "tokio-1", &versions);
	r.nr_tables = f->tables.nr - first;
	r.version = old.version = finding_string(f, versions.s);
	if (r.nr_tables) {
		r.unstable = settle_unstable(f, first);
		tokio_old_versions(f, versions.s, &old.version, &r.version);
		add_runtime(f, &r, first);
	}
	first_old = f->tables.nr;
	old.note = tokio_old_recognise(f, versions.s, r.nr_tables, &old);
	if (!old.note && versions.len && !r.nr_tables)
		old.note = "Tokio's code is inside, but no task is ever spawned with it";
	/* A runtime of its own, though it be the same: its tasks are numbered by ourselves. */
	if (old.note)
		add_runtime(f, &old, first_old);
	strbuf_release(&versions);
}

static const char *const names[] = { "tokio", NULL };
static const char *const schedulers[] = { "multi_thread", "current_thread", "local", NULL };
static const char *const crates[] = { "tokio", NULL };
static const char *const copies[] = { "/tokio/src/runtime/", "/tokio/src/task/", NULL };

/*
 * A LocalRuntime is a current_thread runtime: all tables and types are the same, but the way in is
 * another. By it a LocalSet's tasks come as well, whose tables tell. What is looked for in mangled
 * names is the same under both manglings.
 */
static bool spawns_local(const struct source_function *f)
{
	if (f->file && f->name && str_has_prefix(f->name, "spawn_local<") &&
	    (strstr(f->file, "/runtime/scheduler/current_thread/") ||
	     strstr(f->file, "/task/local.rs")))
		return source_owner(f->file) == SOURCE_OF_RUNTIME;
	return f->linkage && strstr(f->linkage, "5tokio") &&
	       strstr(f->linkage, "4task5local11spawn_local");
}

/* Each scheduler has a block_on of its own, by which a root comes before anything else is known of
 * its runtime. */
static const char *scheduler(const struct source_function *f)
{
	if (!f->file || !f->name || !str_has_prefix(f->name, "block_on<") ||
	    source_owner(f->file) != SOURCE_OF_RUNTIME)
		return NULL;
	if (strstr(f->file, "/runtime/scheduler/current_thread"))
		return "current_thread";
	return strstr(f->file, "/runtime/scheduler/multi_thread/") ? "multi_thread" : NULL;
}

const struct runtime runtime_tokio = {
	.known = {
		.text = "Tokio 1",
		.names = names,
		.schedulers = schedulers,
		.worker_scheduler = "multi_thread",
		.other_scheduler = "current_thread",
		.local_scheduler = TRACE_LOCAL_RUNTIME,
		.unstable = "tokio_unstable",
	},
	.crates = crates,
	.copies = copies,
	.recognise = recognise,
	.give_names = tokio_give_names,
	.find_roots = tokio_find_roots,
	.spawns_local = spawns_local,
	.scheduler = scheduler,
	.judge = tokio_judge,
	.tasks = &tokio_task_shape,
	.leaves = &tokio_leaves,
};

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
 *
 * The compiler chooses the order: some (seen: rustc of 2023) put the offsets first. Tables lie side
 * by side, so the offsets of one look as if they belonged to its neighbour too; only the first and
 * the last of a row have them on one side alone. The order is a property of the compiler, so all
 * tables of a file have the one that most of them can have.
 */
#include "runtime/scan.h"
#include "runtime/tokio.h"

enum { TRAILER, SCHEDULER, ID, LOCATION, MAX_OFFSETS };

#define HEADER_VTABLE_OFF 16
#define HEADER_OWNER_OFF  24

struct order {
	uint8_t code, offsets; /* where in the table they begin */
	uint8_t nr_offsets;
};

static const struct order orders[] = {
	{ .code = 0, .offsets = TOKIO_NR_CODE, .nr_offsets = LOCATION },
	{ .code = LOCATION, .offsets = 0, .nr_offsets = LOCATION },
	{ .code = MAX_OFFSETS, .offsets = 0, .nr_offsets = MAX_OFFSETS },
};

/* Where seven addresses of code stand side by side, with offsets before or behind them. */
struct candidates {
	VEC(struct scan_place) places; /* of the first of the addresses */
	size_t nr_fitting[ARRAY_SIZE(orders)];
};

static unsigned nr_words(const struct order *o)
{
	return TOKIO_NR_CODE + o->nr_offsets;
}

static const uint8_t *table_at(const struct scan_place *at, const struct order *o)
{
	return at->p - 8 * o->code;
}

static uint64_t offset_at(const struct scan_place *at, const struct order *o, unsigned i)
{
	return scan_load(table_at(at, o) + 8 * (o->offsets + i));
}

/* In a relocatable file every address is a relocated word, and no offset is. */
static bool fits(const struct finding *f, const struct scan_place *at, const struct order *o)
{
	uint64_t va = at->va - 8 * o->code, trailer, scheduler, id;

	if (va < at->segment->va || va > at->va || at->left < 8 * (uint64_t)(nr_words(o) - o->code))
		return false;
	for (unsigned i = 0; i < o->nr_offsets; i++)
		if (f->img->is_dyn && image_is_relocated(at->segment, va + 8 * (o->offsets + i)))
			return false;
	trailer = offset_at(at, o, TRAILER);
	scheduler = offset_at(at, o, SCHEDULER);
	id = offset_at(at, o, ID);
	return !((trailer | scheduler | id) % 8) && scheduler >= 24 && scheduler <= 4096 &&
	       id >= scheduler && id <= scheduler + 128 && trailer > id && trailer < 1 << 26 &&
	       (o->nr_offsets == LOCATION || offset_at(at, o, LOCATION) == id + 8);
}

static bool add_candidate(struct finding *f, void *arg, const struct scan_place *at)
{
	struct candidates *c = arg;
	bool has_order = false;

	for (unsigned i = 0; i < TOKIO_NR_CODE; i++)
		if (!scan_is_code(f, at, i))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		if (fits(f, at, &orders[i])) {
			c->nr_fitting[i]++;
			has_order = true;
		}
	if (has_order)
		vec_push(&c->places, *at);
	return has_order;
}

static const struct order *choose_order(const struct candidates *c)
{
	size_t best = 0;

	for (size_t i = 1; i < ARRAY_SIZE(orders); i++)
		if (c->nr_fitting[i] > c->nr_fitting[best])
			best = i;
	return &orders[best];
}

static void set_slots(struct wire_table *w, const struct order *o)
{
	w->nr_words = nr_words(o);
	w->code_mask = ((1 << TOKIO_NR_CODE) - 1) << o->code;
	w->slot_poll = o->code + TOKIO_POLL;
	w->slot_schedule = o->code + TOKIO_SCHEDULE;
	w->slot_dealloc = o->code + TOKIO_DEALLOC;
	w->slot_shutdown = o->code + TOKIO_SHUTDOWN;
	w->slot_detach = o->code + TOKIO_DROP_JOIN_HANDLE;
	w->slot_wake = w->slot_wake_by_ref = w->slot_abort = WIRE_NO_SLOT;
}

static void add_table(struct finding *f, const struct scan_place *at, const struct order *o)
{
	struct found_table t = { .name = "", .scheduler = "", .file = "" };
	uint64_t scheduler = offset_at(at, o, SCHEDULER);
	struct wire_table *w = &t.plan;

	set_slots(w, o);
	w->va = at->va - 8 * o->code;
	for (unsigned i = 0; i < w->nr_words; i++)
		w->words[i] = scan_load(table_at(at, o) + 8 * i);
	w->type = EVENT_TYPE_NONE;
	w->kind = WIRE_TABLE_TOKIO;
	w->vtable_off = HEADER_VTABLE_OFF;
	w->id_off = offset_at(at, o, ID);
	w->stage_off = w->id_off + (o->nr_offsets == MAX_OFFSETS ? 16 : 8);
	w->trailer_off = offset_at(at, o, TRAILER);
	/*
	 * Between scheduler and id lies the scheduler handle: one Arc for tasks; BlockingSchedule
	 * is empty up to 1.39 and two words since.
	 */
	t.kind = w->id_off - scheduler == 8 ? TRACE_TASK : TRACE_BLOCKING;
	w->scheduler_off = t.kind == TRACE_TASK ? scheduler : HEADER_OWNER_OFF;
	if (t.kind == TRACE_BLOCKING)
		t.scheduler = "blocking";
	vec_push(&f->tables, t);
}

/* Does the word behind the offsets belong to the table? */
static bool has_location(const struct finding *f, const struct scan_place *at,
			 const struct order *o)
{
	unsigned i = o->offsets + LOCATION;

	return at->left >= 8 * (uint64_t)(i + 1) &&
	       !(f->img->is_dyn && image_is_relocated(at->segment, at->va + 8 * i)) &&
	       offset_at(at, o, LOCATION) == offset_at(at, o, ID) + 8;
}

/* tokio_unstable is a property of the build, so all tables have the fourth offset or none has. */
static struct order settle_unstable(const struct finding *f, const struct candidates *c,
				    const struct order *o)
{
	struct order settled = *o;

	if (o->code == 0)
		settled.nr_offsets = MAX_OFFSETS;
	vec_each (at, &c->places)
		if (o->code == 0 && fits(f, at, o) && !has_location(f, at, o))
			settled.nr_offsets = LOCATION;
	return settled;
}

/* Returns whether it is a build with tokio_unstable. */
static bool find_tables(struct finding *f)
{
	struct candidates c = { 0 };
	const struct order *o;
	struct order settled;

	scan_tables(f, TOKIO_NR_CODE, add_candidate, &c);
	o = choose_order(&c);
	settled = settle_unstable(f, &c, o);
	vec_each (at, &c.places)
		if (fits(f, at, o))
			add_table(f, at, &settled);
	vec_release(&c.places);
	return settled.nr_offsets == MAX_OFFSETS;
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
	bool is_unstable = find_tables(f);

	scan_versions(f, "tokio-1", &versions);
	r.nr_tables = f->tables.nr - first;
	r.version = old.version = finding_string(f, versions.s);
	if (r.nr_tables) {
		r.unstable = is_unstable;
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

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The pass over all units. Every byte of .debug_info is looked at, as nothing tells where the
 * children of a DIE end, but of most DIEs only the size. Units are dealt to threads, the largest
 * first; each fills tables of its own.
 */
#include "symbol/layout_index.h"

#include <dwarf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define MAX_DEPTH   256
#define MAX_THREADS 8
#define NO_PARENT   UINT32_MAX

/* The code of a coroutine, by its type's name. */
struct coded {
	uint64_t off, hash;
};

/* Code that has its name in another DIE. */
struct copy {
	uint64_t origin_off, off;
};

struct deal {
	struct dwarf *d;
	struct raw_unit **units; /* the largest first */
	atomic_size_t next;
};

struct worker {
	struct deal *deal;
	struct map definitions; /* hash of a name -> the first definition's offset */
	VEC(struct index_entry) tables[NR_INDEX_TABLES];
	VEC(struct coded) bodies;
	VEC(struct copy) copies;
	VEC(uint64_t) polls; /* the type of what a function called poll takes */
	uint64_t nr_broken;
	uint64_t budget; /* bytes of names that may still be read */
	bool is_split;
};

struct walk {
	struct worker *to;
	struct raw_cursor c;
	unsigned depth;
	uint64_t hash_at[MAX_DEPTH];  /* of the namespaces around what is at that depth */
	uint32_t space_at[MAX_DEPTH]; /* the innermost of them, NO_PARENT: none */
	bool has_types[MAX_DEPTH];    /* there are types in that one */
};

/* Names that are long and shared by many, which only a joker writes, are cut when it is enough. */
static size_t name_len(struct walk *w, const char *name)
{
	size_t len = strnlen(name, w->to->budget);

	w->to->budget -= len;
	return len;
}

/* Of a name with the namespaces around it. */
static uint64_t hash_name(struct walk *w, const char *name)
{
	return layout_hash(w->hash_at[w->depth], name, name_len(w, name));
}

static void on_type(struct walk *w, const struct raw_die *die)
{
	bool was_there;
	uint64_t *off;

	w->has_types[w->depth] = true;
	if (!die->name || !die->has_byte_size || die->is_declaration || die->name[0] == '<')
		return;
	off = map_put(&w->to->definitions, hash_name(w, die->name), &was_there);
	if (!was_there || die->off < *off)
		*off = die->off;
}

static void on_variable(struct walk *w, const struct raw_die *die)
{
	if (die->has_addr && die->has_type && die->name && str_has_suffix(die->name, "::{vtable}"))
		vec_push(&w->to->tables[INDEX_VTABLES],
			 (struct index_entry){ die->addr, die->type_off });
}

/* "{async_fn#0}<u32>" is the code of "{async_fn_env#0}<u32>". */
static void on_body(struct walk *w, const struct raw_die *die)
{
	const char *mark = strchr(die->name, '#');
	uint64_t hash = w->hash_at[w->depth];

	if (!mark)
		return;
	hash = layout_hash(hash, die->name, mark - die->name);
	hash = layout_hash(hash, "_env", 4);
	hash = layout_hash(hash, mark, name_len(w, mark));
	vec_push(&w->to->bodies, (struct coded){ die->off, hash });
}

static bool is_poll(const char *name)
{
	size_t len = strcspn(name, "<");

	return (len == 4 && memcmp(name, "poll", 4) == 0) ||
	       (len == 9 && memcmp(name, "poll_next", 9) == 0);
}

/* What a function called poll takes is told by its first parameter; the cursor stands before its
 * children. */
static void on_poll(struct walk *w)
{
	struct raw_die die;
	int what;

	while ((what = raw_next(&w->c, TAG(DW_TAG_formal_parameter), &die)) == 1) {
		if (die.has_children)
			raw_skip_children(&w->c);
		if (die.tag != DW_TAG_formal_parameter)
			continue;
		if (die.has_type)
			vec_push(&w->to->polls, die.type_off);
		raw_skip_children(&w->c);
		return;
	}
}

/* Besides functions with type arguments, what those that run futures may be inlined into. */
static bool is_asked_for(const char *name)
{
	return strchr(name, '<') || strcmp(name, "main") == 0;
}

static void on_subprogram(struct walk *w, const struct raw_die *die)
{
	bool has_code = die->has_low_pc && die->low_pc; /* 0: the linker threw it away */

	if (die->name && die->name[0] == '{' && !str_has_prefix(die->name, "{closure#"))
		on_body(w, die);
	if (has_code && die->has_origin)
		vec_push(&w->to->copies, (struct copy){ die->origin_off, die->off });
	if (has_code && (die->has_origin || (die->name && is_asked_for(die->name))))
		vec_push(&w->to->tables[INDEX_FUNCTIONS],
			 (struct index_entry){ die->low_pc, die->off });
	if (!die->has_children)
		return;
	if (die->name && is_poll(die->name) && w->space_at[w->depth] != NO_PARENT)
		on_poll(w);
	else
		raw_skip_children(&w->c);
}

static void enter_space(struct walk *w, const struct raw_die *die)
{
	uint64_t hash = hash_name(w, die->name ? die->name : "");
	uint32_t around = w->space_at[w->depth];
	uint64_t parent_off = around == NO_PARENT ? 0 : w->to->tables[INDEX_SPACES].v[around].key;

	w->depth++;
	w->hash_at[w->depth] = layout_hash(hash, "::", 2);
	w->space_at[w->depth] = w->to->tables[INDEX_SPACES].nr;
	w->has_types[w->depth] = false;
	/* The end is put in when it is reached. */
	vec_push(&w->to->tables[INDEX_SPACES], (struct index_entry){ die->off, parent_off });
}

/* Most hold nothing but functions, whose names nobody asks for: those are dropped again. */
static void leave_space(struct walk *w)
{
	uint32_t number = w->space_at[w->depth];

	if (w->has_types[w->depth--]) {
		w->to->tables[INDEX_SPACES].v[number].value |= w->c.off << 32;
		w->has_types[w->depth] = true;
	} else {
		w->to->tables[INDEX_SPACES].nr = number;
	}
}

static void on_die(struct walk *w, const struct raw_die *die)
{
	switch (die->tag) {
	case DW_TAG_namespace:
		if (!die->has_children)
			return;
		if (w->depth + 1 < MAX_DEPTH)
			enter_space(w, die);
		else
			raw_skip_children(&w->c);
		return;
	case DW_TAG_subprogram:
		on_subprogram(w, die);
		return;
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_base_type:
		on_type(w, die);
		break;
	case DW_TAG_variable:
		on_variable(w, die);
		break;
	}
	if (die->has_children)
		raw_skip_children(&w->c);
}

static void walk_unit(struct worker *to, struct raw_unit *u)
{
	const uint64_t tags = TAG(DW_TAG_namespace) | TAG(DW_TAG_subprogram) |
			      TAG(DW_TAG_structure_type) | TAG(DW_TAG_union_type) |
			      TAG(DW_TAG_enumeration_type) | TAG(DW_TAG_base_type) |
			      TAG(DW_TAG_variable);
	struct raw_file *f = &to->deal->d->raw;
	struct raw_abbrevs *abbrevs = raw_abbrevs_new(f, u->abbrev_off);
	struct walk w = { .to = to, .hash_at = { LAYOUT_HASH_START }, .space_at = { NO_PARENT } };
	struct raw_die die = { 0 };
	int what;

	raw_cursor_init(&w.c, f, u, abbrevs, u->die_off);
	what = raw_next(&w.c, TAG(DW_TAG_compile_unit), &die);
	to->is_split |= what == 1 && (die.is_split || die.tag == DW_TAG_skeleton_unit);
	if (what == 1 && die.has_children && (!die.language || die.language == DW_LANG_Rust)) {
		while ((what = raw_next(&w.c, tags, &die)) != 0) {
			if (what == 1)
				on_die(&w, &die);
			else if (w.depth)
				leave_space(&w);
			else
				break;
		}
	}
	while (w.depth) /* it ended too early */
		leave_space(&w);
	to->nr_broken += w.c.broken;
	raw_abbrevs_free(abbrevs);
}

static void *work(void *arg)
{
	struct worker *to = arg;
	struct deal *deal = to->deal;
	size_t i;

	while ((i = atomic_fetch_add(&deal->next, 1)) < deal->d->raw.nr_units)
		walk_unit(to, deal->units[i]);
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	const struct raw_unit *x = *(struct raw_unit *const *)a, *y = *(struct raw_unit *const *)b;
	uint64_t x_bytes = x->end - x->off, y_bytes = y->end - y->off;

	if (x_bytes != y_bytes)
		return x_bytes > y_bytes ? -1 : 1;
	return x->off < y->off ? -1 : 1;
}

static int by_key(const void *a, const void *b)
{
	const struct index_entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static void add(struct layout_index *x, enum index_table table, uint64_t key, uint64_t value)
{
	vec_push(&x->tables[table], (struct index_entry){ key, value });
}

/* Sorts, and keeps one of equal entries; of names the first definition only. */
static void settle(struct layout_index *x, enum index_table table)
{
	struct index_entry *v = x->tables[table].v;
	size_t nr = x->tables[table].nr, kept = 0;

	if (nr)
		qsort(v, nr, sizeof(*v), by_key);
	for (size_t i = 0; i < nr; i++)
		if (!kept || v[i].key != v[kept - 1].key ||
		    (table != INDEX_NAMES && v[i].value != v[kept - 1].value))
			v[kept++] = v[i];
	x->tables[table].nr = kept;
}

/* Code that is also inlined somewhere refers to the DIE that has its name. */
static void add_bodies(struct layout_index *x, struct worker *workers, size_t nr)
{
	struct map by_off = MAP_INIT;

	for (size_t i = 0; i < nr; i++) {
		vec_each (b, &workers[i].bodies) {
			add(x, INDEX_BODIES, b->hash, b->off);
			*map_put(&by_off, b->off, NULL) = b->hash;
		}
	}
	for (size_t i = 0; i < nr; i++) {
		vec_each (copy, &workers[i].copies) {
			const uint64_t *hash = map_get(&by_off, copy->origin_off);

			if (hash)
				add(x, INDEX_BODIES, *hash, copy->off);
		}
	}
	map_release(&by_off);
}

/* `Pin<&mut X>` is what the poll of a future X takes. */
static void add_futures(struct layout_index *x, struct dwarf *d, const struct worker *w)
{
	const char pin[] = "Pin<&mut ";

	vec_each (off, &w->polls) {
		struct raw_cursor c;
		struct raw_die die;
		size_t len;

		if (!dwarf_cursor(d, *off, &c) ||
		    raw_next(&c, TAG(DW_TAG_structure_type), &die) != 1 ||
		    die.tag != DW_TAG_structure_type || !die.name ||
		    !str_has_prefix(die.name, pin) || !str_has_suffix(die.name, ">"))
			continue;
		len = strlen(die.name) - sizeof(pin);
		add(x, INDEX_FUTURES,
		    layout_hash(LAYOUT_HASH_START, die.name + sizeof(pin) - 1, len), 0);
	}
}

static void gather(struct layout_index *x, struct dwarf *d, struct worker *workers, size_t nr)
{
	add_bodies(x, workers, nr);
	for (size_t i = 0; i < nr; i++) {
		struct worker *w = &workers[i];
		uint64_t hash, off;

		for (size_t pos = 0; map_next(&w->definitions, &pos, &hash, &off);)
			add(x, INDEX_NAMES, hash, off);
		add_futures(x, d, w);
		for (unsigned t = 0; t < NR_INDEX_TABLES; t++) {
			vec_each (e, &w->tables[t])
				add(x, t, e->key, e->value);
			vec_release(&w->tables[t]);
		}
		d->raw.nr_broken += w->nr_broken;
		x->is_split |= w->is_split;
		map_release(&w->definitions);
		vec_release(&w->bodies);
		vec_release(&w->copies);
		vec_release(&w->polls);
	}
	for (unsigned t = 0; t < NR_INDEX_TABLES; t++)
		settle(x, t);
}

void layout_index_build(struct layout_index *x, struct dwarf *d)
{
	struct worker workers[MAX_THREADS] = { 0 };
	pthread_t threads[MAX_THREADS];
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t nr_units = d->raw.nr_units, nr = 1;
	struct deal deal = { .d = d, .units = xcalloc(nr_units + 1, sizeof(*deal.units)) };

	*x = (struct layout_index){ 0 };
	for (size_t i = 0; i < nr_units; i++)
		deal.units[i] = &d->raw.units[i];
	qsort(deal.units, nr_units, sizeof(*deal.units), by_size);
	for (size_t i = 0; i < MAX_THREADS; i++) {
		workers[i].deal = &deal;
		workers[i].budget = layout_budget(d);
	}
	while (nr < MAX_THREADS && (long)nr < nr_cpus && nr < nr_units &&
	       pthread_create(&threads[nr], NULL, work, &workers[nr]) == 0)
		nr++;
	work(&workers[0]);
	for (size_t i = 1; i < nr; i++)
		pthread_join(threads[i], NULL);
	gather(x, d, workers, nr);
	free(deal.units);
}

void layout_index_release(struct layout_index *x)
{
	for (unsigned t = 0; t < NR_INDEX_TABLES; t++)
		vec_release(&x->tables[t]);
}

/* The first entry whose key is not below. */
static size_t first_from(const struct layout_index *x, enum index_table table, uint64_t key)
{
	return partition_point(i, x->tables[table].nr, x->tables[table].v[i].key < key);
}

const struct index_entry *layout_index_find(const struct layout_index *x, enum index_table table,
					    uint64_t key)
{
	size_t i = first_from(x, table, key);

	return i < x->tables[table].nr && x->tables[table].v[i].key == key ? &x->tables[table].v[i]
									   : NULL;
}

const struct index_entry *layout_index_next(const struct layout_index *x, enum index_table table,
					    const struct index_entry *e)
{
	const struct index_entry *end = x->tables[table].v + x->tables[table].nr;

	return e + 1 < end && e[1].key == e->key ? e + 1 : NULL;
}

void layout_index_add_path(const struct layout_index *x, struct dwarf *d, uint64_t off,
			   struct strbuf *to)
{
	size_t i = first_from(x, INDEX_SPACES, off);
	const struct index_entry *at = i ? &x->tables[INDEX_SPACES].v[i - 1] : NULL;
	uint64_t path[MAX_DEPTH];
	unsigned depth = 0;

	/* The last one that begins before it may have ended before it; then one around that. */
	while (at && depth < MAX_DEPTH) {
		if (at->value >> 32 > off)
			path[depth++] = at->key;
		at = (uint32_t)at->value && (uint32_t)at->value < at->key
			     ? layout_index_find(x, INDEX_SPACES, (uint32_t)at->value)
			     : NULL;
	}
	while (depth--) {
		struct raw_cursor c;
		struct raw_die die;

		if (!dwarf_cursor(d, path[depth], &c) ||
		    raw_next(&c, TAG(DW_TAG_namespace), &die) != 1 || die.tag != DW_TAG_namespace)
			continue;
		strbuf_addstr(to, die.name ? die.name : "");
		strbuf_addstr(to, "::");
	}
}

#define VERSION 2

struct stored {
	uint64_t version, is_split, nr[NR_INDEX_TABLES];
};

void layout_index_encode(const struct layout_index *x, struct strbuf *to)
{
	struct stored head = { .version = VERSION, .is_split = x->is_split };

	for (unsigned t = 0; t < NR_INDEX_TABLES; t++)
		head.nr[t] = x->tables[t].nr;
	strbuf_add(to, &head, sizeof(head));
	for (unsigned t = 0; t < NR_INDEX_TABLES; t++)
		strbuf_add(to, x->tables[t].v, x->tables[t].nr * sizeof(struct index_entry));
}

bool layout_index_decode(struct layout_index *x, const void *data, size_t len)
{
	const char *from = data;
	struct stored head;

	*x = (struct layout_index){ 0 };
	if (len < sizeof(head))
		return false;
	memcpy(&head, from, sizeof(head));
	from += sizeof(head);
	len -= sizeof(head);
	x->is_split = head.is_split;
	for (unsigned t = 0; t < NR_INDEX_TABLES && head.version == VERSION; t++) {
		size_t bytes = head.nr[t] * sizeof(struct index_entry);

		if (head.nr[t] > len / sizeof(struct index_entry))
			break;
		vec_grow(&x->tables[t], head.nr[t]);
		if (bytes) /* or `v` is NULL */
			memcpy(x->tables[t].v, from, bytes);
		x->tables[t].nr = head.nr[t];
		from += bytes;
		len -= bytes;
		if (t + 1 == NR_INDEX_TABLES && !len)
			return true;
	}
	layout_index_release(x);
	return false;
}

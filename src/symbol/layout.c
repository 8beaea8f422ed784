// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Opens debug info, numbers its types as they are met, and answers questions.
 *
 * Two types are one when they have the same name, the same shape and the same types as arguments:
 * a program may hold two releases of a crate, whose types have equal names.
 */
#include "symbol/layout.h"

#include <dwarf.h>
#include <string.h>

#include "symbol/cache.h"
#include "symbol/debug_file.h"
#include "symbol/layout_types.h"

#define MAX_HOPS    16	 /* from a type to what it is another word for */
#define MAX_NESTING 200	 /* of types that are looked at for the sake of others */
#define MAX_ARRAYS  64	 /* in arrays */
#define FILE_BYTES  1024 /* what looking up a file name costs */
#define CACHE_BYTES (UINT64_C(64) << 20)

#define REMEDY                                                                         \
	"; build it with debug = 2 in the profile of Cargo.toml, or with environment " \
	"variable CARGO_PROFILE_RELEASE_DEBUG=2"

static const char no_elf[] = "it cannot be read as an ELF file of this machine";
static const char no_info[] = "it has no debug info" REMEDY;
static const char no_types[] =
	"its debug info has functions and lines, but no types (debug = 1 or less)" REMEDY;

static const struct layout nothing = { .name = "", .target = LAYOUT_NONE };

static const uint64_t type_tags = TAG(DW_TAG_structure_type) | TAG(DW_TAG_union_type) |
				  TAG(DW_TAG_enumeration_type) | TAG(DW_TAG_base_type) |
				  TAG(DW_TAG_pointer_type) | TAG(DW_TAG_array_type) |
				  TAG(DW_TAG_typedef) | TAG(DW_TAG_const_type) |
				  TAG(DW_TAG_volatile_type) | TAG(DW_TAG_subroutine_type);

bool layouts_spend(struct layouts *l, uint64_t bytes)
{
	if (l->budget)
		l->d->raw.nr_broken += bytes >= l->budget;
	l->budget -= MIN(bytes, l->budget);
	return l->budget > 0;
}

const char *layouts_file(struct layouts *l, struct raw_unit *u, uint64_t index)
{
	bool was_there;
	uint64_t *number = map_put(&l->files, map_hash(u->off) ^ index, &was_there);

	if (!was_there) {
		const char *name =
			layouts_spend(l, FILE_BYTES) ? dwarf_file_name(l->d, u, index) : NULL;

		*number = l->file_names.nr;
		vec_push(&l->file_names, name ? name : "");
	}
	return l->file_names.v[*number];
}

/* Reads the DIE of a type, behind other words for it. */
static bool type_die(struct layouts *l, uint64_t *off, struct raw_cursor *c, struct raw_die *die)
{
	for (unsigned hops = 0; hops < MAX_HOPS; hops++) {
		if (!dwarf_cursor(l->d, *off, c) || raw_next(c, type_tags, die) != 1)
			return false;
		if (die->tag != DW_TAG_typedef && die->tag != DW_TAG_const_type &&
		    die->tag != DW_TAG_volatile_type)
			return die->tag < 64 && type_tags >> die->tag & 1;
		if (!die->has_type)
			return false;
		*off = die->type_off;
	}
	return false;
}

static char *name_of(struct layouts *l, const struct raw_die *die)
{
	struct strbuf name = STRBUF_INIT;

	layout_index_add_path(&l->index, l->d, die->off, &name);
	if (layouts_spend(l, die->name ? strlen(die->name) : 0))
		strbuf_addstr(&name, die->name ? die->name : "");
	return strbuf_take(&name);
}

static char *array_name(struct layouts *l, const struct raw_die *array, struct raw_cursor c,
			unsigned nesting)
{
	struct raw_cursor at;
	struct raw_die element, child;
	uint64_t off = array->type_off, count = 0;
	char *inner, *name;

	if (array->has_children && raw_next(&c, TAG(DW_TAG_subrange_type), &child) == 1)
		count = child.count;
	if (nesting > MAX_ARRAYS || !array->has_type || !type_die(l, &off, &at, &element))
		return xstrdup("");
	inner = element.tag == DW_TAG_array_type ? array_name(l, &element, at, nesting + 1)
						 : name_of(l, &element);
	name = xasprintf("[%s; %llu]", inner, (unsigned long long)count);
	free(inner);
	return name;
}

static uint64_t hash_of(const char *name)
{
	return layout_hash(LAYOUT_HASH_START, name, strlen(name));
}

/* Where the type of that name is defined, 0: nowhere. */
static uint64_t find_definition(struct layouts *l, const char *name)
{
	const struct index_entry *e = layout_index_find(&l->index, INDEX_NAMES, hash_of(name));
	struct raw_cursor c;
	struct raw_die die;
	uint64_t off;
	bool same;
	char *its;

	if (!e)
		return 0;
	off = e->value;
	if (!type_die(l, &off, &c, &die))
		return 0;
	its = name_of(l, &die);
	same = strcmp(its, name) == 0;
	free(its);
	return same && !die.is_declaration ? off : 0;
}

static uint32_t new_type(struct layouts *l, char *name, uint64_t off, const struct raw_die *die)
{
	struct type *t = xcalloc(1, sizeof(*t));

	t->off = off;
	t->name_hash = hash_of(name);
	t->layout = (struct layout){ .name = name,
				     .size_bytes = die->byte_size,
				     .align = die->alignment,
				     .target = LAYOUT_NONE,
				     .function = "",
				     .file = "" };
	vec_push(&l->types, t);
	return l->types.nr - 1;
}

/* Takes the name. */
static uint32_t intern_type(struct layouts *l, char *name, uint64_t off, const struct raw_die *die,
			    struct raw_cursor c)
{
	uint64_t key = hash_of(name) ^ map_hash(die->tag ^ die->byte_size << 8);
	uint64_t shape = LAYOUT_HASH_START;

	if (die->tag == DW_TAG_pointer_type || die->tag == DW_TAG_array_type) {
		shape = die->has_type ? layouts_number(l, die->type_off) : LAYOUT_NONE;
	} else if (die->has_children && layouts_spend(l, 1)) {
		shape = layout_shape(l, &c);
		layouts_spend(l, c.off - off);
	}
	key ^= map_hash(shape);
	for (;; key++) {
		bool was_there;
		uint64_t *number = map_put(&l->by_name, key, &was_there);

		if (!was_there) {
			uint32_t n = new_type(l, name, off, die);

			*number = n;
			return n;
		}
		if (strcmp(l->types.v[*number]->layout.name, name) == 0) {
			free(name);
			return *number;
		}
	}
}

uint32_t layouts_number(struct layouts *l, uint64_t off)
{
	const uint64_t *known = map_get(&l->by_off, off);
	uint64_t at = off, definition;
	struct raw_cursor c;
	struct raw_die die;
	uint32_t number = LAYOUT_NONE;

	if (known)
		return *known;
	*map_put(&l->by_off, off, NULL) = LAYOUT_NONE; /* for what leads back to itself */
	if (l->nesting++ < MAX_NESTING && type_die(l, &at, &c, &die)) {
		char *name =
			die.tag == DW_TAG_array_type ? array_name(l, &die, c, 0) : name_of(l, &die);

		definition = die.is_declaration ? find_definition(l, name) : 0;
		if (definition && !type_die(l, &definition, &c, &die))
			definition = 0;
		number = intern_type(l, name, definition ? definition : at, &die, c);
	}
	l->nesting--;
	*map_put(&l->by_off, off, NULL) = number;
	return number;
}

const struct layout *layouts_get(struct layouts *l, uint32_t type)
{
	struct type *t;

	if (type >= l->types.nr)
		return &nothing;
	t = l->types.v[type];
	if (!t->is_resolved && l->nesting < MAX_NESTING) {
		t->is_resolved = true; /* first: a type may be asked for from inside of itself */
		l->nesting++;
		if (layouts_spend(l, 1))
			layout_read(l, t);
		l->nesting--;
		t->layout.is_future = t->layout.kind == LAYOUT_COROUTINE ||
				      layout_index_find(&l->index, INDEX_FUTURES, t->name_hash);
	}
	return &t->layout;
}

/* The type argument of the function whose DIE is at off, or of the DIE that has its name. */
uint32_t layouts_param_of(struct layouts *l, uint64_t off, const char *param)
{
	const uint64_t tags = TAG(DW_TAG_subprogram) | TAG(DW_TAG_template_type_parameter);

	for (unsigned hops = 0; hops < MAX_HOPS; hops++) {
		struct raw_cursor c;
		struct raw_die fn, die;

		if (!dwarf_cursor(l->d, off, &c) || raw_next(&c, tags, &fn) != 1 ||
		    fn.tag != DW_TAG_subprogram)
			break;
		while (fn.has_children && raw_next(&c, tags, &die) == 1) {
			if (die.tag == DW_TAG_template_type_parameter && die.has_type && die.name &&
			    strcmp(die.name, param) == 0)
				return layouts_number(l, die.type_off);
			if (die.has_children)
				raw_skip_children(&c);
		}
		if (!fn.has_origin)
			break;
		off = fn.origin_off;
	}
	return LAYOUT_NONE;
}

/*
 * Code, or a table, that the linker made one for several types: which of them it is cannot be told.
 */
static bool merge_answers(uint32_t *found, uint32_t type)
{
	if (*found == LAYOUT_NONE)
		*found = type;
	return type == LAYOUT_NONE || type == *found;
}

uint32_t layouts_of_function(struct layouts *l, uint64_t va, const char *param)
{
	uint32_t found = LAYOUT_NONE;

	for (const struct index_entry *e = layout_index_find(&l->index, INDEX_FUNCTIONS, va); e;
	     e = layout_index_next(&l->index, INDEX_FUNCTIONS, e)) {
		if (!merge_answers(&found, layouts_param_of(l, e->value, param)))
			return LAYOUT_NONE;
	}
	return found;
}

/* The type that a table's own type belongs to. */
static uint32_t type_behind(struct layouts *l, uint64_t table_off)
{
	struct raw_cursor c;
	struct raw_die die;

	if (!dwarf_cursor(l->d, table_off, &c) ||
	    raw_next(&c, TAG(DW_TAG_structure_type), &die) != 1 ||
	    die.tag != DW_TAG_structure_type || !die.has_containing)
		return LAYOUT_NONE;
	return layouts_number(l, die.containing_off);
}

uint32_t layouts_of_vtable(struct layouts *l, uint64_t va)
{
	uint32_t found = LAYOUT_NONE;

	for (const struct index_entry *e = layout_index_find(&l->index, INDEX_VTABLES, va); e;
	     e = layout_index_next(&l->index, INDEX_VTABLES, e)) {
		if (!merge_answers(&found, type_behind(l, e->value)))
			return LAYOUT_NONE;
	}
	return found;
}

uint64_t layouts_vtable(const struct layouts *l, uint32_t i)
{
	return i < l->index.tables[INDEX_VTABLES].nr ? l->index.tables[INDEX_VTABLES].v[i].key
						     : UINT64_MAX;
}

uint32_t layouts_named(struct layouts *l, const char *name)
{
	uint64_t off = find_definition(l, name);

	return off ? layouts_number(l, off) : LAYOUT_NONE;
}

uint64_t layouts_nr_broken(const struct layouts *l)
{
	return dwarf_nr_broken(l->d);
}

const struct layout_member *layout_member(const struct layout *t, const char *name)
{
	for (uint32_t i = 0; i < t->nr_members; i++)
		if (strcmp(t->members[i].name, name) == 0)
			return &t->members[i];
	return NULL;
}

const struct layout_variant *layout_variant(const struct layout *t, uint64_t value)
{
	const struct layout_variant *other = NULL;

	for (uint32_t i = 0; i < t->nr_variants; i++) {
		if (t->variants[i].is_default)
			other = &t->variants[i];
		else if (t->variants[i].value == value)
			return &t->variants[i];
	}
	return other;
}

static char *cache_key(const struct image *img, const struct image *debug)
{
	struct strbuf key = STRBUF_INIT;

	if (!img->build_id[0])
		return NULL;
	strbuf_addstr(&key, "layouts");
	cache_add_image(&key, img);
	if (debug)
		cache_add_image(&key, debug);
	return strbuf_take(&key);
}

/* The index, from the cache or anew. */
static void read_index(struct layouts *l, const char *cache_dir, char *key)
{
	struct strbuf data = STRBUF_INIT;

	if (!cache_dir || !key || !cache_get(cache_dir, key, &data) ||
	    !layout_index_decode(&l->index, data.s, data.len)) {
		layout_index_build(&l->index, l->d);
		strbuf_reset(&data);
		if (cache_dir && key && !l->d->raw.nr_broken) {
			layout_index_encode(&l->index, &data);
			cache_put(cache_dir, key, data.s, data.len, CACHE_BYTES);
		}
	}
	strbuf_release(&data);
	free(key);
}

/* What is missing, "" when nothing is. */
static const char *missing(const struct layout_index *x)
{
	if (x->is_split)
		return DEBUG_FILE_SPLIT;
	return x->tables[INDEX_NAMES].nr ? "" : no_types;
}

/* debug: the separate file, NULL when img has debug info itself. */
static struct layouts *open_info(const struct image *img, const struct image *debug,
				 const char *path, const char *cache_dir, const char **why)
{
	struct layouts *l;
	struct dwarf *d = dwarf_open(path, why);

	if (!d) {
		if (!**why)
			*why = no_info;
		return NULL;
	}
	l = xcalloc(1, sizeof(*l));
	l->d = d;
	l->budget = layout_budget(d);
	read_index(l, cache_dir, cache_key(img, debug));
	*why = missing(&l->index);
	if (l->index.tables[INDEX_NAMES].nr)
		return l;
	layouts_close(l);
	return NULL;
}

struct layouts *layouts_open(const char *path, const char *cache_dir, const char **why)
{
	struct image *img = image_open(path, NULL, NULL), *debug = NULL;
	struct layouts *l = NULL;
	char *debug_path = NULL;
	bool is_other = false;

	*why = no_elf;
	if (!img)
		return NULL;
	if (!image_section(img, ".debug_info")) {
		debug_path = debug_file_find(img, path, &is_other);
		debug = debug_path ? image_open(debug_path, NULL, NULL) : NULL;
	}
	if (is_other)
		*why = DEBUG_FILE_OTHER;
	else
		l = open_info(img, debug, debug ? debug_path : path, cache_dir, why);
	image_close(debug);
	image_close(img);
	free(debug_path);
	return l;
}

void layouts_close(struct layouts *l)
{
	if (!l)
		return;
	vec_each (t, &l->types) {
		struct layout *layout = &(*t)->layout;

		for (uint32_t i = 0; i < layout->nr_variants; i++)
			free((void *)layout->variants[i].members);
		free((void *)layout->variants);
		free((void *)layout->members);
		free((void *)layout->params);
		free((void *)layout->bodies);
		free((void *)layout->name);
		free(*t);
	}
	vec_release(&l->types);
	map_release(&l->by_off);
	map_release(&l->by_name);
	map_release(&l->files);
	vec_release(&l->file_names);
	vec_each (s, &l->strings)
		free(*s);
	vec_release(&l->strings);
	layout_index_release(&l->index);
	dwarf_close(l->d);
	free(l);
}

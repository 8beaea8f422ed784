// SPDX-License-Identifier: MIT OR Apache-2.0
/* By which functions futures are polled, and how what these return says that a future is pending.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#include "symbol/dwarf_index.h"

#define MAX_HOPS 4

static const struct poll *find_off(const struct dwarf *d, const struct map *by_off, uint64_t off)
{
	const uint64_t *i = map_get(by_off, off);

	return i ? &d->polls.v[*i] : NULL;
}

static uint64_t hash_of(const char *s)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *s; s++)
		hash = (hash ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	return hash;
}

/* "{async_fn#0}<u32>" is the code of the type "{async_fn_env#0}<u32>". NULL: it is none's. */
static char *env_path(struct dwarf *d, const struct poll *p)
{
	const char *number = p->name[0] == '{' ? strchr(p->name, '#') : NULL;
	struct strbuf path = STRBUF_INIT;

	if (!number || p->space == NO_SPACE)
		return NULL;
	dwarf_add_space(d, p->space, &path);
	strbuf_addf(&path, "%.*s_env%s", (int)(number - p->name), p->name, number);
	return strbuf_take(&path);
}

struct index {
	struct map by_off;  /* index into dwarf.polls */
	struct map inlined; /* hashes of the linkage names of what was inlined somewhere */
};

/* Of code that was inlined too, name and place stand where it was declared. */
static bool describe(struct dwarf *d, const struct index *index, const struct poll *p,
		     struct dwarf_poll *to)
{
	const struct poll *named = p;
	const char *linkage;
	char *path;

	for (unsigned i = 0; named && !named->name && i < MAX_HOPS; i++)
		named = named->has_origin ? find_off(d, &index->by_off, named->origin_off) : NULL;
	if (!named || !named->name)
		return false;
	path = env_path(d, named);
	linkage = p->linkage_name ? p->linkage_name : named->linkage_name;
	if (path)
		vec_push(&d->strings, path);
	*to = (struct dwarf_poll){
		.va = p->va,
		.size_bytes = p->end_va > p->va ? p->end_va - p->va : 0,
		.is_coroutine = named->name[0] == '{',
		.env_path = path,
		.linkage_name = linkage,
		.is_inlined = named != p || (linkage && map_get(&index->inlined, hash_of(linkage))),
		.line = named->decl_line,
		.off = p->off,
		.type_off = p->has_type	      ? p->type_off
			    : named->has_type ? named->type_off
					      : 0,
	};
	if (named->decl_line)
		to->file = dwarf_file_name(d, named->unit, named->decl_file);
	return true;
}

static int compare_polls(const void *a, const void *b)
{
	const struct dwarf_poll *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

size_t dwarf_find_polls(struct dwarf *d, struct dwarf_poll **polls)
{
	VEC(struct dwarf_poll) found = { 0 };
	struct index index = { MAP_INIT, MAP_INIT };

	d->wants_polls = true;
	for (size_t i = 0; i < d->raw.nr_units; i++)
		if (!d->raw.units[i].walked)
			dwarf_walk(d, &d->raw.units[i], NULL, NULL, 0);
	for (size_t i = 0; i < d->polls.nr; i++) {
		const struct poll *p = &d->polls.v[i];

		*map_put(&index.by_off, p->off, NULL) = i;
		if (!p->va && p->linkage_name)
			*map_put(&index.inlined, hash_of(p->linkage_name), NULL) = i;
	}
	for (size_t i = 0; i < d->polls.nr; i++) {
		struct dwarf_poll one;

		/* the linker leaves what it threw away at address 0 */
		if ((d->polls.v[i].va || !d->polls.v[i].has_code) &&
		    describe(d, &index, &d->polls.v[i], &one))
			vec_push(&found, one);
	}
	if (found.nr)
		qsort(found.v, found.nr, sizeof(*found.v), compare_polls);
	map_release(&index.by_off);
	map_release(&index.inlined);
	*polls = found.v;
	return found.nr;
}

static bool open_die(struct dwarf *d, uint64_t off, Dwarf_Die *die)
{
	if (!d->libdw)
		d->libdw = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	return d->libdw && dwarf_offdie(d->libdw, off, die);
}

/* ---- Pin<&mut T> ---- */

static char *pinned_type(Dwarf_Die *parameter)
{
	static const char head[] = "Pin<&mut ";
	Dwarf_Die type;
	Dwarf_Attribute attr;
	const char *name;
	size_t len;

	if (!dwarf_attr_integrate(parameter, DW_AT_type, &attr) ||
	    !dwarf_formref_die(&attr, &type) || !(name = dwarf_diename(&type)))
		return NULL;
	len = strlen(name);
	if (!str_has_prefix(name, head) || len <= sizeof(head) || name[len - 1] != '>')
		return NULL;
	return xasprintf("%.*s", (int)(len - sizeof(head)), name + sizeof(head) - 1);
}

char *dwarf_read_polled(struct dwarf *d, uint64_t off)
{
	Dwarf_Die die, child;
	char *type = NULL;

	if (!open_die(d, off, &die) || dwarf_child(&die, &child) != 0)
		return NULL;
	do {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter)
			type = pinned_type(&child);
	} while (!type && dwarf_siblingof(&child, &child) == 0);
	return type;
}

/* ---- Poll<T> ---- */

static bool attr_number(Dwarf_Die *die, unsigned name, uint64_t *value)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &word) != 0)
		return false;
	*value = word;
	return true;
}

/* Which number stands for Pending: the variant has a member of that name. */
static bool is_pending(Dwarf_Die *variant)
{
	Dwarf_Die member;
	const char *name;

	if (dwarf_child(variant, &member) != 0)
		return false;
	name = dwarf_diename(&member);
	return name && strcmp(name, "Pending") == 0;
}

static bool read_variants(Dwarf_Die *part, struct dwarf_poll_type *type)
{
	Dwarf_Die discr, discr_type, variant;
	Dwarf_Attribute attr;

	if (!dwarf_attr(part, DW_AT_discr, &attr) || !dwarf_formref_die(&attr, &discr) ||
	    !attr_number(&discr, DW_AT_data_member_location, &type->off) ||
	    !dwarf_attr(&discr, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &discr_type))
		return false;
	type->nr_bytes = dwarf_bytesize(&discr_type);
	if (dwarf_child(part, &variant) != 0)
		return false;
	do {
		if (dwarf_tag(&variant) == DW_TAG_variant && is_pending(&variant))
			return attr_number(&variant, DW_AT_discr_value, &type->pending);
	} while (dwarf_siblingof(&variant, &variant) == 0);
	return false;
}

bool dwarf_read_poll_type(struct dwarf *d, uint64_t type_off, struct dwarf_poll_type *type)
{
	bool is_read = false;
	Dwarf_Die die, child;
	const char *name;

	*type = (struct dwarf_poll_type){ 0 };
	if (!open_die(d, type_off, &die) || !(name = dwarf_diename(&die)) ||
	    !str_has_prefix(name, "Poll<") || dwarf_bytesize(&die) <= 0 ||
	    dwarf_child(&die, &child) != 0)
		return false;
	type->size_bytes = dwarf_bytesize(&die);
	do {
		if (dwarf_tag(&child) == DW_TAG_variant_part)
			is_read = read_variants(&child, type);
	} while (!is_read && dwarf_siblingof(&child, &child) == 0);
	return is_read && type->off + type->nr_bytes <= type->size_bytes;
}

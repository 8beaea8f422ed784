// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Reads the variables of plain types that a coroutine has at the await where it stands.
 *
 * What an async block has captured is used where it lies: that is the variable. An async fn moves
 * its arguments into variables of their own before all else; what it was given lies there still,
 * but may not be what the variable is now. So does an async closure: of what it has besides, only
 * what it borrows is known to be no argument.
 */
#include <string.h>

#include "walk/descend.h"

#define BORROWED "_ref__" /* as rustc begins the name of what is captured by reference */

static const struct layout *layout_of(const struct value *v)
{
	return types_get(v->types, v->type)->layout;
}

/*
 * Where the one variable lies that tokio::select! makes: the closure that it polls borrows it. 0:
 * none is known. An await that no macro wrote is of somebody who calls a variable the same.
 */
static uint64_t find_mask(const struct descent *d, struct value v, const struct layout_variant *now)
{
	const struct layout_member *awaitee, *closure, *mask;
	uint64_t addr = 0;

	if (now->awaitee < 0 || !now->last_line)
		return 0;
	awaitee = &now->members[now->awaitee];
	if (!types_get(v.types, awaitee->type)->polls_closure)
		return 0;
	closure = layout_member(types_get(v.types, awaitee->type)->layout, "f");
	if (!closure)
		return 0;
	mask = layout_member(types_get(v.types, closure->type)->layout, "_ref__disabled");
	if (mask)
		snapshot_number(d->snapshot, v.addr + awaitee->off + closure->off + mask->off, 8,
				&addr);
	return addr;
}

/* As many bytes as can be told, and floats of the sizes that C has. */
static bool is_plain(const struct layout *l)
{
	return l->kind == LAYOUT_NUMBER && l->size_bytes <= sizeof(unsigned __int128) &&
	       (l->number != LAYOUT_FLOAT || l->size_bytes == 4 || l->size_bytes == 8);
}

static void add_local(struct descent *d, struct value v, const char *name)
{
	struct tree_local local = { .name = name, .type = layout_of(&v) };
	const uint8_t *bytes;

	/* "__3" is the compiler's own */
	if (!is_plain(local.type) || str_has_prefix(name, "__"))
		return;
	bytes = snapshot_get(d->snapshot, v.addr, local.type->size_bytes);
	if (!bytes)
		return;
	memcpy(&local.number, bytes, local.type->size_bytes); /* little endian, as all we know */
	vec_push(&d->tree->locals, local);
}

/* Is there a variable of that name, which hides what was captured? */
static bool is_hidden(const struct layout_variant *now, const char *name)
{
	for (uint32_t i = 0; i < now->nr_saved; i++)
		if (strcmp(now->members[i].name, name) == 0)
			return true;
	return false;
}

static void add_captured(struct descent *d, struct value v, const struct layout_variant *now,
			 const char *name)
{
	if (str_has_prefix(name, BORROWED)) {
		name += strlen(BORROWED);
		if (layout_of(&v)->kind != LAYOUT_POINTER)
			return;
		v.type = layout_of(&v)->target;
		if (!is_plain(layout_of(&v)) || !snapshot_number(d->snapshot, v.addr, 8, &v.addr) ||
		    !snapshot_add(d->snapshot, v.addr, layout_of(&v)->size_bytes))
			return;
	}
	if (!is_hidden(now, name))
		add_local(d, v, name);
}

void read_locals(struct descent *d, struct value v, uint32_t node)
{
	struct tree_node *n = &d->tree->nodes.v[node];
	const struct layout_variant *now = n->variant;
	/* behind the first of them are those of type arguments */
	const char *env = strstr(n->type->name, "_env#"),
		   *block = strstr(n->type->name, "async_block_env#");
	bool is_block = block && block < env;
	uint64_t mask = find_mask(d, v, now);

	for (uint32_t i = 0; i < now->nr_members; i++) {
		const struct layout_member *m = &now->members[i];
		struct value inner = { v.types, m->type, v.addr + m->off };

		if (i < now->nr_saved && inner.addr != mask)
			add_local(d, inner, m->name);
		if (i >= now->nr_saved && (is_block || str_has_prefix(m->name, BORROWED)))
			add_captured(d, inner, now, m->name);
	}
	n->nr_locals = d->tree->locals.nr - n->first_local;
}

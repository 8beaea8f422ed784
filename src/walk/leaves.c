// SPDX-License-Identifier: MIT OR Apache-2.0
/* Reads what a task waits for in the end, by the rules of runtime/leaf_rules.h. */
#include <string.h>

#include "memory/epoll.h"
#include "walk/descend.h"

#define NS	  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define MAX_QUEUE 10000

static bool read_instant(const struct descent *d, struct value v, uint64_t *ns)
{
	struct value part = v;
	uint64_t nsec;

	if (!path_follow(d->snapshot, &v, "tv_sec") || !path_number(d->snapshot, v, ns) ||
	    !path_follow(d->snapshot, &part, "tv_nsec") || !path_number(d->snapshot, part, &nsec) ||
	    nsec >= NS || *ns > UINT64_MAX / NS - 1)
		return false;
	*ns = *ns * NS + nsec;
	return true;
}

static bool read_clock(const struct descent *d, const struct leaf_field *f, struct value leaf,
		       struct value start, uint64_t *ns)
{
	uint64_t ms;

	if (!read_instant(d, start, ns) || !path_follow(d->snapshot, &leaf, f->next) ||
	    !path_number(d->snapshot, leaf, &ms) || ms > (UINT64_MAX - *ns) / NS_PER_MS)
		return false;
	*ns += ms * NS_PER_MS;
	return true;
}

static bool read_task(const struct descent *d, struct value v, struct tree_value *out)
{
	struct census_task task;

	if (!path_number(d->snapshot, v, &out->task_addr) ||
	    !census_find(d->census, out->task_addr, &task))
		return false;
	out->number = task.id;
	out->task_type = d->census->tables.v[task.table].found->name;
	return true;
}

static bool read_epoll(const struct descent *d, struct value v, uint64_t *fd)
{
	const uint64_t *found = map_get(&d->census->memory->epoll, v.addr);

	if (found)
		*fd = *found;
	return found;
}

/* Others come and go while we look, so it is where we stand at about this moment. */
static bool read_place(const struct descent *d, const struct leaf_field *f, struct value leaf,
		       struct value first, uint64_t *place)
{
	uint64_t addr;

	if (!path_follow(d->snapshot, &leaf, f->own))
		return false;
	for (*place = 1; *place <= MAX_QUEUE; ++*place) {
		if (!path_number(d->snapshot, first, &addr) || !addr ||
		    !path_follow(d->snapshot, &first, "*"))
			return false;
		if (addr == leaf.addr)
			return true;
		if (!path_follow(d->snapshot, &first, f->next))
			return false;
	}
	return false;
}

static bool read_number(const struct descent *d, const struct leaf_field *f, struct value v,
			uint64_t *number)
{
	if (!path_number(d->snapshot, v, number))
		return false;
	*number >>= f->shift;
	if (f->mask)
		*number &= f->mask;
	return f->unit != LEAF_WORD || (*number < f->nr_words && f->words[*number]);
}

static bool find_in_row(const struct descent *d, const struct leaf_row *row, struct value var,
			uint64_t wanted, uint64_t *number)
{
	struct value first = var, count = var;
	uint64_t nr, bytes;

	if (!path_follow(d->snapshot, &first, row->first) ||
	    !path_follow(d->snapshot, &first, "*") ||
	    !path_follow(d->snapshot, &count, row->count) ||
	    !path_number(d->snapshot, count, &nr) || (nr != row->last && nr != row->last + 1))
		return false;
	bytes = types_get(first.types, first.type)->layout->size_bytes;
	for (uint64_t i = 0; i < nr; i++) {
		struct value element = { first.types, first.type, first.addr + i * bytes };
		uint64_t same;

		*number = row->last + 1 - nr + i;
		if (path_follow(d->snapshot, &element, row->same) &&
		    path_number(d->snapshot, element, &same) && same == wanted)
			return true;
	}
	return false;
}

/* A program may have several such variables, one for each copy of a crate. */
static bool read_row(const struct descent *d, const struct leaf_field *f, struct value v,
		     uint64_t *number)
{
	struct value var = { .types = v.types };
	uint64_t wanted;

	if (!path_number(d->snapshot, v, &wanted))
		return false;
	var.type = types_named(v.types, f->row->type);
	for (uint32_t nth = 0; (var.addr = types_static(v.types, f->row->symbol, nth)); nth++)
		if (find_in_row(d, f->row, var, wanted, number))
			return !f->words || (*number < f->nr_words && f->words[*number]);
	return false;
}

static bool read_field(const struct descent *d, const struct leaf_field *f, struct value leaf,
		       struct value above, struct tree_value *out)
{
	bool is_above = f->path[0] == '^';
	struct value v = is_above ? above : leaf;

	*out = (struct tree_value){ .field = f };
	if (f->unit == LEAF_CLOCK && !d->snapshot->memory->is_core)
		return false; /* there is a better one, and it takes reads of a task's own */
	if ((is_above && !above.types) || !path_follow(d->snapshot, &v, f->path + is_above))
		return false;
	switch (f->unit) {
	case LEAF_TEXT:
		return true;
	case LEAF_CONSTANT:
		out->number = f->mask;
		return true;
	case LEAF_WAKER:
		return path_number(d->snapshot, v, &out->number) && out->number == d->task_addr;
	case LEAF_ADDRESS:
		out->number = v.addr;
		return true;
	case LEAF_EPOLL:
		return read_epoll(d, v, &out->number);
	case LEAF_QUEUE:
		return read_place(d, f, leaf, v, &out->number);
	case LEAF_ROW:
		return read_row(d, f, v, &out->number);
	case LEAF_CLOCK:
		return read_clock(d, f, leaf, v, &out->number);
	case LEAF_INSTANT:
		return read_instant(d, v, &out->number);
	case LEAF_TASK:
		return read_task(d, v, out);
	default:
		return read_number(d, f, v, &out->number);
	}
}

static bool has_key(const struct tree *t, const struct tree_node *n, const char *key)
{
	for (size_t i = n->first_value; i < t->values.nr; i++)
		if (strcmp(t->values.v[i].field->key, key) == 0)
			return true;
	return false;
}

static void read_fields(struct descent *d, const struct leaf_field *f, struct value leaf,
			struct value above, uint32_t node)
{
	struct tree_value value;

	for (; f->key; f++)
		if (!has_key(d->tree, &d->tree->nodes.v[node], f->key) &&
		    read_field(d, f, leaf, above, &value))
			vec_push(&d->tree->values, value);
	d->tree->nodes.v[node].nr_values = d->tree->values.nr - d->tree->nodes.v[node].first_value;
}

/* The node above the leaf that fits, TREE_NO_NODE: there is none. */
static uint32_t find_above(const struct tree *t, const struct leaf_above *a, uint32_t node)
{
	do
		node = t->nodes.v[node].parent;
	while (node != TREE_NO_NODE && !a->is_parent &&
	       !str_has_prefix(t->nodes.v[node].type->name, a->prefix));
	return node != TREE_NO_NODE && str_has_prefix(t->nodes.v[node].type->name, a->prefix)
		       ? node
		       : TREE_NO_NODE;
}

/* What is joined may be a job for a thread. */
static enum leaf_kind kind_of_join(const struct descent *d, const struct tree_node *n,
				   enum leaf_kind kind)
{
	for (uint32_t i = 0; i < n->nr_values; i++) {
		const struct tree_value *v = &d->tree->values.v[n->first_value + i];
		struct census_task task;

		if (v->field->unit == LEAF_TASK && census_find(d->census, v->task_addr, &task) &&
		    d->census->tables.v[task.table].found->kind == TRACE_BLOCKING)
			return LEAF_KIND_BLOCKING;
	}
	return kind;
}

/* The kernel knows better than its type whether it is a socket. */
static enum leaf_kind kind_of_fd(const struct descent *d, const struct tree_node *n,
				 enum leaf_kind kind)
{
	static const enum leaf_kind kinds[] = {
		[FD_SOCKET] = LEAF_KIND_SOCKET,
		[FD_PIPE] = LEAF_KIND_PIPE,
		[FD_FILE] = LEAF_KIND_FILE,
	};

	for (uint32_t i = 0; i < n->nr_values; i++) {
		const struct tree_value *v = &d->tree->values.v[n->first_value + i];
		const uint64_t *found = NULL;

		if (v->field->unit == LEAF_FD || v->field->unit == LEAF_EPOLL)
			found = map_get(&d->census->memory->fd_kinds, v->number);
		if (found)
			return kinds[*found];
	}
	return kind;
}

void read_leaf(struct descent *d, struct value v, uint32_t node)
{
	const struct leaf_rule *rule = types_get(v.types, v.type)->leaf;
	struct tree_node *n = &d->tree->nodes.v[node];
	struct value above = { 0 };

	n->leaf = rule->kind;
	for (const struct leaf_above *a = rule->above; a && a->prefix; a++) {
		uint32_t at = find_above(d->tree, a, node);

		if (at == TREE_NO_NODE)
			continue;
		above = (struct value){ &d->types[d->tree->nodes.v[at].object],
					d->tree->nodes.v[at].type_id, d->tree->nodes.v[at].addr };
		n->leaf = a->kind ? a->kind : n->leaf;
		read_fields(d, a->fields, v, above, node);
		break;
	}
	read_fields(d, rule->fields, v, above, node);
	n->leaf = kind_of_fd(d, n, kind_of_join(d, n, n->leaf));
}

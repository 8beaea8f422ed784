// SPDX-License-Identifier: MIT OR Apache-2.0
#include "show/tree_say.h"

#include <string.h>

#include "base/format.h"
#include "model/shorten.h"
#include "show/look_text.h"
#include "symbol/demangle.h"

#define OTHER_WIDTH 40
#define MAX_HOLDERS 3 /* of a lock, in text */

static char *name_of(const struct tree_node *n)
{
	if (tree_is_generated(n) && *n->type->function)
		return xstrdup(n->type->function);
	return readable_type(n->type->name, strlen(n->type->name), false);
}

void say_name(const struct tree_node *n, size_t width, struct strbuf *out)
{
	char *name = name_of(n);

	shorten_type(out, name, width);
	free(name);
}

void say_place(const struct tree_node *n, size_t width, struct strbuf *out)
{
	if (!tree_has_place(n))
		return;
	shorten_place(out, n->variant->file, n->variant->line, width);
	if (n->variant->last_line > n->variant->line)
		strbuf_addf(out, "-%u", n->variant->last_line);
}

const char *say_state(const struct tree_node *n)
{
	static const char *const names[] = {
		[TREE_WAITS] = "",
		[TREE_NOT_STARTED] = "not started",
		[TREE_DONE] = "done",
		[TREE_PANICKED] = "panicked",
		[TREE_DISABLED] = "disabled",
	};

	return names[n->state];
}

static const struct tree_value *value_of(const struct tree *t, const struct tree_node *n,
					 enum leaf_unit unit)
{
	for (uint32_t i = 0; i < n->nr_values; i++)
		if (t->values.v[n->first_value + i].field->unit == unit)
			return &t->values.v[n->first_value + i];
	return NULL;
}

static void add_remaining(const struct say *s, uint64_t ns, struct strbuf *out)
{
	char span[FORMAT_SIZE];

	if (!s->now_ns && s->clock_ns)
		/* the runtime may not have looked for a while */
		strbuf_addf(out, "at most %s left",
			    format_span(ns > s->clock_ns ? ns - s->clock_ns : 0, span));
	else if (!s->now_ns)
		strbuf_addf(out, "until %llu.%09llu", (unsigned long long)(ns / 1000000000),
			    (unsigned long long)(ns % 1000000000));
	else if (ns > s->now_ns)
		strbuf_addf(out, "%s left", format_span(ns - s->now_ns, span));
	else
		strbuf_addf(out, "due for %s", format_span(s->now_ns - ns, span));
}

static void add_count(const struct tree_value *v, struct strbuf *out)
{
	strbuf_addf(out, "%llu", (unsigned long long)v->number);
	if (v->highest > v->number)
		strbuf_addf(out, "..%llu", (unsigned long long)v->highest);
}

/* How many an RwLock has is a number that Tokio made up: "all", "2..all". */
static void add_permits(const struct say *s, const struct tree_value *v, struct strbuf *out)
{
	if (!s->all_permits || MAX(v->number, v->highest) != s->all_permits)
		return add_count(v, out);
	if (v->number < s->all_permits)
		strbuf_addf(out, "%llu..", (unsigned long long)v->number);
	strbuf_addstr(out, "all");
}

/* "permits_free" -> "3 permits free", "1 permit free"; "pid" -> "pid 3" */
static void add_number(const struct say *s, const struct tree_value *v, struct strbuf *out)
{
	const char *key = v->field->key;
	size_t word = strcspn(key, "_");
	bool is_plural = key[word - 1] == 's', is_one = v->number == 1 && v->highest <= 1;

	if (!is_plural) {
		strbuf_addf(out, "%s ", key);
		return add_count(v, out);
	}
	if (str_has_prefix(key, "permits_"))
		add_permits(s, v, out);
	else
		add_count(v, out);
	strbuf_addf(out, " %.*s", (int)word - is_one, key);
	for (key += word; *key; key++)
		strbuf_addch(out, *key == '_' ? ' ' : *key);
}

static void add_one(const struct say *s, const struct tree_value *v, uint64_t number,
		    struct strbuf *out)
{
	char text[PEER_SIZE];

	switch (v->field->unit) {
	case LEAF_INSTANT:
		return add_remaining(s, number, out);
	case LEAF_ADDRESS:
		return strbuf_addf(out, "0x%llx", (unsigned long long)number);
	case LEAF_WORD:
	case LEAF_ROW:
		if (v->field->words)
			return strbuf_addstr(out, v->field->words[number]);
		return strbuf_addf(out, "%llu", (unsigned long long)number);
	case LEAF_TASK:
		return strbuf_addf(out, v->number == v->task_addr ? "task 0x%llx" : "task %llu",
				   (unsigned long long)number);
	default: /* LEAF_FD, LEAF_EPOLL */
		strbuf_addf(out, "fd %llu", (unsigned long long)number);
		if (s->peers && peers_get(s->peers, number, text))
			strbuf_addf(out, " to %s", text);
	}
}

/* Times that differ by less than what is printed of them are one. */
static void add_range(const struct say *s, const struct tree_value *v, struct strbuf *out)
{
	struct strbuf lowest = STRBUF_INIT, highest = STRBUF_INIT;

	add_one(s, v, v->number, &lowest);
	if (v->highest > v->number)
		add_one(s, v, v->highest, &highest);
	strbuf_addstr(out, lowest.s);
	if (highest.len && strcmp(lowest.s, highest.s) != 0)
		strbuf_addf(out, " .. %s", highest.s);
	strbuf_release(&lowest);
	strbuf_release(&highest);
}

static void add_value(const struct say *s, const struct tree_value *v, struct strbuf *out)
{
	switch (v->field->unit) {
	case LEAF_TEXT:
	case LEAF_WAKER:
		return strbuf_addstr(out, v->field->text);
	case LEAF_NUMBER:
	case LEAF_CONSTANT:
		return add_number(s, v, out);
	case LEAF_QUEUE:
		strbuf_addstr(out, "place ");
		add_count(v, out);
		return strbuf_addstr(out, " in the queue");
	default:
		return add_range(s, v, out);
	}
}

static bool is_semaphore(const struct tree_node *n)
{
	return n->leaf == LEAF_KIND_SEMAPHORE;
}

/* What somebody else may hold that a leaf waits for; NULL: nothing of the kind. */
static const struct tree_value *lock_of(const struct say *s, const struct tree_node *n)
{
	return leaf_traits(n->leaf)->is_lock || is_semaphore(n) ? value_of(s->tree, n, LEAF_ADDRESS)
								: NULL;
}

static const struct census_task *holder(const struct say *s, const struct holders *h, size_t i)
{
	return &s->ties->census->tasks.v[h->v[i].task];
}

/* "task 3", "task 3 or thread 4711", "task 3, task 5, task 8 or 2 others" */
static void add_holders(const struct say *s, const struct holders *h, struct strbuf *out)
{
	size_t nr = MIN(h->nr, (size_t)MAX_HOLDERS);

	for (size_t i = 0; i < nr; i++) {
		if (i)
			strbuf_addstr(out, i + 1 == h->nr ? " or " : ", ");
		look_add_who(s->ties->census, holder(s, h, i), out);
	}
	if (h->nr > nr)
		strbuf_addf(out, " or %zu other%s", h->nr - nr, plural(h->nr - nr));
}

/* Guards are found among variables of futures only, and may have been moved away by now. */
static void add_held(const struct say *s, const struct tree_node *n, struct strbuf *out)
{
	const struct tree_value *lock = s->ties ? lock_of(s, n) : NULL;
	struct holders h;

	if (!lock)
		return;
	h = ties_holders(s->ties, lock->number);
	if (is_semaphore(n) && !h.nr) /* it may be a signal, made by who adds permits */
		return;
	strbuf_addstr(out, ", held?");
	if (lock->highest > lock->number)
		return strbuf_addstr(out, " (--all tells by whom)");
	if (h.nr)
		strbuf_addstr(out, " by ");
	add_holders(s, &h, out);
}

/* Who waits for a thread wants to know what that does. */
static void add_job(const struct say *s, const struct tree_node *n, struct strbuf *out)
{
	const struct tree_value *v = value_of(s->tree, n, LEAF_TASK);

	if (n->leaf != LEAF_KIND_BLOCKING || !v || v->highest > v->number || !*v->task_type)
		return;
	strbuf_addstr(out, ", ");
	shorten_type(out, v->task_type, OTHER_WIDTH);
}

/* Who writes wants all permits of an RwLock, who reads wants one; 0: nobody here writes. */
static uint64_t all_permits(const struct say *s, const struct tree_node *n)
{
	const struct tree_value *values = s->tree->values.v + n->first_value;

	if (n->leaf != LEAF_KIND_RWLOCK)
		return 0;
	for (uint32_t i = 0; i < n->nr_values; i++)
		if (strcmp(values[i].field->key, "permits_wanted") == 0 && values[i].number > 1)
			return values[i].number;
	return 0;
}

/* The runtime's clock is no value of its own: it tells how others are to be said. */
static struct say say_of(const struct say *s, const struct tree_node *n)
{
	const struct tree_value *clock = value_of(s->tree, n, LEAF_CLOCK);
	struct say of_leaf = *s;

	of_leaf.clock_ns = clock ? clock->number : 0;
	of_leaf.all_permits = all_permits(s, n);
	return of_leaf;
}

void say_leaf(const struct say *s, const struct tree_node *n, struct strbuf *out)
{
	const struct say of_leaf = say_of(s, n);
	const char *separator = " ";

	if (n->leaf == LEAF_KIND_OTHER) {
		say_name(n, OTHER_WIDTH, out);
		return strbuf_addstr(out, n->is_never ? " for ever" : "");
	}
	strbuf_addstr(out, leaf_kind_name(n->leaf));
	for (uint32_t i = 0; i < n->nr_values; i++) {
		const struct tree_value *v = &s->tree->values.v[n->first_value + i];

		if (v->field->unit == LEAF_CLOCK)
			continue;
		strbuf_addstr(out, separator);
		add_value(&of_leaf, v, out);
		separator = ", ";
	}
	add_held(s, n, out);
	add_job(s, n, out);
}

void say_leaves(const struct say *s, uint32_t max, struct strbuf *out)
{
	bool is_for_ever = tree_waits_for_ever(s->tree);
	uint32_t nr = 0, at;

	for (uint32_t nth = 0; (at = tree_leaf(s->tree, nth)) != TREE_NO_NODE && nr <= max; nth++) {
		const struct tree_node *n = &s->tree->nodes.v[at];

		if (n->is_never && !is_for_ever)
			continue; /* something else will happen */
		if (nr < max) {
			strbuf_addstr(out, nr ? " | " : "");
			say_leaf(s, n, out);
		}
		nr++;
	}
	if (nr > max || s->tree->is_cut)
		strbuf_addstr(out, nr ? " | .." : "..");
}

/* ---- values of variables ---- */

static void add_unsigned(unsigned __int128 number, struct strbuf *out)
{
	if (number > 9)
		add_unsigned(number / 10, out);
	strbuf_addch(out, '0' + number % 10);
}

static void add_signed(unsigned __int128 bits, uint64_t bytes, struct strbuf *out)
{
	bool is_negative = bits >> (8 * bytes - 1) & 1;
	unsigned shift = 128 - 8 * bytes;

	strbuf_addstr(out, is_negative ? "-" : "");
	add_unsigned(is_negative ? -bits << shift >> shift : bits, out);
}

static double as_float(uint64_t bits, uint64_t bytes)
{
	double d;
	float f;

	memcpy(&d, &bits, sizeof(d));
	memcpy(&f, &bits, sizeof(f));
	return bytes == 4 ? f : d;
}

void say_local(const struct tree_local *l, struct strbuf *out)
{
	switch (l->type->number) {
	case LAYOUT_SIGNED:
		return add_signed(l->number, l->type->size_bytes, out);
	case LAYOUT_BOOL:
		return strbuf_addstr(out, l->number ? "true" : "false");
	case LAYOUT_FLOAT:
		return strbuf_addf(out, "%g", as_float(l->number, l->type->size_bytes));
	case LAYOUT_CHAR:
		return strbuf_addf(out, "'\\u{%llx}'", (unsigned long long)l->number);
	default:
		return add_unsigned(l->number, out);
	}
}

static void json_locals(const struct say *s, const struct tree_node *n, struct json *j)
{
	struct strbuf text = STRBUF_INIT;

	if (!n->nr_locals)
		return;
	json_open_array(j, "locals");
	for (uint32_t i = 0; i < n->nr_locals; i++) {
		const struct tree_local *l = &s->tree->locals.v[n->first_local + i];

		strbuf_reset(&text);
		say_local(l, &text);
		json_open_object(j, NULL);
		json_str(j, "name", l->name);
		json_str(j, "type", l->type->name);
		json_str(j, "value", text.s);
		json_close_object(j);
	}
	json_close_array(j);
	strbuf_release(&text);
}

/* ---- JSON ---- */

static void json_value(const struct say *s, const struct tree_value *v, struct json *j)
{
	const char *key = v->field->key;
	char text[PEER_SIZE];

	if (v->field->words)
		json_str(j, key, v->field->words[v->number]);
	else if (v->field->unit == LEAF_TEXT || v->field->unit == LEAF_WAKER)
		json_str(j, key, v->field->text);
	else if (v->field->unit != LEAF_INSTANT)
		json_uint(j, key, v->number);
	else if (s->now_ns)
		json_int(j, key, (int64_t)(v->number - s->now_ns));
	else if (s->clock_ns)
		json_int(j, "remaining_at_most_ns", (int64_t)(v->number - s->clock_ns));
	if (v->field->unit == LEAF_INSTANT)
		json_uint(j, "deadline_ns", v->number);
	if (s->peers && (v->field->unit == LEAF_FD || v->field->unit == LEAF_EPOLL) &&
	    peers_get(s->peers, v->number, text))
		json_str(j, "peer", text);
	if (v->field->unit == LEAF_TASK && *v->task_type)
		json_str(j, "task_type", v->task_type);
}

/* "holder" when it is one; who else it may be is "holders". */
static void json_holders(const struct say *s, const struct tree_node *n, struct json *j)
{
	const struct tree_value *lock = lock_of(s, n);
	struct holders h = { 0 };

	if (!lock)
		return;
	if (s->ties)
		h = ties_holders(s->ties, lock->number);
	if (h.nr == 1)
		return json_uint(j, "holder", holder(s, &h, 0)->id);
	json_null(j, "holder");
	if (!h.nr)
		return;
	json_open_array(j, "holders");
	for (size_t i = 0; i < h.nr; i++)
		json_uint(j, NULL, holder(s, &h, i)->id);
	json_close_array(j);
}

static void json_leaf(const struct say *s, const struct tree_node *n, struct json *j)
{
	const struct say of_leaf = say_of(s, n);

	if (!n->leaf)
		return json_null(j, "leaf");
	json_open_object(j, "leaf");
	json_str(j, "kind", leaf_kind_name(n->leaf));
	for (uint32_t i = 0; i < n->nr_values; i++)
		json_value(&of_leaf, &s->tree->values.v[n->first_value + i], j);
	json_holders(s, n, j);
	if (n->is_never)
		json_bool(j, "for_ever", true);
	json_close_object(j);
}

static void json_place(const struct tree_node *n, struct json *j)
{
	const struct layout_variant *v = n->variant;
	bool has_line = tree_has_place(n), is_range = has_line && v->last_line > v->line;

	json_str(j, "file", has_line ? v->file : NULL);
	if (has_line)
		json_uint(j, "line", v->line);
	else
		json_null(j, "line");
	if (!is_range)
		return json_null(j, "line_range");
	json_open_array(j, "line_range");
	json_uint(j, NULL, v->line);
	json_uint(j, NULL, v->last_line);
	json_close_array(j);
}

static void open_node(const struct say *s, const struct tree_node *n, struct json *j)
{
	char *type = readable_type(n->type->name, strlen(n->type->name), false);

	json_open_object(j, n->parent == TREE_NO_NODE ? "tree" : NULL);
	json_str(j, "type", type);
	json_str(j, "function", tree_is_generated(n) ? n->type->function : NULL);
	json_place(n, j);
	json_str(j, "state", *say_state(n) ? say_state(n) : "waits");
	json_leaf(s, n, j);
	json_locals(s, n, j);
	json_open_array(j, "children");
	free(type);
}

static void close_node(struct json *j)
{
	json_close_array(j);
	json_close_object(j);
}

void say_json(const struct say *s, struct json *j)
{
	uint32_t depth = 0;

	if (!s->tree || !s->tree->nodes.nr)
		return json_null(j, "tree");
	vec_each (n, &s->tree->nodes) {
		/* a task has one future; what else stands at the top would be a second tree */
		if (n != s->tree->nodes.v && n->depth == 0)
			break;
		for (; depth > n->depth; depth--)
			close_node(j);
		open_node(s, n, j);
		depth = n->depth + 1;
	}
	for (; depth > 0; depth--)
		close_node(j);
}

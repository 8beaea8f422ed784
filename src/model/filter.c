// SPDX-License-Identifier: MIT OR Apache-2.0
#include "model/filter.h"

#include <string.h>

#include "base/opts.h"
#include "base/pattern.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum op { OP_EQ, OP_NE, OP_HAS, OP_HAS_NOT, OP_GT, OP_GE, OP_LT, OP_LE };

enum unit { UNIT_TEXT, UNIT_COUNT, UNIT_TIME, UNIT_KIND, UNIT_END };

struct field {
	const char *name;
	enum unit unit;
	bool is_late; /* known only when the task is over */
	uint64_t (*get)(const struct model_task *t);
};

struct condition {
	const struct field *field;
	enum op op;
	uint64_t value;
	char *text;
	uint8_t *by_type; /* UNIT_TEXT: does it hold for the type; one more for all others */
};

struct filter {
	const struct recording *rec;
	VEC(struct condition) conditions;
	VEC(uint64_t) marks;
};

static uint64_t id(const struct model_task *t)
{
	return t->key.id;
}

static uint64_t runtime(const struct model_task *t)
{
	return t->key.runtime;
}

static uint64_t kind(const struct model_task *t)
{
	return t->kind;
}

static uint64_t parent(const struct model_task *t)
{
	return t->has_parent ? t->parent.id : UINT64_MAX;
}

static uint64_t end(const struct model_task *t)
{
	return t->end;
}

static uint64_t life(const struct model_task *t)
{
	return t->end_ns - t->spawn_ns;
}

static uint64_t busy(const struct model_task *t)
{
	return t->ns[MODEL_RUNNING];
}

static uint64_t sched(const struct model_task *t)
{
	return t->ns[MODEL_SCHEDULED];
}

static uint64_t idle(const struct model_task *t)
{
	return t->ns[MODEL_IDLE];
}

static uint64_t blocked(const struct model_task *t)
{
	return t->blocked_ns;
}

static uint64_t max_poll(const struct model_task *t)
{
	return t->max_poll_ns;
}

static uint64_t max_sched(const struct model_task *t)
{
	return t->max_sched_ns;
}

static uint64_t max_blocked(const struct model_task *t)
{
	return t->max_blocked_ns;
}

static uint64_t polls(const struct model_task *t)
{
	return t->polls;
}

static uint64_t wakes(const struct model_task *t)
{
	return model_sum_wakes(t->wakes);
}

static uint64_t self_wakes(const struct model_task *t)
{
	return t->wakes[MODEL_BY_SELF];
}

static const struct field fields[] = {
	{ "type", UNIT_TEXT, false, NULL },
	{ "place", UNIT_TEXT, false, NULL },
	{ "id", UNIT_COUNT, false, id },
	{ "runtime", UNIT_COUNT, false, runtime },
	{ "kind", UNIT_KIND, false, kind },
	{ "parent", UNIT_COUNT, true, parent },
	{ "state", UNIT_END, true, end },
	{ "life", UNIT_TIME, true, life },
	{ "busy", UNIT_TIME, true, busy },
	{ "sched", UNIT_TIME, true, sched },
	{ "idle", UNIT_TIME, true, idle },
	{ "blocked", UNIT_TIME, true, blocked },
	{ "max_poll", UNIT_TIME, true, max_poll },
	{ "max_sched", UNIT_TIME, true, max_sched },
	{ "max_blocked", UNIT_TIME, true, max_blocked },
	{ "polls", UNIT_COUNT, true, polls },
	{ "wakes", UNIT_COUNT, true, wakes },
	{ "self_wakes", UNIT_COUNT, true, self_wakes },
};

#define OP_CHARS "=!~<>"

/* The longer ones first. */
static const struct {
	const char *text;
	enum op op;
} ops[] = {
	{ "!=", OP_NE }, { "!~", OP_HAS_NOT }, { ">=", OP_GE }, { "<=", OP_LE },
	{ "=", OP_EQ },	 { "~", OP_HAS },      { ">", OP_GT },	{ "<", OP_LT },
};

static const struct field *find_field(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (strlen(fields[i].name) == len && memcmp(fields[i].name, name, len) == 0)
			return &fields[i];
	return NULL;
}

static int no_field(const char *name, size_t len, struct err *e)
{
	struct strbuf names = STRBUF_INIT;
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", fields[i].name);
	rc = err_set(e, ERR_USAGE, "no field '%.*s' to filter by; there are %s", (int)len, name,
		     names.s);
	strbuf_release(&names);
	return rc;
}

static int parse_word(const struct field *f, const char *s, uint64_t *value)
{
	unsigned nr = f->unit == UNIT_KIND ? TRACE_BLOCK_ON + 1 : MODEL_NR_ENDS;

	for (*value = 0; *value < nr; ++*value)
		if (!(f->unit == UNIT_KIND && *value == TRACE_HELPER) &&
		    strcmp(s, f->unit == UNIT_KIND ? model_kind_name(*value)
						   : model_end_name(*value)) == 0)
			return 0;
	return -1;
}

static int check_text(const struct condition *c, struct err *e)
{
	bool is_whole = c->op == OP_EQ || c->op == OP_NE;

	if (c->op > OP_HAS_NOT)
		return err_set(e, ERR_USAGE, "%s is text: compare it by =, !=, ~ or !~",
			       c->field->name);
	/* "place=": of which it is not known */
	if (is_whole && !*c->text && strcmp(c->field->name, "place") == 0)
		return 0;
	if (pattern_item_check(c->text, strlen(c->text), e))
		return err_prefix(e, "%s", c->field->name);
	return 0;
}

static int parse_value(struct condition *c, struct err *e)
{
	static const char *const such_as[] = {
		[UNIT_COUNT] = "a number",
		[UNIT_TIME] = "a time such as 10ms or 1.5s",
		[UNIT_KIND] = "task, local, blocking or block_on",
		[UNIT_END] = "alive, completed, cancelled, panicked or dropped",
	};
	const struct field *f = c->field;
	bool is_word = f->unit == UNIT_KIND || f->unit == UNIT_END;
	int rc;

	if (f->unit == UNIT_TEXT)
		return check_text(c, e);
	if (c->op == OP_HAS || c->op == OP_HAS_NOT || (is_word && c->op > OP_NE))
		return err_set(e, ERR_USAGE, "%s cannot be compared that way; use %s%sVALUE",
			       f->name, f->name, is_word ? "=" : ">");
	rc = is_word		    ? parse_word(f, c->text, &c->value)
	     : f->unit == UNIT_TIME ? parse_time(c->text, &c->value)
				    : parse_uint(c->text, &c->value);
	if (rc)
		return err_set(e, ERR_USAGE, "%s takes %s, not '%s'", f->name, such_as[f->unit],
			       c->text);
	return 0;
}

static bool holds_text(const struct condition *c, const char *text)
{
	bool is_same = c->op == OP_EQ || c->op == OP_NE ? strcmp(text, c->text) == 0
							: strstr(text, c->text) != NULL;

	return is_same == (c->op == OP_EQ || c->op == OP_HAS);
}

/* Once for each type: a task then costs no work with strings. */
static void judge_types(const struct recording *rec, struct condition *c)
{
	bool is_place = strcmp(c->field->name, "place") == 0;
	char buf[32], *place;

	c->by_type = xcalloc(rec->nr_types + 1, 1);
	for (uint32_t i = 0; i <= rec->nr_types; i++) {
		uint16_t type = i < rec->nr_types ? i : EVENT_TYPE_NONE;

		place = is_place ? recording_type_place(rec, type) : NULL;
		if (is_place)
			c->by_type[i] = holds_text(c, place ? place : "");
		else if (i < rec->nr_types && rec->types[i].name[0]) /* any of the candidates */
			c->by_type[i] = holds_text(c, rec->types[i].name);
		else
			c->by_type[i] = holds_text(c, recording_type_name(rec, type, buf));
		free(place);
	}
}

static int add_condition(struct filter *f, const char *text, size_t len, struct err *e)
{
	size_t name = strcspn(text, OP_CHARS ","), i;
	struct condition c = { .field = find_field(text, name) };

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (str_has_prefix(text + name, ops[i].text))
			break;
	if (i == ARRAY_SIZE(ops) || name >= len)
		return err_set(e, ERR_USAGE,
			       "'%.*s' is not a condition; use for example type~serve, "
			       "kind=blocking, life>1s, id=5",
			       (int)len, text);
	if (!c.field)
		return no_field(text, name, e);
	c.op = ops[i].op;
	name += strlen(ops[i].text);
	c.text = xstrndup(text + name, len - name);
	vec_push(&f->conditions, c);
	if (parse_value(&f->conditions.v[f->conditions.nr - 1], e))
		return -1;
	if (c.field->unit == UNIT_TEXT)
		judge_types(f->rec, &f->conditions.v[f->conditions.nr - 1]);
	return 0;
}

static size_t condition_len(const char *text)
{
	size_t value = strcspn(text, OP_CHARS ",");

	value += strspn(text + value, OP_CHARS);
	return value + pattern_item_len(text + value);
}

struct filter *filter_new(const struct recording *rec, const char *text, struct err *e)
{
	struct filter *f = xcalloc(1, sizeof(*f));

	f->rec = rec;
	do {
		size_t len = condition_len(text);

		if (add_condition(f, text, len, e)) {
			filter_free(f);
			return NULL;
		}
		text += len;
	} while (*text++ == ',');
	return f;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	vec_each (c, &f->conditions) {
		free(c->text);
		free(c->by_type);
	}
	vec_release(&f->conditions);
	vec_release(&f->marks);
	free(f);
}

bool filter_is_late(const struct filter *f)
{
	vec_each (c, &f->conditions)
		if (c->field->is_late)
			return true;
	return false;
}

static bool holds(const struct filter *f, const struct condition *c, const struct model_task *t)
{
	uint64_t value;

	if (c->by_type)
		return c->by_type[MIN(t->key.type, f->rec->nr_types)];
	value = c->field->get(t);
	switch (c->op) {
	case OP_EQ:
		return value == c->value;
	case OP_NE:
		return value != c->value;
	case OP_GT:
		return value > c->value;
	case OP_GE:
		return value >= c->value;
	case OP_LT:
		return value < c->value;
	default:
		return value <= c->value;
	}
}

bool filter_may_want(const struct filter *f, const struct model_task *t)
{
	vec_each (c, &f->conditions)
		if (!c->field->is_late && !holds(f, c, t))
			return false;
	return true;
}

bool filter_wants(const struct filter *f, const struct model_task *t)
{
	vec_each (c, &f->conditions)
		if (!holds(f, c, t))
			return false;
	return true;
}

void filter_clear(struct filter *f)
{
	vec_release(&f->marks);
}

void filter_mark(struct filter *f, const struct model_task *t)
{
	while (f->marks.nr <= t->nr / 64)
		vec_push(&f->marks, 0);
	f->marks.v[t->nr / 64] |= UINT64_C(1) << t->nr % 64;
}

bool filter_is_marked(const struct filter *f, const struct model_task *t)
{
	return t->nr / 64 < f->marks.nr && f->marks.v[t->nr / 64] >> t->nr % 64 & 1;
}

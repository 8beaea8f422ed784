// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/opts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *suffix;
	double factor;
};

static int parse_scaled(const char *s, const struct unit *units, uint64_t *value)
{
	char *end;
	double x;

	/* no sign, no "nan", and no "0x1b", which strtod takes for 27 */
	if (*s < '0' || *s > '9' || s[1] == 'x' || s[1] == 'X')
		return -1;
	errno = 0;
	x = strtod(s, &end);
	if (errno)
		return -1;
	for (; units->suffix; units++)
		if (strcasecmp(end, units->suffix) == 0)
			break;
	x *= units->factor;
	if (!units->suffix || !isfinite(x) || x >= 18446744073709551615.0)
		return -1;
	*value = x + 0.5;
	return 0;
}

int parse_size(const char *s, uint64_t *bytes)
{
	static const struct unit units[] = {
		{ "", 1 },	    { "b", 1 },	       { "k", 1 << 10 },   { "kb", 1 << 10 },
		{ "kib", 1 << 10 }, { "m", 1 << 20 },  { "mb", 1 << 20 },  { "mib", 1 << 20 },
		{ "g", 1 << 30 },   { "gb", 1 << 30 }, { "gib", 1 << 30 }, { NULL, 0 },
	};

	return parse_scaled(s, units, bytes);
}

int parse_time(const char *s, uint64_t *ns)
{
	static const struct unit units[] = {
		{ "", 1e9 },   { "ns", 1 },	{ "us", 1e3 },	 { "ms", 1e6 }, { "s", 1e9 },
		{ "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 }, { NULL, 0 },
	};

	return parse_scaled(s, units, ns);
}

int parse_uint(const char *s, uint64_t *value)
{
	char *end;

	errno = 0;
	if (*s < '0' || *s > '9')
		return -1;
	*value = strtoull(s, &end, 10);
	return errno || *end ? -1 : 0;
}

int parse_pid(const char *s, uint32_t *pid)
{
	uint64_t value;

	if (parse_uint(s, &value) || !value || value > INT32_MAX)
		return -1;
	*pid = value;
	return 0;
}

static void add_to_list(struct opt_list *list, const char *arg)
{
	list->v = xreallocarray(list->v, list->nr + 1, sizeof(*list->v));
	list->v[list->nr++] = arg;
}

static void add_choices(struct strbuf *out, const char *const *choices)
{
	for (size_t i = 0; choices[i]; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "", choices[i]);
}

/* Is arg one of the words that the option takes? */
static int check_choice(const struct opt *o, const char *arg, struct err *e)
{
	struct strbuf list = STRBUF_INIT;

	if (!o->choices)
		return 0;
	for (const char *const *c = o->choices; *c; c++)
		if (strcmp(*c, arg) == 0)
			return 0;
	add_choices(&list, o->choices);
	err_set(e, ERR_USAGE, "--%s takes one of %s, not '%s'", o->name, list.s, arg);
	strbuf_release(&list);
	return -1;
}

/*
 * A script with an unset variable passes an empty value, and an empty pattern matches everything.
 * Other values may be empty: --features=.
 */
static bool lacks_name(const struct opt *o, const char *arg)
{
	static const char *const names[] = { "FILE", "DIR", "PID", "PATTERN", "PART" };

	if (!arg || *arg || o->kind == OPT_MAYBE)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(o->arg, names[i]) == 0)
			return true;
	return false;
}

static int store(const struct opt *o, void *into, const char *arg, struct err *e)
{
	void *at = (char *)into + o->offset;

	if (lacks_name(o, arg))
		return err_set(e, ERR_USAGE, "--%s needs an argument, not '': %s", o->name, o->arg);
	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)at = true;
		return 0;
	case OPT_STR:
	case OPT_MAYBE:
		*(const char **)at = arg;
		return check_choice(o, arg, e);
	case OPT_LIST:
		add_to_list(at, arg);
		return check_choice(o, arg, e);
	case OPT_UINT:
		if (parse_uint(arg, at) == 0)
			return 0;
		return err_set(e, ERR_USAGE, "--%s takes a whole number, not '%s'%s", o->name, arg,
			       errno == ERANGE ? ", which is too large" : "");
	case OPT_SIZE:
		if (parse_size(arg, at) == 0)
			return 0;
		return err_set(e, ERR_USAGE, "--%s takes a size such as 64K, 10M or 2G, not '%s'",
			       o->name, arg);
	case OPT_TIME:
		if (parse_time(arg, at) == 0)
			return 0;
		return err_set(e, ERR_USAGE, "--%s takes a time such as 10s, 500ms or 2m, not '%s'",
			       o->name, arg);
	}
	return -1;
}

static const struct opt *find_long(const struct opt *table, const char *name, size_t len)
{
	for (const struct opt *o = table; o->name; o++)
		if (strlen(o->name) == len && strncmp(o->name, name, len) == 0)
			return o;
	return NULL;
}

static const struct opt *find_letter(const struct opt *table, char letter)
{
	for (const struct opt *o = table; o->name; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

static bool is_left_out(const struct opt *o, const char *next)
{
	return o->kind == OPT_MAYBE && (!next || *next == '-');
}

/* --name, --name=value, --name value. Returns how many words of argv it took, or -1. */
static int parse_long(const struct opt *table, void *into, char **argv, struct err *e)
{
	const char *name = argv[0] + 2, *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	const struct opt *o = find_long(table, name, len);

	if (!o)
		return err_set(e, ERR_USAGE, "unknown option '%s'", argv[0]);
	if (o->kind == OPT_FLAG) {
		if (eq)
			return err_set(e, ERR_USAGE, "--%s takes no argument", o->name);
		return store(o, into, NULL, e) ? -1 : 1;
	}
	if (eq)
		return store(o, into, eq + 1, e) ? -1 : 1;
	if (is_left_out(o, argv[1]))
		return store(o, into, "", e) ? -1 : 1;
	if (!argv[1])
		return err_set(e, ERR_USAGE, "--%s needs an argument: %s", o->name, o->arg);
	return store(o, into, argv[1], e) ? -1 : 2;
}

/* -abc, -o value, -ovalue. Returns how many words of argv it took, or -1. */
static int parse_letters(const struct opt *table, void *into, char **argv, struct err *e)
{
	for (const char *p = argv[0] + 1; *p; p++) {
		const struct opt *o = find_letter(table, *p);

		if (!o)
			return err_set(e, ERR_USAGE, "unknown option '-%c'", *p);
		if (o->kind != OPT_FLAG) {
			if (p[1])
				return store(o, into, p + 1, e) ? -1 : 1;
			if (is_left_out(o, argv[1]))
				return store(o, into, "", e) ? -1 : 1;
			if (!argv[1])
				return err_set(e, ERR_USAGE, "-%c needs an argument: %s", *p,
					       o->arg);
			return store(o, into, argv[1], e) ? -1 : 2;
		}
		if (store(o, into, NULL, e))
			return -1;
	}
	return 1;
}

int opts_parse(const struct opt *table, void *into, int argc, char **argv, enum opts_end end,
	       struct err *e)
{
	int nr_operands = 0, i = 1;

	while (i < argc) {
		int took;

		if (strcmp(argv[i], "--") == 0) {
			i += end != OPTS_KEEP_DASHES;
			break;
		}
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (end == OPTS_AT_OPERAND)
				break;
			argv[1 + nr_operands++] = argv[i++];
			continue;
		}
		took = argv[i][1] == '-' ? parse_long(table, into, argv + i, e)
					 : parse_letters(table, into, argv + i, e);
		if (took < 0)
			return -1;
		i += took;
	}
	while (i < argc)
		argv[1 + nr_operands++] = argv[i++];
	argv[1 + nr_operands] = NULL;
	return nr_operands;
}

void opts_release(const struct opt *table, void *into)
{
	for (const struct opt *o = table; o->name; o++)
		if (o->kind == OPT_LIST) {
			struct opt_list *list = (void *)((char *)into + o->offset);

			free(list->v);
			*list = (struct opt_list){ 0 };
		}
}

void opts_help(const struct opt *table, struct strbuf *out)
{
	for (const struct opt *o = table; o->name; o++) {
		struct strbuf left = STRBUF_INIT;

		if (o->letter)
			strbuf_addf(&left, "-%c, ", o->letter);
		else
			strbuf_addstr(&left, "    ");
		strbuf_addf(&left, "--%s", o->name);
		if (o->arg)
			strbuf_addf(&left, o->kind == OPT_MAYBE ? "[=%s]" : "=%s", o->arg);
		strbuf_addf(out, "  %-26s %s", left.s, o->help);
		if (o->choices) {
			strbuf_addstr(out, ": ");
			add_choices(out, o->choices);
		}
		strbuf_addch(out, '\n');
		strbuf_release(&left);
	}
}

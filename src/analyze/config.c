// SPDX-License-Identifier: MIT OR Apache-2.0
#include "analyze/config.h"

#include <errno.h>
#include <string.h>

#include "base/opts.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "wire/event.h"

struct limits {
	const struct threshold *thresholds; /* NULL: none */
	uint64_t *values;
	bool is_allowed; /* the analysis is left out */
};

struct analyze_config {
	VEC(struct limits) limits; /* in the order of analyses[], then of count_thresholds */
};

const struct threshold count_thresholds[] = {
	[COUNT_BLOCKADE] = { "blockade", THRESHOLD_NS, BLOCKADE_NS,
			     "a poll that is a blockade of its machine (--by=machine)" },
	{ 0 },
};

static size_t count(const struct threshold *thresholds)
{
	size_t nr = 0;

	while (thresholds && thresholds[nr].name)
		nr++;
	return nr;
}

static void add_limits(struct analyze_config *c, const struct threshold *thresholds)
{
	size_t nr = count(thresholds);
	struct limits l = { thresholds, .values = xcalloc(nr + 1, sizeof(*l.values)) };

	for (size_t i = 0; i < nr; i++)
		l.values[i] = thresholds[i].value;
	vec_push(&c->limits, l);
}

struct analyze_config *analyze_config_new(void)
{
	struct analyze_config *c = xcalloc(1, sizeof(*c));

	for (const struct analysis *const *an = analyses; *an; an++)
		add_limits(c, (*an)->thresholds);
	add_limits(c, count_thresholds);
	return c;
}

void analyze_config_free(struct analyze_config *c)
{
	if (!c)
		return;
	vec_each (l, &c->limits)
		free(l->values);
	vec_release(&c->limits);
	free(c);
}

static struct limits *limits_of(const struct analyze_config *c, const struct analysis *an)
{
	for (size_t i = 0; analyses[i]; i++)
		if (analyses[i] == an)
			return &c->limits.v[i];
	return NULL;
}

const uint64_t *analyze_config_limits(const struct analyze_config *c, const struct analysis *an)
{
	return limits_of(c, an)->values;
}

const uint64_t *analyze_config_counts(const struct analyze_config *c)
{
	return c->limits.v[c->limits.nr - 1].values;
}

bool analyze_config_is_allowed(const struct analyze_config *c, const struct analysis *an)
{
	return limits_of(c, an)->is_allowed;
}

static int parse_number(const char *s, const char *suffix, uint64_t *value)
{
	char *end;

	errno = 0;
	if (*s < '0' || *s > '9')
		return -1;
	*value = strtoull(s, &end, 10);
	if (errno)
		return -1;
	return *end == '\0' || strcmp(end, suffix) == 0 ? 0 : -1;
}

static int parse_value(const struct threshold *t, const char *s, uint64_t *value)
{
	switch (t->unit) {
	case THRESHOLD_NS:
		return parse_time(s, value);
	case THRESHOLD_BYTES:
		return parse_size(s, value);
	case THRESHOLD_PERCENT:
		return parse_number(s, "%", value) || *value > 100 ? -1 : 0; /* shares */
	default:
		return parse_number(s, "", value);
	}
}

/* "long-poll, blocked-poll, …" */
static void add_name(struct strbuf *names, const char *name)
{
	strbuf_addf(names, "%s%s", names->len ? ", " : "", name);
}

static int unknown(const char *what, const char *name, struct strbuf *names, struct err *e)
{
	int rc = err_set(e, ERR_USAGE, "no %s '%s'; there are %s", what, name, names->s);

	strbuf_release(names);
	return rc;
}

int analyze_config_set(struct analyze_config *c, const char *text, struct err *e)
{
	static const char *const examples[] = { "10ms", "100", "16K", "50%" };
	const char *value = strchr(text, '=');
	size_t len = value ? (size_t)(value - text) : 0;
	struct strbuf names = STRBUF_INIT;

	if (!value)
		return err_set(e, ERR_USAGE, "'%s': say NAME=VALUE", text);
	vec_each (l, &c->limits)
		for (size_t i = 0; i < count(l->thresholds); i++) {
			const struct threshold *t = &l->thresholds[i];

			add_name(&names, t->name);
			if (strlen(t->name) != len || memcmp(t->name, text, len) != 0)
				continue;
			strbuf_release(&names);
			if (parse_value(t, value + 1, &l->values[i]))
				return err_set(e, ERR_USAGE, "'%s': not a value such as %s", text,
					       examples[t->unit]);
			return 0;
		}
	return unknown("threshold", text, &names, e);
}

int analyze_config_allow(struct analyze_config *c, const char *name, struct err *e)
{
	struct strbuf names = STRBUF_INIT;

	for (size_t a = 0; analyses[a]; a++) {
		add_name(&names, analyses[a]->name);
		if (strcmp(analyses[a]->name, name) == 0) {
			strbuf_release(&names);
			c->limits.v[a].is_allowed = true;
			return 0;
		}
	}
	return unknown("analysis", name, &names, e);
}

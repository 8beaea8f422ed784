// SPDX-License-Identifier: MIT OR Apache-2.0
/* What several tables of the report say: types and their places. */
#include "show/report_by.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "model/shorten.h"

uint64_t table_rank(const struct report_table *t, const void *row)
{
	uint64_t value = 0;

	if (!column_get(&t->table, t->sort, row, &value))
		return 0;
	return t->is_reverse ? ~value : value;
}

const char *say_type(const struct table *t, uint16_t type, struct strbuf *scratch)
{
	char buf[32];

	strbuf_addstr(scratch, recording_type_name(table_rec(t), type, buf));
	return scratch->s;
}

const char *say_location(const struct table *t, uint16_t type, struct strbuf *scratch)
{
	char *place = recording_type_place(table_rec(t), type);

	if (!place)
		return NULL;
	strbuf_addstr(scratch, place);
	free(place);
	return scratch->s;
}

bool say_index(uint32_t index, uint32_t nr, uint64_t *value)
{
	*value = index;
	return index < nr;
}

bool may_not_block(enum trace_task_kind kind)
{
	return kind == TRACE_TASK || kind == TRACE_LOCAL;
}

static void add_place(const struct trace_type *type, size_t start, size_t width, struct strbuf *out)
{
	struct strbuf place = STRBUF_INIT;
	size_t used = utf8_columns(out->s + start, out->len - start);

	shorten_place(&place, type->file, type->line, width > used ? width - used - 1 : 0);
	if (utf8_columns(place.s, place.len) + used < width)
		strbuf_addf(out, " %s", place.s);
	strbuf_release(&place);
}

void draw_type(const struct table *t, uint16_t type, bool with_place, size_t width,
	       struct strbuf *out)
{
	const struct recording *rec = table_rec(t);
	const struct recording_group *g = &rec->groups[recording_group_of(rec, type)];
	const char *kind = g->kind == TRACE_LOCAL      ? " (local)"
			   : g->kind == TRACE_BLOCKING ? " (blocking)"
			   : g->kind == TRACE_BLOCK_ON ? " (root)"
						       : "";
	size_t start = out->len, len;
	char suffix[32], name[32];

	/* a list of candidates does not tell two tables apart, the number does */
	if (g->name && !g->is_exact)
		len = snprintf(suffix, sizeof(suffix), " #%u%s", g->type, kind);
	else
		len = snprintf(suffix, sizeof(suffix), "%s", kind);
	shorten_type(out, recording_type_name(rec, g->type, name), width > len ? width - len : 0);
	strbuf_addstr(out, suffix);
	if (with_place && g->type < rec->nr_types && rec->types[g->type].file[0])
		add_place(&rec->types[g->type], start, width, out);
}

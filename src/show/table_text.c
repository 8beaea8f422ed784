// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A table for people. Every cell is made twice, once to measure and once to print: rows may be
 * many, and nothing is kept of them but what columns say that many rows share. Widths are columns
 * of the terminal, not bytes.
 */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/utf8.h"
#include "show/table.h"

#define MIN_FLEXIBLE 24 /* what a flexible column gets at least, if it wants so much */
#define MAX_TEXT     32 /* for other columns of text */
#define GAP	     1	/* between columns */

struct fit {
	size_t width;
	bool is_shown;
};

/* Cells of a column that many rows share, as they are printed. */
struct shared {
	struct map ids; /* of what rows have in common */
	struct intern *texts;
	/* the latest: neighbours are often alike */
	uint64_t key;
	const char *text; /* NULL: there was none yet */
	size_t len;
};

struct layout {
	const struct table *t;
	struct fit *fits;      /* by column */
	struct shared *shared; /* by column */
	struct strbuf cell, marked;
};

void table_draw_bars(const struct histogram *h, unsigned nr, unsigned per_decade, bool is_ascii,
		     struct strbuf *out)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[] = { " ", ".", ".", ":", ":", "|", "|", "#", "#" };
	static const unsigned steps[] = { 100, 147, 215, 316, 464, 681 }; /* 100 * 10^(i/6) */
	uint64_t *counts = xcalloc(nr, sizeof(*counts)), most = 1, decade = 1;
	struct histogram_bin bin;
	unsigned pos = 0, cell = 0;

	while (histogram_next(h, &pos, &bin)) {
		/* the next cell begins at steps[] * decade */
		while (cell + 1 < nr) {
			unsigned next = (cell + 1) % per_decade * (ARRAY_SIZE(steps) / per_decade);

			if (bin.low < steps[next] * (next ? decade : decade * 10))
				break;
			decade *= next ? 1 : 10;
			cell++;
		}
		counts[cell] += bin.nr;
		most = MAX(most, counts[cell]);
	}
	for (cell = 0; cell < nr; cell++) {
		/* whatever there is can be seen */
		unsigned level = (double)counts[cell] / most * 8 + 0.5;

		level = counts[cell] ? MAX(level, 1) : 0;
		strbuf_addstr(out, (is_ascii ? plain : blocks)[level]);
	}
	free(counts);
}

static void add_number(const struct column *c, uint64_t value, struct strbuf *out)
{
	char buf[FORMAT_SIZE];

	if (!value && c->hides_zero)
		strbuf_addch(out, '-');
	else if (c->unit == COLUMN_NS)
		strbuf_addstr(out, format_span(value, buf));
	else if (c->unit == COLUMN_BYTES)
		strbuf_addstr(out, format_bytes(value, buf));
	else if (c->unit == COLUMN_PERMILLE)
		strbuf_addf(out, "%.1f%%", value / 10.0);
	else if (c->unit == COLUMN_NUMBER)
		strbuf_addf(out, "%llu", (unsigned long long)value);
	else
		strbuf_addstr(out, format_count(value, buf));
}

/* Cuts what was added since start to so many columns, between two characters. */
static void cut(struct strbuf *text, size_t start, size_t width)
{
	size_t len = 0, columns = 0, n;

	if (text->len - start <= width) /* no character has more columns than bytes */
		return;
	for (; start + len < text->len; len += n) {
		const char *at = text->s + start + len;

		n = MAX(utf8_len(at, text->len - start - len), (size_t)1);
		columns += utf8_columns(at, n);
		if (columns > width)
			break;
	}
	text->len = start + len;
	text->s[text->len] = '\0';
}

static void add_text(const char *text, struct strbuf *out)
{
	size_t start = out->len;

	if (!text || !text[0])
		text = "-";
	strbuf_add_clean(out, text, strlen(text));
	cut(out, start, MAX_TEXT);
}

static enum style style_of(const struct table *t, const struct column *c, const void *row,
			   uint64_t value)
{
	if (t->is_judged && !t->is_judged(t, row))
		return STYLE_NAME;
	return c->bad && value >= c->bad     ? STYLE_CRITICAL
	       : c->warn && value >= c->warn ? STYLE_WARNING
					     : STYLE_NAME;
}

/* STYLE_NAME: nothing special. */
static enum style add_cell(const struct table *t, const struct column *c, const void *row,
			   struct strbuf *out)
{
	struct strbuf scratch = STRBUF_INIT;
	const struct histogram *h;
	uint64_t value;

	if (c->text) {
		add_text(c->text(t, row, &scratch), out);
		strbuf_release(&scratch);
	} else if (c->values && !c->percent) {
		h = c->values(row);
		if (h && h->nr)
			table_draw_bars(h, TABLE_PICTURE_SIZE, 1, t->is_ascii, out);
		else
			strbuf_addch(out, '-');
	} else if (column_get(t, c, row, &value)) {
		add_number(c, value, out);
		return style_of(t, c, row, value);
	} else {
		strbuf_addch(out, '-');
	}
	return STYLE_NAME;
}

static bool is_left(const struct column *c)
{
	return c->text || c->draw || (c->values && !c->percent);
}

static void measure_cell(struct layout *l, size_t c, const void *row)
{
	const struct column *col = &l->t->columns[c];
	struct fit *fit = &l->fits[c];

	strbuf_reset(&l->cell);
	if (col->draw)
		col->draw(l->t, row, SIZE_MAX, &l->cell);
	else
		add_cell(l->t, col, row, &l->cell);
	fit->width = MAX(fit->width, utf8_columns(l->cell.s, l->cell.len));
	fit->is_shown = fit->is_shown || strcmp(l->cell.s, "-") != 0;
}

static void measure(struct layout *l, size_t c)
{
	const struct column *col = &l->t->columns[c];
	struct map seen = MAP_INIT;
	uint64_t key, latest = 0;
	bool was_there = false;

	if (!col->head)
		return;
	l->fits[c].width = strlen(col->head);
	l->fits[c].is_shown = !col->rank;
	vec_each (row, &l->t->rows) {
		if (col->share) {
			key = col->share(l->t, *row);
			if (seen.nr && key == latest)
				continue;
			latest = key;
			map_put(&seen, key, &was_there);
		}
		if (!was_there)
			measure_cell(l, c, *row);
	}
	map_release(&seen);
}

/* What columns shown take, a flexible one no more than `flexible`. */
static size_t sum_widths(const struct layout *l, size_t flexible)
{
	size_t sum = 0;

	for (size_t c = 0; c < l->t->nr_columns; c++)
		if (l->fits[c].is_shown)
			sum += GAP + (l->t->columns[c].draw ? MIN(l->fits[c].width, flexible)
							    : l->fits[c].width);
	return sum ? sum - GAP : 0;
}

/* The one that is missed least; what stands with it under one head (A and B) goes with it. */
static bool leave_one_out(struct layout *l)
{
	const struct column *columns = l->t->columns, *goes = NULL;
	unsigned rank = 0;

	for (size_t c = 0; c < l->t->nr_columns; c++) {
		if (!l->fits[c].is_shown || columns[c].rank <= rank)
			continue;
		rank = columns[c].rank;
		goes = &columns[c];
	}
	for (size_t c = 0; goes && c < l->t->nr_columns; c++)
		if (&columns[c] == goes ||
		    (goes->group && columns[c].group == goes->group && columns[c].rank == rank))
			l->fits[c].is_shown = false;
	return goes != NULL;
}

/* Columns of one group that are shown, from c on; next: where the next group begins. */
static size_t group_width(const struct layout *l, size_t c, size_t *next)
{
	const char *group = l->t->columns[c].group;
	size_t width = 0;

	for (; c < l->t->nr_columns && l->t->columns[c].group == group; c++)
		if (l->fits[c].is_shown)
			width += l->fits[c].width + GAP;
	*next = c;
	return width;
}

/* A group is not narrower than its head. */
static void widen_groups(struct layout *l)
{
	size_t next;

	for (size_t c = 0; c < l->t->nr_columns; c = next) {
		const char *group = l->t->columns[c].group;
		size_t width = group_width(l, c, &next), need = group ? strlen(group) + GAP : 0;

		while (width && width < need && !l->fits[c].is_shown)
			c++;
		if (width && width < need)
			l->fits[c].width += need - width;
	}
}

/* What is left of the line goes to the flexible columns: evenly, but none gets more than it needs.
 */
static void share(struct layout *l, size_t width)
{
	size_t part = 0;

	while (sum_widths(l, part + 1) <= width && sum_widths(l, part) < sum_widths(l, SIZE_MAX))
		part++;
	for (size_t c = 0; c < l->t->nr_columns; c++)
		if (l->t->columns[c].draw)
			l->fits[c].width = MIN(l->fits[c].width, MAX(part, (size_t)MIN_FLEXIBLE));
}

static void layout_init(struct layout *l, const struct table *t, size_t width)
{
	size_t flexible = MAX(MIN_FLEXIBLE, width / 4);

	*l = (struct layout){
		.t = t,
		.fits = xcalloc(t->nr_columns, sizeof(*l->fits)),
		.shared = xcalloc(t->nr_columns, sizeof(*l->shared)),
		.cell = STRBUF_INIT,
		.marked = STRBUF_INIT,
	};
	for (size_t c = 0; c < t->nr_columns; c++)
		measure(l, c);
	do
		widen_groups(l);
	while (sum_widths(l, flexible) > width && leave_one_out(l));
	if (width != SIZE_MAX)
		share(l, width);
}

static void layout_release(struct layout *l)
{
	for (size_t c = 0; c < l->t->nr_columns; c++) {
		map_release(&l->shared[c].ids);
		intern_free(l->shared[c].texts);
	}
	free(l->shared);
	free(l->fits);
	strbuf_release(&l->cell);
	strbuf_release(&l->marked);
}

static void pad(struct strbuf *line, size_t nr, char c)
{
	strbuf_grow(line, nr);
	memset(line->s + line->len, c, nr);
	line->len += nr;
	line->s[line->len] = '\0';
}

static void end_line(struct strbuf *line, const char *on, const char *off, struct out *out)
{
	while (line->len && line->s[line->len - 1] == ' ')
		line->len--;
	strbuf_addstr(&out->buf, on);
	strbuf_add(&out->buf, line->s, line->len);
	strbuf_addstr(&out->buf, off);
	strbuf_addch(&out->buf, '\n');
	strbuf_reset(line);
	out_spill(out);
}

/* "---- POLL ----" over the columns of a group. */
static void add_group(const char *group, size_t width, struct strbuf *line)
{
	size_t len = strlen(group), dashes = width >= len + 4 ? width - len - 2 : 0;

	pad(line, dashes / 2, '-');
	strbuf_addf(line, dashes ? " %s " : "%s", group);
	pad(line, dashes - dashes / 2, '-');
	pad(line, dashes || len > width ? 0 : width - len, ' ');
}

static void print_groups(const struct layout *l, struct strbuf *line, struct out *out)
{
	bool has_any = false;
	size_t next;

	for (size_t c = 0; c < l->t->nr_columns; c = next) {
		const char *group = l->t->columns[c].group;
		size_t width = group_width(l, c, &next);

		if (!width)
			continue;
		has_any = has_any || group;
		add_group(group ? group : "", group ? width - GAP : 0, line);
		pad(line, group ? GAP : width, ' ');
	}
	if (has_any)
		end_line(line, style_on(l->t->styles, STYLE_HEAD), style_off(l->t->styles), out);
	strbuf_reset(line);
}

static void place(const struct fit *fit, const struct column *c, const char *text, size_t columns,
		  struct strbuf *line)
{
	size_t space = fit->width > columns ? fit->width - columns : 0;

	pad(line, is_left(c) ? 0 : space, ' ');
	strbuf_addstr(line, text);
	pad(line, (is_left(c) ? space : 0) + GAP, ' ');
}

static void print_heads(const struct layout *l, struct strbuf *line, struct out *out)
{
	print_groups(l, line, out);
	for (size_t c = 0; c < l->t->nr_columns; c++)
		if (l->fits[c].is_shown)
			place(&l->fits[c], &l->t->columns[c], l->t->columns[c].head,
			      strlen(l->t->columns[c].head), line);
	end_line(line, style_on(l->t->styles, STYLE_HEAD), style_off(l->t->styles), out);
}

static void print_cell(struct layout *l, size_t c, const void *row, struct strbuf *line)
{
	const struct column *col = &l->t->columns[c];
	const struct styles *styles = l->t->styles;
	enum style style = STYLE_NAME;

	strbuf_reset(&l->cell);
	strbuf_reset(&l->marked);
	if (col->draw) {
		col->draw(l->t, row, l->fits[c].width, &l->cell);
		if (!l->t->is_open || c + 1 < l->t->nr_columns)
			cut(&l->cell, 0, l->fits[c].width);
	} else {
		style = add_cell(l->t, col, row, &l->cell);
	}
	if (style != STYLE_NAME)
		strbuf_addf(&l->marked, "%s%s%s", style_on(styles, style), l->cell.s,
			    style_off(styles));
	place(&l->fits[c], col, style != STYLE_NAME ? l->marked.s : l->cell.s,
	      utf8_columns(l->cell.s, l->cell.len), line);
}

static void print_shared(struct layout *l, size_t c, const void *row, struct strbuf *line)
{
	struct shared *s = &l->shared[c];
	uint64_t key = l->t->columns[c].share(l->t, row), *id;
	size_t start = line->len;
	bool was_there;

	if (s->text && key == s->key)
		return strbuf_add(line, s->text, s->len);
	id = map_put(&s->ids, key, &was_there);
	if (!s->texts)
		s->texts = intern_new();
	if (!was_there) {
		print_cell(l, c, row, line);
		*id = intern_put(s->texts, line->s + start, line->len - start);
	}
	s->key = key;
	s->text = intern_get(s->texts, *id);
	s->len = strlen(s->text);
	if (was_there)
		strbuf_add(line, s->text, s->len);
}

static void print_row(struct layout *l, const void *row, struct strbuf *line, struct out *out)
{
	for (size_t c = 0; c < l->t->nr_columns; c++)
		if (l->fits[c].is_shown && l->t->columns[c].share)
			print_shared(l, c, row, line);
		else if (l->fits[c].is_shown)
			print_cell(l, c, row, line);
	end_line(line, "", "", out);
}

void table_more(const struct table *t, struct out *out)
{
	char a[FORMAT_SIZE];

	if (t->nr_left_out)
		strbuf_addf(&out->buf, "and %s more %s%s: --limit=0 shows all\n",
			    format_grouped(t->nr_left_out, a), t->what, plural(t->nr_left_out));
}

void table_text(const struct table *t, size_t width, struct out *out)
{
	struct strbuf line = STRBUF_INIT;
	struct layout l;

	layout_init(&l, t, width);
	print_heads(&l, &line, out);
	for (size_t i = 0; i < t->rows.nr; i++)
		print_row(&l, t->rows.v[i], &line, out);
	table_more(t, out);
	for (size_t c = 0; c < t->nr_columns; c++)
		if (l.fits[c].is_shown && t->columns[c].note)
			strbuf_addf(&out->buf, "\n%s\n", t->columns[c].note);
	strbuf_release(&line);
	layout_release(&l);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The table of a report: a line for each future type. A column is as wide as what is in it; the
 * type comes last and has the rest of the line. Some columns are left out where the line is too
 * short.
 */
#include <stdio.h>
#include <string.h>

#include "base/format.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cmd/report.h"
#include "model/shorten.h"

#define MIN_NAME  24 /* columns that can be left out must leave the type this much */
#define MAX_ENDS  24
#define TEXT_SIZE 96

struct column {
	const char *head;
	const char *(*text)(const struct by_type_row *row, char buf[TEXT_SIZE]);
	bool is_left;	 /* aligned */
	unsigned can_go; /* 0: never left out; 1 stays longest */
};

static bool report_may_not_block(const struct by_type_row *row)
{
	return row->group->kind == TRACE_TASK || row->group->kind == TRACE_LOCAL;
}

static const char *tasks(const struct by_type_row *row, char buf[TEXT_SIZE])
{
	return format_count(row->nr_tasks, buf);
}

static const char *alive(const struct by_type_row *row, char buf[TEXT_SIZE])
{
	return format_count(row->ends[MODEL_ALIVE], buf);
}

static const char *polls(const struct by_type_row *row, char buf[TEXT_SIZE])
{
	return format_count(row->polls, buf);
}

static const char *wakes(const struct by_type_row *row, char buf[TEXT_SIZE])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MODEL_NR_CAUSES; i++)
		sum += row->wakes[i];
	return format_count(sum, buf);
}

static const char *self_wakes(const struct by_type_row *row, char buf[TEXT_SIZE])
{
	return format_count(row->wakes[MODEL_BY_SELF], buf);
}

static const char *busy(const struct by_type_row *row, char buf[TEXT_SIZE])
{
	return format_span(row->ns[MODEL_RUNNING], buf);
}

static const char *sched(const struct by_type_row *row, char buf[TEXT_SIZE])
{
	return format_span(row->ns[MODEL_SCHEDULED], buf);
}

static const char *idle(const struct by_type_row *row, char buf[TEXT_SIZE])
{
	return format_span(row->ns[MODEL_IDLE], buf);
}

static const char *blocked(const struct by_type_row *row, char buf[TEXT_SIZE])
{
	if (!row->blocked_ns || !report_may_not_block(row))
		return "-";
	return format_span(row->blocked_ns, buf);
}

static const char *max_poll(const struct by_type_row *row, char buf[TEXT_SIZE])
{
	return format_span(row->max_poll_ns, buf);
}

/* "12c 3x": how those that ended did. */
static const char *ends(const struct by_type_row *row, char buf[TEXT_SIZE])
{
	static const char letters[MODEL_NR_ENDS] = { [MODEL_COMPLETED] = 'c',
						     [MODEL_CANCELLED] = 'x',
						     [MODEL_PANICKED] = 'p',
						     [MODEL_DROPPED] = 'd' };
	char a[TEXT_SIZE];
	int len = 0;

	buf[0] = '\0';
	for (unsigned i = MODEL_COMPLETED; i < MODEL_NR_ENDS; i++)
		if (row->ends[i])
			len += snprintf(buf + len, TEXT_SIZE - len, "%s%.8s%c", len ? " " : "",
					format_count(row->ends[i], a), letters[i]);
	return len ? buf : "-";
}

static const struct column columns[] = {
	{ "TASKS", tasks },
	{ "ALIVE", alive },
	{ "POLLS", polls },
	{ "WAKES", wakes, .can_go = 2 },
	{ "SELF", self_wakes, .can_go = 3 },
	{ "BUSY", busy },
	{ "SCHED", sched },
	{ "IDLE", idle },
	{ "BLOCKED", blocked, .can_go = 1 },
	{ "MAXPOLL", max_poll },
	{ "ENDS", ends, .is_left = true },
};

struct layout {
	int widths[ARRAY_SIZE(columns)]; /* 0: left out */
	size_t name;			 /* what is left for the type */
};

static void layout_init(struct layout *l, const struct by_type_row *const *rows, size_t nr,
			size_t width)
{
	size_t used = 0;
	char buf[TEXT_SIZE];

	for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
		l->widths[c] = strlen(columns[c].head);
		for (size_t i = 0; i < nr; i++)
			l->widths[c] =
				MAX(l->widths[c], (int)strlen(columns[c].text(rows[i], buf)));
		if (columns[c].is_left)
			l->widths[c] = MIN(l->widths[c], MAX_ENDS);
		used += l->widths[c] + 1;
	}
	for (unsigned can_go = 3; can_go && used + MIN_NAME > width; can_go--)
		for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
			if (columns[c].can_go == can_go) {
				used -= l->widths[c] + 1;
				l->widths[c] = 0;
			}
	l->name = used + MIN_NAME > width ? MIN_NAME : width - used;
}

static size_t print_cell(const struct layout *l, size_t c, const char *text, struct strbuf *out)
{
	size_t start;

	if (!l->widths[c])
		return 0;
	start = out->len;
	strbuf_addf(out, "%*s ", columns[c].is_left ? -l->widths[c] : l->widths[c], text);
	return out->len - start;
}

/* Sources of other crates are known by crate and version; the folders before them are noise. */
static const char *short_path(const char *path)
{
	const char *at = strstr(path, "/registry/src/"), *slash;

	slash = at ? strchr(at + strlen("/registry/src/"), '/') : NULL;
	return slash ? slash + 1 : path;
}

/* "src/main.rs" of any path */
static const char *path_tail(const char *path)
{
	const char *p = path + strlen(path);

	for (int slashes = 0; p > path; p--)
		if (p[-1] == '/' && ++slashes == 2)
			break;
	return p;
}

/* Where the type is defined, if that fits behind its name. */
static void add_place(struct strbuf *line, const struct trace_type *type, size_t width)
{
	const char *paths[] = { short_path(type->file), path_tail(type->file) };
	struct strbuf place = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		strbuf_reset(&place);
		strbuf_add_clean(&place, paths[i], strlen(paths[i]));
		strbuf_addf(&place, ":%u", type->line);
		if (line->len + 1 + place.len > width)
			continue;
		strbuf_addf(line, " %s", place.s);
		break;
	}
	strbuf_release(&place);
}

/* With --verbose: the whole name, and the place on a line of its own. */
static void print_type(const struct report *r, const struct by_type_row *row, size_t width,
		       struct strbuf *out)
{
	const struct trace_type *type =
		row->group->type < r->rec.nr_types ? &r->rec.types[row->group->type] : NULL;
	const char *kind = row->group->kind == TRACE_LOCAL	? " (local)"
			   : row->group->kind == TRACE_BLOCKING ? " (blocking)"
								: "";
	struct strbuf line = STRBUF_INIT;
	char suffix[32], name[32];

	/* a list of candidates does not tell two tables apart, the number does */
	if (row->group->name && !row->group->is_exact)
		snprintf(suffix, sizeof(suffix), " #%u%s", row->group->type, kind);
	else
		snprintf(suffix, sizeof(suffix), "%s", kind);
	shorten_type(&line, recording_type_name(&r->rec, row->group->type, name),
		     r->verbose ? SIZE_MAX : width - strlen(suffix));
	strbuf_addstr(&line, suffix);
	if (type && type->file[0] && !r->verbose)
		add_place(&line, type, width);
	strbuf_addf(out, "%s\n", line.s);
	if (type && type->file[0] && r->verbose) {
		strbuf_reset(&line);
		strbuf_add_clean(&line, type->file, strlen(type->file));
		strbuf_addf(out, "        %s:%u\n", line.s, type->line);
	}
	strbuf_release(&line);
}

static int busier_first(const void *pa, const void *pb)
{
	const struct by_type_row *a = *(void *const *)pa, *b = *(void *const *)pb;

	if (a->ns[MODEL_RUNNING] != b->ns[MODEL_RUNNING])
		return a->ns[MODEL_RUNNING] < b->ns[MODEL_RUNNING] ? 1 : -1;
	return (a->group->type > b->group->type) - (a->group->type < b->group->type);
}

static void print_rows(const struct report *r, const struct by_type_row *const *rows, size_t nr,
		       struct strbuf *out)
{
	struct layout l;
	char buf[TEXT_SIZE];

	layout_init(&l, rows, nr, r->width);
	strbuf_addch(out, '\n');
	for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
		print_cell(&l, c, columns[c].head, out);
	strbuf_addstr(out, "TYPE\n");
	for (size_t i = 0; i < nr; i++) {
		size_t excess = 0;

		for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
			size_t len = print_cell(&l, c, columns[c].text(rows[i], buf), out);

			excess += len ? len - l.widths[c] - 1 : 0;
		}
		print_type(r, rows[i], MAX(l.name, excess + MIN_NAME) - excess, out);
	}
	strbuf_addstr(
		out, "\nENDS: c completed, x cancelled, p panicked, d dropped with its runtime.\n");
}

void report_rows(const struct report *r, struct strbuf *out)
{
	const struct by_type_row *all = by_type_get_rows(analyzer_get_types(r->analyzer));
	VEC(const struct by_type_row *) rows = { 0 };

	for (uint32_t g = 0; g < r->rec.nr_groups; g++)
		if (all[g].nr_tasks)
			vec_push(&rows, &all[g]);
	if (!rows.nr) {
		strbuf_addstr(out, "\nNo task was recorded.\n");
		return;
	}
	qsort(rows.v, rows.nr, sizeof(*rows.v), busier_first);
	print_rows(r, rows.v, rows.nr, out);
	vec_release(&rows);
}

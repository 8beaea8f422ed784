// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Rows and columns, as text, CSV and JSON. A column says once what it knows of a row: the three
 * forms, and sorting, cannot differ. What a number looks like and what it means (good, bad) are
 * apart, too.
 *
 * As text a column is as wide as what is in it. *Flexible* columns, those that draw, share what is
 * left of the line. Columns that have a rank are left out where there is nothing in them, and,
 * those of the greatest rank first, where names would have too little room.
 */
#ifndef SHOW_TABLE_H
#define SHOW_TABLE_H

#include "base/histogram.h"
#include "base/json.h"
#include "base/out.h"
#include "base/vec.h"
#include "show/style.h"

struct table;

enum column_unit {
	COLUMN_COUNT,
	COLUMN_NUMBER, /* printed as it is: an id */
	COLUMN_NS,
	COLUMN_BYTES,
	COLUMN_PERMILLE, /* printed as a percentage */
};

struct column {
	/* In CSV and JSON, with its unit, and what --sort takes with or without it. NULL: only as
	 * text. */
	const char *key;
	const char *head;  /* as text; NULL: only as data */
	const char *group; /* a heading over neighbours that share it, or NULL */
	const char *note;  /* under the table, where the column is shown; or NULL */
	enum column_unit unit;
	unsigned rank;	    /* 0: never left out; of the others the greatest goes first */
	bool hides_zero;    /* 0 is printed as "-" */
	bool is_late;	    /* not known when rows are chosen, so none can be chosen by it */
	uint64_t warn, bad; /* from where on a number is worth a look, is a fault; 0: never */

	/* What it knows of a row: one of these, or else the uint64_t at the offset `at`. */
	bool (*number)(const struct table *t, const void *row, uint64_t *value); /* false: none */
	/* As it came from the target; NULL: none. May be made in scratch, which is empty. */
	const char *(*text)(const struct table *t, const void *row, struct strbuf *scratch);
	const struct histogram *(*values)(const void *row); /* NULL: not known */
	unsigned percent; /* of the values: a percentile, 100: the greatest; 0: a small picture, all
			     buckets in JSON */
	size_t at;
	/* Flexible: at most `width` columns, safe for a terminal. */
	void (*draw)(const struct table *t, const void *row, size_t width, struct strbuf *out);
	/* Rows that give the same number have the same text, which is then made once for all of
	 * them; NULL: each has its own. */
	uint64_t (*share)(const struct table *t, const void *row);
};

struct table {
	const struct column *columns;
	size_t nr_columns;
	VEC(const void *) rows;
	const void *arg;    /* for the columns' own use */
	bool chooses_early; /* rows are chosen while they come: by numbers that are known then */
	/* The row's numbers may be judged by warn and bad; NULL: all may. */
	bool (*is_judged)(const struct table *t, const void *row);
	const struct styles *styles;
	bool is_ascii;
	bool is_open;	      /* the last column is printed whole, however wide it is */
	uint64_t nr_left_out; /* rows that are not here */
	const char *what;     /* each of them is one: "type" */
};

/* False: it has none. */
bool column_get(const struct table *t, const struct column *c, const void *row, uint64_t *value);
/* By a key as the user writes it; '-' is as good as '_'. NULL: there is none to sort by. */
const struct column *table_find_key(const struct table *t, const char *key);
void table_list_keys(const struct table *t, struct strbuf *out); /* "tasks, alive, …" */
/* Numbers: greatest first; text: in the order of the alphabet. Rows that have none come last. */
void table_sort(struct table *t, const struct column *c, bool is_reverse);

/* "and 7 more types: …", where rows were left out. */
void table_more(const struct table *t, struct out *out);
/* width SIZE_MAX: nothing is left out and nothing is cut. */
void table_text(const struct table *t, size_t width, struct out *out);
void table_csv(const struct table *t, struct out *out);
/* Several as one: the first column, "part", says whose a row is; each has all columns of all. What
 * is a number and no table has it in the last one, "count". */
struct table_part {
	const char *name;
	const struct table *table; /* NULL: a number */
	uint64_t count;
};
void table_csv_parts(const struct table_part *parts, size_t nr, struct out *out);
void table_json(const struct table *t, struct json *j); /* an array "rows" */

/* A picture of a histogram, per_decade (1, 2, 3 or 6) characters for each power of ten from 100ns
 * on; what is out of range belongs to the first or last. */
void table_draw_bars(const struct histogram *h, unsigned nr, unsigned per_decade, bool is_ascii,
		     struct strbuf *out);

#define TABLE_PICTURE_SIZE 8 /* below 1us, 10us, 100us, 1ms, 10ms, 100ms, 1s, and more */
#define TABLE_PICTURE_HEAD "1us...1s"

#endif

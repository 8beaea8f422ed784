// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What the files of the HTML exporter share. The page is made of three parts: the page itself
 * (export/html/, built into the tool), *columns* (numbers by the million: polls, tasks, bins of
 * time) and *facts* (everything with a name, as JSON). The page's script puts them together again,
 * in export/html/data.js.
 */
#ifndef EXPORT_HTML_H
#define EXPORT_HTML_H

#include "base/json.h"
#include "base/vec.h"
#include "export/export.h"
#include "model/load.h"

/* ---- html_pack.c: columns, one behind the other, as one gzip stream ---- */

struct html_column {
	const char *name; /* borrowed */
	unsigned width;	  /* bytes of a number: 1, 2, 4; 8: a double */
	size_t nr;
};

#define HTML_BLOCK 32768

struct html_pack;

struct html_pack *html_pack_new(void);
void html_pack_free(struct html_pack *p);
/*
 * Numbers get(arg, 0) to get(arg, nr - 1), in blocks of HTML_BLOCK: all their lowest bytes first,
 * then the next, as bytes of one kind compress well.
 */
void html_pack_put(struct html_pack *p, struct html_column column,
		   uint64_t (*get)(const void *arg, size_t i), const void *arg);
/* No more columns. -1: zlib failed. The rest after that. */
int html_pack_finish(struct html_pack *p, struct err *e);
size_t html_pack_text_bytes(const struct html_pack *p); /* of what html_pack_write writes */
void html_pack_write(const struct html_pack *p, struct out *out); /* base64 */
void html_pack_json(const struct html_pack *p, struct json *j, const char *key);

uint64_t html_bits_of(double value); /* for columns of doubles */

/* ---- html_polls.c: as many polls as there is room for, the most telling ones ---- */

#define HTML_NONE UINT16_MAX /* no thread, no group */

/* What was left out. */
struct html_kept {
	uint64_t nr_seen, nr_kept;
	uint64_t min_ns;  /* of those that took or waited so long all are there */
	double sample;	  /* and this share of the others */
	bool is_unpinned; /* not even those of the findings could all stay */
};

struct html_polls;

/* findings are borrowed: their polls are kept as long as there is anything else to leave out. */
struct html_polls *html_polls_new(const struct recording *rec, const struct finding *findings,
				  size_t nr_findings, size_t max_polls);
void html_polls_free(struct html_polls *p);
extern const struct model_ops html_polls_ops;
/* Leaves out the least telling ones, so that about nr are left. */
void html_polls_thin(struct html_polls *p, size_t nr);
void html_polls_unpin(struct html_polls *p); /* those of findings are like the others from now on */
void html_polls_pack(struct html_polls *p, struct html_pack *pack);
const struct html_kept *html_polls_get_kept(const struct html_polls *p);
/* After html_polls_pack: how many of them are on a thread. */
size_t html_polls_get_nr_on(const struct html_polls *p, uint32_t thread);

/* ---- html_tasks.c: the tasks of the table, the most telling ones ---- */

struct html_tasks;

struct html_tasks *html_tasks_new(const struct recording *rec, const struct finding *findings,
				  size_t nr_findings);
void html_tasks_free(struct html_tasks *t);
extern const struct model_ops html_tasks_ops;
void html_tasks_pack(struct html_tasks *t, struct html_pack *pack);

/* ---- html_time.c: how much of everything there is over time ---- */

struct html_time;

struct html_time *html_time_new(const struct recording *rec, uint64_t from_ns, uint64_t to_ns);
void html_time_free(struct html_time *t);
extern const struct model_ops html_time_ops;
void html_time_pack(struct html_time *t, struct html_pack *pack);
void html_time_json(const struct html_time *t, struct json *j, const char *key);

/* ---- html_facts.c: everything with a name ---- */

struct html_facts {
	const struct export_job *job;
	const struct recording *rec;
	const struct model *model;
	struct analyzer *analyzer; /* finished */
	const struct html_polls *polls;
	const struct html_time *time;
	const struct inner_polls *inner;
	const struct html_pack *pack;
};

/* JSON that can stand inside a script element: no < and no line separators in it. */
void html_facts_add(const struct html_facts *f, struct strbuf *out);
/* Of a type, await point or future: its whole name, and one that fits into a table. */
void html_name_add(struct json *j, const char *name);

/* ---- html_waits.c: where tasks wait ---- */

/* Members "awaits" and "waiting" of an object that is open; none where nobody knows. */
void html_waits_add(const struct html_facts *f, struct json *j);

/* ---- html_futures.c: what tasks are made of ---- */

/* The member "futures" of an object that is open. */
void html_futures_add(const struct html_facts *f, struct json *j);

#endif

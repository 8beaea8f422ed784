// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Shared by doctor.c (the verdict), doctor_text.c and doctor_json.c (all that is said),
 * doctor_seen.c (what will be seen of tasks), doctor_futures.c (and of the futures in them) and
 * doctor_process.c (which files a process has mapped).
 */
#ifndef CMD_DOCTOR_H
#define CMD_DOCTOR_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "runtime/discover.h"

/* One file that was looked at. */
struct subject {
	struct discovery *d;
	struct discovery *with_futures; /* NULL: it has no tasks */
	bool is_privileged;		/* setuid, setgid or with capabilities */
};

struct checkup {
	VEC(struct subject) subjects; /* the program first */
	uint32_t pid;		      /* 0: a file was asked for */
	uint32_t nr_without, nr_unreadable;
	char unreadable[1024]; /* the reason for the first of those */
	bool use_cache;
};

/* "label  text", the text wrapped; a row is of what stands above it, and indented. */
void doctor_field(struct strbuf *out, const char *label, const char *text);
void doctor_row(struct strbuf *out, const char *label, const char *text);

/* The matrix of one runtime. */
void seen_rows(const struct discovery *d, uint32_t runtime, struct strbuf *out);
struct json;
void seen_json(const struct discovery *d, struct json *j);
void seen_json_runtime(const struct discovery *d, uint32_t runtime, struct json *j);

/* doctor_futures.c: inner futures whose polls can be timed. */
void futures_look(struct subject *s, const char *path);
void futures_field(const struct subject *s, struct strbuf *out);
void futures_json(const struct subject *s, struct json *j);

/* doctor_text.c, doctor_json.c: all that is known of a file. */
void subject_text(const struct subject *s, bool verbose, struct strbuf *out);
void subject_json(const struct subject *s, struct json *j);

bool subject_look(struct subject *s, const char *path, const char *shown, bool use_cache,
		  struct err *e);
/* Why the agent cannot get in, NULL when it can; *todo says what to do. */
const char *subject_obstacle(const struct subject *s, const char **todo);
bool subject_has_use(const struct subject *s); /* of some runtime, tasks or roots can be recorded */
/* The first thing that a reader wants to know. Returns whether something can be recorded. */
bool subject_verdict(const struct subject *s, struct strbuf *out);
/* Looks at every file that the process has mapped executable. */
int checkup_process(struct checkup *c, const char *pid, struct err *e);
void checkup_summary(const struct checkup *c, struct strbuf *out);
void checkup_release(struct checkup *c);

#endif

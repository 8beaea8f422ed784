// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What `futrace doctor` says of a checkup: doctor_verdict.c (first), doctor_text.c and
 * doctor_json.c (all of it), doctor_seen.c (what will be seen of tasks) and doctor_futures.c (and
 * of the futures in them).
 */
#ifndef SHOW_DOCTOR_H
#define SHOW_DOCTOR_H

#include "base/strbuf.h"
#include "walk/checkup.h"

/* "label  text", the text wrapped; a row is of what stands above it, and indented. */
void doctor_field(struct strbuf *out, const char *label, const char *text);
void doctor_row(struct strbuf *out, const char *label, const char *text);

/* The matrix of one runtime. */
void seen_rows(const struct discovery *d, uint32_t runtime, struct strbuf *out);
struct json;
void seen_json(const struct discovery *d, struct json *j);
void seen_json_runtime(const struct discovery *d, uint32_t runtime, struct json *j);

/* doctor_futures.c: inner futures whose polls can be timed. */
void futures_field(const struct subject *s, struct strbuf *out);
void futures_json(const struct subject *s, struct json *j);

/* doctor_text.c, doctor_json.c: all that is known of a file. */
void subject_text(const struct subject *s, bool verbose, struct strbuf *out);
void subject_json(const struct subject *s, struct json *j);

/* Why the agent cannot get in, NULL when it can; *todo says what to do. */
const char *subject_obstacle(const struct subject *s, const char **todo);
/* The first thing that a reader wants to know. Returns whether something can be recorded. */
bool subject_verdict(const struct subject *s, struct strbuf *out);
void checkup_summary(const struct checkup *c, struct strbuf *out);
/* All files as JSON; as text they are made one by one. */
void checkup_json(const struct checkup *c, bool is_recordable, struct strbuf *out);

#endif

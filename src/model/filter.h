// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which tasks are wanted: conditions joined by commas, all of which must hold, as in
 *
 *	type~serve,kind!=blocking,life>1s
 *
 * What a task is stands at its first sighting; what it did only at its end. A filter with a
 * condition of the second kind is *late*: a first pass over the recording marks the tasks that it
 * wants, and the pass that counts takes these (recording_read does both).
 */
#ifndef MODEL_FILTER_H
#define MODEL_FILTER_H

#include "model/recording.h"

struct filter;

/* rec is borrowed and outlives it. NULL: the text is wrong, and e tells why. */
struct filter *filter_new(const struct recording *rec, const char *text, struct err *e);
void filter_free(struct filter *f);
bool filter_is_late(const struct filter *f);
/* The conditions on what is known from the beginning. */
bool filter_may_want(const struct filter *f, const struct model_task *t);
/* All conditions; the task is over. */
bool filter_wants(const struct filter *f, const struct model_task *t);

/* The marks of a late filter, by model_task.nr. They belong to one view of the recording. */
void filter_clear(struct filter *f);
void filter_mark(struct filter *f, const struct model_task *t);
bool filter_is_marked(const struct filter *f, const struct model_task *t);

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where tasks stand that still wait when a recording is about to be stopped. The run that ends a
 * wait tells where it was; these have none yet. So the process is looked at from outside, as `ps`
 * does, in a thread of its own, while its events are read as ever: a task that has not begun to run
 * since it was looked at stands where it was seen, and whoever reads the recording can tell.
 */
#ifndef CAPTURE_LAST_LOOK_H
#define CAPTURE_LAST_LOOK_H

#include <stdbool.h>

struct last_look;
struct process;

/* Does nothing where nothing is to be learnt: no recipes, no file. */
void last_look_begin(struct process *p);
bool last_look_is_done(const struct process *p); /* or there is none */
/* Writes what was found, once, if it is all; otherwise gives up. After the last event was read. */
void last_look_write(struct process *p);
void last_look_free(struct last_look *l);

#endif

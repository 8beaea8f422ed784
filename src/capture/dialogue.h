// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The tool's half of the dialogue (wire/region.h): an agent announces the ELF files of its process,
 * the answer is the plan: which tables to hook in each, and the numbers that their types have in
 * the trace.
 */
#ifndef CAPTURE_DIALOGUE_H
#define CAPTURE_DIALOGUE_H

#include "capture/process.h"

/* Answers everything that is announced. Returns how many objects that were. */
unsigned dialogue_answer(struct process *p, struct catalog *c);

#endif

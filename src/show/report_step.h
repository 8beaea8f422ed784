// SPDX-License-Identifier: MIT OR Apache-2.0
/* What tables say of await points and futures. */
#ifndef SHOW_REPORT_STEP_H
#define SHOW_REPORT_STEP_H

#include <string.h>

#include "model/shorten.h"
#include "show/report_by.h"

const char *say_step_place(const struct trace_step *s, struct strbuf *scratch); /* NULL: unknown */
/*
 * "shop::checkout src/cart.rs:31". Of a generic function each instance is a row of its own, at the
 * same place: so there is always some of the name, too.
 */
void draw_step(const struct trace_step *s, size_t width, struct strbuf *out);
/* By the options that show and hide futures. */
bool step_is_wanted(const struct report_table *t, const struct trace_step *s);
/* What is said if there is no row; has_any: the recording has some. */
void explain_no_steps(struct report_table *t, struct analyzer *a, bool has_any);

#endif

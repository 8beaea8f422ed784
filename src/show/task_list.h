// SPDX-License-Identifier: MIT OR Apache-2.0
/* Every live task of a look, one a line: what it is, where it waits and what for. */
#ifndef SHOW_TASK_LIST_H
#define SHOW_TASK_LIST_H

#include "base/out.h"
#include "show/style.h"
#include "walk/look.h"

struct task_list;

/* Walks the tasks that fit (look_fits). The look and the filter are borrowed and outlive it. */
struct task_list *task_list_new(struct look *look, const char *filter);
void task_list_free(struct task_list *l);
bool task_list_is_empty(const struct task_list *l);
void task_list_text(const struct task_list *l, const struct styles *styles, struct out *out);

#endif

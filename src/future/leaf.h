// SPDX-License-Identifier: MIT OR Apache-2.0
/* Finds the rules (runtime/leaf_rules.h) of a type, among those of all runtimes and libraries. */
#ifndef FUTURE_LEAF_H
#define FUTURE_LEAF_H

#include "runtime/leaf_rules.h"

extern const struct leaf_rules library_leaves;

/* By the name of a type; NULL: there is none. */
const struct leaf_rule *leaf_find(const char *type);
const struct list_rule *leaf_find_list(const char *type);
const struct guard_rule *leaf_find_guard(const char *type);
const struct shared_rule *leaf_find_shared(const char *type); /* an Arc that is to be followed */
bool leaf_is_ready(const char *type);			      /* nothing to be told of */
bool leaf_is_fed(const char *type); /* from what is ready: so is it, if it holds no future */
bool leaf_is_passing(const char *type);
bool leaf_is_never(const char *type); /* nobody will ever wake it, and on purpose */
bool leaf_is_loop(const char *type);  /* no part of what waits */

#endif

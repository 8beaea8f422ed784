// SPDX-License-Identifier: MIT OR Apache-2.0
/* The types that one table may be of, as JSON. */
#ifndef SHOW_JSON_CANDIDATES_H
#define SHOW_JSON_CANDIDATES_H

#include "base/json.h"

/* "candidate_types": [...], of a list as model/shorten.h has it. */
void json_candidates(struct json *j, const char *names);

#endif

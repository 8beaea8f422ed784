// SPDX-License-Identifier: MIT OR Apache-2.0
/* The limits as they were set, for the analyzer. */
#ifndef ANALYZE_CONFIG_H
#define ANALYZE_CONFIG_H

#include "analyze/analyze.h"

/* In the order of its thresholds; good as long as the config. */
const uint64_t *analyze_config_limits(const struct analyze_config *c, const struct analysis *an);
bool analyze_config_is_allowed(const struct analyze_config *c, const struct analysis *an);

#endif

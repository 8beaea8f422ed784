// SPDX-License-Identifier: MIT OR Apache-2.0
/* Part of by_future.c. */
#ifndef ANALYZE_BY_FUTURE_EXACT_H
#define ANALYZE_BY_FUTURE_EXACT_H

#include "analyze/by_future.h"
#include "model/future_kinds.h"

/* Rows know what paths tell; where polls were recorded one by one, these count instead. */
void by_future_add_exact(struct by_future *b, const struct recording *rec,
			 const struct future_kinds *kinds, const struct inner_polls *polls,
			 bool is_lossy);

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How often the recorder reads the rings. Each round wakes the tool, whose caches are cold by then:
 * some fifty microseconds, however few events there are. So the rounds of a quiet program are far
 * apart, and those of a busy one so close that what is read still lies in the processor's caches.
 *
 * The agent makes no system call, so nothing wakes the tool when a storm begins. PACE_STORM_WORDS
 * bounds what one thread can write: a thread that begins a storm right behind a round has filled
 * half of a large ring at most when the tool is due again.
 */
#ifndef CAPTURE_PACE_H
#define CAPTURE_PACE_H

#include "base/util.h"

#define PACE_MIN_NS	 (UINT64_C(200) * 1000)
#define PACE_MAX_NS	 (UINT64_C(40) * 1000 * 1000)
#define PACE_STORM_WORDS 120 /* in a microsecond: 20 million polls a second */
/*
 * Words that the fullest ring should hold at each round. The agent uses the lowest free segments of
 * a ring, so what is left short stays in the processor's caches.
 */
#define PACE_WORDS 16384

/* The pause after a round of an idle program. ring_words: of a large ring. */
uint64_t pace_longest_ns(uint64_t ring_words);
/* The pause after a round that found `fullest` words in one ring, where the pause before it was
 * wait_ns. 0: at once. */
uint64_t pace_next_ns(uint64_t ring_words, uint64_t wait_ns, uint64_t fullest);

#endif

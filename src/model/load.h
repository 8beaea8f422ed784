// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * How much of something there is over time (tasks that live, workers that are busy), in bounded
 * memory: time is cut into bins, and each bin knows the sum of all the time that was spent in it.
 * Intervals may come late and in any order, as the model tells of a run when it is over; adding one
 * takes the same time however long it is.
 *
 * A bin's sum divided by its width is how many there were on average.
 */
#ifndef MODEL_LOAD_H
#define MODEL_LOAD_H

#include "base/util.h"

struct load;

/*
 * From from_ns up to to_ns in nr_bins bins of one width, in whole nanoseconds and at least one: the
 * last of them may lie beyond to_ns, and stay empty.
 */
struct load *load_new(uint64_t from_ns, uint64_t to_ns, uint32_t nr_bins);
void load_free(struct load *l);
/* One more, from a_ns up to b_ns. What lies outside of the load does not count. */
void load_add(struct load *l, uint64_t a_ns, uint64_t b_ns);
/* ns in that bin, of all that were added. Quick when asked in the order of the bins. */
uint64_t load_get(struct load *l, uint32_t bin);

uint32_t load_get_nr_bins(const struct load *l); /* those that begin before to_ns, at least one */
uint64_t load_get_bin_ns(const struct load *l);	 /* width of a bin */
uint64_t load_get_bin_start(const struct load *l, uint32_t bin);
/* Width of that bin up to to_ns: the last one may be cut. */
uint64_t load_get_bin_span(const struct load *l, uint32_t bin);

#endif

// SPDX-License-Identifier: MIT OR Apache-2.0
/* Shared by the files that fire probes; nobody else includes it. */
#ifndef AGENT_PROBES_PRIV_H
#define AGENT_PROBES_PRIV_H

#include "agent/fast.h"
#include "agent/probes.h"

/* ---- firing ---- */

#define NO_ARGS					  void
#define ARG(n, type, name)			  USDT_COMMA_##n USDT_C_##type name
#define PROBE(NAME, provider, c_name, name, args) typedef void probe_##NAME##_fn(args);
#include "wire/probes.def"
#undef PROBE
#define PROBE(NAME, provider, c_name, name, args) \
	extern probe_##NAME##_fn probes_##provider##_##c_name HIDDEN;
#include "wire/probes.def"
#undef PROBE
#undef ARG
#undef NO_ARGS

extern const void *const probes_sites[NR_PROBES] HIDDEN;

/* How many are attached to the probe, by this object's semaphores. */
static inline uint16_t probes_count(const uint64_t *semaphores, enum probe probe)
{
	return ((const volatile uint16_t *)semaphores)[probe];
}

static inline bool probes_has(enum probe probe)
{
	return probes_count(probes_semaphores, probe) | probes_count(probes_perf_semaphores, probe);
}

/* Fires the probe in each of the two objects where somebody is attached to it. */
#define FIRE(NAME, ...)                                                                         \
	do {                                                                                    \
		if (probes_count(probes_semaphores, PROBE_##NAME))                              \
			((probe_##NAME##_fn *)probes_sites[PROBE_##NAME])(__VA_ARGS__);         \
		if (probes_count(probes_perf_semaphores, PROBE_##NAME))                         \
			((probe_##NAME##_fn *)futrace_probes.sites[PROBE_##NAME])(__VA_ARGS__); \
	} while (0)

/* ---- what tasks are called ---- */

struct probes_name {
	const char *type, *file;
	uint32_t line, column;
};

/* Strings are there to be read when it returns: a tracer cannot wait for a page. */
struct probes_name probes_name_of(uint64_t header, const struct core_table *table) HIDDEN;
enum wire_task_kind probes_kind_of(const struct core_table *table) HIDDEN;

/* ---- what is remembered of tasks ---- */

/*
 * A word for each of some keys, without locks and in fixed room: where that is full, one that is
 * there is forgotten. So whoever asks must be able to live without an answer.
 */
#define MEMO_BUCKETS 16384
#define MEMO_WAYS    8

struct memo {
	uint64_t key; /* 0: free */
	uint64_t word;
};

struct memos {
	struct memo v[MEMO_BUCKETS][MEMO_WAYS];
};

struct memo *memo_find(struct memos *m, uint64_t key) HIDDEN; /* NULL: there is none */
/* The same, or a new one whose word is 0. */
struct memo *memo_make(struct memos *m, uint64_t key) HIDDEN;
/* False: there was none, or another thread was faster. */
bool memo_take(struct memos *m, uint64_t key, uint64_t *word) HIDDEN;

#endif

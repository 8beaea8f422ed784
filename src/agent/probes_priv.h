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
#define PROBE(NAME, provider, c_name, name, args)                     \
	extern probe_##NAME##_fn probes_##provider##_##c_name HIDDEN, \
		probes_##provider##_##c_name##_call HIDDEN;
#include "wire/probes.def"
#undef PROBE
#undef ARG
#undef NO_ARGS

/* A probe that this object has not is never wanted by its semaphores, and has no site. */
#define PROBES_OURS_tokio(site)	    site
#define PROBES_OURS_async_std(site) 0
extern const void *const probes_sites[NR_PROBES] HIDDEN;

bool probes_kernel_undoes_calls(const char *release) HIDDEN;

/* The site of this object that is to be called. */
static inline const void *probes_site(enum probe probe)
{
	const void *const *sites = core_page.probe_sites;

	return (sites ? sites : probes_sites)[probe];
}

/* How many are attached to the probe, by this object's semaphores. */
static inline uint16_t probes_count(const uint64_t *semaphores, enum probe probe)
{
	return ((const volatile uint16_t *)semaphores)[probe];
}

static inline bool probes_has(enum probe probe)
{
	return probes_count(probes_semaphores, probe) | probes_count(probes_perf_semaphores, probe);
}

/* Fires the probe in each of the two objects where somebody is attached to it, if this process is
 * traced still: it may have begun a poll as another one, and forked in it. */
#define FIRE(NAME, ...)                                                                         \
	do {                                                                                    \
		if (!core_page.region)                                                          \
			break;                                                                  \
		if (probes_count(probes_semaphores, PROBE_##NAME))                              \
			((probe_##NAME##_fn *)probes_site(PROBE_##NAME))(__VA_ARGS__);          \
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
 *
 * While nobody is attached nothing is kept up to date, so all must be forgotten when a tracer has
 * gone. The kernel does not say when that is. So as long as something is remembered, hooks take the
 * way of the probes, and the first that finds nobody attached forgets it all.
 */
#define MEMO_BUCKETS 16384
#define MEMO_WAYS    8

struct memo {
	uint64_t key; /* 0: free */
	uint64_t word;
	uint64_t era; /* another than that of all: forgotten */
};

struct memos {
	uint64_t era;
	bool is_used; /* since this era began */
	struct memo v[MEMO_BUCKETS][MEMO_WAYS];
};

/* First of all that a hook does for probes, be the process traced or not. */
void probes_look(void) HIDDEN;
/* Nobody is attached to the probes that need them. */
void memos_forget(struct memos *m) HIDDEN;

struct memo *memo_find(struct memos *m, uint64_t key) HIDDEN; /* NULL: there is none */
/* The same, or a new one whose word is 0. */
struct memo *memo_make(struct memos *m, uint64_t key) HIDDEN;
/* False: there was none, or another thread was faster. */
bool memo_take(struct memos *m, uint64_t key, uint64_t *word) HIDDEN;

#endif

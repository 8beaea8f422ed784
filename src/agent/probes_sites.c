// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Where the probes are. Compiled twice: into the agent, and with PROBES_FOR_PERF into a library of
 * its own. perf takes a probe's name for one of C, and gives a whole file up for a single hyphen;
 * so the latter has the names with underscores, and async_std's, which are like that anyhow. Each
 * of the agent's is there twice (usdt.h); perf would take the second for another event.
 */
#include "agent/probes.h"

#ifdef PROBES_FOR_PERF
#define SITE(provider, c_name)	   futrace_perf_##provider##_##c_name
#define SEMAPHORES		   futrace_perf_semaphores
#define NAME_IN_NOTE(c_name, name) #c_name
#define HAS_tokio(probe)	   probe
#define HAS_async_std(probe)	   probe
#define ENTRIES			   USDT_PROBE
#else
#define SITE(provider, c_name)	   probes_##provider##_##c_name
#define SEMAPHORES		   probes_semaphores
#define NAME_IN_NOTE(c_name, name) name
#define HAS_tokio(probe)	   probe
#define HAS_async_std(probe)	   USDT_NO_PROBE
#define ENTRIES			   USDT_PROBE_TWICE
#endif

#define BEGIN(semaphores)			 USDT_BEGIN(semaphores)
#define SITE_ASM(site, provider, name, operands) ENTRIES(site, #provider, name, operands)
#define NO_ARGS
#define ARG(n, type, name) USDT_OPERAND_##n##_##type
#define PROBE(NAME, provider, c_name, name, args) \
	HAS_##provider(SITE_ASM(SITE(provider, c_name), provider, NAME_IN_NOTE(c_name, name), args))

__asm__(BEGIN(SEMAPHORES)
#include "wire/probes.def"
		USDT_END);

#ifdef PROBES_FOR_PERF
#undef PROBE
#define PROBE(NAME, provider, c_name, name, args) extern const char SITE(provider, c_name)[] HIDDEN;
#include "wire/probes.def"
#undef PROBE
extern const uint64_t SEMAPHORES[PROBE_WORDS] HIDDEN;

#define PROBE(NAME, provider, c_name, name, args) [PROBE_##NAME] = SITE(provider, c_name),
const struct probes_object futrace_probes = {
	.nr = NR_PROBES,
	.semaphores = SEMAPHORES,
	.sites = {
#include "wire/probes.def"
	},
};
#endif

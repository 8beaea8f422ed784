// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What a test of the probes needs: sites that write down what they are called with, in place of
 * those that tracers attach to, and semaphores that are raised by hand.
 */
#ifndef UNIT_AGENT_PROBES_WORLD_H
#define UNIT_AGENT_PROBES_WORLD_H

#include <pthread.h>
#include <stdio.h>

#include "agent/agent.h"
#include "agent/probes_priv.h"
#include "world.h"

/* ---- the sites ---- */

static char said[4096];
static size_t said_len;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	said_len += vsnprintf(said + said_len, sizeof(said) - said_len, format, args);
	va_end(args);
	assert_true(said_len < sizeof(said));
}

/* What was fired since it was last asked. */
#define assert_said(text)                        \
	do {                                     \
		assert_string_equal(said, text); \
		said[said_len = 0] = 0;          \
	} while (0)

/* What is said counts tasks from 1: ids that begin behind this one, or things of this size. */
static uint64_t nr_before, nr_each = 1;

static uint64_t nr(uint64_t id)
{
	return id ? (id - nr_before) / nr_each : 0;
}

static unsigned nr_ends;
static bool is_counting; /* only the ends, of tasks that are many */

#define TASK_SITE(c_name, word)                                                          \
	void c_name(uint64_t id, const char *file, uint32_t line, uint32_t column,       \
		    const char *type)                                                    \
	{                                                                                \
		nr_ends += *word == 't';                                                 \
		if (!is_counting)                                                        \
			say(word "%lu %s:%u:%u %s\n", nr(id), file, line, column, type); \
	}
TASK_SITE(probes_tokio_task_spawn, "spawn ")
TASK_SITE(probes_tokio_task_poll_start, "( ")
TASK_SITE(probes_tokio_task_poll_end, ") ")
TASK_SITE(probes_tokio_task_terminate, "terminate ")
static TASK_SITE(perf_terminate, "perf's terminate ")

	void probes_tokio_task_wake(uint64_t woken, uint64_t waker)
{
	say("wake %lu by %lu\n", nr(woken), nr(waker));
}

void probes_tokio_task_details(uint64_t id, uint64_t parent, const char *type, const char *file,
			       uint32_t line)
{
	say("details %lu of %lu %s %s:%u\n", nr(id), nr(parent), type, file, line);
}

#define THREAD_SITE(c_name, word) \
	void c_name(void)         \
	{                         \
		say(word "\n");   \
	}
THREAD_SITE(probes_tokio_worker_thread_park, "park")
THREAD_SITE(probes_tokio_worker_thread_unpark, "unpark")
THREAD_SITE(probes_tokio_worker_thread_start, "start")
THREAD_SITE(probes_tokio_worker_thread_stop, "stop")

static const char *is_here(uint64_t machine)
{
	return machine == (uint64_t)__builtin_thread_pointer() ? "here" : "elsewhere";
}

static void async_spawn(uint64_t id, uint64_t parent, const char *name)
{
	say("spawn %lu of %lu %s\n", nr(id), nr(parent), name);
}

static void async_completed(uint64_t id)
{
	say("completed %lu\n", nr(id));
}

static void machine_scheduled(uint64_t machine, uint64_t id, uint32_t local)
{
	say("scheduled %s %lu %s\n", is_here(machine), nr(id), local ? "local" : "far");
}

static void machine_blocked(uint64_t machine, uint64_t id, uint64_t ns)
{
	say("blocked %s %lu %lu\n", is_here(machine), nr(id), ns);
}

static void machine_starting(uint64_t machine)
{
	say("starting %s\n", is_here(machine));
}

/* ---- the two objects ---- */

/* Constant to all but the kernel, and to us. */
uint64_t ours[PROBE_WORDS] __asm__("probes_semaphores") HIDDEN;
static uint64_t for_perf[PROBE_WORDS];

const struct probes_object futrace_probes = {
	.nr = NR_PROBES,
	.semaphores = for_perf,
	.sites = { [PROBE_TASK_TERMINATE] = perf_terminate,
		   [PROBE_ASYNC_STD_TASK_SPAWN] = async_spawn,
		   [PROBE_ASYNC_STD_TASK_COMPLETED] = async_completed,
		   [PROBE_MACHINE_SCHEDULED_TASK] = machine_scheduled,
		   [PROBE_MACHINE_BLOCKED] = machine_blocked,
		   [PROBE_MACHINE_STARTING] = machine_starting },
};

/* The compiler does not know that the names mean the same: hence the barriers. */
static inline void attach(uint64_t *semaphores, enum probe first, enum probe last)
{
	for (enum probe p = first; p <= last; p++)
		((uint16_t *)semaphores)[p]++;
	barrier();
}

static inline void detach_all(void)
{
	memset(ours, 0, sizeof(ours));
	memset(for_perf, 0, sizeof(for_perf));
	barrier();
}

/* ---- what the agent has besides ---- */

static uint64_t now_ns = 1;
static unsigned nr_looks;

uint64_t agent_monotonic_ns(void)
{
	nr_looks++;
	return now_ns;
}

bool stack_is_object(uint64_t addr)
{
	return addr != 0;
}

bool roots_are_seen(void)
{
	return false;
}

bool roots_is_driving(void)
{
	return false;
}

/* ---- set up ---- */

#define NAME_AT 1
#define FILE_AT 5

static inline void probes_world_init(void)
{
	world_init();
	memcpy(region->strings + NAME_AT, "Fut", 4);
	memcpy(region->strings + FILE_AT, "a.rs", 5);
	detach_all();
	probes_init();
	said[said_len = 0] = 0;
	nr_ends = nr_looks = 0;
	is_counting = false;
}

/* What a test leaves behind of its thread ends with it. */
static inline void in_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, fn, arg), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

#endif

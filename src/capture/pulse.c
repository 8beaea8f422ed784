// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/pulse.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"

#define STACK_BYTES (64 << 10)

_Static_assert(WIRE_TOOL_GONE == FUTEX_OWNER_DIED, "what the kernel stores");

/* In shared memory, though nobody shares it: the kernel takes private memory from a process that it
 * kills for want of memory, before it looks at this. */
struct robust {
	struct robust_list_head head;
	struct robust_list entry;
};

struct pulse {
	struct wire_lobby *page;
	struct robust *robust;		 /* NULL: the kernel marks nothing */
	struct robust_list_head *before; /* the C library's own */
	clockid_t cpu_clock;		 /* of the thread that answers */
	pthread_t thread;
	bool has_thread;
	uint32_t is_ended; /* futex */
};

/* ---- life ---- */

static void mark_life(struct pulse *p)
{
	size_t len;
	struct robust *r =
		mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (r == MAP_FAILED)
		return;
	r->head.list.next = &r->entry;
	r->entry.next = &r->head.list;
	r->head.futex_offset = (char *)&p->page->life - (char *)&r->entry;
	__atomic_store_n(&p->page->life, (uint32_t)gettid(), __ATOMIC_RELEASE);
	if (syscall(SYS_get_robust_list, 0, &p->before, &len) == 0 &&
	    syscall(SYS_set_robust_list, &r->head, sizeof(r->head)) == 0)
		p->robust = r;
	else
		munmap(r, sizeof(*r));
}

static void mark_gone(struct pulse *p)
{
	__atomic_store_n(&p->page->life, WIRE_TOOL_GONE, __ATOMIC_RELEASE);
	if (!p->robust)
		return;
	syscall(SYS_set_robust_list, p->before, sizeof(*p->before));
	munmap(p->robust, sizeof(*p->robust));
}

/* ---- the heartbeat ---- */

static uint64_t cpu_ns(const struct pulse *p)
{
	struct timespec ts = { 0 };

	clock_gettime(p->cpu_clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void *beat(void *arg)
{
	struct pulse *p = arg;
	const struct timespec pause = { .tv_nsec = WIRE_BEAT_NS };
	uint64_t seen = cpu_ns(p);

	while (!__atomic_load_n(&p->is_ended, __ATOMIC_ACQUIRE)) {
		uint64_t now;

		syscall(SYS_futex, &p->is_ended, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
		now = cpu_ns(p);
		if (now != seen)
			__atomic_fetch_add(&p->page->heartbeat, 1, __ATOMIC_RELAXED);
		seen = now;
	}
	return NULL;
}

static void begin_beat(struct pulse *p)
{
	sigset_t all, before;
	pthread_attr_t attr;

	if (pthread_getcpuclockid(pthread_self(), &p->cpu_clock) || pthread_attr_init(&attr))
		return;
	/* Under `ulimit -v` eight megabytes are much. */
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	/* Signals are to wake the loop. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	p->has_thread = pthread_create(&p->thread, &attr, beat, p) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

static void end_beat(struct pulse *p)
{
	if (!p->has_thread)
		return;
	__atomic_store_n(&p->is_ended, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &p->is_ended, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(p->thread, NULL);
}

/* ---- both ---- */

struct pulse *pulse_new(struct wire_lobby *page)
{
	struct pulse *p = xcalloc(1, sizeof(*p));

	p->page = page;
	mark_life(p);
	begin_beat(p);
	return p;
}

void pulse_free(struct pulse *p)
{
	if (!p)
		return;
	end_beat(p);
	mark_gone(p);
	free(p);
}

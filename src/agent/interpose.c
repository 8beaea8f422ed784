// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * libc functions that we stand in front of: allocation of tasks (spawn), calls that sleep in the
 * kernel, panics, thread names, and loading of objects. Each does what the real one does, with the
 * same result and errno; before the agent is in (or without a tool) it only passes on.
 *
 * Rust's std and parking_lot sleep by the dynamic symbol syscall(SYS_futex), mio by epoll_wait.
 */
#include "agent/agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unwind.h>

#define EXPORT __attribute__((visibility("default")))
/* "MOZ\0RUST": std has had it as a number and as bytes in memory order */
#define RUST_CLASS	 UINT64_C(0x4d4f5a0052555354)
#define RUST_CLASS_BYTES UINT64_C(0x54535552005a4f4d)

/*
 * What std's unwinder hands to _Unwind_RaiseException: behind the header lie the address of a
 * static, the canary, and the payload's box. Old releases (1.63 is one) left more room to the
 * unwinder, four words of zeros, and had no canary.
 */
struct rust_exception {
	struct _Unwind_Exception header;
	uint64_t words[7]; /* three in a new one */
};
_Static_assert(offsetof(struct rust_exception, words) == 32, "as in std's panic_unwind");

typedef void *(*dlsym_fn)(void *, const char *);

/* Used by the thunks in dl.S, which jump there with the caller's own return address on the stack.
 */
void *agent_real_dlopen HIDDEN, *agent_real_dlmopen HIDDEN, *agent_real_dlsym HIDDEN;
int (*agent_real_dlclose)(void *) HIDDEN;

static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static long (*real_syscall)(long, long, long, long, long, long, long);
static int (*real_epoll_wait)(int, struct epoll_event *, int, int);
static int (*real_epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
static int (*real_poll)(struct pollfd *, nfds_t, int);
static int (*real_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
static int (*real_select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
static int (*real_nanosleep)(const struct timespec *, struct timespec *);
static int (*real_clock_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
static int (*real_prctl)(int, long, long, long, long);
static int (*real_pthread_setname_np)(pthread_t, const char *);
static _Unwind_Reason_Code (*real_raise)(struct _Unwind_Exception *);

void *agent_next(const char *name)
{
	return ((dlsym_fn)agent_real_dlsym)(RTLD_NEXT, name);
}

/* Runs before our constructor when another library's constructor calls one of ours: look up on
 * demand. */
#define NEXT(var, name)                                        \
	do {                                                   \
		if (__builtin_expect(!(var), 0)) {             \
			interpose_init();                      \
			(var) = (typeof(var))agent_next(name); \
		}                                              \
	} while (0)

void interpose_init(void)
{
	if (agent_real_dlsym)
		return;
	/* dlsym itself is interposed, dlvsym is not. libdl joined libc in 2.34. */
	agent_real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!agent_real_dlsym)
		agent_real_dlsym = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	agent_real_dlopen = agent_next("dlopen");
	agent_real_dlmopen = agent_next("dlmopen");
	agent_real_dlclose = agent_next("dlclose");
	real_posix_memalign = agent_next("posix_memalign");
	real_aligned_alloc = agent_next("aligned_alloc");
	real_syscall = agent_next("syscall");
	real_epoll_wait = agent_next("epoll_wait");
	real_epoll_pwait = agent_next("epoll_pwait");
	real_poll = agent_next("poll");
	real_ppoll = agent_next("ppoll");
	real_select = agent_next("select");
	real_nanosleep = agent_next("nanosleep");
	real_clock_nanosleep = agent_next("clock_nanosleep");
	real_prctl = agent_next("prctl");
	real_pthread_setname_np = agent_next("pthread_setname_np");
	real_raise = agent_next("_Unwind_RaiseException");
}

/* ---- spawn ---- */

EXPORT int posix_memalign(void **out, size_t align, size_t size)
{
	int rc;

	NEXT(real_posix_memalign, "posix_memalign");
	rc = real_posix_memalign(out, align, size);
	if (align >= TASK_ALIGN && rc == 0)
		agent_spawned(*out, size, __builtin_frame_address(0));
	return rc;
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	void *p;

	NEXT(real_aligned_alloc, "aligned_alloc");
	p = real_aligned_alloc(align, size);
	if (align >= TASK_ALIGN && p)
		agent_spawned(p, size, __builtin_frame_address(0));
	return p;
}

/* ---- asleep in the kernel ---- */

/* errno is the real call's: recording touches none. */
#define WHILE_ASLEEP(flags, call)                                                \
	({                                                                       \
		bool parks_ = probes_wanted(PROBES_TOKIO) && probes_park(flags); \
		struct wire_thread *slot_ = core_sleep(flags);                   \
		typeof(call) rc_ = (call);                                       \
		core_awake(slot_);                                               \
		if (parks_)                                                      \
			probes_unpark();                                         \
		rc_;                                                             \
	})

static bool is_futex_wait(long nr, long op)
{
	int cmd = op & FUTEX_CMD_MASK;

	return nr == SYS_futex &&
	       (cmd == FUTEX_WAIT || cmd == FUTEX_WAIT_BITSET || cmd == FUTEX_LOCK_PI);
}

EXPORT long syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	/* A system call has at most six arguments; reading more than were given is harmless here.
	 */
	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	NEXT(real_syscall, "syscall");
	if (is_futex_wait(nr, a[1]))
		return WHILE_ASLEEP(EF_SLEEP_FUTEX,
				    real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]));
	return real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	NEXT(real_epoll_wait, "epoll_wait");
	if (timeout == 0) /* a look at the driver, no sleep */
		return real_epoll_wait(fd, events, max, timeout);
	return WHILE_ASLEEP(EF_SLEEP_EPOLL, real_epoll_wait(fd, events, max, timeout));
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	NEXT(real_epoll_pwait, "epoll_pwait");
	if (timeout == 0)
		return real_epoll_pwait(fd, events, max, timeout, mask);
	return WHILE_ASLEEP(EF_SLEEP_EPOLL, real_epoll_pwait(fd, events, max, timeout, mask));
}

EXPORT int poll(struct pollfd *fds, nfds_t nr, int timeout)
{
	NEXT(real_poll, "poll");
	if (timeout == 0)
		return real_poll(fds, nr, timeout);
	return WHILE_ASLEEP(EF_SLEEP_POLL, real_poll(fds, nr, timeout));
}

EXPORT int ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *timeout,
		 const sigset_t *mask)
{
	NEXT(real_ppoll, "ppoll");
	if (timeout && !timeout->tv_sec && !timeout->tv_nsec)
		return real_ppoll(fds, nr, timeout, mask);
	return WHILE_ASLEEP(EF_SLEEP_POLL, real_ppoll(fds, nr, timeout, mask));
}

EXPORT int select(int nr, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
	NEXT(real_select, "select");
	if (timeout && !timeout->tv_sec && !timeout->tv_usec)
		return real_select(nr, r, w, e, timeout);
	return WHILE_ASLEEP(EF_SLEEP_POLL, real_select(nr, r, w, e, timeout));
}

EXPORT int nanosleep(const struct timespec *want, struct timespec *left)
{
	NEXT(real_nanosleep, "nanosleep");
	return WHILE_ASLEEP(EF_SLEEP_TIMED, real_nanosleep(want, left));
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *want,
			   struct timespec *left)
{
	NEXT(real_clock_nanosleep, "clock_nanosleep");
	return WHILE_ASLEEP(EF_SLEEP_TIMED, real_clock_nanosleep(clock, flags, want, left));
}

/* ---- panics, names, objects ---- */

/* Its data and vtable. Of canary and data only the canary lies in an object. */
static const uint64_t *payload_of(const struct rust_exception *e)
{
	return e->words[0] ? e->words + 1 : e->words + 4 + stack_is_object(e->words[4]);
}

EXPORT _Unwind_Reason_Code _Unwind_RaiseException(struct _Unwind_Exception *exception)
{
	NEXT(real_raise, "_Unwind_RaiseException");
	if (exception->exception_class == RUST_CLASS ||
	    exception->exception_class == RUST_CLASS_BYTES) {
		const uint64_t *payload = payload_of((const void *)exception);
		struct core_current run;

		core_panic(payload[0], payload[1],
			   core_get_current(&run) && unwind_escapes(exception, &run));
	}
	return real_raise(exception);
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	int rc;

	NEXT(real_pthread_setname_np, "pthread_setname_np");
	rc = real_pthread_setname_np(thread, name);
	if (rc == 0 && pthread_equal(thread, pthread_self()))
		core_thread_name(name);
	return rc;
}

EXPORT int prctl(int option, ...)
{
	long a[4];
	va_list ap;
	int rc;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	NEXT(real_prctl, "prctl");
	rc = real_prctl(option, a[0], a[1], a[2], a[3]);
	if (option == PR_SET_NAME && rc == 0)
		core_thread_name((const char *)a[0]);
	return rc;
}

/* Called by the thunks of dl.S before the real function. */
HIDDEN void agent_before_dlopen(void)
{
	interpose_init();
	objects_dlopen_begins();
}

HIDDEN void agent_before_dlsym(void)
{
	int saved = errno;

	interpose_init();
	objects_look();
	errno = saved;
}

/* Unlike the two, it does not look at its return address. errno is the real call's. */
EXPORT int dlclose(void *handle)
{
	int rc, saved;

	interpose_init();
	objects_dlclose_begins();
	rc = agent_real_dlclose(handle);
	saved = errno;
	objects_dlclose_ends();
	errno = saved;
	return rc;
}

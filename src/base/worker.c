// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The answer lies in memory that both share. The caller looks at it when the worker is dead, so
 * nothing changes under its eyes, and a worker needs no descriptor to write to.
 */
#include "base/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"

#define MOST_BYTES  (UINT64_C(192) << 20) /* of an answer */
#define LEAST_BYTES (UINT64_C(8) << 20)	  /* where address space is short */
#define ROUND_MS    5
#define ROUND_NS    UINT64_C(100000000) /* that a round counts at most */
#define SECOND_NS   UINT64_C(1000000000)
/* exit status of a worker */
#define FAILED	  70 /* its answer does not fit */
#define NO_MEMORY 71

struct area {
	uint64_t len; /* of the bytes; written last */
	char bytes[];
};

struct worker {
	pid_t pid;
	int pidfd; /* -1: the kernel has none */
	struct area *area;
	size_t area_bytes;
	/* Rounds of the caller in which the worker could run: Ctrl-Z stops both, for hours. */
	uint64_t round_ns, elapsed_ns;
};

/* ---- in the worker ---- */

static void take_signals(void)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE,  SIGILL,  SIGABRT,
				   SIGXCPU, SIGSYS, SIGTRAP, SIGTSTP, SIGCHLD };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, usual = { .sa_handler = SIG_DFL };
	sigset_t none;

	/* Ctrl-C is meant for the caller, who ends its worker when it wants to. */
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &ignore, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		sigaction(own[i], &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Memory that the caller has already is not counted: rings, shadows of a sanitizer. */
static __attribute__((unused)) uint64_t data_bytes(void)
{
	struct strbuf text = STRBUF_INIT;
	unsigned long long pages = 0;

	if (io_read_file("/proc/self/statm", &text, 4096, NULL) ||
	    sscanf(text.s, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	strbuf_release(&text);
	return pages * sysconf(_SC_PAGESIZE);
}

static void limit(int what, uint64_t bound)
{
	struct rlimit r;

	if (getrlimit(what, &r))
		return;
	r.rlim_cur = MIN(r.rlim_max, (rlim_t)bound);
	r.rlim_max = r.rlim_cur;
	setrlimit(what, &r);
}

static void keep_streams_only(void)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++) {
#if defined(__SANITIZE_ADDRESS__)
		if (fd == STDERR_FILENO) /* for what the sanitizer has found */
			break;
#endif
		dup2(null, fd);
	}
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
}

static void no_memory(void)
{
	_exit(NO_MEMORY);
}

static void confine(const struct worker_job *job, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(FAILED);
	set_no_memory_handler(no_memory);
	limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) /* its allocator does not survive a limit */
	if (job->memory_bytes)
		limit(RLIMIT_DATA, data_bytes() + job->memory_bytes);
#endif
	if (job->cpu_ns)
		limit(RLIMIT_CPU, job->cpu_ns / SECOND_NS + 1);
	if (!job->speaks) {
		take_signals();
		keep_streams_only();
	}
	worker_filter();
}

static void work(const struct worker_job *job, struct area *area, size_t area_bytes, pid_t parent)
{
	struct strbuf answer = STRBUF_INIT;

	confine(job, parent);
	job->run(job->arg, &answer);
	if (answer.len > area_bytes - sizeof(*area))
		_exit(FAILED);
	memcpy(area->bytes, answer.s, answer.len);
	area->len = answer.len;
	_exit(0); /* not exit: what the caller has in its buffers is the caller's to write */
}

/* ---- in the caller ---- */

static bool start(struct worker *w, const struct worker_job *job)
{
	pid_t parent = getpid();

	for (w->area_bytes = MOST_BYTES; w->area_bytes >= LEAST_BYTES; w->area_bytes /= 2) {
		w->area = mmap(NULL, w->area_bytes, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (w->area != MAP_FAILED)
			break;
	}
	if (w->area == MAP_FAILED)
		return false;
	if (job->speaks)
		fflush(NULL);
	w->round_ns = clock_mono_ns();
	w->pid = fork();
	if (w->pid == 0)
		work(job, w->area, w->area_bytes, parent);
	if (w->pid < 0) {
		munmap(w->area, w->area_bytes);
		return false;
	}
	w->pidfd = syscall(SYS_pidfd_open, w->pid, 0);
	return true;
}

static uint64_t cpu_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return ts.tv_sec * SECOND_NS + ts.tv_nsec;
}

static void count_round(struct worker *w)
{
	uint64_t now = clock_mono_ns();

	w->elapsed_ns += MIN(now - w->round_ns, ROUND_NS);
	w->round_ns = now;
}

static bool is_late(const struct worker *w, const struct worker_job *job)
{
	return (job->elapsed_ns && w->elapsed_ns > job->elapsed_ns) ||
	       (job->cpu_ns && cpu_ns(w->pid) > job->cpu_ns);
}

static uint64_t spent_ns;

uint64_t worker_cpu_ns(void)
{
	return spent_ns;
}

static uint64_t time_ns(const struct timeval *t)
{
	return t->tv_sec * SECOND_NS + t->tv_usec * 1000;
}

static bool has_ended(const struct worker *w, int *status)
{
	struct rusage used;
	pid_t pid = wait4(w->pid, status, WNOHANG, &used);

	if (pid < 0 && errno == EINTR)
		return false;
	if (pid > 0)
		spent_ns += time_ns(&used.ru_utime) + time_ns(&used.ru_stime);
	if (pid < 0) /* a process that ignores SIGCHLD gets no status */
		*status = w->area->len ? 0 : FAILED << 8;
	return pid != 0;
}

/* Returns whether it had to be killed. */
static bool await(struct worker *w, const struct worker_job *job,
		  const struct worker_meanwhile *meanwhile, int *status)
{
	struct pollfd pfd = { .fd = w->pidfd, .events = POLLIN };
	bool is_killed = false;

	while (!has_ended(w, status)) {
		poll(&pfd, 1, w->pidfd < 0 ? 1 : ROUND_MS);
		if (meanwhile && meanwhile->fn)
			meanwhile->fn(meanwhile->arg);
		count_round(w);
		if (!is_killed && is_late(w, job)) {
			is_killed = true;
			kill(w->pid, SIGKILL);
		}
	}
	return is_killed;
}

static enum worker_end judge(const struct worker *w, int status, bool is_killed,
			     char why[WORKER_WHY])
{
	const char *name;

	if (is_killed || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)) {
		snprintf(why, WORKER_WHY, "was stopped after %.1f s", w->elapsed_ns / 1e9);
		return WORKER_LATE;
	}
	if (WIFSIGNALED(status)) {
		name = sigabbrev_np(WTERMSIG(status));
		snprintf(why, WORKER_WHY, "was killed by SIG%s", name ? name : "?");
		return WORKER_DIED;
	}
	if (WEXITSTATUS(status) == NO_MEMORY) {
		snprintf(why, WORKER_WHY, "ran out of memory");
		return WORKER_DIED;
	}
	if (WEXITSTATUS(status) || w->area->len > w->area_bytes - sizeof(*w->area)) {
		snprintf(why, WORKER_WHY, "gave no answer");
		return WORKER_DIED;
	}
	return WORKER_DONE;
}

enum worker_end worker_run(const struct worker_job *job, const struct worker_meanwhile *meanwhile,
			   struct strbuf *answer, char why[WORKER_WHY], int *signal_number)
{
	struct worker w = { .pidfd = -1 };
	enum worker_end end;
	bool is_killed;
	int status = 0;

	if (signal_number)
		*signal_number = 0;
	if (!start(&w, job)) {
		snprintf(why, WORKER_WHY, "could not be started");
		return WORKER_NO_FORK;
	}
	is_killed = await(&w, job, meanwhile, &status);
	end = judge(&w, status, is_killed, why);
	if (end == WORKER_DONE)
		strbuf_add(answer, w.area->bytes, w.area->len);
	if (signal_number && WIFSIGNALED(status) && !is_killed)
		*signal_number = WTERMSIG(status);
	if (w.pidfd >= 0)
		close(w.pidfd);
	munmap(w.area, w.area_bytes);
	return end;
}

// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The system call filter of workers: what is not in the list fails with EPERM, so that a library
 * that tries something unforeseen gets an error and not a death.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/worker.h"

#if defined(__x86_64__)

#define NR		    offsetof(struct seccomp_data, nr)
#define ARCH		    offsetof(struct seccomp_data, arch)
#define ARG(i)		    (offsetof(struct seccomp_data, args) + 8 * (i)) /* its lower half */

#define LOAD(what)	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, what)
#define RETURN(what)	    BPF_STMT(BPF_RET | BPF_K, what)
#define IF_IS(value, skip)  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define IF_NONE(bits, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, skip, 0)
#define IF_ANY(bits, skip)  BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, skip)
#define ALLOW		    RETURN(SECCOMP_RET_ALLOW)
#define REFUSE(number)	    RETURN(SECCOMP_RET_ERRNO | (number))
#define ALLOWED(call)	    IF_IS(__NR_##call, 1), ALLOW

#define WRITES		    (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

/* Calls that depend on an argument reload the number behind it. */
static struct sock_filter program[] = {
	LOAD(ARCH),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
	REFUSE(EPERM),
	LOAD(NR),
	/* memory and threads */
	ALLOWED(mmap),
	ALLOWED(munmap),
	ALLOWED(mremap),
	ALLOWED(mprotect),
	ALLOWED(madvise),
	ALLOWED(brk),
	ALLOWED(futex),
	ALLOWED(set_robust_list),
	ALLOWED(rseq),
	ALLOWED(sched_yield),
	ALLOWED(sched_getaffinity),
	IF_IS(__NR_clone3, 1), /* its flags lie in memory: with this error glibc takes clone */
	REFUSE(ENOSYS),
	IF_IS(__NR_clone, 5),
	LOAD(ARG(0)),
	IF_ANY(CLONE_THREAD, 1),
	ALLOW,
	REFUSE(EPERM),
	LOAD(NR),
	/* files, to be read */
	IF_IS(__NR_openat, 5),
	LOAD(ARG(2)),
	IF_NONE(WRITES, 1),
	ALLOW,
	REFUSE(EACCES),
	LOAD(NR),
	IF_IS(__NR_open, 5),
	LOAD(ARG(1)),
	IF_NONE(WRITES, 1),
	ALLOW,
	REFUSE(EACCES),
	LOAD(NR),
	ALLOWED(read),
	ALLOWED(pread64),
	ALLOWED(readv),
	ALLOWED(lseek),
	ALLOWED(close),
	ALLOWED(fstat),
	ALLOWED(stat),
	ALLOWED(lstat),
	ALLOWED(newfstatat),
	ALLOWED(statx),
	ALLOWED(access),
	ALLOWED(faccessat),
	ALLOWED(faccessat2),
	ALLOWED(readlink),
	ALLOWED(readlinkat),
	ALLOWED(getdents64),
	ALLOWED(getcwd),
	ALLOWED(getxattr),
	ALLOWED(statfs),
	ALLOWED(fcntl),
	ALLOWED(dup),
	ALLOWED(process_vm_readv),
	/* words for people, where the streams are still theirs */
	ALLOWED(write),
	ALLOWED(writev),
	IF_IS(__NR_ioctl, 9),
	LOAD(ARG(1)),
	IF_IS(TCGETS, 1),
	ALLOW,
	IF_IS(0x802c542a, 1), /* TCGETS2: isatty() of glibc 2.42 */
	ALLOW,
	IF_IS(TIOCGWINSZ, 1),
	ALLOW,
	REFUSE(ENOTTY),
	LOAD(NR),
	/* itself */
	ALLOWED(exit),
	ALLOWED(exit_group),
	ALLOWED(rt_sigaction),
	ALLOWED(rt_sigprocmask),
	ALLOWED(rt_sigreturn),
	ALLOWED(sigaltstack),
	ALLOWED(getpid),
	ALLOWED(gettid),
	ALLOWED(getppid),
	ALLOWED(getuid),
	ALLOWED(geteuid),
	ALLOWED(getgid),
	ALLOWED(getegid),
	ALLOWED(getrandom),
	ALLOWED(getrusage),
	IF_IS(__NR_prlimit64, 7), /* to be named in a message, not to be changed */
	LOAD(ARG(2)),
	IF_IS(0, 3),
	LOAD(ARG(2) + 4),
	IF_IS(0, 1),
	ALLOW,
	REFUSE(EPERM),
	LOAD(NR),
	ALLOWED(sysinfo),
	ALLOWED(uname),
	ALLOWED(clock_gettime),
	ALLOWED(clock_getres),
	ALLOWED(clock_nanosleep),
	ALLOWED(nanosleep),
	ALLOWED(pause),
	ALLOWED(restart_syscall),
	IF_IS(__NR_tgkill, 5), /* abort() */
	LOAD(ARG(0)),
	IF_IS(0, 1), /* OWN_PID */
	ALLOW,
	REFUSE(EPERM),
	LOAD(NR),
	REFUSE(EPERM),
};

#define OWN_PID (ARRAY_SIZE(program) - 5)

void worker_filter(void)
{
	struct sock_fprog all = { ARRAY_SIZE(program), program };

	program[OWN_PID].k = getpid();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

#else

void worker_filter(void)
{
}

#endif

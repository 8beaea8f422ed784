# SPDX-License-Identifier: MIT OR Apache-2.0
"""The target comes first: what a tracer could easily break goes on as without one, and is recorded rightly.

Each case runs alone and recorded, on Tokio and on async-task. Status or signal and output are the same, among
the output what the program sees of its own process; and the recording holds what the program counted itself.
"""
import ctypes
import glob
import os
import subprocess
import time

from live import Skipped, check, nr_lost, same, sum_polls, test, total, truth, user_tasks
from test_hostile import compile_c

TOKIO, ASYNC_TASK = "release", "async-task-release"
RUNTIMES = (TOKIO, ASYNC_TASK)


def each(*cases):
    """Cases for both runtimes."""
    return [(build, *c) for c in cases for build in RUNTIMES]


def without_truth(out):
    return [x for x in out.split("\n") if not x.startswith('{"truth"')]


def both_ways(t, *argv, opts=(), counts=True, **more):
    """Alone and recorded: same status, same output. Without counts, its truth is that of one run."""
    alone = t.run(*argv, **more)
    r = t.record(*argv, opts=opts, **more)
    same(f"status ({r})", r.status, alone.status)
    same("output", *(x.out if counts else without_truth(x.out) for x in (r, alone)))
    check("could not be decoded" not in r.err, f"a ring is broken: {r.err!r}")
    return r


def compare_sums(t, want, more=0, name="t.data"):
    """more: tasks of one poll after the program spoke for the last time."""
    rep = t.report(name)
    same("lost", nr_lost(rep), 0)
    same("tasks and polls", (len(user_tasks(rep)), sum_polls(rep)), (want["tasks"] + more, want["polls"] + more))
    return rep


@test(cases=each((("state",),), (("handler",),), (("clone",),), (("threads", "1000"),), (("tiny-stacks",),),
                 (("little-memory",),), (("few-files",),), (("sandbox",),), (("sandbox-threads",),),
                 (("no-new-privileges",),)))
def lives(t, build, what):
    """Same signals, masks, stacks and limits; handlers that wake; bare clone; 1,000 threads; tiny stacks; no memory,
    files, privileges left; a sandbox that kills whoever makes a system call that the program does not make."""
    r = both_ways(t, t.program("safety", build), *what)
    compare_sums(t, total(r.out))


@test(cases=each(("profiler",)))
def profiled(t, build, what):
    """Under SIGPROF at the highest rate every poll counts, in all threads."""
    r = both_ways(t, t.program("safety", build), what, counts=False)
    compare_sums(t, total(r.out))


@test(cases=each(("double-panic", 134), ("overflow", 134), ("thread-leaves", 134)))
def crashes(t, build, what, status):
    """A panic while unwinding, an overflown stack, a thread that leaves in a poll: the same end, all before it is there."""
    r = both_ways(t, t.program("safety", build), what)
    same("status", r.status, status)
    compare_sums(t, total(r.out), more=1)


@test(cases=each(("0",), ("2",)))
def drops_badly(t, build, workers):
    """A future whose drop panics does to its runtime what it does alone."""
    r = both_ways(t, t.program("safety", build), "drop-panics", workers)
    if r.status == 0:
        compare_sums(t, total(r.out))


@test()
def panic_aborts(t):
    """Built with panic=abort, a panic in a task ends the process as alone."""
    r = both_ways(t, t.program("safety", "lto"), "double-panic")
    same("status", r.status, 134)
    compare_sums(t, total(r.out), more=1)


@test(cases=each(("exit",), ("thread-exit",), ("_exit",), ("abort",), ("sigterm",), ("sigsegv",)))
def leaves_under_load(t, build, how):
    """However a program leaves while other threads run tasks: same status, and nothing said before is missing."""
    r = both_ways(t, t.program("safety", build), "leave", how, counts=False)
    rep, want = t.report(), total(r.out)
    same("lost", nr_lost(rep), 0)
    same("tasks", len(user_tasks(rep)), want["tasks"])
    check(sum_polls(rep) >= want["polls"], f"{sum_polls(rep)} polls, {want['polls']} were said")


# Processes

@test(cases=each((False,), (True,)))
def forks_in_a_poll(t, build, follow):
    """A child forked in the middle of a poll goes on with its parent's runtime; followed, its tasks are its own."""
    r = both_ways(t, t.program("safety", build), "fork-in-poll", opts=["--follow"] if follow else [])
    says = {x["who"]: x for x in truth(r.out)}
    compare_sums(t, says["parent"])
    files = glob.glob(t.path("t.data.[0-9]*"))
    same("files of children", len(files), int(follow))
    for f in files:
        # Of tasks that the parent spawned the child sees those that it polls.
        rep = t.report(f)
        same("lost", nr_lost(rep), 0)
        same("polls of the child", sum_polls(rep), says["child"]["polls"])


@test(cases=each(()), only_root=True)
def other_numbers(t, build):
    """A child that is process 1 of a pid namespace is followed, and not taken for another process of that number."""
    argv = ["unshare", "-pf", t.program("safety", build), "work", "11"]
    if t.run(*argv).status:
        raise Skipped("no namespaces here")
    r = both_ways(t, *argv, opts=["--follow"])
    check("outlives" not in r.err, f"another process was looked at: {r.err!r}")
    files = glob.glob(t.path("t.data.[0-9]*"))
    same("files of children", len(files), 1)
    check(not files[0].endswith(".1"), f"{files[0]} is named after another process")
    compare_sums(t, total(r.out), name=files[0])


def wait_for_file(path):
    end = time.monotonic() + 60
    while not os.path.exists(path):
        check(time.monotonic() < end, f"nobody wrote {path}")
        time.sleep(0.01)
    with open(path, encoding="ascii") as f:
        text = f.read()
    os.unlink(path)
    return text


@test(cases=each((False,), (True,)))
def daemon(t, build, follow):
    """A daemon that outlives its starter, and the recording, does its work to the end."""
    argv = [t.program("safety", build), "daemon", t.path("done")]
    alone = t.run(*argv)
    want = wait_for_file(t.path("done"))
    r = t.record(*argv, opts=["--follow"] if follow else [])
    same("what the daemon said", wait_for_file(t.path("done")), want)
    same("status and output", (r.status, r.out), (alone.status, alone.out))
    compare_sums(t, total(r.out))


@test(cases=each((False,), (True,)))
def no_streams(t, build, futrace_too):
    """Without stdin, stdout and stderr a program, or futrace as well, works as it does alone."""
    argv = [t.program("safety", build), "closed-streams", t.path("done")]
    closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
    alone = t.run(*closed, *argv)
    want = wait_for_file(t.path("done"))
    r = t.run(*closed, *t.record_argv(*argv)) if futrace_too else t.record(*closed, *argv)
    same("status", r.status, alone.status)
    said = wait_for_file(t.path("done"))
    same("what was said", said, want)
    compare_sums(t, total(said))


@test(cases=each(()))
def loader(t, build):
    """Libraries that come and go all the time while tasks run disturb neither them nor their recording."""
    lib = compile_c(t, "lib", "-shared", "-fPIC", out="lib.so")
    os.chmod(lib, 0o755)
    r = both_ways(t, t.program("safety", build), "loader", lib)
    compare_sums(t, total(r.out))


@test(cases=each(("4",), ("16",)))
def few_descriptors(t, build, nr):
    """Started with a limit of a few descriptors, a program runs and is recorded."""
    limited = ["sh", "-c", f'ulimit -n {nr}; exec "$@"', "sh"]
    r = both_ways(t, *limited, t.program("safety", build), "work", "11")
    compare_sums(t, total(r.out))


PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1


def refuse_new_code():
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_MDWE")


@test(cases=each(()))
def no_new_code(t, build):
    """Where a policy forbids that memory becomes code, a program runs as alone and its tasks are recorded."""
    try:
        t.run("true", preexec=refuse_new_code).ok()
    except subprocess.SubprocessError:
        raise Skipped("this kernel has no such policy") from None
    r = both_ways(t, t.program("safety", build), "work", "101", preexec=refuse_new_code)
    same("status", r.status, 0)
    compare_sums(t, total(r.out))


# What needs privileges

@test(cases=each(("chroot",), ("setuid",)), only_root=True)
def gives_up(t, build, what):
    """A program that shuts itself into an empty folder, or gives up root, is recorded to its end."""
    os.mkdir(t.path("empty"))
    r = both_ways(t, t.program("safety", build), what, t.path("empty"))
    compare_sums(t, total(r.out))


@test(cases=each(()), slow=True, as_root=True)
def locks_memory(t, build):
    """mlockall ends as alone: with a limit on locked memory, or as root with all of it."""
    r = both_ways(t, t.program("safety", build), "mlockall")
    compare_sums(t, total(r.out))


@test(slow=True)
def twice_the_slots(t):
    """Of twice as many threads at once as there are places for, every event is recorded or counted as lost."""
    r = both_ways(t, t.program("crowd"), "8192", "3", opts=["--no-roots"])
    if "thread:" in r.err:
        raise Skipped(f"no room for so many threads: {r.err!r}")
    rep, want = t.report(), total(r.out)
    same("polls recorded and lost", sum_polls(rep) + nr_lost(rep, "run-start"), want["polls"])
    check(rep["threads_not_recorded"] > 0, "all threads found a place")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Little memory: what a recording takes counts as the program's, so it takes little, loses events and counts them."""
import contextlib
import os
import signal
import time

from cgroups import MB, group, read, write
from live import Failed, TIMEOUT_S, check, children_of, nr_lost, same, sum_polls, test, total, user_tasks

WORKERS = 4
PAUSE_S = 1  # of the program's CPU time: enough for some hundred megabytes of events
NO_ROOTS = ["--no-roots"]  # of what was lost, nobody knows whether it was a poll of a task or of a root


def wait_for(what, is_so):
    end = time.monotonic() + TIMEOUT_S
    while not is_so():
        if time.monotonic() > end:
            raise Failed(f"it does not come about that {what}")
        time.sleep(0.005)


def has_workers(pid):
    """Is it the storm, with all its threads?"""
    with contextlib.suppress(OSError):
        return read(f"/proc/{pid}/comm") == "storm\n" and len(os.listdir(f"/proc/{pid}/task")) > WORKERS
    return False


def cpu_s(pid):
    """Of a process; of one that is gone, more than anybody waits for."""
    with contextlib.suppress(OSError):
        fields = read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
        if fields[0] != "Z":
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return float("inf")


def record_with_pause(t, *cmd, **more):
    """futrace is kept from reading for a while, in which the rings fill up."""
    p = t.start(t.record_argv(*cmd, opts=NO_ROOTS), **more)
    wait_for("the storm begins", lambda: any(map(has_workers, children_of(p.pid))))
    storm = children_of(p.pid)[0]
    os.kill(p.pid, signal.SIGSTOP)
    wait_for("the storm goes on without futrace", lambda: cpu_s(storm) >= PAUSE_S)
    os.kill(p.pid, signal.SIGCONT)
    return p.finish()


def compare_storm(t, r, tasks, name="t.data"):
    rep, want = t.report(name), total(r.out)
    same("status", r.status, 0)
    same("tasks of the truth", want["tasks"], tasks)
    check(user_tasks(rep), f"nothing was recorded: {r.err!r}")
    same(f"polls recorded and lost ({rep['lost_by_kind']})", sum_polls(rep) + nr_lost(rep, "run-start"), want["polls"])
    check("could not be decoded" not in r.err, f"a ring is broken: {r.err!r}")
    return rep


@test(cases=[(128, "inside"), (256, "inside"), (128, "outside")], only_root=True)
def storm_in_a_group(t, limit, where):
    """A storm in a control group of little memory lives, and what was recorded and what was lost is all that was; also if
    futrace itself is outside of the group."""
    storm = [t.program("storm"), str(WORKERS), "8", "1000000", "1"]
    with group(limit * MB) as (procs, nr_killed):
        if where == "inside":
            r = record_with_pause(t, *storm, preexec=lambda: write(procs, str(os.getpid())))
        else:
            r = record_with_pause(t, "sh", "-c", f'echo $$ > {procs} && exec "$@"', "sh", *storm)
        same("processes that the kernel killed", nr_killed(), 0)
    compare_storm(t, r, 8)


@test()
def little_memory(t):
    """With --max-memory events are lost and counted, and rings take no more than that."""
    r = t.record(t.program("storm"), "4", "8", "500000", "1", opts=[*NO_ROOTS, "--max-memory=512K"])
    rep = compare_storm(t, r, 8)
    check(nr_lost(rep) > 0, "nothing was lost with half a megabyte")


@test(cases=[("0",), ("x",), ("100K",), ("-1",)])
def refused(t, size):
    """A size that is none, or too small to be of use, is refused before the command starts."""
    r = t.run(t.futrace, "record", f"--max-memory={size}", "--", "touch", t.path("started"))
    same("status", r.status, 2)
    check(not os.path.exists(t.path("started")), "the command was started")

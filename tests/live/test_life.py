# SPDX-License-Identifier: MIT OR Apache-2.0
"""A recorded program behaves as it does alone, whatever it does with itself, and nothing of it is lost."""
import glob
import re

from live import check, nr_lost, same, sum_polls, test, total, truth, user_tasks

LEAVES = ("return", "exit", "exit7", "_exit", "abort", "panic", "sigint", "sigterm", "sigkill", "sigsegv",
          "thread_exit")


def both_ways(t, *args, profile="release", **more):
    """Runs it alone and recorded; output and status must not differ. Returns the recorded run."""
    prog = t.program("life", profile)
    alone = t.run(prog, *args, **more)
    recorded = t.record(prog, *args, **more)
    same(f"status of life {' '.join(args)}", recorded.status, alone.status)
    same(f"output of life {' '.join(args)}", recorded.out, alone.out)
    return recorded


def compare_sums(t, want, name="t.data"):
    rep = t.report(name)
    same("lost", nr_lost(rep), 0)
    same("tasks", len(user_tasks(rep)), want["tasks"])
    same("polls", sum_polls(rep), want["polls"])
    return rep


def open_runs(dump):
    """The ids of tasks whose poll had begun and not ended when the recording did."""
    runs = {}
    for stamp, tid, rest in (line.split(None, 2) for line in dump.splitlines()):
        found = re.search(r" run-start task=(\d+) ", rest)
        if found:
            runs.setdefault(tid, []).append(int(found[1]))
        elif " run-end " in rest + " ":
            runs[tid].pop()
    return {task for stack in runs.values() for task in stack}


@test(cases=[(how,) for how in LEAVES], as_root=True)
def leaves(t, how):
    """However a program leaves, with tasks still alive: same status, and not one poll is missing."""
    r = both_ways(t, "leave", how)
    rep = compare_sums(t, total(r.out))
    stayed = [x for x in user_tasks(rep) if "Pending" in x["type"]]
    same("ends of those that stayed", [x["end"] for x in stayed], ["dropped" if how in ("return", "panic") else "alive"] * 7)
    # Who awaits a task knows of its end before its poll returns: a worker may be killed in between.
    cut = open_runs(t.dump()) if how not in ("return", "panic") else set()
    others = [x for x in user_tasks(rep) if x not in stayed and x["id"] not in cut]
    same("other ends", {x["end"] for x in others}, {"completed"})


@test(cases=[("close-fds",), ("limits",), ("chdir",), ("threads",), ("runtimes",), ("names",), ("signals",)])
def lives(t, what):
    """Closed files, limits, another folder, 500 threads, 50 runtimes, odd names and signals change nothing."""
    r = both_ways(t, what)
    compare_sums(t, total(r.out))


@test()
def names_are_clean(t):
    """Names that threads gave themselves are there; control characters and quotes in them are only text."""
    both_ways(t, "names")
    rep = t.report()
    names = [w["name"] for w in rep["workers"]]
    for name in ("my worker", "named by prctl", "life"):
        check(name in names, f"no thread is called {name!r}: {names}")
    check(any(n.startswith("a") and n.endswith("c") and "[31m" in n for n in names), f"names: {names}")
    for cmd in (["info"], ["dump"], ["report"], ["report", "--json"]):
        out = t.run(t.futrace, *cmd, t.path("t.data")).ok().out
        check("\x1b" not in out, f"futrace {' '.join(cmd)} passes an escape on")


@test(as_root=True)
def forks(t):
    """A forked child that goes on without exec runs well and leaves no trace in its parent's recording."""
    r = both_ways(t, "fork")
    compare_sums(t, total(r.out))


@test()
def forks_followed(t):
    """With --follow, a forked child and its child have a file each, with their own tasks."""
    r = t.record(t.program("life"), "fork", opts=["--follow"]).ok()
    says = truth(r.out, "total")
    compare_sums(t, says[-1])
    children = [x for x in says if x["who"] == "child"]
    files = sorted(glob.glob(t.path("t.data.[0-9]*")))
    same("files of children", len(files), len(children))
    reps = [t.report(f) for f in files]
    # The first child became a parent itself after it had spoken.
    check(any(sum_polls(x) == children[-1]["polls"] for x in reps), f"{[sum_polls(x) for x in reps]}: {says}")


@test()
def execs(t):
    """A program that replaces itself by exec is recorded on: the last image is there, exactly."""
    r = both_ways(t, "exec", "2")
    images = truth(r.out, "total")
    rep = t.report()
    polls = (sum(x["polls"] for x in images), images[-1]["polls"])
    check(sum_polls(rep) in polls, f"{sum_polls(rep)} polls, should be {polls[0]} (all) or {polls[1]} (last)")


@test(as_root=True)
def children(t):
    """Children run as without futrace and are not in the recording."""
    r = both_ways(t, "children")
    compare_sums(t, total(r.out))
    same("files", sorted(glob.glob(t.path("t.data*"))), [t.path("t.data")])


@test()
def children_followed(t):
    """With --follow each child has its own file, FILE.PID, that holds its tasks exactly."""
    r = t.record(t.program("life"), "children", opts=["--follow"]).ok()
    compare_sums(t, total(r.out))
    files = sorted(glob.glob(t.path("t.data.[0-9]*")))
    same("files of children", len(files), 4)
    for f in files:
        same(f"polls in {f}", sum_polls(t.report(f)), 15)


@test(as_root=True)
def environment(t):
    """Neither the program nor its children see a variable that they would not see without futrace."""
    r = both_ways(t, "env")
    check("LD_PRELOAD" not in r.out and "FUTRACE" not in r.out, "a variable of ours is visible")
    compare_sums(t, total(r.out))


@test()
def environment_kept(t):
    """A preload library of the user's own stays in the environment, alone."""
    lib = "libpthread.so.0"
    r = both_ways(t, "env", env={"LD_PRELOAD": lib, "MINE": "1"})
    check(f'"LD_PRELOAD"="{lib}"' in r.out, f"the user's own preload is gone:\n{r.out}")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tokio inside a module of Python: in the interpreter itself, and in workers that it forks and that leave by _exit."""
import glob
import os
import re

from live import check, nr_lost, same, test, truth, user_tasks
from test_exact import compare_tasks

DIRECT = """
import libpymodule
libpymodule.run(0)
libpymodule.run(2)
libpymodule.tell()
"""

# The child goes on with what its parent had imported, and the parent's runtime is alive.
FORK = """
import os
import libpymodule
libpymodule.keep(2)
libpymodule.run(0)
pid = os.fork()
if not pid:
    libpymodule.forget()
    libpymodule.run(0)
    libpymodule.run(2)
    print("pid", os.getpid(), flush=True)
    libpymodule.tell()
    os._exit(5)
assert os.waitpid(pid, 0)[1] == 5 << 8
libpymodule.run(2)
libpymodule.tell()
"""

# Servers that fork first load what they serve in each worker.
IMPORTED_IN_CHILD = """
import os
for i in range(2):
    pid = os.fork()
    if not pid:
        import libpymodule
        libpymodule.run(2)
        libpymodule.run(0)
        print("pid", os.getpid(), flush=True)
        libpymodule.tell()
        os._exit(5)
    assert os.waitpid(pid, 0)[1] == 5 << 8
import libpymodule
libpymodule.run(2)
libpymodule.tell()
"""

MULTIPROCESSING = """
import multiprocessing
import os
import libpymodule
def work(n):
    libpymodule.forget()
    libpymodule.run(n)
    print("pid", os.getpid(), flush=True)
    libpymodule.tell()
fork = multiprocessing.get_context("fork")
libpymodule.run(2)
for n in range(3):
    p = fork.Process(target=work, args=(n,))
    p.start()
    p.join()
    assert p.exitcode == 0
libpymodule.tell()
"""

WORKERS = {"fork": (FORK, 1), "imported in child": (IMPORTED_IN_CHILD, 2), "multiprocessing": (MULTIPROCESSING, 3)}


def python(t, script, opts=()):
    """Alone and recorded; truths differ in ids alone, so their number is compared."""
    argv = ["python3", "-c", script]
    env = {"PYTHONPATH": os.path.dirname(t.program("plain")), "PYTHONDONTWRITEBYTECODE": "1"}
    alone = t.run(*argv, env=env).ok()
    r = t.record(*argv, opts=opts, env=env)
    same(f"status ({r})", r.status, 0)
    same("lines of output", r.out.count("\n"), alone.out.count("\n"))
    return r


def processes(out):
    """The truth of each process, in the order in which they ended: the parent's is the last."""
    found, tasks = [], []
    for x in truth(out):
        if x["truth"] == "task":
            tasks.append(x)
        else:
            found.append(tasks)
            tasks = []
    return found


def compare(t, want, name="t.data"):
    rep = t.report(name)
    same("lost", nr_lost(rep), 0)
    check(user_tasks(rep), f"no tasks in {name}")
    compare_tasks(rep, want)
    return rep


@test()
def direct(t):
    """Every task, poll and end of a module's runtime is there, and it is said whose runtime it is."""
    r = python(t, DIRECT)
    rep = compare(t, truth(r.out, "task"))
    for x in rep["runtimes"]:
        same(f"object of {x}", os.path.basename(x["object"]), "libpymodule.so")
    same("children", rep["children_not_followed"], 0)


@test(cases=[(how,) for how in WORKERS])
def followed(t, how):
    """With --follow each forked worker has a file of its own, complete although it left by _exit."""
    script, nr = WORKERS[how]
    r = python(t, script, opts=["--follow"])
    *workers, parent = processes(r.out)
    rep = compare(t, parent)
    same("children that were not followed", rep["children_not_followed"], 0)
    pids = re.findall(r"^pid (\d+)$", r.out, re.M)
    same("workers", (len(workers), len(pids)), (nr, nr))
    same("files", sorted(glob.glob(t.path("t.data.*"))), sorted(t.path("t.data." + p) for p in pids))
    for pid, want in zip(pids, workers):
        compare(t, want, "t.data." + pid)


@test(cases=[(how,) for how in WORKERS])
def not_followed(t, how):
    """Without it the interpreter's own tasks are there alone, and it is said that there were children."""
    script, nr = WORKERS[how]
    r = python(t, script)
    rep = compare(t, processes(r.out)[-1])
    same("files", glob.glob(t.path("t.data.*")), [])
    same("children that were not followed", rep["children_not_followed"], nr)
    check("not followed" in r.err, f"record does not say it: {r.err!r}")
    text = t.run(t.futrace, "report", t.path("t.data")).ok().out
    check(f"{nr} forked and not followed" in text, f"report does not say it: {text[:600]}")


@test(cases=[("children",), ("env",)])
def other_programs(t, what):
    """Children that become another program, however they are started, are not said to be missing."""
    t.record(t.program("life"), what).ok()
    same("children that were not followed", t.report()["children_not_followed"], 0)


MANY = """
import os
import libpymodule
r, w = os.pipe()
pids = []
for i in range(80):
    pid = os.fork()
    if not pid:
        os.close(w)
        libpymodule.run(0)
        os.read(r, 1)  # until all are there
        os._exit(i % 7)
    pids.append(pid)
libpymodule.run(0)
os.close(w)
print(sum(os.waitpid(p, 0)[1] == i % 7 << 8 for i, p in enumerate(pids)), "ended well")
libpymodule.tell()
"""


@test()
def too_many(t):
    """Of more workers than can be followed at a time all run well; those that are not recorded are counted."""
    r = python(t, MANY, opts=["--follow"])
    check("80 ended well" in r.out, f"not all workers ended well: {r.out[-300:]!r}")
    rep = compare(t, truth(r.out, "task"))
    files = glob.glob(t.path("t.data.*"))
    same("workers with a file, and others", len(files) + rep["children_not_followed"], 80)
    check(0 < rep["children_not_followed"] <= 80 - 63, f"{rep['children_not_followed']} were not followed")
    for f in files:
        same(f"tasks in {f}", len(user_tasks(t.report(f))), 12)


ENDS = """
import os
import signal
import libpymodule
for how in (0, 5, signal.SIGKILL, signal.SIGSEGV):
    pid = os.fork()
    if not pid:
        libpymodule.run(0)
        if how >= 9:
            os.kill(os.getpid(), how)
        os._exit(how)
    print("pid", pid, flush=True)
    os.waitpid(pid, 0)
"""


@test()
def ends(t):
    """How a followed worker ended is said as it was, or, by a kernel that does not tell, that it is not known."""
    r = python(t, ENDS, opts=["--follow"])
    tells = tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2]) >= (6, 15)
    wanted = [("exited", 0), ("exited", 5), ("signaled", 9), ("signaled", 11)]
    pids = re.findall(r"^pid (\d+)$", r.out, re.M)
    same("workers", len(pids), len(wanted))
    for pid, want in zip(pids, wanted):
        end = t.report("t.data." + pid)["recording"]
        got = end["end"], end["status"]
        check(got == want or (not tells and got == ("gone", None)), f"the end of {pid}: {got}, should be {want}")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that switch stacks in the middle of a poll: they run as they do alone, and every poll is told of the right task."""
import collections

from live import check, nr_lost, same, test, total, truth, user_tasks
from test_hostile import both_ways
from test_recompute import agree

BUILD = "async-task-release"
EXECUTORS = ("tokio", "async-task")


def compare_polls(rep, tasks, is_tokio):
    """Each task by its id where it has one; otherwise how many there are with so many polls."""
    if is_tokio:
        got = {x["id"]: (x["polls"], x["end"] == "completed") for x in user_tasks(rep)}
        want = {x["id"]: (x["polls"], x["ended"]) for x in tasks}
    else:
        got = collections.Counter((x["polls"], x["end"] == "completed") for x in user_tasks(rep))
        want = collections.Counter((x["polls"], x["ended"]) for x in tasks)
    same("polls and ends of all tasks", got, want)


def record_both(t, executor, *mode, opts=()):
    r = both_ways(t, t.program("coroutines", BUILD), executor, *mode, opts=opts)
    same(f"status ({r})", r.status, 0)
    same("damaged", total(r.out)["damaged"], 0)
    return r


@test(cases=[(executor, mode, opts) for executor in EXECUTORS for mode in ("interleave", "abandon 20", "move", "killed")
             for opts in ("", "--futures")])
def exact(t, executor, mode, opts):
    """Polls that are left and gone on with in any order, left for ever, ended on another thread, or by the end of theirs:
    each has its start and its end, and the program's own stacks are as they were. Of inner futures, ends may be lost."""
    r = record_both(t, executor, *mode.split(), opts=tuple(opts.split()))
    rep = t.report()
    same("lost", nr_lost(rep), nr_lost(rep, "future-end") if opts else 0)
    compare_polls(rep, truth(r.out, "task"), executor == "tokio")


@test(cases=[(executor,) for executor in EXECUTORS])
def too_many(t, executor):
    """More polls are left for ever than can be remembered: ends are counted as lost, polls are all there."""
    r = record_both(t, executor, "abandon", "600")
    rep = t.report()
    same("lost starts", nr_lost(rep, "run-start"), 0)
    check(nr_lost(rep, "run-end") > 0, "nothing was lost: this tests nothing")
    same("polls", sum(x["polls"] for x in user_tasks(rep)), total(r.out)["polls"])


@test(cases=[(executor, mode) for executor in EXECUTORS for mode in ("interleave", "move", "abandon 20")])
def recomputed(t, executor, mode):
    """All numbers of the report follow from the events, by a computation of its own."""
    t.record(t.program("coroutines", BUILD), executor, *mode.split()).ok()
    agree(t)

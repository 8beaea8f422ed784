# SPDX-License-Identifier: MIT OR Apache-2.0
"""Several runtimes in one process are told apart, and tasks and threads belong to the right one."""
import json
from collections import defaultdict

from live import check, nr_lost, same, test, truth, user_tasks

FLAVOURS = {"multi_thread": 2, "current_thread": 61, "local_runtime": 1, "local": 2}
# Its LocalRuntime has tasks by `tokio::spawn` alone, so that only debug info of types tells what it is.
WITHOUT_TYPES = {"multi_thread": 2, "current_thread": 62, "local": 2}
TRIES = 10


def runtimes(t, profile):
    """Each task and closure belongs to the runtime or LocalSet that it says, workers to those whose tasks they run."""
    r = t.record(t.program("instances", profile)).ok()
    rep, want = t.report(), {w["id"]: w for w in truth(r.out, "task")}
    same("lost", nr_lost(rep), 0)
    got = {x["id"]: x for x in user_tasks(rep)}
    same("ids", sorted(got), sorted(want))
    by_id = {x["id"]: x for x in rep["runtimes"]}
    same("runtimes", sorted(x["owner"] or 0 for x in rep["runtimes"]), sorted({w["owner"] for w in want.values()}))
    same("owners", {i: by_id[x["runtime_id"]]["owner"] for i, x in got.items()}, {i: w["owner"] for i, w in want.items()})
    for x in rep["runtimes"]:
        mine = [y for y in rep["tasks"] if y["runtime_id"] == x["id"]]  # with its root futures
        same(f"sums of {x}", (x["tasks"], x["polls"]), (len(mine), sum(y["polls"] for y in mine)))
    if profile != "stripped":
        nr = defaultdict(int)
        for x in rep["runtimes"]:
            nr[x["flavour"]] += 1
        same("flavours", dict(nr), FLAVOURS if profile == "dev" else WITHOUT_TYPES)
    check_threads(rep, want, by_id)


def check_threads(rep, want, by_id):
    """Whoever ran a task is a worker of its runtime, of a LocalSet only if it runs nothing else; the rest is the pool."""
    sets = {x["owner"] for x in rep["runtimes"] if x["flavour"] == "local"}
    tasks, closures = defaultdict(set), defaultdict(set)
    for w in want.values():
        (closures if w["kind"] == "blocking" else tasks)[w["tid"]].add(w["owner"])
    workers = {w["tid"]: w for w in rep["workers"]}
    for tid, owners in tasks.items():
        same(f"kind of {workers[tid]}", workers[tid]["kind"], "worker")
        mine = by_id[workers[tid]["runtime_id"]]["owner"]
        check(mine in (owners - sets or owners), f"{workers[tid]} is of {mine}, and ran tasks of {owners}")
    for tid, owners in closures.items():
        if tid not in tasks:
            same(f"kind of {workers[tid]}", workers[tid]["kind"], "blocking")
            same(f"runtime of {workers[tid]}", {by_id[workers[tid]["runtime_id"]]["owner"]}, owners)


test(cases=[(p,) for p in ("dev", "release", "lto", "stripped")])(runtimes)


@test(cases=[("dev",), ("release",), ("lto",)])
def idle_workers(t, profile):
    """A worker that runs no task is not of the runtime that whoever launched it has run."""
    t.record(t.program("instances", profile), "idle").ok()
    rep = t.report()
    flavours = {x["id"]: x["flavour"] for x in rep["runtimes"]}
    same("runtimes", sorted(flavours.values()), ["current_thread", "multi_thread", "multi_thread"])
    workers = [w for w in rep["workers"] if w["name"] == "tokio-rt-worker" and w["kind"] == "worker"]
    wrong = [w for w in workers if flavours.get(w["runtime_id"]) == "current_thread"]
    same("workers of current_thread", wrong, [])
    check(all(x["workers"] <= 6 for x in rep["runtimes"]), f"too many workers: {rep['runtimes']}")


@test()
def idle_workers_without_symbols(t):
    """A worker that runs no task is told by the one that does, of the same type: that is all that a stripped program shows."""
    t.record(t.program("instances", "stripped"), "idle").ok()
    kinds = [w["kind"] for w in t.report()["workers"] if w["name"] == "tokio-rt-worker"]
    same("workers of two runtimes with six each", kinds.count("worker"), 12)


@test(cases=[("dev",), ("release",), ("lto",)])
def no_tasks(t, profile):
    """A runtime that only waits in block_on is one of its own, with its root and its workers."""
    r = t.record(t.program("instances", profile), "alone").ok()
    rep, want = t.report(), truth(r.out, "runtime")
    same("lost", nr_lost(rep), 0)
    roots = sorted((x for x in rep["tasks"] if x["kind"] == "block_on"), key=lambda x: x["id"])
    same("roots", len(roots), len(want))
    by_id = {x["id"]: x for x in rep["runtimes"]}
    got = [by_id[x["runtime_id"]] for x in roots]
    same("runtimes", len({x["id"] for x in got}), len(want))
    same("all runtimes", len(by_id), len(want))
    same("flavours", [x["flavour"] for x in got], ["multi_thread" if w["workers"] else "current_thread" for w in want])
    same("workers", [x["workers"] for x in got if x["flavour"] == "multi_thread"], [w["workers"] for w in want if w["workers"]])
    same("tasks", [x["tasks"] for x in got], [w["tasks"] + 1 for w in want])


@test(cases=[("dev",), ("release",)])
def same_memory(t, profile):
    """Where one runtime had its memory one of another flavour may have it: each is one, and has its own root and tasks."""
    r = t.record(t.program("instances", profile), "after").ok()
    rep, want = t.report(), {w["id"]: w["owner"] for w in truth(r.out, "task")}
    same("lost", nr_lost(rep), 0)
    same("flavours", [x["flavour"] for x in rep["runtimes"]], ["multi_thread", "current_thread"])
    by_id = {x["id"]: x["owner"] for x in rep["runtimes"]}
    same("owners", {x["id"]: by_id.get(x["runtime_id"]) for x in user_tasks(rep)}, want)
    roots = sorted((x for x in rep["tasks"] if x["kind"] == "block_on"), key=lambda x: x["id"])
    same("roots", [x["runtime_id"] for x in roots], [x["id"] for x in rep["runtimes"]])


@test(cases=[("dev", "current_thread"), ("release", None)])
def ready_at_once(t, profile, current):
    """A runtime that ran no task and whose root was ready at once has the flavour that debug info tells of that root's stack."""
    t.record(t.program("instances", profile), "ready").ok()
    rep = t.report()
    by_id = {x["id"]: x["flavour"] for x in rep["runtimes"]}
    roots = sorted((x for x in rep["tasks"] if x["kind"] == "block_on"), key=lambda x: x["id"])
    same("polls", [x["polls"] for x in roots], [1] * 3)
    same("flavours", [by_id[x["runtime_id"]] for x in roots], [current, "multi_thread", current])


@test()
def runtime_filter(t):
    """A filter by runtime leaves its tasks, and the text of a report has a line for each."""
    t.record(t.program("instances", "release")).ok()
    rep = t.report()
    second = rep["runtimes"][1]
    only = json.loads(t.run(t.futrace, "report", "--json", "--filter=runtime=1", t.path("t.data")).ok().out)
    same("tasks", len(only["tasks"]), second["tasks"])
    same("runtimes", {x["runtime_id"] for x in only["tasks"]}, {1})
    text = t.run(t.futrace, "report", t.path("t.data")).ok().out
    lines = [line for line in text.split("\n") if line.startswith("runtime ")]
    same("lines", len(lines), 8)
    check("tokio multi_thread #1: " in lines[1], lines)
    nr_unknown = any(x["runtime_id"] is None for x in rep["tasks"])  # a line of their own
    check(f" {len(rep['runtimes']) + nr_unknown - 7} more" in lines[7], lines)


@test(cases=[(p,) for p in ("dev", "release", "lto", "stripped")])
def polling_is_not_idle(t, profile):
    """A thread that looks at its driver without waiting for it is not asleep: it sleeps as often as it parks."""
    for _ in range(TRIES):
        r = t.record(t.program("instances", profile), "driver").ok()
        rep, want = t.report(), truth(r.out, "driver")[0]
        same("lost", nr_lost(rep), 0)
        check(sum(x["polls"] for x in rep["tasks"]) > 1000 * want["parks"], f"it parks too often: {want}")
        worker, = [w for w in rep["workers"] if w["tid"] == want["tid"]]
        # on a busy machine a timer may be due before its thread has parked, which then does not wait: another try
        if worker["sleeps"] >= want["parks"]:
            break
    same("sleeps", worker["sleeps"], want["parks"])
    check(worker["asleep_ns"] < want["life_ns"], f"asleep all the time: {worker}, {want}")
    table = json.loads(t.run(t.futrace, "report", "--json", "--by=thread", t.path("t.data")).ok().out)["table"]["rows"]
    row, = [x for x in table if x["tid"] == want["tid"]]
    same("the same in the table", (row["sleeps"], row["asleep_ns"]), (worker["sleeps"], worker["asleep_ns"]))
    # what is neither busy nor asleep: the runtime's own work, polling the driver included
    same("the rest", row["rest_ns"], rep["duration_ns"] - row["busy_ns"] - row["asleep_ns"])


@test(cases=[(p, m) for p in ("dev", "release") for m in ("two ct", "two mt 2")])
def roots(t, profile, mode):
    """What a thread waits for in block_on belongs to the runtime that it waits in, as the tasks that it runs there do."""
    r = t.record(t.program("flavours", profile), *mode.split()).ok()
    rep = t.report()
    of_roots = {x["id"]: x["runtime_id"] for x in rep["tasks"] if x["kind"] == "block_on"}
    same("roots", sorted(of_roots), [1, 2])
    of_tasks = {x["id"]: x["runtime_id"] for x in user_tasks(rep)}
    for nr, label in (1, "reaches_over"), (2, "last_on_second"):
        inside = {of_tasks[w["id"]] for w in truth(r.out, "task") if w["label"] == label}
        same(f"runtime of root {nr}", {of_roots[nr]}, inside)

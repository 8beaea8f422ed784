# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report by machine against programs that block their threads on purpose, on three runtimes.

Tasks of async-task have no ids; of these programs no two tasks are polled equally often, so that tells who is who.
"""
import csv
import io
import json
import os
import sys

from live import Failed, check, nr_lost, same, test, truth, total

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../oracle"))
import recompute  # noqa: E402

BLOCKADE_NS = 100_000_000  # polls that block take 120 ms
SLOW_NS = BLOCKADE_NS // 2
TRIES = 10
THREADS = {"SMOL_THREADS": "3", "ASYNC_STD_THREAD_COUNT": "3"}  # and as many of Tokio
PROGRAMS = [("machines", "dev"), ("machines", "release"), ("machines-async-std", "async-task-dev"),
            ("machines-async-std", "async-task-release"), ("machines-smol", "async-task-dev"),
            ("machines-smol", "async-task-release")]


def record(t, program, build, *args):
    """On a busy machine any poll may take long, and the program says if one did: another try."""
    for _ in range(TRIES):
        r = t.record(t.program(program, build), *args, env=THREADS).ok()
        if total(r.out)["slowest_ns"] < SLOW_NS:
            same("lost", nr_lost(t.report()), 0)
            return r
    raise Failed(f"{TRIES} times a poll that does nothing took {SLOW_NS} ns")


def parts_of(t, *options):
    """Machines, tasks and parents as the JSON has them, and the rest of the table; without tasks of the runtime itself."""
    out = t.run(t.futrace, "report", "--json", "--by=machine", "--limit=0", f"--threshold=blockade={BLOCKADE_NS}ns",
                "--filter=type~machines::Task", *options, t.path("t.data")).ok().out
    table = json.loads(out)["table"]
    same("parts", [part["by"] for part in table["parts"]], ["task", "parent"])
    return table["rows"], table["parts"][0]["rows"], table["parts"][1]["rows"], table


@test(cases=PROGRAMS)
def counts(t, program, build):
    """Tasks, parents, children, blockades and what each thread did are what the program itself counted."""
    r = record(t, program, build)
    machines, tasks, parents, table = parts_of(t)
    want = truth(r.out, "task")
    same("tasks that are polled equally often", len({w["polls"] for w in want}), len(want))
    polls = {w["nr"]: w["polls"] for w in want}
    ids = {x["id"]: x["polls"] for x in tasks}  # by what the program knows them
    same("blockades", {x["polls"]: x["blockades"] for x in tasks}, {w["polls"]: w["blockades"] for w in want})
    same("parents", {x["polls"]: ids.get(x["parent"]) for x in tasks}, {w["polls"]: polls.get(w["parent"]) for w in want})
    same("ends", {x["polls"]: x["end"] == "completed" for x in tasks}, {w["polls"]: w["over"] for w in want})
    families = {}
    for w in want:
        if w["parent"] is not None:
            families.setdefault(polls[w["parent"]], []).append(w["blockades"] > 0)
    same("families", {ids[x["id"]]: (x["children"], x["blocked_children"]) for x in parents},
         {k: (len(v), sum(v)) for k, v in families.items()})
    keys = ("tasks", "polls", "blockades", "completed")
    same("machines", {x["tid"]: [x[k] for k in keys] for x in machines if x["polls"]},
         {w["tid"]: [w[k] for k in keys] for w in truth(r.out, "machine")})
    same("ghosts", table["ghost_tasks"], 0)
    check_times(tasks, want, machines, total(r.out)["elapsed_ns"])


def check_times(tasks, want, machines, elapsed_ns):
    """None is shorter than the program measured inside of it, or longer than all of it; means are those of the tasks."""
    least = {w["polls"]: w["least_ns"] for w in want}
    for x in tasks:
        if x["end"] == "completed":
            check(least[x["polls"]] * 0.999 <= x["run_ns"], f"{x} took at least {least[x['polls']]}")  # two clocks
            check(x["run_ns"] <= elapsed_ns + BLOCKADE_NS, f"{x} took at most {elapsed_ns}")
    check(max(x["run_ns"] or 0 for x in tasks) > 2 * 10**9, "no task took more than two seconds")
    spent = sum((x["mean_completion_ns"] or 0) * x["completed"] for x in machines)
    exact = sum(x["run_ns"] for x in tasks if x["end"] == "completed")
    check(0 <= exact - spent < sum(x["completed"] for x in machines) + 1, f"means add up to {spent}, the tasks took {exact}")


@test(cases=PROGRAMS)
def never_running(t, program, build):
    """Threads that are there to run tasks and never did are counted, and no others."""
    r = record(t, program, build, "idle")
    machines, tasks, _, table = parts_of(t)
    same("tasks", len(tasks), 1)
    ran = {w["tid"] for w in truth(r.out, "machine")}
    names = {w["tid"]: w["name"].rstrip("0123456789") for w in truth(r.out, "thread")}
    alike = {tid for tid, name in names.items() if name in {names[tid] for tid in ran}}
    same("threads", len(alike), 3)
    same("machines", {x["tid"] for x in machines}, alike)
    same("never running", table["machines_never_running"], len(alike - ran))


@test(cases=PROGRAMS[1::2])
def late(t, program, build):
    """What was spawned before the part that is looked at is a ghost, of which neither run nor mean is told."""
    record(t, program, build)
    _, whole, _, _ = parts_of(t)
    start = max(min(x["end_ns"] for x in whole if x["end"] == "completed"), *(x["spawn_ns"] for x in whole)) + 1
    machines, tasks, _, table = parts_of(t, f"--time-range={start}ns..")
    check(0 < len(tasks) < len(whole), f"{len(tasks)} of {len(whole)} tasks are left")
    same("ghosts", table["ghost_tasks"], len(tasks))
    same("runs and means", {x["run_ns"] for x in tasks} | {x["mean_completion_ns"] for x in machines}, {None})
    same("spawns", {(x["spawn"], x["spawn_ns"]) for x in tasks}, {("first_seen", start)})


@test(cases=PROGRAMS[1::2])
def forms(t, program, build):
    """CSV has the rows of the JSON, the text those of both, and an independent computation all of the numbers."""
    record(t, program, build)
    parts = parts_of(t)
    options = ["--by=machine", f"--threshold=blockade={BLOCKADE_NS}ns", "--filter=type~machines::Task", t.path("t.data")]
    lines = list(csv.DictReader(io.StringIO(t.run(t.futrace, "report", "--csv", *options).ok().out)))
    for name, rows in zip(("machine", "task", "parent"), parts):
        same(name, [line["blockades"] or line["blocked_children"] for line in lines if line["part"] == name],
             [str(row.get("blockades", row.get("blocked_children"))) for row in rows])
    text = t.run(t.futrace, "report", *options, env={"COLUMNS": "120"}).ok().out
    for words in ("MACHINES", "TASKS", "PARENT TASKS", "Machines never seen running a task: 0",
                  "Ghost tasks, whose spawn was not seen: 0", "A blockade is a poll of at least: 100ms"):
        check(f"\n{words}\n" in text, f"no {words!r} in {text}")
    same("differences", recompute.check(t.futrace, t.path("t.data"), is_whole=True), [])

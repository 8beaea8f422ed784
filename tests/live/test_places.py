# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where tasks are spawned is the line that spawned them, or is said to be unknown; never another line."""
import collections
import json

from live import check, nr_lost, same, test, user_tasks

WITH_LINES = ("dev", "profiling", "lto-lines")
RUNTIMES = (("ct",), ("mt", "2"))


def told(out):
    """By task what the program says of itself."""
    return {line["task"]: line for line in map(json.loads, out.splitlines())}


def spawned(t, profile, runtime, *options):
    """The truth, and the report; and the program must not have been disturbed."""
    prog = t.program("places", profile)
    r = t.record(prog, *runtime, opts=options).ok()
    alone = collections.Counter(x["how"] for x in told(t.run(prog, *runtime).ok().out).values())
    truth = told(r.out)
    same("tasks of each kind", collections.Counter(x["how"] for x in truth.values()), alone)
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    same("tasks", sorted(x["id"] for x in user_tasks(rep)), sorted(truth))
    return truth, rep


def line_of_each(t, profile, runtime):
    """Every task has the line of its own spawn: through JoinSet, helpers, awaits, libraries, odd threads, panics."""
    truth, rep = spawned(t, profile, runtime)
    for task in user_tasks(rep):
        want = truth[task["id"]]
        check((task["spawned_at"] or "").endswith("/" + want["place"]),
              f"{want['how']}: {task['spawned_at']}, should be {want['place']}")
    table = json.loads(t.run(t.futrace, "report", "--json", "--by=spawn", "--limit=0", t.path("t.data")).ok().out)
    rows = {row["spawned_at"].split("/tests/programs/")[-1]: row["tasks"] for row in table["table"]["rows"]}
    want = collections.Counter(x["place"] for x in truth.values())
    want.update(x["spawned_at"].split("/tests/programs/")[-1] for x in rep["tasks"] if x["kind"] == "block_on")
    same("tasks by place", rows, dict(want))


test(cases=[(p, r) for p in (*WITH_LINES, "jemalloc") for r in RUNTIMES])(line_of_each)
test(cases=[("mimalloc", r) for r in RUNTIMES], slow=True)(line_of_each)


@test(cases=[("release",), ("stripped",)])
def unknown_without_lines(t, profile):
    """Without debug info no place is known, and none is made up."""
    _, rep = spawned(t, profile, ("mt", "2"))
    same("places", {x["spawned_at"] for x in user_tasks(rep)}, {None})


# Tokio does not know who calls spawn_local, and a library is not the program: without lines, that is all there is.
BY_LIBRARY = {"spawn_local": None, "library": "vendor/wrapper/src/lib.rs:20", "library's task": "vendor/wrapper/src/lib.rs:25"}


@test(cases=[(r, s) for r in RUNTIMES for s in ("symbols", "stripped")])
def kept_by_tokio(t, runtime, how):
    """With tokio_unstable each task knows its place: told without debug info and symbols, and whoever allocates."""
    prog = t.program("places", "unstable")
    if how == "stripped":
        t.run("strip", "-o", t.path("places"), prog).ok()
        prog = t.path("places")
    r = t.record(prog, *runtime).ok()
    truth, rep = told(r.out), t.report()
    same("lost", nr_lost(rep), 0)
    same("tasks", sorted(x["id"] for x in user_tasks(rep)), sorted(truth))
    same("places", {x["id"]: x["spawned_at"] for x in user_tasks(rep)},
         {i: BY_LIBRARY.get(x["how"], x["place"]) for i, x in truth.items()})
    dump = t.run(t.futrace, "dump", t.path("t.data")).ok().out
    tasks = [line.split("task=")[1].split()[0] for line in dump.splitlines() if " spawn-place " in line]
    same("tasks that it is told of, once each", len(set(tasks)), len(tasks))


@test()
def not_wanted(t):
    """With --no-spawn-places there are none, and no event of theirs; all else is as before."""
    _, rep = spawned(t, "dev", ("mt", "2"), "--no-spawn-places")
    same("places", {x["spawned_at"] for x in user_tasks(rep)}, {None})
    dump = t.run(t.futrace, "dump", t.path("t.data")).ok().out
    check(" spawn " in dump and "spawn-stack" not in dump, "a stack was looked at")


@test()
def other_allocator(t):
    """A program with an allocator that nobody knows: the spawn is not seen, so its place is not known."""
    t.record(t.program("ownalloc", "dev"), "ct").ok()
    same("places", {x["spawned_at"] for x in user_tasks(t.report())}, {None})

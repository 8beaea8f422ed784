# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tasks, polls per id, parents, ends and kinds, compared one by one with what the program counted itself."""
import json
import os

from live import Failed, Skipped, check, nr_lost, same, sum_polls, test, total, truth, user_tasks

PROFILES = ("dev", "release", "lto", "stripped")
MODES = ("ct", "mt 1", "mt 2", "mt 4")


def compare_tasks(rep, want):
    """One line for each task that differs, all of them together."""
    got = {}
    for x in user_tasks(rep):
        check(x["id"] not in got, f"task {x['id']} is reported twice")
        got[x["id"]] = x
    wrong = []
    for w in want:
        g = got.pop(w["id"], None)
        if g is None:
            wrong.append(f"{w['label']} {w['id']} is missing")
            continue
        for key in ("polls", "parent", "end", "kind"):
            if g.get(key, "absent") != w[key]:
                wrong.append(f"{w['label']} {w['id']}: {key} {g.get(key, 'absent')}, should be {w[key]}"
                             f" (polls {w['polls']}, {w['end']}, {w['kind']})")
    wrong += [f"task {i} ({g['kind']}, {g['type']}, {g['polls']} polls) does not exist" for i, g in got.items()]
    if wrong:
        raise Failed(f"{len(wrong)} differences in {len(want)} tasks:\n       " + "\n       ".join(wrong[:25]))


def check_times(rep):
    """Each life is split without a nanosecond left over."""
    for x in user_tasks(rep):
        parts = x["busy_ns"] + x["sched_ns"] + x["idle_ns"] + x["unknown_ns"]
        if x["end_ns"] is None:
            same(f"end of a task without end_ns: {x}", x["end"], "alive")
            continue
        same(f"life of {x}", parts, x["end_ns"] - x["spawn_ns"])
        check(0 <= x["spawn_ns"] <= x["end_ns"] <= rep["duration_ns"], f"times of {x}")
        check(x["max_poll_ns"] <= x["busy_ns"], f"longest poll of {x}")
        same(f"spawn of {x}", x["spawn"], "exact")
        same(f"unknown time of {x}", x["unknown_ns"], 0)


def check_wakes(rep):
    """Every poll but the first follows one transition to runnable."""
    for x in user_tasks(rep):
        if x["kind"] == "task" and x["end"] in ("completed", "panicked"):
            same(f"wakes of {x}", x["wakes"], x["polls"] - 1)
        check(0 <= x["self_wakes"] <= x["wakes"], f"self-wakes of {x}")


def check_report(rep, out):
    same("lost", nr_lost(rep), 0)
    compare_tasks(rep, truth(out, "task"))
    check_times(rep)
    check_wakes(rep)


def check_runtimes(rep, mode, stripped=False):
    """Every instance is named, and each task belongs to one of its flavour."""
    flavour = "current_thread" if mode == "ct" else "multi_thread"
    by_id = {r["id"]: r for r in rep["runtimes"]}
    check(by_id, "no runtime is reported")
    for r in rep["runtimes"]:
        same("name and version", (r["name"], r["version"]), ("tokio", "1.54.1"))
        check(r["object"].endswith("/exact"), f"object of {r}")
    for x in user_tasks(rep):
        same(f"runtime of {x}", x["runtime"], "tokio")
        # whose pool a closure is on shows by who spawned it: if that was the root, it is not known
        is_of_root = x["kind"] == "blocking" and x.get("parent") is None and len(by_id) > 1
        check(x["runtime_id"] in by_id or is_of_root, f"runtime of {x}")
        if x["kind"] == "task" and not stripped:
            same(f"flavour of {x}", by_id[x["runtime_id"]]["flavour"], flavour)


@test(cases=[(p, m) for p in PROFILES for m in MODES], as_root=True)
def all_tasks(t, profile, mode):
    """Hundreds of tasks of many types are reported exactly: tasks, polls, parents, ends, kinds, nothing lost."""
    for _ in range(t.runs):
        r = t.record(t.program("exact", profile), *mode.split()).ok()
        rep = t.report()
        check_report(rep, r.out)
        check_runtimes(rep, mode, profile == "stripped")


@test(cases=[(p, m) for p in ("release", "lto") for m in ("mt 2", "mt 4")])
def requeued_and_completed(t, profile, mode):
    """A task that completes on another worker while its last poll is being left ends once, with exact polls."""
    for _ in range(t.runs):
        r = t.record(t.program("race", profile), *mode.split()).ok()
        check_report(t.report(), r.out)


@test(cases=[("mt 2",), ("mt 4",)])
def shut_down_while_running(t, mode):
    """A task that a worker runs, or begins to run, while another one shuts it down was dropped, and once."""
    for _ in range(t.runs):
        r = t.record(t.program("shutdown"), *mode.split()).ok()
        rep = t.report()
        same("lost", nr_lost(rep), 0)
        want = {w["id"]: w for w in truth(r.out, "task")}
        got = user_tasks(rep)
        same("ids", sorted(x["id"] for x in got), sorted(want))
        for x in got:
            w = want[x["id"]]
            same(f"end of {x}", x["end"], w["end"])
            # Whether the runtime's poll called the future at all in that moment cannot always be seen.
            check(w["polls"] <= x["polls"] <= w["polls"] + 1, f"polls of {x}, should be {w['polls']}")
        check_times(rep)


@test(cases=[("dev",), ("stripped",)])
def types_are_named(t, profile):
    """A type carries its module path where debug info has it, and a number of its own where nothing is left."""
    r = t.record(t.program("exact", profile), "mt", "2").ok()
    rep = t.report()
    types = {}
    for w in truth(r.out, "task"):
        g = next(x for x in user_tasks(rep) if x["id"] == w["id"])
        types.setdefault(w["label"], set()).add(g["type"])
        check(g["type"], f"task without any type: {g}")
        if profile == "dev" and w["kind"] == "task":
            # A future that was boxed by the runtime, or by us, still has its name.
            names = {"sleeper": "exact::sleeper", "big_future": "exact::big_future", "tree": "dyn",
                     "countdown": "exact::Countdown", "never": "exact::never", "yielder": "exact::yielder"}
            check(names.get(w["label"], "") in g["type"], f"{w['type']} is called {g['type']}")
            if w["label"] == "big_future":
                check("Pin<" not in g["type"] and "Box<" not in g["type"], f"boxed: {g['type']}")
                check(g["location"] and "exact.rs" in g["location"], f"location {g.get('location')!r}")
    check(types["sleeper"].isdisjoint(types["countdown"]), "two types under one name")


@test()
def v0_names(t):
    """v0 names hold the whole type, so symbols alone are enough."""
    t.record(t.program("exact", "relr-v0"), "mt", "2").ok()
    names = {x["type"] for x in user_tasks(t.report())}
    check(any("exact::yielder" in n for n in names), f"types: {sorted(names)[:8]}")


@test(cases=[("ct",), ("mt 2",)])
def own_allocator(t, mode):
    """Where the allocation of a task is not seen, polls and ends are exact and what is unknown is not guessed."""
    r = t.record(t.program("ownalloc"), *mode.split()).ok()
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    got = {x["id"]: x for x in user_tasks(rep)}
    want = truth(r.out, "task")
    same("ids", sorted(got), sorted(w["id"] for w in want))
    for w in want:
        g = got[w["id"]]
        same(f"polls and end of {g}", (g["polls"], g["end"]), (w["polls"], w["end"]))
        if g["spawn"] == "exact" or "parent" in g:
            same(f"parent of {g}", g.get("parent", "absent"), w["parent"])
    check(any(x["spawn"] == "first_seen" for x in got.values()), "no task is said to be first seen")


STORM_WORKERS = 2


def storm_polls(t, rep):
    """Polls recorded, with those of the workers' main loops: which of the lost ones were such a loop nobody can tell. (One
    that begins when all is over, on the thread of another one, finds a full ring.)"""
    info = json.loads(t.run(t.futrace, "info", "--json", t.path("t.data")).ok().out)
    starts = info["events_by_kind"]["run-start"]
    check(0 <= starts - sum_polls(rep) <= STORM_WORKERS, f"{sum_polls(rep)} polls of tasks, {starts} of all")
    return starts


@test(cases=[("4K",), ("64K",)])
def tiny_rings(t, size):
    """With rings far too small for a storm, polls recorded and polls lost are together the truth."""
    # Whose polls were lost is not told: a root future's would be among them.
    for _ in range(t.runs):
        r = t.record(t.program("storm"), str(STORM_WORKERS), "101", "2003", "1",
                     opts=["--no-roots", "--ring-size", size]).ok()
        rep = t.report()
        want = total(r.out)["polls"] + STORM_WORKERS
        got, lost = storm_polls(t, rep), nr_lost(rep, "run-start")
        check(got + lost == want, f"{got} polls recorded + {lost} lost, should be {want}; lost: {rep['lost_by_kind']}")
        same("polls begun and ended that were lost", nr_lost(rep, "run-end"), lost)


@test(alone=True)
def storm_loses_nothing(t):
    """The default rings lose nothing in a storm of polls, unless the machine has no time for futrace at all."""
    for _ in range(5):
        r = t.record(t.program("storm"), str(STORM_WORKERS), "101", "20011", "1", opts=["--no-roots"]).ok()
        rep, want = t.report(), total(r.out)
        same("tasks", len(user_tasks(rep)), want["tasks"])
        same("polls recorded and lost", storm_polls(t, rep) + nr_lost(rep, "run-start"),
             want["polls"] + STORM_WORKERS)
        if nr_lost(rep) == 0:
            return
    load = os.getloadavg()[0]
    if load > 2 * os.cpu_count():
        raise Skipped(f"others keep this machine busy (load {load:.0f}): all that was lost was counted")
    raise Failed(f"{nr_lost(rep)} events lost, and some in each of four storms before")

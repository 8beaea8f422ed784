# SPDX-License-Identifier: MIT OR Apache-2.0
"""Threads by role, name and sleep; polls that block their worker."""
from live import Failed, check, same, test, truth, user_tasks


@test(cases=[("mt 1",), ("mt 2",), ("mt 4",)])
def roles(t, mode):
    """Each worker and blocking thread is there once, with its tid, its name and the right role."""
    r = t.record(t.program("blocks"), *mode.split()).ok()
    rep = t.report()
    got = {}
    for w in rep["workers"]:
        check(w["tid"] not in got, f"thread {w['tid']} twice")
        got[w["tid"]] = w
    for want in truth(r.out, "thread"):
        g = got.get(want["tid"])
        if g is None:
            if want["role"] == "other":
                continue
            raise Failed(f"thread {want} is missing from workers")
        same(f"role and name of {want}", (g["kind"], g["name"]), (want["role"], want["name"]))
    same("workers", sum(w["kind"] == "worker" for w in rep["workers"]), int(mode.split()[1]))
    roots = sum(x["polls"] for x in rep["tasks"] if x["kind"] == "block_on")
    same("polls of all threads", sum(w["polls"] for w in rep["workers"]),
         sum(x["polls"] for x in truth(r.out, "task")) + roots)


@test()
def blocked_polls(t):
    """A poll that sleeps, waits for a lock or computes is as long as the program says, and on its task."""
    r = t.record(t.program("blocks"), "mt", "2").ok()
    rep = t.report()
    tasks = {x["id"]: x for x in user_tasks(rep)}
    blocks = truth(r.out, "block")
    same("blocking polls", len(blocks), 3)
    for b in blocks:
        x = tasks[b["task"]]
        check(x["max_poll_ns"] >= b["ns"], f"{b} but the longest poll of {x}")
        if b["how"] != "busy":
            check(x["blocked_ns"] >= b["ns"] * 0.9, f"{b} but blocked for {x['blocked_ns']} ns")
        check(x["max_poll_ns"] < b["ns"] + 2_000_000_000, f"{b} but the longest poll of {x}")


@test(cases=[("mt 1",), ("mt 2",)])
def asleep(t, mode):
    """While nothing is to be done, workers are asleep, and a sleep inside a poll is not counted as one."""
    r = t.record(t.program("blocks"), *mode.split()).ok()
    rep = t.report()
    workers = {x["tid"] for x in truth(r.out, "thread") if x["role"] == "worker"}
    for w in rep["workers"]:
        if w["tid"] in workers:
            check(w["sleeps"] > 0 and w["asleep_ns"] >= 100_000_000, f"slept too little: {w}")
            check(w["asleep_ns"] + w["busy_ns"] <= rep["duration_ns"], f"more than all the time: {w}")

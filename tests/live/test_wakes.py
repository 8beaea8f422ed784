# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every transition to runnable, once, with its cause."""
from live import Failed, nr_lost, same, test, truth, user_tasks

MODES = ("ct", "mt 1", "mt 2", "mt 4")
CAUSES = ("self", "task", "thread", "worker", "abort")
# A wake that comes while the task runs shows as a self-wake, unless its waker was seen.
WHILE_RUNNING = "woken_while_running"


def differ(wrong):
    if wrong:
        raise Failed(f"{len(wrong)} differences:\n       " + "\n       ".join(wrong[:20]))


def check_report(rep, want):
    """The counts of the report."""
    got, wrong = {x["id"]: x for x in user_tasks(rep)}, []
    for w in want:
        g, c = got.get(w["id"]), w["wakes"]
        if g is None:
            wrong.append(f"{w['label']} {w['id']} is missing")
            continue
        expect = (sum(c[k] for k in CAUSES), c["self"])
        if w["label"] == WHILE_RUNNING:
            expect = (expect[0], min(g["self_wakes"], expect[0]))
        if (g["wakes"], g["self_wakes"]) != expect:
            wrong.append(f"{w['label']} {w['id']}: {g['wakes']} wakes, {g['self_wakes']} of them its own;"
                         f" should be {expect}")
        by = {k: v for k, v in g["wakes_by"].items() if v}
        if w["label"] != WHILE_RUNNING and by != {k: c[k] for k in CAUSES if c[k]}:
            wrong.append(f"{w['label']} {w['id']}: by cause {by}, should be {c}")
    differ(wrong)


def read_events(dump):
    """(tid, kind, flags, task or None) of each line."""
    for line in dump.split("\n"):
        words = line.split()
        if len(words) < 4:
            continue
        named = dict(w.split("=", 1) for w in words[4:] if "=" in w)
        task = int(named["task"]) if "task" in named else None
        yield int(words[1]), words[3], named.get("flags", "").split(","), task


def causes_by_events(dump, ids):
    """The same counts, made from the single events: id -> {cause: count}, id -> last task that woke it.

    A task that wakes stands on its thread's stack of runs. The runtime's own tasks (a worker's loop) are no
    tasks of the program; a thread that runs tasks is a worker, any other a foreign thread. A wake that came
    while its task ran is no transition yet: the task may complete in that very run.
    """
    stacks, workers, counts, wakers = {}, set(), {}, {}
    events = list(read_events(dump))
    for tid, kind, _, task in events:
        if kind == "run-start":
            workers.add(tid)
    for tid, kind, flags, task in events:
        stack = stacks.setdefault(tid, [])
        if kind == "run-start":
            stack.append(task)
        elif kind == "run-end" and stack:
            stack.pop()
        elif kind == "wake" and "running" not in flags:
            by = next((i for i in reversed(stack) if i in ids), None)
            if "abort" in flags:
                cause = "abort"
            elif by is not None:
                cause = "self" if by == task else "task"
                wakers[task] = by
            else:
                cause = "worker" if tid in workers else "thread"
            counts.setdefault(task, dict.fromkeys(CAUSES, 0))[cause] += 1
    return counts, wakers


def check_events(dump, want):
    """The causes of the single events. A task that wakes itself while it runs makes no event: that is inferred."""
    ids = {w["id"] for w in want}
    counts, wakers = causes_by_events(dump, ids)
    wrong = []
    for w in want:
        if w["label"] == WHILE_RUNNING or w["kind"] == "blocking":
            continue
        got = counts.get(w["id"], dict.fromkeys(CAUSES, 0))
        expect = {c: w["wakes"][c] for c in CAUSES}
        got["self"] = expect["self"]
        if got != expect:
            wrong.append(f"{w['label']} {w['id']}: {got}, should be {expect}")
        last = w["wakes"]["last_waker"]
        if last and wakers.get(w["id"]) != last:
            wrong.append(f"{w['label']} {w['id']}: woken by {wakers.get(w['id'])}, should be {last}")
    differ(wrong)


@test(cases=[(p, m) for p in ("dev", "release", "lto") for m in MODES], as_root=True)
def each_transition_once(t, profile, mode):
    """Wakes and self-wakes of each task are what the program counted, each with its cause, also under fat LTO."""
    for _ in range(t.runs):
        r = t.record(t.program("wakes", profile), *mode.split()).ok()
        rep, want = t.report(), truth(r.out, "task")
        same("lost", nr_lost(rep), 0)
        check_report(rep, want)
        check_events(t.dump(), want)

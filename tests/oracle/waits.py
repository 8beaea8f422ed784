# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where tasks waited: before each of their runs, and at the end, if somebody saw them stand there.

A wait is what lies between two runs of a task: idle, then scheduled. The run that ends it tells where it was. Of a wait
that is open when the recording ends there is none, but the recording may say where tasks stood (`stands`).
"""
import collections
import functools

import tables
from life import Told

CAUSES = ("worker", "task", "thread", "self")


class Wait:
    """One that ended with a run, or (run None) that is open."""

    def __init__(self, life, path, gap, run=None):
        self.life, self.path, self.run = life, path, run
        self.idle, self.sched = gap.get("idle", 0), gap.get("sched", 0)
        self.is_known = "unknown" not in gap
        self.end = run.start if run else life.end_ns

    @property
    def ns(self):
        return self.idle + self.sched

    @property
    def is_open(self):
        return self.run is None and self.life.ended is None

    @property
    def told_seq(self):
        return self.run.seq if self.run else self.life.told_seq


@functools.lru_cache(maxsize=4)
def seen(s):
    """Where tasks were seen to stand that have not begun to run since, by life: certain if nothing was lost since."""
    found = {}
    if s.end < s.rec.duration or (s.start and any(s.rec.lost_by_kind.values())):
        return found
    last = {(e.id, e.type): e.time for e in s.events if e.kind == "run-start"}
    for stand in s.rec.stands:
        name = stand["task"], stand["type_id"]
        key = s.resident(name[0]) if name[1] in s.by_addr else s.key_of(*name)
        life = s.lives.get(key)
        if life and life.type == name[1] and s.rec.awaits.paths.get(stand["path"]) and life.ended is None and not life.owner and life.was_run \
                and "unknown" not in life.gap and last.get(name, stand["time_ns"]) < stand["time_ns"]:
            found[life] = stand["path"]
    return found


@functools.lru_cache(maxsize=4)
def waits(s):
    """All of them, in the order in which they were told."""
    runs = [Wait(run.life, run.path, run.gap, run) for run in s.told(Told)]
    told = collections.defaultdict(collections.Counter)
    for run in s.told(Told):
        told[run.life].update({k: run.gap.get(k, 0) for k in ("idle", "sched")})
    last = [Wait(life, seen(s).get(life), {k: max(0, life.ns[k] - told[life][k]) for k in ("idle", "sched")})
            for life in s.in_order(s.tasks)]
    return sorted(runs + [wait for wait in last if wait.ns], key=lambda wait: wait.told_seq)


def is_placed(s, wait):
    return bool(s.rec.awaits.paths.get(wait.path))


def is_told(wait):
    """Before its first run a task waits for nothing but a worker, and the closures of a pool for nothing else at all."""
    return wait.life.kind != "blocking" and (not wait.run.is_first if wait.run else bool(wait.life.polls))


def rest(what, mine):
    """Waits of which nobody knows where they were; if they are open, each is of another task."""
    ns = sum(wait.ns for wait in mine)
    return {
        **dict.fromkeys(("location", "function", "future", "for", "type")),
        "tasks": len(mine) if what == "open" else 0, "waits": len(mine), "wait_ns": ns, "idle_ns": 0, "sched_ns": 0,
        "all_waits": len(mine), "all_ns": ns, **tables.distribution("wait", []),
        **{f"by_{cause}": 0 for cause in CAUSES}, "dropped": 0, "open": len(mine) if what == "open" else 0,
    }


def longest(waits_there):
    """The path at which most time was spent, of one kind of place; the first of several."""
    sums = collections.Counter()
    for wait in sorted(waits_there, key=lambda wait: wait.path):
        sums[wait.path] += wait.ns if wait.is_known else 0
    return max(sums, key=sums.get)


def at_point(s, seat, own, every):
    paths = s.rec.awaits
    step = paths.step_at(seat)
    known = [wait for wait in own if wait.is_known]
    groups = {s.rec.group(wait.life.type) for wait in own}
    leaf = paths.seats(longest(own))[seat] if own else None
    polls = [wait.run for wait in own if wait.run and wait.run.is_poll]
    causes = collections.Counter(run.waker.cause for run in polls if run.waker)
    return {
        "location": f"{step['file']}:{step['line']}" + (f"-{step['last_line']}" if step["last_line"] else ""),
        "function": step["function"], "future": step["future"],
        "for": (leaf["leaf"] or leaf["future"]) if leaf else None,
        "type": s.rec.type_name(groups.pop()) if len(groups) == 1 else None,
        "tasks": len({wait.life for wait in own}), "waits": len(own),
        "wait_ns": sum(wait.ns for wait in known),
        "idle_ns": sum(wait.idle for wait in known), "sched_ns": sum(wait.sched for wait in known),
        "all_waits": len(every), "all_ns": sum(wait.ns for wait in every if wait.is_known),
        **tables.distribution("wait", [wait.ns for wait in known]),
        **{f"by_{cause}": causes[cause] for cause in CAUSES},
        "dropped": sum(bool(wait.run and not wait.run.is_poll) for wait in own),
        "open": sum(wait.is_open for wait in own),
    }


def by_await(s):
    own, every, unplaced = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(list)
    for wait in waits(s):
        for seat in s.rec.awaits.seats(wait.path):
            own[seat].append(wait)
        for point in s.rec.awaits.points(wait.path):
            every[point].append(wait)
        if not is_placed(s, wait) and is_told(wait):
            unplaced["open" if wait.is_open else "over"].append(wait)
    return [at_point(s, seat, own[seat], every[seat]) for seat in every] + \
        [rest(what, mine) for what, mine in unplaced.items() if s.rec.awaits.paths]

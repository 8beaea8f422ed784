# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tasks, threads, totals and the tables of --by, each number as futrace-report(1) defines it."""
import collections
import functools
import math

from life import Told, Woken

ENDS = ("completed", "cancelled", "panicked", "dropped")
STATES = ("busy", "sched", "idle", "unknown")


def bucket(value):
    """Lowest and highest number of the bucket: one each below 32, then 32 to a power of two."""
    if value < 32:
        return value, value
    width = 2 ** (int(math.log2(value)) - 5) if value < 2**40 else 1 << (value.bit_length() - 6)
    low = value // width * width
    return low, low + width - 1


def percentile(values, percent):
    if not values:
        return None
    rank = max(1, -(-percent * len(values) // 100))
    return min(bucket(sorted(values)[rank - 1])[1], max(values))


def distribution(name, values):
    row = {f"{name}_p{p}_ns": percentile(values, p) for p in (50, 90, 99)}
    row[f"{name}_max_ns"] = max(values, default=None)
    counts = collections.Counter(bucket(v) for v in values)
    row[f"{name}_histogram"] = [[low, high, nr] for (low, high), nr in sorted(counts.items())]
    return row


def three_distributions(polls):
    known = [p for p in polls if p.is_known]
    return {
        **distribution("poll", [p.ns for p in polls]),
        **distribution("sched", [p.gap.get("sched", 0) for p in known]),
        **distribution("idle", [p.gap["idle"] for p in known if p.gap.get("idle")]),
    }


def wakes_by(lives):
    count = collections.Counter(w.cause for life in lives for w in life.wakes)
    return {
        "wakes": sum(count.values()),
        "self_wakes": count["self"],
        **{f"wakes_by_{cause}": count[cause] for cause in ("task", "worker", "thread", "abort")},
    }


def task(s, life):
    """An element of tasks[] in the JSON."""
    causes = collections.Counter(w.cause for w in life.wakes)
    t = {
        "id": life.key[0],
        "runtime_id": life.runtime,
        "kind": life.kind,
        "type": s.rec.type_name(life.type),
        "type_id": life.type,
        "spawn": "exact" if life.is_exact else "first_seen",
        "spawn_ns": life.begin,
        "end_ns": life.ended,
        "end": life.end,
        "polls": len(life.polls),
        **{f"{state}_ns": life.ns[state] for state in STATES},
        "max_poll_ns": max((p.ns for p in life.polls), default=0),
        "max_sched_ns": max((r.gap.get("sched", 0) for r in life.runs if r.is_known), default=0),
        "blocked_ns": sum(r.blocked for r in life.runs),
        "max_blocked_ns": max((ns for r in life.runs for ns in r.sleeps), default=0),
        "wakes": len(life.wakes),
        "self_wakes": causes["self"],
        "wakes_by": dict(causes),
    }
    if life.kind == "blocking":
        t["queue_ns"] = life.ns["sched"] if life.is_exact else None
        t["run_ns"] = life.ns["busy"]
    if life.ended is not None:
        t["wanted"] = life.wanted
    if life.is_exact or life.parent:
        t["parent"] = life.parent.key[0] if life.parent else None
    if life.is_exact:
        t["spawn_thread"] = s.rec.thread_numbers[life.spawn[1].tid]
    return t


def by_task(s):
    rows = []
    for life in s.tasks:
        row = task(s, life)
        parent = life.parent
        for key in ("wanted", "wakes_by", "spawn_thread", "queue_ns", "run_ns"):
            row.pop(key, None)
        row.update(wakes_by([life]), life_ns=life.end_ns - life.begin, parent=parent.key[0] if parent else None)
        row.update(three_distributions(life.polls))
        rows.append(row)
    return rows


def peak(s, group):
    """How many there were at most at one time, each from its first sighting to its end."""
    level = top = 0
    lives = [life for life in s.all_lives if s.rec.group(life.type) == group]
    for seq, type_, change in sorted((seq, life.type, change) for life in lives for seq, change in life.changes):
        level += change if not s.is_helper(type_, seq) else 0
        top = max(top, level)
    return top


@functools.lru_cache(maxsize=1)
def by_type(s):
    rows = []
    polls = collections.defaultdict(list)
    for p in s.told(Told):
        if p.is_poll:
            polls[s.rec.group(p.life.type)].append(p)
    groups = collections.defaultdict(list)
    for life in s.tasks:
        groups[s.rec.group(life.type)].append(life)
    for group, lives in groups.items():
        blocked = [p.blocked for p in polls[group] if p.blocked]
        count = collections.Counter(life.end for life in lives)
        rows.append({
            "type": s.rec.type_name(group),
            "type_id": group,
            "kind": lives[0].kind,
            "tasks": len(lives),
            "alive": count["alive"],
            "peak": peak(s, group),
            "first_seen": sum(not life.is_exact for life in lives),
            "never_polled": sum(not life.polls for life in lives),
            **{end: count[end] for end in ENDS},
            "polls": sum(len(life.polls) for life in lives),
            **wakes_by(lives),
            **{f"{state}_ns": sum(life.ns[state] for life in lives) for state in STATES},
            "blocked_ns": sum(r.blocked for life in lives for r in life.runs),
            "blocked_polls": len(blocked),
            "max_blocked_ns": max(blocked, default=0),
            **three_distributions(polls[group]),
            "size_bytes": None if group is None else s.rec.types[group]["size_bytes"],
        })
    return rows


@functools.lru_cache(maxsize=1000)
def thread(s, thr):
    """An element of workers[] in the JSON."""
    w = collections.Counter(polls=0, busy_ns=0, asleep_ns=0, sleeps=0, blocked_ns=0, blocks=0, max_blocked_ns=0)
    for a, b, *_ in thr.sleeps:
        w["asleep_ns"] += b - a
        w["sleeps"] += 1
    for run in thr.runs:
        seq = run.end_seq if run.end_seq is not None else len(s.events)
        slept = [b - a for a, b, *_ in run.sleeps]
        if s.is_helper(run.type, seq):
            w["asleep_ns"] += sum(slept)
            w["sleeps"] += len(slept)
            continue
        w["blocked_ns"] += sum(slept)
        w["blocks"] += len(slept)
        w["max_blocked_ns"] = max([w["max_blocked_ns"]] + slept)
        w["polls"] += run.is_poll
        if run.end is not None:
            w["busy_ns"] += run.busy_ns
    outermost = next((run for run in thr.stack if not s.is_helper(run.type, len(s.events))), None)
    if outermost:
        w["busy_ns"] += s.end - outermost.start
    known = thr.worker_seq is not None
    w["kind"] = "worker" if known else "blocking" if thr.ran_blocking else "other"
    w["runtime_id"] = thr.runtime
    w["tid"] = thr.tid
    return dict(w)


def by_thread(s, only=None):
    polls = collections.defaultdict(list)
    for p in s.told(Told):
        if p.is_poll:
            polls[p.tid].append(p.ns)
    rows = []
    for thr in s.threads.values():
        row = dict(thread(s, thr))
        if only in (None, row["kind"]):
            row["rest_ns"] = max(0, s.length - row["busy_ns"] - row["asleep_ns"])
            row["name"] = s.rec.thread_names[thr.tid]
            row.update(distribution("poll", polls[thr.tid]))
            rows.append(row)
    return rows


def wake_key(s, waker, woken):
    who = None
    if waker.cause == "task":
        who = s.rec.group(waker.type)
    elif waker.cause == "thread":
        who = s.rec.thread_names[waker.tid]
    return "wake", waker.cause, who, s.rec.group(woken)


def spawn_key(s, life, parent):
    if parent:
        return "spawn", "task", s.rec.group(parent.type), s.rec.group(life.type)
    return "spawn", "thread", s.rec.thread_names[life.spawn[1].tid], s.rec.group(life.type)


def by_wake(s):
    latency = collections.defaultdict(list)
    count = collections.Counter(wake_key(s, x.waker, x.life.type) for x in s.told(Woken))
    count.update(spawn_key(s, life, life.parent) for life in s.tasks if life.is_exact)
    for p in s.told(Told):
        if not p.is_poll or not p.is_known:
            continue
        if p.waker:
            latency[wake_key(s, p.waker, p.life.type)].append(p.gap.get("sched", 0))
        elif p.is_first and p.life.is_exact:
            latency[spawn_key(s, p.life, p.life.spawner)].append(p.gap.get("sched", 0))
    rows = []
    for (how, cause, who, woken), nr in count.items():
        if s.is_helper(woken, len(s.events)):
            continue
        values = latency[how, cause, who, woken]
        rows.append({
            "how": how, "cause": cause,
            "waker_type": s.rec.type_name(who) if cause == "task" else None,
            "waker_type_id": who if cause == "task" else None,
            "waker_thread": who if cause == "thread" else None,
            "type": s.rec.type_name(woken), "type_id": woken,
            "count": nr, "polls": len(values), "latency_ns": sum(values),
            **distribution("latency", values),
        })
    return rows


# What identifies a row, and by what its table is sorted.
TABLES = {
    "type": (by_type, ("type", "type_id", "kind"), "busy_ns"),
    "task": (by_task, ("id", "runtime_id", "spawn_ns", "type_id"), "busy_ns"),
    "worker": (lambda s: by_thread(s, "worker"), ("tid",), "busy_ns"),
    "thread": (by_thread, ("tid",), "busy_ns"),
    "wake": (by_wake, ("how", "cause", "waker_type_id", "waker_thread", "type_id"), "count"),
}


def blocking(s):
    """Closures of the pool: how long they waited for a thread, and how long they ran."""
    def spread(values):
        return {"count": len(values), "sum_ns": sum(values), "max_ns": max(values, default=None),
                **{f"p{p}_ns": percentile(values, p) for p in (50, 90, 99)}}

    runs = [p for p in s.told(Told) if p.is_poll and p.life.kind == "blocking"]
    return {"tasks": sum(life.kind == "blocking" for life in s.tasks),
            "queue": spread([r.gap.get("sched", 0) for r in runs if r.is_known]),
            "run": spread([r.ns for r in runs])}


def totals(s):
    ends = collections.Counter(life.end for life in s.tasks)
    threads = [thread(s, t) for t in s.threads.values()]
    kinds = collections.Counter(t["kind"] for t in threads)
    busy = sum(t["busy_ns"] for t in threads if t["kind"] == "worker")
    groups = {s.rec.group(life.type) for life in s.tasks}
    named = [g for g in groups if g is not None and s.rec.types[g]["name"]]
    wakes = wakes_by(s.tasks)
    return {
        "start_ns": s.start,
        "end_ns": s.end,
        "tasks": len(s.tasks),
        "tasks_by_end": {end: ends[end] for end in ("alive", *ENDS)},
        "tasks_first_seen": sum(not life.is_exact for life in s.tasks),
        "types_unnamed": len(groups) - len(named),
        "types_ambiguous": sum(s.rec.types[g]["candidates"] > 1 for g in named),
        "polls": sum(len(life.polls) for life in s.tasks),
        "wakes": wakes["wakes"],
        "self_wakes": wakes["self_wakes"],
        **{f"{state}_ns": sum(life.ns[state] for life in s.tasks) for state in STATES},
        "blocking": blocking(s),
        "workers": kinds["worker"],
        "blocking_threads": kinds["blocking"],
        "other_threads": kinds["other"],
        "workers_busy_ns": busy,
        "workers_busy": busy / (kinds["worker"] * s.length) if kinds["worker"] and s.length else 0,
    }


def flavours(s):
    """Where no name of a scheduler is known: by where the tasks ran."""
    named = {t["copy"] for t in s.rec.types if t["scheduler"]}
    found = {}
    for r in s.rec.runtimes:
        places = s.places[r["id"]]
        names = ["multi_thread"] * ("in" in places) + ["current_thread"] * ("out" in places)
        if r["copy"] not in named and r["name"] == "tokio":
            found[r["id"]] = "+".join(names) or None
    return found

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The five parts of --by=machine, each number as futrace-report(1) defines it."""
import collections
import csv
import io

from life import Told
from tables import thread

USUAL, LOW = 10_000_000, 200  # ns: the limit of a blockade, and one that some polls of any recording reach


def is_handled(life):
    return life.kind in ("task", "local")


def blockades(polls, limit):
    return sum(p.ns >= limit and not p.is_off_worker for p in polls)


def stem(name):
    return name.rstrip("0123456789")


def machines(s, polls, limit):
    """Threads that polled tasks, other workers, and threads that are named as machines are whose runtime does not launch them."""
    of = collections.defaultdict(list)
    for p in polls:
        of[p.tid].append(p)
    main = s.rec.thread_names.get(s.rec.pid, "")
    names, kinds = s.rec.thread_names, {tid: thread(s, thr)["kind"] for tid, thr in s.threads.items()}
    tids = {tid for tid in s.threads if of[tid] or kinds[tid] == "worker"}
    pools = {stem(names[tid]) for tid in tids if not s.threads[tid].is_launched and names[tid] != main} - {""}
    tids |= {tid for tid in s.threads if kinds[tid] == "other" and names[tid] != main and stem(names[tid]) in pools}
    rows = []
    for tid in tids:
        over = [life for life in s.tasks if is_handled(life) and life.end == "completed" and life.polls
                and life.polls[-1].tid == tid]
        timed = [life.end_ns - life.begin for life in over if life.is_exact]
        rows.append({
            "tid": tid, "runtime_id": s.threads[tid].runtime,
            "tasks": len({p.life for p in of[tid]}), "polls": len(of[tid]), "blockades": blockades(of[tid], limit),
            "completed": len(over), "mean_completion_ns": sum(timed) // len(timed) if timed else None,
        })
    return rows


def tasks(s, limit):
    return [{
        "id": life.key[0], "runtime_id": life.runtime, "type": s.rec.type_name(life.type), "type_id": life.type,
        "kind": life.kind, "parent": life.parent.key[0] if life.parent else None,
        "spawn": "exact" if life.is_exact else "first_seen", "spawn_ns": life.begin, "end": life.end,
        "end_ns": life.ended, "run_ns": life.ended - life.begin if life.is_exact and life.ended is not None else None,
        "polls": len(life.polls), "busy_ns": life.ns["busy"], "blockades": blockades(life.polls, limit),
        "max_poll_ns": max((p.ns for p in life.polls), default=0),
    } for life in s.tasks if is_handled(life)]


def parents(s, limit):
    families = collections.defaultdict(list)
    for life in s.tasks:
        if is_handled(life) and life.parent:
            families[life.parent.key[0], life.parent.type].append(life)
    rows = []
    for (number, type_), children in families.items():
        blocked = sum(blockades(life.polls, limit) > 0 for life in children)
        rows.append({
            "id": number, "type": s.rec.type_name(type_), "type_id": type_, "runtime_id": children[0].parent.runtime,
            "children": len(children), "blocked_children": blocked,
            "blocked_permille": int(1000 * blocked / len(children) + 0.5),
        })
    return rows


def compute(s, limit):
    """By part: its rows, and what identifies one. Then what are just numbers."""
    polls = [p for p in s.told(Told) if p.is_poll and is_handled(p.life)]
    found = machines(s, polls, limit)
    parts = {"machine": (found, ("tid",), "tasks"),
             "task": (tasks(s, limit), ("id", "runtime_id", "spawn_ns", "type_id"), "blockades"),
             "parent": (parents(s, limit), ("id", "type_id"), "children")}
    return parts, {"machines_never_running": sum(not row["polls"] for row in found),
                   "ghost_tasks": sum(not life.is_exact for life in s.tasks if is_handled(life)),
                   "blockade_ns": limit}


def check(s, options, out):
    for limit in USUAL, LOW:
        check_limit(s, [*options, "--by=machine", "--limit=0", f"--threshold=blockade={limit}ns"], limit, out)


def check_limit(s, options, limit, out):
    parts, counts = compute(s, limit)
    table = s.rec.report(*options)["table"]
    out.compare("by machine", table, counts)
    lines = list(csv.DictReader(io.StringIO(s.rec.run("report", "--csv", *options))))
    for have in [table, *table["parts"]]:
        name = have["by"]
        want, identity, sort = parts.pop(name)
        out.compare_rows(f"by machine, {name}", have["rows"], want, identity)
        out.compare(f"by machine, {name}", have, {"rows_in_all": len(want), "sort": sort, "reverse": False})
        order = [row[sort] for row in have["rows"]]
        if order != sorted(order, reverse=True):
            out.append(f"by machine, {name}: not in the order of {sort}")
        same = [line for line in lines if line["part"] == name]
        if len(same) != len(have["rows"]):
            out.append(f"by machine, {name}: {len(same)} lines of CSV, {len(have['rows'])} rows of JSON")
        for line, row in zip(same, have["rows"]):
            out.compare(f"CSV by machine, {name}", line, {k: str(v) for k, v in row.items() if isinstance(v, int)})
    if parts:
        out.append(f"by machine: no part {set(parts)}")
    out.compare("CSV by machine", {line["part"]: line["count"] for line in lines}, {k: str(n) for k, n in counts.items()})

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of the report against what the program itself counted."""
import collections
import csv
import io
import json

from live import check, same, test, truth, user_tasks

CAUSES = ("self", "task", "thread", "worker", "abort")
# A wake that comes while the task runs shows as a self-wake, unless its waker was seen.
WHILE_RUNNING = "woken_while_running"


def table(t, by, *more):
    """The rows as CSV has them; JSON must have the same."""
    where = ("--by", by, "--limit=0", *more, t.path("t.data"))
    rows = list(csv.DictReader(io.StringIO(t.run(t.futrace, "report", "--csv", *where).ok().out)))
    other = json.loads(t.run(t.futrace, "report", "--json", *where).ok().out)["table"]["rows"]
    same(f"rows by {by}", len(rows), len(other))
    for row, twin in zip(rows, other):
        for key, value in row.items():
            same(f"{by} {key}", value, "" if twin[key] is None else str(twin[key]))
    return rows


def by_type(rep, want):
    """What the program counted, under the types as the report calls them."""
    types = {task["id"]: task["type"] for task in user_tasks(rep)}
    groups = collections.defaultdict(list)
    for w in want:
        groups[types.get(w["id"])].append(w)
    return groups


def number_of(rows, key, number):
    """Of tasks; a root future is none."""
    return {row[key]: int(row[number]) for row in rows if row["kind"] != "block_on"}


@test(cases=[("dev", "ct"), ("release", "mt 2"), ("release", "mt 4")])
def tables_are_true(t, profile, mode):
    """Tasks, polls and wakes of each type, polls of each task and who wakes whom are what the program counted."""
    r = t.record(t.program("wakes", profile), *mode.split()).ok()
    want = truth(r.out, "task")
    groups = by_type(t.report(), want)
    types = table(t, "type")
    same("tasks by type", number_of(types, "type", "tasks"), {k: len(g) for k, g in groups.items()})
    same("polls by type", number_of(types, "type", "polls"), {k: sum(w["polls"] for w in g) for k, g in groups.items()})
    same("polls by task", number_of(table(t, "task"), "id", "polls"), {str(w["id"]): w["polls"] for w in want})
    counts = collections.Counter()
    for row in table(t, "wake"):
        if row["how"] == "wake":
            counts[row["type"], row["cause"]] += int(row["count"])
    for name, group in groups.items():
        if any(w["label"] == WHILE_RUNNING for w in group):
            continue
        same(f"wakes of {name}", {c: counts[name, c] for c in CAUSES},
             {c: sum(w["wakes"][c] for w in group) for c in CAUSES})


@test()
def tables_of_threads_add_up(t):
    """The threads' polls are those of the types, workers are among the threads, and each spends all of its time."""
    t.record(t.program("exact"), "mt", "2").ok()
    threads, workers, types = table(t, "thread"), table(t, "worker"), table(t, "type")
    same("polls", sum(int(row["polls"]) for row in threads), sum(int(row["polls"]) for row in types))
    same("workers", workers, [row for row in threads if row["kind"] == "worker"])
    check(len(workers) >= 2, f"{len(workers)} workers")
    duration = t.report()["duration_ns"]
    for row in threads:
        same(f"time of {row['tid']}", sum(int(row[k]) for k in ("busy_ns", "asleep_ns", "rest_ns")), duration)


@test()
def tables_fit_a_line(t):
    """No line of any table is longer than the terminal is wide, from 80 columns on."""
    t.record(t.program("exact"), "mt", "2").ok()
    for by in ("type", "task", "worker", "thread", "wake"):
        for width in (80, 100, 133, 250):
            out = t.run(t.futrace, "report", "--by", by, t.path("t.data"), env={"COLUMNS": str(width)}).ok().out
            rows = out.rstrip().split("\n\n")[-2 if by == "type" else -1].split("\n")
            check(len(rows) > 2, f"no table by {by} in {out}")
            for line in rows:
                check(len(line) <= width, f"{len(line)} columns, not {width}: {line}")

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Proves that the tables of `futrace report` say the same as text, CSV and JSON, and that their numbers are those of
the single tasks and threads of the JSON and of the single polls of the NDJSON.

Usage: tables.py FUTRACE SIMULATE [NR_TRACES | FILE...]
"""
import collections
import csv
import io
import json
import math
import os
import re
import sys
import tempfile

from checks import ARGUMENTS, check, finish, futrace, simulate

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../oracle"))
import awaits  # noqa: E402

TABLES = ["type", "task", "spawn", "worker", "thread", "wake", "await", "future", "mark"]
TEXTS = {"type", "kind", "location", "runtime", "spawn", "end", "name", "how", "cause", "waker_type", "waker_thread",
         "spawned_at", "function", "future", "for", "dropped_at", "polls_from", "seen"}
PERCENTS = {"p50": 50, "p90": 90, "p99": 99, "max": 100}


def bucket(value):
    """Lowest and highest value of a bucket: 32 for each power of two."""
    width = 1 << max(0, value.bit_length() - 6)
    return value // width * width, value // width * width + width - 1


def percentile(values, percent):
    if not values:
        return None
    rank = max(1, math.ceil(percent * len(values) / 100))
    return min(bucket(sorted(values)[rank - 1])[1], max(values))


def check_values(what, row, name, values):
    for p, percent in PERCENTS.items():
        check(f"{what} {name}_{p}_ns", row[f"{name}_{p}_ns"], percentile(values, percent))
    bins = collections.Counter(bucket(v) for v in values)
    check(f"{what} {name}_histogram", row[f"{name}_histogram"], [[*b, bins[b]] for b in sorted(bins)])


def cell(text):
    """As a cell of CSV has it: control characters are spelled out, and no formula."""
    text = re.sub("[\0-\x1f\x7f]", lambda m: f"\\x{ord(m[0]):02x}", text or "")
    return "'" + text if text[:1] in set("=+-@") else text or None


def read_csv(text):
    """As the rows of the JSON are: numbers are numbers, nothing is None."""
    for row in csv.DictReader(io.StringIO(text, newline="")):
        yield {k: v or None if k in TEXTS else int(v) if v else None for k, v in row.items()}


def check_forms(path, by, rows):
    """Text and CSV have the rows of the JSON, in the same order."""
    flat = [{k: cell(v) if k in TEXTS else v for k, v in row.items() if not k.endswith("_histogram")} for row in rows]
    check(f"{path} {by} CSV", list(read_csv(futrace("report", "--by", by, "--csv", "--limit=0", path))), flat)
    text = futrace("report", "--by", by, "--limit=0", "--no-pager", path, COLUMNS="1000", LC_ALL="C")
    has_note = any(row["open"] and not row["location"] for row in rows) if by == "await" else by == "type" and rows
    lines = text.split("\n\n")[-2 if has_note else -1].splitlines()
    if rows:
        key = {"type": "TASKS", "task": "ID", "spawn": "TASKS", "worker": "TID", "thread": "TID", "wake": "COUNT", "await": "WAITS",
               "future": "COUNT", "mark": "COUNT"}[by]
        head = next(i for i, line in enumerate(lines) if re.search(rf"\b{key}\b", line))
        end = re.search(rf"\b{key}\b", lines[head]).end()
        found = [int(line[:end].split()[-1].replace("-", "0")) for line in lines[head + 1:]]
        check(f"{path} {by} text", found, [row[{"ID": "id"}.get(key, key.lower())] for row in rows])


def check_order(path, by, rows):
    """The first ones of all are what a limit shows, for every number that sorts."""
    for key in rows[0] if rows else []:
        if key in TEXTS or key.endswith("_histogram") or (by == "task" and re.match(r"(poll|sched|idle)_\w+_ns", key)):
            continue
        for sign in "", "-":
            def sorted_rows(limit):
                found = futrace("report", "--by", by, "--csv", f"--limit={limit}", f"--sort={sign}{key}", path)
                return list(read_csv(found))
            every = sorted_rows(0)
            numbers = [row[key] for row in every]
            known = sorted((n for n in numbers if n is not None), reverse=not sign)
            check(f"{path} {by} --sort={sign}{key}", numbers, known + [None] * (len(numbers) - len(known)))
            if None not in numbers:
                check(f"{path} {by} --sort={sign}{key} --limit", sorted_rows(3), every[:3])


def check_types(path, rows, report, polls, helpers):
    sums = ["polls", "wakes", "self_wakes", "busy_ns", "sched_ns", "idle_ns", "unknown_ns", "blocked_ns"]
    groups = collections.defaultdict(list)
    for task in report["tasks"]:
        exact = task["type_id"] is not None and report["types"][task["type_id"]]["name"] and \
            report["types"][task["type_id"]]["candidates"] <= 1
        groups[task["type"], task["kind"], None if exact else task["type_id"]].append(task)
    check(f"{path} types", len(rows), len(groups))
    for row in rows:
        exact = (row["type"], row["kind"], None)
        key = exact if exact in groups else (row["type"], row["kind"], row["type_id"])
        tasks, what = groups[key], f"{path} {row['type']}"
        check(f"{what} tasks", row["tasks"], len(tasks))
        for name in sums:
            check(f"{what} {name}", row[name], sum(t[name] for t in tasks))
        for end in "alive", "completed", "cancelled", "panicked", "dropped":
            check(f"{what} {end}", row[end], sum(t["end"] == end for t in tasks))
        check(f"{what} first_seen", row["first_seen"], sum(t["spawn"] == "first_seen" for t in tasks))
        check(f"{what} never_polled", row["never_polled"], sum(not t["polls"] for t in tasks))
        if row["type"] in helpers or key[2] is not None:
            continue
        mine = [p for p in polls if p["type"] == row["type"]]
        check_values(what, row, "poll", [p["busy_ns"] for p in mine])
        check_values(what, row, "sched", [p["sched_ns"] for p in mine if "sched_ns" in p])
        check_values(what, row, "idle", [p["idle_ns"] for p in mine if p.get("idle_ns")])
        check(f"{what} poll_max_ns", row["poll_max_ns"], max((t["max_poll_ns"] for t in tasks if t["polls"]), default=None))


def check_tasks(path, rows, report, polls, helpers):
    same = ["id", "runtime", "runtime_id", "kind", "type", "type_id", "location", "spawned_at", "spawn", "spawn_ns", "end", "end_ns",
            "polls", "busy_ns", "sched_ns", "idle_ns", "unknown_ns", "max_poll_ns", "blocked_ns", "max_blocked_ns",
            "wakes", "self_wakes"]
    of_task = collections.defaultdict(list)
    for poll in polls:
        of_task[poll["task"], poll.get("runtime_id"), poll["type"]].append(poll)

    def order(task):
        return [str(task[k]) for k in same]
    check(f"{path} tasks", sorted(map(order, rows)), sorted(map(order, report["tasks"])))
    often = collections.Counter((t["id"], t["runtime_id"], t["type"]) for t in rows)
    for row in rows:
        key = row["id"], row["runtime_id"], row["type"]
        if often[key] > 1 or row["type"] in helpers:
            continue
        mine, what = of_task[key], f"{path} task {row['id']}"
        check_values(what, row, "poll", [p["busy_ns"] for p in mine])
        check_values(what, row, "sched", [p["sched_ns"] for p in mine if "sched_ns" in p])
        check_values(what, row, "idle", [p["idle_ns"] for p in mine if p.get("idle_ns")])
        check(f"{what} life_ns", row["life_ns"], sum(row[s] for s in ("busy_ns", "sched_ns", "idle_ns", "unknown_ns")))


def check_spawns(path, rows, report):
    places = collections.defaultdict(list)
    for task in report["tasks"]:
        places[task["spawned_at"]].append(task)
    check(f"{path} places", sorted(str(row["spawned_at"]) for row in rows), sorted(map(str, places)))
    for row in rows:
        tasks, what = places[row["spawned_at"]], f"{path} spawned at {row['spawned_at']}"
        check(f"{what} tasks", row["tasks"], len(tasks))
        for name in "polls", "wakes", "self_wakes", "busy_ns", "sched_ns", "idle_ns", "unknown_ns", "blocked_ns":
            check(f"{what} {name}", row[name], sum(t[name] for t in tasks))
        for end in "alive", "completed", "cancelled", "panicked", "dropped":
            check(f"{what} {end}", row[end], sum(t["end"] == end for t in tasks))
        check(f"{what} max_poll_ns", row["max_poll_ns"], max(t["max_poll_ns"] for t in tasks))
        check_values(what, row, "life", [sum(t[s] for s in ("busy_ns", "sched_ns", "idle_ns", "unknown_ns")) for t in tasks])
        check(f"{what} type", row["type"] is not None, row["types"] == 1)
        check(f"{what} type", row["type"] in (None, *(t["type"] for t in tasks)), True)


def check_threads(path, rows, workers, report, polls, has_helpers):
    check(f"{path} workers", workers, [row for row in rows if row["kind"] == "worker"])
    told = {w["thread"]: w for w in report["workers"]}
    check(f"{path} threads", sorted(row["thread"] for row in rows), sorted(told))
    for row in rows:
        for key in row.keys() & told[row["thread"]].keys():
            check(f"{path} thread {row['tid']} {key}", row[key], told[row["thread"]][key])
        used = row["busy_ns"] + row["asleep_ns"]
        check(f"{path} thread {row['tid']} rest_ns", row["rest_ns"], max(0, report["duration_ns"] - used))
        if not has_helpers:
            mine = [p["busy_ns"] for p in polls if p["tid"] == row["tid"]]
            check_values(f"{path} thread {row['tid']}", row, "poll", mine)


def check_wakes(path, rows, report, helpers):
    """Wakes by cause and woken type are those of the tasks; spawns are the tasks whose spawn was seen."""
    causes, spawns = collections.Counter(), collections.Counter()
    for task in report["tasks"]:
        for cause, nr in task["wakes_by"].items():
            causes[cause, task["type"]] += nr
        spawns[task["type"]] += task["spawn"] == "exact"
    for row in rows:
        key = row["cause"], row["type"]
        if row["how"] == "wake":
            causes[key] -= row["count"]
        else:
            spawns[row["type"]] -= row["count"]
        check(f"{path} {key} polls", row["polls"], sum(b[2] for b in row["latency_histogram"]))
        if row["polls"] > row["count"]:
            check(f"{path} {key} polls at most", row["polls"], row["count"])
    check(f"{path} wakes", {k: n for k, n in causes.items() if n and k[1] not in helpers}, {})
    check(f"{path} spawns", {k: n for k, n in spawns.items() if n and k not in helpers}, {})


def check_marks(path, rows, lines):
    """Marks and spans by name are those of the single lines."""
    marks = collections.defaultdict(list)
    for line in lines:
        if line["kind"] in ("mark", "span"):
            marks[line["kind"], line["name"]].append(line)
    check(f"{path} marks", sorted((row["kind"], row["name"] or "") for row in rows), sorted((k, n or "") for k, n in marks))
    for row in rows:
        mine, what = marks[row["kind"], row["name"]], f"{path} {row['kind']} {row['name']}"
        over = [m for m in mine if m["kind"] == "span" and not m.get("open")]
        check(f"{what} count", row["count"], len(mine))
        check(f"{what} in_tasks", row["in_tasks"], sum("task" in m for m in mine))
        check_values(what, row, "lasted", [m["lasted_ns"] for m in over])
        if row["kind"] == "span":
            check(f"{what} open", row["open"], len(mine) - len(over))
            check(f"{what} moved", row["moved"], sum(m["tid"] != m["end_tid"] for m in mine))
            check(f"{what} lasted_ns", row["lasted_ns"], sum(m["lasted_ns"] for m in over))


def check_open(path, rows, waits):
    """Those that nobody saw."""
    least, most = [awaits.wait(w) for w in waits if w["is_exact"]], list(map(awaits.wait, waits))
    found = [row for row in rows if row["open"] and not row["location"]] or \
        [dict.fromkeys(("waits", "open", "tasks", "wait_ns"), 0)]
    check(f"{path} rows that are open", len(found), 1)
    for key in "waits", "open", "tasks":
        check(f"{path} open {key}", sorted((len(least), found[0][key], len(most)))[1], found[0][key])
    check(f"{path} open wait_ns", sorted((sum(least), found[0]["wait_ns"], sum(most)))[1], found[0]["wait_ns"])


def check_sums(what, row, own, every):
    check(f"{what} sums", (row["wait_ns"], row["all_ns"]), (sum(map(awaits.wait, own)), sum(map(awaits.wait, every))))
    check(f"{what} sched_ns", row["sched_ns"], sum(run.get("sched_ns", 0) for run in own))
    check_values(what, row, "wait", [awaits.wait(run) for run in own if "sched_ns" in run])


def check_awaits(path, rows, paths, runs):
    own, total, tasks = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(set)
    for run in runs:
        for point in paths.seats(run.get("path")):
            own[point].append(run)
            tasks[point].add((run["task"], run.get("runtime_id"), run["type"]))
        for point in paths.points(run.get("path")):
            total[point].append(run)
    places = {(row["future"], *awaits.split_place(row["location"])): row for row in rows if row["location"]}
    check(f"{path} await points", sorted(places), sorted(total))
    for (future, file, line), every in total.items():
        row, mine, what = places[future, file, line], own[future, file, line], f"{path} {future} {file}:{line}"
        check(f"{what} waits", (row["waits"], row["all_waits"]), (len(mine), len(every)))
        if all(run.get("is_exact", True) for run in every):
            check_sums(what, row, mine, every)
        check(f"{what} dropped", row["dropped"], sum(run["kind"] == "drop" for run in mine))
        check(f"{what} open", row["open"], sum(run["kind"] == "open" for run in mine))
        for cause in "worker", "task", "thread", "self":
            check(f"{what} {cause}", row[f"by_{cause}"], sum(run["kind"] == "poll" and run.get("cause") == cause for run in mine))
        if row["tasks"] < len(tasks[future, file, line]):  # ids are used again
            check(f"{what} tasks", row["tasks"], len(tasks[future, file, line]))


def check_exact(what, row, polls, seen):
    """Of polls that were recorded one by one."""
    check(f"{what} exact_polls", row["exact_polls"], len(polls))
    check(f"{what} exact_self_ns", row["exact_self_ns"], sum(p["self_ns"] for p in polls))
    check(f"{what} exact_max_ns", row["exact_max_ns"], max((p["busy_ns"] for p in polls), default=0))
    for result in "ready", "pending", "unwound":
        check(f"{what} {result}", row[f"exact_{result}"], sum(p.get("result") == result for p in polls))
    source = "paths" if not polls else "exact" if seen == {"all"} else "paths" if row["count"] else "some"
    check(f"{what} polls_from", row["polls_from"], source)
    if source != "paths":
        check(f"{what} polls", row["polls"], len(polls))


def check_futures(path, rows, paths, runs, lines):
    """Waits are those of the runs; who is seen ends in one way or another."""
    waits, exact, seen = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(set)
    for run in runs:
        for name in paths.futures(run.get("path")):
            waits[name].append(run)
    for line in lines:
        if line["kind"] == "future":
            seen[line["future"]].add(line["seen"])
        elif line["kind"] == "future_poll" and line.get("future"):
            exact[line["future"]].append(line)
    check(f"{path} futures", sorted(row["future"] for row in rows), sorted({*waits, *exact}))
    for row in rows:
        what = f"{path} {row['future']}"
        check_exact(what, row, exact[row["future"]], seen[row["future"]])
        ends = [row[end] for end in ("finished", "dropped", "unsure", "unknown")]
        check(f"{what} count", row["count"], sum(ends))
        polls = [run for run in waits[row["future"]] if run["kind"] == "poll"]
        if row["polls_from"] == "paths" and (row["polls"] < len(polls) or row["poll_ns"] < sum(run["busy_ns"] for run in polls)):
            check(f"{what} polls", row["polls"], len(polls))
        if row["waits"] > len(waits[row["future"]]):
            check(f"{what} waits", row["waits"], len(waits[row["future"]]))
        check(f"{what} dropped there", row["dropped_there"] <= row["dropped"], True)


def check_file(path):
    report = json.loads(futrace("report", "--json", path))
    lines = [json.loads(line) for line in futrace("export", "--format=ndjson", "--output=-", path).splitlines()]
    polls = [line for line in lines if line["kind"] == "poll"]
    # A helper without a name is known as one only after some of its runs were told.
    counts = collections.Counter(p["type"] for p in polls)
    for task in report["tasks"]:
        counts[task["type"]] -= task["polls"]
    helpers = {name for name, nr in counts.items() if nr}
    if not all(name.startswith("type#") for name in helpers):
        check(f"{path} polls of named types", helpers, set())
    tables = {}
    for by in TABLES:
        table = json.loads(futrace("report", "--json", "--by", by, "--limit=0", path))["table"]
        tables[by] = table["rows"]
        check(f"{path} by", table["by"], by)
        check(f"{path} {by} rows_in_all", table["rows_in_all"], len(table["rows"]))
        check_forms(path, by, table["rows"])
    check_types(path, tables["type"], report, polls, helpers)
    check_tasks(path, tables["task"], report, polls, helpers)
    check_spawns(path, tables["spawn"], report)
    check_threads(path, tables["thread"], tables["worker"], report, polls, helpers)
    check_wakes(path, tables["wake"], report, helpers)
    check_marks(path, tables["mark"], lines)
    paths, runs = awaits.of_ndjson(lines), [line for line in lines if line["kind"] in ("poll", "drop")]
    if paths.paths:
        still = list(awaits.open_waits(lines))
        seen = [wait for wait in still if "path" in wait]
        check_awaits(path, tables["await"], paths, runs + seen)
        check_open(path, tables["await"], [wait for wait in still if "path" not in wait])
        check_futures(path, tables["future"], paths, runs + seen, lines)
    return tables


def check_usage(path):
    for args, word in ((["--by=nothing"], "wake"), (["--sort=nothing"], "poll_p99"), (["--csv", "--json"], "--csv"),
                       (["--by=task", "--sort=poll_p99"], "max_poll"), (["--by=task", "--sort=type"], "busy")):
        check(f"{args} names {word}", word in futrace("report", *args, path, status=2), True)


with tempfile.TemporaryDirectory() as folder:
    files = ARGUMENTS
    if len(files) < 2 and not os.path.exists(files[0] if files else ""):
        seeds = range(int(files[0]) if files else 10)
        files = [f"{folder}/{seed}.trace" for seed in seeds]
        for seed in seeds:
            simulate(seed, 400, files[seed])
    tables = [check_file(file) for file in files]
    for by in TABLES:
        check_order(files[0], by, tables[0][by])
    check_usage(files[0])
finish(len(files))

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Proves that `futrace report --by=machine` says the same as text, CSV and JSON in all of its parts, that its numbers are
those of the tasks and polls of the JSON and the NDJSON, and that each part is sorted and limited on its own.

Usage: machines.py FUTRACE SIMULATE [NR_TRACES]
"""
import collections
import csv
import io
import json
import re
import tempfile

from checks import ARGUMENTS, check, finish, futrace, simulate

HEADS = {"machine": "MACHINES", "task": "TASKS", "parent": "PARENT TASKS"}
TEXTS = {"type", "kind", "location", "runtime", "spawn", "end", "name", "spawned_at"}
BLOCKADE_NS = 500


def report(path, *options):
    return futrace("report", "--by=machine", f"--threshold=blockade={BLOCKADE_NS}ns", *options, path, COLUMNS="1000",
                   LC_ALL="C")


def parts_of(path, *options):
    """By name, and the two counts."""
    table = json.loads(report(path, "--json", *options))["table"]
    counts = {key: table[key] for key in ("machines_never_running", "ghost_tasks", "blockade_ns")}
    return {part["by"]: part for part in (table, *table["parts"])}, counts


def check_csv(path, parts, counts):
    rows = collections.defaultdict(list)
    for row in csv.DictReader(io.StringIO(report(path, "--csv", "--limit=0"), newline="")):
        part = row.pop("part")
        if part in counts:
            check(f"{path} CSV {part}", row["count"], str(counts.pop(part)))
        rows[part].append({k: v if k in TEXTS else int(v) if v else None for k, v in row.items()})
    check(f"{path} CSV has the counts", counts, {})
    for name, part in parts.items():
        keys = set(part["rows"][0]) if part["rows"] else set()
        found, wanted = ([{k: row[k] for k in keys - TEXTS} for row in all_] for all_ in (rows[name], part["rows"]))
        check(f"{path} CSV {name}", found, wanted)
        others = {k for row in rows[name] for k, v in row.items() if v} - keys
        check(f"{path} CSV {name} has what is another part's", others, set())


def check_text(path, parts, counts):
    sections = report(path, "--limit=0", "--no-pager").split("\n\n")
    for name, part in parts.items():
        head, *lines = next(s for s in sections if s.startswith(HEADS[name] + "\n")).splitlines()
        if part["rows"]:
            check(f"{path} text {name}", [int(line.split()[0]) for line in lines[1:]],
                  [row.get("tid", row.get("id")) for row in part["rows"]])
    numbers = [int(n.replace(",", "")) for n in re.findall(r": ([\d,]+)(?:ns)?$", sections[-1], re.M)]
    check(f"{path} text counts", numbers, list(counts.values()))


def check_numbers(path, parts, counts):
    told = json.loads(futrace("report", "--json", path))
    tasks = [t for t in told["tasks"] if t["kind"] in ("task", "local")]
    lines = map(json.loads, futrace("export", "--format=ndjson", "--output=-", path).splitlines())
    kinds = {t["id"]: t["kind"] for t in told["types"]}
    polls = [p for p in lines if p["kind"] == "poll" and kinds.get(p.get("type_id"), "task") in ("task", "local")]
    machines, rows, parents = (parts[name]["rows"] for name in HEADS)
    same = ["id", "runtime_id", "type_id", "spawn", "spawn_ns", "end", "end_ns", "polls", "busy_ns", "max_poll_ns"]
    check(f"{path} tasks", sorted(str([r[k] for k in same]) for r in rows), sorted(str([t[k] for k in same]) for t in tasks))
    check(f"{path} ghosts", counts["ghost_tasks"], sum(t["spawn"] == "first_seen" for t in tasks))
    check(f"{path} children", sum(r["children"] for r in parents), sum(t.get("parent") is not None for t in tasks))
    check(f"{path} completed", sum(r["completed"] for r in machines), sum(t["end"] == "completed" for t in tasks))
    check(f"{path} polls", {r["tid"]: r["polls"] for r in machines if r["polls"]}, collections.Counter(p["tid"] for p in polls))
    blockades, long = sum(r["blockades"] for r in machines), sum(p["busy_ns"] >= BLOCKADE_NS for p in polls)
    check(f"{path} blockades of machines and tasks", blockades, sum(r["blockades"] for r in rows))
    check(f"{path} {blockades} blockades of {long} long polls", 0 < blockades <= long, long > 0)  # block_in_place is none
    check(f"{path} blocked", sum(r["blocked_children"] for r in parents),
          sum(r["blockades"] > 0 and r["parent"] is not None for r in rows))


def check_order(path, parts):
    """A key sorts the parts that have it, and leaves the others as they are; a limit shows the first ones of each."""
    for key in sorted({k for part in parts.values() for row in part["rows"][:1] for k in row} - TEXTS):
        every, _ = parts_of(path, "--limit=0", f"--sort={key}")
        first, _ = parts_of(path, "--limit=3", f"--sort={key}")
        for name, part in every.items():
            has_it = part["rows"] and key in part["rows"][0]
            check(f"{path} {name} --sort={key}", part["sort"], key if has_it else parts[name]["sort"])
            numbers = [row[part["sort"]] for row in part["rows"]]
            known = sorted((n for n in numbers if n is not None), reverse=True)
            check(f"{path} {name} --sort={key}", numbers, known + [None] * (len(numbers) - len(known)))
            check(f"{path} {name} rows_in_all", first[name]["rows_in_all"], len(part["rows"]))
            if None not in numbers:
                check(f"{path} {name} --sort={key} --limit", first[name]["rows"], part["rows"][:3])


def check_file(path):
    parts, counts = parts_of(path, "--limit=0")
    check_csv(path, parts, dict(counts))
    check_text(path, parts, counts)
    check_numbers(path, parts, counts)
    return parts


with tempfile.TemporaryDirectory() as folder:
    nr = int(ARGUMENTS[0]) if ARGUMENTS else 10
    for seed in range(nr):
        simulate(seed, 400, f"{folder}/{seed}.trace")
    all_parts = [check_file(f"{folder}/{seed}.trace") for seed in range(nr)]
    check("all parts have rows somewhere", {name for parts in all_parts for name in HEADS if parts[name]["rows"]}, set(HEADS))
    check_order(f"{folder}/0.trace", all_parts[0])
    error = futrace("report", "--by=machine", "--sort=nothing", f"{folder}/0.trace", status=2)
    for word in "mean_completion", "run", "children":
        check(f"keys name {word}", word in error, True)
finish(nr)

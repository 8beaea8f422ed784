#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recomputes every number of `futrace report` from the text of `futrace dump`, slowly and on its own.

Usage: recompute.py [--whole] FUTRACE FILE...

Of the whole recording, and unless --whole is given of both halves, and of some tasks only. Prints each number that
differs; exit status 1 if one does. Definitions are those of futrace-report(1), and the other files here follow them one by one:
no code of futrace.
"""
import csv
import functools
import io
import sys
from concurrent.futures import ProcessPoolExecutor

import findings
import machines
import tables
import waits
from events import Recording
from stream import Stream

# What is no number, or is taken over as it is.
NOT_RECOMPUTED = {"location", "runtime", "spawned_at", "parent_runtime_id", "thread", "name"}
# What identifies a row, and by what its table is sorted.
TABLES = {**tables.TABLES, "await": (waits.by_await, ("future", "location", "tasks"), "wait_ns")}
DETAILS = [f"{name}_{key}" for name in ("poll", "sched", "idle")
           for key in ("p50_ns", "p90_ns", "p99_ns", "max_ns", "histogram")]
# Conditions of --filter, and the same here.
FILTERS = {
    "kind=task": lambda life: life.kind == "task",
    # What a task did is known when it is over, and what was a helper by then was none.
    "polls>1,state!=completed": lambda life: not life.is_helper and len(life.polls) > 1 and life.end != "completed",
}


class Differences(list):
    def compare(self, what, have, want):
        for k in want:
            got = have.get(k, "absent")
            if got != want[k] and not (isinstance(want[k], float) and abs(got - want[k]) < 1e-6):
                self.append(f"{what}: {k} is {got}, should be {want[k]}")

    def compare_rows(self, what, have, want, identity):
        """The same rows, whatever their order; each with the same numbers."""
        key = lambda row: tuple((row[k] is not None, "" if row[k] is None else row[k]) for k in identity)  # noqa: E731
        if len(have) != len(want):
            self.append(f"{what}: {len(have)} rows, should be {len(want)}:"
                        f" {set(map(key, have)) ^ set(map(key, want))}")
            return
        for h, w in zip(sorted(have, key=key), sorted(want, key=key)):
            self.compare(f"{what} {[h[k] for k in identity]}", h, w)
            if h.keys() - w.keys() - NOT_RECOMPUTED:
                self.append(f"{what}: {h.keys() - w.keys()} are not recomputed")


def check_base(s, report, out):
    out.compare_rows("task", report["tasks"], [tables.task(s, life) for life in s.tasks],
                     ("id", "runtime_id", "spawn_ns", "end_ns", "type"))
    for t in report["tasks"]:
        end = t["end_ns"] if t["end_ns"] is not None else s.end
        parts = sum(t[k] for k in ("busy_ns", "sched_ns", "idle_ns", "unknown_ns"))
        if end - t["spawn_ns"] != parts:
            out.append(f"task {t['id']}: its life is {end - t['spawn_ns']}, its parts {parts}")
    out.compare_rows("thread", report["workers"], [tables.thread(s, t) for t in s.threads.values()], ("tid",))
    out.compare("report", report, {
        "duration_ns": s.length, "events": len(s.events) - s.begin_seq, "spawns_unmatched": s.unmatched})
    if not s.lost_at_end:
        out.compare("lost_by_kind", report["lost_by_kind"], {k: v for k, v in s.lost.items() if k != "0"})
    out.compare("damage", report["damage"], {"stray_events": s.stray})
    out.compare("totals", report["totals"], tables.totals(s))


def forget_details(want, have, identity):
    """Percentiles are told of the first thousand tasks only."""
    beyond = {tuple(row[k] for k in identity) for row in have[1000:]}
    for row in want:
        if tuple(row[k] for k in identity) in beyond:
            row.update(dict.fromkeys(DETAILS))


def check_tables(s, options, out):
    for by, (compute, identity, sort) in TABLES.items():
        table = s.rec.report(f"--by={by}", "--limit=0", *options)["table"]
        want = compute(s)
        if by == "task":
            forget_details(want, table["rows"], identity)
        out.compare_rows(f"by {by}", table["rows"], want, identity)
        out.compare(f"by {by}", table, {"rows_in_all": len(want), "sort": sort, "reverse": False})
        order = [row[sort] for row in table["rows"]]
        if order != sorted(order, reverse=True):
            out.append(f"by {by}: not in the order of {sort}")
        check_csv(s, by, table["rows"], options, out)


def check_csv(s, by, rows, options, out):
    """CSV has the same rows in the same order, with the same numbers."""
    text = s.rec.run("report", f"--by={by}", "--limit=0", "--csv", *options)
    lines = list(csv.DictReader(io.StringIO(text)))
    if len(lines) != len(rows):
        out.append(f"by {by}: {len(lines)} lines of CSV, {len(rows)} rows of JSON")
    for line, row in zip(lines, rows):
        numbers = {k: str(v) for k, v in row.items() if isinstance(v, int)}
        out.compare(f"CSV by {by}", line, numbers)


def check_findings(s, options, report, out):
    """With the usual limits, and with low ones, so that something is found in any recording."""
    findings.check(s, out, findings.USUAL, report["findings"])
    low = s.rec.report(*options, *(f"--threshold={limit}" for limit in findings.LOW))["findings"]
    findings.check(s, out, findings.LOW, low)
    return len(report["findings"]) + len(low)


def check_view(s, options):
    out = Differences()
    report = s.rec.report(*options)
    check_base(s, report, out)
    check_tables(s, options, out)
    machines.check(s, options, out)
    nr = check_findings(s, options, report, out)
    if not options:
        out.compare("runtimes", {"copies": {r["id"]: r["copy"] for r in report["runtimes"]}}, {"copies": s.rec.copies_that_ran})
        out.compare("flavours", {r["id"]: r["flavour"] for r in report["runtimes"]}, tables.flavours(s))
    what = " ".join([s.rec.path, *options])
    print(f"{what}: {len(s.tasks)} tasks, {len(s.threads)} threads, {len(s.events) - s.begin_seq} events, {nr} findings:"
          f" {len(out)} differences", flush=True)
    return [f"{what}: {line}" for line in out]


def check(futrace, path, is_whole=False):
    """All differences, as text."""
    rec = Recording(futrace, path)
    out = check_view(Stream(rec), [])
    if is_whole:
        return out
    middle = rec.duration // 2
    for start, end in ((0, middle), (middle, rec.duration)):
        if end > start:
            out += check_view(Stream(rec, start, end), [f"--time-range={start}ns..{end}ns"])
    for text, wants in FILTERS.items():
        out += check_view(Stream(rec, wants=wants), [f"--filter={text}"])
    return out


def main():
    args = sys.argv[1:]
    is_whole = args[:1] == ["--whole"]
    futrace, *paths = args[is_whole:] or [None]
    if not paths:
        sys.exit(__doc__)
    with ProcessPoolExecutor() as pool:
        out = [line for lines in pool.map(functools.partial(check, futrace, is_whole=is_whole), paths) for line in lines]
    print("\n".join(out[:50]))
    sys.exit(1 if out else 0)


if __name__ == "__main__":
    main()

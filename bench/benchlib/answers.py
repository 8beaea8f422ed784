# SPDX-License-Identifier: MIT OR Apache-2.0
"""From a long recording to its answers: how fast reports and exports are, and how much memory they need.

Events per second of CPU time, as for the reader.  The recording is made here, with tasks of several types that give way, wake
each other, spawn and join, and is checked against what the program says of itself.
"""

import dataclasses
import os
import sqlite3
import statistics
import tempfile

from .proc import Failed, count_output, run
from .table import Row, at_least, at_most, spread
from .variants import Futrace, number_lost

GROUPS, ROUNDS, REPS = 25, 20000, 11  # 51.6 M events
ALIVE = 1000000
MEMORY_MB = 300
PART = 10  # percent, of what would be gigabytes
PART_ARGS = [f"--time-range=0%..{PART}%"]
PART_TEXT = f", the first {PART} %"


@dataclasses.dataclass
class Answer:
    label: str
    args: list
    goal: float = None  # M events/s
    suffix: str = None  # of the file that it writes; None: it writes to stdout
    is_part: bool = False  # asked about the first part only
    is_alive: bool = True  # asked about many tasks, too


ANSWERS = [
    Answer("`report`", ["report"], 20),
    Answer("`report --json`", ["report", "--json"], 20),
    Answer("`report --by=wake`", ["report", "--by=wake"], is_alive=False),
    Answer("`report --by=task`, two passes", ["report", "--by=task"]),
    Answer("`export --format=perfetto`", ["export", "--format=perfetto"], 5, "perfetto"),
    Answer("`export --format=html`", ["export", "--format=html"], None, "html"),
    Answer("`export --format=folded`", ["export", "--format=folded"], None, "folded"),
    Answer("`export --format=pprof`", ["export", "--format=pprof"], None, "pprof"),
    Answer("`export --format=chrome`", ["export", "--format=chrome", "-o", "-"], is_part=True, is_alive=False),
    Answer("`export --format=ndjson`", ["export", "--format=ndjson", "-o", "-"], is_part=True, is_alive=False),
]


class Recording:
    """What is asked, and how many events it has."""

    def __init__(self, tools, place, folder):
        self.tools, self.place, self.folder = tools, place, folder
        self.futrace = Futrace(tools, place)
        self.futrace.file = os.path.join(folder, "answers.data")
        self.events = self.part_events = self.lost = 0

    def make(self, *work):
        self.path, ended = self.futrace.record([self.tools["plain"], "1", *work])
        report = self.futrace.report(self.path)
        self.events, self.lost = report["events"], number_lost(report)
        truth = sum(v["polls"] for _, v in ended.lines if "polls" in v)
        found = report["totals"]["polls"] - report["totals"]["block_on"]["polls"]  # main's are not counted there
        if found != truth and not self.lost:
            raise Failed(f"{found} of {truth} polls recorded, and nothing said to be lost")
        self.part_events = self.futrace.report(self.path, *PART_ARGS)["events"]

    def ask(self, args, suffix=None):
        """One answer: (the ended process, bytes of the answer)."""
        argv = [self.tools["futrace"], *args, "-q"]
        if not suffix:
            ended = count_output(self.place, [*argv, self.path])
            return ended, ended.out_bytes
        out = os.path.join(self.folder, "answer." + suffix)
        try:
            ended = run(self.place, [*argv, "-o", out, self.path], watch_memory=True, timeout=300)
            return ended, os.path.getsize(out)
        finally:
            if os.path.exists(out):
                os.unlink(out)


def megabytes(value):
    return f"{value / 1e6:,.0f} MB" if value >= 1e6 else f"{value / 1e3:,.0f} kB"


def judge(row, rate, goal, unit, peak, limit_mb=MEMORY_MB):
    row.goal = f"≥ {goal} {unit}, ≤ {limit_mb} MB" if goal else f"≤ {limit_mb} MB"
    row.met = at_least(rate, goal, 1, " M") if goal else "yes"
    if row.met == "yes":
        row.met = at_most(peak / 1e6, limit_mb, 0, " MB")


def answer_row(rec, what, answer, times, alone):
    row = Row(what, answer.label + (PART_TEXT if answer.is_part else ""), n=str(times))
    events = rec.part_events if answer.is_part else rec.events
    args = answer.args + (PART_ARGS if answer.is_part else [])
    try:
        asked = [rec.ask(args, answer.suffix) for _ in range(times)]
    except Failed as e:
        row.value = f"not measured: {e}"
        return row
    rates = [events / ended.cpu_ns * 1e3 for ended, _ in asked]
    peak = max(ended.peak_bytes for ended, _ in asked)
    row.value = spread(rates, " M events/s", 1)
    row.result = f"{megabytes(peak)} of memory, {megabytes(asked[-1][1])} of output"
    if alone:
        row.against = "the reader alone"
        row.result = f"{statistics.median(alone) / statistics.median(rates):.1f}× its time; " + row.result
    judge(row, statistics.median(rates), answer.goal, "M events/s", peak)
    return row


def reader_rates(rec, times):
    if not rec.tools.has("reader"):
        return []
    ended = run(rec.place, [rec.tools["reader"], rec.path, str(times)])
    return [v["events"] / v["cpu_ns"] * 1e3 for name, v in ended.lines if name == "pass"]


def nr_rows(path):
    db = sqlite3.connect(path)
    try:
        return sum(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("poll", "wake", "task"))
    finally:
        db.close()


class Sqlite:
    """The database of the recording or its first part, and the same rows brought in by SQLite's own shell from CSV."""

    def __init__(self, rec, args):
        self.rec, self.args = rec, args
        self.path = os.path.join(rec.folder, "answer.db")
        self.csv = {t: os.path.join(rec.folder, t + ".csv") for t in ("poll", "wake", "task")}

    def export(self):
        """(M rows/s, the ended process, bytes)"""
        if os.path.exists(self.path):
            os.unlink(self.path)
        argv = [self.rec.tools["futrace"], "export", "--format=sqlite", "-q", "-o", self.path, *self.args, self.rec.path]
        ended = run(self.rec.place, argv, watch_memory=True, timeout=300)
        return nr_rows(self.path) / ended.cpu_ns * 1e3, ended, os.path.getsize(self.path)

    def write_csv(self):
        """Once, from an export; returns the schema of the tables."""
        for table, csv in self.csv.items():
            run(self.rec.place, ["sqlite3", "-batch", self.path, ".mode csv", f".output {csv}", f"SELECT * FROM {table}"])
        return run(self.rec.place, ["sqlite3", "-batch", self.path, *(f".schema {t}" for t in self.csv)]).stdout

    def load(self, schema):
        path = self.path + ".import"
        argv = ["sqlite3", "-batch", path, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;", schema, ".mode csv"]
        try:
            ended = run(self.rec.place, argv + [f".import {csv} {table}" for table, csv in self.csv.items()], timeout=300)
            return nr_rows(path) / ended.cpu_ns * 1e3
        finally:
            if os.path.exists(path):
                os.unlink(path)

    def release(self):
        for path in (self.path, *self.csv.values()):
            if os.path.exists(path):
                os.unlink(path)


def sqlite_row(rec, what, is_part, times, goal):
    row = Row(what, "`export --format=sqlite`" + (PART_TEXT if is_part else ""), n=str(times))
    db = Sqlite(rec, PART_ARGS if is_part else [])
    schema = None
    exports, loads = [], []
    try:
        for _ in range(times):
            exports.append(db.export())
            if is_part:
                schema = schema or db.write_csv()
                loads.append(db.load(schema))
    except (Failed, OSError, sqlite3.Error) as e:
        row.value = f"not measured: {e}"
        return row
    finally:
        db.release()
    rates, peak = [r for r, _, _ in exports], max(e.peak_bytes for _, e, _ in exports)
    row.value = spread(rates, " M rows/s", 2)
    row.result = f"{megabytes(peak)} of memory, {megabytes(exports[0][2])} of output"
    if loads:
        row.against = "`sqlite3 .import` of the same rows as CSV"
        row.result = f"{statistics.median(rates) / statistics.median(loads):.2f}× its speed; " + row.result
    judge(row, statistics.median(rates), goal, "M rows/s", peak)
    return row


def alive_rows(rec, what):
    """Memory goes with the tasks that are alive: bytes for each of a million."""
    rec.make("alive", str(ALIVE))
    rows = []
    for answer in (a for a in ANSWERS if a.is_alive):
        row = Row(what, answer.label, n="1")
        try:
            ended, _ = rec.ask(answer.args, answer.suffix)
            row.value = f"{ended.peak_bytes / ALIVE:,.0f} B per task"
            row.result = f"{rec.events / ended.cpu_ns * 1e3:.1f} M events/s"
        except Failed as e:
            row.value = f"not measured: {e}"
        rows.append(row)
    return rows


def rows(tools, place, build, is_quick, say):
    times = 1 if is_quick else 3
    missing = Futrace(tools, place).missing()
    if missing:
        return [Row("answers", "`futrace`", f"not measured: {missing}")]
    with tempfile.TemporaryDirectory(prefix="answers-", dir=build) as folder:
        rec = Recording(tools, place, folder)
        try:
            say("answers: recording")
            rec.make("mix", str(GROUPS), str(ROUNDS), str(REPS))
            what = f"answers from {rec.events / 1e6:.1f} M events, CPU time"
            alone = reader_rates(rec, times)
            out = []
            for answer in ANSWERS:
                say("answers: " + answer.label)
                out.append(answer_row(rec, what, answer, times, alone))
            say("answers: sqlite")
            out.append(sqlite_row(rec, what, True, times, 1))
            if not is_quick:
                out.append(sqlite_row(rec, what, False, 1, 1))
            out[0].lost = f"{rec.lost:,} of {rec.events + rec.lost:,}"
            say("answers: a million tasks")
            return out + alive_rows(rec, f"answers about {ALIVE:,} tasks alive at once, memory")
        except Failed as e:
            return [Row("answers", "`futrace`", f"not measured: {e}")]

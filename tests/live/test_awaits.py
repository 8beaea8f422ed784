# SPDX-License-Identifier: MIT OR Apache-2.0
"""What reports and exports say of await points and futures is what programs know of their own."""
import collections
import csv
import functools
import io
import json
import os
import re

from live import check, nr_lost, same, test

BUILDS = ("await", "await-dev")
RUNTIMES = ("mt", "ct", "async-std", "smol")
PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../programs/await/src/bin")
TIMER_NS = 3_000_000  # how late a timer may be, and what a program does before and after an await


def said(out):
    return [json.loads(line) for line in out.splitlines()]


@functools.cache
def line_with(text):
    """Of counts.rs."""
    with open(os.path.join(PROGRAMS, "counts.rs"), encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if text in line)


def table(t, by, *options):
    out = t.run(t.futrace, "report", "--by", by, "--csv", "-n0", *options, t.path("t.data")).ok().out
    return list(csv.DictReader(io.StringIO(out, newline="")))


def at_line(rows, file, line):
    """The rows of a line: a generic function has one for each of its types."""
    return [row for row in rows if row["location"].endswith(f"{file}:{line}")]


def total(rows, key):
    return sum(int(row[key]) for row in rows)


def waits_by_line(out):
    """Of what counts.rs said, as reports count: two futures of a task that stand at one line at the same time are one wait of it.

    These are one() and the one() inside of two(), which a join! polls together from its first poll on."""
    waits = {s["waits"]: s["count"] for s in said(out) if s.get("waits")}  # those of a macro have no line of their own
    by_line, two = collections.Counter(), f"{line_with('one(on!(at)).await')}>"
    twins = {chain: chain.removeprefix(two) for chain in waits if chain.startswith(two)}
    check(twins, f"no line of two(): {waits}")
    for chain, twin in twins.items():
        same(f"waits of both at line {twin}", waits.pop(chain), waits[twin])
    for chain, count in waits.items():
        by_line[chain.split(">")[-1]] += count
    return by_line


@test(cases=[(b, r) for b in BUILDS for r in RUNTIMES])
def counted(t, build, runtime):
    """Each line has as many waits as the program counted there, aborted ones among them, and sleeps as long as it measured."""
    r = t.record(t.program("counts", build), runtime).ok()
    same("lost", nr_lost(t.report()), 0)
    rows = table(t, "await")
    for line, count in waits_by_line(r.out).items():
        same(f"waits at line {line}", total(at_line(rows, "counts.rs", line), "waits"), count)
    for s in said(r.out):
        if "aborts" in s:
            same("dropped", total(at_line(rows, "counts.rs", s["aborts"]), "dropped"), s["count"])
        if "sleeps" in s:
            mine = at_line(rows, "counts.rs", s["sleeps"])
            same("sleeps", total(mine, "all_waits"), s["count"])
            check(0 <= s["ns"] - total(mine, "all_ns") <= TIMER_NS * s["count"],
                  f"slept for {s['ns']} ns, recorded are {total(mine, 'all_ns')}")


@test(cases=[(b, r) for b in BUILDS for r in ("mt", "smol")])
def stories(t, build, runtime):
    """The stories of all tasks name the lines at which they waited, together as often as the program counted."""
    r = t.record(t.program("counts", build), runtime).ok()
    got = collections.Counter()
    for task in t.report()["tasks"]:
        if task["kind"] == "block_on":
            continue
        told = json.loads(t.run(t.futrace, "report", "--json", "--task", str(task["id"]), t.path("t.data")).ok().out)
        for story in (s for s in told["stories"] if s["kind"] != "block_on"):
            same("waits of runs", sum(w["count"] for w in story["waits"]),
                 sum(e["event"] == "run" and e["await"] is not None and e["run"] > 1 for e in story["events"]))
            for wait in story["waits"]:
                for line in {part.rpartition(":")[2] for part in wait["await"].split(" | ")}:
                    got[line] += wait["count"]
    for line, count in waits_by_line(r.out).items():
        same(f"waits at line {line}", got[line], count)


class Slices:
    """The tracks of tasks in a Chrome trace: who lay in what, and for how long."""

    def __init__(self, events):
        self.ns, self.inside, open_ = collections.Counter(), collections.defaultdict(set), collections.defaultdict(list)
        self.awaits = collections.defaultdict(set)
        for e in events:
            if e["ph"] == "B":
                open_[e["pid"], e["tid"]].append(e)
                self.awaits[e["name"]].add(e["args"].get("await"))
            elif e["ph"] == "E":
                begin = open_[e["pid"], e["tid"]].pop()
                self.ns[begin["name"]] += round((e["ts"] - begin["ts"]) * 1000)
                self.inside[begin["name"]].update(o["name"] for o in open_[e["pid"], e["tid"]])
        same("slices that are open", sum(map(len, open_.values())), 0)


@test(cases=[(b, r) for b in BUILDS for r in ("tokio", "async-std")])
def nested(t, build, runtime):
    """Functions that await functions that sleep: a Chrome trace has each future's polls and waits, at the right lines."""
    r = t.record(t.program(f"nested-{runtime}", build)).ok()
    file, rows = f"nested-{runtime}.rs", table(t, "await")
    task = [s for s in said(r.out) if s["part"] == "task"]
    lines = {(s["function"], s["count"], round(s["ns"] / s["count"] / 50e6) * 50): s["line"] for s in task}
    same("what the program did", sorted(lines), [("both", 3, 50), ("both", 3, 100), ("my_test", 3, 100)])
    count, ns = collections.Counter(), collections.Counter()
    for s in said(r.out):
        count[s["line"]] += s["count"]
        ns[s["line"]] += s["ns"]
    for line in count:
        mine = at_line(rows, file, line)
        check(0 <= ns[line] - total(mine, "all_ns") <= TIMER_NS * count[line],
              f"{ns[line]} ns at line {line}, recorded are {total(mine, 'all_ns')} ns")
    out = t.path("t.json")
    t.run(t.futrace, "export", "--format=chrome", "--tasks=9", "-o", out, t.path("t.data")).ok()
    with open(out, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    check_tracks(Slices(events), file, lines, count[lines["my_test", 3, 100]])
    inner = [e for e in events if e["ph"] == "X" and e["cat"] == "future" and e["name"].endswith("my_test")]
    same("polls of my_test, after its first", len(inner), count[lines["my_test", 3, 100]])
    check(all(e["args"]["await"].endswith(f"{file}:{lines['my_test', 3, 100]}") for e in inner), f"{inner}")


def check_tracks(slices, file, lines, nr):
    def names(part):
        return [name for name in slices.ns if part in name]
    mine, = names("my_test")
    place = f"at bin/{file}:{lines['my_test', 3, 100]}"
    waits = names(place)
    check(any(mine in slices.inside[w] for w in waits), f"{waits} lie in {slices.inside}")
    check(all(w.startswith("sleep") or "sleep" in w for w in waits) and waits, f"{waits}")
    # a timer runs from some moment of a poll on; when the first one of async-io's block_on began, nobody saw
    least = nr * 100e6 - slices.ns["running"] - TIMER_NS
    check(least <= sum(slices.ns[w] for w in waits) <= nr * (100e6 + TIMER_NS * 10), f"{waits}: {[slices.ns[w] for w in waits]}")
    check(slices.ns[mine] >= least, f"{mine} took {slices.ns[mine]} ns")
    check(any(a and a.endswith(f"{file}:{lines['my_test', 3, 100]}") for a in slices.awaits[mine]), f"{slices.awaits[mine]}")
    check(names(f"at bin/{file}:{lines['both', 3, 50]}"), f"{sorted(slices.ns)}")


# Where smol's block_on keeps its future is not known when it is built small.
@test(cases=[(b, p) for b in BUILDS + ("await-v0", "await-small")
             for p in ("tokio", "current-thread", "async-std", "smol") if (b, p) != ("await-small", "smol")])
def root(t, build, program):
    """A Chrome trace has the polls and waits of every future of a root, one in the other, at the right lines."""
    r = t.record(t.program(f"nested-{program}", build)).ok()
    file, seen = f"nested-{program}.rs", []
    root, = [x for x in t.report()["tasks"] if x["kind"] == "block_on"]
    out = t.path("t.json")
    t.run(t.futrace, "export", "--format=chrome", f"--task={root['id']}", "-o", out, t.path("t.data")).ok()
    with open(out, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    slices, truth = Slices(events), [s for s in said(r.out) if s["part"] == "root"]
    polls = [e for e in events if e["ph"] == "X" and e["cat"] == "future"]
    for s in truth:
        place = f"{file}:{s['line']}"
        mine = [e for e in polls if s["function"] in e["name"] and e["args"].get("await", "").endswith(place)]
        check(len(mine) >= s["count"], f"polls of {s['function']} that came back to {place}: {mine}")
        futures = [name for name in slices.ns if re.search(rf"::{s['function']}(::{{async block#0}})?$", name)]
        check(futures, f"{s['function']} is not on the track of the root: {sorted(slices.ns)}")
        waits = [name for name in slices.ns if f"at bin/{place}" in name]
        if waits:  # what waits for a function of the program waits there
            ns = sum(slices.ns[w] for w in waits)
            # the rest of it was polled, or ready and not yet polled
            rest = root["busy_ns"] + root["sched_ns"] + TIMER_NS * s["count"]
            check(0 <= s["ns"] - ns <= rest, f"{s} waited for {ns} ns by {waits}, and {rest} are left")
            check(all(any(f in slices.inside[w] for f in futures) for w in waits), f"{waits} lie in {slices.inside}")
            seen.append(s["function"])
    same("where it waits", sorted(set(seen)), ["main", "my_test"])


@test(cases=[(b,) for b in BUILDS])
def ends(t, build):
    """What became of futures adds up to how many there were, also in what a terminal has room for."""
    t.record(t.program("counts", build), "mt").ok()
    rows = table(t, "future")
    ends = ("finished", "dropped", "unsure", "unknown")
    for row in rows:
        same(f"ends of {row['future']}", sum(int(row[k]) for k in ends), int(row["count"]))
    text = t.run(t.futrace, "report", "--by=future", t.path("t.data")).ok().out
    heads = next(line for line in text.splitlines() if line.startswith("COUNT")).split()
    check(total(rows, "unsure") > 0, "a select of two that wake themselves has no loser for certain")
    # what is not shown is what finished, the rest
    same("ends that are shown", [k for k in ends[1:] if k.upper() in heads], [k for k in ends[1:] if total(rows, k)])


@test(cases=[(by,) for by in ("await", "future")])
def none(t, by):
    """An empty table says why: no tasks, none that is wanted, or none recorded."""
    def why(*options):
        return t.run(t.futrace, "report", "--by", by, *options, t.path("t.data")).ok().out.splitlines()[-1]
    t.record(t.program("counts", "await"), "mt").ok()
    same("without tasks", why("--filter=type=nobody"), "No task was recorded.")
    same("all hidden", why("--hide-future=::"), "None of those that were recorded is wanted.")
    t.record(t.program("counts", "await"), "mt", opts=["--no-await"]).ok()
    check("and no --no-await" in why(), why())


@test(cases=[(b,) for b in BUILDS])
def losers(t, build):
    """Futures that were dropped by a timeout, as losers of a select! and with their task are told so, at the right line.

    Of an await point only those that went with their task: what else ended a wait woke the task."""
    r = t.record(t.program("losers", build)).ok()
    rows = {row["function"].split("::")[-1]: row for row in table(t, "future", "--generated-future")}
    awaits = table(t, "await")
    for s in said(r.out):
        row = rows[s["function"]]
        same(s["function"], [int(row[k]) for k in ("dropped", "finished", "unsure", "unknown")], [s["dropped"], s["finished"], 0, 0])
        check(row["dropped_at"].endswith(f"losers.rs:{s['line']}"), f"{s}: dropped at {row['dropped_at']}")
        same("dropped there", int(row["dropped_there"]), s["dropped"])
        same("dropped with their task", total(at_line(awaits, "losers.rs", s["line"]), "dropped"), s["dropped"] if s["function"] == "stuck" else 0)

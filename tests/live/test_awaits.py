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
CLOCK_NS = 100_000  # by which the times of a program and of a recording may differ


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


def info(t):
    return json.loads(t.run(t.futrace, "info", "--json", t.path("t.data")).ok().out)


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
    rep, rows = t.report(), table(t, "await")
    same("lost", nr_lost(rep), 0)
    polled = sum(x["busy_ns"] for x in rep["tasks"] if "naps" in x["type"])
    for line, count in waits_by_line(r.out).items():
        same(f"waits at line {line}", total(at_line(rows, "counts.rs", line), "waits"), count)
    for s in said(r.out):
        if "aborts" in s:
            same("dropped", total(at_line(rows, "counts.rs", s["aborts"]), "dropped"), s["count"])
        if "sleeps" in s:
            mine = at_line(rows, "counts.rs", s["sleeps"])
            same("sleeps", total(mine, "all_waits"), s["count"])
            check(0 <= s["ns"] - total(mine, "all_ns") <= polled + CLOCK_NS * s["count"],
                  f"slept for {s['ns']} ns, recorded are {total(mine, 'all_ns')}, and polls of {polled}")


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
        self.awaits, self.spans = collections.defaultdict(set), collections.defaultdict(list)
        for e in events:
            if e["ph"] == "B":
                open_[e["pid"], e["tid"]].append(e)
                self.awaits[e["name"]].add(e["args"].get("await"))
            elif e["ph"] == "E":
                begin = open_[e["pid"], e["tid"]].pop()
                self.ns[begin["name"]] += round((e["ts"] - begin["ts"]) * 1000)
                self.spans[begin["name"]].append((round(begin["ts"] * 1000), round(e["ts"] * 1000)))
                self.inside[begin["name"]].update(o["name"] for o in open_[e["pid"], e["tid"]])
        same("slices that are open", sum(map(len, open_.values())), 0)

    def all_spans(self, names):
        return [span for name in names for span in self.spans[name]]


@test(cases=[(b, r) for b in BUILDS for r in ("tokio", "async-std")])
def nested(t, build, runtime):
    """Functions that await functions that sleep: a Chrome trace has each future's polls and waits, at the right lines."""
    r = t.record(t.program(f"nested-{runtime}", build)).ok()
    file, rows = f"nested-{runtime}.rs", table(t, "await")
    task = sorted((s for s in said(r.out) if s["part"] == "task"), key=lambda s: s["line"])
    same("what the program did", [(s["function"], s["count"]) for s in task], [("my_test", 3), ("both", 3), ("both", 3)])
    for s, ms in zip(task, (100, 100, 50)):  # a timer may be late
        check(s["ns"] >= s["count"] * (ms * 1e6 - CLOCK_NS), f"{s} did not sleep for {ms} ms each time")
    line, _, other = (s["line"] for s in task)
    count, ns = collections.Counter(), collections.Counter()
    for s in said(r.out):
        count[s["line"]] += s["count"]
        ns[s["line"]] += s["ns"]
    # the rest was polled, or ready and not yet polled; or it was before the root was seen
    tasks = t.report()["tasks"]
    root, = [x for x in tasks if x["kind"] == "block_on"]
    unseen = max(0, root["spawn_ns"] - min(s["times"][0][0] for s in said(r.out)) + info(t)["start_unix_ns"])
    rest = sum(x["busy_ns"] + x["sched_ns"] for x in tasks) + unseen
    for each in count:
        mine = at_line(rows, file, each)
        check(0 <= ns[each] - total(mine, "all_ns") <= rest + CLOCK_NS * count[each],
              f"{ns[each]} ns at line {each}, recorded are {total(mine, 'all_ns')} ns, and {rest} are left")
    out = t.path("t.json")
    t.run(t.futrace, "export", "--format=chrome", "--tasks=9", "-o", out, t.path("t.data")).ok()
    with open(out, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    slices = Slices(events)
    # a timer runs from some moment of a poll on, and the first poll of async-io's block_on nobody saw
    check_tracks(slices, file, line, ns[line], count[line] * 100e6 - slices.ns["running"] - unseen - CLOCK_NS)
    check(any(f"at bin/{file}:{other}" in name for name in slices.ns), f"{sorted(slices.ns)}")
    inner = [e for e in events if e["ph"] == "X" and e["cat"] == "future" and e["name"].endswith("my_test")]
    same("polls of my_test, after its first", len(inner), count[line])
    check(all(e["args"]["await"].endswith(f"{file}:{line}") for e in inner), f"{inner}")


def check_tracks(slices, file, line, most, least):
    """my_test and its waits, which took at least and at most so many nanoseconds."""
    mine, = [name for name in slices.ns if "my_test" in name]
    waits = [name for name in slices.ns if f"at bin/{file}:{line}" in name]
    check(any(mine in slices.inside[w] for w in waits), f"{waits} lie in {slices.inside}")
    check(all(w.startswith("sleep") or "sleep" in w for w in waits) and waits, f"{waits}")
    check(least <= sum(slices.ns[w] for w in waits) <= most + CLOCK_NS, f"{waits}: {[slices.ns[w] for w in waits]}, of {most}")
    check(slices.ns[mine] >= least, f"{mine} took {slices.ns[mine]} ns")
    check(any(a and a.endswith(f"{file}:{line}") for a in slices.awaits[mine]), f"{slices.awaits[mine]}")


def overlap(spans, begin, end):
    return sum(max(0, min(b, end) - max(a, begin)) for a, b in spans)


def check_waits(s, slices, waits, zero, first_seen):
    """A root waits in an await and at no other time; from its first event on, in what is left of the await it is polled, or ready
    and not yet polled."""
    times = [(begin - zero, end - zero) for begin, end in s["times"]]
    spans, others = slices.all_spans(waits), slices.all_spans(("running", "scheduled"))
    for a, b in spans:
        check(any(begin - CLOCK_NS <= a and b <= end + CLOCK_NS for begin, end in times), f"{waits} from {a} to {b}, {s} is {times}")
    for begin, end in times:
        begin = max(begin, first_seen)
        left = end - begin - overlap(spans, begin, end) - overlap(others, begin, end)
        check(abs(left) <= CLOCK_NS, f"{s} from {begin} to {end}: {left} ns are no part of {waits} {spans}, nor of {others}")


def check_first_seen(t, program, root, first_await):
    """Tokio's from its first poll on, and that of async-io's block_on when it has to wait for the first time."""
    if program in ("tokio", "current-thread"):
        check(root["spawn_ns"] <= first_await + CLOCK_NS, f"{root} was seen late: it awaits since {first_await}")
    pid, lines = str(info(t)["pid"]), t.run(t.futrace, "dump", t.path("t.data")).ok().out.splitlines()
    sleeps = [int(words[0].replace(".", "")) for words in map(str.split, lines)
              if words[1] == pid and words[-2:] == ["sleep", "flags=epoll"]]
    check(not [ns for ns in sleeps if first_await + CLOCK_NS < ns < root["spawn_ns"]], f"{root} waited before: {sleeps}")


@test(cases=[(b, p) for b in BUILDS + ("await-v0", "await-small")
             for p in ("tokio", "current-thread", "async-std", "smol", "large")])
def root(t, build, program):
    """A Chrome trace has the polls and waits of every future of a root, one in the other, at the right lines."""
    r = t.record(t.program(f"nested-{program}", build)).ok()
    file, seen = f"nested-{program}.rs", []
    root, = [x for x in t.report()["tasks"] if x["kind"] == "block_on"]
    same("its type", root["type"], f"nested_{program.replace('-', '_')}::main::{{async block#0}}")
    own, = [row for row in table(t, "future") if row["future"] == root["type"]]
    same("its polls, by its paths", (int(own["count"]), int(own["polls"])), (1, root["polls"]))
    out = t.path("t.json")
    t.run(t.futrace, "export", "--format=chrome", f"--task={root['id']}", "-o", out, t.path("t.data")).ok()
    with open(out, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    slices, truth = Slices(events), [s for s in said(r.out) if s["part"] == "root"]
    zero = info(t)["start_unix_ns"]
    check_first_seen(t, program, root, min(s["times"][0][0] for s in truth) - zero)
    polls = [e for e in events if e["ph"] == "X" and e["cat"] == "future"]
    for s in truth:
        place = f"{file}:{s['line']}"
        mine = [e for e in polls if s["function"] in e["name"] and e["args"].get("await", "").endswith(place)]
        check(len(mine) >= s["count"], f"polls of {s['function']} that came back to {place}: {mine}")
        futures = [name for name in slices.ns if re.search(rf"::{s['function']}(::{{async block#0}})?$", name)]
        check(futures, f"{s['function']} is not on the track of the root: {sorted(slices.ns)}")
        waits = [name for name in slices.ns if f"at bin/{place}" in name]
        if waits:  # what waits for a function of the program waits there
            check_waits(s, slices, waits, zero, root["spawn_ns"])
            check(all(any(f in slices.inside[w] for f in futures) for w in waits), f"{waits} lie in {slices.inside}")
            seen.append(s["function"])
    same("where it waits", sorted(set(seen)), ["main", "my_test"])


@test(cases=[(b, r) for b in ("await", "await-lto") for r in ("mt", "ct")])
def root_as_said(t, build, runtime):
    """A root of Tokio is in the recording if doctor says that it is seen; otherwise both say why not."""
    path = t.program("counts", build)
    file, = json.loads(t.run(t.futrace, "doctor", "--json", path).ok().out)["files"]
    fact, = [x["seen"]["block_on"] for x in file["runtimes"] if x["name"] == "tokio"]
    r = t.record(path, runtime).ok()
    why = [line for line in r.err.splitlines() if "futures of block_on are not recorded" in line]
    is_seen = any(x["kind"] == "block_on" for x in t.report()["tasks"])
    same("it is seen", is_seen, fact["how"] != "no")
    check(is_seen or build != "await", "only fat LTO may hide it")
    same("why not", [line.endswith(f"(tokio): {fact['text']}") for line in why], [] if is_seen else [True])
    r = t.record(path, runtime, opts=["--no-roots"]).ok()
    check("block_on" not in r.err, f"nobody asked for roots: {r.err}")


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
    same("all hidden", why("--hide-future=::"), "No recorded row matches.")
    t.record(t.program("counts", "await"), "mt", opts=["--no-await"]).ok()
    check("no --no-await" in why(), why())


@test(cases=[(b,) for b in BUILDS])
def losers(t, build):
    """Futures that were dropped by a timeout, as losers of a select! and with their task are told so, at the right line.

    Of an await point only those that went with their task: what else ended a wait woke the task. Where nobody knows which one lost, it
    is told how many more there may have been."""
    r = t.record(t.program("losers", build)).ok()
    rows = {row["function"].split("::")[-1]: row for row in table(t, "future", "--generated-future")}
    awaits = table(t, "await")
    for s in said(r.out):
        row = rows[s["function"]]
        if "nr" in s:
            check(int(row["count"]) < s["nr"] <= int(row["count"]) + int(row["again"]), f"{s}: {row}")
            continue
        same(f"{s['function']} again", int(row["again"]), 0)
        same(s["function"], [int(row[k]) for k in ("dropped", "finished", "unsure", "unknown")], [s["dropped"], s["finished"], 0, 0])
        check(row["dropped_at"].endswith(f"losers.rs:{s['line']}"), f"{s}: dropped at {row['dropped_at']}")
        same("dropped there", int(row["dropped_there"]), s["dropped"])
        same("dropped with their task", total(at_line(awaits, "losers.rs", s["line"]), "dropped"), s["dropped"] if s["function"] == "stuck" else 0)

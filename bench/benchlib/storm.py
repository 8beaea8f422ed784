# SPDX-License-Identifier: MIT OR Apache-2.0
"""Storms of one thing alone (polls, spawns, wakes, polls of a root, polls of inner futures, polls of async-task), every variant in every round."""

import statistics

from . import variants
from .proc import Failed
from .table import Row, at_least, at_most, spread


class Rounds:
    """The samples of all variants, by name and round; `failed[name]` says why one has none."""

    def __init__(self, tools, place, work, per, of=variants.ALL):
        self.work, self.per = work, per
        self.variants = [v(tools, place) for v in of if work in v.works]
        self.samples = {v.name: [] for v in self.variants}
        self.failed = {v.name: v.missing() for v in self.variants if v.missing()}

    def measure(self, rounds, say):
        for number in range(rounds):
            say(f"{self.work}: round {number + 1} of {rounds}")
            # Each round begins elsewhere, so that no variant always follows the same neighbour.
            turn = number % len(self.variants)
            for v in self.variants[turn:] + self.variants[:turn]:
                if v.name in self.failed:
                    continue
                try:
                    self.samples[v.name].append(getattr(v, self.work)())
                except Failed as e:
                    self.failed[v.name] = str(e)

    def has(self, *names):
        return all(n not in self.failed and self.samples.get(n) for n in names)

    def values(self, name):
        return [s.per(self.per) for s in self.samples[name]]

    def base(self, name):
        return next(v.base for v in self.variants if v.name == name)

    def added(self, name):
        """Over the variant's own base, round by round."""
        return [a - b for a, b in zip(self.values(name), self.values(self.base(name)))]

    def of_added(self, name, other):
        """How many times the added cost of `other` the added cost of `name` is, round by round."""
        return [a / b for a, b in zip(self.added(name), self.added(other)) if b > 0]

    def events_per(self, name):
        """Made, not only recorded: a lost event cost its time as well."""
        s = self.samples[name][-1]
        return (s.events + (s.lost or 0)) / sum(r[self.per] for r in s.reps)

    def together(self, name):
        """What target and tool use more than the base, round by round."""
        return [a + s.tool_per(self.per) for a, s in zip(self.added(name), self.samples[name])]


def lost(samples):
    if samples[0].lost is None:
        return "not counted"
    text = f"{sum(s.lost for s in samples):,} of {sum(s.events + s.lost for s in samples):,}"
    with_loss = sum(bool(s.lost) for s in samples)
    return text + (f"; {with_loss} runs with loss" if with_loss else "")


def tool(samples, per):
    if samples[0].tool_ns is None:
        return ""
    if samples[0].note:
        return samples[0].note
    text = spread([s.tool_per(per) for s in samples], " ns", 0)
    if not samples[0].has_steady():
        return text
    return f"{text}; start and end {statistics.median(s.ends_ns(per) for s in samples) / 1e6:.0f} ms"


LINES = {"storm": "yield storm, a poll and its wake", "sparse100": "100 tasks woken by timers, a poll and its wake",
         "sparse10000": "10,000 tasks woken by timers, a poll and its wake"}


def line_of(r, v):
    return LINES[r.work] + (", with await paths" if v.name == "futrace-paths" else "")


def tell(r, v, row, added=None):
    """The variant's cells in README.md."""
    if r.work not in LINES or "smol" in v.needs:
        return
    if v.name == "plain":
        row.tell(line_of(r, v), plain=f"{statistics.median(r.values(v.name)):.0f} ns")
    elif v.name in ("futrace", "futrace-paths"):
        row.tell(line_of(r, v), target=f"{statistics.median(added):+.0f} ns")
    elif v.name == "dial9-wakes":
        row.tell(line_of(r, v), dial9=f"{statistics.median(added):+.0f} ns")


def together_rows(r, what):
    """Target and tool in one figure, and what the tool takes for an event."""
    rows = []
    for v in r.variants:
        if not r.has(v.name) or not v.base or not r.has(v.base) or r.samples[v.name][0].steady_ns is None:
            continue
        base = r.values(v.base)
        values = [b + t for b, t in zip(base, r.together(v.name))]
        row = Row(f"{what}, target and tool together", v.label, spread(values, " ns"), n=str(len(values)))
        row.against = next(b.label for b in r.variants if b.name == v.base)
        row.result = spread(r.together(v.name), " ns more")
        rows.append(row.tell(line_of(r, v), both=f"{statistics.median(r.together(v.name)):+.0f} ns",
                             tool=f"{statistics.median(s.tool_per(r.per) for s in r.samples[v.name]):.0f} ns"))
        each = [s.tool_per(r.per) / r.events_per(v.name) for s in r.samples[v.name]]
        row = Row(f"tool's CPU per event, {what.split(', ', 1)[1]}", v.label, spread(each, " ns"), n=str(len(each)))
        row.result = f"{r.events_per(v.name):.2f} events per {r.per[:-1]}"
        row.goal, row.met = "≤ 20 ns", at_most(statistics.median(each), 20, unit=" ns")
        rows.append(row)
    return rows


def variant_row(r, v, what, goal_ns):
    if v.name in r.failed:
        return Row(what, v.label, f"not measured: {r.failed[v.name]}")
    values, samples = r.values(v.name), r.samples[v.name]
    row = Row(what, v.label, spread(values, " ns"), n=str(len(values)))
    if not v.base:
        tell(r, v, row)
    elif r.has(v.base):
        added = r.added(v.name)
        tell(r, v, row, added)
        row.against = next(b.label for b in r.variants if b.name == v.base)
        best = min(values) - min(r.values(v.base))
        row.result = spread(added, " ns more") + f"; smallest against smallest {best:,.1f}"
        for name, most in (("futrace-futures", 15), ("futrace-paths", 40 if r.work in variants.SPARSE else 45)):
            if v.name == name:
                row.goal, row.met = f"≤ {most} ns more", at_most(statistics.median(added), most, unit=" ns")
        if v.name == "futrace" and goal_ns:
            row.goal = f"≤ {goal_ns} ns more, nothing lost"
            row.met = at_most(statistics.median(added), goal_ns, unit=" ns")
            if any(s.lost for s in samples):
                row.met = "**no**, events were lost"
    if v.name not in ("plain", "dial9-off"):
        row.lost = lost(samples)
    row.tool = tool(samples, r.per)
    return row


def ratio_rows(r, what):
    """futrace against the floor and against its peers, on the added cost."""
    rows = []
    if not r.has("futrace", "plain"):
        return rows
    label = "`futrace record`"
    if r.has("bare"):
        whole = [a / b for a, b in zip(r.values("futrace"), r.values("bare"))]
        row = Row(what, label, "", "bare hook, whole CPU of the target", spread(whole, "×", 2))
        row.goal, row.met = "≤ 1.5×", at_most(statistics.median(whole), 1.5, 2, "×")
        rows.append(row)
    for name, text in (("bare", "bare hook"), ("bare-wakes", "bare hook that stamps wakes too")):
        more = r.of_added("futrace", name) if r.has(name) else None
        if more:
            row = Row(what, label, "", f"{text}, added cost alone", spread(more, "×", 2))
            row.goal, row.met = "≤ 1.5×", at_most(statistics.median(more), 1.5, 2, "×")
            rows.append(row)
    for name, goal in (("dial9", 4), ("dial9-wakes", 4), ("uftrace", 4), ("bpftrace", 40)):
        if not r.has(name) or not r.has(r.base(name)):
            continue
        times = r.of_added(name, "futrace") or [float("nan")]
        peer = next(v.label for v in r.variants if v.name == name)
        row = Row(what, label, "", f"added cost of {peer}", spread(times, "× under", 1))
        row.goal, row.met = f"≥ {goal}× under", at_least(statistics.median(times), goal, 1, "×")
        rows.append(row)
    return rows


def probe_rows(r, what):
    """What a tracer pays that counts by our probes, against the same tracer on the runtime's own functions."""
    if not r.has("bpftrace", "bpftrace-probes", "plain"):
        return []
    labels = {v.name: v.label for v in r.variants}
    times = r.of_added("bpftrace", "bpftrace-probes") or [float("nan")]
    row = Row(what, labels["bpftrace-probes"], "", f"added cost of {labels['bpftrace']}", spread(times, "× under", 2))
    row.goal, row.met = "≥ 1× under", at_least(statistics.median(times), 1, 2, "×")
    return [row]


def size_rows(r, what):
    rows = []
    for v in r.variants:
        if not r.has(v.name) or not r.samples[v.name][0].file_bytes:
            continue
        samples = r.samples[v.name]
        each = [s.file_bytes / s.events for s in samples]
        polls = statistics.median(each) * r.events_per(v.name)
        row = Row(f"bytes per event, {what}", v.label, spread(each, " B", 2), n=str(len(each)))
        row.result = f"{polls:.1f} B per {r.per[:-1]}, {r.events_per(v.name):.2f} events per {r.per[:-1]}"
        if v.name == "futrace":
            row.goal, row.met = "≤ 4 B", at_most(statistics.median(each), 4, 2, " B")
        rows.append(row)
    return rows


def storm_rows(r):
    what = "CPU per poll, yield storm"
    rows = [variant_row(r, v, what, 25) for v in r.variants]
    return rows + together_rows(r, what) + ratio_rows(r, "CPU per poll, yield storm: ratio") + probe_rows(
        r, "CPU per poll, yield storm: ratio") + size_rows(r, "yield storm")


def sparse_rows(r, tasks):
    what = f"CPU per poll with its wake, {tasks:,} tasks woken by timers"
    return plain_rows(r, what) + together_rows(r, what) + size_rows(r, f"{tasks:,} tasks woken by timers")


def spawn_rows(r):
    return plain_rows(r, "CPU per task, spawn storm") + size_rows(r, "spawn storm")


def plain_rows(r, what):
    return [variant_row(r, v, what, None) for v in r.variants]

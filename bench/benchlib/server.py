# SPDX-License-Identifier: MIT OR Apache-2.0
"""A hyper and an axum server under bounded loopback load: what a recording costs per request, target and tool together.

The servers of all variants run at once and are asked by turns, in bursts of requests; a ratio is that of two bursts, one
after the other. The tool's CPU is read around each burst of its server, so that its start and its end stand apart. It writes
a file several times a second, hence the pause behind a burst. New groups of processes take turns with the luck of where
their memory lies.
"""

import os
import statistics
import subprocess
import time

from .proc import Background, Failed, cpu_ns
from .table import Row, at_most, spread
from .variants import Futrace, number_lost

KINDS = ("hyper", "axum")
CONNECTIONS = 64
REQUESTS = 30000  # of a burst: so many that the pause behind it, in which the tool idles, weighs little
BURSTS = 6  # of a group
SETTLE_S = 0.34  # longer than the tool lets events lie

PLAIN, AGAIN, FUTRACE, DIAL9_OFF, DIAL9 = "plain", "again", "futrace", "dial9-off", "dial9"
LABELS = {PLAIN: "no tracing", AGAIN: "no tracing, again", FUTRACE: "`futrace record`",
          DIAL9_OFF: "dial9 built in (`tokio_unstable`), off", DIAL9: "dial9, `tokio::spawn`"}
BASES = {AGAIN: PLAIN, FUTRACE: PLAIN, DIAL9_OFF: PLAIN, DIAL9: DIAL9_OFF}


class Running:
    """A server, on the core of what is measured, and its load, on the other, which the tool shares."""

    def __init__(self, tools, place, kind, name):
        self.place, self.name = place, name
        self.path = place.fresh("server.data") if name == FUTRACE else None
        program = tools["dial9" if name in (DIAL9_OFF, DIAL9) else "plain"]
        prefix = [tools["futrace"], "record", "-q", "-o", self.path, "--"] if name == FUTRACE else []
        env = {"DIAL9_OUT": place.fresh("dial9-server")} if name == DIAL9 else {}
        self.server = Background(place, [*prefix, program, "1", "server", kind, "120"], env, timeout=150)
        port = self.server.wait_for("listening").strip().rsplit("=", 1)[1]
        self.start_ns = cpu_ns(self.server.child.pid)
        self.load = Background(place, [tools["plain"], "1", "load", port, str(CONNECTIONS)],
                               {"BENCH_CPU": str(place.tool_core)}, stdin=subprocess.PIPE)

    def burst(self):
        """(CPU ns of the target, CPU ns of the tool) per request."""
        tool = self.server.child.pid
        before = cpu_ns(tool)
        print(REQUESTS, file=self.load.child.stdin, flush=True)
        words = dict(w.split("=") for w in self.load.wait_for("burst").split()[1:])
        requests, target_ns = int(words["requests"]), int(words["cpu_ns"])
        if self.name != FUTRACE:
            return target_ns / requests, 0
        time.sleep(SETTLE_S)
        return target_ns / requests, (cpu_ns(tool) - before) / requests

    def end(self):
        """What the tool used, in ms, before the first burst and behind the last, its workers included."""
        steady_ns = cpu_ns(self.server.child.pid) - self.start_ns
        load = self.load.end()
        if load.status:
            self.kill()
            raise Failed(f"the load ended with status {load.status}: {load.stderr[-160:]}")
        ended = self.server.end()
        if ended.status:
            raise Failed(f"the server ended with status {ended.status}: {ended.stderr[-160:]}")
        target = sum(v["cpu_ns"] for name, v in ended.lines if name == "total")
        return (ended.cpu_ns - target - steady_ns) / 1e6

    def kill(self):
        for child in (self.load, self.server):
            if child.child.returncode is None:
                child.child.terminate()
                child.end()


class Groups:
    """values[name] has a pair of figures for each burst; the same index is the same turn in all."""

    def __init__(self, tools, place, kind):
        self.tools, self.place, self.kind = tools, place, kind
        self.names = [n for n in LABELS if n in (PLAIN, AGAIN) or tools.has("futrace" if n == FUTRACE else "dial9")]
        self.values = {n: [] for n in self.names}
        self.ends, self.bytes, self.per_request = [], [], []
        self.events = self.lost = 0
        self.failed = None

    def measure(self, nr_groups, say):
        for number in range(nr_groups):
            say(f"server: {self.kind}, group {number + 1} of {nr_groups}")
            try:
                self.one(number)
            except (Failed, OSError) as e:
                self.failed = str(e)
                return

    def one(self, number):
        all_of = []
        try:
            for name in self.names:
                all_of.append(Running(self.tools, self.place, self.kind, name))
            for r in all_of:
                r.burst()  # to warm up
            for turn in range(BURSTS):
                # Each begins once, and neighbours are neighbours, forwards and backwards.
                first = (turn + number) % len(all_of)
                order = all_of[first:] + all_of[:first]
                for r in order if turn % 2 else reversed(order):
                    self.values[r.name].append(r.burst())
            for r in all_of:
                ends_ms = r.end()
                if r.name == FUTRACE:
                    self.look_at(r, ends_ms)
        finally:
            for r in all_of:
                r.kill()

    def look_at(self, r, ends_ms):
        report = Futrace(self.tools, self.place).report(r.path)
        self.ends.append(ends_ms)
        self.events += report["events"]
        self.lost += number_lost(report)
        self.bytes.append(os.path.getsize(r.path) / report["events"])
        self.per_request.append(report["events"] / REQUESTS / (BURSTS + 1))


def ratio(pairs, other):
    """Of a/b per pair: the median, and between which bounds the middle half lies."""
    ratios = [a / b for a, b in zip(pairs, other)]
    q = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
    return f"{q[1]:.3f}× (middle half {q[0]:.3f}–{q[2]:.3f})"


def line_of(g):
    return f"{g.kind} server, a request"


def target_row(g, name, what):
    values = [v[0] for v in g.values[name]]
    row = Row(what, LABELS[name], spread(values, " ns", 0), n=str(len(values)))
    if name not in BASES:
        return row.tell(line_of(g), plain=f"{statistics.median(values):,.0f} ns")
    base = [v[0] for v in g.values[BASES[name]]]
    more = (statistics.median(a / b for a, b in zip(values, base)) - 1) * 100
    row.against = "no tracing (noise of a pair)" if name == AGAIN else f"{LABELS[BASES[name]]}, by turns"
    row.result = ratio(values, base)
    if name == DIAL9:
        row.tool = "writes in the target's own process"
        row.tell(line_of(g), dial9=f"{more:+.1f} %")
    if name == FUTRACE:
        row.tool = spread([v[1] for v in g.values[name]], " ns per request", 0)
        row.lost = f"{g.lost:,} of {g.events + g.lost:,}"
        row.goal = "≤ 1.02×"
        row.met = at_most(1 + more / 100, 1.02, 3, "×")
        row.tell(line_of(g), target=f"{more:+.1f} %")
    return row


def together_rows(g, what):
    both = [sum(v) for v in g.values[FUTRACE]]
    base = [v[0] for v in g.values[PLAIN]]
    together = Row(f"{what}, target and tool together", LABELS[FUTRACE], spread(both, " ns", 0),
                   "no tracing, by turns", ratio(both, base), n=str(len(both)))
    together.goal = "≤ 1.05×"
    times = statistics.median(a / b for a, b in zip(both, base))
    together.met = at_most(times, 1.05, 3, "×")
    share = statistics.median(v[1] / b for v, b in zip(g.values[FUTRACE], base)) * 100
    together.tell(line_of(g), tool=f"{share:.1f} %", both=f"{(times - 1) * 100:+.1f} %")
    per_request = statistics.median(g.per_request)
    each = [v[1] / per_request for v in g.values[FUTRACE]]
    event = Row(f"tool's CPU per event, {g.kind} server", LABELS[FUTRACE], spread(each, " ns"), n=str(len(each)))
    event.result = f"{per_request:.2f} events per request"
    event.goal, event.met = "≤ 20 ns", at_most(statistics.median(each), 20, unit=" ns")
    ends = Row(f"tool's CPU for start and end, {g.kind} server", LABELS[FUTRACE], spread(g.ends, " ms", 0), n=str(len(g.ends)))
    size = Row(f"bytes per event, {g.kind} server", LABELS[FUTRACE], spread(g.bytes, " B", 2), n=str(len(g.bytes)))
    size.goal, size.met = "≤ 4 B", at_most(statistics.median(g.bytes), 4, 2, " B")
    return [together, event, ends, size]


def rows(tools, place, nr_groups, say):
    out = []
    for kind in KINDS:
        what = f"CPU per request, {kind} server, {CONNECTIONS} connections"
        g = Groups(tools, place, kind)
        g.measure(nr_groups, say)
        if g.failed:
            out.append(Row(what, "all", f"not measured: {g.failed}"))
            continue
        out += [target_row(g, name, what) for name in g.names]
        for name, need in ((FUTRACE, "futrace"), (DIAL9, "dial9")):
            if name not in g.names:
                out.append(Row(what, LABELS[name], f"not measured: {need}: {tools.why[need]}"))
        if FUTRACE in g.names:
            out += together_rows(g, what)
    return out

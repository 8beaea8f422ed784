# SPDX-License-Identifier: MIT OR Apache-2.0
"""A hyper server under bounded loopback load: what a recording costs per request.

Two ways.  By events: events per request times cost per event (from the yield storm of the same run) over the
CPU per request without tracing; it resolves what the noise of any server benchmark hides.  By pairs: many runs
with and without, and, to show what the pairs can resolve, without against without.
"""

import os
import statistics

from .proc import Background, Failed, run
from .table import Row, at_most, spread
from .variants import Futrace, number_lost

CONNECTIONS = 64
REQUESTS = 20000


class Server:
    def __init__(self, tools, place):
        self.tools, self.place = tools, place
        self.futrace = Futrace(tools, place)
        self.futrace.file = "server.data"

    def serve(self, prefix):
        """(CPU ns per request, all requests, CPU of all processes) of one server run."""
        program = self.tools["plain"]
        server = Background(self.place, [*prefix, program, "1", "server", "0", "60"])
        port = server.wait_for("listening").strip().rsplit("=", 1)[1]
        # The load shares the core of the harness and the tools, never that of the server.
        env = {"BENCH_CPU": str(self.place.tool_core)}
        try:
            load = run(self.place, [program, "1", "load", port, str(CONNECTIONS), str(REQUESTS)], env)
        except Failed:
            server.child.terminate()
            server.end()
            raise
        marks = dict(load.lines)
        ended = server.end()
        start, end = marks["start"], marks["end"]
        requests = end["requests"] - start["requests"]
        return (end["cpu_ns"] - start["cpu_ns"]) / requests, end["requests"], ended

    def plain(self):
        return self.serve([])[0]

    def recorded(self):
        path = self.place.fresh(self.futrace.file)
        each, requests, ended = self.serve([self.tools["futrace"], "record", "-q", "-o", path, "--"])
        total = sum(v["cpu_ns"] for name, v in ended.lines if name == "total")
        report = self.futrace.report(path)
        return {
            "ns": each,
            "tool_ns": (ended.cpu_ns - total) / requests,
            "events": report["events"] / requests,
            "all": report["events"],
            "bytes": os.path.getsize(path) / report["events"],
            "lost": number_lost(report),
        }


class Pairs:
    def __init__(self, tools, place):
        self.server = Server(tools, place)
        self.first, self.second, self.recorded = [], [], []
        self.failed = self.server.futrace.missing()

    def measure(self, pairs, say):
        for number in range(pairs):
            if number % 10 == 0:
                say(f"server: pair {number + 1} of {pairs}")
            steps = [
                lambda: self.first.append(self.server.plain()),
                lambda: self.failed or self.recorded.append(self.server.recorded()),
                lambda: self.second.append(self.server.plain()),
            ]
            try:
                for step in steps if number % 2 == 0 else reversed(steps):
                    step()
            except Failed as e:
                self.failed = str(e)


def ratio(pairs, other):
    """Of a/b per pair: the median, and between which bounds the middle half lies."""
    ratios = [a / b for a, b in zip(pairs, other)]
    q = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
    return f"{q[1]:.3f}× (middle half {q[0]:.3f}–{q[2]:.3f})"


def rows(p, storm):
    what = f"CPU per request, hyper server, {CONNECTIONS} connections"
    out = []
    if p.first:
        out.append(Row(what, "no tracing", spread(p.first, " ns", 0), n=str(len(p.first))))
        noise = ratio(p.second, p.first)
        out.append(Row(what, "no tracing, again", spread(p.second, " ns", 0), "no tracing (noise of a pair)", noise, n=str(len(p.second))))
    if p.failed or not p.recorded:
        return out + [Row(what, "`futrace record`", f"not measured: {p.failed}")]
    values = [r["ns"] for r in p.recorded]
    row = Row(what, "`futrace record`", spread(values, " ns", 0), "no tracing, paired", ratio(values, p.first))
    row.n = str(len(values))
    row.tool = spread([r["tool_ns"] for r in p.recorded], " ns per request", 0)
    row.lost = f"{sum(r['lost'] for r in p.recorded):,} of {sum(r['all'] + r['lost'] for r in p.recorded):,}"
    out.append(row)
    out.append(size_row([r["bytes"] for r in p.recorded]))
    return out + by_events(p, storm)


def size_row(each):
    row = Row("bytes per event, hyper server", "`futrace record`", spread(each, " B", 2), n=str(len(each)))
    row.goal, row.met = "≤ 4 B", at_most(statistics.median(each), 4, 2, " B")
    return row


def by_events(p, storm):
    what = "CPU per request, by events × cost"
    events = [r["events"] for r in p.recorded]
    row = Row(what, "`futrace record`", spread(events, " events per request", 2), "no tracing", n=str(len(events)))
    row.goal = "≤ 2 %"
    if storm is None or not storm.has("futrace", "plain"):
        row.result = "not computed: the cost per event comes from the yield storm, which was not measured"
        return [row]
    cost = storm.cost_per_event_ns()
    share = statistics.median(events) * cost / statistics.median(p.first) * 100
    row.result = f"{share:.2f} % more ({cost:.1f} ns per event)"
    row.met = at_most(share, 2, 2, " %")
    return [row]

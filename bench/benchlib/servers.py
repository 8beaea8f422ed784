# SPDX-License-Identifier: MIT OR Apache-2.0
"""Servers on frameworks that people use, under the load of tests/servers: what a recording costs per request.

Two servers run at once, one of them recorded, and are asked by turns; a ratio is that of two bursts of the same
requests, one after the other. New pairs of processes take turns with the luck of where their memory lies.
"""

import os
import re
import shutil
import subprocess
import sys

from .build import ROOT
from .proc import Failed, target_of
from .server import ratio
from .table import Row, spread
from .variants import Futrace, number_lost

sys.path.insert(0, os.path.join(ROOT, "tests", "live"))
import live  # noqa: E402
import servers  # noqa: E402
from servers import load  # noqa: E402

CONNECTIONS = 20
ROUNDS = 50
BURSTS = 10


class Running:
    """One server on the core of what is measured; what records it stays on the other."""

    def __init__(self, tools, place, name, path=None):
        is_redis = name in servers.MINI_REDIS
        target = os.path.join(tools.target, name if is_redis else "servers", "release")
        self.port = live.free_port()
        argv = ["taskset", "-c", str(place.core)]
        argv += [os.path.join(target, "mini-redis-server"), "--port", str(self.port)] if is_redis else \
            [os.path.join(target, "on-" + name)]
        if path:
            argv = [tools["futrace"], "record", "-q", "-o", path, "--", *argv]
        self.child = subprocess.Popen(argv, env=place.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if not is_redis:
            self.port = int(re.search(rb":(\d+)$", self.child.stdout.readline().strip())[1])
        self.load = servers.load_of(name)(self.port, CONNECTIONS)
        self.pid = target_of(self.child.pid) if path else self.child.pid
        self.nr_before = self.tool_before = 0

    def burst(self):
        """CPU per request."""
        before = load.cpu_ns(self.pid)
        self.load.rounds(ROUNDS)
        return (load.cpu_ns(self.pid) - before) / ROUNDS / CONNECTIONS

    def begin(self):
        """What the tool has used until now is its start."""
        self.nr_before, self.tool_before = self.load.nr_requests, load.cpu_ns(self.child.pid)

    def end(self):
        """CPU of the tool, if there is one, per request since the beginning, with what it used while the other was asked."""
        tool = (load.cpu_ns(self.child.pid) - self.tool_before) / (self.load.nr_requests - self.nr_before)
        self.load.close()
        self.child.terminate()
        self.child.wait(20)
        self.child.stdout.close()
        return tool


class Pairs:
    def __init__(self):
        self.plain, self.recorded, self.tool, self.lost, self.events = [], [], [], 0, 0

    def measure(self, tools, place, name):
        futrace = Futrace(tools, place)
        path = place.fresh("servers.data")
        pair = [Running(tools, place, name), Running(tools, place, name, path)]
        for one in pair:
            one.burst()
            one.begin()
        for number in range(BURSTS):
            for i in (0, 1) if number % 2 else (1, 0):
                (self.recorded if i else self.plain).append(pair[i].burst())
        pair[0].end()
        self.tool.append(pair[1].end())
        report = futrace.report(path)
        self.lost += number_lost(report)
        self.events += report["events"]

    def rows(self, name):
        what = f"CPU per request, {name} server, {CONNECTIONS} connections"
        row = Row(what, "`futrace record`", spread(self.recorded, " ns", 0), "no tracing, by turns",
                  ratio(self.recorded, self.plain), n=str(len(self.recorded)))
        row.tool = spread(self.tool, " ns per request", 0)
        row.lost = f"{self.lost:,} of {self.events + self.lost:,}"
        return [Row(what, "no tracing", spread(self.plain, " ns", 0), n=str(len(self.plain))), row]


def build(tools):
    if shutil.which("cargo"):
        servers.build(tools.target, True)


def rows(tools, place, nr_pairs, say):
    out = []
    if not shutil.which("cargo") or not tools.has("futrace"):
        return [Row("CPU per request, servers", "`futrace record`", "not measured: cargo or futrace is missing")]
    for name in servers.ALL:
        say(f"servers: {name}")
        pairs = Pairs()
        try:
            for _ in range(nr_pairs):
                pairs.measure(tools, place, name)
            out += pairs.rows(name)
        except (Failed, load.Wrong, OSError, subprocess.SubprocessError) as e:
            out.append(Row(f"CPU per request, {name} server", "`futrace record`", f"not measured: {e}"))
    return out

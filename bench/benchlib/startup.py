# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `futrace record -- CMD` adds to the life of a program that hardly does anything, in wall time.

The whole life is compared, end included.  Without cache means that $XDG_CACHE_HOME is a fresh folder; the file
itself is in the page cache either way.
"""

import os

from .proc import Failed, run
from .table import Row, at_most
from .variants import Futrace

WHAT = "start and end of a run, wall"


def programs(tools):
    """(label, argv, goal in ms without cache, times to run in full)"""
    out = [("`/bin/true`", ["/bin/true"], 50, 20)]
    for name, args, goal, times in (("plain", ["1", "hello"], 50, 20), ("big", [], 600, 10)):
        if not tools.has(name):
            out.append((f"{name}: {tools.why[name]}", None, goal, times))
            continue
        size = os.path.getsize(tools[name]) / 1e6
        text = "Tokio hello" if name == "plain" else "axum + reqwest, unoptimised, full DWARF"
        out.append((f"{text}, {size:,.0f} MB", [tools[name], *args], goal, times))
    return out


class Start:
    def __init__(self, tools, place):
        self.place = place
        self.futrace = Futrace(tools, place)
        self.futrace.file = "start.data"

    def ms(self, argv, cached):
        if cached is None:
            return run(self.place, argv).wall_ns / 1e6
        name = "cache-warm" if cached else "cache-fresh"
        cache = self.place.path(name) if cached else self.place.fresh(name)
        _, ended = self.futrace.record(argv, env={"XDG_CACHE_HOME": cache})
        return ended.wall_ns / 1e6

    def measure(self, argv, times):
        """Minima of interleaved runs: the wall time of a short program is only ever too long."""
        out = {None: [], False: [], True: []}
        if not self.futrace.missing():
            self.ms(argv, True)
        for _ in range(times):
            for cached, list_ in out.items():
                if cached is None or not self.futrace.missing():
                    list_.append(self.ms(argv, cached))
        return out


def kind_row(label, base, values, cached, goal):
    row = Row(WHAT, f"{label}, {'cached' if cached else 'without cache'}")
    limit = 50 if cached else goal
    added = min(values) - min(base)
    row.value = f"{min(values):,.1f} ms (median {sorted(values)[len(values) // 2]:,.1f})"
    row.against = "without futrace"
    row.result = f"{added:,.1f} ms more"
    row.goal, row.met, row.n = f"≤ {limit} ms more", at_most(added, limit, unit=" ms"), str(len(values))
    return row


def rows(tools, place, share, say):
    start = Start(tools, place)
    out = []
    for label, argv, goal, times in programs(tools):
        if not argv:
            out.append(Row(WHAT, label, "not measured"))
            continue
        say(f"start: {label}")
        times = max(3, int(times * share))
        try:
            got = start.measure(argv, times)
        except Failed as e:
            out.append(Row(WHAT, label, f"not measured: {e}"))
            continue
        base = got[None]
        text = f"{min(base):,.1f} ms (median {sorted(base)[len(base) // 2]:,.1f})"
        out.append(Row(WHAT, f"{label}, without futrace", text, n=str(len(base))))
        for cached in (False, True):
            if got[cached]:
                out.append(kind_row(label, base, got[cached], cached, goal))
            else:
                out.append(Row(WHAT, f"{label}, recorded", f"not measured: {start.futrace.missing()}"))
                break
    return out

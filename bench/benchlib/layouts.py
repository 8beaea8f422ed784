# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long it takes to read the types of a large program from its debug info, in wall time."""

import os
import statistics

from .proc import Failed, run
from .table import Row, at_most

WHAT = "types of a program from its debug info, wall"
ROOTS = ["big::main::{async_block_env#0}", "big::main::{async_block#0}::{async_block_env#0}"]


def measure(tools, place, cache, times):
    out = []
    for _ in range(times):
        ended = run(place, [tools["layouts"], tools["big-full"], cache or "-", *ROOTS])
        out += [v for name, v in ended.lines if name == "layouts"]
    if not out or any(v["awaits"] == 0 or v["broken"] for v in out):
        raise Failed("the await points of the program were not found")
    return out


def row(label, passes, limit):
    opened = [v["open_ns"] / 1e6 for v in passes]
    both = [(v["open_ns"] + v["follow_ns"]) / 1e6 for v in passes]
    r = Row(WHAT, label, n=str(len(passes)))
    r.value = f"{min(opened):,.0f} ms (median {statistics.median(opened):,.0f})"
    r.result = f"{min(both):,.0f} ms with all {passes[0]['types']:,} types below its tasks"
    r.goal, r.met = f"≤ {limit} ms", at_most(min(opened), limit, unit=" ms")
    return r


def rows(tools, place, times, say):
    say("layouts")
    for name in ("layouts", "big-full"):
        if not tools.has(name):
            return [Row(WHAT, name, f"not measured: {tools.why[name]}")]
    size = os.path.getsize(tools["big-full"]) / 1e6
    label = f"axum + reqwest, release with debug = 2, {size:,.0f} MB"
    # Both cores: threads share the units.
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {place.tool_core, place.core})
        cache = place.fresh("layouts")
        measure(tools, place, cache, 1)
        return [row(f"{label}, without cache", measure(tools, place, None, times), 600),
                row(f"{label}, cached", measure(tools, place, cache, times), 50)]
    except Failed as e:
        return [Row(WHAT, label, f"not measured: {e}")]
    finally:
        os.sched_setaffinity(0, cores)

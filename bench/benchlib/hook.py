# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent's hooks alone, called by bench/hook.c in a loop: what an event costs the thread that makes it."""

import re
import statistics

from .proc import Failed, run
from .table import Row, at_most, spread

WHAT = "the hook alone, on a table of its own"
LINE = re.compile(r"^(.+?) +([0-9.]+) ns")
# What is compared with what, and how much more it may cost.
LIMITS_NS = {"run, with probes": ("run", 1), "wake, with probes": ("wake", 1)} | {
    f"run, path, {where}": ("run", 20) for where in (" 1 places", " 4 places", "28 places", "moves on", "at random")}


def measure(tools, place):
    found = map(LINE.match, run(place, [tools["hook"]]).stdout.splitlines())
    return {m[1]: float(m[2]) for m in found if m}


def row(name, rounds):
    r = Row(WHAT, name, spread([costs[name] for costs in rounds], " ns"), n=str(len(rounds)))
    if name in LIMITS_NS:
        base, limit = LIMITS_NS[name]
        more = [costs[name] - costs[base] for costs in rounds]
        r.against, r.result = base, spread(more, " ns more")
        r.goal, r.met = f"≤ {limit} ns more", at_most(statistics.median(more), limit, 1, " ns")
    return r


def rows(tools, place, times, say):
    say("hook")
    if not tools.has("hook"):
        return [Row(WHAT, "futrace", f"not measured: {tools.why['hook']}")]
    try:
        rounds = [measure(tools, place) for _ in range(times)]
    except Failed as e:
        return [Row(WHAT, "futrace", f"not measured: {e}")]
    return [row(name, rounds) for name in rounds[0]]

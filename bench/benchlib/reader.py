# SPDX-License-Identifier: MIT OR Apache-2.0
"""How fast a recorded yield storm is read back, in events per second of CPU time."""

import statistics

from .proc import Failed, run
from .table import Row, at_least, spread
from .variants import Futrace

WHAT = "reading a trace, CPU time"


def commands(tools, path):
    """(label, argv, goal in M events/s)"""
    return [
        ("`futrace info`", [tools["futrace"], "info", path], None),
        ("`futrace report --json`", [tools["futrace"], "report", "--json", path], 20),
        ("`futrace dump`", [tools["futrace"], "dump", path], None),
    ]


def alone(tools, place, path, times):
    """The reader without anything on top of it; it times its own passes."""
    row = Row(WHAT, "the reader alone (bench/reader.c)", n=str(times))
    if not tools.has("reader"):
        row.value = f"not measured: {tools.why['reader']}"
        return row
    ended = run(place, [tools["reader"], path, str(times)])
    rate(row, [v["events"] / v["cpu_ns"] * 1e3 for name, v in ended.lines if name == "pass"], 30)
    return row


def rate(row, values, goal):
    row.value = spread(values, " M events/s", 1)
    if goal:
        row.goal = f"≥ {goal} M events/s"
        row.met = at_least(statistics.median(values), goal, 1, " M")


def command_row(place, label, argv, goal, events, times):
    row = Row(WHAT, label, n=str(times))
    try:
        rate(row, [events / run(place, argv, to_null=True).cpu_ns * 1e3 for _ in range(times)], goal)
    except Failed as e:
        row.value = f"not measured: {e}"
    return row


def rows(tools, place, times, say):
    say("reader")
    futrace = Futrace(tools, place)
    futrace.file = "reader.data"
    if futrace.missing():
        return [Row(WHAT, "`futrace`", f"not measured: {futrace.missing()}")]
    path = place.path(futrace.file)
    try:
        sample = futrace.storm()
        out = [alone(tools, place, path, times)]
    except Failed as e:
        return [Row(WHAT, "`futrace`", f"not measured: {e}")]
    for label, argv, goal in commands(tools, path):
        out.append(command_row(place, label, argv, goal, sample.events, times))
    return out

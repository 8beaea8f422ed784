# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long it takes to look at a process with a million tasks that goes on running, in wall time and on both cores."""

import os
import subprocess

from .proc import Failed, run
from .table import Row, at_most, spread

TASKS = 1000000
LIMIT_S = 2
WHAT = f"`ps` and `tree` of {TASKS:,} tasks, wall"


class Held:
    """A program whose tasks sleep until its standard input ends."""

    def __init__(self, tools, place):
        self.child = subprocess.Popen([tools["plain-full"], "2", "held", str(TASKS)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, env=place.env)

    def __enter__(self):
        if not self.child.stdout.readline().startswith(b"held"):
            raise Failed("the program did not spawn its tasks")
        return self.child.pid

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.wait()


def look(tools, place, command, pid):
    ended = run(place, [tools["futrace"], command, str(pid)])
    shown = ended.stdout.count("sleep ") if command == "ps" else f"{TASKS:,} tasks" in ended.stdout and TASKS
    if shown != TASKS:
        raise Failed(f"{command} shows {shown} of {TASKS} tasks")
    return ended


def rows(tools, place, times, say):
    say("look")
    for name in ("futrace", "plain-full"):
        if not tools.has(name):
            return [Row(WHAT, name, f"not measured: {tools.why[name]}")]
    cores, out = os.sched_getaffinity(0), []
    try:
        os.sched_setaffinity(0, {place.tool_core, place.core})
        with Held(tools, place) as pid:
            for command in ("ps", "tree"):
                ended = [look(tools, place, command, pid) for _ in range(times)]
                walls = [e.wall_ns / 1e9 for e in ended]
                r = Row(WHAT, f"`{command}`", spread(walls, " s", 2), n=str(times))
                r.tool = f"{min(e.cpu_ns for e in ended) / 1e9:.2f} s"
                r.goal, r.met = f"≤ {LIMIT_S} s", at_most(min(walls), LIMIT_S, 2, " s")
                out.append(r)
        return out
    except Failed as e:
        return [Row(WHAT, "futrace", f"not measured: {e}")]
    finally:
        os.sched_setaffinity(0, cores)

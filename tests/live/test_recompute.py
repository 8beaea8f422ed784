# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every number of the report is found again in the events of real recordings, by a computation of its own."""
import os
import sys

from live import Failed, check, test

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../oracle"))
import recompute  # noqa: E402
from test_findings import FAULTS  # noqa: E402

PROGRAMS = ("exact mt 2", "wakes mt 2", "blocks mt 2", "life leave return", "life runtimes")
# Millions of self-wakes are too many for a slow computation; those of the demo will do.
MODES = [mode + miss for mode in FAULTS for miss in ("", "-miss") if mode + miss != "self-wakes"]


def agree(t, is_whole=False):
    wrong = recompute.check(t.futrace, t.path("t.data"), is_whole)
    if wrong:
        raise Failed(f"{len(wrong)} differences:\n       " + "\n       ".join(wrong[:25]))


@test(cases=[(p,) for p in PROGRAMS])
def programs(t, command):
    """Programs that spawn, wake, block, panic, abort and end in all ways: all numbers, also of halves and of some tasks."""
    name, *args = command.split()
    t.record(t.program(name), *args).ok()
    agree(t)


@test(cases=[(mode,) for mode in MODES])
def faults(t, mode):
    """Each fault, and what is only close to it: all findings with their figures, and all other numbers."""
    r = t.record(t.program("findings", "profiling"), mode).ok()
    check(r.out, "the program said nothing")
    agree(t, is_whole=True)


@test(cases=[("",), ("--healthy",)])
def demo(t, form):
    """A service under load, with faults and without."""
    t.record(t.program("demo", "demo"), "1.5", *form.split()).ok()
    agree(t, is_whole=True)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Panics that nobody learns of are told from those that somebody does, whenever the JoinHandle goes."""
import json

import builds
from live import findings_of, nr_lost, same, test

ORDERS = ("before", "between", "during", "after", "awaited", "kept-behind", "never-dropped", "statement", "storm")
SETS = ("joined", "set-dropped", "set-detached", "abort-handles")
OLD = tuple("old-" + version for version in builds.OLD)
OLD_SLOW = tuple("old-" + version for version in builds.OLD_SLOW)


def compare(t, build, order):
    out = t.record(t.program("panics", build), order).ok().out
    want, rep = json.loads(out), t.report()
    same("lost events", nr_lost(rep), 0)
    same("panics", sum(x["end"] == "panicked" for x in rep["tasks"]), want["panics"])
    found = [f["figures"] for f in findings_of(rep) if f["rule"] == "lost-panic"]
    same("lost panics", sum(f["lost_panics"] for f in found), want["lost"])


OLD_ORDERS = ("before", "between", "during", "awaited", "kept-behind", "never-dropped")


@test(cases=[(b, o) for b in OLD for o in OLD_ORDERS])
def lost_old(t, build, order):
    """The same of older releases of Tokio."""
    compare(t, build, order)


@test(cases=[(b, o) for b in OLD_SLOW for o in OLD_ORDERS], slow=True)
def lost_old_slow(t, build, order):
    """The same of more of them."""
    compare(t, build, order)


@test(cases=[(f"old-{version}",) for version in ("1.24.2", "1.38.0")])
def lost_behind(t, build):
    """Where tasks have ids, also a handle is seen that goes when its task is over."""
    compare(t, build, "after")


@test(cases=[(b, o) for b in ("release", "dev") for o in ORDERS + SETS])
def lost(t, build, order):
    """Of tasks that panicked, those count as lost whose JoinHandle was dropped unread: before, while or after they ran."""
    for _ in range(t.runs):
        compare(t, build, order)

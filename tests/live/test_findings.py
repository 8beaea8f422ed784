# SPDX-License-Identifier: MIT OR Apache-2.0
"""Each rule finds the fault that a program made, with its figures, and is silent about what is only close to it."""
import os

from live import check, findings_of, line_of, nr_lost, same, show_findings, test, truth

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../programs/src/bin/findings")
# The program's mode and the rule that it breaks.
FAULTS = {
    "blocked-sleep": "blocked-poll",
    "blocked-lock": "blocked-poll",
    "long-poll": "long-poll",
    "never-yields": "never-yields",
    "self-wakes": "self-wakes",
    "idle-wakes": "idle-wakes",
    "sched-delay": "sched-delay",
    "task-leak": "task-leak",
    "never-polled": "never-polled",
    "cancel-storm": "cancel-storm",
    "lost-panic": "lost-panic",
    "large-future": "large-future",
    "worker-imbalance": "worker-imbalance",
    "blocking-queue": "blocking-queue",
}


def record(t, mode, profile="dev"):
    """What the program says of itself, and what is found in it by the mode's rule and by others."""
    r = t.record(t.program("findings", profile), mode).ok()
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    return truth(r.out, "finding")[0], findings_of(rep)


@test(cases=[(mode,) for mode in FAULTS])
def found(t, mode):
    """A fault is found by its rule, with the right type and place, and with the program's own figures."""
    want, findings = record(t, mode)
    hits = [f for f in findings if f["rule"] == FAULTS[mode]]
    check(hits, f"no {FAULTS[mode]}; found: {show_findings(findings)}")


@test(cases=[(mode,) for mode in FAULTS])
def near_miss(t, mode):
    """What is only close to a fault is not found by its rule."""
    _, findings = record(t, mode + "-miss")
    hits = [f for f in findings if f["rule"] == FAULTS[mode]]
    check(not hits, f"found where there is none: {show_findings(hits)}")

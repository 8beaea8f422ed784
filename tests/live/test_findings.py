# SPDX-License-Identifier: MIT OR Apache-2.0
"""Each rule finds the fault that a program made, with its figures, and is silent about what is only close to it."""
import os

from live import check, findings_of, line_of, nr_lost, same, show_findings, test, truth

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../programs/src/bin/findings")


def exactly(got, want):
    return got == want


def nearly(got, want):
    return abs(got - want) <= want / 20


def mostly(got, want):
    return 0.8 * want <= got <= want


def a_good_part(got, want):
    return 0.4 * want <= got <= want


def at_least(got, want):
    return got >= want - want / 20


def at_most(got, want):
    return 0 < got <= want + want / 20


# A mode of the program, the rule that it breaks, and how each figure compares with which truth.
FAULTS = {
    "blocked-sleep": ("blocked-poll", {"polls": ("count", exactly), "blocked_ns": ("ns", nearly)}),
    "blocked-lock": ("blocked-poll", {"polls": ("count", exactly), "blocked_ns": ("ns", nearly)}),
    "long-poll": ("long-poll", {"polls": ("count", exactly), "busy_ns": ("ns", nearly)}),
    # What the kernel counted is known but for the last moments.
    "long-read": ("long-poll", {
        "polls": ("count", exactly), "busy_ns": ("ns", nearly), "unseen_ns": ("ns", a_good_part)}),
    "never-yields": ("never-yields", {"tasks": ("count", exactly), "busy_ns": ("ns", nearly)}),
    "self-wakes": ("self-wakes", {"self_wakes": ("count", exactly)}),
    # Two calls may be one wake, and a poll that loses its CPU looks as if it had done something.
    "idle-wakes": ("idle-wakes", {"idle_wakes": ("count", mostly)}),
    # What the machine made it wait is not the holder's fault.
    "sched-delay": ("sched-delay", {"polls": ("count", at_most), "wait_ns": ("ns", at_most), "max_ns": ("max_ns", at_most)}),
    "task-leak": ("task-leak", {"alive": ("count", exactly)}),
    "never-polled": ("never-polled", {"never_polled": ("count", exactly)}),
    "cancel-storm": ("cancel-storm", {"cancelled": ("count", exactly)}),
    "lost-panic": ("lost-panic", {"lost_panics": ("count", exactly)}),
    "large-future": ("large-future", {"tasks": ("count", exactly), "size_bytes": ("bytes", exactly)}),
    "worker-imbalance": ("worker-imbalance", {"waits": ("count", at_least)}),
    "blocking-queue": ("blocking-queue", {"closures": ("count", exactly), "max_ns": ("max_ns", nearly)}),
}
MODES = [(mode,) for mode in FAULTS]


def record(t, mode):
    """What the program says of itself, what the mode's rule found in it, and what all rules did."""
    r = t.record(t.program("findings", "profiling"), mode).ok()
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    everything = findings_of(rep)
    rule, _ = FAULTS[mode.removesuffix("-miss")]
    return truth(r.out, "finding")[0], [f for f in everything if f["rule"] == rule], everything


def place_of(ty):
    _, module, function = ty.split("::")
    return line_of(os.path.join(SOURCES, module + ".rs"), function)


@test(cases=MODES)
def found(t, mode):
    """A fault is found by its rule, once, with the right type and place, and with the program's own figures."""
    want, hits, everything = record(t, mode)
    same(f"times found; {show_findings(everything)}", len(hits), 1)
    got = hits[0]
    same("type", got["type"].removesuffix("::{closure#0}"), want["type"])
    if got["type"] == want["type"]:  # a closure is some lines further down
        check(got["location"].endswith(place_of(want["type"])), f"{got['type']} is said to be at {got['location']}")
    for figure, (key, compares) in FAULTS[mode][1].items():
        check(compares(got["figures"][figure], want[key]), f"{figure}: the program says {want}; {show_findings(hits)}")


@test(cases=MODES)
def near_miss(t, mode):
    """What is only close to a fault is not found by its rule."""
    _, hits, _ = record(t, mode + "-miss")
    check(not hits, f"found where there is none: {show_findings(hits)}")

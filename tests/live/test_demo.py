# SPDX-License-Identifier: MIT OR Apache-2.0
"""The demo service: its five faults are what the report begins with, and without them the report is silent."""
import os

from live import check, findings_of, line_of, nr_lost, same, show_findings, test

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/demo/src")
FAULTS = {
    ("blocked-poll", "demo::render::render_page"),
    ("blocked-poll", "demo::stats::count_visit"),
    ("task-leak", "demo::orders::await_receipt"),
    ("self-wakes", "demo::mail::send_mails"),
    ("lock-queue", "demo::stock::pack"),
}


def record(t, *args):
    """What the service says of itself, and what is found in it."""
    r = t.record(t.program("demo", "demo"), *args).ok()
    says = {k: int(v) for k, v in (pair.split("=") for pair in r.out.split())}
    check(says["requests"] > 1000, f"hardly a service: {says}")
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    return says, findings_of(rep)


def agree(what, got, want, share):
    check(abs(got - want) <= share * want, f"{what}: {got}, the program says {want}")


def check_place(finding):
    _, module, name = finding["type"].split("::")
    place = line_of(os.path.join(SOURCES, module + ".rs"), name)
    check(finding["location"].endswith(place), f"{finding['type']} is said to be at {finding['location']}")


def check_await(finding):
    """It names the line that queues."""
    with open(os.path.join(SOURCES, "stock.rs"), encoding="utf-8") as f:
        line = next(i for i, text in enumerate(f, 1) if "shelves.lock().await" in text)
    check(finding["await"].endswith(f"src/stock.rs:{line}"), f"the await is said to be at {finding['await']}")


def check_figures(says, figures):
    render = figures["demo::render::render_page"]
    same("polls that blocked", render["polls"], says["blocking_calls"])
    agree("ms blocked", render["blocked_ns"] / 1e6, says["blocking_ms"], 0.05)
    # The shortest waits are below the threshold, and those below 1 ms the program does not count.
    lock = figures["demo::stats::count_visit"]
    check(0 < lock["polls"] <= says["lock_waits"], f"{lock} of {says}")
    check(0.4 * says["lock_wait_ms"] < lock["blocked_ns"] / 1e6 < 1.05 * says["lock_wait_ms"], f"{lock} of {says}")
    same("tasks that are left", figures["demo::orders::await_receipt"]["alive"], says["leaked"])
    agree("wakes by itself", figures["demo::mail::send_mails"]["self_wakes"], says["spins"], 0.01)
    queue = figures["demo::stock::pack"]
    same("packers", queue["tasks"], 6)
    agree("waits for the shelves", queue["waits"], says["shelf_waits"], 0.01)
    agree("ms of them", queue["wait_ns"] / 1e6, says["shelf_wait_ms"], 0.02)


@test()
def faults(t):
    """The five faults of the demo are the first five findings, with their types, places and figures."""
    for _ in range(t.runs):
        says, found = record(t)
        first = found[:5]
        check({(f["rule"], f["type"]) for f in first} == FAULTS, f"found: {show_findings(found)}")
        for f in first:
            check_place(f)
            if f["rule"] == "lock-queue":
                check_await(f)
        check_figures(says, {f["type"]: f["figures"] for f in first})


@test()
def healthy(t):
    """Nothing is found in the same service with its faults mended."""
    for _ in range(t.runs):
        says, found = record(t, "--healthy")
        same("leaked, spins and lock waits", [says[k] for k in ("leaked", "spins", "lock_waits")], [0, 0, 0])
        check(not found, f"found: {show_findings(found)}")

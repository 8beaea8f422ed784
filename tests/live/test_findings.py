# SPDX-License-Identifier: MIT OR Apache-2.0
"""Each rule finds the fault that a program made, with its figures, and is silent about what is only close to it."""
import os
import re

from live import check, nr_lost, same, short, test, truth

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../programs/src/bin")
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
RULES = sorted(set(FAULTS.values()))
SEVERITIES = ("critical", "warning", "note")


def place_of(sources, ty):
    """Where the source defines the function of that path: file and line."""
    crate_module, name = ty.rsplit("::", 1)
    stem = "/".join(crate_module.split("::"))
    path = os.path.join(sources, stem + ".rs")
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if re.search(rf"\bfn {name}\b", line):
                return f"{stem}.rs:{number}"
    raise AssertionError(f"{path} has no function {name}")


def well_formed(finding):
    for key in ("rule", "severity", "type", "task", "location", "figures", "advice"):
        check(key in finding, f"no {key} in {finding}")
    check(finding["severity"] in SEVERITIES, f"severity {finding['severity']}")
    check(finding["rule"] in RULES, f"a rule that no program here breaks: {finding['rule']}")
    check(len(finding["advice"]) > 20, f"no advice: {finding}")


def worst_first(findings):
    ranks = [SEVERITIES.index(f["severity"]) for f in findings]
    same("ranks of the findings", ranks, sorted(ranks))


def findings_of(t, prog, *args):
    """Records it: what it says of itself, and what the report finds."""
    r = t.record(prog, *args).ok()
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    for f in rep["findings"]:
        well_formed(f)
    worst_first(rep["findings"])
    return r, rep["findings"]


def show(findings):
    return short("; ".join(f"{f['rule']} {f['type']} {f['figures']}" for f in findings) or "nothing", 2000)


@test(cases=[(mode,) for mode in FAULTS])
def found(t, mode):
    """A fault is found by its rule, with the right type and place, and the figures are those of the program."""
    r, findings = findings_of(t, t.program("findings", "dev"), mode)
    want = truth(r.out, "finding")[0]
    hits = [f for f in findings if f["rule"] == FAULTS[mode]]
    check(hits, f"no {FAULTS[mode]}; found: {show(findings)}")


@test(cases=[(mode,) for mode in FAULTS])
def near_miss(t, mode):
    """What is only close to a fault is not found by its rule."""
    _, findings = findings_of(t, t.program("findings", "dev"), mode + "-miss")
    hits = [f for f in findings if f["rule"] == FAULTS[mode]]
    check(not hits, f"found where there is none: {show(hits)}")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The truth that everything else is compared with, checked against itself, without futrace."""
from live import check, same, test, total, truth

PROFILES = ("dev", "release", "lto", "stripped")
MODES = ("ct", "mt 1", "mt 2", "mt 4")


def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))


@test(cases=[(m,) for m in MODES])
def exact_is_consistent(t, mode):
    """The program `exact` prints a prime number of tasks, with unique ids, known parents and certain ends."""
    out = t.run(t.program("exact"), *mode.split()).ok().out
    tasks = truth(out, "task")
    ids = {x["id"]: x for x in tasks}
    same("unique ids", len(ids), len(tasks))
    same("total of tasks", total(out)["tasks"], len(tasks))
    check(is_prime(len(tasks)), f"{len(tasks)} tasks")
    same("total of polls", total(out)["polls"], sum(x["polls"] for x in tasks))
    for x in tasks:
        check(x["parent"] is None or x["parent"] in ids, f"parent of {x}")
        check(x["end"] in ("completed", "cancelled", "panicked", "dropped"), f"end of {x}")
        check(x["kind"] != "blocking" or x["polls"] <= 1, f"closure polled twice: {x}")
    for end in ("completed", "cancelled", "panicked", "dropped"):
        for kind in ("task", "blocking"):
            if (end, kind) != ("dropped", "blocking"):
                check(any(x["end"] == end and x["kind"] == kind for x in tasks), f"no {kind} {end}")


@test(cases=[(m,) for m in MODES])
def wakes_are_consistent(t, mode):
    """In the program `wakes`, the transitions of all causes together explain every poll but the first."""
    out = t.run(t.program("wakes"), *mode.split()).ok().out
    for x in truth(out, "task"):
        w = x["wakes"]
        moved = sum(w[c] for c in ("self", "task", "thread", "worker", "abort"))
        same(f"transitions of {x}", moved, x["polls"] - 1 + (x["end"] == "cancelled"))

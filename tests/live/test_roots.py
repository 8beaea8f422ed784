# SPDX-License-Identifier: MIT OR Apache-2.0
"""Root futures of block_on, which are no tasks: each once, with all its polls, or said not to be seen."""
import json

from live import Failed, check, nr_lost, same, test, user_tasks

PROFILES = ("dev", "release", "lto")
MODES = ("mt", "ct", "local", "mixed", "guards", "builders", "deep")
VARIANTS = ("relr-v0", "unstable", "jemalloc")
CAUSES = {
    # by what each root of `all` is woken; None: it depends on who is faster
    "mt": {"yields": {"self": 10}, "wakes_itself": {"self": 7}, "sleeps": {"worker": 5}, "thread": {"thread": 1},
           "ready": {}, "joins": {"task": 1}},
    "ct": {"yields": {"worker": 10}, "wakes_itself": {"self": 7}, "sleeps": {"worker": 5}, "thread": {"thread": 1},
           "ready": {}, "joins": {"task": 1}},
}

BY_CLOCK = ("sleeps", "joins")  # who comes when the time is over, on a busy machine, need not wait for it
TRIES = 10


def roots_of(rep):
    return sorted((x for x in rep["tasks"] if x["kind"] == "block_on"), key=lambda x: x["spawn_ns"])


def told(out):
    return sorted((json.loads(line) for line in out.splitlines()), key=lambda x: x["root"])


def compare(rep, truth):
    same("lost", nr_lost(rep), 0)
    same("events that do not fit", rep["damage"]["stray_events"], 0)
    got = roots_of(rep)
    same("roots and their polls", [(x["polls"], x["end"]) for x in got], [(x["polls"], "completed") for x in truth])
    for x in got:
        same(f"life of {x}", x["busy_ns"] + x["sched_ns"] + x["idle_ns"] + x["unknown_ns"], x["end_ns"] - x["spawn_ns"])
        same(f"unknown time of {x}", x["unknown_ns"], 0)
        same(f"wakes of {x}", x["wakes"], x["polls"] - 1)
        same(f"spawn of {x}", x["spawn"], "exact")
    return got


def recorded(t, profile, mode):
    prog = t.program("roots", profile)
    labels = [x["label"] for x in told(t.run(prog, mode).ok().out)]
    truth = told(t.record(prog, mode).ok().out)
    same("roots", [x["label"] for x in truth], labels)
    return truth, t.report()


@test(cases=[(p, m) for p in PROFILES + VARIANTS for m in MODES])
def each_poll(t, profile, mode):
    """Every root future is there once and with all its polls: nested, one after the other, ready at once."""
    truth, rep = recorded(t, profile, mode)
    got = compare(rep, truth)
    for x, want in zip(got, truth):
        if want["label"] in CAUSES.get(mode, {}):
            by = {k: v for k, v in x["wakes_by"].items() if v}
            causes, nr_wakes = CAUSES[mode][want["label"]], want["polls"] - 1
            if want["label"] in BY_CLOCK:
                causes = {k: min(v, nr_wakes) for k, v in causes.items() if nr_wakes}
            if nr_wakes > sum(causes.values()):  # a thread keeps a wake for the root before, and polls the next one for it
                by = {k: min(v, causes[k]) for k, v in by.items() if k in causes}
            same(f"who woke {want['label']}", by, causes)
    for w in rep["workers"]:
        check(w["busy_ns"] + w["asleep_ns"] <= rep["duration_ns"] * 1.001, f"a thread is busier than time goes by: {w}")


@test()
def each_of_many(t):
    """However many threads wait at once, each of them was idle until it was woken, and by whom it was is told."""
    truth, rep = recorded(t, "release", "many")
    for x in compare(rep, truth):
        same(f"who woke {x}", {k: v for k, v in x["wakes_by"].items() if v}, {"thread": 1})
        check(x["idle_ns"] >= 250_000_000, f"it waited for 300 ms: {x}")


@test()
def too_deep(t):
    """Roots that are too deep inside of others are counted, and change nothing of those that are told."""
    truth, rep = recorded(t, "release", "deeper")
    got = roots_of(rep)
    same("roots and their polls", [(x["polls"], x["end"]) for x in got],
         [(x["polls"], "completed") for x in truth[:len(got)]])
    check(8 <= len(got) < len(truth), f"roots that are told: {len(got)}")
    same("those that are not", nr_lost(rep, "spawn"), len(truth) - len(got))
    same("lost", nr_lost(rep), nr_lost(rep, "spawn"))


@test(cases=[("mt",), ("ct",)])
def told_from_tasks(t, mode):
    """Roots and tasks are numbered apart: each has a story of its own, and the totals say how many are roots."""
    truth, rep = recorded(t, "release", mode)
    same("roots in the totals", rep["totals"]["block_on"], {"tasks": len(truth), "polls": sum(x["polls"] for x in truth)})
    twice = {x["id"] for x in roots_of(rep)} & {x["id"] for x in user_tasks(rep) if x["kind"] != "block_on"}
    check(twice, "no id is a root's and a task's: nothing is proved")
    for number in twice:
        for name, is_root in ((f"root:{number}", True), (f"0:{number}", False)):
            out = t.run(t.futrace, "report", f"--task={name}", t.path("t.data")).ok().out
            same(f"stories of {name}", [x.split()[0] for x in out.splitlines() if x.startswith(("root ", "task "))],
                 ["root" if is_root else "task"])
            same(f"a JoinHandle in the story of {name}", "JoinHandle" in out, not is_root)


@test(cases=[(p, m) for p in PROFILES for m in ("mt", "ct")])
def waiting_is_no_poll(t, profile, mode):
    """A root that sleeps waits: that is idle, and no poll of it takes as long."""
    for _ in range(TRIES):
        truth, rep = recorded(t, profile, mode)
        sleeps = next(x for x, want in zip(roots_of(rep), truth) if want["label"] == "sleeps")
        check(sleeps["blocked_ns"] == 0, f"a park is not blocked: {sleeps}")
        # on a busy machine a thread may begin to wait when most of the time is over: another try
        if sleeps["idle_ns"] >= 9_000_000:
            return
    raise Failed(f"five sleeps of 2 ms are no waiting: {sleeps}")


@test(cases=[("mt",), ("ct",), ("local",), ("mixed",)])
def places(t, mode):
    """The place of a root is the line of its block_on."""
    truth, rep = recorded(t, "dev", mode)
    lines = [x["spawned_at"] for x in roots_of(rep)]
    check(all(x and "src/bin/roots.rs:" in x for x in lines), f"places: {lines}")
    again = [x for x, want in zip(lines, truth) if want["label"] == "again"]
    check(len(set(again)) <= 1, f"one line, several places: {again}")


@test(cases=[(m,) for m in MODES])
def unseen_without_symbols(t, mode):
    """Without symbols no root is seen, none is made up, and report and doctor say so."""
    prog = t.program("roots", "stripped")
    t.record(prog, mode).ok()
    rep = t.report()
    same("roots", roots_of(rep), [])
    if user_tasks(rep):
        out = " ".join(t.run(t.futrace, "report", t.path("t.data")).ok().out.split())
        check("block_on not recorded" in out, f"the report does not say that roots are unseen: {out[:600]}")
    doctor = json.loads(t.run(t.futrace, "doctor", "--json", prog).ok().out)["files"][0]
    same("what the doctor says of roots", doctor["roots"], "unseen")
    check("block_on not seen: it has no symbols" in " ".join(t.run(t.futrace, "doctor", prog).ok().out.split()),
          "the doctor does not say that roots are unseen")


@test(cases=[("dev",), ("release",)])
def panic_leaves(t, profile):
    """A panic that leaves block_on unwinds as it would alone; the root is said to have panicked."""
    prog = t.program("roots", profile)
    for mode in ("panics-mt", "panics-ct"):
        alone, r = t.run(prog, mode).ok(), t.record(prog, mode).ok()
        same("what the program says", r.out, alone.out)
        ends = [x["end"] for x in roots_of(t.report())]
        same("ends of roots", ends, ["panicked", "completed", "completed"])


@test(cases=[(v, m) for v in ("1.24.2", "1.38.0") for m in ("ct", "mt")])
def older_releases(t, version, mode):
    """The root of an older Tokio is seen from 1.29 on; before that the doctor says that it is not."""
    prog = t.program("count", f"old-{version}")
    t.record(prog, mode).ok()
    is_seen = version != "1.24.2"
    same("ends of roots", [x["end"] for x in roots_of(t.report())], ["completed"] if is_seen else [])
    doctor = json.loads(t.run(t.futrace, "doctor", "--json", prog).ok().out)["files"][0]
    same("what the doctor says of roots", doctor["roots"], "seen" if is_seen else "unseen")


@test(cases=[("mt",), ("mixed",)])
def not_wanted(t, mode):
    """With --no-roots there are none, and no event of theirs."""
    t.record(t.program("roots", "release"), mode, opts=["--no-roots"]).ok()
    rep = t.report()
    same("roots", roots_of(rep), [])
    check("block_on" not in t.run(t.futrace, "dump", t.path("t.data")).ok().out, "an event of a root")


@test()
def no_finding(t):
    """What a root does is its thread's own affair: it may block, and ends when it likes."""
    t.record(t.program("roots", "dev"), "blocks").ok()
    rep = t.report()
    same("roots", len(roots_of(rep)), 2)
    types = {x["type"] for x in roots_of(rep)}
    same("findings", [f for f in rep["findings"] if f["type"] in types], [])

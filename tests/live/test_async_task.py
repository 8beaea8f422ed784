# SPDX-License-Identifier: MIT OR Apache-2.0
"""async-std, smol and bare async-task: the same exactness as for Tokio.

Their tasks have no ids, so truth and report are compared as heaps of tasks: each is what it did, and what
the task did that spawned it.
"""
import collections
import json

from live import Failed, check, nr_lost, same, test, truth, total, user_tasks

BUILDS = ("dev", "release", "lto", "v0")
TRIES = 20
ENDS_WITH_A_DROP = ("cancelled", "dropped")


def deed(t):
    return t["polls"], t["end"]


def wakes_of(t):
    return {k: v for k, v in (t["wakes_by"] if "wakes_by" in t else t["wakes"]).items() if v}


def heap(tasks, key):
    """What there is of each task, and how often."""
    by_key = {t[key]: t for t in tasks}
    found = collections.Counter()
    for t in tasks:
        parent = by_key.get(t.get("parent"))
        found[deed(t), deed(parent) if parent else None] += 1
    return found


def compare(what, got, want, nr_own):
    """All that the program counted is there; the runtime may have tasks of its own, as many as the program knows."""
    more = got - want
    if want - got or sum(more.values()) > nr_own:
        raise Failed(f"{what}: missing {dict(want - got)}, too many {dict(more)}, of which {nr_own} may be the runtime's")


def no_closures(tasks):
    return [t for t in tasks if t["kind"] != "blocking"]


def roots(rep):
    return [t for t in rep["tasks"] if t["kind"] == "block_on"]


def check_wakes(rep, want):
    """A poll but the first comes after one wake; and what the program knows of causes is so."""
    for t in user_tasks(rep):
        runs = t["polls"] + (t["end"] in ENDS_WITH_A_DROP)
        same(f"wakes of {t}", t["wakes"], max(runs - 1, 0) if t["end"] != "alive" else t["wakes"])
    known = collections.Counter((deed(w), tuple(sorted(wakes_of(w).items()))) for w in want if w["wakes"])
    got = collections.Counter((deed(t), tuple(sorted(wakes_of(t).items()))) for t in user_tasks(rep))
    missing = known - got
    check(not missing, f"no tasks woken like this: {dict(missing)}")


def record_whole(t, program, build, env=None):
    """Whoever awaits a task goes on before the thread is out of the task's last run, and the program may be over by
    then: such a run has no end, rightly. Another try."""
    for _ in range(TRIES):
        r = t.record(t.program(program, build), env=env).ok()
        kinds = json.loads(t.run(t.futrace, "info", "--json", t.path("t.data")).ok().out)["events_by_kind"]
        if kinds["run-start"] == kinds["run-end"]:
            return r, t.report()
    raise Failed(f"{TRIES} times the program ended before its threads were out of their runs")


def check_all(t, program, build, env, parents):
    for _ in range(t.runs):
        r, rep = record_whole(t, program, "async-task-" + build, env)
        want, nr_own = truth(r.out, "task"), total(r.out)["own"]
        for x in want:  # a LocalExecutor spawns by the functions of an Executor, but where nothing is optimised
            x["kind"] = "task" if x["kind"] == "local" and build != "dev" else x["kind"]
        same("lost", nr_lost(rep), 0)
        got = user_tasks(rep)
        compare("tasks", collections.Counter((x["kind"], deed(x)) for x in got),
                collections.Counter((x["kind"], deed(x)) for x in want), nr_own)
        check_wakes(rep, want)
        if parents:
            first_seen = [x["type"] for x in no_closures(got) if x["spawn"] != "exact"]
            same("tasks whose spawn was not seen", first_seen, [])
            compare("parents", heap(no_closures(got), "id"), heap(no_closures(want), "nr"), nr_own)
        ids = [x["id"] for x in got + roots(rep)]
        if program == "asyncstd" and build == "dev":  # async-std's own; test `names` looks at them
            same("tasks that share an id", len(ids) - len(set(ids)), 0)
        else:
            same("ids", sorted(ids), list(range(1, len(ids) + 1)))


@test(cases=[(b, n) for b in BUILDS for n in ("1", "3")])
def smol(t, build, threads):
    """Tasks, polls, ends, parents and wakes of a smol program are what it counted itself."""
    check_all(t, "smol", build, {"SMOL_THREADS": threads}, parents=True)


@test(cases=[(b, n) for b in BUILDS for n in ("1", "3")])
def asyncstd(t, build, threads):
    """The same for async-std."""
    check_all(t, "asyncstd", build, {"ASYNC_STD_THREAD_COUNT": threads}, parents=True)


@test(cases=[(b,) for b in BUILDS])
def raw(t, build):
    """The same for async-task alone, whose panics unwind through the hook; there, inlining may hide spawns."""
    check_all(t, "raw", build, {}, parents=build == "dev")


@test(cases=[(b,) for b in BUILDS])
def two_runtimes(t, build):
    """A program with Tokio and smol shows the tasks of both, each with its runtime, and who spawned whom."""
    r, rep = record_whole(t, "mixed", "async-task-" + build)
    same("lost", nr_lost(rep), 0)
    counts = collections.Counter()
    for w in truth(r.out, "task"):
        counts[{"of_smol": "smol", "of_tokio": "tokio"}[w["label"]]] += w["polls"]
    got = collections.Counter()
    for x in user_tasks(rep):
        got[x["runtime"]] += x["polls"] if x["end"] != "alive" else 0
    same("polls by runtime", dict(got), dict(counts))
    names = {x["id"]: x["runtime"] for x in user_tasks(rep) if x["runtime"] == "smol"}
    children = [x for x in user_tasks(rep) if x["runtime"] == "tokio" and x.get("parent") in names]
    check(children, "no task of Tokio has a parent")


@test(cases=[(b,) for b in BUILDS])
def made_of_one(t, build):
    """A program with async-std and smol, both made of async-task, shows which task is whose; never the other one."""
    r, rep = record_whole(t, "both", "async-task-" + build)
    same("lost", nr_lost(rep), 0)
    counts, got = collections.Counter(), collections.Counter()
    for w in truth(r.out, "task"):
        counts[{"of_smol": "smol", "of_async_std": "async-std"}[w["label"]]] += w["polls"]
    for x in user_tasks(rep):
        got[x["runtime"]] += x["polls"] if x["end"] != "alive" else 0
    same("polls by runtime", dict(got), dict(counts))
    by_id = {x["id"]: x["name"] for x in rep["runtimes"]}
    for w in rep["workers"]:
        if w["kind"] == "worker":
            want = "smol" if w["name"].startswith("smol") else "async-std"
            same(f"runtime of {w['name']}", by_id[w["runtime_id"]], want)
    if build == "dev":  # where roots are seen
        roots = [x for x in rep["tasks"] if x["kind"] == "block_on"]
        same("roots", [(x["runtime"], by_id[x["runtime_id"]]) for x in roots], [("smol", "smol"), ("async-std", "async-std")])


@test(cases=[(b,) for b in BUILDS])
def types(t, build):
    """Types are those of the program, without what executors wrap around them; closures of the pool are blocking."""
    t.record(t.program("smol", "async-task-" + build)).ok()
    rep = t.report()
    names = {x["type"] for x in user_tasks(rep)}
    for name in ("truth::Counted<smol::receiver>", "truth::Counted<smol::locker>"):
        check(any(name in n for n in names), f"no {name} among {sorted(names)}")
    wrapped = [n for n in names if "AsyncCallOnDrop" in n or "RawTask" in n]
    same("wrapped names", wrapped, [])
    same("blocking tasks", sum(x["kind"] == "blocking" for x in rep["tasks"]), 7)


@test()
def stripped(t):
    """Without symbols all is recorded as with them, but for names."""
    program = t.path("raw")
    t.run("strip", "-o", program, t.program("raw", "async-task-release")).ok()
    r = t.record(program).ok()
    rep = t.report()
    same("tasks", collections.Counter(map(deed, user_tasks(rep))),
         collections.Counter(map(deed, truth(r.out, "task"))))


def race(t, build, threads, nr_runs):
    for _ in range(nr_runs):
        r = t.record(t.program("race", "async-task-" + build), threads).ok()
        rep, want = t.report(), truth(r.out, "task")
        same("lost", nr_lost(rep), 0)
        got = user_tasks(rep)
        same("what was not cancelled", *(collections.Counter(deed(x) for x in tasks if x["end"] != "cancelled")
                                         for tasks in (got, want)))
        mine, theirs = ([x["polls"] for x in tasks if x["end"] == "cancelled"] for tasks in (got, want))
        same("tasks that were cancelled", len(mine), len(theirs))
        # Whether the run called the future at all when it was cancelled in that moment cannot always be seen.
        more = sum(mine) - sum(theirs)
        check(0 <= more <= len(theirs), f"{more} polls too many of {len(theirs)} cancelled tasks")


@test(cases=[(b, n) for b in ("release", "lto") for n in ("2", "4")])
def completion_race(t, build, threads):
    """A task that another thread completes or cancels while its last run is left has one end, and the right one."""
    race(t, build, threads, max(3, t.runs))


@test()
def places(t):
    """Each task has the line of its own spawn, whichever executor it was spawned on."""
    r = t.record(t.program("spots", "async-task-dev")).ok()
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    want = {x["place"]: x["tasks"] for x in map(json.loads, r.out.splitlines())}
    got = collections.Counter((x["spawned_at"] or "nowhere").split("/async-task/")[-1]
                              for x in user_tasks(rep) if "spots::work" in x["type"])
    same("tasks by place", dict(got), want)


@test()
def doctor_knows_whose_version(t):
    """How Tokio's spawns are seen depends on Tokio's version, not on that of another runtime in the file."""
    with open(t.program("mixed", "async-task-release"), "rb") as f:
        data = f.read()
    program = t.path("mixed")
    with open(program, "wb") as f:
        f.write(data.replace(b"/smol-2.", b"/smol-1."))
    file = json.loads(t.run(t.futrace, "doctor", "--json", "--no-cache", program).ok().out)["files"][0]
    seen = {x["name"]: (x["version"][:2], x["seen"]["spawns"]["how"]) for x in file["runtimes"]}
    same("spawns by runtime", seen, {"tokio": ("1.", "exact"), "smol": ("1.", "exact")})


@test(cases=[(b, p) for b in ("async-task-dev", "async-task-release", "async-task-lto", "async-task-v0")
             for p in ("smol", "asyncstd")])
def waits_for_io(t, build, program):
    """A thread that waits for I/O or timers is asleep, although it makes its system calls past libc."""
    prog = t.program(program, build)

    def nr_waits(*opts):
        t.record(prog, opts=opts).ok()
        events = (line.split() for line in t.run(t.futrace, "dump", t.path("t.data")).ok().out.splitlines())
        return sum("sleep" in words and "flags=epoll" in words for words in events)

    check(nr_waits() > 0, "no wait was seen")
    rep = t.report()
    for w in rep["workers"]:
        check(w["busy_ns"] + w["asleep_ns"] <= rep["duration_ns"] * 1.001, f"busier than time goes by: {w}")
    same("waits that are seen without a redirected function", nr_waits("--no-roots"), 0)


@test(cases=[(b, n) for b in ("async-task-dev", "await") for n in ("1", "3")])
def names(t, build, threads):
    """Where debug info tells, tasks of async-std have their own ids and names."""
    for _ in range(t.runs):
        r, rep = record_whole(t, "named", build, {"ASYNC_STD_THREAD_COUNT": threads})
        want = {x["id"]: (x["name"], x["polls"]) for x in map(json.loads, r.out.splitlines())}
        longest = max(len(name or "") for name, _ in want.values())
        check(longest > 200, "no name is too long")
        got = {x["id"]: (x["name"], x["polls"]) for x in user_tasks(rep)}
        same("lost", nr_lost(rep), 0)
        same("tasks", len(got), len(user_tasks(rep)))
        for nr, (name, polls) in want.items():
            told = name[:128] + "\u2026" if name and len(name) > 128 else name or None  # "" is as good as none
            same(f"task {nr}", got.get(nr), (told, polls))
        others = sorted(x["id"] for x in rep["tasks"] if x["kind"] == "blocking" or x in roots(rep))
        same("root futures", len(roots(rep)), 1)
        same("numbers of tasks that async-std does not know", others, [1000000000001, 1000000000002])


@test(cases=[("release",), ("lto",)])
def no_names(t, build):
    """Without that the numbers are ours."""
    _, rep = record_whole(t, "named", "async-task-" + build)
    same("ids", sorted(x["id"] for x in user_tasks(rep)), list(range(1, len(user_tasks(rep)) + 1)))
    same("names", {x["name"] for x in user_tasks(rep)}, {None})

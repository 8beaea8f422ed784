# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every release, flavour and build of Tokio that is likely to be met, compared with the truth of its program.

A broad part runs each time; `make test-matrix` runs all of it.
"""
import json
from collections import Counter

import test_async_task
import test_exact
import test_roots
import test_wakes
from builds import OLD, OLD_SLOW, PROFILES_MATRIX, RUSTS_SLOW, TOKIO_OF_OLD_RUST, VARIANTS_SLOW
from live import Failed, check, nr_lost, same, test, total, truth, user_tasks

BOTH = ("ct", "mt 2")
BUILDS = ("dev", "release", "lto", "stripped", "relr-v0", "unstable", "jemalloc")
BUILDS_SLOW = (*PROFILES_MATRIX, *VARIANTS_SLOW, RUSTS_SLOW[1])
NO_SYMBOLS = ("stripped",)
NR_RACES = 300
FIRST_WITH_IDS = 23  # minor version of Tokio
ABORT_IS_SHUTDOWN = "1.0.3"  # it calls the same slot as a runtime that goes away


class Run:
    """One run of a task; `wakes` is how many schedules were seen before it."""

    def __init__(self, queue, is_shutdown):
        self.queue, self.is_shutdown, self.wakes = queue, is_shutdown, queue.wakes
        self.is_over = self.is_requeued = False

    def leads_on(self):
        """How often the task came into its queue since this run began. A worker that wakes the task right after the runtime
        let go of it shows in the state at the run's end as a re-queue does: then the schedule is the one that counts."""
        return self.queue.wakes - self.wakes or self.is_requeued


class Queue:
    """How often one task was put into a run queue, and taken out of it to run."""

    def __init__(self):
        self.runs = self.wakes = 0
        self.is_shut_down, self.last, self.wrong = False, None, []

    def start(self, flags):
        run = Run(self, "shutdown" in flags)
        if run.is_shutdown:
            self.is_shut_down = True
            return run
        self.runs += 1
        came = self.last.leads_on() if self.last else self.wakes + 1
        if self.last and came == 0 and not self.last.is_over:
            came = 1  # a re-queue: another worker has it before the end of its run was stamped
        if came != 1:
            self.wrong.append(f"run {self.runs} comes after {came} schedules and re-queues")
        self.last = run
        return run

    def end(self, run, flags):
        run.is_over, run.is_requeued = True, "notified" in flags and "complete" not in flags

    def check(self, task):
        left = self.last.leads_on() if self.last else 0
        if left > self.is_shut_down:
            self.wrong.append(f"{left} schedules or re-queues without a run")
        check(not self.wrong, f"task {task}: {'; '.join(self.wrong)}")


def queues_of(dump, ids):
    """One for each (id, type). A wake of a task that runs is the re-queue at that run's end."""
    queues, stacks = {}, {}
    for line in dump.split("\n"):
        words = line.split()
        if len(words) < 4:
            continue
        tid, kind = words[1], words[3]
        named = dict(w.split("=", 1) for w in words[4:] if "=" in w)
        flags = named.get("flags", "").split(",")
        stack = stacks.setdefault(tid, [])
        if kind == "run-end" and stack:
            run = stack.pop()
            run.queue.end(run, flags)
        elif kind == "run-start" or (kind == "wake" and "running" not in flags):
            q = queues.setdefault((int(named["task"]), named["type_id"]), Queue())
            if kind == "wake":
                q.wakes += 1
            else:
                stack.append(q.start(flags))
    return {k: q for k, q in queues.items() if k[0] in ids}


def check_balance(t, rep):
    """Polls + drop runs = tasks polled + schedules + re-queues: each run but the first comes after one of them. Only a
    shutdown leaves a task in its queue."""
    queues = queues_of(t.dump(), {x["id"] for x in user_tasks(rep)})
    check(queues, "no runs")
    for (task, _), q in queues.items():
        q.check(task)


def check_ends(rep, want):
    """Each end as often as the program says; for programs that print sums."""
    got = Counter(x["end"] for x in user_tasks(rep))
    for end in ("cancelled", "panicked", "dropped"):
        same(end, got[end], want.get(end, 0))
    same("completed", got["completed"], want["tasks"] - sum(want.get(e, 0) for e in ("cancelled", "panicked", "dropped")))


def check_sums(tasks, want):
    same("tasks", len(tasks), want["tasks"])
    same("polls", sum(x["polls"] for x in tasks), want["polls"])
    same("self-wakes", sum(x["self_wakes"] for x in tasks), want["self_wakes"])
    same("cancelled", sum(x["end"] == "cancelled" for x in tasks), want["cancelled"])


def compare(rep, want, keys):
    """These of each task; the rest of what a recording tells is not known here."""
    got, wrong = {x["id"]: x for x in user_tasks(rep)}, []
    same("ids", sorted(x["id"] for x in user_tasks(rep)), sorted(w["id"] for w in want))
    for w in want:
        g = got[w["id"]]
        wrong += [f"{w['label']} {w['id']}: {k} {g.get(k, 'absent')}, should be {w[k]}" for k in keys
                  if g.get(k, "absent") != w[k]]
    if wrong:
        raise Failed(f"{len(wrong)} differences in {len(want)} tasks:\n       " + "\n       ".join(wrong[:25]))


def check_wakes(rep, mode):
    """What balance is where addresses name tasks: each run but the first comes after one wake."""
    for x in user_tasks(rep):
        runs = x["polls"] + (x["end"] == "cancelled")
        same(f"wakes of {x}", x["wakes"], max(runs - 1, 0))
    ids, nr_workers = {x["id"] for x in rep["tasks"]}, int(mode[3:] if mode.startswith("mt ") else 0)
    same("ids that no other task has", len(ids), len(rep["tasks"]))
    check(max(ids) <= len(ids) + nr_workers, f"ids are not 1, 2, 3 ...: {sorted(ids)}")


def old_tokio(t, version, mode):
    """Older releases of Tokio are recorded as exactly: tasks, polls, ends, self-wakes, and which version it is."""
    check_old(t, t.program("count", "old-" + version), version, mode)


def check_old(t, program, version, mode):
    r = t.record(program, *mode.split()).ok()
    rep, want = t.report(), total(r.out)
    if version == ABORT_IS_SHUTDOWN:
        want["dropped"] += want["cancelled"]
        want["cancelled"] = 0
    same("lost", nr_lost(rep), 0)
    same("version", {x["version"] for x in rep["runtimes"]}, {version})
    check_sums(user_tasks(rep), want)
    check_ends(rep, want)
    same("kinds", {x["kind"] for x in user_tasks(rep)}, {"local" if mode == "local" else "task", "blocking"})
    if int(version.split(".")[1]) >= FIRST_WITH_IDS:
        check_balance(t, rep)
    else:
        check_wakes(rep, mode)
    for x in user_tasks(rep):
        parts = x["busy_ns"] + x["sched_ns"] + x["idle_ns"] + x["unknown_ns"]
        same(f"life of {x}", parts, x["end_ns"] - x["spawn_ns"])


test(cases=[(v, m) for v in OLD for m in (*BOTH, "local")])(old_tokio)
test(cases=[(v, m) for v in OLD_SLOW for m in (*BOTH, "local")], slow=True)(old_tokio)


@test(cases=[(v,) for v in OLD if int(v.split(".")[1]) < FIRST_WITH_IDS])
def old_stripped(t, version):
    """Without symbols nothing of a Tokio before 1.23 is recorded: doctor and record say why; the program runs."""
    program = t.path("count")
    t.run("strip", "-o", program, t.program("count", "old-" + version)).ok()
    r = t.record(program, "mt", "2")
    same("tasks", total(r.out)["tasks"] > 0, True)
    for what, text in (("record", r.err), ("doctor", t.run(t.futrace, "doctor", program).out)):
        text = " ".join(text.split())
        check(version in text and "it is stripped: build with" in text, f"{what} does not say why: {text}")


@test(cases=[(m,) for m in BOTH], slow=True)
def old_rust(t, mode):
    """A program of a compiler of 2022 is recorded as exactly."""
    check_old(t, t.program("count", RUSTS_SLOW[0]), TOKIO_OF_OLD_RUST, mode)


def build(t, name, mode):
    """However Tokio 1.54.1 was built: tasks, polls, ends and kinds are exact, runs balance, nothing is lost."""
    r = t.record(t.program("exact", name), *mode.split()).ok()
    rep = t.report()
    test_exact.check_report(rep, r.out)
    test_exact.check_runtimes(rep, mode, name in NO_SYMBOLS)
    check_balance(t, rep)


test(cases=[(b, m) for b in BUILDS for m in BOTH])(build)
test(cases=[(b, m) for b in BUILDS_SLOW for m in BOTH], slow=True)(build)


def unseen_allocator(t, name, how):
    """An allocator whose function is not redirected: polls, ends and kinds are exact, of spawns and parents nothing is said."""
    prog, opts = t.program("exact", name), ["--no-roots"] if how == "unwanted" else []
    if how == "stripped":
        t.run("strip", "-o", t.path("exact"), prog).ok()
        prog = t.path("exact")
    r = t.record(prog, "mt", "2", opts=opts).ok()
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    compare(rep, truth(r.out, "task"), ("polls", "end", "kind"))
    same("how spawns are seen", {x["spawn"] for x in user_tasks(rep)}, {"first_seen"})
    check(not any("parent" in x for x in user_tasks(rep)), "a parent was made up")
    check_balance(t, rep)


test(cases=[("jemalloc", how) for how in ("stripped", "unwanted")])(unseen_allocator)
test(cases=[("mimalloc", how) for how in ("stripped", "unwanted")], slow=True)(unseen_allocator)


def wakes(t, name, mode):
    """However Tokio 1.54.1 was built: wakes and self-wakes of each task are exact, each with its cause."""
    r = t.record(t.program("wakes", name), *mode.split()).ok()
    rep, want = t.report(), truth(r.out, "task")
    same("lost", nr_lost(rep), 0)
    test_wakes.check_report(rep, want)
    check_balance(t, rep)


test(cases=[(b, m) for b in BUILDS for m in BOTH])(wakes)
test(cases=[(b, m) for b in BUILDS_SLOW for m in BOTH], slow=True)(wakes)


@test(cases=[(m,) for m in test_roots.MODES], slow=True)
def aborting(t, mode):
    """With panic = "abort" no end of a worker's stay in its runtime is seen: roots are exact, nothing is at odds."""
    truth_, rep = test_roots.recorded(t, "abort", mode)
    test_roots.compare(rep, truth_)


FLAVOURS = ("localset ct", "localset mt 2", "localruntime", "joinset ct", "joinset mt 2", "blocking ct", "blocking mt 2",
            "block_in_place mt 2", "two ct", "two mt 2")


# That a task was spawned on a LocalRuntime shows by the function that did it, where a symbol or debug info names that.
SHOWS_LOCAL_RUNTIME = ("dev", "release")


def check_flavour(t, name, what, has_local):
    """Tables tell a LocalSet from other schedulers by symbols; a LocalRuntime's are those of a current_thread runtime."""
    r = t.record(t.program("flavours", name), *what.split()).ok()
    rep, want = t.report(), truth(r.out, "task")
    same("lost", nr_lost(rep), 0)
    for w in want:
        if w["kind"] == "local" and not has_local:
            w["kind"] = "task"
    compare(rep, want, ("polls", "end", "kind", "parent"))
    if what == "localruntime":
        same("flavours", {x["flavour"] for x in rep["runtimes"]}, {"local_runtime" if has_local else "current_thread"})
    own = {x["id"]: x["self_wakes"] for x in user_tasks(rep)}
    same("self-wakes", own, {w["id"]: w["wakes"]["self"] for w in want})
    check_balance(t, rep)


@test(cases=[(b, f) for b in ("dev", "release", "lto") for f in FLAVOURS])
def flavour(t, name, what):
    """LocalSet, LocalRuntime, JoinSet, blocking closures, block_in_place and two runtimes: exact, each kind told."""
    check_flavour(t, name, what, what != "localruntime" or name in SHOWS_LOCAL_RUNTIME)


# A worker that runs no task in a stripped program cannot be told from a closure that takes long: so no "blocking mt 2".
@test(cases=[(f,) for f in FLAVOURS if f != "blocking mt 2"])
def flavour_without_symbols(t, what):
    """The same in a stripped program, but that a LocalSet's task cannot be told from any other."""
    check_flavour(t, "stripped", what, False)


@test(cases=[(b, m) for b in ("two-dev", "two") for m in BOTH])
def two_tokios(t, name, mode):
    """Two copies of Tokio in one program, with the same ids and owners in both, are recorded both, as two runtimes; debug
    info tells which version each is."""
    r = t.record(t.program("two", name), *mode.split()).ok()
    rep, wants = t.report(), truth(r.out, "total")
    same("lost", nr_lost(rep), 0)
    check_balance(t, rep)
    same("runtimes", len(rep["runtimes"]), 2)
    if name == "two":
        tasks = user_tasks(rep)
        check_sums(tasks, {k: sum(w[k] for w in wants) for k in ("tasks", "polls", "self_wakes", "cancelled")})
        # whose a closure of the pool is can only be told by who made it: here the root, which is no task
        owned = [[x for x in tasks if x["runtime_id"] == i and x["kind"] == "task"] for i in (0, 1)]
        same("tasks of each", sorted(map(len, owned)), sorted(w["tasks"] - 1 for w in wants))
        return
    by_version = {x["version"]: x["id"] for x in rep["runtimes"]}
    for w in wants:
        check(w["version"] in by_version, f"no Tokio {w['version']}: {rep['runtimes']}")
        check_sums([x for x in user_tasks(rep) if x["runtime_id"] == by_version[w["version"]]], w)


@test()
def unused_tokio(t):
    """Of two copies of Tokio one never runs: a report speaks of the other alone, info and doctor of both. (Without debug
    info, two copies that look alike are one.)"""
    prog = t.program("two", "two-dev")
    r = t.record(prog, "alone", "mt", "2").ok()
    rep, want = t.report(), truth(r.out, "total")[0]
    check_sums(user_tasks(rep), want)
    used, = rep["runtimes"]
    same("whose tasks they are", {x["runtime_id"] for x in rep["tasks"]}, {used["id"]})
    same("whose types they are", {x["runtime_id"] for x in rep["types"]}, {used["id"], None})
    info = json.loads(t.run(t.futrace, "info", "--json", t.path("t.data")).ok().out)
    same("copies", sorted((x["ran"], x["id"] == used["copy"]) for x in info["runtimes"]), [(False, False), (True, True)])
    file, = json.loads(t.run(t.futrace, "doctor", "--json", prog).ok().out)["files"]
    same("copies that doctor names", [x["name"] for x in file["runtimes"]], ["tokio"] * 2)
    same("version", used["version"], want["version"])
    tasks = t.run(t.futrace, "report", "--by=task", t.path("t.data")).ok().out
    check("RUNTIME" not in tasks, tasks[:400])


DOCTOR = {
    # program, build: allocator, spawns, schedulers, what the text says
    ("exact", "release"): (None, "exact", ["multi_thread", "current_thread"], "block_on exact"),
    ("exact", "jemalloc"): ("jemalloc", "exact", ["multi_thread", "current_thread"], "a redirected function of jemalloc"),
    ("exact", "unstable"): (None, "exact", ["multi_thread", "current_thread"], "tokio_unstable"),
    ("exact", "stripped"): (None, "exact", [], "which tasks are a LocalSet's"),
    ("flavours", "release"): (None, "exact", ["multi_thread", "current_thread", "local"], "local tasks"),
    ("count", "old-1.8.5"): (None, "first_seen", ["multi_thread", "current_thread", "local"], "1.8.5"),
    ("count", "old-1.22.0"): (None, "first_seen", ["multi_thread", "current_thread", "local"], "waker table known"),
    ("count", "old-1.24.2"): (None, "some", ["multi_thread", "current_thread", "local"], "before Tokio 1.29"),
    ("count", "old-1.38.0"): (None, "exact", ["multi_thread", "current_thread", "local"], "1.38.0"),
    ("two", "two"): (None, "exact", ["multi_thread", "current_thread"], "1.38.0 + 1.54.1"),
}


def doctor(t, program, name):
    """The doctor tells runtime, schedulers, allocator, how spawns are seen, and what will not be."""
    allocator, spawns, schedulers, text = DOCTOR.get((program, name), DOCTOR_SLOW.get((program, name)))
    path = t.program(program, name)
    file = json.loads(t.run(t.futrace, "doctor", "--json", path).ok().out)["files"][0]
    got = (file["allocator"], file["spawns"], file["runtimes"][0]["schedulers"])
    same(f"what the doctor says of {name}", got, (allocator, spawns, schedulers))
    out = " ".join(t.run(t.futrace, "doctor", path).ok().out.split())
    check(text in out, f"the doctor does not say {text!r}: {out}")


DOCTOR_SLOW = {
    ("count", "old-1.0.3"): (None, "first_seen", ["multi_thread", "current_thread", "local"], "show as dropped"),
    ("exact", "mimalloc"): ("mimalloc", "exact", ["multi_thread", "current_thread"], "a redirected function of mimalloc"),
    ("exact", "unstable-tracing"): (None, "exact", ["multi_thread", "current_thread"], "1 of the runtime itself"),
    ("exact", "strip-debuginfo"): (None, "exact", ["multi_thread", "current_thread"], "symbols (2 of 4)"),
    ("exact", "non-pie"): (None, "exact", ["multi_thread", "current_thread"], "not PIE"),
}
test(cases=list(DOCTOR))(doctor)
test(cases=list(DOCTOR_SLOW), slow=True)(doctor)


@test(cases=[("release", "mt 2"), ("lto", "mt 4")], slow=True)
def completion_race(t, name, mode):
    """In 300 runs of a program made for it, no task that completes while its last poll is left has a wrong end."""
    for _ in range(NR_RACES):
        r = t.record(t.program("race", name), *mode.split()).ok()
        rep = t.report()
        same("lost", nr_lost(rep), 0)
        compare(rep, truth(r.out, "task"), ("polls", "end", "kind", "parent"))


@test(cases=[("release", "2"), ("lto", "4")], slow=True)
def completion_race_async_task(t, name, threads):
    """The same on async-task, where tasks are cancelled while they run as well."""
    test_async_task.race(t, name, threads, NR_RACES)

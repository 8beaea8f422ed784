# SPDX-License-Identifier: MIT OR Apache-2.0
"""The scripts of share/futrace: the real bpftrace and perf on an unmodified release program under `futrace run`.

The program `traced` waits for a line, so that whoever traces can attach before it begins, and tells what it did.
"""
import json
import os
import re
import time
from collections import Counter

from live import TIMEOUT_S, check, line_of, same, test, total, truth
from tracers import interrupted, with_tracefs

HERE = os.path.dirname(os.path.abspath(__file__))
SHARE = os.path.join(HERE, "../../share/futrace")
MANUAL = os.path.join(HERE, "../../docs/man/futrace-scripts.7.scd")
SOURCE = os.path.join(HERE, "../programs/src/bin/traced.rs")
WORKERS = 2
BLOCKED_NS = 10_000_000  # what async_std:machine_blocked tells of
ROW = re.compile(r"^@(\w+)(?:\[(.*)\])?: (-?\d+)$", re.M)
BUCKET = re.compile(r"^[\[(](\S+)[,)].*?[\])]? +(\d+) \|", re.M)


def start_script(t, script, *args, **env):
    """A script of bpftrace, when it is attached."""
    tracer = t.start(with_tracefs(os.path.join(SHARE, "bpftrace", script), *args), env=env)
    tracer.wait_line("attached")
    return tracer


class Traced:
    """The program, before it begins."""

    def __init__(self, t, build="release"):
        self.t = t
        self.process = t.start([t.futrace, "run", "--", t.program("traced", build), str(WORKERS)])
        self.pid = int(self.process.wait_line("ready").split()[1])

    def values(self, pattern):
        """Of the semaphores of probes."""
        out = self.t.run(self.t.futrace, "list", "--json", str(self.pid), pattern).ok().out
        return [s["semaphore"]["value"] for p in json.loads(out)["probes"] for s in p["sites"]]

    def work(self):
        """Lets it work, and returns the truth."""
        self.process.tell("\n")
        self.process.wait_line('"total"')
        return "\n".join(self.process.seen)

    def end(self):
        self.process.close_stdin()
        same("status", self.process.wait(), 0)


def library(t, pattern="tokio:::task-spawn"):
    path = t.run(t.futrace, "list", "--files", pattern, "--", "true").ok().out.strip()
    check(path and "\n" not in path, f"not one library: {path}")
    return path


def trace(t, script, filtered=True, build="release", **env):
    """Attaches, lets the program work, and returns what both said."""
    agent = "tokio:libfutrace-agent*::"
    traced = Traced(t, build)
    same("semaphores before", set(traced.values(agent)), {0})
    tracer = start_script(t, script, library(t), *([str(traced.pid)] if filtered else []), **env)
    said = traced.work()
    ended = interrupted(tracer).ok()
    check("WARNING" not in ended.err, f"bpftrace warns: {ended.err}")
    counted = ended.out
    same("semaphores after", set(traced.values(agent)), {0})
    traced.end()
    return said, counted


def numbers(text, name):
    """The numbers of a map, by key."""
    return {key: int(n) for found, key, n in ROW.findall(text) if found == name}


def by_label(rows):
    """Sums by the function of the type that ends a key: "file, line, truth::Counted<traced::waits>"."""
    sums = Counter()
    for key, n in rows.items():
        sums[re.search(r"traced::(\w+)", key)[1]] += n
    return sums


def histogram(text, name, label):
    """Lower bounds and numbers of the buckets of a histogram."""
    for block in text.split("\n\n"):
        head, _, rest = block.strip().partition("\n")
        if head.startswith(f"@{name}[") and f"traced::{label}" in head:
            units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
            return [(int(low.rstrip("KMG")) * units.get(low[-1], 1), int(n)) for low, n in BUCKET.findall(rest) if int(n)]
    check(False, f"no histogram {name} of {label} in {text}")


def tasks_of(said):
    return [x for x in truth(said, "task") if x["kind"] == "task"]


def polls_of(said):
    sums = Counter()
    for x in tasks_of(said):
        sums[x["label"]] += x["polls"]
    return sums


def number_of(said):
    return Counter(x["label"] for x in tasks_of(said))


@test()
def have_entries(t):
    """Each script has an entry in the manual, and each entry a script."""
    with open(MANUAL, encoding="utf-8") as f:
        entries = re.findall(r"^\*([\w.-]+)\*.*\n\t", f.read(), re.M)
    same("scripts", sorted(f for folder in ("bpftrace", "perf") for f in os.listdir(os.path.join(SHARE, folder))),
         sorted(entries))


@test(cases=[(True,), (False,)], only_root=True)
def polls(t, filtered):
    """polls.bt counts each poll of each type, of one process or of all; polls that took long are in the right buckets."""
    said, counted = trace(t, "polls.bt", filtered)
    same("polls", by_label(numbers(counted, "polls")), polls_of(said))
    long_ns = truth(said, "times")[0]["long_ns"]
    buckets = histogram(counted, "poll_ns", "blocks")
    same("in the histogram", sum(n for _, n in buckets), polls_of(said)["blocks"])
    check(sum(n for low, n in buckets if low * 2 > long_ns) >= number_of(said)["blocks"], f"no long polls in {buckets}")


@test(only_root=True)
def places(t):
    """Where there is debug info, polls are kept by the line that defines the task's future."""
    said, counted = trace(t, "polls.bt", build="dev", BPFTRACE_STRLEN="160")
    got = {}
    for key in numbers(counted, "polls"):
        file, line, kind = key.split(", ", 2)
        got[re.search(r"traced::(\w+)", kind)[1]] = f"/{os.path.basename(file)}:{line}"
    same("places", got, {label: line_of(SOURCE, label) for label in number_of(said)})


@test(only_root=True)
def lifetimes(t):
    """lifetimes.bt has each task once; one that waits lives long and runs short."""
    said, counted = trace(t, "lifetimes.bt")
    same("tasks", by_label(numbers(counted, "tasks")), number_of(said))
    long_ns = truth(said, "times")[0]["long_ns"]
    waits = number_of(said)["waits"]
    same("long lives", sum(n for low, n in histogram(counted, "life_ns", "waits") if low * 2 > long_ns), waits)
    active = histogram(counted, "active_ns", "waits")
    same("tasks with a run time", sum(n for _, n in active), waits)
    check(sum(n for low, n in active if low < long_ns / 4) > waits / 2, f"they ran long: {active}")
    blocks = histogram(counted, "active_ns", "blocks")
    same("that ran long", sum(n for low, n in blocks if low * 2 > long_ns), number_of(said)["blocks"])


PRINTED = re.compile(r"(\d+) thread\[\d+\] ([\w-]+)\((?:task=(\d+))?(?: \w+=(\d+))?")


def printed(tracer, want):
    """The lines (time, event, task, other task) of a script that prints, in order of time, when it has those that are wanted.

    What it has not read when it is interrupted it does not print.
    """
    left, lines = sum(want.values()), []
    while left:
        m = PRINTED.match(tracer.read_line())
        if m:
            left -= m[2] in want
            lines.append(m.groups())
    rest = interrupted(tracer).ok().out.split("\n")[len(tracer.seen):]
    lines += [m.groups() for m in map(PRINTED.match, rest) if m]
    return sorted(lines, key=lambda line: int(line[0]))


def start_printing(t, script, *args):
    return start_script(t, script, *args, BPFTRACE_PERF_RB_PAGES="4096")


def is_in_order(lines, want, tasks):
    """As many events as wanted; of each task the spawn comes first, and its end before that of its last poll."""
    events, order = Counter(), {}
    for _, name, task, _ in lines:
        events[name] += 1
        order.setdefault(task, []).append(name)
    same("events", {name: events[name] for name in want}, want)
    for i in tasks:
        mine = order[str(i)]
        same(f"begin and end of task {i}", (mine[0], mine[-2:]), ("task-spawn", ["task-terminate", "task-poll-end"]))
    return events


@test(only_root=True)
def print_all(t):
    """print-all.bt prints each event of each task, and that a task ends before its last poll does."""
    traced = Traced(t)
    tracer = start_printing(t, "print-all.bt", library(t), str(traced.pid))
    said = traced.work()
    tasks, nr_polls = len(tasks_of(said)), sum(polls_of(said).values())
    want = {"task-spawn": tasks, "task-terminate": tasks, "task-poll-start": nr_polls, "task-poll-end": nr_polls}
    events = is_in_order(printed(tracer, want), want, [x["id"] for x in tasks_of(said)])
    traced.end()
    same("parks and unparks", events["worker-thread-park"], events["worker-thread-unpark"])


@test(only_root=True)
def print_causes(t):
    """print-causes.bt prints the parent of each task, and a wake for each poll but its first."""
    traced = Traced(t)
    tracer = start_printing(t, "print-causes.bt", library(t), str(traced.pid))
    said = traced.work()
    tasks = tasks_of(said)
    want = {"task-details": len(tasks), "task-wake": sum(polls_of(said).values()) - len(tasks)}
    lines = printed(tracer, want)
    traced.end()
    same("parents", {int(task): int(other) for _, name, task, other in lines if name == "task-details"},
         {x["id"]: x["parent"] or 0 for x in tasks})
    wakes = Counter(int(task) for _, name, task, _ in lines if name == "task-wake")
    same("wakes", wakes, Counter({x["id"]: x["polls"] - 1 for x in tasks if x["polls"] > 1}))


@test(cases=[("print-all.bt", "task-poll-end"), ("print-causes.bt", "task-wake")], only_root=True)
def print_addresses(t, script, event):
    """Where tasks have no ids scripts print the whole of their addresses."""
    tracer = start_script(t, script, library(t), BPFTRACE_PERF_RB_PAGES="4096")
    t.run(t.futrace, "run", "--", t.program("count", "old-1.22.0"), "ct").ok()
    tracer.wait_line(event)
    ids = {int(m[3]) for m in map(PRINTED.match, interrupted(tracer).ok().out.split("\n")) if m and m[3]}
    check(ids and min(ids - {0}) >> 32, f"no addresses: {sorted(ids)[:5]}")


@test(only_root=True)
def spawn_stacks(t):
    """spawn-stacks has as many spawns as there were tasks, each with a stack that begins in the runtime."""
    traced = Traced(t)
    tracer = start_script(t, "spawn-stacks", t.program("traced"), str(traced.pid))
    said = traced.work()
    stacks = re.findall(r"@spawns\[\n *(\S.*)\n(?:.*\n)*?\]: (\d+)", interrupted(tracer).ok().out)
    same("spawns", sum(int(n) for _, n in stacks), len(tasks_of(said)))
    place = {line.split()[0][-3:] for line in t.run("nm", t.program("traced")).ok().out.split("\n") if "bind_inner" in line}
    for top, _ in stacks:  # threads that have ended leave addresses without names: in a page they stay where they are
        check("bind_inner" in top or top[-3:] in place, f"a stack begins with {top}")
    traced.end()


@test(only_root=True)
def spawn_stacks_of_crate(t):
    """The line that the manual gives for programs with the hook crate has as many spawns as there were tasks."""
    with open(MANUAL, encoding="utf-8") as f:
        line = re.search(r"bpftrace -e '(usdt:\./my-service:.*)'", f.read())[1]
    path, nr_tasks = t.program("hooked", "hooks-unstable"), 101
    tracer = t.start(["bpftrace", "-e", 'BEGIN { printf("attached\\n"); } ' + line.replace("./my-service", path)])
    tracer.wait_line("attached")
    said = t.run(path, str(nr_tasks)).ok().out
    stacks = re.findall(r"^\]: (\d+)$", interrupted(tracer).ok().out, re.M)
    same("tasks", sum("s" in x["told"] for x in truth(said, "task")), nr_tasks)
    same("spawns", sum(map(int, stacks)), nr_tasks)


class Hooked:
    """A program with the hook crate, before it begins; it counts what Tokio's hooks are told."""
    NR = 101
    EVENTS = {"task-spawn": "s", "task-poll-start": "(", "task-poll-end": ")", "task-terminate": "t"}

    def __init__(self, t, start, script):
        self.path = t.program("hooked", "hooks-unstable")
        process = t.start([self.path, str(self.NR), "wait"])
        self.tracer = start(t, script, self.path, process.read_line().strip())
        process.tell("\n")
        self.said = process.finish().ok().out
        self.tasks = [x for x in truth(self.said, "task") if "s" in x["told"]]
        same("tasks", len(self.tasks), self.NR)

    def counted(self):
        return interrupted(self.tracer).ok().out

    def by_place(self, what):
        sums = Counter()
        for x in self.tasks:
            sums[f"{x['file'][:63]}, {x['line']}, "] += x["told"].count(what)
        return sums


@test(cases=[("polls.bt", "polls", "("), ("lifetimes.bt", "tasks", "t")], only_root=True)
def maps_of_crate(t, script, name, what):
    """polls.bt and lifetimes.bt count a program with the hook crate as Tokio's hooks do, by the place of the spawn."""
    hooked = Hooked(t, start_script, script)
    same(name, numbers(hooked.counted(), name), hooked.by_place(what))


@test(only_root=True)
def print_all_of_crate(t):
    """print-all.bt prints each event of a program with the hook crate, in order."""
    hooked = Hooked(t, start_printing, "print-all.bt")
    want = {name: sum(x["told"].count(c) for x in truth(hooked.said, "task")) for name, c in hooked.EVENTS.items()}
    threads = truth(hooked.said, "threads")[0]
    want.update({f"worker-thread-{name}": threads[f"{name}s"] for name in ("start", "stop", "park", "unpark")})
    is_in_order(printed(hooked.tracer, want), want, [x["id"] for x in hooked.tasks])


@test(only_root=True)
def whose_syscalls_of_crate(t):
    """whose-syscalls.bt has as many calls of a program with the hook crate as it made; of no type, which the crate does not know."""
    hooked = Hooked(t, start_script, "whose-syscalls.bt")
    calls = truth(hooked.said, "calls")[0]
    got = numbers(hooked.counted(), "calls")
    same("calls", {k: n for k, n in got.items() if k.endswith(f", {calls['number']}")}, {f", {calls['number']}": calls["made"]})


@test(only_root=True)
def idle(t):
    """idle.bt has every sleep of the workers: no more than Tokio's own hooks say, and most of it."""
    said, counted = trace(t, "idle.bt")
    idle_ns = sum(numbers(counted, "idle_total_ns").values())
    by_hooks = truth(said, "times")[0]["idle_ns"]
    workers = {k for k in numbers(counted, "idle_total_ns") if k.startswith("tokio-r")}
    check(len(workers) >= WORKERS, f"workers: {workers}")
    mine = sum(n for k, n in numbers(counted, "idle_total_ns").items() if k in workers)
    check(by_hooks / 2 <= mine <= by_hooks, f"workers slept {mine} of {by_hooks} ns, all {idle_ns}")


@test(only_root=True)
def whose_syscalls(t):
    """whose-syscalls.bt has as many calls of each type of task as the program made, and none of others."""
    said, counted = trace(t, "whose-syscalls.bt")
    calls = truth(said, "calls")[0]
    got = by_label({k: n for k, n in numbers(counted, "calls").items() if k.endswith(f", {calls['number']}")})
    same("calls", got, Counter(asks_often=calls["asks_often"], asks_once=calls["asks_once"]))
    tracers = [k for k in numbers(counted, "calls") if re.search(r", 33[56]$", k)]
    same("calls that the kernel put in for tracers", tracers, [])


def machines(t):
    """A program of async-std, and what is to be counted by what it says."""
    def counts(said):
        tasks = truth(said, "task")
        want = {"task_spawn": len(tasks), "task_completed": sum(x["over"] for x in tasks),
                "machine_scheduled_task": sum(x["polls"] for x in tasks)}
        if total(said)["slowest_ns"] < BLOCKED_NS / 2:  # on a busy machine any poll may take long
            want["machine_blocked"] = sum(x["blockades"] for x in tasks)
        return want
    return [t.program("machines-async-std", "async-task-release")], counts


@test(only_root=True)
def machines_of_async_std(t):
    """machines.bt counts spawns, ends, runs and blockades of async-std's tasks as the program did."""
    command, counts = machines(t)
    tracer = start_script(t, "machines.bt", library(t, "async_std:::task_spawn"))
    said = t.run(t.futrace, "run", "--", *command).ok().out
    counted = interrupted(tracer).ok().out
    got = {"task_spawn": numbers(counted, "spawned").get(""), "task_completed": numbers(counted, "completed").get(""),
           "machine_scheduled_task": sum(numbers(counted, "scheduled").values()),
           "machine_blocked": sum(numbers(counted, "blocked").values())}
    same("events", {name: got[name] for name in counts(said)}, counts(said))
    check(got["machine_blocked"] >= sum(x["blockades"] for x in truth(said, "task")), f"blockades: {got}")
    by_machine = {m["tid"]: m["polls"] for m in truth(said, "machine")}
    same("by machine", {int(k.split(", ")[1]): n for k, n in numbers(counted, "scheduled").items()}, by_machine)


def traced_by_perf(t):
    """The same of Tokio."""
    def counts(said):
        tasks, nr_polls = len(tasks_of(said)), sum(polls_of(said).values())
        return {"task_spawn": tasks, "task_details": tasks, "task_terminate": tasks, "task_poll_start": nr_polls,
                "task_poll_end": nr_polls}
    return [t.program("traced"), str(WORKERS)], counts


def with_futrace(t):
    return {"PATH": f"{os.path.dirname(t.futrace)}:{t.s.env()['PATH']}"}


def perf(t, script, *args):
    return t.run(*with_tracefs(os.path.join(SHARE, "perf", script), *args), stdin=b"\n", env=with_futrace(t)).ok().out


@test(cases=[("tokio",), ("async_std",)], only_root=True)
def perf_flow(t, provider):
    """perf: set up, record and delete; each event is recorded as often as the program did it."""
    command, counts = {"tokio": traced_by_perf, "async_std": machines}[provider](t)
    perf(t, "setup-probes")
    perf(t, "setup-probes", provider)  # what is there already is not in the way
    try:
        found = t.run(*with_tracefs("perf", "probe", "--list")).out
        listed = t.run(t.futrace, "list", "--json", ":libfutrace-probes*::", "--", "true").ok().out
        same("events of perf", sorted(re.findall(r"sdt_(\w+:\w+)", found)),
             sorted(f"{p['note_provider']}:{p['note_name']}" for p in json.loads(listed)["probes"]))
        said = perf(t, "record", provider, "sh", "-c", 'true & exec "$@"', "sh", *command)
        counted = {name: int(n) for n, name in re.findall(rf"(\d+) sdt_{provider}:(\w+)", perf(t, "count"))}
    finally:
        perf(t, "delete-probes", provider)
        perf(t, "delete-probes")  # of which there are none any more
    want = counts(said)
    same("events", {name: counted.get(name) for name in want}, want)
    left = t.run(*with_tracefs("perf", "probe", "--list")).out
    check("sdt_tokio" not in left and "sdt_async_std" not in left, f"left behind: {left}")
    same("status without a recording", t.run(os.path.join(SHARE, "perf", "count"), "no-such.data").status, 1)


@test(only_root=True)
def perf_in_use(t):
    """Events that somebody records are neither taken away nor made a second time."""
    traced = Traced(t)
    perf(t, "setup-probes", "tokio")
    recorder = t.start(with_tracefs("perf", "record", "-q", "-o", t.path("perf.data"), "-e", "sdt_tokio:task_spawn",
                                    "-p", str(traced.pid)))
    try:
        end = time.monotonic() + TIMEOUT_S
        while not any(traced.values("tokio:libfutrace-probes*::task_spawn")):
            check(time.monotonic() < end, "perf does not attach")
            time.sleep(0.05)
        for script, word in (("setup-probes", "being recorded"), ("delete-probes", "still there")):
            r = t.run(*with_tracefs(os.path.join(SHARE, "perf", script), "tokio"), env=with_futrace(t))
            same(f"status of {script}", (r.status, word in r.err), (1, True))
            left = t.run(*with_tracefs("perf", "probe", "--list")).out
            check("sdt_tokio:task_spawn " in left and not re.search(r"sdt_tokio:\w+_\d", left), f"events: {left}")
        recorder.popen.send_signal(2)
        recorder.finish()
    finally:
        recorder.kill_all()
        perf(t, "delete-probes", "tokio")
    traced.end()

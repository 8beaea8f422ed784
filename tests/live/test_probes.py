# SPDX-License-Identifier: MIT OR Apache-2.0
"""The probes, seen by the real bpftrace and perf in unmodified programs, compared with what these know themselves."""
import collections
import ctypes
import json
import os
import re
import struct
import subprocess
import threading

from live import Failed, check, children_of, same, test, total, truth, user_tasks
from tracers import AGENT, PERF_SCRIPT, PROBES, Bpftrace, Canary, base_of, in_tracefs, library, need, notes, semaphores, sites, table

HERE = os.path.dirname(os.path.abspath(__file__))
TASK_PROBES = ("task-spawn", "task-details", "task-poll-start", "task-poll-end", "task-terminate")


def run(t, *cmd, **more):
    return t.run(t.futrace, "run", "--", *cmd, **more)


def differ(wrong):
    if wrong:
        raise Failed(f"{len(wrong)} differences:\n       " + "\n       ".join(wrong[:25]))


def agent_of(t, probe, what):
    return f"usdt:{library(t, AGENT)}:tokio:{probe} {{ {what} }} "


# ---- which there are ----

OPERANDS = {"u64": ("8@%rdi", "8@%rsi", "8@%rdx", "8@%rcx", "8@%r8"), "u32": ("4@%edi", "4@%esi", "4@%edx", "4@%ecx", "4@%r8d")}
OPERANDS["str"] = OPERANDS["u64"]


@test()
def notes_are_the_table(t):
    """The two libraries have exactly the probes of the table, with its arguments, and a semaphore for each."""
    agent, perf = notes(library(t, AGENT)), notes(library(t, PROBES))
    want_agent, want_perf = {}, {}
    for provider, name, c_name, args in table():
        operands = " ".join(OPERANDS[kind][i] for i, (kind, _) in enumerate(args))
        want_perf[provider, c_name] = operands
        if provider == "tokio":
            want_agent[provider, name] = operands
    same("probes of the agent", {k: v[1] for k, v in agent.items()}, want_agent)
    same("probes for perf", {k: v[1] for k, v in perf.items()}, want_perf)
    for have in (agent, perf):
        same("semaphores", len({v[0] for v in have.values()}), len(have))


@test()
def manual_is_the_table(t):
    """docs/PROBES.md lists the probes of the table with their arguments."""
    with open(os.path.join(HERE, "../../docs/PROBES.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| `([^`]+)` \|(.*)\|$", f.read(), re.M)
    got = [(name, [tuple(a.split()) for a in args.split("|") if a.strip()]) for name, args in rows]
    same("rows", got, [(name, args) for _, name, _, args in table()])


@test(only_root=True)
def bpftrace_lists_them(t):
    """bpftrace lists the same probes as readelf."""
    need("bpftrace")
    for name in (AGENT, PROBES):
        out = t.run("bpftrace", "-l", f"usdt:{library(t, name)}:*").ok().out
        got = {tuple(line.split(":")[2:]) for line in out.split()}
        same(f"probes of {name}", got, set(notes(library(t, name))))


# ---- counts ----

def counts(t, tasks, by, only=None):
    """Compares maps of bpftrace, by probe and id, with the truth."""
    wrong = []
    for w in tasks:
        once = {"task-spawn": 1, "task-details": 1, "task-terminate": int(w["end"] != "alive")}
        for probe in only or TASK_PROBES:
            got = by.get(probe, {}).pop(str(w["id"]), 0)
            want = once.get(probe, w["polls"])
            if got != want:
                wrong.append(f"{w['label']} {w['id']}: {got} {probe}, should be {want} ({w['end']})")
    wrong += [f"{probe} of {i}, which is no task" for probe, ids in by.items() for i in ids]
    differ(wrong)


def polled(out):
    return [w for w in truth(out, "task") if w["kind"] != "blocking"]


PROGRAMS = [("exact", p, m) for p in ("dev", "release", "lto", "stripped") for m in ("ct", "mt 2")]
PROGRAMS += [("exact", "release", "mt 4"), ("exact", "unstable", "mt 2"), ("exact", "jemalloc", "mt 2"), ("race", "release", "mt 4")]


@test(cases=PROGRAMS, only_root=True)
def every_task(t, program, profile, mode):
    """Each spawn, poll and end of each task fires its probe once, whoever runs it and however it ends."""
    script = "".join(agent_of(t, p, f'@["{p}", arg0] = count();') for p in TASK_PROBES)
    for _ in range(t.runs):
        with Bpftrace(t, script, len(TASK_PROBES)) as b:
            r = run(t, t.program(program, profile), *mode.split()).ok()
        by = collections.defaultdict(dict)
        for key, nr in b.maps["@"].items():
            probe, i = key.split(",")
            by[probe][i] = nr
        counts(t, polled(r.out), by)


@test(cases=[(m,) for m in ("ct", "mt 2", "mt 4")], only_root=True)
def every_wake(t, mode):
    """Each transition to runnable fires task-wake once, with the task that did it."""
    with Bpftrace(t, agent_of(t, "task-wake", "@[arg0, arg1] = count();"), 1) as b:
        r = run(t, t.program("wakes"), *mode.split()).ok()
    got = collections.defaultdict(dict)
    for key, nr in b.maps["@"].items():
        woken, waker = map(int, key.split(","))
        got[woken][waker] = nr
    wrong = []
    for w in polled(r.out):
        c, g = w["wakes"], got.pop(w["id"], {})
        own, others = g.pop(w["id"], 0), g.pop(0, 0)
        want = {"self": c["self"], "task": c["task"], "other": c["thread"] + c["worker"] + c["abort"]}
        have = {"self": own, "task": sum(g.values()), "other": others}
        # who aborts may be a task; who wakes a running one is known if the compiler left the waker alone
        if c["abort"] or w["label"] == "woken_while_running":
            want, have = sum(want.values()), sum(have.values())
        if have != want or (c["last_waker"] and w["label"] != "woken_while_running" and c["last_waker"] not in g):
            wrong.append(f"{w['label']} {w['id']}: {have}, should be {want}; wakers {g}, {c['last_waker']}")
    wrong += [f"wakes of {i}, which is no task" for i in got]
    differ(wrong)


@test(cases=[("release", "mt 2"), ("lto", "ct")], only_root=True)
def every_wake_of_completed(t, profile, mode):
    """Of a task that completed each poll but the first has its wake."""
    with Bpftrace(t, agent_of(t, "task-wake", "@[arg0] = count();"), 1) as b:
        r = run(t, t.program("exact", profile), *mode.split()).ok()
    got = b.maps["@"]
    differ([f"{w['label']} {w['id']}: {got.get(str(w['id']), 0)} wakes of {w['polls']} polls" for w in polled(r.out)
            if w["end"] == "completed" and w["kind"] == "task" and got.get(str(w["id"]), 0) != w["polls"] - 1])


@test(cases=[("asyncstd", "async-task-release"), ("smol", "async-task-release"), ("asyncstd", "async-task-dev"), ("smol", "async-task-lto")], only_root=True)
def every_task_of_async_std(t, program, profile):
    """Each spawn, run and end of tasks on async-task fires its probe once; machines are the threads that run them."""
    lib = library(t, PROBES)
    script = "".join(f"usdt:{lib}:async_std:{name} {{ {what} }} " for name, what in (
        ("task_spawn", "@spawn = count();"), ("task_completed", "@completed = count();"),
        ("machine_starting", "@starting[arg0] = count();"), ("machine_scheduled_task", "@runs[arg0] = count(); @local[arg2] = count();"),
        ("machine_blocked", "@blocked = count(); @short = min(arg2);")))
    with Bpftrace(t, script, 5) as b:
        r = run(t, t.program(program, profile)).ok()
    tasks, own = polled(r.out), total(r.out)["own"]
    m = collections.defaultdict(int, b.maps)
    same("spawns", m["@spawn"], len(tasks) + own)
    check(len(tasks) <= m["@completed"] <= len(tasks) + own, f"{m['@completed']} completed of {len(tasks)} and {own} of the runtime's")
    runs, polls = sum(m["@runs"].values()), sum(w["polls"] for w in tasks)
    check(polls + own <= runs <= polls + 9 * own, f"{runs} runs, should be {polls} and some of {own} tasks of the runtime's")
    same("machines", set(m["@starting"]), set(m["@runs"]))
    same("starts of machines", set(m["@starting"].values()), {1})
    check(m["@local"].get("1", 0) > 0, f"no task ran where it was made runnable: {m['@local']}")
    if m["@blocked"]:
        check(m["@short"] >= 10_000_000, f"a blockade of {m['@short']} ns")


# ---- order and arguments ----

def events(t, what, program, profile, *args):
    """Of each event, in the order of time: probe, thread, task, `what`. And the program's end."""
    script = "".join(agent_of(t, p, f'printf("%llu {p} %d %d {what}\\n", nsecs, tid, arg0{WHAT[what]});') for p in TASK_PROBES if p != "task-details")
    with Bpftrace(t, script, 4) as b:
        r = run(t, t.program(program, profile), *args).ok()
    seen = sorted((line.split(" ", 4) for line in b.lines), key=lambda words: int(words[0]))
    return [(probe, int(tid), int(i), *rest) for _, probe, tid, i, *rest in seen], r


# BPF's stack has room for one string
WHAT = {"": "", "%s": ", str(arg4)", "%s:%d:%d": ", str(arg1), arg2, arg3"}


@test(cases=[("ct",), ("mt 2",)], only_root=True)
def in_order(t, mode):
    """Of each task: its spawn, then polls, and its end before the end of the poll that it came with."""
    seen, r = events(t, "", "exact", "release", *mode.split())
    by_task = collections.defaultdict(list)
    for probe, tid, i, *_ in seen:
        by_task[i].append((probe, tid))
    ends = {w["id"]: w for w in polled(r.out)}
    same("tasks", set(by_task), set(ends))
    for i, list_ in by_task.items():
        names = [p for p, _ in list_]
        same(f"first of {names}", names[0], "task-spawn")
        at = names.index("task-terminate")
        if ends[i]["end"] in ("completed", "panicked"):
            same(f"after the end of {i}: {list_}", [p for p, tid in list_[at + 1:] if tid == list_[at][1]], ["task-poll-end"])
        for tid in {x for _, x in list_}:
            own = [p for p, x in list_ if x == tid and p.startswith("task-poll")]
            same(f"polls of {i} on {tid}", own, ["task-poll-start", "task-poll-end"] * (len(own) // 2))


@test(only_root=True)
def types_are_named(t):
    """The type of each task is there to be read, at its first poll and later."""
    # debug info does not tell where a future that is written by hand is defined
    for what, pattern in (("%s", r"truth::Counted<"), ("%s:%d:%d", r"\S+/exact\.rs:[1-9]\d*:0$")):
        seen, r = events(t, what, "exact", "dev", "mt", "2")
        names = collections.defaultdict(set)
        for _, _, i, name in seen:
            names[i].add(name)
        for w in polled(r.out):
            same(f"names of {w}", len(names[w["id"]]), 1)
            name = next(iter(names[w["id"]]))
            is_by_hand = "{{closure}}" not in w["type"] and name == ":0:0"
            check(is_by_hand or re.match(pattern, name), f"{w}: {name}")


@test(only_root=True)
def places_of_spawns(t):
    """With tokio_unstable file, line and column are those of the spawn."""
    seen, r = events(t, "%s:%d:%d", "places", "unstable", "mt", "2")
    got = {i: place for _, _, i, place in seen}
    known = [json.loads(line) for line in r.out.splitlines() if line.startswith('{"task"')]
    direct = [k for k in known if k["how"] in ("task", "loop", "nested await", "inlined await") and k["task"] in got]
    check(len(direct) > 5, f"only {direct}")
    for k in direct:
        place = got[k["task"]]
        check(re.fullmatch(re.escape(k["place"]) + r":[1-9]\d*", place), f"place of {k}: {place}")


@test(only_root=True)
def parents(t):
    """task-details has the task that spawned it."""
    with Bpftrace(t, agent_of(t, "task-details", "@[arg0, arg1] = count();"), 1) as b:
        r = run(t, t.program("exact"), "mt", "2").ok()
    got = {tuple(map(int, k.split(","))) for k in b.maps["@"]}
    same("parents", got, {(w["id"], w["parent"] or 0) for w in polled(r.out)})


# ---- threads ----

EPOLL = re.compile(r"epoll_p?wait2?\((?!.*, 0(?:, NULL, 8)?\) )")
FUTEX = re.compile(r"futex\((0x\w+), FUTEX_WAIT\w*_PRIVATE[^,]*, (\d+), (NULL)?")  # the agent's own are not private


def sleeps(paths):
    """Of each file: sleeps that are parks for certain, and others, outside of the worker's loop or for locks of the runtime.

    std's locks wait for the value 2, its condition variables for a count that begins with 0; a thread of the pool that
    has no work, such as a worker that was, waits with a limit.
    """
    text = {p: open(p, encoding="utf-8").read().splitlines() for p in paths}
    waits = {p: [m.groups() for m in map(FUTEX.match, lines) if m] for p, lines in text.items()}
    counting = {addr for list_ in waits.values() for addr, value, _ in list_ if value != "2"}
    found = {}
    for p, lines in text.items():
        nr_sure = sum(addr in counting and unlimited == "NULL" for addr, _, unlimited in waits[p])
        found[p] = (sum(bool(EPOLL.match(line)) for line in lines) + nr_sure, len(waits[p]) - nr_sure)
    return found


@test(cases=[("ct",), ("mt 1",), ("mt 2",)], only_root=True)
def parks_are_sleeps(t, mode):
    """A thread of the runtime parks as often as strace sees it sleep, and unparks as often."""
    need("strace")
    script = agent_of(t, "worker-thread-park", "@park[tid] = count();") + agent_of(t, "worker-thread-unpark", "@unpark[tid] = count();")
    script += agent_of(t, "worker-thread-start", "@start[tid] = count();") + agent_of(t, "worker-thread-stop", "@stop[tid] = count();")
    with Bpftrace(t, script, 4) as b:
        r = t.run("strace", "-ff", "-qq", "-e", "trace=futex,epoll_wait,epoll_pwait,epoll_pwait2", "-o", t.path("s"), t.futrace, "run", "--",
                  t.program("parks"), *mode.split()).ok()
    tids = [str(w["tid"]) for w in truth(r.out, "thread")]
    for path, (sure, others) in sleeps([t.path(f"s.{i}") for i in tids]).items():
        got = b.maps["@park"].get(path.rsplit(".", 1)[1], 0)
        check(sure <= got <= sure + others, f"{got} parks, {sure} sleeps and {others} others in {path}")
    check(set(b.maps["@park"]) <= set(tids), f"threads of the runtime are {tids}, parks: {b.maps['@park']}")
    same("unparks", b.maps["@unpark"], b.maps["@park"])
    started = {} if mode == "ct" else {i: 1 for i in tids}
    same("starts and stops", (b.maps.get("@start", {}), b.maps.get("@stop", {})), (started, started))


# ---- coming and going ----

@test(only_root=True)
def come_and_go_under_load(t):
    """Tracers attach and detach while tasks run: nothing crashes, no task is lost, and the semaphores are 0 again."""
    need("bpftrace")
    p = t.start([t.futrace, "run", "--", t.program("forever"), "12"])
    p.wait_line('"truth"')
    pid = children_of(p.pid)[0]
    paths = [library(t, AGENT), library(t, PROBES)]
    canary = Canary(t)
    for i in range(6):
        path = paths[i % 2]
        b = t.start(["bpftrace", "-e", f"usdt:{path}:tokio:* {{ @[probe] = count(); }}"])
        canary.wait_attached(10)
        check(all(nr for (provider, _), nr in semaphores(pid, path).items() if provider == "tokio"), f"not attached in {pid}")
        if i % 3:
            b.popen.terminate()
        else:  # the kernel detaches what a dead tracer had
            b.popen.kill()
        b.wait()
        canary.wait_detached()
        for other in paths:
            same("semaphores", {k: n for k, n in semaphores(pid, other).items() if n}, {})
    r = p.finish().ok()
    check(truth(r.out, "total"), f"the program did not come to its end: {r}")


class Perf:
    """A site attached to through the kernel's own call, many times a second."""

    def __init__(self, path, where, semaphore):
        out = subprocess.run(["readelf", "-lW", path], check=True, stdout=subprocess.PIPE).stdout.decode()
        segments = [tuple(int(x, 16) for x in m.groups()) for m in re.finditer(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", out)]
        offs = [next(va - v + off for off, v, size in segments if v <= va < v + size) for va in (where, semaphore)]
        with open("/sys/bus/event_source/devices/uprobe/type", encoding="ascii") as f:
            kind = int(f.read())
        self.path = ctypes.create_string_buffer(path.encode())
        self.attr = bytearray(128)
        # type, size, config (where the semaphore is, from bit 32 on), …, config1 (path), config2 (offset)
        struct.pack_into("<IIQ", self.attr, 0, kind, len(self.attr), offs[1] << 32)
        struct.pack_into("<QQ", self.attr, 56, ctypes.addressof(self.path), offs[0])

    def open(self, pid):
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.syscall(298, (ctypes.c_char * 128).from_buffer(self.attr), pid, -1 if pid > 0 else 0, -1, 8)
        check(fd >= 0, f"perf_event_open: {os.strerror(ctypes.get_errno())}")
        return fd


@test(cases=[("exact", "mt 2"), ("race", "mt 4"), ("exact", "ct")], only_root=True)
def flicker(t, program, mode):
    """Probes that are attached for moments, again and again, at any point of a program, change nothing of what it does."""
    names = ("task-spawn", "task-poll-start", "task-poll-end", "task-terminate", "task-wake", "worker-thread-park")
    path = library(t, AGENT)
    perfs = [Perf(path, where, notes(path)["tokio", n][0]) for n in names for where in sites(path)["tokio", n]]
    canary = Canary(t)
    over, nr = threading.Event(), [0]

    def attach():
        while not over.is_set():
            os.close(t.random.choice(perfs).open(-1))
            nr[0] += 1

    thread = threading.Thread(target=attach)
    thread.start()
    try:
        while nr[0] < 20:  # the kernel takes its time to detach
            r = run(t, t.program(program), *mode.split()).ok()
            check(truth(r.out, "total"), f"no truth: {r}")
    finally:
        over.set()
        thread.join()
    canary.wait_detached()


@test()
def recording_offers_them(t):
    """A program that is recorded has the libraries in it, and so has what it becomes by exec; its children have not."""
    for how in ("record", "run"):
        opts = ["-o", t.path("t.data")] if how == "record" else []
        for cmd in (["cat", "/proc/self/maps"], ["sh", "-c", "exec cat /proc/self/maps"]):
            out = t.run(t.futrace, how, *opts, "--", *cmd).out
            check(library(t, AGENT) in out and library(t, PROBES) in out, f"{how} {cmd}: not in {out}")
        out = t.run(t.futrace, how, *opts, "--", "sh", "-c", "cat /proc/self/maps; true").out
        check("libfutrace" not in out, f"{how}: a child has {out}")
        out = t.run(t.futrace, how, *opts, "--", "env", env={"LD_PRELOAD": "libc.so.6"}).out
        check("LD_PRELOAD=libc.so.6\n" in out and "FUTRACE" not in out, f"{how}: the environment is {out}")


@test(only_root=True)
def counted_while_recorded(t):
    """A recording with a tracer attached is as exact as without, and the tracer counts the same."""
    with Bpftrace(t, agent_of(t, "task-poll-start", "@[arg0] = count();"), 1) as b:
        r = t.record(t.program("exact"), "mt", "2").ok()
    polls = {str(w["id"]): w["polls"] for w in polled(r.out) if w["polls"]}
    same("polls by the tracer", b.maps["@"], polls)
    rep = t.report()
    same("polls by the recording", {str(x["id"]): x["polls"] for x in user_tasks(rep) if x["kind"] != "blocking" and x["polls"]}, polls)


LIVES = ("fork", "exec 2", "children", "close-fds", "limits", "chdir", "threads", "runtimes", "names", "leave return", "leave _exit", "leave abort",
         "leave panic", "leave sigsegv", "leave thread_exit")


@test(only_root=True)
def lives(t):
    """Whatever a program does with itself, forks and execs included, it does the same with a tracer attached to all probes."""
    with Bpftrace(t, agent_of(t, "*", "@ = count();"), 10):
        for what in LIVES:
            alone, probed = (t.run(*first, t.program("life"), *what.split()) for first in ([], [t.futrace, "run", "-q", "--"]))
            same(f"life {what}", (probed.status, probed.out), (alone.status, alone.out))


@test(only_root=True)
def forks(t):
    """A forked child fires probes with --follow only; what a program becomes by exec does so, too."""
    for opts, what, nr in (([], "fork", 1), (["--follow"], "fork", 3), ([], "exec 2", 1)):
        with Bpftrace(t, agent_of(t, "task-poll-start", "@[pid] = count();"), 1) as b:
            r = t.run(t.futrace, "run", *opts, "--", t.program("life"), *what.split()).ok()
        same(f"processes of {what} {opts}: {b.maps} of {r.out}", len(b.maps["@"]), nr)


# ---- calls in place of breakpoints ----

def opcodes(pid, path):
    """(provider, name) -> the first byte of each of its sites, in the memory of a process."""
    base = base_of(pid, path)
    with open(f"/proc/{pid}/mem", "rb") as f:
        return {probe: [(f.seek(base + va), f.read(1)[0])[1] for va in vas] for probe, vas in sites(path).items()}


def kernel_undoes_calls():
    version = tuple(map(int, re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", os.uname().release).groups("0")))
    return (6, 18, 40) <= version < (6, 19) or (7, 1, 5) <= version < (7, 2) or (7, 2, 1) <= version < (7, 3)


@test(only_root=True)
def sites_are_called_with_care(t):
    """The site that the kernel replaces by a call is used where it takes the call back again, and no other is touched."""
    path, pairs = library(t, AGENT), {}
    with Bpftrace(t, agent_of(t, "task-poll-*", "@[probe] = count();"), 2) as b:
        p = t.start([t.futrace, "run", "--", t.program("life"), "wait"])
        p.wait_line("ready")
        pid = children_of(p.pid)[0]
        pairs = opcodes(pid, path)
    for name, pair in pairs.items():
        attached = [0xCC, 0xE8 if kernel_undoes_calls() else 0xCC]
        same(f"opcodes of {name}", pair, attached if name[1].startswith("task-poll") else [0x90, 0x0F])
    same("opcodes when the tracer is gone", set(map(tuple, opcodes(pid, path).values())), {(0x90, 0x0F)})
    p.close_stdin()
    r = p.finish().ok()
    check(0 < sum(b.maps["@"].values()) < 2 * total(r.out)["polls"] + 2, f"{b.maps} of {r}")


@test(cases=[(how, *opts) for how in ("fork", "raw") for opts in ((), ("--follow",))], only_root=True)
def forks_in_polls(t, how, *opts):
    """A child that was forked in a poll never crashes, and fires probes if it is followed; in the end no semaphore of it is raised."""
    path, cmd = library(t, AGENT), [t.program("life"), "fork-in-poll", how]
    alone = t.run(*cmd).ok()
    with Bpftrace(t, agent_of(t, "task-poll-start", "@[pid] = count();") + agent_of(t, "task-poll-end", "@[pid] = count();"), 2) as b:
        p = t.start([t.futrace, "run", *opts, "--", *cmd])
        p.wait_line('"child"')
        parent = children_of(p.pid)[0]
        child = children_of(parent)[0]
    if how == "fork":  # else nothing of ours runs that could lower them
        same("raised semaphores of the child", {k: n for k, n in semaphores(child, path).items() if n}, {})
    p.close_stdin()
    r = p.finish().ok()
    same("output", r.out, alone.out)
    of_child, of_parent = (w["polls"] for w in truth(r.out, "total"))
    want = {str(parent): 2 * of_parent}
    if how == "fork" and opts:
        want[str(child)] = 2 * of_child + 1  # that in which it was forked ends in both
    same("starts and ends of polls", b.maps["@"], want)


# ---- perf ----

@test(only_root=True)
def perf_record(t):
    """`perf record -e 'sdt_tokio:*'` counts what the program knows, once perf was told of the library."""
    lib, perf = library(t, PROBES), f"perf --buildid-dir {t.path('ids')}"
    script = f"""
        {perf} buildid-cache --add {lib}
        trap "perf probe -q -d 'sdt_tokio:*'" EXIT
        {perf} probe -q 'sdt_tokio:*'
        {perf} record -q -a -e 'sdt_tokio:*' -o p.data -- {t.futrace} run -- {t.program('exact')} mt 2
        {PERF_SCRIPT} > p.txt
    """
    r = in_tracefs(t, script).ok()
    got = collections.defaultdict(collections.Counter)
    with open(t.path("p.txt"), encoding="utf-8") as f:
        for line in f:
            m = re.search(r"sdt_tokio:(\w+): .*?arg1=(\d+)", line)
            if m:
                got[m[1].replace("_", "-")][m[2]] += 1
    got.pop("task-wake")
    counts(t, polled(r.out), got)


# ---- futrace run ----

@test()
def as_if_not_there(t):
    """`futrace run` leaves no file, and gives the status, output and signals of the command."""
    for cmd, status in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -TERM $$"], 143), (["./none"], 127), (["/"], 126)):
        same(f"status of {cmd}", run(t, *cmd).status, status)
    r = run(t, t.program("exact"), "mt", "2").ok()
    check(total(r.out)["tasks"] > 100 and not r.err, f"{r}")
    r = t.run(t.futrace, "run", "true").ok()
    check("no probe could fire" in r.err, f"not said why: {r}")
    same("files", os.listdir(t.dir), [])
    t.run(t.futrace, "run", "-p", "1").failed(2)  # no such option
    t.run(t.futrace, "run").failed(2)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every script and command of docs/tracing-async.md, run as it stands there, against what the program itself counted.

A block of the guide that is to be run has a name behind its language; what none of the tests here has run, and what they
name and the guide has not, is a failure.
"""
import collections
import json
import os
import re
import time

from live import check, same, test, total, truth
from tracers import interrupted, with_tracefs

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GUIDE = os.path.join(ROOT, "docs/tracing-async.md")
PROGRAM = os.path.join(ROOT, "tests/programs/hooks/src/bin/guide.rs")
INSTALLED = "/usr/local/lib/futrace"
BLOCK = re.compile(r"^```(\w+)(?: +(\S+))?\n(.*?)^```$", re.M | re.S)
SECONDS = 60
# Of the programs that block their threads, whose polls else take no time; on a busy machine one may, and they say so.
THREADS = {"SMOL_THREADS": "3", "ASYNC_STD_THREAD_COUNT": "3"}
SLOW_NS, TRIES = 8_000_000, 10


def blocks():
    with open(GUIDE, encoding="utf-8") as f:
        return {name: (lang, text) for lang, name, text in BLOCK.findall(f.read())}


def block(t, name, app):
    """As a reader would have it: the agent where it is, and the program in its folder."""
    if not os.path.exists(t.path("app")):
        with open(t.path("app"), "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nexec {app}\n")
        os.chmod(t.path("app"), 0o755)
    text = blocks()[name][1].replace(INSTALLED, os.path.dirname(t.futrace))
    return re.sub(r"^sudo ", "", text, flags=re.M)


class Maps:
    """What a bpftrace has in its maps when it is over: numbers by key, and how many values each histogram has."""

    def __init__(self, text):
        self.counts, self.hists = {}, collections.Counter()
        name = None
        for line in text.splitlines():
            single = re.match(r"@(\w*)(?:\[(.*)\])?: (-?\d+)$", line)
            begins = re.match(r"@(\w*)(?:\[(.*)\])?: *$", line)
            bucket = re.match(r"[\[(].*[\])]\s+(\d+) \|", line)
            if single:
                check(single[2] not in self.counts.setdefault(single[1], {}), f"twice: {line}")
                self.counts[single[1]][single[2]] = int(single[3])
            elif begins:
                name = begins[1], begins[2]
            elif bucket:
                self.hists[name] += int(bucket[1])

    def one(self, name):
        return self.counts.get(name, {}).get(None, 0)

    def by_number(self, name):
        return {int(k): v for k, v in self.counts.get(name, {}).items()}


def trace(t, name, app, *command, is_late=False, env=None):
    """The script while the command runs: its maps, and what the program said. is_late: the program is there first."""
    script = block(t, name, app).replace(":./app:", f":{app.split()[0]}:")
    with open(t.path(name), "w", encoding="utf-8") as f:
        f.write('BEGIN\n{\n\tprintf("ready\\n");\n}\n\n' + script)
    program = t.start([*command, "wait"]) if is_late else None
    if program:
        program.wait_line("ready")
    tracer = t.start(with_tracefs("bpftrace", t.path(name)), env={"BPFTRACE_STRLEN": "150"})  # tracepoints are there
    tracer.wait_line("ready")
    if program:
        program.tell("\n")
    said = (program.finish() if program else t.run(*command, env=env)).ok().out
    return Maps(interrupted(tracer).ok().out), said


def trace_tokio(t, name, mode="mt 2"):
    app = f"{t.program('guide')} {mode}"
    return trace(t, name, app, t.futrace, "run", "-q", "--", *app.split())


def shell(t, name, app):
    """The commands of a block, all of which must succeed; `futrace` is ours."""
    env = {"PATH": os.path.dirname(t.futrace) + ":" + t.s.env()["PATH"]}
    return t.run("sh", "-e", "-c", block(t, name, app), env=env).ok().out


@test()
def blocks_are_tested(t):
    """Each block of the guide that has a language has a name, and a test runs it."""
    with open(GUIDE, encoding="utf-8") as f:
        found = [(lang, name) for lang, name, _ in BLOCK.findall(f.read())]
    check(all(name for _, name in found), f"a block without a name: {found}")
    same("names that are there twice", len(found) - len({name for _, name in found}), 0)
    with open(os.path.abspath(__file__), encoding="utf-8") as f:
        mine = set(re.findall(r'(?:trace|trace_tokio|trace_spans|shell|source)\(t, "([\w.-]+)"', f.read()))
    same("blocks", mine, {name for _, name in found})


@test()
def lists(t):
    """The probes that the guide speaks of are those that futrace lists."""
    out = shell(t, "list", t.program("guide") + " ct")
    names = [line.split()[4] for line in out.strip().split("\n")[1:]]
    same("probes", names, ["task-details", "task-poll-end", "task-poll-start", "task-spawn", "task-terminate", "task-wake"])
    for lang, text in blocks().values():
        for name in re.findall(r":tokio:([\w-]+)", text) if lang == "bpftrace" else ():
            check(name in names, f"no probe {name}")


@test(cases=[("ct",), ("mt 2",)], only_root=True)
def by_thread_lies(t, mode):
    """By thread a script sees at most every other lookup: both of a request begin before either is done."""
    maps, said = trace_tokio(t, "by-thread.bt", mode)
    lookups = truth(said, "lookup")
    same("lookups", len(lookups), 46)
    check(1 <= maps.one("lookups") <= len(lookups) // 2, f"{maps.one('lookups')} of {len(lookups)}")


@test(cases=[("ct",), ("mt 2",)], only_root=True)
def by_task_lies(t, mode):
    """By task it sees one of the two lookups of each request."""
    maps, said = trace_tokio(t, "by-task.bt", mode)
    tasks = {x["task"] for x in truth(said, "lookup")}
    same("lookups", (len(tasks), maps.one("lookups")), (23, 23))


@test(cases=[("ct",), ("mt 2",)], only_root=True)
def by_id(t, mode):
    """By id it sees all of them, none shorter than the program measured inside of it."""
    maps, said = trace_tokio(t, "by-id.bt", mode)
    want = {x["key"]: x["ns"] for x in truth(said, "lookup")}
    found = maps.by_number("ns")
    same("lookups", (maps.one("lookups"), sorted(found)), (46, sorted(want)))
    for key, ns in want.items():
        check(found[key] >= ns * 0.999, f"lookup {key}: {found[key]}, but it took {ns}")  # two clocks


def tasks_of(said):
    """By id; all of them are over."""
    tasks = {x["id"]: x for x in truth(said, "task")}
    same("tasks", len(tasks), 24)
    return tasks


@test(only_root=True)
def lives(t):
    """Each task has one life, under its type."""
    maps, said = trace_tokio(t, "lives.bt")
    want = collections.Counter(x["label"] for x in tasks_of(said).values())
    found = collections.Counter()
    for name, nr in maps.counts["tasks"].items():
        found["accept" if "guide::accept" in name else "request" if "guide::request" in name else name] += nr
    same("tasks", found, want)
    same("values", sum(maps.hists.values()), sum(want.values()))


@test(only_root=True)
def delays(t):
    """Each poll but a task's first comes after one wake."""
    maps, said = trace_tokio(t, "delays.bt")
    tasks = tasks_of(said)
    again = sum(x["polls"] - 1 for x in tasks.values())
    same("polls", (maps.one("polls"), sum(maps.hists.values())), (again, again))
    by = {name: maps.one(name) for name in ("by_timer_io_or_thread", "by_itself", "by_task")}
    same(f"wakes {by}", sum(by.values()), again)
    check(by["by_timer_io_or_thread"] and by["by_task"], f"no wakes by timers, or by tasks: {by}")


@test(only_root=True)
def family(t):
    """Parents have the children that they spawned."""
    maps, said = trace_tokio(t, "family.bt")
    want = collections.Counter(x["parent"] or 0 for x in tasks_of(said).values())
    same("children", maps.by_number("children"), dict(want))


@test(only_root=True)
def polls(t):
    """Each task has as many polls as it counted itself."""
    maps, said = trace_tokio(t, "polls.bt")
    want = {nr: x["polls"] for nr, x in tasks_of(said).items()}
    same("polls", maps.by_number("polls"), want)
    same("values", sum(maps.hists.values()), sum(want.values()))


@test(only_root=True)
def opens(t):
    """The kernel's event is charged to the task that made it happen, and to no other."""
    maps, said = trace_tokio(t, "opens.bt")
    want = {x["task"]: x["count"] for x in truth(said, "opens") if x["count"]}
    same("tasks that open", len(want), 18)
    same("opens", maps.by_number("opens"), want)


@test(cases=[("machines-async-std", 0), ("machines-smol", 1)], only_root=True)
def machines(t, program, nr_own):
    """Polls, blockades, parents and threads are those of the program, and of tasks that the runtime itself has."""
    app = t.program(program, "async-task-release")
    for _ in range(TRIES):
        maps, said = trace(t, "machines.bt", app, t.futrace, "run", "-q", "--", app, env=THREADS)
        if total(said)["slowest_ns"] < SLOW_NS:
            break
    want = truth(said, "task")

    def numbers(name):
        return collections.Counter(maps.counts[name].values())
    own = numbers("polls") - collections.Counter(x["polls"] for x in want)
    same("polls", numbers("polls") - own, collections.Counter(x["polls"] for x in want))
    same("tasks of the runtime", sum(own.values()), nr_own)
    same("blockades", numbers("blockades"), collections.Counter(x["blockades"] for x in want if x["blockades"]))
    same("values", sum(maps.hists.values()), sum(x["blockades"] for x in want))
    same("completed", maps.one("completed"), sum(x["over"] for x in want))
    children = collections.Counter(x["parent"] for x in want)
    roots = children.pop(None) + nr_own
    same("children", (maps.by_number("children").pop(0), numbers("children") - collections.Counter([roots])),
         (roots, collections.Counter(children.values())))
    same("polls of machines", sum(maps.counts["machines"].values()), sum(maps.counts["polls"].values()))
    others = len(maps.counts["machines"]) - len(truth(said, "machine"))
    check(0 <= others <= nr_own, f"{others} machines that the program does not know")


def perf_events(t):
    return t.run("perf", "probe", "-l").ok().out


@test(only_root=True)
def with_perf(t):
    """perf counts the same events as the program, and leaves nothing behind."""
    end = time.monotonic() + SECONDS
    while "sdt_tokio" in perf_events(t) and time.monotonic() < end:
        time.sleep(0.2)  # somebody else's: their names are the whole machine's
    said = shell(t, "perf", t.program("guide") + " mt 2")
    tasks = tasks_of(said)
    found = {m[2]: int(m[1]) for m in re.finditer(r"^ *(\d+) +sdt_tokio:(\w+):", said, re.M)}
    same("events", found, {"task_poll_start": sum(x["polls"] for x in tasks.values()), "task_terminate": len(tasks)})
    check("sdt_tokio:task_poll_start" not in perf_events(t), "the probe is still there")


@test()
def is_installed_there(t):
    """The folder that the guide and the manuals name is where it is installed if nobody says otherwise."""
    options = json.loads(t.run("meson", "introspect", "--buildoptions", os.path.join(ROOT, "meson.build")).ok().out)
    chosen = {o["name"]: o["value"] for o in options}
    same("folder", os.path.join(chosen["prefix"], chosen["libdir"], "futrace"), INSTALLED)


@test()
def reports(t):
    """The reports have the program's tasks."""
    said = shell(t, "report", t.program("guide") + " mt 2")
    tasks = tasks_of(said)
    rep = t.report("app.data")
    same("polls", {x["id"]: x["polls"] for x in rep["tasks"] if x["kind"] == "task"}, {nr: x["polls"] for nr, x in tasks.items()})
    parent = next(nr for nr, x in tasks.items() if x["label"] == "accept")
    check(re.search(rf"^ *{parent} +23 ", said, re.M), f"no parent of 23 in {said}")
    check("\nMACHINES\n" in said and "guide::request" in said, said)


# With the crate

def source(t, name):
    """The code that the guide shows."""
    return blocks()[name][1]


@test()
def shows_the_program(t):
    """The code in the guide is that of the program."""
    with open(PROGRAM, encoding="utf-8") as f:
        part = re.search(r"^// guide: begin\n(.*?)^// guide: end$", f.read(), re.M | re.S)[1]
    same("code", source(t, "guide"), part)


@test(cases=[("before",), ("after",)], only_root=True)
def spans(t, when):
    """Each request has a span and a mark under its own id, with the values that it gave them, whoever of the two is there
    first."""
    app = t.program("guide", "hooks")
    maps, said = trace(t, "spans.bt", app, app, is_late=when == "after")
    want = {x["id"]: x["bytes"] for x in truth(said, "request")}
    same("requests", len(want), 31)
    same("answers", (maps.one("answers"), sum(maps.hists.values())), (31, 31))
    same("bytes", maps.by_number("bytes"), want)
    same("fetched", maps.by_number("fetched"), want)


@test()
def marks(t):
    """They are in the recording, too."""
    said = shell(t, "marks", t.program("guide", "hooks"))
    lines = t.run(t.futrace, "export", "--format=ndjson", "-o", "-", t.path("app.data")).ok().out.splitlines()
    rows = [x for x in map(json.loads, lines) if x["kind"] in ("mark", "span")]
    want = sorted((x["id"], x["bytes"]) for x in truth(said, "request"))
    for kind, name in ("mark", "fetched"), ("span", "answer"):
        same(name, sorted((x["id"], x["fields"]["bytes"]) for x in rows if (x["kind"], x["name"]) == (kind, name)), want)
        check(re.search(rf"^{kind} +31 .*{name}$", said, re.M), f"no row of {name} in {said}")

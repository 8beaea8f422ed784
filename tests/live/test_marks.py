# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs built with our crate: what they mark is in the recording, and all of its probes are there for other tracers."""
import collections
import json
import os
import re
import time

from live import DURATIONS, check, nr_lost, same, test, truth
from tracers import NOTE, PERF_SCRIPT, in_tracefs, interrupted, need, notes, semaphores

CRATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../rust/futrace")
BUILDS = ("hooks", "hooks-lto")
FOREVER = ("forgotten",)  # spans that have no end
MANY = "burst"  # a mark that is only counted


def marks_program(t, build):
    return [t.program("marks", build), t.program("libmarksplugin.so", build)]


def rows_of(t, *kinds):
    out = t.run(t.futrace, "export", "--format=ndjson", "-o", "-", t.path("t.data")).ok().out
    return [x for x in map(json.loads, out.splitlines()) if x["kind"] in kinds]


def as_said(x):
    """A mark or span, as the program and the recording both tell it."""
    return json.dumps([x["name"], x["id"], x.get("task"), x["fields"]], sort_keys=True)


def compare(what, found, wanted):
    found, wanted = collections.Counter(map(as_said, found)), collections.Counter(map(as_said, wanted))
    check(found == wanted, f"{what}: not said: {list(found - wanted)[:5]}; not recorded: {list(wanted - found)[:5]}")


def fix_fields(said):
    """What a span tells at its start only: the program does not print all of it."""
    fields = {"outside": {"flag": 1}}
    for x in said:
        x["fields"] = fields.get(x["name"], x["fields"])
    return said


@test(cases=[(b,) for b in BUILDS])
def recorded(t, build):
    """Every mark and span is in the recording, with its id and fields, on the task it was in, from all threads and copies."""
    alone = t.run(*marks_program(t, build)).ok()
    r = t.record(*marks_program(t, build)).ok()
    same("what the program says", [x for x in r.out.splitlines() if '"task"' not in x],
         [x for x in alone.out.splitlines() if '"task"' not in x])
    same("lost", nr_lost(t.report()), 0)
    rows = rows_of(t, "mark", "span")
    marks = [x for x in rows if x["kind"] == "mark"]
    same("marks of the burst", len([x for x in marks if x["name"] == MANY]), truth(r.out, "burst")[0]["count"])
    compare("marks", [x for x in marks if x["name"] != MANY], truth(r.out, "mark"))
    spans = [x for x in rows if x["kind"] == "span"]
    compare("spans", spans, fix_fields(truth(r.out, "span")))
    same("spans without an end", sorted(x["name"] for x in spans if x.get("open")), sorted(FOREVER))
    same("ids of both copies", truth(r.out, "ids")[0]["different"], 2000)


@test(cases=[(b,) for b in BUILDS])
def summed_up(t, build):
    """The table has the counts and sums of the single ones, and so have the timelines."""
    t.record(*marks_program(t, build)).ok()
    rows = rows_of(t, "mark", "span")
    wanted = collections.Counter((x["kind"], x["name"]) for x in rows)
    report = json.loads(t.run(t.futrace, "report", "--by=mark", "--json", "--limit=0", t.path("t.data")).ok().out)["table"]
    same("rows", {(x["kind"], x["name"]): x["count"] for x in report["rows"]}, dict(wanted))
    for row in report["rows"]:
        mine = [x for x in rows if (x["kind"], x["name"]) == (row["kind"], row["name"])]
        same(f"{row['name']} in tasks", row["in_tasks"], len([x for x in mine if "task" in x]))
        if row["kind"] == "span":
            same(f"sum of {row['name']}", row["lasted_ns"], sum(x["lasted_ns"] for x in mine if not x.get("open")))
    chrome = json.loads(t.run(t.futrace, "export", "--format=chrome", "-o", "-", t.path("t.data")).ok().out)["traceEvents"]
    drawn = collections.Counter((x["cat"], x["name"]) for x in chrome if (x.get("cat"), x["ph"]) in (("mark", "i"), ("span", "b")))
    same("drawn", drawn, wanted)
    same("ends", len([x for x in chrome if x.get("cat") == "span" and x["ph"] == "e"]), len([x for x in rows if x["kind"] == "span"]))


@test()
def counted(t):
    """What a storm of marks leaves no room for is counted: recorded and lost together are what was said."""
    nr = 7001
    r = t.record(t.program("storm", "hooks"), str(nr)).ok()
    said = truth(r.out, "storm")[0]
    rep = t.report()
    seen = collections.Counter(x["kind"] for x in rows_of(t, "mark", "span"))
    same("marks", seen["mark"] + nr_lost(rep, "mark"), said["marks"])
    same("spans", seen["span"] + nr_lost(rep, "span-start"), said["spans"])


def has_marks(t):
    return re.search(r"^ +mark +[1-9]", t.info(), re.M)


@test()
def stopped(t):
    """When the recording stops first, the program goes on and ends as it does alone."""
    program = t.program("storm", "hooks")
    alone = t.run(program, "100003").ok()
    r = t.record(program, "100003", opts=("--max-size=60k",)).ok()
    same("what the program says", r.out, alone.out)
    check(has_marks(t), "nothing was recorded before it had its size")
    for seconds in DURATIONS:
        p = t.start(t.record_argv(program, "on", opts=(f"--duration={seconds}",)))
        p.read_line()
        t.until("the recording stops", lambda: "stopped first" in t.run(t.futrace, "info", t.path("t.data")).out)
        p.close_stdin()
        said = truth(p.finish().ok().out, "storm")[0]
        if has_marks(t):
            break
        os.unlink(t.path("t.data"))
    check(has_marks(t) and said["marks"], "nothing was recorded while there was time")


@test()
def without_a_runtime(t):
    """A program that has no async runtime at all has its marks recorded, too."""
    t.record(t.program("storm", "hooks"), "7").ok()
    same("marks", len(rows_of(t, "mark")), 21)
    check(all("task" not in x for x in rows_of(t, "mark", "span")), "there are no tasks")


# The probes, with a real bpftrace

class Tracer:
    """A bpftrace that prints a line for each event, and is ready. Lines come in the order of time."""

    def __init__(self, t, script, strlen=64):
        need("bpftrace")
        frame = 'BEGIN { printf("ready\\n"); } interval:ms:100 { printf("tick %lu\\n", nsecs); } '
        self.p = t.start(["bpftrace", "-e", frame + script], env={"BPFTRACE_STRLEN": str(strlen), "BPFTRACE_PERF_RB_PAGES": "1024"})
        self.p.wait_line("ready")

    def lines(self):
        """It forgets what it has not yet printed when it is interrupted: what happened before a tick is out at the next."""
        now, nr = time.monotonic_ns(), 0
        while nr < 2:
            nr += int(self.p.wait_line("tick ").split()[1]) > now
        found = [x.split(" ", 1) for x in interrupted(self.p).out.splitlines() if x[:1].isdigit()]
        return [x[1] for x in sorted(found, key=lambda x: int(x[0]))]


def waiting(t, program, *args):
    p = t.start([program, *args])
    p.read_line()
    return p


TASK_PROBES = {"s": "task-spawn", "(": "task-poll-start", ")": "task-poll-end", "t": "task-terminate"}
THREAD_PROBES = {f"worker-thread-{x}": f"{x}s" for x in ("start", "stop", "park", "unpark")}


def script_for(program):
    task = ", ".join(f"usdt:{program}:tokio:{x}" for x in TASK_PROBES.values())
    thread = ", ".join(f"usdt:{program}:tokio:{x}" for x in THREAD_PROBES)
    return (f'{task} {{ printf("%lu %s %lu %d %d %s\\n", nsecs, probe, arg0, arg2, arg3, str(arg1)); }} '
            f'{thread} {{ printf("%lu %s\\n", nsecs, probe); }}')


@test(only_root=True)
def hooks_fire(t):
    """Probes of the hooks fire as often as Tokio calls them, in that order, with id, file, line and column of the spawn."""
    program = t.program("hooked", "hooks-unstable")
    p = waiting(t, program, "101", "wait")
    tracer = Tracer(t, script_for(program), 150)
    p.tell("\n")
    said = p.finish().ok().out
    names = {v: k for k, v in TASK_PROBES.items()}
    told, places, threads = collections.defaultdict(str), {}, collections.Counter()
    for line in tracer.lines():
        probe, *args = line.split(" ", 4)
        probe = probe.split(":")[-1]
        if probe in THREAD_PROBES:
            threads[THREAD_PROBES[probe]] += 1
            continue
        task, row, column, file = args
        told[int(task)] += names[probe]
        places[int(task)] = (file, int(row), int(column))
    wanted = truth(said, "task")
    same("events of tasks", dict(told), {x["id"]: x["told"] for x in wanted})
    same("places", places, {x["id"]: (x["file"][:149], x["line"], x["column"]) for x in wanted})
    same("threads", dict(threads), {k: v for k, v in truth(said, "threads")[0].items() if k != "truth" and v})
    mine = [x["told"] for x in wanted if x["told"].startswith("s")]
    same("tasks of the program", len(mine), 101)
    check(all(x.endswith("t)") for x in mine), "a task terminates before its last poll ends")


@test(only_root=True)
def hooks_of_stable_tokio(t):
    """Without tokio_unstable the probes of threads fire, and nothing else is different."""
    program = t.program("hooked", "hooks")
    p = waiting(t, program, "11", "wait")
    tracer = Tracer(t, script_for(program), 150)
    p.tell("\n")
    said = p.finish().ok().out
    found = collections.Counter(THREAD_PROBES[x.split(":")[-1]] for x in tracer.lines())
    same("threads", dict(found), {k: v for k, v in truth(said, "threads")[0].items() if k != "truth" and v})


def fired(said):
    """Probe, id and name of all that the program itself, without its library, marked by what it says."""
    here = [x for x in truth(said) if x["truth"] in ("mark", "span") and "plugin" not in x["name"]]
    for x in here:
        yield "mark" if x["truth"] == "mark" else "span-start", x["id"], x["name"]
        if x["truth"] == "span" and x["name"] not in FOREVER:
            yield "span-end", x["id"], x["name"]
    for i in range(truth(said, "burst")[0]["count"]):
        yield "mark", i, MANY
    # the child that was forked has the probes, too, and is not recorded
    yield "mark", 1, "in-child"
    yield "span-end", 1, "forked"


@test(only_root=True)
def marks_fire(t):
    """Marks and spans are probes with name, id and values, also while the program is recorded."""
    program, plugin = marks_program(t, "hooks")
    probes = ", ".join(f"usdt:{x}:futrace:{p}" for x in (program,) for p in ("mark", "span-start", "span-end"))
    tracer = Tracer(t, f'{probes} {{ printf("%lu %s %lu %s\\n", nsecs, probe, arg1, str(arg0)); }}')
    r = t.record(program, plugin).ok()
    found = collections.Counter(x.rsplit(":", 1)[1] for x in tracer.lines())
    wanted = collections.Counter(f"{probe} {i} {name}" for probe, i, name in fired(r.out))
    check(found == wanted, f"not said: {list(found - wanted)[:5]}; no probe: {list(wanted - found)[:5]}")
    compare("recorded", [x for x in rows_of(t, "mark") if x["name"] != MANY], truth(r.out, "mark"))


@test(only_root=True)
def values_of_marks(t):
    """The values of a mark's fields are arguments of its probe: numbers, and text."""
    program = t.program("marks", "hooks")
    tracer = Tracer(t, f'usdt:{program}:futrace:mark /arg1 >= 100 && arg5 > 0/ '
                    '{ printf("%lu %lu %lu %ld %s\\n", nsecs, arg1, arg2, arg3, str(arg5)); }')
    said = [x for x in truth(t.run(program).ok().out, "mark") if x["name"] == "step"]
    same("values", sorted(tracer.lines()), sorted("{} {} {} {}".format(x["id"], *(x["fields"][k] for k in ("i", "below", "word")))
                                                  for x in said))


# The probes, with a real perf, in programs made by both linkers

LINKERS = {"hooks-perf": "LLD", "hooks-perf-bfd": "GNU"}


def by_perf(t, provider, program, *args):
    """What the program says, and (probe, values of its arguments) of each event that perf recorded meanwhile."""
    perf = f"perf --buildid-dir {t.path('ids')}"
    out = in_tracefs(t, f"""
        {perf} buildid-cache --add {program}
        trap "perf probe -q -d 'sdt_{provider}:*'" EXIT
        {perf} probe -q 'sdt_{provider}:*'
        {perf} record -q -a -m 4M -e 'sdt_{provider}:*' -o p.data -- {program} {' '.join(args)}
        {PERF_SCRIPT} > p.txt
    """).ok().out
    with open(t.path("p.txt"), encoding="utf-8") as f:
        events = re.findall(rf"sdt_{provider}:(\w+): \(\w+\)(.*)", f.read())
    return out, [(probe, [int(n, 0) for n in re.findall(r"arg\d+=(\S+)", rest)]) for probe, rest in events]


def is_linked_by(t, program, linker):
    said = t.run("readelf", "-p", ".comment", program).ok().out
    same("linked by", "LLD" if "Linker: LLD" in said else "GNU", linker)


@test(cases=[*LINKERS.items()], only_root=True)
def hooks_by_perf(t, build, linker):
    """perf records each probe of the hooks as often as Tokio calls them, with id, line and column of the spawn."""
    program = t.program("hooked", build)
    is_linked_by(t, program, linker)
    said, events = by_perf(t, "tokio", program, "101")
    names = {v.replace("-", "_"): k for k, v in TASK_PROBES.items()}
    tasks = collections.Counter((names[probe], args[0], *args[2:4]) for probe, args in events if probe in names)
    threads = collections.Counter(probe for probe, args in events if probe not in names)
    wanted = truth(said, "task")
    same("tasks of the program", len([x for x in wanted if x["told"].startswith("s")]), 101)
    same("events of tasks", tasks, collections.Counter((c, x["id"], x["line"], x["column"]) for x in wanted for c in x["told"]))
    told = truth(said, "threads")[0]
    same("threads", dict(threads), {k.replace("-", "_"): told[v] for k, v in THREAD_PROBES.items() if told[v]})


@test(cases=[*LINKERS.items()], only_root=True)
def marks_by_perf(t, build, linker):
    """perf records each mark and both ends of each span, with its id."""
    program = t.program("marks", build)
    is_linked_by(t, program, linker)
    said, events = by_perf(t, "futrace", program)
    found = collections.Counter((probe, args[1]) for probe, args in events)
    wanted = collections.Counter((probe.replace("-", "_"), i) for probe, i, _ in fired(said))
    check(found == wanted, f"not said: {list(found - wanted)[:5]}; not recorded: {list(wanted - found)[:5]}")


@test(only_root=True)
def places_of_values(t):
    """A field that has no value keeps its place among the arguments of a probe."""
    program = t.program("marks", "hooks")
    tracer = Tracer(t, f'usdt:{program}:futrace:mark /arg1 == 9 && arg4 > 0/ '
                    '{ printf("%lu %s %s %lu %lu %s\\n", nsecs, str(arg0), str(arg2), arg3, arg4, str(arg5)); }')
    t.run(program).ok()
    same("values", tracer.lines(), ["kinds ü 0 1500 127.0.0.1"])


PROBES_OF_CRATE = {"futrace": ("mark", "span-start", "span-end"), "tokio": (*TASK_PROBES.values(), *THREAD_PROBES)}


@test()
def listed(t):
    """`futrace list` has each probe of the crate once, as readelf has it."""
    program = t.program("hooked", "hooks-unstable")
    wanted = sorted((p, name) for p, names in PROBES_OF_CRATE.items() for name in names)
    found = json.loads(t.run(t.futrace, "list", "--json", program).ok().out)["probes"]
    same("futrace list", sorted((x["provider"], x["name"]) for x in found), wanted)
    same("readelf", sorted(notes(program)), wanted)


def are_there(t, path):
    """Probes and semaphores of which notes tell are in the file: sites in code, semaphores each by itself where they can be counted."""
    out = t.run("readelf", "-SWn", path).ok().out
    sections = {m[1]: range(int(m[2], 16), int(m[2], 16) + int(m[3], 16))
                for m in re.finditer(r"\] (\S+) +\w+ +(\w{16}) \w+ (\w+)", out)}
    found = [(m[1], m[2], int(m[3], 16), int(m[5], 16)) for m in NOTE.finditer(out)]
    same(f"outside of {path}", [x for x in found if x[2] not in sections[".text"] or x[3] not in sections[".probes"]], [])
    same("semaphores", len({semaphore for *_, semaphore in found}), len(found))
    return sorted((provider, name) for provider, name, *_ in found)


@test(cases=[("marks", "hooks"), ("storm", "hooks"), ("libmarksplugin.so", "hooks"), ("marks", "hooks-lto"), ("hooked", "hooks-unstable")])
def kept(t, name, build):
    """Whether a program registers the hooks or not, the probes of which it tells are in it."""
    found = are_there(t, t.program(name, build))
    check(set(found) >= {("futrace", x) for x in PROBES_OF_CRATE["futrace"]}, f"only {found}")


UNUSED = """
extern unsigned futrace_copy_0(void);
extern short futrace_tokio_0[];
int nobody_calls_it(void) { return futrace_tokio_0[0]; }
int main(void) { return futrace_copy_0() == 0x7777; }
"""


@test(cases=[("bfd",), ("gold",)])
def kept_by(t, linker):
    """The same with other linkers than Rust's: none throws code away of which it keeps the notes."""
    need("cc", f"ld.{linker}")
    with open(t.path("main.c"), "w", encoding="utf-8") as f:
        f.write(UNUSED)
    sources = [os.path.join(CRATE, "c", f"{name}.c") for name in ("marks", "tokio")]
    t.run("cc", "-std=gnu11", "-O2", "-fPIC", "-ffunction-sections", "-DSUFFIX=_0", f"-fuse-ld={linker}", "-Wl,--gc-sections",
          t.path("main.c"), *sources, "-o", t.path("unused")).ok()
    t.run(t.path("unused")).ok()
    same("probes", are_there(t, t.path("unused")), sorted((p, name) for p, names in PROBES_OF_CRATE.items() for name in names))


@test(only_root=True)
def attached_and_detached(t):
    """Tracers come and go while threads mark as fast as they can: each sees marks, and none leaves a semaphore raised."""
    program = t.program("storm", "hooks")
    p = t.start([program, "on"])
    pid = int(p.read_line())
    same("before", set(semaphores(pid, program).values()), {0})
    for _ in range(3):
        tracer = Tracer(t, f'usdt:{program}:futrace:* {{ @[probe] = count(); }}')
        check(max(semaphores(pid, program).values()) > 0, "no semaphore is raised")
        tracer.lines()
        same("behind it", set(semaphores(pid, program).values()), {0})
    p.close_stdin()
    r = p.finish().ok()
    check(truth(r.out, "storm")[0]["marks"] > 0, "it marked")

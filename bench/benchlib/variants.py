# SPDX-License-Identifier: MIT OR Apache-2.0
"""The variants of a workload: nothing, the bare hook, futrace, and its peers.

A variant runs `WORKERS WORK ARGS...` once and returns a Sample.  A variant that records checks in the same
run that everything was recorded: a cheap tool that loses events is not cheap.
"""

import dataclasses
import glob
import json
import os
import subprocess

from .proc import Background, Failed, run, run_marked


@dataclasses.dataclass
class Sample:
    reps: list  # {polls, tasks, cpu_ns, wall_ns} of each repetition
    tool_ns: int = None  # CPU time of the tool's own processes
    events: int = None
    lost: int = None
    file_bytes: int = None
    note: str = ""
    steady_ns: int = None  # of tool_ns: what it used between the ends of the first and the last repetition

    @property
    def polls(self):
        return sum(r["polls"] for r in self.reps)

    def per(self, what):
        """The cheapest repetition: ns of CPU per `what`."""
        return min(r["cpu_ns"] / r[what] for r in self.reps)

    def has_steady(self):
        return self.steady_ns is not None and len(self.reps) > 1

    def tool_per(self, what):
        """The tool's CPU per `what` while the program runs, start and end left out where that is known."""
        if self.has_steady():
            return self.steady_ns / sum(r[what] for r in self.reps[1:])
        return self.tool_ns / sum(r[what] for r in self.reps)

    def ends_ns(self, what):
        """What the tool used before and behind that: reading the program, looking up lines, closing the file."""
        return self.tool_ns - self.tool_per(what) * sum(r[what] for r in self.reps)


def repetitions(ended, work):
    reps = [values for name, values in ended.lines if name == work]
    if not reps:
        raise Failed("the program printed no repetition")
    return reps


def steady_ns(ended, work):
    marks = [mark for (name, _), mark in zip(ended.lines, ended.marks) if name == work]
    return marks[-1] - marks[0]


def total_ns(ended):
    return sum(values["cpu_ns"] for name, values in ended.lines if name == "total")


SPARSE = ("sparse100", "sparse10000")


class Variant:
    name = ""
    label = ""
    base = "plain"  # what its added cost is measured over
    needs = ("plain",)
    works = ("storm", "spawn")
    program = "plain"
    yields = 20000
    reps = 4
    env = {}

    def __init__(self, tools, place):
        self.tools, self.place = tools, place

    def missing(self):
        for need in self.needs:
            if not self.tools.has(need):
                return f"{need}: {self.tools.why[need]}"
        return None

    def storm(self):
        return self.sample("storm", ["1", "storm", "100", str(self.yields), str(self.reps)])

    def spawn(self):
        """Few enough tasks that a report that names each one is still read quickly."""
        return self.sample("spawn", ["1", "spawn", "1000", "40", "3"])

    def wakes(self):
        return self.sample("wakes", ["1", "wakes", "50", str(self.yields), str(self.reps)])

    def root(self):
        """Once: all repetitions would be one root."""
        return self.sample("root", ["1", "root", "4000000", "1"])

    def inner(self):
        return self.sample("inner", ["1", "inner", "100", str(self.yields), str(self.reps)])

    def sparse100(self):
        return self.sample("sparse", ["1", "sparse", "100", "1", "250", "4"])

    def sparse10000(self):
        return self.sample("sparse", ["1", "sparse", "10000", "20", "20", "4"])

    def sample(self, work, args):
        ended = run(self.place, [self.tools[self.program], *args], self.env)
        return Sample(repetitions(ended, work))


class Plain(Variant):
    name, label, base = "plain", "no tracing", None
    works = ("storm", "spawn", "wakes", "root", "inner", *SPARSE)


class BareHook(Variant):
    name, label = "bare", "bare hook: two timestamps, two stores"
    needs = ("plain", "barehook")

    def sample(self, work, args):
        out = self.place.fresh("barehook.out")
        env = dict(self.env, LD_PRELOAD=self.tools["barehook"], BAREHOOK_OUT=out)
        ended = run(self.place, [self.tools["plain"], *args], env)
        with open(out, encoding="ascii") as f:
            if int(f.read()) == 0:
                raise Failed("the bare hook found no table")
        return Sample(repetitions(ended, work))


class BareHookWakes(BareHook):
    name, label = "bare-wakes", "bare hook, and a stamp and store per wake"
    env = {"BAREHOOK_WAKES": "1"}


class Futrace(Variant):
    name, label = "futrace", "`futrace record`"
    needs = ("plain", "futrace")
    works = ("storm", "spawn", "wakes", "root", *SPARSE)
    file = "storm.data"
    options = ()

    def record(self, argv, **more):
        """Records argv; the tool's own CPU is what the target did not use."""
        path = self.place.fresh(self.file)
        ended = run_marked(self.place, [self.tools["futrace"], "record", "-q", *self.options, "-o", path, "--", *argv], **more)
        if not os.path.exists(path):
            raise Failed(f"futrace left no file: {ended.stderr.strip()[-160:]}")
        return path, ended

    def report(self, path, *args):
        ended = run(self.place, [self.tools["futrace"], "report", "--json", *args, path])
        try:
            return json.loads(ended.stdout)
        except ValueError as e:
            raise Failed(f"report --json is no JSON: {e}") from e

    def sample(self, work, args):
        path, ended = self.record([self.tools[self.program], *args])
        reps = repetitions(ended, work)
        report = self.report(path)
        self.check(report, reps)
        return Sample(
            reps,
            tool_ns=ended.cpu_ns - total_ns(ended),
            events=report["events"],
            lost=number_lost(report),
            file_bytes=os.path.getsize(path),
            steady_ns=steady_ns(ended, work),
        )

    @staticmethod
    def check(report, reps):
        """The program knows how many tasks it had and how often each was polled, all alike but for one poll: so must the report."""
        each = reps[0]["polls"] // reps[0]["tasks"]
        truth = sum(r["tasks"] for r in reps)
        kinds = ("task", "block_on")
        tasks = sum(abs(t["polls"] - each) <= 1 and t["kind"] in kinds for t in report["tasks"])
        if tasks != truth and not number_lost(report):
            raise Failed(f"{tasks} of {truth} tasks recorded with {each} polls, and nothing said to be lost")


class FutracePaths(Futrace):
    """The same program with full debug info, so that each poll has the place where its task stood."""

    name, label = "futrace-paths", "`futrace record` with await paths (`debug = 2`)"
    needs = ("plain", "plain-full", "futrace")
    works = ("storm", *SPARSE)
    program = "plain-full"

    def sample(self, work, args):
        sample = super().sample(work, args)
        info = run(self.place, [self.tools["futrace"], "info", "--json", self.place.path(self.file)])
        if not json.loads(info.stdout).get("paths"):
            raise Failed("no path was recorded")
        return sample


class FutraceFutures(Futrace):
    name, label = "futrace-futures", "`futrace record --futures`"
    works = ("inner",)
    options = ("--futures=workload::busy",)

    @staticmethod
    def check(report, reps):
        """A start and an end of each poll."""
        if report["events"] + number_lost(report) < 2 * sum(r["polls"] for r in reps):
            raise Failed("there are fewer events than starts and ends of polls of futures")


def number_lost(report):
    lost = report["lost"]
    if isinstance(lost, dict):
        return sum(v for v in lost.values() if isinstance(v, int))
    return lost


class Bpftrace(Variant):
    name, label = "bpftrace", "bpftrace, uprobe + uretprobe that count"
    needs = ("plain", "bpftrace", "uprobed")
    yields, reps = 2500, 2  # at 1.4 us a poll the full storm would take a minute a round
    pattern = "*task3raw4poll17h*"

    def probes(self):
        """Of the start and of the end of a poll."""
        where = f"{self.tools['uprobed']}:{self.pattern}"
        return f"uprobe:{where}", f"uretprobe:{where}"

    def command(self, args):
        return [self.tools["uprobed"], *args]

    def argv(self):
        start, end = self.probes()
        text = 'BEGIN { printf("ready\\n"); } '
        text += f"{start} {{ @entries = count(); }} {end} {{ @returns = count(); }}"
        if os.path.exists("/sys/kernel/tracing/uprobe_events"):
            return [self.tools["bpftrace"], "-e", text]
        # It cannot detach without tracefs; a mount of its own leaves the machine as it was.
        mount = 'mount -t tracefs none /sys/kernel/tracing && exec "$0" -e "$1"'
        return ["unshare", "-m", "sh", "-c", mount, self.tools["bpftrace"], text]

    def sample(self, work, args):
        if os.getuid() != 0:
            raise Failed("bpftrace needs root")
        tracer = Background(self.place, self.argv())
        tracer.wait_for("ready")
        try:
            ended = run(self.place, self.command(args))
        finally:
            tracer.interrupt()
            traced = tracer.end()
        reps = repetitions(ended, work)
        counts = dict(l.split(": ") for l in traced.stdout.splitlines() if l.startswith("@"))
        events = sum(int(v) for v in counts.values())
        truth = 2 * sum(r["polls"] for r in reps)
        if events < truth:
            raise Failed(f"bpftrace counted {events} of {truth} events")
        return Sample(reps, tool_ns=traced.cpu_ns, events=events, lost=0)


class BpftraceProbes(Bpftrace):
    """The same counts by our probes."""

    name, label = "bpftrace-probes", "bpftrace, `task-poll-start` and `-end` of `futrace run` that count"
    needs = ("plain", "bpftrace", "futrace")
    works = ("storm",)

    def probes(self):
        where = f"usdt:{os.path.dirname(self.tools['futrace'])}/libfutrace-agent.so:tokio:task-poll"
        return f"{where}-start", f"{where}-end"

    def command(self, args):
        return [self.tools["futrace"], "run", "-q", "--", self.tools["plain"], *args]


class FutraceRun(Variant):
    name, label = "futrace-run", "`futrace run`, nobody attached"
    needs = ("plain", "futrace")
    works = ("storm",)

    def sample(self, work, args):
        ended = run(self.place, [self.tools["futrace"], "run", "-q", "--", self.tools["plain"], *args])
        return Sample(repetitions(ended, work), tool_ns=ended.cpu_ns - total_ns(ended))


class Uftrace(Variant):
    name, label = "uftrace", "`uftrace record -P` on `Core::poll`"
    needs = ("plain", "uftrace")
    reps = 1  # it writes 32 bytes per poll
    pattern = "tokio::runtime::task::core::Core.*::poll"

    def sample(self, work, args):
        data = self.place.fresh("uftrace.data")
        options = ["-P", self.pattern, "--no-libcall", "--no-event", "-d", data]
        ended = run(self.place, [self.tools["uftrace"], "record", *options, self.tools["plain"], *args])
        reps = repetitions(ended, work)
        report = run(self.place, [self.tools["uftrace"], "report", "-d", data]).stdout
        calls = sum(int(l.split()[4]) for l in report.splitlines() if l.endswith("::poll"))
        truth = sum(r["polls"] for r in reps)
        size = sum(os.path.getsize(f) for f in glob.glob(os.path.join(data, "*.dat")))
        return Sample(
            reps,
            tool_ns=ended.cpu_ns - total_ns(ended),
            events=2 * calls,
            lost=2 * max(0, truth - calls),
            file_bytes=size,
        )


class FutraceNoPlaces(Futrace):
    """What the walk of the stack at each spawn costs is the difference."""

    name, label = "futrace-no-places", "`futrace record --no-spawn-places`"
    works = ("spawn",)
    options = ("--no-spawn-places",)


class PlainSmol(Plain):
    needs = ("smol",)
    program = "smol"


class FutraceSmol(Futrace):
    needs = ("smol", "futrace")
    program = "smol"


class Dial9Off(Variant):
    name, label, base = "dial9-off", "dial9 built in (`tokio_unstable`), off", "plain"
    needs = ("dial9",)
    works = ("storm", "spawn", *SPARSE)

    def sample(self, work, args):
        ended = run(self.place, [self.tools["dial9"], *args])
        return Sample(repetitions(ended, work))


class Dial9(Variant):
    name, label, base = "dial9", "dial9, `tokio::spawn`", "dial9-off"
    needs = ("dial9",)
    works = ("storm", "spawn", *SPARSE)

    def sample(self, work, args):
        out = self.place.fresh("dial9")
        ended = run(self.place, [self.tools["dial9"], *args], dict(self.env, DIAL9_OUT=out))
        reps = repetitions(ended, work)
        files = glob.glob(os.path.join(out, "*.bin"))
        counted = run(self.place, [self.tools["dial9"], "0", "count", *files]).stdout
        kinds = dict(l.split("=") for l in counted.splitlines())
        polls = int(kinds.get("PollEndEvent", 0))
        truth = sum(r["polls"] for r in reps)
        return Sample(
            reps,
            tool_ns=0,
            events=int(kinds["all"]),
            lost=2 * max(0, truth - polls),
            file_bytes=sum(os.path.getsize(f) for f in files),
            note="writes in the target's own process",
        )


class Dial9Wakes(Dial9):
    name, label = "dial9-wakes", "dial9, `dial9::spawn` (adds wakes)"
    env = {"DIAL9_SPAWN": "1"}


SMOL = (PlainSmol, FutraceSmol)
ALL = (Plain, BareHook, BareHookWakes, Futrace, FutraceNoPlaces, FutracePaths, FutraceFutures, FutraceRun, Dial9Off, Dial9,
       Dial9Wakes, Uftrace, Bpftrace, BpftraceProbes)


def version(argv, pick):
    """The version a tool says it has, for the head of the table."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
    except OSError:
        return "missing"
    words = (done.stdout + done.stderr).split()
    return words[pick].lstrip("v") if len(words) > pick else "unknown"

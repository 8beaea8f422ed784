# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where tasks stood when they were polled is where their programs say that they waited, and reading it disturbs nobody."""
import collections
import json
import os

from live import check, nr_lost, same, test

RUNTIMES = ("mt", "ct", "async-std", "smol")
BUILDS = ("await", "await-dev", "await-lto", "await-v0")


class Paths:
    """The runs of a recording with their paths, by what `dump` and `info --json` say."""

    def __init__(self, t, name="t.data"):
        info = json.loads(t.run(t.futrace, "info", "--json", t.path(name)).ok().out)
        self.end, self.steps = info["end"], info["steps"]
        self.branches = {p["number"]: p["steps"] for p in info["paths"]}
        self.runs = []  # [task, start, end, path, flags] in the order of their starts
        open_runs = collections.defaultdict(list)
        for line in t.run(t.futrace, "dump", t.path(name)).ok().out.splitlines():
            words = line.partition(" type=")[0].split()
            time, tid, kind = int(words[0].replace(".", "")), words[1], words[3]
            fields = dict(w.split("=", 1) for w in words[4:])
            if kind == "run-start":
                run = [fields["task"], time, None, int(fields.get("path", 0)), fields.get("flags", "")]
                open_runs[tid].append(run)
                self.runs.append(run)
            elif kind == "run-end":
                open_runs[tid].pop()[2] = time

    def lines(self, step, file):
        """The await lines in one file that lead to a step, from the outside in; what a macro wrote is none."""
        lines = []
        while step is not None:
            s = self.steps[step]
            if s["generated"] and s["state"] == "waits" and os.path.basename(s["file"]) == file and not s["last_line"]:
                lines.append(str(s["line"]))
            step = s["outer"]
        return ">".join(reversed(lines))

    def ends(self, run, future):
        """The branches of a run's path that end in a future of that name."""
        return [b for b in self.branches.get(run[3], []) if self.steps[b]["future"].split("::")[-1] == future]


def truth(out):
    said = [json.loads(line) for line in out.splitlines()]
    return {key: {str(s[key]): s for s in said if key in s} for key in ("waits", "sleeps", "aborts")}


def check_sleeps(paths, sleeps, file):
    """Each sleep's task was gone for no longer than the program measured, which also measured parts of its polls."""
    by_task = collections.defaultdict(list)
    for run in paths.runs:
        by_task[run[0]].append(run)
    nr, least, most = collections.Counter(), collections.Counter(), collections.Counter()
    for runs in by_task.values():
        for before, run in zip(runs, runs[1:]):
            outermost = {paths.lines(branch, file).split(">")[0] for branch in paths.branches.get(run[3], [])}
            for line in outermost.intersection(sleeps):
                nr[line] += 1
                least[line] += run[1] - before[2]
                most[line] += run[2] - before[1]
    for line, s in sleeps.items():
        same(f"sleeps at line {line}", nr[line], s["count"])
        check(least[line] <= s["ns"] <= most[line],
              f"slept for {s['ns']} ns at line {line}, recorded are {least[line]} to {most[line]}")


@test(cases=[(b, r) for b in BUILDS for r in RUNTIMES])
def counted(t, build, runtime):
    """Each poll that left a future waiting shows at its chain of lines, each abort where the task stood, each sleep as long."""
    r = t.record(t.program("counts", build), runtime).ok()
    said, paths = truth(r.out), Paths(t)
    same("lost", nr_lost(t.report()), 0)
    waits, aborts = collections.Counter(), collections.Counter()
    for run in paths.runs:
        waits.update(paths.lines(b, "counts.rs") for b in paths.ends(run, "Turns"))
        if "drop" in run[4]:
            aborts.update(paths.lines(b, "counts.rs") for b in paths.ends(run, "Stuck"))
    same("waits", dict(waits), {at: s["count"] for at, s in said["waits"].items()})
    same("aborts", dict(aborts), {at: s["count"] for at, s in said["aborts"].items()})
    check_sleeps(paths, said["sleeps"], "counts.rs")
    same("not told", (paths.end["paths_without_room"], paths.end["paths_not_understood"]), (0, 0))


@test(cases=[(r,) for r in RUNTIMES])
def not_wanted(t, runtime):
    """With --no-await no run has a path; all else is as before."""
    r = t.record(t.program("counts", "await"), runtime, opts=["--no-await"]).ok()
    paths = Paths(t)
    same("paths", (paths.steps, paths.branches, {run[3] for run in paths.runs}), ([], {}, {0}))
    check(len(paths.runs) > sum(s["count"] for s in truth(r.out)["waits"].values()) / 3, "the runs are there")


@test(cases=[("release", "no types"), ("stripped", "no names")])
def unknown_without_types(t, build, _why):
    """Where debug info describes no types no path is made up, and doctor says what to change."""
    prog = t.program("exact", build)
    t.record(prog, "mt", "2").ok()
    same("paths", Paths(t).branches, {})
    seen = json.loads(t.run(t.futrace, "doctor", "--json", prog).ok().out)["files"][0]["runtimes"][0]["seen"]["await_paths"]
    same("doctor", (seen["how"], "debug" in (seen["remedy"] or "")), ("no", True))


@test(cases=[("mt", 400), ("ct", 100)])
def shutdown(t, flavour, rounds):
    """Runtimes that shut down under load, with memory spoilt as it is freed: nobody reads what is gone, and tasks are dropped
    where they say that they stood, unless they were running just then."""
    r = t.record(t.program("closing", "await"), str(rounds), flavour).ok()
    paths, nr = Paths(t), collections.Counter()
    same("not understood", paths.end["paths_not_understood"], 0)
    places = {run[0]: run[3] for run in paths.runs if "shutdown" in run[4]}
    for s in map(json.loads, r.out.splitlines()):
        path = places.get(s["task"], 0)
        kind = "rests" if s["rests"] else "turns" if s["stood"] else "never ran"
        nr[kind, path > 0] += 1
        if path:
            stood = {paths.lines(b, "closing.rs") for b in paths.branches[path]}
            same(f"where task {s['task']} was dropped", stood, {s["stood"]})
    # what ran just then was dropped by whoever ran it; tasks at rest may only be missing where events were lost
    check(nr["turns", True] > nr["turns", False], f"places of most tasks: {nr}")
    check(nr["rests", False] + nr["never ran", False] <= nr_lost(t.report()), f"places of all tasks at rest: {nr}")
    check(nr["rests", True] > rounds, f"tasks at rest: {nr}")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where tasks wait that still do when a recording is stopped is where their program says, and never anywhere else."""
import collections
import json
import os
import signal

from live import DURATIONS, check, nr_lost, same, test

RUNTIMES = ("mt", "ct", "async-std", "smol")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "await", "src", "bin", "hang.rs")


def hangs(lines):
    """How many tasks wait for ever at each innermost line, as the program says."""
    count = collections.Counter()
    for line in lines:
        if line.startswith('{"hangs"'):
            said = json.loads(line)
            count[said["hangs"].split(">")[-1]] += said["count"]
    check(count, f"the program said nothing: {lines}")
    return count


def line_of(text):
    with open(SOURCE, encoding="utf-8") as f:
        return next(str(nr) for nr, line in enumerate(f, 1) if text in line)


def interrupt(p):
    """The second that is no part of the first makes futrace leave, as it says itself; the program takes no notice."""
    os.kill(p.pid, signal.SIGINT)
    p.wait_line("a further Ctrl-C", err=True)
    os.kill(p.pid, signal.SIGINT)
    same("status", p.wait(), 128 + signal.SIGINT)


def rows_of(t, name="t.data"):
    return json.loads(t.run(t.futrace, "report", "--by=await", "--json", t.path(name)).ok().out)["table"]["rows"]


def in_program(row):
    place = row["location"] or ""
    return place.rpartition("/")[2].startswith("hang.rs:")


def check_rows(t, want, nr_moving):
    """Nothing else is open but what moves, and the root future, whose place is not known."""
    open_at, rest = collections.Counter(), 0
    for row in rows_of(t):
        if row["location"] is None:
            rest += row["open"]
        elif in_program(row) and row["open"]:
            open_at[row["location"].rpartition(":")[2]] += row["open"]
    same("tasks that hang, by line", {line: open_at[line] for line in want}, dict(want))
    moving = sum(open_at.values()) - sum(want.values())
    check(moving + rest <= nr_moving + 1, f"{moving} and {rest} more are open: {open_at}")


def check_wanderers(t, name="t.data"):
    """Who goes back and forth between two lines has its last place at the one that comes next, or none is told."""
    here, there = line_of("// here"), line_of("// there")
    info = json.loads(t.run(t.futrace, "info", "--json", t.path(name)).ok().out)
    step_at = {s["number"]: str(s["line"]) for s in info["steps"] if s["file"].endswith("/hang.rs") and str(s["line"]) in (here, there)}
    outer = {s["number"]: s["outer"] for s in info["steps"]}

    def line_at(path):
        for step in (p for q in info["paths"] if q["number"] == path for p in q["steps"]):
            while step is not None:
                if step in step_at:
                    return step_at[step]
                step = outer[step]
        return None

    last, nr = {}, 0
    for line in t.run(t.futrace, "export", "-f", "ndjson", "-o", "-", t.path(name)).ok().out.splitlines():
        event = json.loads(line)
        if event["kind"] == "poll" and "path" in event:
            last[event["task"]] = event["path"]
        elif event["kind"] == "task" and "path" in event and line_at(event["path"]):
            before = line_at(last.get(event["task"]))
            same(f"place of task {event['task']} after line {before}", line_at(event["path"]), there if before != there else here)
            nr += 1
    return nr


@test(cases=[(r,) for r in RUNTIMES])
def interrupted(t, runtime):
    """All tasks that wait for ever when somebody interrupts the recording have their line; those that run have none, or the right one."""
    p = t.start(t.record_argv(t.program("hang", "await"), runtime))
    p.wait_line("ready")
    interrupt(p)
    p.close_stdin()
    want = hangs(p.seen)
    same("lost", nr_lost(t.report()), 0)
    check_rows(t, want, 8)
    check_wanderers(t)


def has_stopped(t):
    return "stopped" in t.run(t.futrace, "info", t.path("t.data")).out


@test()
def duration(t):
    """The same when its time is over; and the program goes on to its own end."""
    for seconds in DURATIONS:
        p = t.start(t.record_argv(t.program("hang", "await"), "mt", "101", opts=(f"--duration={seconds}s",)))
        p.wait_line("ready")
        was_ready = not has_stopped(t)
        t.until("the recording has stopped", lambda: has_stopped(t))
        p.close_stdin()
        if was_ready:
            break
        p.finish().ok()
        os.unlink(t.path("t.data"))
    check(was_ready, "the program is never ready in time")
    r = p.finish().ok()
    check_rows(t, hangs(r.out.splitlines()), 8)
    check_wanderers(t)


@test()
def storm_of_moves(t):
    """Of tasks that go back and forth all the time, no place is ever wrong, however often it is looked."""
    nr = 0
    for i in range(5 * t.runs):
        p = t.start(t.record_argv(t.program("hang", "await"), t.random.choice(RUNTIMES[:3]), "7", out=f"{i}.data"))
        p.wait_line("ready")
        interrupt(p)
        p.close_stdin()
        nr += check_wanderers(t, f"{i}.data")
    check(nr, "no place was told of any of them")


@test()
def gone(t):
    """Of a program that has ended nobody knows where its tasks were, and it is said so."""
    p = t.start(t.record_argv(t.program("hang", "await"), "mt"))
    p.wait_line("ready")
    p.close_stdin()
    r = p.finish().ok()
    rows = [row for row in rows_of(t) if row["open"]]
    same("rows with waits that are not over", [row["location"] for row in rows], [None])
    check(rows[0]["open"] >= sum(hangs(r.out.splitlines()).values()), f"too few are still waiting: {rows}")


@test()
def without_paths(t):
    """Who does not want places of waits gets none at the end either."""
    p = t.start(t.record_argv(t.program("hang", "await"), "ct", opts=("--no-await",)))
    p.wait_line("ready")
    interrupt(p)
    p.close_stdin()
    info = json.loads(t.run(t.futrace, "info", "--json", t.path("t.data")).ok().out)
    same("stands", info["stands"], [])
    same("end", (info["end"]["kind"], info["end"]["reason"]), ("stopped", "interrupt"))

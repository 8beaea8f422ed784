# SPDX-License-Identifier: MIT OR Apache-2.0
"""The report itself: totals, parts of a recording, stories of tasks, verdicts for scripts, and terminals."""
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from live import Failed, TIMEOUT_S, check, same, short, test, user_tasks

STATES = ("busy_ns", "sched_ns", "idle_ns", "unknown_ns")


def record(t, *cmd, **more):
    t.record(*cmd, **more).ok()


def report(t, *opts):
    return json.loads(t.run(t.futrace, "report", "--json", *opts, t.path("t.data")).ok().out)


def text(t, *opts, **more):
    return t.run(t.futrace, "report", *opts, t.path("t.data"), **more)


def key(x):
    return x["runtime_id"], x["id"]


def grouped(n):
    return f"{n:,}"


@test([("exact",), ("wakes",), ("blocks",)])
def totals(t, program):
    """The paragraph of totals and `totals` of the JSON are the sums of tasks and threads."""
    record(t, t.program(program), "mt", "2")
    rep = report(t)
    have, tasks = rep["totals"], rep["tasks"]
    same("tasks", have["tasks"], len(tasks))
    for name in ("polls", "wakes", "self_wakes", *STATES):
        same(name, have[name], sum(x[name] for x in tasks))
    for end, n in have["tasks_by_end"].items():
        same(end, n, sum(x["end"] == end for x in tasks))
    workers = [w for w in rep["workers"] if w["kind"] == "worker"]
    same("workers", have["workers"], len(workers))
    same("workers_busy_ns", have["workers_busy_ns"], sum(w["busy_ns"] for w in workers))
    share = have["workers_busy_ns"] / (len(workers) * rep["duration_ns"])
    check(abs(have["workers_busy"] - share) < 1e-5, f"{have['workers_busy']} is not {share}")
    said = text(t, env={"COLUMNS": "200"}).ok().out
    lost = rf"{grouped(rep['lost'])} events? \(" if rep["lost"] else "nothing$"
    for want in (rf"^tasks +{grouped(len(tasks))} \(", rf" {grouped(have['polls'])} polls?,",
                 rf"^threads +{len(workers)} workers \(busy {share * 100:.{1 if share < 0.0995 else 0}f}%",
                 rf"^lost +{lost}", r"^cost +futrace used .* of CPU, the program .*estimated\)$"):
        check(re.search(want, said, re.M), f"no {want} in {said}")


WANTED = {
    "type~receiver": lambda x: "receiver" in x["type"],
    "type!~never,kind=task": lambda x: "never" not in x["type"] and x["kind"] == "task",
    "kind=blocking": lambda x: x["kind"] == "blocking",
    "id>100,id<=200": lambda x: 100 < x["id"] <= 200,
    "state=cancelled": lambda x: x["end"] == "cancelled",
    "state!=completed,polls>2": lambda x: x["end"] != "completed" and x["polls"] > 2,
    "life>1ms": lambda x: sum(x[s] for s in STATES) > 1000000,
    "busy>=10us,wakes<5": lambda x: x["busy_ns"] >= 10000 and x["wakes"] < 5,
    "max_poll<2us": lambda x: x["max_poll_ns"] < 2000,
    "max_sched>100us": lambda x: x["max_sched_ns"] > 100000,
    "self_wakes>0,type~Catches": lambda x: x["self_wakes"] > 0 and "Catches" in x["type"],
}


@test()
def filters(t):
    """A filtered report has exactly the tasks for which its conditions hold, and nothing of them is changed."""
    record(t, t.program("exact"), "mt", "2")
    whole = report(t)
    nr_some = 0
    for expr, holds in WANTED.items():
        rep = report(t, f"--filter={expr}")
        same(f"tasks with {expr}", rep["tasks"], [x for x in whole["tasks"] if holds(x)])
        same(f"threads with {expr}", rep["workers"], whole["workers"])
        nr_some += 0 < len(rep["tasks"]) < len(whole["tasks"])
    check(nr_some >= 8, f"only {nr_some} of the filters left some and not all")
    for wrong in ("", "polls", "poll>1", "life>1parsec", "kind=helper", "state>alive", "type>x", "id=1,"):
        text(t, f"--filter={wrong}").failed(2)


def check_part(whole, first, second, cut):
    """What a task did before the cut and what it did after are together what it did."""
    a = {key(x): x for x in first["tasks"]}
    b = {key(x): x for x in second["tasks"]}
    for w in whole["tasks"]:
        parts = [p[key(w)] for p in (a, b) if key(w) in p]
        check(parts, f"task {w['id']} is in no part")
        for name in ("busy_ns", "blocked_ns"):
            same(f"{name} of task {w['id']}", sum(p[name] for p in parts), w[name])
        life = sum(sum(p[s] for s in STATES) for p in parts)
        # one that was spawned before the cut and first seen behind it is not known to the first part
        unseen = max(0, cut - w["spawn_ns"]) if key(w) not in a else 0
        same(f"life of task {w['id']}", life + unseen, sum(w[s] for s in STATES))
        more = sum(p["polls"] for p in parts) - w["polls"]
        check(more in (0, 1) and (not more or len(parts) == 2), f"polls of task {w['id']}: {parts}, {w}")
    threads = [{x["thread"]: x for x in r["workers"]} for r in (first, second)]
    for w in whole["workers"]:
        for name in ("busy_ns", "asleep_ns", "blocked_ns"):
            got = sum(p[w["thread"]][name] for p in threads if w["thread"] in p)
            same(f"{name} of thread {w['thread']}", got, w[name])


@test([("wakes",), ("blocks",)])
def ranges(t, program):
    """Wherever a recording is cut in two, its parts add up to the whole, task by task and thread by thread."""
    record(t, t.program(program), "mt", "2")
    whole = report(t)
    end = whole["duration_ns"]
    for share in (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        cut = int(end * share)
        first = report(t, f"--time-range=..{cut}ns")
        second = report(t, f"--time-range={cut}ns..")
        same("end of the first part", first["totals"]["end_ns"], cut)
        same("duration of the parts", first["duration_ns"] + second["duration_ns"], end)
        same("events", first["events"] + second["events"], whole["events"])
        check_part(whole, first, second, cut)
    same("all of it", report(t, "--time-range=0%..100%")["tasks"], whole["tasks"])
    same("a length", report(t, "--time-range=1ms+1ms")["duration_ns"], 1000000)
    same("a part in percent", report(t, "--time-range=25%..75%")["totals"]["start_ns"], int(end * 0.25))
    for wrong in ("", "..", "1s", "5ms..5ms", "2ms..1ms", "90s..", "x..y", "50%..40%", "101%.."):
        text(t, f"--time-range={wrong}").failed(2)


@test([("wakes",), ("blocks",)])
def stories(t, program):
    """The events of a task's story add up to what the report says of the task."""
    record(t, t.program(program), "mt", "2")
    for want in user_tasks(report(t))[:25]:
        got = report(t, f"--task={want['runtime_id']}:{want['id']}")["stories"]
        same(f"stories of task {want['id']}", len(got), 1)
        story, events = got[0], got[0]["events"]
        for name, value in want.items():
            same(f"{name} of task {want['id']}", story[name], value)
        runs = [e for e in events if e["event"] == "run"]
        same("runs", len(runs), story["runs"])
        same("polls", sum(e["poll"] for e in runs), want["polls"])
        same("busy_ns", sum(e["end_ns"] - e["time_ns"] for e in runs), want["busy_ns"])
        same("blocked_ns", sum(e["end_ns"] - e["time_ns"] for e in events if e["event"] == "sleep"),
             want["blocked_ns"])
        wakes = [e for e in events if e["event"] == "wake"]
        same("wakes", len(wakes), want["wakes"])
        for cause, n in want["wakes_by"].items():
            same(f"wakes by {cause}", sum(e["by"] == cause for e in wakes), n)
        if want["end"] != "alive" and not want["unknown_ns"] and all("idle_ns" in e for e in runs):
            same("idle_ns", sum(e["idle_ns"] for e in runs), want["idle_ns"])
            same("sched_ns", sum(e["sched_ns"] for e in runs), want["sched_ns"])
        same("first and last", (events[0]["event"], events[-1]["event"]), ("spawn", "end"))
        same("times", [e["time_ns"] for e in runs], sorted(e["time_ns"] for e in runs))


@test()
def story_text(t):
    """A long story has no middle and says so; with --limit=0 it is all there. No such task is a failure."""
    record(t, t.program("storm"), "1", "3", "100", "1")
    task = max(user_tasks(report(t)), key=lambda x: x["polls"])
    check(task["polls"] > 50, f"no task with a long story: {task['polls']} polls")
    runs = re.compile(r"^ *\d+\.\d{9}  (?:dropped in )?run \d+ on tid \d+: ", re.M)
    one = text(t, f"--task={task['id']}").ok().out
    check(" left out" in one and len(runs.findall(one)) == 20, one)
    check(one.startswith(f"task {task['id']} "), short(one))
    whole = text(t, f"--task={task['id']}", "--limit=0").ok().out
    nr_runs = report(t, f"--task={task['id']}")["stories"][0]["runs"]
    check(nr_runs >= task["polls"], f"{nr_runs} runs")
    same("runs in all", len(runs.findall(whole)), nr_runs)
    check(" left out" not in whole, "all is told, and something is left out")
    same("runs of ten", len(runs.findall(text(t, f"--task={task['id']}", "-n10").ok().out)), 10)
    text(t, "--task=987654321").failed(1)
    for wrong in ("", "x", "1:", ":1", "1:2:3", "-1"):
        text(t, f"--task={wrong}").failed(2)


@test()
def fail_on(t):
    """--fail-on makes the status 3 when something holds, and says what, where and by how much on stderr."""
    record(t, t.program("blocks"), "mt", "2")
    rep = report(t)
    tasks = [x for x in rep["tasks"] if x["kind"] != "blocking"]
    worst = max(tasks, key=lambda x: x["max_poll_ns"])
    # Two at least; on a busy machine others sleep longer than they meant to.
    blocked = sum(f["rule"] == "blocked-poll" for f in rep["findings"])
    critical = sum(f["severity"] == "critical" for f in rep["findings"])
    check(blocked >= 2, f"{blocked} polls that block")
    for expr in ("poll>10ms", "lost>0,poll>10ms", "blocked>40ms", "poll.p99>10ms", "critical", "findings",
                 "warning>1", "blocked-poll", f"blocked-poll>={blocked}", f"poll>={worst['max_poll_ns']}ns"):
        r = text(t, f"--fail-on={expr}")
        same(f"status of {expr}", r.status, 3)
        check(re.match(r"futrace report: failed on [^,]*: it is ", r.err), f"{expr}: {r.err}")
        same("the report itself", r.out, text(t).out)
    said = text(t, "--fail-on=poll>10ms").err
    check(f" in task {worst['id']}, " in said and " too much)" in said, said)
    same("both are told", len(text(t, "--fail-on=critical,poll>1ms").err.splitlines()), 2)
    for expr in ("poll>10s", "lost>0", "lost", "task-leak", f"blocked-poll>{blocked}", f"critical>{critical},poll.p50>10s",
                 f"poll>{worst['max_poll_ns']}ns", "idle>1h"):
        r = text(t, f"--fail-on={expr}")
        same(f"status of {expr}", (r.status, r.err), (0, ""))
    for opts in (["--json"], ["--csv"], ["--json", "--by=task"]):
        same(f"status with {opts}", text(t, "--fail-on=poll>10ms", *opts).status, 3)
    same("a fault that is allowed", text(t, "--fail-on=blocked-poll", "--allow=blocked-poll").status, 0)
    same("limits that are set", text(t, "--fail-on=blocked-poll", "--threshold=blocked-poll=10s",
                                     "--threshold=blocked-poll-share=100%").status, 0)
    for wrong in ("", "poll", "pol>1ms", "poll>", "poll>x", "poll<1ms", "poll.p0>1ms", "poll.p101>1ms", "critical>x",
                  "no-such-rule", "poll>1ms,", "poll=1ms"):
        text(t, f"--fail-on={wrong}").failed(2)


@test()
def thresholds(t):
    """--thresholds lists every rule, and what --threshold and --allow change."""
    said = t.run(t.futrace, "report", "--thresholds").ok().out
    rules = re.findall(r"^([a-z-]+): \S", said, re.M)
    check("blocked-poll" in rules and len(rules) == len(set(rules)), said)
    names = re.findall(r"^  ([a-z-]+) ", said, re.M)
    same("names of thresholds are one's own", len(names), len(set(names)))
    said = t.run(t.futrace, "report", "--thresholds", "--threshold", "blocked-poll=7ms", "--allow=blocked-poll").ok().out
    check(re.search(r"^  blocked-poll +7ms .*\(usually ", said, re.M), said)
    check(re.search(r"^blocked-poll: .*\(left out\)$", said, re.M), said)
    for wrong in ("--threshold=x=1", "--threshold=blocked-poll", "--threshold=blocked-poll=x", "--allow=x"):
        t.run(t.futrace, "report", "--thresholds", wrong).failed(2)


# A terminal

def on_terminal(t, *opts, env=None, rows=24, columns=100):
    """Runs the report with a terminal as its stdin, stdout and stderr: (status, all that came out)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    p = t.start([t.futrace, "report", *opts, t.path("t.data")], stdin=slave, stdout=slave, stderr=slave,
                env=dict({"TERM": "xterm"}, **(env or {})))
    os.close(slave)
    out, end = b"", time.monotonic() + TIMEOUT_S
    while True:
        if not select.select([master], [], [], max(0, end - time.monotonic()))[0]:
            raise Failed(f"the report hangs on a terminal; so far: {short(out.decode(errors='replace'))}")
        try:
            data = os.read(master, 65536)
        except OSError:  # nobody holds the terminal any more
            break
        if not data:
            break
        out += data
    os.close(master)
    return p.wait(), out.decode(errors="replace").replace("\r\n", "\n")


def make_pager(t, name, script):
    path = t.path(name)
    with open(path, "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\n{script}\n")
    os.chmod(path, 0o755)
    return path


@test()
def colours(t):
    """Colours are for terminals that can show them, unless somebody asked otherwise; the text is the same."""
    record(t, t.program("blocks"), "mt", "2")
    plain = text(t).ok().out
    check("\033" not in plain, "colours where there is no terminal")
    coloured = text(t, "--color=always").ok().out
    check("\033[1;31mCRITICAL" in coloured, short(coloured))
    same("text without its colours", re.sub(r"\033\[[0-9;]*m", "", coloured), plain)
    same("JSON", text(t, "--json", "--color=always").out, text(t, "--json").out)
    check("\033[1;31mCRITICAL" in on_terminal(t, "--no-pager")[1], "no colours on a terminal")
    for opts, env in ((["--color=never"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"})):
        same(f"{opts} {env}", on_terminal(t, "--no-pager", *opts, env=env), (0, plain))
    text(t, "--color=maybe").failed(2)


@test()
def pagers(t):
    """A pager is used on a terminal only, gets the whole text, and whatever it does the status is the report's."""
    record(t, t.program("blocks"), "mt", "2")
    plain = text(t).ok().out
    got = t.path("paged")
    os.chmod(t.dir, 0o777)
    pager = {"FUTRACE_PAGER": make_pager(t, "pager", f"cat > {got}; exit 5"), "NO_COLOR": "1"}
    same("what is left on the terminal", on_terminal(t, env=pager), (0, ""))
    with open(got, encoding="utf-8") as f:
        same("what the pager got", f.read(), plain)
    same("status", on_terminal(t, "--fail-on=critical", env=pager)[0], 3)
    quits = dict(pager, FUTRACE_PAGER=make_pager(t, "quits", "exec true"))
    same("one that reads nothing", on_terminal(t, "--fail-on=critical", "--by=task", env=quits)[0], 3)
    for env in ({"FUTRACE_PAGER": ""}, {"FUTRACE_PAGER": "cat"}, {"FUTRACE_PAGER": "no-such-pager -x"},
                {"PAGER": t.path("missing")}, dict(pager, TERM="dumb")):
        same(f"without a pager, as {env}", on_terminal(t, env=dict({"NO_COLOR": "1"}, **env)), (0, plain))
    same("--no-pager", on_terminal(t, "--no-pager", env=pager), (0, plain))
    same("nobody there", on_terminal(t, env=pager, rows=0, columns=0), (0, plain))
    same("not for data", on_terminal(t, "--csv", env=pager)[1], text(t, "--csv").out)
    same("no terminal", text(t, env=pager).ok().out, plain)


@test()
def closed_pipe(t):
    """A reader that goes away costs neither the exit status nor a message."""
    record(t, t.program("exact"), "mt", "2")
    for opts in ([], ["--json"], ["--csv"], ["--by=task", "--limit=0"], ["--task=5", "-v"]):
        judge = [] if "--task=5" in opts else ["--fail-on=poll>1ns"]
        p = t.start([t.futrace, "report", *judge, *opts, t.path("t.data")], stdout=subprocess.PIPE)
        p.popen.stdout.close()
        p.popen.stdout = None
        err = p.popen.communicate(timeout=TIMEOUT_S)[1].decode()
        same(f"status of {opts}", p.popen.returncode, 3 if judge else 0)
        check("cannot write" not in err and len(err.splitlines()) == len(judge), err)
    with open("/dev/full", "wb") as full:
        for opts in ([], ["--json"], ["--csv"]):
            text(t, *opts, stdout=full).failed(1)


@test()
def record_report(t):
    """record --report shows the report of what was recorded, and the status is the command's own."""
    r = t.record(t.program("blocks"), "mt", "2", opts=["--report"]).ok()
    check("now: futrace report" not in r.err, r.err)
    want = text(t).ok().out
    check(r.out.endswith(want), f"not the report: {short(r.out[-len(want):])}")
    r = t.record("sh", "-c", f"{t.program('blocks')} mt 2; exit 7", opts=["--report", "--follow", "-q"])
    same("status", r.status, 7)
    check("CRITICAL" in r.out and r.err == "", str(r))
    r = t.record("sh", "-c", "exit 7", opts=["--report", "-q"])
    same("nothing recorded", (r.status, r.out), (7, ""))

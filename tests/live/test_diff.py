# SPDX-License-Identifier: MIT OR Apache-2.0
"""`futrace diff`: two recordings of one program do not differ by much, and a fault shows as what it is."""
import collections
import csv
import io
import itertools
import json

from live import check, same, test

# Single types may be half as fast again in another run of the same program, and how long they wait for a worker is a matter
# of what else the machine does; the faults are greater by far.
MUCH, VERY_MUCH = "--min-change=100", "--min-change=1000"


def record(t, name, *args):
    t.record(t.program("demo", "demo"), *args, out=name).ok()
    return t.path(name)


def diff(t, *args):
    r = t.run(t.futrace, "diff", "--json", *args).ok()
    return json.loads(r.out)


def by_verdict(rows):
    found = collections.defaultdict(set)
    for r in rows:
        found[r["verdict"]].add(r["type"].rsplit("::", 1)[-1])
    return found


def slower_polls(rows):
    return {r["type"].rsplit("::", 1)[-1] for r in rows if r["poll_verdict"] == "slower"}


def is_number(text):
    return text.lstrip("-").isdigit()


@test()
def one_program(t):
    """Recordings of one healthy program, two by two: nothing is much slower, nothing appeared or vanished."""
    paths = [record(t, f"{i}.data", "--healthy", "2") for i in range(3)]
    for a, b in itertools.permutations(paths, 2):
        same("slower polls", slower_polls(diff(t, MUCH, a, b)["rows"]), set())
        found = by_verdict(diff(t, VERY_MUCH, a, b)["rows"])
        same("changes", {k: v for k, v in found.items() if k in ("slower", "appeared", "vanished")}, {})
        check(len(found["same"]) >= 5, f"most types can be told: {found}")
        t.run(t.futrace, "diff", VERY_MUCH, "--fail-on=slower", a, b).ok()


@test()
def faults(t):
    """The demo against its healthy variant: the two that block are slower, what did the work in their place vanished."""
    # so long that the calls that block, one page in 31, are far more than chance could bring about
    healthy, faulty = record(t, "healthy.data", "--healthy", "8"), record(t, "faulty.data", "8")
    rows = diff(t, MUCH, healthy, faulty)["rows"]
    found = by_verdict(rows)
    # pack has a fault, too: its polls pass on the lock that all queue for, which takes longer, if only a little
    same("slower", slower_polls(rows) - {"pack"}, {"render_page", "count_visit"})
    check({r["type"].rsplit("::", 1)[-1] for r in rows[:2]} <= found["slower"], f"the slower come first: {rows[:2]}")
    same("vanished", found["vanished"], {"compile_templates"})
    same("appeared", found["appeared"], set())
    back = by_verdict(diff(t, "--min-change=50", faulty, healthy)["rows"])
    check({"render_page", "count_visit"} <= back["faster"], f"the other way round: {back}")
    same("appeared", back["appeared"], {"compile_templates"})
    for fail_on in ("slower", "changed"):
        r = t.run(t.futrace, "diff", f"--fail-on={fail_on}", healthy, faulty)
        same(f"status of --fail-on={fail_on}", r.status, 3)
    lines = r.out.split("\n")[2:]  # without the paths
    check(max(map(len, lines)) <= 100, r.out)
    shown = {line.split()[-1].rsplit("::", 1)[-1] for line in lines if line.startswith("slower")}
    check({"render_page", "count_visit"} <= shown, r.out)
    t.run(t.futrace, "diff", "--fail-on=changed", "--filter=type~search", VERY_MUCH, healthy, faulty).ok()


def count(rep):
    tasks, polls = collections.Counter(), collections.Counter()
    for task in rep["tasks"]:
        tasks[task["type"], task["kind"]] += 1
        polls[task["type"], task["kind"]] += task["polls"]
    return {key: (tasks[key], polls[key]) for key in tasks}


@test()
def numbers(t):
    """JSON and CSV say the same; tasks and polls are the report's; a recording does not differ from itself."""
    for name in ("a.data", "b.data"):
        t.record(t.program("wakes"), "mt", "2", out=name).ok()
    a, b = t.path("a.data"), t.path("b.data")
    data = diff(t, a, b)
    same("schema", data["schema"], 1)
    for side, name in (("a", "a.data"), ("b", "b.data")):
        rep = t.report(name)
        same("file", {k: data[side][k] for k in ("duration_ns", "events", "lost", "exe")},
             {k: rep[k] for k in ("duration_ns", "events", "lost", "exe")})
        got = {(r["type"], r["kind"]): (r[f"tasks_{side}"], r[f"polls_{side}"]) for r in data["rows"] if r[f"tasks_{side}"]}
        same(f"tasks and polls of {side}", got, count(rep))
    lines = list(csv.DictReader(io.StringIO(t.run(t.futrace, "diff", "--csv", a, b).ok().out)))
    values = [{k: int(v) if is_number(v) else v or None for k, v in line.items()} for line in lines]
    same("CSV", values, data["rows"])
    rows = diff(t, "--min-change=0", a, a)["rows"]
    same("verdicts on itself", {r["verdict"] for r in rows} - {"same", "unsure"}, set())
    check(all(r["poll_a_ns"] == r["poll_b_ns"] for r in rows), "the same means")
    t.run(t.futrace, "diff", "--fail-on=changed", a, a).ok()
    shown = t.run(t.futrace, "diff", "--all", a, a).ok().out
    same("types that --all shows", sum(line.startswith(("same", "unsure")) for line in shown.split("\n")), len(rows))


@test()
def stripped(t):
    """Types without names are the same by their numbers, in recordings of one build."""
    for name in ("a.data", "b.data"):
        t.record(t.program("wakes", "stripped"), "mt", "2", out=name).ok()
    rows = diff(t, t.path("a.data"), t.path("b.data"))["rows"]
    check(len(rows) > 3 and all(r["type"].startswith("type#") for r in rows), f"{[r['type'] for r in rows]}")
    same("types", len({r["type"] for r in rows}), len(rows))
    same("on one side only", [r for r in rows if not r["tasks_a"] or not r["tasks_b"]], [])
    t.record(t.program("exact", "stripped"), "mt", "2", out="c.data").ok()
    rows = diff(t, t.path("a.data"), t.path("c.data"))["rows"]
    same("of two programs", {r["verdict"] for r in rows}, {"unsure"})


@test()
def bad_input(t):
    """What is no recording, is not there, or is not two, is refused in one line."""
    t.record(t.program("life"), "small", "7").ok()
    good, text = t.path("t.data"), t.path("text")
    with open(text, "w") as f:
        f.write("no recording")
    for bad in (text, t.path("missing"), t.dir):
        t.run(t.futrace, "diff", good, bad).failed()
        t.run(t.futrace, "diff", bad, good).failed()
    for args in ((), (good,), (good, good, good), ("--fail-on=rain", good, good), ("--min-change=x", good, good)):
        t.run(t.futrace, "diff", *args).failed(2)

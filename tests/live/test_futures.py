# SPDX-License-Identifier: MIT OR Apache-2.0
"""Polls of inner futures: those that have a function are there with every poll, and the program does as it does alone."""
import collections
import json
import os
import re

from builds import PROGRAMS
from live import check, nr_lost, same, test

BUILDS = ("dev", "profiling", "release", "lto-lines", "lto", "relr-v0")
WITH_DEBUG_INFO = ("dev", "profiling")
# What no build makes a part of its callers. In all of them the first is a result in memory, the second goes by a table.
KEPT = {"inner::big", "inner::boxed", "inner::step", "inner::twice", "inner::float", "inner::Counter::method", "inner::Tiny"}
FALLS = {"inner::falls", "inner::boxed_falls"}


def lines(out):
    found = [json.loads(line) for line in out.splitlines()]
    return {x["future"]: x for x in found if "future" in x}


def info_of(t):
    return json.loads(t.run(t.futrace, "info", "--json", t.path("t.data")).ok().out)


def of_future(name):
    """Symbols have no arguments of types: all instances are one."""
    return name.split("<")[0]


class Polls:
    """All polls of the inner futures of a recording, by their names."""

    def __init__(self, t):
        out = t.run(t.futrace, "export", "--format=ndjson", "-o", "-", t.path("t.data")).ok().out
        self.rows = [json.loads(line) for line in out.splitlines()]
        self.futures = [x for x in self.rows if x["kind"] == "future"]
        self.names = {of_future(x["future"]) for x in self.futures}
        self.seen = collections.defaultdict(set)
        for x in self.futures:
            self.seen[of_future(x["future"])].add(x["seen"])
        self.nr = collections.Counter()
        for x in self.rows:
            if x["kind"] == "future_poll":
                name = of_future(x["future"])
                self.nr[name, "polls"] += 1
                self.nr[name, x.get("result", "not known")] += 1

    def of(self, name, what="polls"):
        return self.nr[name, what]


def recorded(t, profile, *opts):
    prog = t.program("inner", profile)
    alone = t.run(prog).ok()
    r = t.record(prog, opts=opts).ok()
    same("what the program says", r.out, alone.out)
    same("lost", nr_lost(t.report()), 0)
    return lines(r.out), Polls(t), r


def compare(name, want, polls):
    exact = polls.seen[name] == {"all"}
    if exact:
        same(f"polls of {name}", polls.of(name), want["polls"])
    check(polls.of(name) <= want["polls"], f"{name} was polled {want['polls']} times, not {polls.of(name)}")
    if polls.of(name) != want["polls"] or polls.of(name, "not known"):
        return
    for result in ("ready", "unwound"):
        same(f"{result} of {name}", polls.of(name, result), want[result])


@test(cases=[(p,) for p in BUILDS])
def each_poll(t, profile):
    """Counts are the program's own where all polls are said to be seen, and never more; so is what they returned."""
    truth, polls, _ = recorded(t, profile, "--futures=*")
    names = set(truth) & polls.names
    for name in names:
        compare(name, truth[name], polls)
    kept = KEPT | (set() if profile == "lto" else FALLS)
    check(kept <= names, f"not seen: {kept - names}")
    if profile == "dev":
        same("seen in a debug build", names, set(truth))
        same("what is not exact there", {n for n in names if polls.seen[n] != {"all"}}, set())
    whole = {n for n in kept if polls.of(n) == truth[n]["polls"] and not polls.of(n, "not known")}
    check(len(whole) > len(kept) // 2, f"only {whole} are complete")
    if profile == "profiling":
        check(any("some" in polls.seen[n] and polls.of(n) < truth[n]["polls"] for n in names),
              "no future is inlined in one place and not in another: that this is told is not proved")


@test(cases=[(p,) for p in BUILDS])
def in_their_runs(t, profile):
    """Starts and ends lie in each other and in runs as calls do, on each thread; nothing is open at the end."""
    recorded(t, profile, "--futures=*")
    stacks = collections.defaultdict(list)
    nr_inside = 0
    for line in t.dump().splitlines():
        words = line.split()
        stack, kind = stacks[words[1]], words[3]
        if kind in ("run-start", "future-start"):
            nr_inside += kind == "future-start" and "run-start" in stack
            stack.append(kind)
        elif kind in ("run-end", "future-end"):
            same(f"what ends by '{line}'", stack.pop(), kind.replace("end", "start"))
    same("open futures", [s for s in stacks.values() if "future-start" in s], [])
    check(nr_inside > 1000, f"only {nr_inside} polls of futures in tasks")


@test(cases=[(p,) for p in WITH_DEBUG_INFO])
def where_they_are(t, profile):
    """Each future made by the compiler has its function and the line where it is written."""
    _, polls, _ = recorded(t, profile, "--futures=inner::*")
    with open(os.path.join(PROGRAMS, "src/bin/inner.rs"), encoding="utf-8") as f:
        source = f.read().splitlines()
    nr = 0
    for x in polls.futures:
        if x["generated"] and "{" not in x["future"]:
            last = x["future"].split("::")[-1]
            check(x["file"].endswith("src/bin/inner.rs"), f"the file of {x}")
            check(f"async fn {last}(" in source[x["line"] - 1], f"{x} is not '{source[x['line'] - 1]}'")
            same("the function", x["function"], x["future"])
            nr += 1
    check(nr > 8, f"only {nr} futures to look at")


@test()
def inlined(t):
    """Of futures that the compiler left no function of, a recording says so: as many as doctor knows, and by name."""
    program = t.program("losers", "await")
    found, = json.loads(t.run(t.futrace, "doctor", "--json", program).ok().out)["files"]
    nr = found["inner_futures"]["inlined"]
    check(nr > 0, f"all have one: {found['inner_futures']}")
    for option, count in (("--futures", nr), ("--futures=losers::*", nr), ("--futures=nobody", 0)):
        r = t.record(program, opts=[option]).ok()
        said = re.search(r"(\d+) have no function", r.err)
        same(option, int(said.group(1)) if said else 0, count)


@test()
def chosen(t):
    """Without a pattern the program's own; else those of the names, but for those with a `!`; and only the compiler's."""
    _, own, r = recorded(t, "profiling", "--futures")
    check({"inner::big", "inner::Tiny"} <= own.names, f"not there: {own.names}")
    check(all(n.startswith("inner::") for n in own.names), f"not the program's own: {own.names}")
    check("polls of" in r.err and "inner futures were recorded" in r.err, r.err)
    _, none, r = recorded(t, "profiling", "--futures=nobody::*")
    same("of nobody", none.names, set())
    check("polls of 0 inner futures were recorded; no future matches --futures" in r.err, r.err)
    _, made, _ = recorded(t, "profiling", "--generated-future")
    same("what the compiler made", made.names, {n for n in own.names if n not in ("inner::Tiny", "inner::Catch")})
    _, some, _ = recorded(t, "profiling", "--futures=inner::b*,inner::Tiny,!inner::boxed*,tokio::*::JoinHandle*")
    same("by names", some.names, {"inner::big", "inner::Tiny", "tokio::runtime::task::join::JoinHandle"})
    _, rest, _ = recorded(t, "profiling", "--futures=!inner::b*")
    same("all but some", rest.names, {n for n in own.names if not n.startswith("inner::b")})


@test(cases=[(p,) for p in BUILDS])
def doctor_agrees(t, profile):
    """What doctor says of a file is what a recording of it then does, and what is a part of its callers has no polls."""
    said = json.loads(t.run(t.futrace, "doctor", "--json", t.program("inner", profile)).ok().out)["files"][0]["inner_futures"]
    _, polls, r = recorded(t, profile, "--futures")
    same("futures that are timed", said["timed"], int(re.search(r"polls of (\d+) inner", r.err)[1]))
    more = re.search(r"(\d+) more cannot be", r.err)
    same("futures that are not", sum(said["refused"].values()), int(more[1]) if more else 0)
    same("futures that are timed in part", said["partly"], sum(x["seen"] != "all" for x in polls.futures))
    if profile == "profiling":
        names = {n for n in recorded(t, "dev", "--generated-future")[1].names if n not in polls.names}
        same("async fns and blocks without a function", said["inlined"], len(names))
    elif profile == "dev":
        same("async fns and blocks without a function", said["inlined"], 0)


@test(cases=[(p,) for p in BUILDS])
def in_report(t, profile):
    """The table by future has the program's own counts where it says that they are exact, and says where they come from."""
    truth, polls, _ = recorded(t, profile, "--futures=*")
    rows = json.loads(t.run(t.futrace, "report", "--by=future", "--json", "--limit=0", t.path("t.data")).ok().out)["table"]["rows"]
    got, sources = collections.Counter(), collections.defaultdict(set)
    for row in rows:
        name = of_future(row["function"] or row["future"])
        got[name] += row["exact_polls"]
        sources[name].add(row["polls_from"])
        if row["polls_from"] == "exact":
            same(f"polls of {row['future']}", row["polls"], row["exact_polls"])
    for name in set(truth) & polls.names:
        same(f"polls of {name}", got[name], polls.of(name))
        if polls.seen[name] == {"all"} and truth[name]["polls"] and sources[name] == {"exact"}:
            same(f"exact polls of {name}", got[name], truth[name]["polls"])
    exact = {n for n in KEPT if sources[n] == {"exact"}}
    check(profile not in WITH_DEBUG_INFO or len(exact) > 4, f"only {exact} are exact")
    if profile == "profiling":
        check({"paths", "exact"} <= set().union(*sources.values()), f"nothing by paths: {sources}")


@test()
def not_asked_for(t):
    """Nothing of it without the option."""
    prog = t.program("inner", "profiling")
    r = t.record(prog).ok()
    check("inner futures" not in r.err, r.err)
    same("futures", info_of(t)["futures"], [])
    check(not any(" future-" in line for line in t.dump().splitlines()), "events of futures")


@test()
def stripped(t):
    """Without symbols nothing is known of them, and that is said."""
    r = t.record(t.program("exact", "stripped"), "mt", "2", opts=["--futures=*"]).ok()
    check("polls of 0 inner futures" in r.err and "stripped" in r.err, r.err)


@test(cases=[("dev",), ("profiling",)])
def places_as_before(t, profile):
    """Where tasks are spawned is found through the frames of futures as without them."""
    found = []
    for opts in ([], ["--futures=*"]):
        t.record(t.program("places", profile), opts=opts).ok()
        tasks = t.report()["tasks"]
        found.append(sorted((x["type"], json.dumps(x.get("spawned_at"))) for x in tasks))
    same("places of spawns", found[1], found[0])


@test()
def followed(t):
    """A child that a shell becomes or starts has its own list of futures."""
    prog = t.program("inner", "profiling")
    t.record("/bin/sh", "-c", f"{prog}; exec {prog}", opts=["--follow", "--futures"]).ok()
    check(len(info_of(t)["futures"]) > 8, "no futures in the program that the shell became")

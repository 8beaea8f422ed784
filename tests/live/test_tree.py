# SPDX-License-Identifier: MIT OR Apache-2.0
"""`futrace ps` and `futrace tree` against what programs know of themselves: every line, every value, live and in a core."""
import collections
import json
import os
import re
import shutil
import threading
import time

import builds
import trees
from live import check, look_at_threads, same, settle, short, test

BUILDS = ("await", "await-lto", "await-v0", "await-small")
PROGRAMS = ("shapes", "shapes-async-std", "shapes-smol")
NR_SAMPLES, NR_SAMPLES_SLOW = 100, 10000
# What only /proc tells, and a core has not.
ONLY_LIVE = ("peer",)


@test(cases=[(p, b) for b in BUILDS for p in PROGRAMS])
def every_shape(t, program, build):
    """Each task waits at the lines and for the things that it says itself, and nowhere else."""
    p, truth = trees.start(t, program, build)
    found = trees.look(t, "tree", str(p.pid))
    same("pid", found["pid"], p.pid)
    same("tasks of that id", [i for i, n in collections.Counter(x["id"] for x in found["tasks"]).items() if n > 1], [])
    trees.compare(truth, found["tasks"])
    roots = [x for x in found["tasks"] if x["kind"] == "block_on"]
    same("root futures", len(roots), sum(x["name"].startswith("root") for x in truth))
    check(all(x["guess"] for x in roots), "a root future is not said to be a guess")
    p.close_stdin()
    same("the program's end", p.wait(), 0)


ROOT_BUILDS = ("await", "await-lto", "await-dev", "await-v0", "await-small")


def roots_of(t, p):
    """What is said of root futures: those that are shown, and what is told besides."""
    r = t.run(t.futrace, "tree", "--json", str(p.pid)).ok()
    return [x for x in json.loads(r.out)["tasks"] if x["kind"] == "block_on"], r.err


@test(cases=[(b,) for b in ROOT_BUILDS])
def a_root_wherever_block_on_is(t, build):
    """The future of main is found, whatever function its block_on was inlined into, and even where there is no task at all."""
    source = open(os.path.join(builds.PROGRAMS, "await/src/bin/roots.rs"), encoding="utf-8").read().splitlines()
    p = t.start([t.program("roots", build), "block"])
    p.wait_line("ready")
    settle(p)
    roots, err = roots_of(t, p)
    names = [line.split()[1:] for line in p.seen if line.startswith("lines")][0]
    lines = [[i for i, text in enumerate(source, 1) if text.endswith(f"// {name}")][0] for name in names]
    same("roots, their threads and lines", [(x["id"], [n["line"] for n in w["path"]], w["leaf"]["kind"])
                                            for x in roots for w in trees.waits_of(x)], [(p.pid, lines, "sleep")])
    same("notes", err, "")


@test(cases=[(b, s) for b in ROOT_BUILDS for s in ("sleep", "task")])
def a_root_that_nothing_proves(t, build, shape):
    """Nothing tells a mere Sleep from other bytes, and the handle of one task from others on the stack: no root is shown, and that is said."""
    p = t.start([t.program("roots", build), shape])
    p.wait_line("ready")
    settle(p)
    roots, err = roots_of(t, p)
    same("roots", roots, [])
    check(f"thread {p.pid} waits in block_on, but its future was not found" in err, err)


@test()
def a_root_that_runs(t):
    """Of a thread that runs nothing is known: it is said that there is one, and not that nothing is alive."""
    p = t.start([t.program("roots", "await"), "busy"])
    p.wait_line("ready")
    for command in ("ps", "tree"):
        err = t.run(t.futrace, command, str(p.pid)).ok().err
        check("but 1 thread runs" in err, f"{command}: {err}")


@test()
def one_channel_has_one_address(t):
    """Of a watch that several wait for the whole is named, not that of its lists in which each of them stands; and a blocking job has a name."""
    p, truth = trees.start(t, "shapes", "await")
    ids = [x["id"] for x in truth if x["name"].startswith("watch")]
    addrs = {w["leaf"]["addr"] for x in trees.look(t, "tree", str(p.pid))["tasks"] if x["id"] in ids for w in trees.waits_of(x)}
    same("who wait, their addresses", (len(ids), len(addrs)), (3, 1))
    text = t.run(t.futrace, "tree", str(p.pid), "--filter=leaves::tasks").ok().out
    check(re.search(r"blocking task \d+, \S*tasks::", text), f"a job without a name:\n{short(text)}")


@test(cases=[(p,) for p in PROGRAMS])
def copies_of_tasks(t, program):
    """Without optimization, copies of new tasks stay behind on the stack and in the heap: they are no tasks."""
    p, truth = trees.start(t, program, "await-dev")
    core = trees.core_of(t, p)
    tasks = [x for x in truth if x["name"] != "root"]  # a root is no task, and a guess: every_shape looks for it
    for what in (str(p.pid), f"--core={core}"):
        found = trees.look(t, "tree", what)["tasks"]
        trees.compare(tasks, found, ignore=ONLY_LIVE)
        same(f"tasks of {what} that were not yet run", [x["id"] for x in found if x["state"] == "scheduled"], [])
    p.close_stdin()
    same("the program's end", p.wait(), 0)


@test(cases=[(p, b) for b in BUILDS for p in PROGRAMS])
def every_shape_in_a_core(t, program, build):
    """A core file has the same trees as the process had; only what the kernel knew is not in it."""
    before = time.monotonic_ns()
    p, truth = trees.start(t, program, build)
    core = trees.core_of(t, p)
    after = time.monotonic_ns()
    p.close_stdin()
    same("the program's end", p.wait(), 0)
    found = trees.look(t, "tree", f"--core={core}")
    trees.compare(truth, found["tasks"], ignore=ONLY_LIVE)
    leaves = [w["leaf"] for x in found["tasks"] for w in trees.waits_of(x)]
    check(all("remaining_ns" not in leaf for leaf in leaves), "a core does not know what time it is")
    clocks = [leaf for leaf in leaves if "clock_ns" in leaf]
    same("leaves of a runtime that keeps a clock", bool(clocks), program == "shapes")
    for leaf in clocks:
        check(before <= leaf["clock_ns"] <= after, f"{leaf}: it ran from {before} to {after}")
        same("time left at most", leaf["remaining_at_most_ns"], leaf["deadline_ns"] - leaf["clock_ns"])


@test()
def down_to_the_handler(t):
    """In a service of axum, tower and hyper the tree leads down to the line of the handler, and of reqwest's user."""
    p, truth = trees.start(t, "shapes-web", "await")
    tasks = trees.look(t, "tree", str(p.pid))["tasks"]
    trees.compare(truth, tasks, has_more=True)
    # the client's lie behind a Box<dyn ..> of reqwest
    connected = [w["leaf"]["fd"] for x in tasks for w in trees.waits_of(x) if "peer" in w["leaf"]]
    same("sockets of three clients and of who serves them", (len(connected), len(set(connected))), (6, 6))
    text = t.run(t.futrace, "tree", str(p.pid)).ok().out
    shown = [line for line in text.split("\n") if "shapes_web::lookup" in line]
    check(shown, f"no handler in:\n{text}")
    check("  dyn " not in text, f"a box is not told by what it holds:\n{text}")
    check(max(len(line.split("shapes_web")[0]) for line in shown) < 100, f"wrappers are not folded:\n{text}")


@test()
def ready_sources(t):
    """A stream that could give more at once is neither waited for nor done: it is left out."""
    p, truth = trees.start(t, "shapes", "await")
    ids = [x["id"] for x in truth if x["name"] in ("buffered", "buffer_unordered", "enumerated", "filtered", "tried")]
    text = json.dumps([x for x in trees.look(t, "tree", str(p.pid))["tasks"] if x["id"] in ids])
    same("tasks, and futures that are done", (len(ids), text.count('"done"')), (5, 0))


@test(cases=[("levels", 3000), ("branches", 60000)])
def too_large(t, shape, nr):
    """A tree that is too deep or too large is cut, which is told in every way, and what is left out is no leaf."""
    for nr, is_cut in ((3, False), (nr, True)):
        p, _ = trees.start(t, "deep", "await", shape, str(nr))
        found = [x for x in trees.look(t, "tree", str(p.pid))["tasks"] if x["kind"] == "task"]
        same("cut, without a tree", [(x["tree_cut"], x["no_tree"]) for x in found], [(is_cut, None)])
        same("leaves", {w["leaf"]["kind"] for w in trees.waits_of(found[0])}, set() if is_cut and shape == "levels" else {"sleep"})
        row = t.run(t.futrace, "ps", str(p.pid)).ok().out.split("\n")[1].rstrip()
        same(f"cut: {row}", row.endswith(".."), is_cut)
        check("dyn" not in row, f"it waits for something else: {row}")
        same("cut, in the tree", "the tree is too large" in t.run(t.futrace, "tree", str(p.pid)).ok().out, is_cut)
        p.close_stdin()
        same("the program's end", p.wait(), 0)


@test(cases=[(p,) for p in PROGRAMS])
def ps_says_the_same(t, program):
    """`ps` has the tasks that `tree` has, and says where each of them waits."""
    p, truth = trees.start(t, program, "await")
    tree = {x["id"]: x for x in trees.look(t, "tree", str(p.pid))["tasks"]}
    ps = {x["id"]: x for x in trees.look(t, "ps", str(p.pid))["tasks"]}
    same("tasks", sorted(ps), sorted(tree))
    for i, x in ps.items():
        for key in ("runtime", "kind", "state", "type"):
            same(f"{key} of {i}", x[key], tree[i][key])
    rows = t.run(t.futrace, "ps", str(p.pid)).ok().out.split("\n")
    for task in truth:
        path = task["waits"][0]["path"]
        last = path[-1]
        if task["id"] is None or len(task["waits"]) > 1 or any(s["in_macro"] for s in path):
            continue  # it cannot be told by its id, or may wait in more places than a row has
        row = [r for r in rows if r.startswith(f"{task['id']} ")]
        place = f"{os.path.basename(last['file'])}:{last['line']} "
        check(len(row) == 1 and place in row[0], f"{task['name']}: no word of {place} in {row}")


@test()
def ways_to_print(t):
    """Equal trees are folded unless all are wanted; a filter and variables do as they say."""
    p, _ = trees.start(t, "shapes", "await")
    run = lambda *opts: t.run(t.futrace, "tree", str(p.pid), *opts).ok().out
    heads = lambda text: len(re.findall(r"^(?:task|[\d,]+ tasks|thread) ", text, re.M))
    nr = len(trees.look(t, "tree", str(p.pid))["tasks"])
    same("trees of --all", heads(run("--all")), nr)
    check(heads(run()) < nr, "no trees were folded")
    same("trees of one function", heads(run("--all", "--filter=three_hundred")), 4)
    check(not re.search(r"\bs = 4200\b", run()) and re.search(r"\bs = 4200\b", run("--locals")), "no variables")
    queue = ("--filter=queue_on",)
    same("folded", re.findall(r"place [\d.]+ in the queue", run(*queue)), ["place 1..2 in the queue"])
    same("told apart by variables", re.findall(r"place = (\d)", run("--locals", *queue)), ["1", "2"])
    # a real-time signal has no name: of what is not known of all of them nothing is said
    same("signals", re.findall(r"signal (.*), 0x", run("--filter=a_signal")), ["1 .. 12, SIGHUP .. SIGUSR2", "64"])
    nobody = t.run(t.futrace, "tree", str(p.pid), "--filter=nobody").ok()
    check("no live task fits 'nobody'" in nobody.err, f"no word of it: {nobody.err}")


VARIABLES = {
    "by_value::{async block#0}": {"count": "42", "early": "12", "hidden": "-1", "is_on": "true", "sign": r"'\u{78}'", "half": "2.5",
                                  "wide": str(2 ** 128 - 1), "deep": str(-2 ** 127)},
    "by_reference::{async block#0}": {"count": "-43", "small": "9"},
    "by_closure::{closure#0}::{async closure#0}": {"outer": "60"},
    "own_mask": {"disabled": "7"},
    "select_mask": {"own": "6"},
}


@test(cases=[(b,) for b in ("await", "await-lto", "await-dev")])
def variables(t, build):
    """Of plain types all are there, also those that a block has captured, with the values that they have now; what a macro made is not."""
    p, _ = trees.start(t, "shapes", build)
    found = {}

    def go_down(node):
        if node["function"]:
            have = [(x["name"], x["value"]) for x in node.get("locals", ())]
            same("names that are there twice", len(dict(have)), len(have))
            found[node["function"].removeprefix("shapes::blocks::")] = dict(have)
        for child in node["children"]:
            go_down(child)

    for task in trees.look(t, "tree", "--locals", str(p.pid))["tasks"]:
        if task["tree"]:
            go_down(task["tree"])
    same("variables", {name: found.get(name) for name in VARIABLES}, VARIABLES)
    same("of a macro", [name for name, have in found.items() if "disabled" in have], ["own_mask"])


# Findings

# What is wrong in each mode of the program, and the names of the tasks that are part of it.
FAULTS = {
    "lock-cycle": ("lock-cycle", {"stuck", "stuck too"}),
    "lock-cycle-futures": ("lock-cycle", {"stuck", "stuck too"}),
    "lock-cycle-inside": ("lock-cycle", {"stuck", "stuck too"}),
    "lock-cycle-boxed": ("lock-cycle", {"stuck", "stuck too"}),
    "lock-cycle-owned": ("lock-cycle", {"stuck", "stuck too"}),
    "lock-kept": ("lock-cycle", {"stuck", "stuck too"}),
    "lock-twice": ("lock-cycle", {"stuck"}),
    "rwlock-cycle": ("lock-cycle", {"stuck", "stuck too"}),
    "semaphore-cycle": ("semaphore-cycle", {"stuck", "stuck too"}),
    "semaphore-held-up": ("semaphore-cycle", {"stuck", "stuck too"}),
    "await-cycle": ("await-cycle", {"stuck", "stuck too", "third"}),
    "futurelock-held": ("futurelock", {"stuck"}),
    "futurelock-queued": ("futurelock", {"stuck"}),
    "lost-waker": ("no-waker", {"stuck"}),
}
HEALTHY = ("lock-order", "lock-let-go", "lock-dropped", "lock-dropped-two", "lock-boxed-elsewhere", "lock-given-away", "lock-given-owned", "lock-given-always",
           "two-readers", "lock-chain", "await-chain", "lock-polled", "lock-shared", "lock-elsewhere", "kept-waker", "semaphore-sleeps",
           "semaphore-gives-up")


def is_place(location, step):
    return location is not None and location.endswith(f"{trees.SOURCES}{step['file']}:{step['line']}")


def check_fault(found, mode, truth):
    """One finding, with those tasks, and each of them at the line where it waits."""
    rule, names = FAULTS[mode]
    same(f"{mode}: rules", [f["rule"] for f in found["findings"]], [rule])
    finding = found["findings"][0]
    ids = {x["id"]: x for x in truth if x["name"] in names}
    same(f"{mode}: tasks", sorted(x["id"] for x in finding["tasks"]), sorted(ids))
    for x in finding["tasks"]:
        step = ids[x["id"]]["waits"][0]["path"][-1]
        check(is_place(x["location"], step), f"{mode}: {x['location']}, should be {step}")
        if "lock" in rule or "semaphore" in rule:
            lock = ids[x["id"]]["waits"][0]["leaf"]
            check(lock["addr"] <= x["lock"] < lock["addr"] + lock["size"], f"{mode}: another lock: {x}")
            check(x["holder"] in ids, f"{mode}: another holder: {x}")
        if rule == "await-cycle":
            same(f"{mode}: who is waited for", x["waits_for"], ids[x["id"]]["waits"][0]["leaf"]["task"])


@test(cases=[(b, m) for b in BUILDS for m in FAULTS])
def fault(t, build, mode):
    """Tasks that can never go on are named with their lines, live and in a core, in text and in JSON."""
    p, truth = trees.start(t, "stuck", build, mode)
    check_fault(trees.look(t, "tree", str(p.pid)), mode, truth)
    text = t.run(t.futrace, "tree", str(p.pid)).ok().out
    check(text.startswith(FAULTS[mode][0] + "  "), f"{mode}: not told first:\n{short(text)}")
    if build == BUILDS[0]:
        check_fault(trees.look(t, "tree", f"--core={trees.core_of(t, p)}"), mode, truth)


@test(cases=[(b, m) for b in BUILDS for m in HEALTHY])
def healthy(t, build, mode):
    """What looks much like a fault and is none is not named."""
    p, truth = trees.start(t, "stuck", build, mode)
    found = trees.look(t, "tree", str(p.pid))
    same(f"{mode}: findings", found["findings"], [])
    trees.compare(truth, found["tasks"])


def lock_leaves(found):
    """By task the lock that it waits for."""
    return {x["id"]: w["leaf"] for x in found["tasks"] for w in trees.waits_of(x) if w["leaf"]["kind"] in ("mutex", "rwlock")}


@test()
def holders_in_doubt(t):
    """Who waits for a lock, or has moved its guard away, has let go of it; if two may have it both are named, and of folded tasks nobody is."""
    p, truth = trees.start(t, "stuck", "await", "lock-dropped")
    ids = {x["name"]: x["id"] for x in truth}
    leaf = lock_leaves(trees.look(t, "tree", str(p.pid)))[ids["again"]]
    same("the only one left", (leaf["holder"], "holders" in leaf), (ids["busy"], False))
    p, truth = trees.start(t, "stuck", "await", "lock-dropped-two")
    ids = {x["name"]: x["id"] for x in truth}
    leaves = lock_leaves(trees.look(t, "tree", str(p.pid)))
    same("of the first", leaves[ids["first"]]["holder"], ids["second"])
    same("of the second", leaves[ids["second"]]["holder"], ids["busy"])
    p, truth = trees.start(t, "stuck", "await", "two-readers")
    ids = {x["name"]: x["id"] for x in truth}
    leaf = lock_leaves(trees.look(t, "tree", str(p.pid)))[ids["writes"]]
    two = sorted((ids["reads"], ids["reads too"]))
    same("of two readers", (leaf["holder"], leaf["holders"]), (None, two))
    check(f"held? by task {two[0]} or task {two[1]}\n" in t.run(t.futrace, "tree", str(p.pid)).ok().out, "not in text")
    p, truth = trees.start(t, "stuck", "await", "lock-cycle")
    held = lambda *opts: re.findall(r"held\?(.*)", t.run(t.futrace, "tree", str(p.pid), *opts).ok().out)
    same("of two locks", held(), [" (--all tells by whom)"])
    same("of each", held("--all"), [f" by task {i}" for i in sorted((x["id"] for x in truth), reverse=True)])


@test()
def all_permits_of_a_lock(t):
    """A writer wants all permits of an RwLock: text does not give the number that Tokio has made of it, JSON does."""
    p, truth = trees.start(t, "stuck", "await", "two-readers")
    ids = sorted(x["id"] for x in truth if x["name"].startswith("writes"))
    leaves = lock_leaves(trees.look(t, "tree", str(p.pid)))
    wanted = {leaves[i]["permits_wanted"] for i in ids}
    same("wanted and missing", (len(wanted), sorted(leaves[i]["permits_missing"] for i in ids)), (1, [2, *wanted]))
    said = lambda *opts: re.findall(r"rwlock write, 0x\w+, (.*), place", t.run(t.futrace, "tree", str(p.pid), *opts).ok().out)
    same("of both", said(), ["all permits wanted, 2..all permits missing, 0 permits free"])
    same("of each", sorted(said("--all")), [f"all permits wanted, {nr} permits missing, 0 permits free" for nr in ("2", "all")])


@test()
def holder_that_is_a_thread(t):
    """The future of main is no task: where it has a lock, or waits in a cycle, its thread is named."""
    p, truth = trees.start(t, "stuck", "await", "lock-of-main")
    found = trees.look(t, "tree", str(p.pid))
    same("holder", lock_leaves(found)[truth[0]["id"]]["holder"], p.pid)
    same("findings", found["findings"], [])
    text = t.run(t.futrace, "tree", str(p.pid)).ok().out
    same("in text", re.findall(r"held\? by (.*)", text), [f"thread {p.pid}"])
    p, truth = trees.start(t, "stuck", "await", "lock-cycle-main")
    names = (f"task {truth[0]['id']}", f"thread {p.pid}")
    lines = t.run(t.futrace, "tree", str(p.pid)).ok().out.split("\n")
    same("the finding", lines[0], "lock-cycle  1 task and 1 thread wait for ever for each other's locks")
    same("who, and by whom", [re.findall(r"^    (\S+ \d+) waits .*, held by (\S+ \d+) at ", x) for x in lines[1:3]],
         [[names], [names[::-1]]])


@test()
def holder_that_runs(t):
    """What a task that cannot be read may disprove is not told, live and in a core, and it is said that it is not."""
    p, _ = trees.start(t, "stuck", "await", "lock-cycle-unread")
    for where in (str(p.pid), f"--core={trees.core_of(t, p)}"):
        found = trees.look(t, "tree", where)
        same("without a tree", [x["no_tree"] for x in found["tasks"] if not x["tree"]], ["running"])
        same("findings", found["findings"], [])
        r = t.run(t.futrace, "tree", where).ok()
        check("1 finding about locks is left out: a task could not be read" in r.err, f"no word of it: {r.err}")
        check(not r.out.startswith("lock-cycle"), f"it is told all the same:\n{short(r.out)}")


@test()
def shared_that_runs(t):
    """Of a future that several await nothing is told while one of them polls it, and who waits for it is not said to run."""
    p, truth = trees.start(t, "stuck", "await", "shared-unread")
    ids = [x["id"] for x in truth]
    found = [x for x in trees.look(t, "tree", str(p.pid))["tasks"] if x["id"] in ids]
    same("states", sorted(x["state"] for x in found), ["idle", "running"])
    same("trees", sorted(str(x["no_tree"]) for x in found), ["running", "unreadable"])


@test(cases=[(b,) for b in BUILDS])
def fault_of_smol(t, build):
    """Locks of async-lock that tasks hold and want are known as Tokio's are."""
    p, truth = trees.start(t, "stuck-smol", build, "fault")
    found = trees.look(t, "tree", str(p.pid))
    same("rules", [f["rule"] for f in found["findings"]], ["lock-cycle"])
    tasks = found["findings"][0]["tasks"]
    step = truth[0]["waits"][0]["path"][-1]
    same("tasks at that line", [is_place(x["location"], step) for x in tasks], [True, True])
    same("who holds up whom", [x["holder"] for x in tasks], [x["id"] for x in reversed(tasks)])
    p, _ = trees.start(t, "stuck-smol", build, "healthy")
    same("findings of the healthy one", trees.look(t, "tree", str(p.pid))["findings"], [])


@test(cases=[(b,) for b in BUILDS])
def lost_waker_of_smol(t, build):
    """A task of async-task counts its wakers; the one that its executor keeps does not help it."""
    p, truth = trees.start(t, "stuck-smol", build, "lost-waker")
    found = trees.look(t, "tree", str(p.pid))["findings"]
    same("rules", [(f["rule"], len(f["tasks"])) for f in found], [("no-waker", 1)])
    step = [x for x in truth if x["name"] == "stuck"][0]["waits"][0]["path"][-1]
    check(is_place(found[0]["tasks"][0]["location"], step), f"{found[0]['tasks'][0]}, should be at {step}")


@test(cases=[(p,) for p in PROGRAMS])
def nobody_is_stuck(t, program):
    """No shape is a fault: who waits for what never happens, and was made to, is not said to have no waker."""
    p, truth = trees.start(t, program, "await")
    found = trees.look(t, "tree", str(p.pid))
    same("findings", found["findings"], [])
    never = [w["leaf"] for x in found["tasks"] for w in trees.waits_of(x) if "::pending::Pending" in w["leaf"]["type"]]
    check((never or program == "shapes-smol") and all(leaf["for_ever"] for leaf in never), f"what never happens: {never}")


@test()
def filtered_findings(t):
    """A filter chooses findings by their tasks, and says that others were left out."""
    p, truth = trees.start(t, "stuck", "await", "lock-cycle")
    rules = lambda *opts: [f["rule"] for f in trees.look(t, "tree", str(p.pid), *opts)["findings"]]
    same("of all", rules(), ["lock-cycle"])
    place = truth[0]["waits"][0]["path"][-1]["file"]
    same("of its file", rules(f"--filter=*{place}"), ["lock-cycle"])
    same("of others", rules("--filter=nobody"), [])
    text = t.run(t.futrace, "tree", str(p.pid), "--filter=nobody").ok()
    check("1 finding of tasks that do not match 'nobody' is left out" in text.err, f"no word of it: {text.err}")
    check("lock-cycle" not in text.out, f"it is told all the same:\n{text.out}")


@test()
def growth(t):
    """Between two looks the type is named whose tasks become more and more, and none whose tasks come and go."""
    found = {}
    for mode in ("growth", "steady"):
        p = t.start([t.program("stuck", "await"), mode])
        p.wait_line("ready")
        found[mode] = trees.look(t, "tree", str(p.pid), "--interval=2s")["findings"]
        p.close_stdin()
        p.wait()
    same("types", [(f["rule"], f["type"]) for f in found["growth"]], [("growth", "stuck::growth::leaks")])
    figures = found["growth"][0]["figures"]
    check(figures["after"] > figures["before"] and figures["task_bytes"] > 0, f"{figures}")
    same("findings of the steady one", found["steady"], [])
    same("status", t.run(t.futrace, "tree", "--interval=1s", "--core=x").status, 2)


# Busy tasks

def possible_paths():
    """By function the line of its even and its odd rounds."""
    lines = {}
    with open(os.path.join(builds.PROGRAMS, "await/src/bin/churn.rs"), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            m = re.search(r"// (even|odd)$", line.rstrip())
            if m:
                lines[number] = m[1]
    check(len(lines) == 6, f"{lines}")
    return lines


def check_possible(task, marks):
    """A tree of one moment: all of its lines even, or all of them odd, and in order."""
    path, node = [], task["tree"]
    while node:
        if trees.own_file(node["file"]) and node["state"] == "waits" and node["line"] in marks:
            path.append(node["line"])
        check(node["state"] != "done" or not node["children"], f"it waits in what is over: {task}")
        node = node["children"][0] if node["children"] else None
    sides = {marks[n] for n in path}
    check(len(sides) <= 1 and path == sorted(path, reverse=True), f"impossible: {path} in {short(task)}")
    return len(path) == 3


class Watch(threading.Thread):
    """Looks all the time whether any thread of a process is stopped or traced."""

    def __init__(self, pid):
        super().__init__()
        self.pid, self.seen, self.nr_looks, self.is_over = pid, set(), 0, False

    def run(self):
        while not self.is_over:
            self.seen |= {state for state, *_ in look_at_threads(self.pid).values()}
            with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as f:
                self.seen |= set() if re.search(r"TracerPid:\s*0\b", f.read()) else {"traced"}
            self.nr_looks += 1

    def end(self):
        self.is_over = True
        self.join()
        check(self.nr_looks > 0 and not self.seen & {"t", "T", "traced"}, f"it was stopped: {self.seen}")


def rounds(p):
    """How many the program has made, and the CPU time it has used for them."""
    p.tell("\n")
    m = re.search(r'"rounds":(\d+),"cpu_ns":(\d+)', p.wait_line("rounds"))
    return int(m[1]), int(m[2])


def cost(p, during):
    """CPU time of a round while something happens."""
    before = rounds(p)
    during()
    after = rounds(p)
    return (after[1] - before[1]) / (after[0] - before[0])


def look_at_busy(t, p, marks, count):
    """Every task is there; its tree is a possible one, or it runs."""
    churning = [x for x in trees.look(t, "tree", str(p.pid))["tasks"] if "churn::churn" in (x["type"] or "")]
    same("tasks", len(churning), 7)
    for x in churning:
        count["tasks"] += 1
        if x["tree"]:
            count["trees"] += check_possible(x, marks)
        else:
            same("what has no tree", x["no_tree"], "running")


def sample_busy_tasks(t, how, nr_samples):
    """Tasks that never rest, looked at again and again: each tree is possible or the task runs, and nobody is stopped."""
    marks, count = possible_paths(), collections.Counter()
    p = t.start([t.program("churn", "await"), how])
    p.wait_line("ready")
    watch = Watch(p.pid)
    watch.start()
    try:
        while count["tasks"] < nr_samples:
            look_at_busy(t, p, marks, count)
    finally:
        watch.end()
    check(count["trees"] > count["tasks"] / 10, f"only {count['trees']} whole trees of {count['tasks']} tasks")
    p.close_stdin()
    same("the program's end", p.wait(), 0)


@test(cases=[("yield",), ("wake",)])
def busy(t, how):
    """No tree of a task that is polled all the time is impossible."""
    sample_busy_tasks(t, how, NR_SAMPLES)


@test(cases=[("yield",), ("wake",)], slow=True)
def busy_for_long(t, how):
    """The same ten thousand times."""
    sample_busy_tasks(t, how, NR_SAMPLES_SLOW)


@test(slow=True)
def busy_costs_nothing(t):
    """A process that is looked at all the time needs no more CPU time for its work than one that is left alone."""
    marks, count = possible_paths(), collections.Counter()
    p = t.start([t.program("churn", "await"), "wake"])
    p.wait_line("ready")
    ratios = []
    for _ in range(9):
        looked_at = cost(p, lambda: [look_at_busy(t, p, marks, count) for _ in range(5)])
        alone = cost(p, lambda: time.sleep(1))
        ratios.append(looked_at / alone)
    # The other side's cache misses are noise that cannot be kept away.
    check(sorted(ratios)[len(ratios) // 2] < 1.1, f"CPU time of a round, looked at and alone: {ratios}")


# Bad input

def refused(t, *args, word, status=1):
    r = t.run(t.futrace, *args).failed(status)
    check(re.search(word, r.err), f"no word of {word!r}: {r}")


@test()
def no_such_process(t):
    """What is no process, no core or no program with tasks is refused in one line, by both commands."""
    with open(t.path("text"), "w", encoding="ascii") as f:
        f.write("hello\n")
    plain = t.start(["sleep", "100"])
    for cmd in ("ps", "tree"):
        refused(t, cmd, "999999999", word="999999999")
        refused(t, cmd, "--core=" + t.path("missing"), word="missing")
        refused(t, cmd, "--core=" + t.path("text"), word="text")
        refused(t, cmd, "--core=" + t.program("plain"), word="core")
        refused(t, cmd, str(plain.pid), word="runtime")
        same("status", t.run(t.futrace, cmd, "x").status, 2)
        same("status", t.run(t.futrace, cmd).status, 2)


@test(only_root=True)
def of_somebody_else(t):
    """A process of another user is refused with that reason, and told of Yama only where that is what guards it."""
    scope = "/proc/sys/kernel/yama/ptrace_scope"
    is_guarded = False
    if os.path.exists(scope):
        with open(scope, encoding="ascii") as f:
            is_guarded = f.read().strip() != "0"
    p, _ = trees.start(t, "stuck", "await", "lock-order")
    for cmd in ("ps", "tree"):
        r = t.run("setpriv", "--reuid=12346", "--regid=12346", "--clear-groups", "--inh-caps=-all", t.futrace, cmd, str(p.pid))
        same("status", r.status, 1)
        check("no permission to inspect" in r.err, f"{r}")
        same("is advised to change what guards it", "ptrace_scope" in r.err, is_guarded)


@test()
def truncated_core(t):
    """A core file that was cut anywhere is read as far as it goes, or refused; nothing crashes and nothing is made up."""
    p, truth = trees.start(t, "stuck", "await", "await-chain")
    core = trees.core_of(t, p)
    ids = {x["id"] for x in truth}
    size = os.path.getsize(core)
    for i in range(40):
        cut = size if i == 0 else t.random.randrange(size) if i > 5 else 1 << (4 * i)
        os.truncate(core, cut) if i else None
        r = t.run(t.futrace, "tree", "--json", f"--core={core}")
        check(r.status in (0, 1), f"crashed: {r}")
        if r.status == 0:
            for x in json.loads(r.out)["tasks"]:
                check(x["id"] in ids or x["kind"] == "block_on" or not x["tree"], f"a task that never was: {x}")
        else:
            r.failed(1)
        size = min(size, cut) or 1


@test(cases=[("other debug info",), ("other program",)])
def another_build(t, what):
    """Debug info of another build is not believed: tasks are shown without trees, and it is said why."""
    ours, other = t.program("stuck", "await"), t.program("stuck", "await-lto")
    exe = t.path("stuck")
    if what == "other debug info":
        t.run("objcopy", "--only-keep-debug", other, t.path("stuck.debug")).ok()
        t.run("objcopy", "--strip-debug", f"--add-gnu-debuglink={t.path('stuck.debug')}", ours, exe).ok()
    else:
        shutil.copy(ours, exe)
    p = t.start([exe, "await-chain"])
    p.wait_line("ready")
    settle(p)
    if what == "other debug info":
        found = trees.look(t, "tree", str(p.pid))
        check(len(found["tasks"]) >= 4 and all(not x["tree"] for x in found["tasks"]), f"{short(found)}")
        check("another build" in t.run(t.futrace, "tree", str(p.pid)).ok().err, "tree: no word of the other build")
        doctor = " ".join(t.run(t.futrace, "doctor", exe).ok().out.split())
        check("debug info is there, but cannot be used" in doctor and "another build" in doctor, doctor)
        check("build with `debug" not in doctor, f"a remedy that is none: {doctor}")
        return
    core = trees.core_of(t, p)
    p.close_stdin()
    p.wait()
    shutil.copy(other, exe)
    r = t.run(t.futrace, "tree", f"--core={core}")
    check(r.status == 1 and "build" in r.err, f"{r}")


@test(cases=[("release", "debug"), ("lto-lines", "debug"), ("stripped", "debug")])
def lower_rungs(t, profile, word):
    """Without types the tasks are shown all the same, without a tree, and a line says what is missing."""
    p = t.start([t.program("life", profile), "wait"])
    p.wait_line("ready")
    for cmd in ("ps", "tree"):
        found = trees.look(t, cmd, str(p.pid))
        check(found["tasks"], f"{cmd}: no tasks")
        check(all(not x.get("tree") for x in found["tasks"]), f"{cmd}: a tree without debug info")
    r = t.run(t.futrace, "tree", str(p.pid)).ok()
    check(word in r.err, f"no word of {word}: {r}")
    p.close_stdin()
    p.finish()


@test(cases=[("exit",), ("exec",)])
def meanwhile(t, how):
    """A process that ends or becomes another one while it is looked at is a line and status 1, or was seen as it was."""
    for _ in range(10 * t.runs):
        p = t.start([t.program("life"), "wait"] if how == "exit" else [t.program("life"), "exec", "3"])
        if how == "exit":
            p.wait_line("ready")
        looker = t.start([t.futrace, "tree", str(p.pid)])
        time.sleep(t.random.random() * 0.03)
        if how == "exit":
            p.close_stdin()
        r = looker.finish()
        check(r.status in (0, 1), f"{r}")
        if r.status == 1:
            r.failed(1)
        p.popen.kill()
        p.wait()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The doctor's matrix: every row has a value, in text and JSON, and says what a recording of that file shows."""
import json

from live import check, same, test, user_tasks

HOWS = {"exact", "some", "first_seen", "no"}
ROWS = {"polls", "kinds", "spawns", "spawn_places", "await_paths", "wakes", "parks", "block_on", "blocking_pool", "ends", "panics"}
LABELS = {row.replace("_", " ") if row != "block_on" else row for row in ROWS} | {"schedulers"}
WIDTH = 80


def ask(t, path):
    """What it says of the file: JSON and text."""
    file = json.loads(t.run(t.futrace, "doctor", "--json", path).ok().out)["files"][0]
    return file, t.run(t.futrace, "doctor", path).ok().out.split("\n")[1:]


@test(cases=[("exact", "dev", 1), ("exact", "stripped", 1), ("exact", "jemalloc", 1), ("smol", "async-task-release", 1),
             ("asyncstd", "async-task-dev", 1), ("mixed", "async-task-release", 2)])
def all_rows(t, program, build, nr_runtimes):
    """Each runtime has all rows, what is not seen has a reason, and no line is wider than 80 columns."""
    file, lines = ask(t, t.program(program, build))
    same("runtimes", len(file["runtimes"]), nr_runtimes)
    for runtime in file["runtimes"]:
        same("rows", set(runtime["seen"]), ROWS)
        same("how its tables were found", runtime["found_by"], "shape")
        for name, fact in runtime["seen"].items():
            check(fact["how"] in HOWS, f"{name}: {fact}")
            check(fact["how"] == "exact" or fact["text"], f"no reason why {name} is not exact")
    for label in LABELS:
        found = [line for line in lines if line.startswith(f"    {label} ")]
        same(f"lines about {label}", len(found), nr_runtimes)
    same("wide lines", [line for line in lines if len(line) > WIDTH], [])


@test(cases=[("dev",), ("release",), ("profiling",), ("stripped",), ("lto-lines",), ("jemalloc",)])
def places_as_said(t, build):
    """It says that places of spawns are seen where a recording has them, and only there."""
    path = t.program("places", build)
    said = ask(t, path)[0]["runtimes"][0]["seen"]["spawn_places"]
    t.record(path, "mt", "2").ok()
    has_places = any(x["spawned_at"] for x in user_tasks(t.report()))
    same("places are seen", said["how"], "exact" if has_places else "no")
    check(has_places or said["remedy"], "no word of what to do")


@test()
def places_by_tokio(t):
    """With tokio_unstable the runtime itself keeps places, seen when a task runs, and no line tables are needed."""
    path = t.program("exact", "unstable")
    same("places are seen", ask(t, path)[0]["runtimes"][0]["seen"]["spawn_places"]["how"], "exact")
    t.record(path, "mt", "2").ok()
    places = [x["spawned_at"] for x in user_tasks(t.report()) if x["kind"] == "task" and x["polls"]]
    check(places and all(places), f"tasks without a place: {places.count(None)} of {len(places)}")


@test(cases=[("exact", "release"), ("exact", "jemalloc"), ("smol", "async-task-dev")])
def spawns_as_said(t, program, build):
    """It says how spawns are seen as a recording shows them."""
    path = t.program(program, build)
    said = ask(t, path)[0]["runtimes"][0]["seen"]["spawns"]["how"]
    args = ("mt", "2") if program == "exact" else ()
    t.record(path, *args).ok()
    got = {x["spawn"] for x in user_tasks(t.report()) if x["kind"] != "blocking"}
    same("how spawns are seen", got, {said})


@test(cases=[("ownalloc", "dev", "mt 2", "first_seen"), ("ownalloc", "release", "mt 2", "first_seen"), ("closing", "await", "3 mt", "exact")])
def own_allocator(t, program, build, args, how):
    """Of a program with an allocator of its own it promises no spawns: they are seen if that passes on to libc what it is asked for."""
    path = t.program(program, build)
    said = ask(t, path)[0]["runtimes"][0]["seen"]["spawns"]["how"]
    t.record(path, *args.split()).ok()
    got = {x["spawn"] for x in user_tasks(t.report()) if x["kind"] != "blocking"}
    same("said, and how spawns are seen", (said, got), ("some", {how}))


@test(cases=[("release", "with parent"), ("dev", "with parent"), ("stripped", "with parent, unless the program has an allocator of its own")])
def whose_memory(t, build, text):
    """Symbols prove that memory comes from libc; without them it is not taken for granted."""
    fact = ask(t, t.program("exact", build))[0]["runtimes"][0]["seen"]["spawns"]
    same("spawns", (fact["how"], fact["text"]), ("exact", text))


@test(cases=[("release", "legacy"), ("relr-v0", "v0"), ("stripped", None)])
def mangling(t, build, name):
    """It tells how symbols are mangled."""
    same("mangling", ask(t, t.program("exact", build))[0]["mangling"], name)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Types are called what the compiler calls them, in every build that has names; what was merged is said to be.

The programs print `std::any::type_name` of each future. It has no numbers for closures, and symbols do not tell async
blocks from closures, so names are compared without them, and closures are counted.
"""
import json
import re

from live import check, nr_lost, same, test, user_tasks

EXACT = ("dev", "relr-v0", "lto-lines")
CLOSURE = re.compile(r"::\{(?:async block|async closure|closure)(?:#\d+)?\}")
ROOM = 24  # of a task beside its future: what tells whether there is one
MERGED = {f"same::{n}" for n in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")}


def plain(name):
    """Without closures, and how many there were."""
    name = name.replace("{{closure}}", "{closure}")
    name = name.replace("core::future::future::Future", "Future").removesuffix(" + core::marker::Send")
    return CLOSURE.sub("", name), len(CLOSURE.findall(name))


def is_called(name, truth):
    """The body of an async fn is a closure for the compiler, and none for us."""
    (got, nr_got), (want, nr_want) = plain(name), plain(truth)
    bodies = sum(c == "{{closure}}" for c in re.findall(r"(?<!\}\})::(\{\{closure\}\})", truth))
    return got == want and nr_want - bodies <= nr_got <= nr_want


def is_called_by_number(name, truth):
    """Where a function was inlined, line tables only count the impl block that it is in; a function that is passed on
    has only its signature there."""
    if name.startswith("fn("):
        return truth == "std::process::id"
    module, impl, function = re.fullmatch(r"(.*::)\{(impl)#\d+\}::(\w+)(?:<.*>)?", name).groups() if "{impl#" in name else 3 * [""]
    return impl and module in truth and f"::{function}" in truth


def recorded(t, program, build, *args):
    """By task its truth, the task itself, and its type."""
    r = t.record(t.program(program, build), *args).ok()
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    truth = {line["task"]: line for line in map(json.loads, r.out.splitlines())}
    tasks = {x["id"]: x for x in user_tasks(rep)}
    same("tasks", sorted(tasks), sorted(truth))
    return [(truth[i], tasks[i], rep["types"][tasks[i]["type_id"]]) for i in sorted(truth)], rep


@test(cases=[(b, r) for b in EXACT for r in (("ct",), ("mt", "2"))])
def exact(t, build, runtime):
    """Debug info, even line tables alone, and v0 symbols tell every type exactly, also behind a box."""
    for want, task, kind in recorded(t, "types", build, *runtime)[0]:
        if build == "lto-lines" and want["lies"] == "dyn":
            continue  # two that do the same: merged, and told below
        same(f"candidates of {want['type']}", kind["candidates"], 1)
        is_counted = build == "lto-lines" and is_called_by_number(task["type"], want["type"])
        check(is_counted or is_called(task["type"], want["type"]), f"{want['type']} is called {task['type']}")


@test(cases=[("release",), ("lto",)])
def among_candidates(t, build):
    """Legacy symbols tell a type, or several of which it is one, or say that names are lost."""
    nr_exact = 0
    for want, task, kind in recorded(t, "types", build, "mt", "2")[0]:
        names = kind.get("candidate_types", [kind["name"]])
        is_open = kind["candidates"] > len(names) or (build == "lto" and kind["candidates"] == 0)
        check(is_open or any(is_called(n, want["type"]) for n in names), f"{want['type']} is none of {names}")
        check(not kind["candidates"] > 1 or re.search(r" or \d+ others?$", task["type"]), f"{task['type']}: {names}")
        nr_exact += kind["candidates"] < 2 and is_called(task["type"], want["type"])
    check(nr_exact >= 5, f"only {nr_exact} types have a name")


@test(cases=[("dev",), ("release",), ("relr-v0",), ("lto",)])
def sizes(t, build):
    """A future's size is right, in a box too, or unknown; it is never 0, and of a trait object never known."""
    tasks, _ = recorded(t, "types", build, "ct")
    for want, _, kind in tasks:
        size, room = kind["size_bytes"], 0 if build == "dev" else ROOM
        if want["lies"] == "dyn" or (size is None and build != "dev"):
            same(f"size of {want['type']}", size, None)
        elif want["lies"] != "blocking":
            check(want["bytes"] <= size <= want["bytes"] + room, f"{want['type']}: {size}, should be {want['bytes']}")
    text = t.run(t.futrace, "report", "-v", t.path("t.data")).ok().out
    blocks = [b for b in text.split("\n\n") if b.startswith("dyn ")]
    check(blocks and all("  size    unknown\n" in b for b in blocks), f"no unknown size of a trait object:\n{blocks}")


@test(cases=[("dev",), ("release",), ("relr-v0",), ("lto-lines",), ("lto",)])
def merged(t, build):
    """Equal futures are told apart where they can be; else all their names are told, in every form."""
    tasks, rep = recorded(t, "same", build)
    for want, task, kind in tasks:
        name = plain(want["type"])[0]
        if build in ("dev", "relr-v0") or (name == "same::other" and build != "lto"):
            same(f"name and candidates of {name}", (task["type"], kind["candidates"]), (name, 1))
        elif build == "lto":
            same(f"candidates of {name}", kind["candidates"], 0)
        else:
            same(f"candidates of {name}", (kind["candidates"], set(kind["candidate_types"])), (8, MERGED))
    types = {task["type_id"] for want, task, _ in tasks if plain(want["type"])[0] in MERGED}
    same("tables", len(types), 1 if build.startswith("lto") else 8)
    if build in ("release", "lto-lines"):
        check("or 7 others" in t.run(t.futrace, "report", t.path("t.data")).ok().out, "not told in the report")
        folded = t.run(t.futrace, "export", "--format=folded", "-o", "-", t.path("t.data")).ok().out
        check("or 7 others" in folded, "not told in an export")
        doctor = t.run(t.futrace, "doctor", "-v", t.program("same", build)).ok().out
        check(all(name in doctor for name in MERGED), f"doctor does not list them:\n{doctor}")


@test(cases=[("dev",), ("release",), ("relr-v0",), ("lto-lines",)])
def one_row(t, build):
    """A type that runs on two schedulers has two tables and one row."""
    t.record(t.program("same", build)).ok()
    out = t.run(t.futrace, "report", "--json", "--by=type", t.path("t.data")).ok().out
    rows = [r for r in json.loads(out)["table"]["rows"] if r["type"] == "same::other"]
    same("rows of same::other", [(r["tasks"], r["polls"]) for r in rows], [(2, 7)])

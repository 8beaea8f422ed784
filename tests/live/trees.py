# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that say where their tasks wait, and the trees that futrace sees in them.

A wait is a way from the top of a tree to one leaf: the lines of the program's own code that it goes through, and what
is known of the leaf. The program's list of them and the tool's must be the same.
"""
import json
import os

import live

SOURCES = "tests/programs/await/src/"
# What a leaf's text only begins with, in the program's words.
PREFIXES = ("type", "task_type")


def start(t, name, build, *args):
    """A program that waits, and its truth."""
    p = t.start([t.program(name, build), *args])
    p.wait_line("ready")
    live.settle(p)
    return p, live.truth("\n".join(p.seen), "task")


def look(t, command, *where, status=0):
    """What `futrace ps` or `tree` says, as JSON; and that it says it rightly."""
    r = t.run(t.futrace, command, "--json", *where)
    live.same(f"status of {r}", r.status, status)
    found = json.loads(r.out)
    live.same("schema", found["schema"], 1)
    for key in ("pid", "exe", "runtimes", "tasks", "findings"):
        live.check(key in found, f"{command} --json has no {key}")
    return found


def core_of(t, process):
    """A core file of a process, which goes on."""
    t.run("gcore", "-o", t.path("core"), str(process.pid)).ok()
    return t.path(f"core.{process.pid}")


# Trees

def own_file(file):
    return file.split(SOURCES)[1] if file and SOURCES in file else None


def waits_of(task):
    """Each wait of a task: the steps of its own code, and the leaf."""
    found = []

    def go_down(node, path):
        if own_file(node["file"]) and node["state"] == "waits":
            path = path + [node]
        if node["leaf"]:
            found.append({"path": path, "leaf": dict(node["leaf"], type=node["leaf"].get("type", node["type"]))})
        for child in node["children"] if node["state"] == "waits" else ():
            go_down(child, path)

    if task["tree"]:
        go_down(task["tree"], [])
    return found


def is_step(node, step):
    """A line is that line; where a macro wrote the await, it is in the range that is told."""
    if own_file(node["file"]) != step["file"]:
        return False
    if not step["in_macro"]:
        return node["line"] == step["line"] and not node["line_range"]
    first, last = node["line_range"] or (node["line"], node["line"])
    return first <= step["line"] <= last


def is_value(key, got, want, leaf):
    if key == "addr":
        return isinstance(got, int) and want <= got < want + leaf["size"]
    if key == "deadline_ns" and "slack_ns" in leaf:
        return isinstance(got, int) and 0 <= got - want <= leaf["slack_ns"]
    if key in PREFIXES:
        return isinstance(got, str) and got.startswith(want)
    return got == want


def wrong_values(leaf, want, ignore):
    if want["kind"] == "any":
        return []
    return [key for key in want if key not in ("size", "slack_ns", *ignore)
            and not is_value(key, leaf.get(key), want[key], want)]


def show(wait):
    steps = [f"{own_file(n['file']) or n['file']}:{n['line_range'] or n['line']}" for n in wait["path"]]
    return f"{' > '.join(steps)}: {wait['leaf']}"


def compare_task(truth, task, ignore=(), has_more=False):
    """What is wrong with the tree of a task, in words."""
    left, wrong = waits_of(task), []
    for want in truth["waits"]:
        at_place = [w for w in left if len(w["path"]) == len(want["path"])
                    and all(is_step(n, s) for n, s in zip(w["path"], want["path"]))]
        right = [w for w in at_place if not wrong_values(w["leaf"], want["leaf"], ignore)]
        if right:
            left.remove(right[0])
        elif at_place:
            bad = [f"{k}: {w['leaf'].get(k)}" for w in at_place for k in wrong_values(w["leaf"], want["leaf"], ignore)]
            wrong.append(f"{truth['name']}: wants {want['leaf']}, but {bad[:4]}")
        else:
            lines = [f"{s['file']}:{s['line']}" for s in want["path"]]
            wrong.append(f"{truth['name']}: nothing waits at {lines}, but {[show(w) for w in left[:2]]}")
    if not has_more:
        wrong += [f"{truth['name']}: should not wait at {show(w)}" for w in left]
    return wrong


def find_task(truth, tasks):
    """By its id; async-task has none, so by its first wait, which is like no other's."""
    if truth["id"] is not None:
        return [x for x in tasks if x["id"] == truth["id"] and x["runtime"] == "tokio"]
    first = truth["waits"][0]["path"]
    return [x for x in tasks
            if any(len(w["path"]) == len(first) and all(is_step(n, s) for n, s in zip(w["path"], first))
                   for w in waits_of(x))]


def compare(truths, tasks, **how):
    """All tasks of the truth are there, once, and wait where they say."""
    wrong = []
    for truth in truths:
        found = find_task(truth, tasks)
        fitting = [x for x in found if not compare_task(truth, x, **how)]
        if len(found) != 1 and len(fitting) != 1:
            wrong.append(f"{truth['name']}: {len(found)} tasks of that name")
        elif not fitting:
            wrong += compare_task(truth, found[0], **how)
    live.check(not wrong, f"{len(wrong)} of {len(truths)} are wrong:\n  " + "\n  ".join(wrong[:40]))

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The text of `futrace dump` as a list of events, and what a recording defines: types, threads, runtimes.

Definitions (names of types, their kinds, names of threads, what the kernel counted of them) are no sums: they are taken
from `report --json` and `info --json` as they are.
"""
import json
import re
import subprocess
import sys

import awaits

LINE = re.compile(r"\s*(\d+)\.(\d{9})\s+(\d+)\s+(\S+)\s+(\S+)(.*)$")
WORD = re.compile(r"(\w+)=(\S+)")


class Event:
    def __init__(self, seq, line):
        m = LINE.match(line)
        if not m:
            sys.exit(f"not a line of dump: {line!r}")
        words = dict(WORD.findall(m.group(6).partition(" type=")[0]))
        self.seq = seq
        self.time = int(m.group(1)) * 10**9 + int(m.group(2))
        self.tid = int(m.group(3))
        self.kind = m.group(5)
        self.flags = set(words["flags"].split(",")) if "flags" in words else set()
        self.words = words
        self.type = int(words["type_id"]) if "type_id" in words else None
        self.id = int(words.get("task", 0))
        self.addr = int(words["addr"], 16) if "addr" in words else None


NO_TYPE = {"id": None, "name": None, "kind": "task", "copy": None, "candidates": 0}


class Recording:
    """One file: its events, and the definitions beside them."""

    def __init__(self, futrace, path):
        self.futrace, self.path = futrace, path
        lines = self.run("dump").split("\n")[:-1]
        self.events = [Event(i, line) for i, line in enumerate(lines)]
        whole = self.report()
        self.types, self.runtimes, self.pid = whole["types"], whole["runtimes"], whole["pid"]
        info = json.loads(self.run("info", "--json"))
        self.number_runtimes(info["instances"], [r["id"] for r in info["runtimes"]])
        self.local_stacks = set(info["local_stacks"])
        self.awaits = awaits.of_info(info)
        self.stands = info["stands"]
        self.duration = max([whole["duration_ns"]] + [e.time for e in self.events[-1:]])
        self.lost_by_kind = whole["lost_by_kind"]
        self.thread_names = {w["tid"]: w["name"] for w in whole["workers"]}
        self.thread_numbers = {w["tid"]: w["thread"] for w in whole["workers"]}
        tids = {number: tid for tid, number in self.thread_numbers.items()}
        self.thread_cpu = {}  # by tid, in order of time
        for c in info["thread_cpu"]:
            self.thread_cpu.setdefault(tids.get(c["thread"]), []).append((c["time_ns"], c["cpu_ns"], c["wait_ns"]))
        self.groups = {}  # type -> the first type of its group
        for t in self.types:
            self.groups[t["id"]] = next(
                u["id"] for u in self.types
                if u is t or is_exact(t) and is_exact(u) and (u["name"], u["kind"]) == (t["name"], t["kind"]))

    def number_runtimes(self, instances, copies):
        """By copy and owner, then those that roots alone tell of; a copy of which nothing is known stands for all."""
        roots = [i for i in instances if not i["owner"] and i["addr"] and self.types_has(i["type_id"])]
        known = [i for i in instances if i["owner"] and self.types_has(i["type_id"])]
        of_root = self.place_roots(roots, [i for i in known if self.types[i["type_id"]]["scheduler"] != "local"])
        alone = [i for i in roots if of_root.get(i["number"]) == i["number"]]
        all_ = [(self.types[i["type_id"]]["copy"], i["owner"] or 1 << 64, i["number"]) for i in known + alone]
        all_ += [(copy, 0, 0) for copy in copies if copy not in {a[0] for a in all_}]
        all_.sort()
        self.copies = [copy for copy, *_ in all_]  # of each runtime
        ran = {self.types[e.type]["copy"] for e in self.events if e.type is not None and self.types_has(e.type)}
        self.copies_that_ran = {i: copy for i, (copy, _, number) in enumerate(all_) if number or copy in ran}
        self.runtime_of_instance = {number: i for i, (_, _, number) in enumerate(all_) if number}
        for root, runtime in of_root.items():
            self.runtime_of_instance[root] = self.runtime_of_instance[runtime]
        schedulers = {i["number"]: self.types[i["type_id"]]["scheduler"] for i in known}
        self.sets = {i for i, (_, _, number) in enumerate(all_) if schedulers.get(number) == "local"}

    def place_roots(self, roots, runtimes):
        """A root's address lies in a scheduler, or in one of its own. How far from the beginning, runtimes tell of which a
        thread ran a task while it was in a root; where none does, what most of those near each other have in common."""
        def near(root):
            for i in runtimes:
                t, off = self.types[i["type_id"]], root["addr"] - i["addr"]
                if t["copy"] == self.types[root["type_id"]]["copy"] and 0 <= off <= 4096:
                    yield (t["copy"], t["scheduler"] == "multi_thread"), off, i

        unplaced = {self.types[i["type_id"]]["copy"] for i in runtimes if not i["addr"]}
        roots = [r for r in roots if self.types[r["type_id"]]["copy"] not in unplaced]
        counts = {}
        for root in roots:
            for flavour, off, i in near(root):
                of = counts.setdefault(flavour, {})
                told, guessed = of.get(off, (0, 0))
                of[off] = told + (i["root"] == root["addr"]), guessed + (i["root"] != root["addr"])
        best = {flavour: max(of, key=lambda off, of=of: (of[off], -off)) for flavour, of in counts.items()}
        found = {}
        for root in roots:
            inside = [i["number"] for flavour, off, i in near(root) if off == best[flavour]]
            if len(inside) < 2:
                found[root["number"]] = inside[0] if inside else root["number"]
        return found

    def types_has(self, number):
        return number < len(self.types)

    def only_runtime(self, copy, is_blocking):
        """Whose a task is of which nothing else is known."""
        of = [i for i, c in enumerate(self.copies) if c == copy and not (is_blocking and i in self.sets)]
        return of[0] if len(of) == 1 else None

    def run(self, *args):
        out = subprocess.run([self.futrace, *args, self.path], check=True, stdout=subprocess.PIPE).stdout
        return out.decode("utf-8", "replace")

    def report(self, *options):
        return json.loads(self.run("report", "--json", *options))

    def type_of(self, number):
        return NO_TYPE if number is None else self.types[number]

    def type_name(self, number):
        return "type#unknown" if number is None else self.types[number]["name"] or f"type#{number}"

    def group(self, number):
        """What people take for one type: tables of one exact name and kind."""
        return None if number is None else self.groups[number]


def is_exact(type_):
    return type_["name"] is not None and type_["candidates"] <= 1

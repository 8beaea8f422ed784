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
        self.number_runtimes(info["instances"])
        self.local_stacks = set(info["local_stacks"])
        self.awaits = awaits.of_info(info)
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

    def number_runtimes(self, instances):
        """By copy and owner; a copy that nothing is known of stands for all of its own."""
        roots = [i for i in instances if not i["owner"] and self.types_has(i["type_id"])]
        known = [i for i in instances if i["owner"] and self.types_has(i["type_id"])]
        copies = sorted({r["copy"] for r in self.runtimes})
        all_ = [(self.types[i["type_id"]]["copy"], i["owner"], i["number"]) for i in known]
        all_ += [(copy, 0, 0) for copy in copies if copy not in {a[0] for a in all_}]
        all_.sort()
        self.copies = [copy for copy, *_ in all_]  # of each runtime
        self.runtime_of_instance = {number: i for i, (_, _, number) in enumerate(all_) if number}
        schedulers = {i["number"]: self.types[i["type_id"]]["scheduler"] for i in known}
        self.place_roots(roots, [i for i in known if schedulers[i["number"]] != "local" and i["addr"]])
        self.sets = {i for i, (_, _, number) in enumerate(all_) if schedulers.get(number) == "local"}

    def place_roots(self, roots, runtimes):
        """A root's address lies in a scheduler, always as far from its beginning in one flavour."""
        found = []
        for root in roots:
            of = self.types[root["type_id"]]["copy"]
            near = [(root["addr"] - i["addr"], i) for i in runtimes
                    if self.types[i["type_id"]]["copy"] == of and 0 <= root["addr"] - i["addr"] <= 4096]
            least = min((off for off, _ in near), default=None)
            inside = [i for off, i in near if off == least]
            if len(inside) == 1:
                flavour = self.types[inside[0]["type_id"]]["scheduler"] == "multi_thread"
                found.append((flavour, least, root["number"], inside[0]["number"]))
        for flavour, off, root, runtime in found:
            if off == min(o for f, o, *_ in found if f == flavour):
                self.runtime_of_instance[root] = self.runtime_of_instance[runtime]

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

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Steps and paths, and what they mean, found the slow way: as `info --json` or `export --format=ndjson` has them."""
import re


class Paths:
    def __init__(self, steps, paths):
        """steps: objects by number; paths: their numbers, by number."""
        self.steps = steps
        self.paths = {number: [steps[s] for s in of] for number, of in paths.items()}

    def chain(self, step):
        """Outermost first."""
        outer = step.get("outer")
        return (self.chain(self.steps[outer]) if outer is not None else []) + [step]

    @staticmethod
    def waits(step):
        return step["state"] in ("waits", "ready")

    def point(self, step):
        return (step["future"], step["file"], step["line"]) if self.waits(step) and step.get("file") else None

    def step_at(self, point):
        """One that has the names of an await point: the first."""
        return next(step for _, step in sorted(self.steps.items()) if self.point(step) == point)

    def seat(self, leaf):
        """The innermost line of the program's own, or else of all."""
        points = []
        for step in self.chain(leaf):
            points = points + [step] if self.waits(step) else []
        points = [step for step in points if self.point(step)]
        own = [step for step in points if not step.get("foreign")]
        return self.point((own or points)[-1]) if points else None

    def seats(self, number):
        """Those of a path, each once, with the first leaf that it has, rather one of a known kind."""
        found = {}
        for leaf in self.paths.get(number, []):
            seat = self.seat(leaf)
            if seat:
                found.setdefault(seat, leaf)
                if not found[seat].get("leaf") and leaf.get("leaf"):
                    found[seat] = leaf
        return found

    def points(self, number):
        """All lines that a path goes through."""
        return {self.point(step) for leaf in self.paths.get(number, []) for step in self.chain(leaf)} - {None}

    def futures(self, number):
        return {step["future"] for leaf in self.paths.get(number, []) for step in self.chain(leaf)}


def of_ndjson(lines):
    return Paths({line["step"]: line for line in lines if line["kind"] == "step"},
                 {line["path"]: line["steps"] for line in lines if line["kind"] == "path"})


def of_info(info):
    return Paths({s["number"]: s for s in info["steps"]}, {p["number"]: p["steps"] for p in info["paths"]})


def split_place(location):
    """"src/main.rs:10-12" as file and first line."""
    file, line = re.fullmatch(r"(.*):(\d+)(?:-\d+)?", location).groups()
    return file, int(line)


def wait(line):
    """How long a task waited, by the line of its run or of a wait that is open."""
    return line.get("idle_ns", 0) + line.get("sched_ns", 0)


def open_waits(lines):
    """What a task that is alive waited in all, and no run of its own ended, as lines of kind "open" (NDJSON has none)."""
    runs = [line for line in lines if line["kind"] in ("poll", "drop")]
    for task in (line for line in lines if line["kind"] == "task"):
        # before its first poll it waits for nothing but a worker, unless somebody saw where
        if task["end"] != "alive" or "path" not in task and (not task["polls"] or task["task_kind"] == "blocking"):
            continue
        mine = [run for run in runs if run["time_ns"] >= task["time_ns"] and
                (run["task"], run.get("runtime_id"), run["type"]) == (task["task"], task.get("runtime_id"), task["type"])]
        left = {key: task[key] - sum(run.get(key, 0) for run in mine) for key in ("idle_ns", "sched_ns")}
        if wait(left):
            # of a wait that is known in part a run tells nothing: then it is at most so long
            is_exact = all("sched_ns" in run or run["time_ns"] == task["time_ns"] for run in mine)
            yield {**task, **left, "kind": "open", "is_exact": is_exact}

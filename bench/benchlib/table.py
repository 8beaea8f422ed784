# SPDX-License-Identifier: MIT OR Apache-2.0
"""The one table: rows in the order in which they were measured, written as Markdown."""

import dataclasses
import os
import platform
import re
import statistics

from .build import HERE
from .variants import version

COLUMNS = ("what", "variant", "value", "compared with, same run", "result", "tool's own CPU", "lost", "goal", "met", "n")


@dataclasses.dataclass
class Row:
    what: str
    variant: str
    value: str = ""
    against: str = ""
    result: str = ""
    tool: str = ""
    lost: str = ""
    goal: str = ""
    met: str = ""
    n: str = ""
    brief: dict = dataclasses.field(default_factory=dict)  # {line: {column: text}}: its share of the table in README.md

    def cells(self):
        return [getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "brief"]

    def tell(self, line, **columns):
        """In README.md, the cell of that line and these of BRIEF."""
        self.brief.setdefault(line, {}).update(columns)
        return self


# Columns of the table in README.md: key, head.
BRIEF = (("plain", "no tracing"), ("target", "futrace, in the program"), ("tool", "futrace, its own process"),
         ("both", "futrace, both"), ("dial9", "dial9, both"))
BRIEF_START, BRIEF_END = "<!-- costs: written by bench/run -->\n", "<!-- end of costs -->\n"


def brief_table(rows):
    lines = {}
    for row in rows:
        for line, columns in row.brief.items():
            lines.setdefault(line, {}).update(columns)
    out = ["| CPU time | " + " | ".join(head for _, head in BRIEF) + " |", "|" + "---|" * (len(BRIEF) + 1)]
    out += [f"| {line} | " + " | ".join(c.get(key, "") for key, _ in BRIEF) + " |" for line, c in lines.items()]
    return "\n".join(out) + "\n"


def write_brief(path, rows):
    """Puts the table between its two marks."""
    text = read(path)
    start, end = text.find(BRIEF_START), text.find(BRIEF_END)
    if start < 0 or end < start:
        return
    with open(path, "w", encoding="utf-8") as f:
        f.write(text[:start + len(BRIEF_START)] + brief_table(rows) + text[end:])


def spread(values, unit="", digits=1):
    """The median, and the range where there is one."""
    middle = f"{statistics.median(values):,.{digits}f}{unit}"
    if len(values) < 2:
        return middle
    return f"{middle} [{min(values):,.{digits}f}–{max(values):,.{digits}f}]"


def at_most(value, limit, digits=1, unit=""):
    over = value - limit
    return "yes" if over <= 0 else f"**no**, by {over:,.{digits}f}{unit}"


def at_least(value, limit, digits=1, unit=""):
    under = limit - value
    return "yes" if under <= 0 else f"**no**, by {under:,.{digits}f}{unit}"


def read(path, default=""):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return default


def cpu_model():
    found = re.search(r"^model name\s*:\s*(.+)$", read("/proc/cpuinfo"), re.M)
    return found.group(1) if found else platform.machine()


def locked(package):
    """The version of a crate in the lock file, hence in the measured programs."""
    text = read(os.path.join(HERE, "programs", "Cargo.lock"))
    found = re.search(rf'name = "{package}"\nversion = "([^"]+)"', text)
    return found.group(1) if found else "unknown"


def machine():
    kernel = re.match(r"[0-9.]+", platform.release()).group(0).rstrip(".")
    clock = read("/sys/devices/system/clocksource/clocksource0/current_clocksource").strip()
    virtual = "virtual machine" if re.search(r"^flags.*\bhypervisor\b", read("/proc/cpuinfo"), re.M) else "bare metal"
    cores = os.cpu_count()
    return f"{cpu_model()}, {cores} cores ({virtual}), Linux {kernel}, clocksource {clock or 'unknown'}"


def versions():
    return ", ".join(
        [
            "rustc " + version(["rustc", "--version"], 1),
            "tokio " + locked("tokio"),
            "hyper " + locked("hyper"),
            "dial9 " + locked("dial9"),
            "bpftrace " + version(["bpftrace", "--version"], 1),
            "uftrace " + version(["uftrace", "--version"], 1),
        ]
    )


HEAD = """# Figures

Made by `make bench` (`bench/run{options}`); do not edit. What each row does is in bench/README.md.

- Machine: {machine}. Load average while measuring: {load}.
- Versions: {versions}.
- Times are **CPU time** of the measured program, read inside it, unless a row says wall. Each round runs every
  variant once and keeps the cheapest repetition of each; a cell is the median over the rounds [smallest–largest],
  n is the number of rounds. A result is computed within each round and then the median is taken. Neighbours only ever
  add time: where the ranges are wide, smallest against smallest tells more.
- The tool's own CPU is what futrace, uftrace or bpftrace used in their own processes, per poll (or as said), and is
  not part of the value. dial9 has no other process: its writer's CPU is part of the value.

"""


def write(path, rows, options):
    load = ", ".join(f"{l:.1f}" for l in os.getloadavg())
    with open(path, "w", encoding="utf-8") as f:
        f.write(HEAD.format(options=options, machine=machine(), versions=versions(), load=load))
        f.write("| " + " | ".join(COLUMNS) + " |\n")
        f.write("|" + "---|" * len(COLUMNS) + "\n")
        for row in rows:
            f.write("| " + " | ".join(c.replace("|", "\\|") for c in row.cells()) + " |\n")
        if any(row.brief for row in rows):
            f.write("\nIn short, as in README.md (medians; dial9: the form that records wakes, where there is one):\n\n")
            f.write(brief_table(rows))
        f.write(read(os.path.join(HERE, "NOTES.md")))  # why a goal is missed: written by people



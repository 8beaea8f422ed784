# SPDX-License-Identifier: MIT OR Apache-2.0
"""A program whose hundred tasks all sleep for a day: what tracing costs where nothing happens."""

import statistics
import subprocess
import time

from .proc import Background, Failed, cpu_ns, target_of
from .table import Row, at_most, spread

TASKS = 100
SECONDS = 3
LINE = f"{TASKS} tasks that all sleep"
WHAT = f"share of a core, {TASKS} tasks that all sleep"


def share(place, argv, env, is_tool):
    """(the process that was started, its child or 0): % of a core while nothing happens."""
    with Background(place, argv, env, stdin=subprocess.PIPE) as child:
        child.wait_for("held")
        time.sleep(0.5)
        pids = [child.child.pid]
        if is_tool:
            pids.append(target_of(pids[0]))
        start, before = time.monotonic_ns(), [cpu_ns(p) for p in pids]
        time.sleep(SECONDS)
        wall = time.monotonic_ns() - start
        shares = [(cpu_ns(p) - b) / wall * 100 for p, b in zip(pids, before)]
        child.end()
    return shares


def rows(tools, place, rounds, say):
    say("idle")
    work = ["1", "held", str(TASKS)]
    record = [tools.paths.get("futrace", "futrace"), "record", "-q", "-o", place.path("idle.data"), "--"]
    variants = [("no tracing", "plain", [], {}), ("`futrace record`", "plain", record, {}),
                ("dial9 built in (`tokio_unstable`), off", "dial9", [], {}),
                ("dial9, `tokio::spawn`", "dial9", [], {"DIAL9_OUT": place.path("idle-dial9")})]
    out, found, why = [], {v[0]: [] for v in variants}, dict(tools.why)
    for _ in range(rounds):
        for label, program, prefix, env in variants:
            try:
                if tools.has(program) and (not prefix or tools.has("futrace")):
                    found[label].append(share(place, [*prefix, tools[program], *work], env, bool(prefix)))
            except (Failed, OSError) as e:
                why[program] = str(e)
    for label, program, prefix, _ in variants:
        if not found[label]:
            out.append(Row(WHAT, label, f"not measured: {program}: {why.get(program, 'futrace is missing')}"))
            continue
        row = Row(WHAT, label, spread([s[-1] for s in found[label]], " %", 3), n=str(len(found[label])))
        share_of = f"{statistics.median(s[-1] for s in found[label]):.2f} % of a core"
        if label == "no tracing":
            row.tell(LINE, plain=share_of)
        if label.startswith("dial9, "):
            row.tell(LINE, dial9=share_of)
        if prefix:
            both = statistics.median(sum(s) for s in found[label])
            row.tell(LINE, target=share_of, tool=f"{statistics.median(s[0] for s in found[label]):.2f} %", both=f"{both:.2f} %")
            tool = [s[0] for s in found[label]]
            row.tool = spread(tool, " %", 3)
            row.goal, row.met = "tool ≤ 0.5 %", at_most(statistics.median(tool), 0.5, 3, " %")
        out.append(row)
    return out



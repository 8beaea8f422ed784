# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two workers in a yield storm, each on a core of its own, and the tool on a third: does it keep up?

With fewer than three cores the tool shares one with a worker. Then the row says so, and what the tool would need of a core of
its own: its CPU per poll against the time in which two workers make one.
"""

import statistics

from .proc import Failed
from .table import Row, spread
from .variants import Futrace

WHAT = "polls a second, yield storm on two workers"


class TwoWorkers(Futrace):
    file = "two.data"

    def storm(self, cores):
        self.place.env["BENCH_CPU"] = ",".join(map(str, cores))
        try:
            return self.sample("storm", ["2", "storm", "100", str(self.yields), "4"])
        finally:
            self.place.env["BENCH_CPU"] = str(self.place.core)


def rows(tools, place, rounds, say):
    variant = TwoWorkers(tools, place)
    if variant.missing():
        return [Row(WHAT, variant.label, f"not measured: {variant.missing()}")]
    has_third = len(place.cores) > 2
    cores = place.cores[-2:]
    samples = []
    try:
        for number in range(rounds):
            say(f"two: round {number + 1} of {rounds}")
            samples.append(variant.storm(cores))
    except Failed as e:
        return [Row(WHAT, variant.label, f"not measured: {e}")]
    made = [2e3 / s.per("polls") for s in samples]
    taken = [1e3 / s.tool_per("polls") for s in samples]
    row = Row(WHAT, variant.label, spread(made, " M"), n=str(len(samples)))
    row.against = "what a core of the tool's own takes"
    row.result = spread(taken, " M")
    row.tool = spread([s.tool_per("polls") for s in samples], " ns", 0)
    lost = sum(s.lost for s in samples)
    row.lost = f"{lost:,} of {sum(s.events + s.lost for s in samples):,}"
    row.goal = "nothing lost, tool on a third core"
    if has_third:
        row.met = "yes" if not lost else "**no**, events were lost"
    else:
        more = statistics.median(taken) >= statistics.median(made)
        row.met = "no third core here: the tool shared one with a worker; by CPU time " + (
            "it would keep up" if more else "it would **not** keep up")
    return [row]

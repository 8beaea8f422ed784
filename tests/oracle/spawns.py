# SPDX-License-Identifier: MIT OR Apache-2.0
"""Allocations that became tasks: known when the task runs at that address, which may be much later."""
import bisect

from life import lost_between


def match_spawns(s):
    """Gives each life the allocation it came from, in the order of first runs; the number of those left over."""
    firsts = [(*life.first_start, life) for life in s.ever if life.first_start]
    taken, size_of, credited = {}, {}, set()
    for seq, addr, life in sorted(firsts, key=lambda f: f[0]):
        nr_before = bisect.bisect_left(s.spawns[addr], seq, key=lambda e: e[0])
        if not nr_before or s.spawns[addr][nr_before - 1][0] in taken:
            continue
        at, ev, parent = s.spawns[addr][nr_before - 1]
        taken[at] = seq
        # one that was there before the start is as if first seen there
        if ev.time > (s.start if life.is_cut and seq >= s.begin_seq else life.first_time):
            continue
        size = int(ev.words["size"])
        if lost_between(s.spawn_loss, at, seq) and (life.type is None or size_of.get(life.type) != size):
            continue
        if not size_of.get(life.type):
            size_of[life.type] = size
        life.spawn = (at, ev, parent)
        credited.add(at)
        if not life.is_cut:
            credit_spawn(s, life, seq, at, max(ev.time, s.start))
    # given up when another one came at the address, or a task that was another's: before the start, that is past
    left = [(taken.get(e[0]) or (following[0] if following else len(s.events)))
            for evs in s.spawns.values() for e, following in zip(evs, evs[1:] + [None]) if e[0] not in credited]
    return sum(given_up >= s.begin_seq for given_up in left)


def credit_spawn(s, life, seq, at, time):
    if life.first_seq == seq:  # nothing was seen before: it was queued
        what = "unknown" if lost_between(s.loss, at, seq) else "sched"
    else:
        what = "unknown"
    add_to_first_gap(life, what, life.begin - time)
    life.begin = time


def add_to_first_gap(life, what, ns):
    life.ns[what] += ns
    gap = life.runs[0].gap if life.runs else life.gap
    if ns:
        gap[what] = gap.get(what, 0) + ns
    if what == "sched":  # it came with the run, of which nothing was known before
        gap.pop("unknown", None)


def find_lent_workers(s):
    """A main loop of a worker that was spawned inside a run takes the run's worker over, if the run is still open."""
    for life in s.ever:
        seq = life.first_start[0] if life.first_start else 0
        run = life.spawn[2] if life.spawn and s.is_helper(life.type, seq) else None
        if run and (run.end_seq is None or run.end_seq > seq):
            run.off_seq = seq

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recomputes every number of `futrace report --json` from the text of `futrace dump`, slowly and on its own.

Usage: recompute.py FUTRACE FILE...

Keeps everything, and matches spawns, ends and helpers when all has been read; the rules are those of
futrace-report(1). Prints each number that differs; exit status 1 if one does.
"""
import bisect
import collections
import json
import re
import subprocess
import sys

GRACE_NS = 1_000_000
LATE_GRACE_NS = 1_000_000_000
HARMLESS = {"sleep", "awake", "panic", "thread-start", "thread-stop", "thread-name"}
LINE = re.compile(r"\s*(\d+)\.(\d{9})\s+(\d+)\s+(\S+)\s+(\S+)(.*)$")
WORD = re.compile(r"(\w+)=(\S+)")


class Event:
    def __init__(self, seq, line):
        m = LINE.match(line)
        if not m:
            sys.exit(f"not a line of dump: {line!r}")
        rest, _, kind = m.group(6).partition(" type=")
        words = dict(WORD.findall(rest))
        self.seq = seq
        self.time = int(m.group(1)) * 10**9 + int(m.group(2))
        self.tid = int(m.group(3))
        self.kind = m.group(5)
        self.flags = set(words.get("flags", "").split(",")) - {""}
        self.words = words
        self.type = kind
        self.id = int(words.get("task", 0))
        self.addr = int(words["addr"], 16) if "addr" in words else None


class Run:
    """One run on one thread; end is None while it is open."""

    def __init__(self, ev, key, type_, outer):
        self.start, self.seq, self.flags = ev.time, ev.seq, ev.flags
        self.tid, self.key, self.type, self.outer = ev.tid, key, type_, outer
        self.end = self.end_seq = None
        self.end_flags = set()
        self.vanished = False
        self.idle_call = False  # it found its task taken by a shutdown, and did nothing
        self.sleeps = []  # (from, to, number of the event that ended it)

    @property
    def is_poll(self):
        return not self.flags and not self.idle_call


class Thread:
    def __init__(self, tid):
        self.tid, self.stack, self.runs, self.sleeps = tid, [], [], []
        self.sleep_from = None
        self.worker_seq = None  # since when it is known to be a worker
        self.ran_blocking = False
        self.runtime = None


class Stream:
    """The events, put in order by thread and by task."""

    def __init__(self, events, types, duration):
        self.events, self.types = events, types
        self.times = [e.time for e in events]
        self.duration = max([duration] + [e.time for e in events[-1:]])
        self.learnt = {n: -1 for n, t in types.items() if t["kind"] == "helper"}
        self.threads, self.lives, self.reaped = {}, {}, []
        self.places = collections.defaultdict(set)  # of the tasks of a runtime, "in" a worker or "out"
        self.spawns = collections.defaultdict(list)  # by address
        self.loss, self.spawn_loss = [], []
        self.lost = collections.Counter()
        self.stray = 0

    def type_of(self, name):
        return self.types.get(name, {"kind": "task", "runtime_id": None, "name": None})

    def key(self, ev):
        return ev.id, self.type_of(ev.type)["runtime_id"]

    def is_helper(self, type_, seq):
        return self.learnt.get(type_, seq + 1) <= seq

    def read(self):
        for ev in self.events:
            thr = self.threads.setdefault(ev.tid, Thread(ev.tid))
            getattr(self, "on_" + ev.kind.replace("-", "_"), lambda *_: None)(ev, thr)
        end = Event.__new__(Event)
        end.time, end.seq = self.duration, len(self.events)
        for thr in self.threads.values():
            if thr.sleep_from is not None:
                self.on_awake(end, thr)

    def note_kind(self, thr, key, type_, seq):
        blocking = self.type_of(type_)["kind"] == "blocking" and not self.is_helper(type_, seq)
        if not blocking or not thr.ran_blocking:
            thr.runtime = key[1]
        if blocking:
            thr.ran_blocking = True
        else:
            thr.worker_seq = seq

    def learn(self, ev, thr, key, type_):
        if ev.flags & {"shutdown", "finished"}:
            return
        outer = thr.stack[0] if thr.stack else None
        if len(thr.stack) == 1 and self.type_of(type_)["kind"] in ("task", "local"):
            t = self.type_of(outer.type)
            if t["kind"] == "blocking" and not t["name"]:
                self.learnt.setdefault(outer.type, ev.seq)
        if thr.worker_seq is None:
            if outer is None:
                self.note_kind(thr, key, type_, ev.seq)
            elif self.is_helper(outer.type, ev.seq):
                self.note_kind(thr, outer.key, outer.type, ev.seq)

    def on_run_start(self, ev, thr):
        key = self.key(ev)
        thr.sleep_from = None
        # one task, one type: that of its first sighting in this life
        life = self.live(key, ev)
        type_ = life.type if life else ev.type
        self.learn(ev, thr, key, type_)
        self.note_place(ev, thr, key, type_)
        run = Run(ev, key, type_, thr.stack[-1] if thr.stack else None)
        thr.stack.append(run)
        thr.runs.append(run)
        if "finished" in ev.flags:
            if life:
                life.add(ev.seq, "finished", type_, run)
            return
        self.life(key, ev).add(ev.seq, "start", type_, run, ev.addr)

    def note_place(self, ev, thr, key, type_):
        if type_ not in self.types or self.type_of(type_)["kind"] != "task":
            return
        if not ev.flags & {"shutdown", "finished"}:
            outer = thr.stack[-1] if thr.stack else None
            inside = outer and self.is_helper(outer.type, ev.seq) and outer.key[1] == key[1]
            self.places[key[1]].add("in" if inside else "out")

    def on_run_end(self, ev, thr):
        thr.sleep_from = None
        if not thr.stack:
            self.stray += 1
            return
        self.close(thr, ev, ev.flags, False)

    def close(self, thr, ev, flags, vanished):
        run = thr.stack.pop()
        run.end, run.end_seq, run.end_flags, run.vanished = ev.time, ev.seq, flags, vanished
        if "finished" not in run.flags and run.key in self.lives:
            self.lives[run.key].add(ev.seq, "end", run.type, run)

    def on_wake(self, ev, thr):
        key = self.key(ev)
        top = thr.stack[-1] if thr.stack else None
        if top and not self.is_helper(top.type, ev.seq):
            cause = "self" if top.key == key else "task"
        elif top or thr.worker_seq is not None:
            cause = "worker"
        else:
            cause = "thread"
        life = self.live(key, ev)
        if "abort" in ev.flags and not (life and life.saw_shutdown):
            cause = "abort"
        if "running" in ev.flags and not life:
            return
        self.life(key, ev).add(ev.seq, "wake", ev.type, cause, "running" in ev.flags)

    def on_spawn(self, ev, thr):
        parent = next((r for r in reversed(thr.stack) if not self.is_helper(r.type, ev.seq)), None)
        self.spawns[ev.addr].append((ev.seq, ev, parent))

    def on_sleep(self, ev, thr):
        thr.sleep_from = ev.time

    def on_awake(self, ev, thr):
        if thr.sleep_from is None:
            self.stray += 1
            return
        span = (thr.sleep_from, ev.time, ev.seq)
        (thr.stack[-1].sleeps if thr.stack else thr.sleeps).append(span)
        thr.sleep_from = None

    def on_thread_stop(self, ev, thr):
        thr.sleep_from = None
        while thr.stack:
            self.close(thr, ev, set(), True)
            self.stray += 1

    def on_lost(self, ev, thr):
        kind, count = ev.words["kind"], int(ev.words["count"])
        if kind == "0":
            self.on_thread_stop(ev, thr)
        elif not count:
            return
        self.lost[kind] += count
        if kind == "spawn":
            self.spawn_loss.append(ev.seq)
        elif kind not in HARMLESS:
            self.loss.append(ev.seq)

    # A key can come again when its task ended long ago.
    def live(self, key, ev):
        life = self.lives.get(key)
        over = life and life.ended is not None and ev.time > life.ended + life.grace
        return None if over else life

    def life(self, key, ev):
        life = self.live(key, ev)
        if not life:
            if key in self.lives:
                self.reaped.append(self.lives.pop(key))
            life = self.lives[key] = Life(self, key, ev)
        return life


def lost_between(losses, a, b):
    i = bisect.bisect_right(losses, a)
    return i < len(losses) and losses[i] < b


def took_it(flags):
    """Of the end of a shutdown."""
    return "panicked" in flags or {"complete", "notified"} <= flags


def found_taken(flags):
    """Of the end of a poll."""
    return {"notified", "cancelled"} <= flags and "panicked" not in flags


class Life:
    """One task, from the list of all that concerns it."""

    def __init__(self, stream, key, ev):
        self.s, self.key, self.type = stream, key, ev.type
        self.first_seq, self.first_start = ev.seq, None  # (number, address)
        self.ns = collections.Counter()
        self.wakes = collections.Counter()
        self.polls = self.max_poll = self.blocked = self.max_blocked = 0
        self.ended = self.reason = self.wanted = None
        self.spawn = None
        self.begin = self.mark = ev.time
        self.mark_seq = ev.seq
        self.state, self.owner, self.shutdown = "unknown", None, None
        self.notified, self.hint = False, None
        self.saw_shutdown = self.saw_finished = False
        self.rival = None  # a poll that began while a shutdown is the owner
        self.before_rival = None  # (notified, hint) when it began
        self.taken, self.grace = False, GRACE_NS  # ended by a shutdown that took it from the queue
        self.queue_unseen = False  # nothing told that the owner, a shutdown, found the task queued

    def add(self, seq, what, *rest):
        getattr(self, "ev_" + what)(seq, what, *rest)

    def time(self, seq):
        return self.s.events[seq].time if seq < len(self.s.events) else self.s.duration

    def spend(self, what, seq):
        """All time since the mark goes to `what`."""
        if what != "busy" and lost_between(self.s.loss, self.mark_seq, seq):
            what = "unknown"
        self.ns[what] += self.time(seq) - self.mark
        self.mark, self.mark_seq = self.time(seq), seq

    def close_poll(self, seq):
        run, now = self.owner, self.time(seq)
        self.spend("busy", seq)
        if not self.owner_flags:
            self.max_poll = max(self.max_poll, now - self.owner_from)
        for a, b, awake in run.sleeps:
            if self.owner_seq < awake <= seq:
                ns = b - max(a, self.owner_from)
                self.blocked += ns
                self.max_blocked = max(self.max_blocked, ns)

    def infer_wake(self, lost):
        if not lost:
            self.wakes[self.hint or "self"] += 1

    def ev_finished(self, seq, _, type_, run):
        if self.owner and "shutdown" in run.flags:
            self.saw_finished = True

    def ev_start(self, seq, _, type_, run, addr):
        self.first_start = self.first_start or (seq, addr)
        if self.ended is not None:
            self.ended, self.state = None, "pending"
        if self.owner and "shutdown" in run.flags:
            self.shutdown, self.saw_shutdown = run, True
        elif self.owner:
            self.start_over(seq, run)
        else:
            self.start_free(seq, run)

    def start_free(self, seq, run):
        lost = lost_between(self.s.loss, self.mark_seq, seq)
        unseen = False
        if self.state == "pending":
            queued = self.hint or "shutdown" not in run.flags
            if queued:
                self.infer_wake(lost)
            self.spend("sched" if queued else "idle", seq)
            unseen = not queued
        else:
            self.spend(self.state, seq)
        self.own(run, seq, run.flags, unseen)

    def start_over(self, seq, run):
        """A poll begins although another run is open."""
        if self.rival:  # both cannot have come from one place in the queue: that one was real
            self.rival_was_real()
        if "shutdown" not in self.owner_flags:
            lost = lost_between(self.s.loss, self.mark_seq, seq)
            self.close_poll(seq)
            if not self.notified:
                self.infer_wake(lost)
            if not self.shutdown:
                self.own(run, seq, run.flags)
                return
            waiting, self.shutdown = self.shutdown, None
            self.own(waiting, seq, waiting.flags)
        self.rival, self.before_rival = run, (self.notified, self.hint)
        self.notified, self.hint = False, None

    def rival_was_void(self):
        self.rival.idle_call, self.rival = True, None
        notified, hint = self.before_rival
        self.notified = self.notified or notified
        self.hint = hint or self.hint

    def rival_was_real(self):
        """Goes back to where the rival began, and lets it be the owner from there."""
        after = self.notified, self.hint
        lost = lost_between(self.s.loss, self.mark_seq, self.rival.seq)
        rival, shutdown, self.rival = self.rival, self.owner, None
        unseen = self.queue_unseen
        self.close_poll(rival.seq)
        self.notified, self.hint = self.before_rival
        if unseen and not self.notified:
            self.infer_wake(lost)
        self.own(rival, rival.seq, rival.flags)
        self.notified, self.hint = after
        self.shutdown, self.saw_shutdown = shutdown, True

    def owner_was_void(self):
        """The shutdown that began while a poll was open had the task before the poll had."""
        hint, shutdown, self.shutdown = self.hint, self.shutdown, None
        self.owner.idle_call = True
        self.polls -= not self.owner_flags
        self.spend("sched", shutdown.seq)
        self.own(shutdown, shutdown.seq, shutdown.flags)
        self.hint = hint

    def own(self, run, seq, flags, queue_unseen=False):
        self.owner, self.owner_from, self.owner_flags = run, self.time(seq), flags
        self.owner_seq, self.queue_unseen = seq, queue_unseen
        self.over_flags = set()
        self.notified, self.hint = False, None
        self.polls += not flags
        self.saw_shutdown = self.saw_shutdown or "shutdown" in flags

    def ev_end(self, seq, _, type_, run):
        flags, woken = run.end_flags, self.notified  # woken: only if the poll is over
        if self.rival is run:
            if run.vanished or found_taken(flags) and not woken:
                self.rival_was_void()
            else:
                self.rival_was_real()
        elif self.rival and self.owner is run:
            if took_it(flags) and not woken:
                self.rival_was_void()
            else:
                self.rival_was_real()
                self.over_flags = flags & {"complete", "cancelled", "panicked"}
        elif self.owner and self.shutdown and "shutdown" not in self.owner_flags:
            if run is self.shutdown and took_it(flags) and not woken and "panicked" not in flags:
                self.owner_was_void()
            elif run is self.owner and found_taken(flags) and not woken:
                self.owner_was_void()
            elif run is self.shutdown:
                self.over_flags = flags & {"complete", "cancelled", "panicked"}
        if run is self.shutdown:
            self.shutdown = None
        elif run is self.owner:
            self.end_owner(seq, run)

    def end_owner(self, seq, run):
        flags = run.end_flags | self.over_flags
        self.close_poll(seq)
        self.owner = None
        if flags & {"complete", "panicked"}:
            self.finish(flags, seq)
        elif self.shutdown:
            run, self.shutdown = self.shutdown, None
            if self.hint and not self.notified:
                self.infer_wake(False)
            self.own(run, seq, run.flags, not self.notified and not self.hint)
        else:
            self.state = "sched" if self.notified else "pending"
            if run.vanished:
                self.state = "unknown"

    def finish(self, flags, seq):
        self.ended, self.state, self.shutdown = self.time(seq), "ended", None
        self.end_seq = seq
        self.taken = "shutdown" in self.owner_flags and took_it(flags)
        self.queue_unseen = self.queue_unseen and not self.notified
        self.grace = LATE_GRACE_NS if self.taken and self.queue_unseen else GRACE_NS
        self.wanted = "wanted" in flags
        if "panicked" in flags:
            self.reason = "panicked"
        elif "drop" in self.owner_flags:
            self.reason = "cancelled"
        elif "shutdown" in self.owner_flags:
            self.reason = "dropped"
        elif "cancelled" not in flags or self.saw_finished:
            self.reason = "completed"
        else:
            self.reason = "dropped" if self.saw_shutdown else "cancelled"

    def ev_wake(self, seq, _, type_, cause, running):
        if running:
            if (self.owner or self.state == "pending") and not self.hint:
                self.hint = cause
            return
        if self.ended is not None and self.taken:
            self.wakes[cause] += self.queue_unseen
            self.queue_unseen = False
            return
        if self.ended is not None:
            self.ended, self.state = None, "pending"
        self.hint = None
        self.wakes[cause] += 1
        if self.owner:
            self.notified = True
            return
        self.spend("idle" if self.state == "pending" else self.state, seq)
        self.state = "sched"

    def finalise(self):
        """The recording ends: what is open goes on to its end."""
        if self.ended is not None:
            return
        seq = len(self.s.events)
        lost = lost_between(self.s.loss, self.mark_seq, seq) or self.s.lost_at_end
        if self.rival:
            self.rival_was_void()
        if self.owner:
            self.close_poll(seq)
            return
        state = self.state
        if state == "pending":
            if self.hint and not lost:
                self.wakes[self.hint] += 1
            state = "sched" if self.hint else "idle"
        self.spend("unknown" if lost else state, seq)


def match_spawns(s, lives):
    """Gives each life the allocation it came from: in the order of first runs."""
    firsts = [(*life.first_start, life) for life in lives if life.first_start]
    taken, size_of = set(), {}
    for seq, addr, life in sorted(firsts, key=lambda f: f[0]):
        before = [e for e in s.spawns[addr] if e[0] < seq]
        if not before or before[-1][0] in taken:
            continue
        at, ev, parent = before[-1]
        taken.add(at)
        if ev.time > life.begin:
            continue
        size = int(ev.words["size"])
        if lost_between(s.spawn_loss, at, seq) and (
            life.type not in s.types or size_of.get(life.type) != size
        ):
            continue
        if not size_of.get(life.type):
            size_of[life.type] = size
        life.spawn = (at, ev, parent)
        if life.first_seq == seq:  # nothing was seen before: it was queued
            what = "unknown" if lost_between(s.loss, at, seq) else "sched"
        else:
            what = "unknown"
        life.ns[what] += life.begin - ev.time
        life.begin = ev.time
    credited = {life.spawn[0] for life in lives if life.spawn}
    return sum(1 for evs in s.spawns.values() for e in evs if e[0] not in credited)


def tell_seq(s, life):
    """When the model told the task: helpers that were unmasked later were tasks until then."""
    if life.ended is None:
        return len(s.events)
    return bisect.bisect_right(s.times, life.ended + life.grace)


def expected_tasks(s):
    lives = s.reaped + list(s.lives.values())
    for life in lives:
        life.finalise()
    unmatched = match_spawns(s, lives)
    tasks = []
    for life in lives:
        told = tell_seq(s, life)
        if s.is_helper(life.type, told - 1 if told < len(s.events) else told):
            continue
        t = {
            "id": life.key[0],
            "runtime_id": life.key[1],
            "kind": s.type_of(life.type)["kind"],
            "spawn": "exact" if life.spawn else "first_seen",
            "spawn_ns": life.begin,
            "end_ns": life.ended,
            "end": life.reason if life.ended is not None else "alive",
            "polls": life.polls,
            "busy_ns": life.ns["busy"],
            "sched_ns": life.ns["sched"],
            "idle_ns": life.ns["idle"],
            "unknown_ns": life.ns["unknown"],
            "max_poll_ns": life.max_poll,
            "blocked_ns": life.blocked,
            "max_blocked_ns": life.max_blocked,
            "wakes": sum(life.wakes.values()),
            "self_wakes": life.wakes["self"],
            "wakes_by": {k: v for k, v in life.wakes.items() if v},
        }
        if life.ended is not None:
            t["wanted"] = life.wanted
        if life.spawn:
            parent = life.spawn[2]
            if parent and s.is_helper(parent.type, told - 1 if told < len(s.events) else told):
                parent = None
            t["parent"] = parent.key[0] if parent else None
        tasks.append(t)
    return tasks, unmatched


def expected_workers(s):
    workers = {}
    for thr in s.threads.values():
        w = collections.Counter(
            polls=0, busy_ns=0, asleep_ns=0, sleeps=0, blocked_ns=0, blocks=0, max_blocked_ns=0
        )
        for a, b, _ in thr.sleeps:
            w["asleep_ns"] += b - a
            w["sleeps"] += 1
        for run in thr.runs:
            seq = run.end_seq if run.end_seq is not None else len(s.events)
            slept = [b - a for a, b, _ in run.sleeps]
            if s.is_helper(run.type, seq):
                w["asleep_ns"] += sum(slept)
                w["sleeps"] += len(slept)
                continue
            w["blocked_ns"] += sum(slept)
            w["blocks"] += len(slept)
            w["max_blocked_ns"] = max([w["max_blocked_ns"]] + slept)
            w["polls"] += run.is_poll
            outer = run.outer
            while outer and s.is_helper(outer.type, seq):
                outer = outer.outer
            if not outer:
                w["busy_ns"] += (run.end if run.end is not None else s.duration) - run.start
        known = thr.worker_seq is not None
        w["kind"] = "worker" if known else "blocking" if thr.ran_blocking else "other"
        w["runtime_id"] = thr.runtime
        workers[thr.tid] = dict(w)
    return workers


def expected_flavours(s, report):
    """Where no name of a scheduler is known: by where the tasks ran."""
    named = {t["runtime_id"] for t in report["types"] if t["scheduler"]}
    flavours = {}
    for r in report["runtimes"]:
        places = s.places[r["id"]]
        names = ["multi_thread"] * ("in" in places) + ["current_thread"] * ("out" in places)
        if r["id"] not in named and r["name"] == "tokio":
            flavours[r["id"]] = "+".join(names) or None
    return flavours


def sort_key(t):
    return (t["id"], -1 if t["runtime_id"] is None else t["runtime_id"], t["spawn_ns"])


def compare(what, have, want, out):
    for k in want:
        if have.get(k, "absent") != want[k]:
            out.append(f"{what}: {k} is {have.get(k, 'absent')}, should be {want[k]}")


def named_types(report):
    """What dump calls a type: its name, or #N. Equal names must mean the same to be of use here."""
    types = {}
    for t in report["types"]:
        name = t["name"] or f"#{t['id']}"
        old = types.setdefault(name, t)
        if (old["kind"], old["runtime_id"]) != (t["kind"], t["runtime_id"]):
            sys.exit(f"two types of different kind are named {name}: dump does not tell them apart")
    return types


def check(futrace, path):
    report = json.loads(subprocess.run([futrace, "report", "--json", path], check=True,
                                       capture_output=True).stdout)
    text = subprocess.run([futrace, "dump", path], check=True, capture_output=True).stdout
    lines = text.decode("utf-8", "replace").split("\n")[:-1]
    events = [Event(i, line) for i, line in enumerate(lines)]
    s = Stream(events, named_types(report), report["duration_ns"])
    s.read()
    s.lost_at_end = any(
        report["lost_by_kind"].get(k, 0) > s.lost[k] for k in ("run-start", "run-end", "wake")
    )
    out = []
    tasks, unmatched = expected_tasks(s)
    have = sorted(report["tasks"], key=sort_key)
    want = sorted(tasks, key=sort_key)
    if len(have) != len(want):
        out.append(f"{len(have)} tasks, should be {len(want)}")
    for h, w in zip(have, want):
        compare(f"task {h['id']}", h, w, out)
        if "parent" in h and "parent" not in w:
            out.append(f"task {h['id']}: a parent of unknown origin")
        end = h["end_ns"] if h["end_ns"] is not None else report["duration_ns"]
        parts = sum(h[k] for k in ("busy_ns", "sched_ns", "idle_ns", "unknown_ns"))
        if end - h["spawn_ns"] != parts:
            out.append(f"task {h['id']}: its life is {end - h['spawn_ns']}, its parts {parts}")
    compare("flavours", {r["id"]: r["flavour"] for r in report["runtimes"]},
            expected_flavours(s, report), out)
    workers = expected_workers(s)
    have_workers = {w["tid"]: w for w in report["workers"]}
    if have_workers.keys() != workers.keys():
        out.append(f"threads {sorted(have_workers)}, should be {sorted(workers)}")
    for tid, w in workers.items():
        compare(f"thread {tid}", have_workers.get(tid, {}), w, out)
    compare("report", report, {"events": len(events), "spawns_unmatched": unmatched}, out)
    compare("lost_by_kind", report["lost_by_kind"],
            {k: v for k, v in s.lost.items() if k != "0" and not s.lost_at_end}, out)
    compare("damage", report["damage"], {"stray_events": s.stray}, out)
    for line in out[:20]:
        print(f"{path}: {line}")
    print(f"{path}: {len(have)} tasks, {len(workers)} threads, {len(events)} events:"
          f" {len(out)} differences")
    return not out


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    ok = [check(sys.argv[1], path) for path in sys.argv[2:]]
    sys.exit(0 if all(ok) else 1)


main()

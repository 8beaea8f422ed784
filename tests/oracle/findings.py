# SPDX-License-Identifier: MIT OR Apache-2.0
"""What each rule finds, with its figures: a function for each, which says what it looks for as the manual does.

Runs are taken in the order in which they ended, tasks in that of their ends, and of equals the first is the worst.
"""
import collections
import itertools
import re

import waits
from life import Slept, Told, Woken
from tables import by_type, percentile, thread

MS = 1_000_000
# Those of `futrace report --thresholds`, and such that something is found in a few hundred events.
USUAL = """
blocked-poll=10ms blocked-poll-critical=50ms blocked-poll-count=3 blocked-poll-share=5%
long-poll=10ms long-poll-critical=50ms long-poll-count=5
never-yields=1s
sched-delay=5ms sched-delay-count=5 sched-delay-share=10%
self-wakes=50% self-wakes-count=1000 self-wakes-rate=1000 self-wakes-poll=5us self-wakes-cost=2%
idle-wakes=1000 idle-wakes-rate=1000 idle-wakes-share=80% idle-wakes-poll=5us
worker-imbalance=80% worker-imbalance-wait=1ms
blocking-queue=10ms blocking-queue-count=5
lock-queue=2 lock-queue-count=20 lock-queue-span=50ms
task-leak=10 task-leak-time=1s
never-polled=100ms
cancel-storm=100 cancel-storm-share=50% cancel-storm-span=100ms
lost-panic=1
large-future=16KiB large-future-total=64MiB
""".split()
LOW = """
blocked-poll=1us blocked-poll-critical=100us blocked-poll-count=2 blocked-poll-share=1%
long-poll=1us long-poll-critical=100us long-poll-count=2
never-yields=10us
sched-delay=2us sched-delay-count=2 sched-delay-share=1%
self-wakes=20% self-wakes-count=2 self-wakes-rate=1 self-wakes-poll=100us self-wakes-cost=1%
idle-wakes=1 idle-wakes-rate=1 idle-wakes-share=1% idle-wakes-poll=50us
worker-imbalance=1% worker-imbalance-wait=1us
blocking-queue=1us blocking-queue-count=1
lock-queue=0 lock-queue-count=1 lock-queue-span=1us
task-leak=1 task-leak-time=1us
never-polled=1us
cancel-storm=1 cancel-storm-share=1% cancel-storm-span=1us
lost-panic=1
large-future=1KiB large-future-total=4KiB
""".split()
UNITS = {"us": 1000, "ms": MS, "s": 1000 * MS, "KiB": 1 << 10, "MiB": 1 << 20, "%": 1, "": 1}


def parse(limits):
    """"long-poll=10ms" as a name and a number."""
    found = {}
    for text in limits:
        name, number, unit = re.fullmatch(r"([a-z-]+)=(\d+)(\D*)", text).groups()
        found[name] = int(number) * UNITS[unit]
    return found


SEVERITIES = ("note", "warning", "critical")
SURELY_HELD_NS = 50 * MS


OFF_WORKERS = ("blocking", "block_on")


class Finding:
    def __init__(self, rule, severity, type_, harm, figures, **where):
        self.rule, self.severity, self.type, self.harm, self.figures = rule, severity, type_, harm, figures
        self.task, self.time, self.span, self.tid = (where.get(k) for k in ("task", "time", "span", "tid"))
        self.is_consequence = rule == "sched-delay"


def at_run(run, span):
    return {"task": run.life, "time": run.start, "span": span, "tid": run.tid}


class Facts:
    """What several rules look at."""

    def __init__(self, s, limits):
        self.s, self.limits = s, limits
        self.runs = s.told(Told)
        self.rows = {row["type_id"]: row for row in by_type(s)}
        self.threads = [dict(thread(s, t), is_launched=t.is_launched) for t in s.threads.values()]
        self.tasks = s.in_order(s.tasks)
        # So long workers waited for a CPU.
        self.off_cpu_ns = sum(self.waited(t["tid"], s.end) - self.waited(t["tid"], s.start)
                              for t in self.threads if t["kind"] == "worker")

    def waited(self, tid, time):
        return max((wait for at, _, wait in self.s.rec.thread_cpu.get(tid, []) if at < time), default=0)

    def group(self, type_):
        return self.s.rec.group(type_)

    def by_group(self, things, type_of):
        groups = collections.defaultdict(list)
        for x in things:
            groups[self.group(type_of(x))].append(x)
        return groups.items()

    def on_worker(self):
        """Runs that hold a worker: no closures of the blocking pool, none in block_in_place, and root futures only where
        their thread runs tasks, too."""
        return [r for r in self.runs if r.life.kind != "blocking" and not r.is_alone and not r.is_off_worker]

    def is_costly(self, ns):
        """5 % of the time that all workers together have."""
        nr = sum(t["kind"] == "worker" for t in self.threads)
        return ns and ns * 100 >= self.s.length * nr * 5


def blocked_poll(f):
    """Runs that slept. Those over the limit count, each as often as it is over; one is enough if it did not wait for a
    lock. Otherwise all sleeps together, if they are a share of the recording."""
    limits = f.limits
    for group, runs in f.by_group([r for r in f.on_worker() if r.blocked and not r.is_panicked], lambda r: r.life.type):
        over = [r for r in runs if r.blocked >= limits["blocked-poll"]]
        is_certain = any(r.slept_in & {"sleep", "epoll", "poll"} for r in over)
        count = 1 if is_certain else limits["blocked-poll-count"]
        longest = max(r.blocked for r in runs)
        severity = weigh(over, lambda r: r.blocked, limits["blocked-poll"], limits["blocked-poll-critical"], count)
        where = {}
        if severity:
            where = at_run(max(over, key=lambda r: r.blocked), longest)
        else:
            over, severity = runs, "warning"
            if 100 * sum(r.blocked for r in runs) < limits["blocked-poll-share"] * f.s.length:
                continue
        ns = sum(r.blocked for r in over)
        yield Finding("blocked-poll", severity, group, ns, {"polls": len(over), "blocked_ns": ns, "max_ns": longest},
                      **where)


def weigh(over, ns_of, limit, critical, count):
    """A run that is N times over the limit counts N times. None: too few."""
    if not over or sum(ns_of(r) // max(limit, 1) for r in over) < count:
        return None
    return "critical" if sum(ns_of(r) // max(critical, 1) for r in over) >= count else "warning"


def cpu_ns(run):
    return max(0, run.ns - run.blocked)


class Window:
    """Between two readings of what the kernel counted of a thread, with no long poll across them."""

    def __init__(self, start, end):
        self.start, self.end, self.polls = start, end, []

    def split(self, sleeps):
        """How long its long polls waited for a CPU, and how long they neither did nor had one."""
        took = sum(map(cpu_ns, self.polls))
        length, cpu, wait = (b - a for a, b in zip(self.start, self.end))
        awake = max(0, length - sum(max(0, min(b, self.end[0]) - max(a, self.start[0])) for a, b in sleeps))
        cpu = min(cpu, awake)
        at_least = min(took, max(0, cpu - max(0, awake - took)))
        wait = min(wait, awake - cpu, took - at_least)
        return took, wait, max(0, took - wait - cpu)


def find_windows(f, polls):
    """Windows of a thread, and the polls that are in none: after the last reading, or around another one."""
    windows, outside, last = [], [], 0
    for poll in polls:
        readings = f.s.rec.thread_cpu.get(poll.tid, [])
        end = next((c for c in readings if c[0] >= poll.end), None)
        is_outer, last = poll.start < last, poll.end
        if is_outer or not end or not cpu_ns(poll):
            outside.append(poll)
            continue
        if not windows or poll.start >= windows[-1].end[0]:
            windows.append(Window([(0, 0, 0), *(c for c in readings if c[0] <= poll.start)][-1], end))
        windows[-1].end = max(windows[-1].end, end)
        windows[-1].polls.append(poll)
    return windows, outside


def cpu_use(f, polls):
    """For each type of long polls: how long they waited for a CPU, neither did nor had one, or nobody knows."""
    wait, unseen, unknown = (collections.Counter() for _ in range(3))
    for tid in {p.tid for p in polls}:
        windows, outside = find_windows(f, [p for p in polls if p.tid == tid])
        for p in outside:
            unknown[f.group(p.life.type)] += cpu_ns(p)
        sleeps = [(a, b) for t, a, b in f.s.all_sleeps if t == tid]
        for w in windows:
            took, waited, rest = w.split(sleeps)
            for group, own in f.by_group(w.polls, lambda p: p.life.type):
                ns = sum(map(cpu_ns, own))
                wait[group] += waited * ns // took
                unseen[group] += rest * ns // took
    return wait, unseen, unknown


def long_poll(f):
    """Polls that took the limit without their sleeps, and did not panic. Without what they waited for a CPU they must
    count as well, and take half of the limit on average; if they do not, and were critical otherwise, there is a note."""
    limit, critical, count = (f.limits["long-poll" + x] for x in ("", "-critical", "-count"))
    over = [r for r in f.on_worker() if r.is_poll and not r.is_panicked and cpu_ns(r) >= limit]
    wait, unseen, unknown = cpu_use(f, over)
    for group, runs in f.by_group(over, lambda r: r.life.type):
        ns = sum(map(cpu_ns, runs))
        own = ns - wait[group]
        weight, heavy = (sum(cpu_ns(r) // max(x, 1) for r in runs) for x in (limit, critical))
        if weight < count:
            continue
        if own // max(limit, 1) >= count and own // len(runs) >= limit // 2:
            severity = "critical" if heavy >= count and own // max(critical, 1) >= count else "warning"
        elif heavy >= count:
            severity = "note"
        else:
            continue
        worst = max(runs, key=cpu_ns)
        yield Finding("long-poll", severity, group, own, {
            "polls": len(runs), "busy_ns": ns, "max_ns": cpu_ns(worst), "cpu_wait_ns": wait[group],
            "unseen_ns": unseen[group], "unknown_ns": unknown[group],
        }, **at_run(worst, cpu_ns(worst)))


def never_yields(f):
    """Tasks whose first run is their only poll and took the limit without its sleeps."""
    limit = max(1, f.limits["never-yields"])
    only = {r.life: r for r in f.on_worker() if r.is_first and r.is_poll and cpu_ns(r) >= limit}
    found = [only[t] for t in f.tasks if t in only and len(t.polls) == 1]
    for group, runs in f.by_group(found, lambda r: r.life.type):
        ns = sum(map(cpu_ns, runs))
        worst = max(runs, key=cpu_ns)
        yield Finding("never-yields", "critical", group, ns, {
            "tasks": len(runs), "open": sum(r.is_open for r in runs), "busy_ns": ns, "max_ns": cpu_ns(worst),
        }, **at_run(worst, cpu_ns(worst)))


def wait_of(run):
    return run.gap.get("sched", 0)


def overlap(run, victim):
    """How much of the victim's wait the run took."""
    return max(0, min(run.end, victim.start) - max(run.start, victim.start - wait_of(victim)))


class Harm:
    """What the runs of one type did to others, or nobody did."""

    def __init__(self):
        self.victims, self.harmed, self.worst = [], {}, {}

    def is_sure(self, f, count):
        """As many victims of holders that slept, or as many holders that surely held it. Otherwise their time must be
        certain, and one of them such, or as many that took the limit alone, or as many at all that were costly."""
        held = sum(self.harmed.values())
        sleepers = sum(is_asleep(w) for w in self.worst.values())
        sure = sum(is_asleep(r) or r.ns >= SURELY_HELD_NS for r in self.harmed)
        alone = sum(ns >= f.limits["sched-delay"] for ns in self.harmed.values())
        if max(sleepers, sure) >= count:
            return True
        return f.off_cpu_ns < held - held // 4 and (
            sure or alone >= count or len(self.harmed) >= count and f.is_costly(held))


def is_asleep(run):
    return 2 * run.blocked >= run.ns


def find_holders(f):
    """Each victim goes to the type whose runs took most of its wait, at least half of it: of the 1024 latest runs of
    its thread that took a tenth of the limit, those since one that ended before the wait."""
    limit = f.limits["sched-delay"]
    harms = collections.defaultdict(Harm)
    past = collections.defaultdict(list)
    for run in f.runs:
        if run.life.kind == "blocking" or run.is_alone:
            continue
        if run.is_poll and run.is_known and wait_of(run) >= limit:
            begin, end = run.start - wait_of(run), run.start
            latest = since(past[run.tid][-1024:], begin)
            took = collections.Counter()
            for held, group in latest:  # as overlap() has it, which is too slow for so many
                took[group] += max(0, min(held.end, end) - max(held.start, begin))
            most = max(took.values(), default=0)
            is_held = most and 2 * most >= wait_of(run)
            holder = next(g for g in took if took[g] == most) if is_held else "nobody"
            note_victim(harms[holder], [held for held, group in latest if group == holder], run)
        if run.ns >= limit // 10:
            past[run.tid].append((run, f.group(run.life.type)))
    return harms


def since(runs, time):
    """The last ones, up to one that ended by then."""
    return list(itertools.takewhile(lambda r: r[0].end > time, reversed(runs)))[::-1]


def note_victim(harm, holders, victim):
    harm.victims.append(victim)
    for held in holders:
        ns = overlap(held, victim)
        if ns:
            harm.harmed[held] = max(ns, harm.harmed.get(held, 0))
    if holders:
        harm.worst[victim] = max(holders, key=lambda r: overlap(r, victim))


def time_waited(victims):
    """How long there was one that waited, each counted from where those before it ended."""
    total = until = 0
    for v in victims:
        total += max(0, v.start - max(until, v.start - wait_of(v)))
        until = max(until, v.start)
    return total


def count_asleep(f, victims):
    """Those half of whose wait is in the latest sleep of their thread between runs, of those of a tenth of the limit."""
    nr, latest, wanted = 0, {}, set(victims)
    for x in f.s.log:
        if isinstance(x, Slept) and x.end - x.start >= f.limits["sched-delay"] // 10:
            latest[x.tid] = x
        elif x in wanted and x.tid in latest:
            nr += 2 * overlap(latest[x.tid], x) >= wait_of(x)
    return nr


def is_overload(f, victims):
    """Nobody held the worker: a hundred such waits and a share of all polls, in half of the time; and the workers slept
    in half of the waits, or were busy three quarters of the time."""
    polls = sum(row["polls"] for row in f.rows.values())
    workers = [t for t in f.threads if t["kind"] == "worker"]
    is_busy = 100 * sum(t["busy_ns"] for t in workers) >= 75 * f.s.length * len(workers)
    return (len(victims) >= 100 and 100 * len(victims) >= f.limits["sched-delay-share"] * polls
            and 100 * time_waited(victims) >= 50 * f.s.length
            and (is_busy or 2 * count_asleep(f, victims) >= len(victims)))


def sched_delay(f):
    """Polls that waited so long for a worker, by the type that held it; a note about those that nobody held."""
    count = f.limits["sched-delay-count"]
    for group, harm in find_holders(f).items():
        waits = [wait_of(v) for v in harm.victims]
        victim = max(harm.victims, key=wait_of)
        figures = {
            "polls": len(waits), "types": len({f.group(v.life.type) for v in harm.victims}), "wait_ns": sum(waits),
            "p99_ns": percentile(waits, 99), "max_ns": max(waits), "victim": victim.life.key[0],
        }
        if group == "nobody":
            if is_overload(f, harm.victims):
                yield Finding("sched-delay", "note", None, max(waits), figures, task=victim.life,
                              time=victim.start - max(waits), span=max(waits), tid=victim.tid)
        elif len(waits) >= count and harm.is_sure(f, max(1, count)):
            worst = harm.worst[victim]
            held = sum(harm.harmed.values())
            yield Finding("sched-delay", "warning", group, held,
                          dict(figures, holders=len(harm.harmed), held_ns=held), **at_run(worst, worst.ns))


def self_wakes(f):
    """Tasks with so many self-wakes, more than that share of their wakes, so many a second of their life, and runs
    after them that are shorter on average. A warning if these took that share of the time."""
    share, count, rate, poll, cost = (f.limits["self-wakes" + x] for x in ("", "-count", "-rate", "-poll", "-cost"))
    burnt = {t: sum(r.ns for r in t.runs if r.waker and r.waker.cause == "self") for t in f.tasks}

    def is_storm(life):
        nr = selfs(life)
        return nr and nr >= count and 100 * nr > share * len(life.wakes) and nr * 10**9 >= rate * (
            life.end_ns - life.begin) and burnt[life] // nr < poll

    for group, lives in f.by_group([t for t in f.tasks if is_storm(t)], lambda t: t.type):
        ns = sum(map(burnt.get, lives))
        worst = max(lives, key=burnt.get)
        nr = sum(map(selfs, lives))
        yield Finding("self-wakes", "note" if 100 * ns < cost * f.s.length else "warning", group, ns, {
            "tasks": len(lives), "self_wakes": nr,
            "self_wakes_percent": 100 * nr // sum(len(t.wakes) for t in lives), "busy_ns": ns,
        }, task=worst, time=worst.begin)


def selfs(life):
    return sum(w.cause == "self" for w in life.wakes)


def runs_for_nothing(f):
    """Short runs after a wake by another task or a thread, in which nobody was seen to be woken."""
    woke = set()  # threads on which a task has woken somebody since the latest run that ended there
    for x in f.s.told((Told, Woken)):
        if isinstance(x, Woken):
            woke |= {x.waker.tid} if x.waker.by_task else set()
        elif x.tid in woke:
            woke.discard(x.tid)
        elif x.ns < f.limits["idle-wakes-poll"] and x.waker and x.waker.cause in ("task", "thread"):
            yield x


def idle_wakes(f):
    """So many runs for nothing, so many a second, that share of the polls of the type, and costly. Each end of a task
    and each task that it spawned may have been one of them, and is taken off."""
    nr_limit, rate, share = (f.limits["idle-wakes" + x] for x in ("", "-rate", "-share"))
    children = collections.Counter(
        f.group(t.spawner.type) for t in f.s.all_lives
        if t.spawner and t.first_start[0] <= max(t.first_seq, t.is_cut and f.s.begin_seq - 1)
        and not f.s.is_helper(t.type, max(t.first_seq, f.s.begin_seq)))
    for group, runs in f.by_group(runs_for_nothing(f), lambda r: r.life.type):
        row = f.rows.get(group, {"tasks": 0, "alive": 0, "polls": 0})  # of what was unmasked as a helper
        nr = len(runs) - children[group] - (row["tasks"] - row["alive"])
        ns = sum(r.ns for r in runs)
        if (nr > 0 and nr >= nr_limit and nr * 100 >= row["polls"] * share and nr * 10**9 >= rate * f.s.length
                and f.is_costly(ns)):
            yield Finding("idle-wakes", "warning", group, ns, {
                "idle_wakes": nr, "polls": row["polls"], "share_percent": nr * 100 // max(1, row["polls"]),
                "busy_ns": ns, "tasks": row["tasks"],
            })


def waits_for_others(runs):
    """How much of its wait each run of a thread spent while others ran there, in their latest stretch without a pause
    of 100 us, and when that began."""
    since = until = 0
    for r in runs:
        start = max(since, r.start - wait_of(r))
        yield max(0, until - start), start, r
        if r.start > until + 100_000:
            since = r.start
        until = r.end


def worker_imbalance(f):
    """Of the workers of a multi-threaded runtime one is busy for that share of the time, at least three times as long
    as any other, and ten runs or more waited so long while it ran others, a tenth of its busy time together."""
    for runtime in f.s.rec.runtimes:
        workers = [t for t in f.threads
                   if t["kind"] == "worker" and t["is_launched"] and t["runtime_id"] == runtime["id"]]
        if len(workers) < 2:
            continue
        workers.sort(key=lambda t: -t["busy_ns"])
        first, second = workers[0], workers[1]["busy_ns"]
        busy = first["busy_ns"]
        runs = [r for r in f.runs if r.tid == first["tid"]]
        waits = [w for w in waits_for_others(runs) if w[0] >= f.limits["worker-imbalance-wait"]]
        waited = sum(ns for ns, *_ in waits)
        if (busy * 100 < f.s.length * f.limits["worker-imbalance"] or second > busy // 3 or len(waits) < 10
                or waited * 100 < busy * 10):
            continue
        longest, start, worst = max(waits, key=lambda w: w[0])
        yield Finding("worker-imbalance", "warning", main_holder(runs, busy), waited, {
            "busy_percent": busy * 100 // f.s.length, "next_busy_percent": second * 100 // f.s.length,
            "workers": len(workers), "waits": len(waits), "waited_ns": waited, "max_ns": longest,
        }, task=worst.life, time=start, span=longest, tid=first["tid"])


def main_holder(runs, busy):
    """The type that holds the worker more than all others together, run by run: what it has left over at the end is
    half of the busy time or more."""
    holder, left = None, 0
    for r in runs:
        if r.life.type == holder:
            left += r.ns
        elif left >= r.ns:
            left -= r.ns
        else:
            holder, left = r.life.type, r.ns - left
    return holder if left * 2 >= busy else None


def blocking_queue(f):
    """Closures that waited so long for a thread of the pool which was busy with another one when they came; a note if
    as many waited so long for one that was not."""
    last_end = collections.defaultdict(int)
    queued = set()
    polls = [r for r in f.runs if r.is_poll and r.life.kind == "blocking"]
    for r in polls:
        if last_end[r.tid] > r.start - wait_of(r):
            queued.add(r)
        last_end[r.tid] = r.end
    known = [r for r in polls if r.life.is_exact and r.is_known]
    for group, runs in f.by_group(known, lambda r: r.life.type):
        over = [r for r in runs if wait_of(r) >= f.limits["blocking-queue"]]
        late = [r for r in over if r in queued]
        nr_late = len(over) - len(late)
        if not late or len(late) < f.limits["blocking-queue-count"]:
            continue
        worst = max(late, key=wait_of)
        pool = sum(t["kind"] == "blocking" and t["runtime_id"] == worst.life.runtime for t in f.threads)
        ns = sum(map(wait_of, late))
        yield Finding("blocking-queue", "note" if nr_late >= len(late) else "warning", group, ns, {
            "queued": len(late), "closures": len(runs), "queued_ns": ns,
            "p99_ns": percentile([wait_of(r) for r in runs], 99), "max_ns": wait_of(worst), "pool_threads": pool,
            "late": nr_late,
        }, task=worst.life, time=worst.start - wait_of(worst), span=wait_of(worst), tid=worst.tid)


def lock_queue(f):
    """Lines at which on average so many tasks wait for an async lock, from the first of their waits to the end of the
    last. What a line waits for is what it waits longest for."""
    paths, at = f.s.rec.awaits, collections.defaultdict(list)
    for wait in sorted(waits.waits(f.s), key=lambda wait: wait.path or 0):  # of equals the first is the worst
        for seat in paths.seats(wait.path):
            at[seat].append(wait)
    for seat, mine in at.items():
        leaf = paths.seats(waits.longest(mine))[seat]["leaf"]
        known = [wait for wait in mine if wait.is_known]
        if leaf not in ("mutex", "rwlock", "semaphore") or not known:
            continue
        times = [wait.ns for wait in known]
        span = max(wait.end for wait in known) - min(wait.end - wait.ns for wait in known)
        limits = f.limits
        if not span or span < limits["lock-queue-span"] or len(mine) < limits["lock-queue-count"] or \
                sum(times) // span < limits["lock-queue"]:
            continue
        worst = max(known, key=lambda wait: wait.ns)
        groups = {f.group(wait.life.type) for wait in mine}
        yield Finding("lock-queue", "note" if leaf == "semaphore" else "warning", groups.pop() if len(groups) == 1 else None, span, {
            "waits": len(mine), "tasks": len({wait.life for wait in mine}), "waiters": sum(times) // span, "wait_ns": sum(times),
            "p99_ns": percentile(times, 99), "max_ns": max(times), "over_ns": span,
        }, task=worst.life, time=worst.end - worst.ns, span=worst.ns)


def task_leak(f):
    """Types with more live tasks at the end of each eighth of the time, with one exception at most, whose tasks that
    are left are four times as old (the median) as nine of ten that ended became, and half of which were not polled in
    the later half of their lives. A note if none ended.

    The time is that from the first task on, in windows of a power of two ns, at least 2**20, at most 64 of them: a task
    is born or ends in one of them. What was dropped counts as left if most of it was so in the last eighth.
    """
    s = f.s
    firsts = [x for x in s.all_lives if not s.is_helper(x.type, max(x.first_seq, s.begin_seq))]
    first = min(firsts, key=lambda x: x.changes[0], default=None)
    if not first:
        return
    # a spawn is known at the first run
    base = first.begin if first.first_start and first.first_start[0] == first.first_seq else first.time(first.first_seq)
    duration = s.end - base
    if duration < f.limits["task-leak-time"]:
        return
    width = 1 << 20
    while duration // width >= 64:
        width *= 2
    nr_windows = duration // width + 1
    last_poll = {r.life: r.end for r in f.runs if r.is_poll}
    quiet_ns = lambda t: t.end_ns - min(t.end_ns, max(t.begin, last_poll.get(t, 0)))  # noqa: E731
    least = max(1, f.limits["task-leak"]) + lost_runs(s)
    for group, lives in f.by_group(f.tasks, lambda t: t.type):
        if lives[0].kind in OFF_WORKERS:
            continue
        window = lambda ns: max(0, ns - base) // width  # noqa: E731
        dropped = [t for t in lives if t.end == "dropped"]
        late = sum(window(t.end_ns) >= nr_windows - nr_windows // 8 for t in dropped)
        is_left = {"alive", "dropped"} if 2 * late > len(dropped) else {"alive"}
        ended = [t for t in lives if t.end not in is_left]
        left = [t for t in lives if t.end in is_left]
        live = []
        for part in range(8):
            last = -(-nr_windows * (part + 1) // 8) - 1
            live.append(sum(window(t.begin) <= last for t in lives) - sum(window(t.end_ns) <= last for t in ended))
        age = lambda t: t.end_ns - t.begin  # noqa: E731
        grows = sum(b > a for a, b in zip(live, live[1:]))
        median, most = percentile([age(t) for t in left], 50) or 0, percentile([age(t) for t in ended], 90) or 0
        quiet = [t for t in left if 2 * quiet_ns(t) >= age(t)]
        if grows < 6 or live[7] < live[0] + least or median < 4 * most or 2 * len(quiet) < len(left):
            continue
        oldest = min((t for t in lives if t.end in ("alive", "dropped")), key=lambda t: t.begin)
        size = s.rec.types[group]["size_bytes"] if group is not None else None
        yield Finding("task-leak", "warning" if ended else "note", group, duration // 10, {
            "alive": live[7], "spawned": len(lives), "ended": len(ended),
            "more_per_s": int((live[7] - live[0]) * 1e9 / (duration // 8 * 7.0) + 0.5),
            **({"alive_bytes": size * live[7]} if size else {}),
        }, task=oldest, time=oldest.begin)


def lost_runs(s):
    """Every run that was lost may have been the last one of its task."""
    lost = s.rec.lost_by_kind
    return max(lost.get("run-start", 0), lost.get("run-end", 0)) + lost.get("unknown", 0) + s.lost["0"]


def never_polled(f):
    """Tasks without a poll that were runnable that long since a spawn that was seen, and were not cancelled."""
    unpolled = [t for t in f.tasks if not t.polls and t.is_exact and t.end != "cancelled"
                and t.ns["sched"] >= f.limits["never-polled"]]
    for group, lives in f.by_group(unpolled, lambda t: t.type):
        worst = max(lives, key=lambda t: t.ns["sched"])
        ns = sum(t.ns["sched"] for t in lives)
        longest = worst.ns["sched"]
        yield Finding("never-polled", "warning", group, ns, {
            "never_polled": len(lives), "tasks": f.rows[group]["tasks"], "waited_ns": ns, "max_ns": longest,
        }, task=worst, time=worst.begin, span=longest, tid=worst.spawn[1].tid)


def cancel_storm(f):
    """So many tasks cancelled, that share of those that ended and were not dropped, over that time; costly, or a
    twentieth completed."""
    for group, lives in f.by_group([t for t in f.tasks if t.end == "cancelled"], lambda t: t.type):
        row = f.rows[group]
        ended = row["completed"] + row["cancelled"] + row["panicked"]
        times = [t.end_ns for t in lives]
        if (len(lives) < f.limits["cancel-storm"] or len(lives) * 100 < ended * f.limits["cancel-storm-share"]
                or max(times) - min(times) < f.limits["cancel-storm-span"]):
            continue
        busy = sum(t.ns["busy"] for t in lives)
        if row["completed"] * 100 < ended * 5 and not f.is_costly(busy):
            continue
        worst = max(lives, key=lambda t: t.ns["busy"])
        yield Finding("cancel-storm", "warning" if f.is_costly(busy) else "note", group, busy, {
            "cancelled": len(lives), "ended": ended, "share_percent": len(lives) * 100 // ended,
            "never_polled": sum(not t.polls for t in lives), "wasted_ns": busy,
        }, task=worst, time=min(times), span=max(times) - min(times))


def lost_panic(f):
    """So many tasks that panicked and whose JoinHandle was dropped unread."""
    lost = [t for t in f.tasks if t.end == "panicked" and (t.let_go or not t.wanted)]
    for group, lives in f.by_group(lost, lambda t: t.type):
        if len(lives) >= f.limits["lost-panic"]:
            busy, first = sum(t.ns["busy"] for t in lives), min(lives, key=lambda t: t.end_ns)
            yield Finding("lost-panic", "warning", group, busy, {
                "lost_panics": len(lives), "panics": f.rows[group]["panicked"], "tasks": f.rows[group]["tasks"],
                "busy_ns": busy,
            }, task=first, time=first.end_ns)


def large_future(f):
    """Types whose future has that size; a warning if all that lived at one time had the other."""
    for group, row in f.rows.items():
        sizes = [t["size_bytes"] or 0 for t in f.s.rec.types if f.group(t["id"]) == group]
        size = max(sizes, default=0)
        if size and size >= f.limits["large-future"] and row["kind"] in ("task", "local"):
            total = size * row["peak"]
            yield Finding("large-future", "warning" if total >= f.limits["large-future-total"] else "note", group,
                          row["tasks"] * size // 10,
                          {"size_bytes": size, "tasks": row["tasks"], "peak_tasks": row["peak"], "peak_bytes": total})


RULES = (blocked_poll, long_poll, never_yields, sched_delay, self_wakes, idle_wakes, worker_imbalance, blocking_queue,
         lock_queue, task_leak, never_polled, cancel_storm, lost_panic, large_future)


def find(s, limits):
    """Worst first: by severity, consequences behind all others of it, then by harm."""
    facts = Facts(s, limits)
    found = [x for rule in RULES for x in rule(facts)]
    only = {x.type: x.harm for x in found if x.rule == "never-yields"}
    found = [x for x in found if x.rule != "long-poll" or only.get(x.type, -1) < x.harm]
    none = len(s.rec.types)
    return sorted(found, key=lambda x: (-SEVERITIES.index(x.severity), x.is_consequence, -x.harm,
                                        none if x.type is None else x.type, x.rule, x.time or 0, -(x.span or 0),
                                        x.task.key[0] if x.task else 0))


def as_json(s, x):
    where = {"task": x.task.key[0] if x.task else None}
    if x.task and x.task.runtime is not None:
        where["runtime_id"] = x.task.runtime
    return {
        "rule": x.rule, "severity": x.severity, "type": s.rec.type_name(x.type) if x.type is not None else None, **where,
        "location": s.rec.type_of(x.type).get("location"), "time_ns": x.time or 0, "span_ns": x.span or 0,
        "tid": x.tid, "figures": x.figures, "harm_ns": x.harm,
    }


def check(s, out, limits, have):
    want = [as_json(s, x) for x in find(s, parse(limits))]
    name = lambda x: (x["rule"], x["type"])  # noqa: E731
    if list(map(name, have)) != list(map(name, want)):
        out.append(f"findings are {list(map(name, have))}, should be {list(map(name, want))}")
        return
    for h, w in zip(have, want):
        out.compare(f"{w['rule']} of {w['type']}", h, w)

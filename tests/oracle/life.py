# SPDX-License-Identifier: MIT OR Apache-2.0
"""The lives of tasks, from the events: what futrace-report(1) says under DESCRIPTION.

Everything is kept: each run with what came before it, each wake with its waker. Spawns, ends and helpers are matched
when all has been read. Moments are numbers of events (`seq`): two events may have one time.
"""
import bisect
import collections

GRACE_NS = 1_000_000
LATE_GRACE_NS = 1_000_000_000

# Who made a task runnable. tid: where, None for a self-wake that is only inferred; type: of the task that did it, if one did
Waker = collections.namedtuple("Waker", "cause tid type by_task")
INFERRED = Waker("self", None, None, False)
Woken = collections.namedtuple("Woken", "life waker seq")
Slept = collections.namedtuple("Slept", "tid start end")  # outside of tasks


class Run:
    """One run on one thread; end is None while it is open."""

    def __init__(self, ev, key, type_, outer):
        self.start, self.seq, self.flags = ev.time, ev.seq, ev.flags
        self.tid, self.key, self.type, self.outer = ev.tid, key, type_, outer
        self.runtime = None
        self.path = int(ev.words.get("path", 0))
        self.end = self.end_seq = None
        self.end_flags = set()
        self.vanished = False
        self.idle_call = False  # it found its task taken by a shutdown, and did nothing
        self.has_panic = False  # one began in it
        self.off_seq = None  # when it gave its worker to another thread: block_in_place
        self.sleeps = []  # (from, to, number of the event that ended it, in what)

    @property
    def is_poll(self):
        return not self.flags and not self.idle_call


class Told:
    """A run as its task had it: from when it was the owner until another one was."""

    def __init__(self, life, seq, is_open, flags):
        run = life.owner
        self.life, self.run, self.tid, self.flags = life, run, run.tid, life.owner_flags
        self.start, self.end, self.is_open, self.path = life.owner_from, life.time(seq), is_open, run.path
        self.gap, self.waker, self.is_first = life.owner_gap, life.owner_waker, life.owner_first
        slept = [(b - max(a, self.start), what) for a, b, awake, what in run.sleeps if life.owner_seq < awake <= seq]
        self.sleeps = [ns for ns, _ in slept]
        self.slept_in = set().union(*(what for _, what in slept))
        self.seq = life.s.now
        self.is_panicked = "panicked" in flags or run.has_panic
        # a root whose thread runs no tasks keeps nobody waiting
        self.is_alone = life.kind == "block_on" and run.task_time <= life.begin

    @property
    def is_poll(self):
        return not self.flags

    @property
    def is_off_worker(self):
        return self.run.off_seq is not None and self.run.off_seq < self.seq

    @property
    def ns(self):
        return self.end - self.start

    @property
    def blocked(self):
        return sum(self.sleeps)

    @property
    def is_known(self):
        """All that came before it, since the run before or the spawn."""
        return "unknown" not in self.gap


def lost_between(losses, a, b):
    i = bisect.bisect_right(losses, a)
    return i < len(losses) and losses[i] < b


def takes_idle(flags):
    """A shutdown that goes through all tasks, not through a queue."""
    return "shutdown" in flags and "drop" not in flags


def took_it(flags):
    """Of the end of a shutdown."""
    return "panicked" in flags or {"complete", "notified"} <= flags


def found_taken(flags):
    """Of the end of a poll."""
    return {"notified", "cancelled"} <= flags and "panicked" not in flags


class Life:
    """One task, from all that concerns it."""

    def __init__(self, stream, key, ev):
        self.s, self.key, self.type, self.runtime = stream, key, ev.type, stream.runtime
        self.first_seq, self.first_start = ev.seq, None  # (number, address)
        self.ns = collections.Counter()
        self.runs = []  # Told
        self.wakes = []  # Waker
        self.ended = self.reason = self.wanted = None
        self.let_go = False  # its JoinHandle was dropped unread
        self.changes = [(ev.seq, 1)]  # of how many live
        self.joined = ev.seq  # those that live, or those that have ended
        self.is_local = False  # … although its type does not say so
        self.is_cut = False  # it was there before the start
        self.spawn = None
        self.begin = self.mark = self.first_time = ev.time
        self.mark_seq = ev.seq
        self.state, self.owner, self.shutdown = "unknown", None, None
        self.gap, self.next_waker, self.was_run = {}, None, False  # since the latest run
        self.notified, self.hint = False, None
        self.saw_shutdown = self.saw_finished = False
        self.rival = None  # a poll that began while a shutdown is the owner
        self.before_rival = None  # (notified, hint) when it began
        self.taken, self.grace = False, GRACE_NS  # ended by a shutdown that took it from the queue
        self.queue_unseen = False  # nothing told that the owner, a shutdown, found the task queued

    def add(self, seq, what, *rest):
        getattr(self, "ev_" + what)(seq, *rest)

    def time(self, seq):
        time = self.s.events[seq].time if seq < len(self.s.events) else self.s.end
        return time if self.s.begin_seq is None else max(time, self.s.start)

    def forget_past(self, seq):
        if self.rival:
            self.rival_was_void()
        self.ns.clear()
        self.runs, self.wakes, self.changes = [], [], [(seq - 0.5, 1)]
        self.begin = self.mark = self.s.start
        self.gap, self.is_cut = {}, True
        if self.owner:
            self.owner_from, self.owner_gap = self.s.start, {}

    def spend(self, what, seq):
        """All time since the mark goes to `what`."""
        ns = self.time(seq) - self.mark
        if what != "busy" and lost_between(self.s.loss, self.mark_seq, seq):
            what = "unknown"
        self.ns[what] += ns
        if what != "busy" and ns:
            self.gap[what] = self.gap.get(what, 0) + ns
        self.mark, self.mark_seq = self.time(seq), seq

    def close_run(self, seq, is_open=False, flags=()):
        self.spend("busy", seq)
        told = Told(self, seq, is_open, flags or self.over_flags)
        self.runs.append(told)
        self.s.log.append(told)

    def count_wake(self, waker):
        self.wakes.append(waker)
        self.next_waker = waker
        self.s.log.append(Woken(self, waker, self.s.now))

    def infer_wake(self, lost):
        if not lost:
            self.count_wake(self.hint or INFERRED)

    def ev_finished(self, seq, run):
        if self.owner and "shutdown" in run.flags:
            self.saw_finished = True

    def ev_start(self, seq, run, addr):
        self.first_start = self.first_start or (seq, addr)
        if self.ended is not None:
            self.revive(seq)
        if self.owner and takes_idle(run.flags):
            self.shutdown, self.saw_shutdown = run, True
        elif self.owner:
            self.start_over(seq, run)
        else:
            self.start_free(seq, run)

    def start_free(self, seq, run):
        lost = lost_between(self.s.loss, self.mark_seq, seq)
        unseen = False
        if self.state == "pending":
            queued = self.hint or not takes_idle(run.flags)
            if queued:
                self.infer_wake(lost)
            self.spend("sched" if queued else "idle", seq)
            unseen = not queued
        else:
            self.spend(self.state, seq)
            if self.state == "unknown":  # however long that was
                self.gap["unknown"] = self.gap.get("unknown", 0)
        self.own(run, seq, run.flags, unseen)

    def start_over(self, seq, run):
        """A poll begins although another run is open."""
        if self.rival:  # both cannot have come from one place in the queue: that one was real
            self.rival_was_real()
        if not takes_idle(self.owner_flags):
            lost = lost_between(self.s.loss, self.mark_seq, seq)
            self.close_run(seq)
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
        self.close_run(rival.seq)
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
        self.gap, self.next_waker, self.was_run = self.owner_gap, self.owner_waker, not self.owner_first
        self.spend("sched", shutdown.seq)
        self.own(shutdown, shutdown.seq, shutdown.flags)
        self.hint = hint

    def own(self, run, seq, flags, queue_unseen=False):
        self.owner, self.owner_from, self.owner_flags = run, self.time(seq), flags
        self.owner_seq, self.queue_unseen = seq, queue_unseen
        self.owner_gap, self.owner_waker, self.owner_first = self.gap, self.next_waker, not self.was_run
        self.gap, self.next_waker, self.was_run = {}, None, True
        self.over_flags = set()
        self.notified, self.hint = False, None
        self.saw_shutdown = self.saw_shutdown or "shutdown" in flags

    def ev_end(self, seq, run):
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
        elif self.owner and self.shutdown and not takes_idle(self.owner_flags):
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
        flags = self.over_flags = run.end_flags | self.over_flags
        self.close_run(seq, flags=flags)
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

    def revive(self, seq):
        """It had not ended: what was seen of its end was a later run's."""
        self.ended, self.state = None, "pending"
        self.changes.append((seq, 1))
        self.joined = seq

    def finish(self, flags, seq):
        self.ended, self.state, self.shutdown = self.time(seq), "ended", None
        self.changes.append((seq, -1))
        self.joined = seq
        self.taken = takes_idle(self.owner_flags) and took_it(flags)
        self.queue_unseen = self.queue_unseen and not self.notified
        self.grace = LATE_GRACE_NS if self.taken and self.queue_unseen else GRACE_NS
        self.wanted = "wanted" in flags and not self.let_go
        if "panicked" in flags:
            self.reason = "panicked"
        elif "shutdown" in self.owner_flags:
            self.reason = "dropped"
        elif "drop" in self.owner_flags:
            self.reason = "cancelled"
        elif "cancelled" not in flags or self.saw_finished:
            self.reason = "completed"
        else:
            self.reason = "dropped" if self.saw_shutdown else "cancelled"

    def is_queued(self, seq):
        return self.state == "sched" and not self.owner and not lost_between(self.s.loss, self.mark_seq, seq)

    def is_being_dropped(self):
        """Its memory may be another's before the run is over."""
        return self.owner is not None and "drop" in self.owner_flags

    def goes_on(self, ev):
        """Is a run at its address its own? A task keeps its type, and is not polled once it is dropped."""
        return self.type == ev.type and bool(ev.flags or not self.is_being_dropped())

    def may_be_queued(self, seq):
        """Its run may be over but for the stamp, and what woke itself is queued."""
        if lost_between(self.s.loss, self.mark_seq, seq) or self.is_being_dropped():
            return False
        woke_itself = self.state == "pending" and "notified" in self.over_flags
        return bool(self.owner or woke_itself or self.is_queued(seq))

    def ev_wake(self, seq, waker, running, tried):
        if tried and not lost_between(self.s.loss, self.mark_seq, seq):
            if self.is_queued(seq) or self.ended is not None:
                return
            running = running or self.owner
        if running:
            if (self.owner or self.state == "pending") and not self.hint:
                self.hint = waker
            return
        if self.ended is not None and self.taken:
            if self.queue_unseen:
                self.count_wake(waker)
            self.queue_unseen = False
            return
        if self.ended is not None:
            self.revive(seq)
        self.hint = None
        self.count_wake(waker)
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
            self.close_run(seq, is_open=True)
            return
        state = self.state
        if state == "pending":
            if self.hint and not lost:
                self.count_wake(self.hint)
            state = "sched" if self.hint else "idle"
        self.spend("unknown" if lost else state, seq)

    # What it was when all is over.

    @property
    def told_seq(self):
        """When the model told the task: helpers that were unmasked later were tasks until then."""
        if self.ended is None:
            return len(self.s.events)
        told = bisect.bisect_right(self.s.times, self.ended + self.grace)
        return told - 1 if told < len(self.s.events) else told

    @property
    def is_helper(self):
        return self.s.is_helper(self.type, self.told_seq)

    @property
    def end(self):
        return "alive" if self.ended is None else self.reason

    @property
    def end_ns(self):
        return self.s.end if self.ended is None else self.ended

    @property
    def polls(self):
        return [r for r in self.runs if r.is_poll]

    @property
    def kind(self):
        return "local" if self.is_local else self.s.rec.type_of(self.type)["kind"]

    @property
    def is_exact(self):
        """Its spawn was seen, and since the start."""
        return self.spawn is not None and not self.is_cut and self.spawn[1].time >= self.s.start

    @property
    def spawner(self):
        """The run that spawned it, if that was seen and looked like a task's."""
        return self.spawn[2] if self.spawn else None

    @property
    def parent(self):
        """… and did not turn out to be a helper's before the task was over."""
        return None if self.spawner and self.s.is_helper(self.spawner.type, self.told_seq) else self.spawner

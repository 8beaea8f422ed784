# SPDX-License-Identifier: MIT OR Apache-2.0
"""The events put in order: what each thread ran, and what concerns each task. Of a part of the recording (--time-range)
what was before is read too, and then forgotten."""
import collections
import functools

from life import Life, Run, Slept, Waker, lost_between
from spawns import find_lent_workers, match_spawns

HARMLESS = {"sleep", "awake", "panic", "thread-start", "thread-stop", "thread-name", "instance", "spawn-stack", "spawn-place",
            "task-number", "task-name", "end-of", "detach"}

FIRST_NUMBER = 10**12 + 1  # of tasks without ids where others of their copy of a runtime have some


class Thread:
    def __init__(self, tid):
        self.tid, self.stack, self.runs, self.sleeps = tid, [], [], []
        self.futures = []  # polls of inner futures that are open: the depth of the stack of each, its definition, when
        self.sleep_from = None
        self.sleep_in = set()
        self.is_seen = False
        self.worker_seq = None  # since when it is known to be a worker
        self.over = []  # depths of the stack where the ends of runs will come that are over already
        self.is_launched = False  # … because it ran the main loop of one
        self.ran_blocking = False
        self.runtime, self.is_runtime_sure = None, False
        self.instance = None  # the runtime that owns what it runs now
        self.number = self.numbered = 0  # the task that it runs next: what its runtime calls it, and its address
        self.task_time = 0  # when a task last began here, outside of any other run
        self.end_of = None  # of what the end is that comes next: task and future


class Stream:
    """The events, put in order by thread and by task: of all the time, or from start up to end."""

    def __init__(self, rec, start=0, end=None, wants=lambda life: True):
        self.rec, self.start, self.end = rec, start, rec.duration if end is None else end
        self.events = [e for e in rec.events if e.time < self.end or self.end == rec.duration]
        self.length = self.end - start
        self.times = [e.time for e in self.events]
        self.begin_seq = 0 if not start else None
        self.learnt = {t["id"]: -1 for t in rec.types if t["kind"] == "helper"}
        self.threads, self.lives, self.reaped, self.ever = {}, {}, [], []
        self.places = collections.defaultdict(set)  # of the tasks of a runtime, "in" a worker or "out"
        self.runtime = None  # of the task that is seen for the first time
        self.spawns = collections.defaultdict(list)  # by address
        self.waiting = {}  # the latest of them, until a task runs there
        self.by_addr, self.residents, self.nr_residents = set(), {}, 0
        self.loss, self.spawn_loss = [], []
        self.latest_spawn, self.stacks, self.local_runtimes = None, {}, set()
        self.lost = collections.Counter()
        self.stray, self.open_spans = 0, collections.Counter()
        self.log = []  # what happened, in the order in which it became certain: Told, Woken, Slept
        self.all_sleeps = []
        self.now = 0
        self.read()
        self.lost_at_end = self.length == rec.duration and any(
            rec.lost_by_kind.get(k, 0) > self.lost[k] for k in ("run-start", "run-end", "wake"))
        self.all_lives = self.reaped + list(self.lives.values())
        for life in sorted(self.all_lives, key=lambda x: x.joined):
            life.finalise()
        self.unmatched = match_spawns(self)
        find_lent_workers(self)
        self.all_lives = [life for life in self.all_lives if wants(life)]
        self.wanted = set(self.all_lives)
        self.tasks = [life for life in self.all_lives if not life.is_helper]

    def key_of(self, number, type_):
        of = self.rec.type_of(type_)
        return number, of["copy"], of["id"]

    def key(self, ev):
        return self.key_of(ev.id, ev.type)

    # Runtimes without ids: a task is named by its address, which comes again.
    def resident(self, addr):
        """The key of the task that lives there."""
        life = self.lives.get(self.residents.get(addr))
        return life.key if life and life.ended is None else None

    def on_task_number(self, ev, thr):
        thr.number, thr.numbered = int(ev.words["number"]), ev.id

    def new_number(self, ev, thr, copy):
        """What the runtime calls the task that begins to run, or else ours, out of the way of the runtime's own."""
        is_numbered = any(t["own_ids"] for t in self.rec.types if t["copy"] == copy)
        if is_numbered and thr.numbered == ev.addr and 0 < thr.number < FIRST_NUMBER \
                and (thr.number, copy) not in self.lives:
            return thr.number
        self.nr_residents += 1
        return self.nr_residents + (FIRST_NUMBER - 1 if is_numbered else 0)

    def key_of_run(self, ev, thr):
        """The number of the task in place of its address, if that names it."""
        if ev.id != ev.addr or not ev.addr:
            return self.key(ev)
        copy = self.rec.type_of(ev.type)["copy"]
        self.by_addr.add(ev.type)
        key = self.resident(ev.addr)
        if key and key[1] == copy and self.lives[key].goes_on(ev):
            return key
        self.residents.pop(ev.addr, None)
        if "finished" in ev.flags:  # it was over while it was queued: no other begins
            return self.key(ev)
        return self.new_number(ev, thr, copy), copy

    def is_helper(self, type_, seq):
        return self.learnt.get(type_, seq + 1) <= seq

    def is_root(self, type_):
        return type_ is not None and self.rec.type_of(type_)["kind"] == "block_on"

    def is_task(self, run, seq):
        return not self.is_helper(run.type, seq) and not self.is_root(run.type)

    def read(self):
        for ev in self.events:
            if self.begin_seq is None and ev.time >= self.start:
                self.forget_past(ev.seq)
            self.now = ev.seq
            thr = self.threads.setdefault(ev.tid, Thread(ev.tid))
            thr.is_seen = True
            getattr(self, "on_" + ev.kind.replace("-", "_"), lambda *_: None)(ev, thr)
        self.now = len(self.events)
        if self.begin_seq is None:
            self.forget_past(self.now)
        for thr in self.threads.values():
            if thr.sleep_from is not None:
                self.wake_up(thr, self.end)
        self.threads = {tid: thr for tid, thr in self.threads.items() if thr.is_seen}

    def forget_past(self, seq):
        """Now is the start: tasks that ended are gone, runs and sleeps that are open begin, and nothing else was."""
        self.begin_seq, self.stray = seq, 0
        self.lost.clear()
        self.reaped = []
        self.lives = {key: life for key, life in self.lives.items() if life.ended is None}
        for life in self.lives.values():
            life.forget_past(seq)
        self.log, self.all_sleeps = [], []
        for thr in self.threads.values():
            thr.sleeps, thr.runs = [], list(thr.stack)
            thr.is_seen = bool(thr.stack) or thr.sleep_from is not None
            if thr.sleep_from is not None:
                thr.sleep_from = self.start
            for run in thr.stack:
                life = self.lives.get(run.key)
                run.start, run.sleeps = self.start, []
                # another run of its task began since: its own poll was over before
                run.idle_call = run.idle_call or not life or run not in (life.owner, life.shutdown)

    # Which runtime a task belongs to.
    def is_owned(self, type_):
        return self.rec.type_of(type_)["kind"] in ("task", "local")

    def default_runtime(self, type_):
        return self.rec.only_runtime(self.rec.type_of(type_)["copy"], not self.is_owned(type_))

    def runtime_of(self, ev, thr):
        """Of a task that runs for the first time."""
        copy, default = self.rec.type_of(ev.type)["copy"], self.default_runtime(ev.type)

        def fits(runtime):
            return runtime is not None and self.rec.copies[runtime] == copy

        if self.is_owned(ev.type) or self.is_root(ev.type):
            return thr.instance if fits(thr.instance) else default
        mine = thr.runtime if fits(thr.runtime) else None
        if mine is not None and thr.is_runtime_sure:
            return mine
        if default is not None:
            return default
        maker = None
        if ev.addr in self.waiting:
            parent, tid, root = self.waiting[ev.addr]
            maker = parent.runtime if parent else None
            if root is not None and (parent or not self.is_helper(ev.type, ev.seq)):
                maker = root
            if maker is None and (parent or not self.is_helper(ev.type, ev.seq)) and self.threads[tid].is_runtime_sure:
                maker = self.threads[tid].runtime
        return maker if fits(maker) and maker not in self.rec.sets else mine

    def learn_runtime(self, ev, thr, run):
        outer = thr.stack[0] if thr.stack else None
        is_outermost = not outer or (len(thr.stack) == 1 and (
            self.is_helper(outer.type, ev.seq) or self.is_root(outer.type)))
        if ev.flags & {"shutdown", "finished"} or not is_outermost or run.runtime is None:
            return
        is_owned = run.type is not None and self.is_owned(run.type)
        leaves_set = thr.runtime in self.rec.sets and run.runtime not in self.rec.sets
        if thr.runtime is None or (is_owned and (not thr.is_runtime_sure or leaves_set)):
            thr.runtime = run.runtime
            thr.is_runtime_sure = thr.is_runtime_sure or is_owned

    def on_instance(self, ev, thr):
        thr.instance = self.rec.runtime_of_instance.get(int(ev.words["instance"]))

    def note_kind(self, thr, type_, seq):
        is_helper = self.is_helper(type_, seq)
        blocking = self.rec.type_of(type_)["kind"] == "blocking" and not is_helper
        if blocking:
            thr.ran_blocking = True
        else:
            thr.worker_seq, thr.is_launched = seq, is_helper

    def learn(self, ev, thr, type_):
        outer = thr.stack[0] if thr.stack else None
        if ev.flags & {"shutdown", "finished"}:
            return
        if self.is_root(outer.type if outer else type_):
            if self.rec.type_of(type_)["kind"] == "local" and thr.worker_seq is None:
                thr.worker_seq = ev.seq
            return
        if len(thr.stack) == 1 and self.rec.type_of(type_)["kind"] in ("task", "local"):
            t = self.rec.type_of(outer.type)
            if t["kind"] == "blocking" and not t["name"]:
                self.learnt.setdefault(outer.type, ev.seq)
        if thr.worker_seq is None:
            if outer is None:
                self.note_kind(thr, type_, ev.seq)
            elif self.is_helper(outer.type, ev.seq):
                self.note_kind(thr, outer.type, ev.seq)

    def is_hidden(self, ev, thr):
        """A worker enters its runtime as a root future does; and the poll of one is over when tasks of its runtime run."""
        top = thr.stack[-1] if thr.stack else None
        if top and self.is_root(ev.type) and self.is_helper(top.type, ev.seq):
            if self.spawns[ev.addr]:
                self.spawns[ev.addr].pop()
            if thr.instance is not None and self.rec.copies[thr.instance] == top.key[1]:
                thr.runtime, thr.is_runtime_sure = thr.instance, True
                self.places[thr.instance].add("in")
            thr.over.append(len(thr.stack))
            return True
        of = self.rec.type_of(ev.type)
        if top and self.is_root(top.type) and of["kind"] == "task" and of["copy"] == top.key[1] \
                and "shutdown" not in ev.flags:
            self.close(thr, ev, set(), False)
            thr.over.append(len(thr.stack))
        return False

    def on_run_start(self, ev, thr):
        if self.is_hidden(ev, thr):
            return
        key = self.key_of_run(ev, thr)
        thr.sleep_from = None
        # one task, one type: that of its first sighting in this life
        life = self.live(key, ev)
        type_ = life.type if life else ev.type
        run = Run(ev, key, type_, thr.stack[-1] if thr.stack else None)
        run.runtime = life.runtime if life else self.runtime_of(ev, thr)
        self.learn(ev, thr, type_)
        self.note_place(ev, thr, run)
        self.learn_runtime(ev, thr, run)
        run.task_time = thr.task_time
        if not thr.stack and not ev.flags and self.rec.type_of(type_)["kind"] in ("task", "local"):
            thr.task_time = ev.time
        thr.stack.append(run)
        thr.runs.append(run)
        if "finished" in ev.flags:
            if life:
                life.add(ev.seq, "finished", run)
            return
        self.runtime = run.runtime
        thr.numbered = 0
        is_local = not self.live(key, ev) and self.is_local(ev, thr, run)
        life = self.life(key, ev)
        life.is_local |= is_local
        self.stacks.pop(ev.addr, None)
        if not life.first_start:
            self.waiting.pop(ev.addr, None)
        if ev.id == ev.addr:
            self.residents[ev.addr] = key
            life.home = ev.tid
        life.add(ev.seq, "start", run, ev.addr)

    def note_place(self, ev, thr, run):
        if run.type is None or self.rec.type_of(run.type)["kind"] != "task":
            return
        if not ev.flags & {"shutdown", "finished"}:
            outer = thr.stack[-1] if thr.stack else None
            inside = outer and self.is_helper(outer.type, ev.seq) and outer.key[1] == run.key[1]
            self.places[run.runtime].add("in" if inside else "out")

    def on_end_of(self, ev, thr):
        key = self.resident(ev.id) if ev.type in self.by_addr else self.key(ev)
        thr.end_of = key or self.key(ev), ev.id, ev.type, int(ev.words["future"])

    def others(self, thr):
        """In the order in which the file defines them, which is that of their numbers in all that are simulated."""
        return sorted((t for t in self.threads.values() if t is not thr), key=lambda t: t.tid)

    def end_run_of(self, ev, thr, key, type_):
        """Not of the latest run of the thread, but of the latest of that task, wherever it began."""
        if self.is_root(type_) and thr.over and not any(run.key[:2] == key[:2] for run in thr.stack):
            thr.over.pop()
            return
        for of in [thr] + self.others(thr):
            for i in reversed(range(len(of.stack))):
                if of.stack[i].key[:2] == key[:2]:
                    of.over = [depth - (depth > i) for depth in of.over]
                    self.close(of, ev, ev.flags, False, i)
                    return
        self.stray += 1

    def on_run_end(self, ev, thr):
        thr.sleep_from = None
        if thr.end_of:
            key, _, type_, _ = thr.end_of
            thr.end_of = None
            self.end_run_of(ev, thr, key, type_)
            return
        if thr.over and thr.over[-1] == len(thr.stack):
            thr.over.pop()
            return
        if not thr.stack:
            self.stray += 1
            return
        self.close(thr, ev, ev.flags, False)

    def close(self, thr, ev, flags, vanished, index=None):
        is_top = index is None or index == len(thr.stack) - 1
        run = thr.stack.pop(-1 if is_top else index)
        inside = [f for f in thr.futures if (f[0] > len(thr.stack) if is_top else f[0] == index + 1)]
        self.stray += len(inside)
        thr.futures = [f if is_top or f[0] <= index else (f[0] - 1, *f[1:]) for f in thr.futures if f not in inside]
        run.end, run.end_seq, run.end_flags, run.vanished = ev.time, ev.seq, flags, vanished
        run.busy_ns = self.busy_until(thr, run, len(thr.stack) if is_top else index, ev) - run.start
        if "finished" not in run.flags and run.key in self.lives:
            self.lives[run.key].add(ev.seq, "end", run)

    def busy_until(self, thr, run, index, ev):
        """How long a run alone makes its thread busy: until another goes on with that, or not at all in another."""
        def busy(runs):
            return [r.start for r in runs if not self.is_helper(r.type, ev.seq)]

        if busy(thr.stack[:index]):
            return run.start
        return min(busy(thr.stack[index:]), default=ev.time)

    def waker(self, ev, thr, key, life):
        # whom a root wakes is woken by what is around it, but for itself
        stack = [r for r in thr.stack if not self.is_root(r.type) or (r is thr.stack[-1] and r.key == key)]
        top = stack[-1] if stack else None
        by_task = bool(top) and not self.is_helper(top.type, ev.seq)
        if by_task:
            cause = "self" if top.key == key else "task"
        elif top or thr.worker_seq is not None:
            cause = "worker"
        else:
            is_home = life and self.is_root(life.type) and life.home == ev.tid
            cause = "worker" if is_home else "thread"
        if "abort" in ev.flags and not (life and life.saw_shutdown):
            cause = "abort"
        return Waker(cause, ev.tid, top.type if by_task else None, by_task)

    def on_wake(self, ev, thr):
        key = self.resident(ev.id) if ev.type in self.by_addr else self.key(ev)
        if not key:
            return
        life = self.live(key, ev)
        waker = self.waker(ev, thr, key, life)
        self.runtime = self.default_runtime(ev.type)
        if life or not ev.flags & {"running", "tried"}:
            self.life(key, ev).add(ev.seq, "wake", waker, "running" in ev.flags, "tried" in ev.flags)

    def on_detach(self, ev, thr):
        key = self.resident(ev.id) if ev.type in self.by_addr else self.key(ev)
        if key in self.lives:
            self.lives[key].let_go = True

    def on_spawn_stack(self, ev, thr):
        spawn = self.latest_spawn
        if spawn and (spawn.tid, spawn.time) == (ev.tid, ev.time):
            self.stacks[spawn.addr] = int(ev.words["stack"]), spawn.seq

    def is_local(self, ev, thr, run):
        """Does a new task stay on its thread, although its type does not tell? Its spawn tells, or an earlier one of
        its runtime."""
        if not self.rec.local_stacks or self.rec.type_of(run.type)["kind"] != "task":
            return False
        stack, seq = self.stacks.get(ev.addr, (None, 0))
        is_local = stack in self.rec.local_stacks and not lost_between(self.spawn_loss, seq, ev.seq)
        if run.runtime is None or thr.instance != run.runtime:
            return is_local
        if is_local:
            self.local_runtimes.add(run.runtime)
        return run.runtime in self.local_runtimes

    def on_spawn(self, ev, thr):
        self.latest_spawn = None
        key = self.resident(ev.addr)
        if key and self.lives[key].may_be_queued(ev.seq):
            return
        self.residents.pop(ev.addr, None)
        self.latest_spawn = ev
        self.stacks.pop(ev.addr, None)
        parent = next((r for r in reversed(thr.stack) if self.is_task(r, ev.seq)), None)
        self.spawns[ev.addr].append((ev.seq, ev, parent))
        top = thr.stack[-1] if thr.stack else None
        self.waiting[ev.addr] = parent, ev.tid, top.runtime if top and self.is_root(top.type) else None

    def on_span_start(self, ev, thr):
        self.open_spans[ev.words["name"], ev.words["id"]] += 1

    def on_span_end(self, ev, thr):
        key = ev.words["name"], ev.words["id"]
        self.stray += not self.open_spans[key]
        self.open_spans[key] -= bool(self.open_spans[key])

    def on_panic(self, ev, thr):
        if thr.stack:
            thr.stack[-1].has_panic = True

    def on_sleep(self, ev, thr):
        thr.sleep_from, thr.sleep_in = ev.time, ev.flags

    def on_awake(self, ev, thr):
        if thr.sleep_from is None:
            self.stray += 1
            return
        self.wake_up(thr, ev.time)

    def wake_up(self, thr, time):
        span = (thr.sleep_from, time, self.now, thr.sleep_in)
        self.all_sleeps.append((thr.tid, thr.sleep_from, time))
        (thr.stack[-1].sleeps if thr.stack else thr.sleeps).append(span)
        if not thr.stack or self.is_helper(thr.stack[-1].type, self.now):
            self.log.append(Slept(thr.tid, thr.sleep_from, time))
        thr.sleep_from = None

    def on_future_start(self, ev, thr):
        thr.sleep_from = None
        thr.futures.append((len(thr.stack), int(ev.words["future"]), ev.seq))

    def end_future_of(self, thr, key, task, future):
        """The latest poll of that future: in that task, else on this thread, else anywhere."""
        def in_task(f):
            return task and 0 < f[0] <= len(thr.stack) and thr.stack[f[0] - 1].key[:2] == key[:2]

        here = [f for f in thr.futures if f[1] == future]
        ways = [(thr, [f for f in here if in_task(f)]), (thr, here)]
        ways += [(other, [f for f in other.futures if f[1] == future]) for other in self.others(thr)]
        for of, found in ways:
            if found:
                of.futures.remove(found[-1])
                return
        self.stray += 1

    def on_future_end(self, ev, thr):
        thr.sleep_from = None
        if thr.end_of:
            key, task, _, future = thr.end_of
            thr.end_of = None
            self.end_future_of(thr, key, task, future)
        elif not thr.futures:
            self.stray += 1
        else:
            thr.futures.pop()

    def on_thread_stop(self, ev, thr):
        thr.sleep_from, thr.over, thr.instance, thr.end_of = None, [], None, None
        self.stray += len(thr.futures)
        thr.futures = []
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
            self.ever.append(life)
        return life

    @staticmethod
    def in_order(lives):
        """As they were told when they had ended, or when all did."""
        return sorted(lives, key=lambda x: (x.told_seq, x.ended is None, x.grace, x.end_ns, x.joined))

    @functools.lru_cache(maxsize=4)
    def told(self, what):
        """Runs or wakes of tasks: not of what was known to be a helper by then."""
        return [x for x in self.log
                if isinstance(x, what) and x.life in self.wanted and not self.is_helper(x.life.type, x.seq)]

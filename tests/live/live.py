# SPDX-License-Identifier: MIT OR Apache-2.0
"""What every live test uses: staging, running as an ordinary user, recording, and reading both truths.

A test is a function with a decorator, `@test(...)`; the first line of its docstring says what it proves. It
gets a `Case`, raises `Failed` when something is not as it must be, and returns nothing. Nothing here waits
for a fixed time: a program says a line when it is ready, and every wait has a limit.
"""
import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import time

TIMEOUT_S = 180  # a command that takes longer hangs, however busy the machine is
USER_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DURATIONS = (1, 4, 16, 64)  # seconds of a recording: the next if on this machine the program came too late


class Failed(Exception):
    """The product, or the program, did something else than it must."""


class Skipped(Exception):
    """This machine cannot show it; the reason is printed and counted."""


class NotBuilt(Exception):
    """A program that the test needs is to be built first: `asked` are the names of its build and of the program."""

    def __init__(self, build, name):
        super().__init__(build, name)
        self.asked = build, name


TESTS = []
SLOW_BUILDS = ("await-v0", "await-small")  # that are not made for the usual run
# Topics whose tests count, and are right however long things take: others may run at the same time. Not those that make more
# events than futrace can take while others have the CPU, and allow no loss; that compare with a clock; or that attach a tracer to
# the agent, which then sees the programs of other tests too.
COUNTING = ("async_task", "badinput", "completion", "core", "dlopen", "doctor", "exact", "futures", "hang", "hostile", "kill", "life",
            "machines", "matrix", "memory", "outputs", "overlap", "paths", "places", "preload", "programs", "python", "reader",
            "reasons", "recompute", "record_cli", "report", "roots", "runtimes", "safety", "tables", "threads", "tree", "types", "wakes")


class Test:
    def __init__(self, func, args, as_root, only_root, slow, alone):
        self.func, self.args = func, args
        self.as_root, self.only_root = as_root, only_root
        self.slow = slow or any(a in SLOW_BUILDS for a in args)
        self.topic = func.__module__.removeprefix("test_")
        self.alone = alone or slow or self.topic not in COUNTING
        self.name = f"{self.topic}.{func.__name__}"
        if args:
            self.name += "[" + ", ".join(str(a) for a in args) + "]"
        self.proves = (func.__doc__ or "").strip().split("\n")[0]


def test(cases=((),), as_root=False, only_root=False, slow=False, alone=False):
    """Registers a test, once for each tuple of arguments in `cases`.

    as_root: also run as root when started by root; only_root: needs root; slow: only with --slow, as what
    needs a build that takes long; alone: not while others run.
    """
    def register(func):
        if not func.__doc__:
            raise SyntaxError(f"{func.__name__} does not say what it proves")
        for args in cases:
            TESTS.append(Test(func, args, as_root, only_root, slow, alone))
        return func
    return register


def check(cond, why):
    if not cond:
        raise Failed(why)


def same(what, got, want):
    if got != want:
        raise Failed(f"{what}: {short(got)}, should be {short(want)}")


def short(x, limit=600):
    s = x if isinstance(x, str) else repr(x)
    return s if len(s) <= limit else s[:limit] + f"… ({len(s)} characters)"


class Result:
    """A finished command. `status` is what a shell would say: 128+n after signal n."""

    def __init__(self, argv, returncode, out, err, seconds):
        self.argv, self.out, self.err, self.seconds = argv, out, err, seconds
        self.status = returncode if returncode >= 0 else 128 - returncode

    def __str__(self):
        return f"`{' '.join(self.argv)}` gave {self.status}\n{short(self.out)}\n{short(self.err)}"

    def ok(self):
        if self.status != 0:
            raise Failed(str(self))
        return self

    def failed(self, status=1):
        """It refused, with one line that a person can use."""
        same(f"status of {self}", self.status, status)
        lines = self.err.strip().split("\n")
        limit = 2 if status == 2 else 1
        check(1 <= len(lines) <= limit and lines[0].startswith("futrace"), f"not a one-line error: {self}")
        return self


class Process:
    """A command that is still running, in a session of its own."""

    def __init__(self, argv, popen):
        self.argv, self.popen, self.pid = argv, popen, popen.pid
        self._buf = {popen.stdout: b"", popen.stderr: b""}
        self.seen, self.seen_err = [], []

    def read_line(self, timeout=TIMEOUT_S, err=False):
        """The next line of stdout, or of stderr, or None at its end."""
        end = time.monotonic() + timeout
        f, seen = (self.popen.stderr, self.seen_err) if err else (self.popen.stdout, self.seen)
        while b"\n" not in self._buf[f]:
            if not select.select([f], [], [], max(0, end - time.monotonic()))[0]:
                raise Failed(f"{' '.join(self.argv)} said no line in {timeout} s; before: {seen[-3:]}")
            data = os.read(f.fileno(), 65536)
            if not data:
                return None
            self._buf[f] += data
        line, self._buf[f] = self._buf[f].split(b"\n", 1)
        seen.append(line.decode(errors="replace"))
        return seen[-1]

    def wait_line(self, text, timeout=TIMEOUT_S, err=False):
        while True:
            line = self.read_line(timeout, err)
            if line is None:
                raise Failed(f"ended before it said {text!r}: {self.finish()}")
            if text in line:
                return line

    def tell(self, text):
        self.popen.stdin.write(text.encode())
        self.popen.stdin.flush()

    def close_stdin(self):
        self.popen.stdin.close()

    def finish(self, timeout=TIMEOUT_S):
        began = time.monotonic()
        try:
            if self.popen.stdin and self.popen.stdin.closed:
                self.popen.stdin = None
            out, err = self.popen.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.kill_all()
            raise Failed(f"{' '.join(self.argv)} did not end in {timeout} s") from None
        return Result(self.argv, self.popen.returncode, self.all_of(self.popen.stdout, self.seen, out),
                      self.all_of(self.popen.stderr, self.seen_err, err), time.monotonic() - began)

    def all_of(self, f, seen, rest):
        """What was said on a stream: the lines that were read, and what came after them."""
        return "".join(s + "\n" for s in seen) + (self._buf[f] + (rest or b"")).decode(errors="replace")

    def wait(self, timeout=TIMEOUT_S):
        """Only waits for the process itself: others may still hold its streams."""
        try:
            rc = self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill_all()
            raise Failed(f"{' '.join(self.argv)} did not end in {timeout} s") from None
        return rc if rc >= 0 else 128 - rc

    def kill_all(self):
        """Ends the whole session that this command began. Its number is free again once the last one of it is gone, and
        then belongs to somebody else if a process has it though ours was waited for."""
        if self.popen.poll() is not None and os.path.exists(f"/proc/{self.pid}"):
            return
        for _ in range(3):
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                break
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait(TIMEOUT_S)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def children_of(pid):
    """Process ids of the children of a process, now."""
    found = []
    try:
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/children", encoding="ascii") as f:
                found += [int(p) for p in f.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def look_at_threads(pid):
    """Of each thread of a process its state, as a letter, and how often it has left its CPU."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8", errors="replace") as f:
                fields = dict(line.split(":", 1) for line in f if ":" in line)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended just now
        found[tid] = fields["State"].split()[0], fields["voluntary_ctxt_switches"], fields["nonvoluntary_ctxt_switches"]
    return found


def settle(process, pid=None):
    """Until all threads of it, or of that child of its, wait in the kernel. One of them may wake another between the looks at
    both, and go to sleep itself: so all are looked at twice, and none may have run meanwhile."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        threads = look_at_threads(pid or process.pid)
        if all(state == "S" for state, *_ in threads.values()) and look_at_threads(pid or process.pid) == threads:
            return
        if time.monotonic() > end:
            raise Failed(f"{process.argv} is busy though it should wait: {threads}")
        time.sleep(0.005)


class Settings:
    """Where the staged things are, and as whom to run."""

    def __init__(self, stage, uid, gid, home, runs, seed, built=None):
        """built: the programs that were built for this run so far, or None if all were that there are."""
        self.stage, self.uid, self.gid, self.home = stage, uid, gid, home
        self.runs, self.seed, self.built = runs, seed, built
        self.futrace = os.path.join(stage, "bin", "futrace")

    def env(self):
        return {
            "PATH": USER_PATH, "HOME": self.home, "TMPDIR": self.home, "LANG": "C.UTF-8", "RUST_BACKTRACE": "0",
        }


class Case:
    """One run of one test: a fresh folder of its user, and a random stream that can be repeated."""

    def __init__(self, settings, folder, name):
        self.s, self.dir = settings, folder
        self.futrace = settings.futrace
        self.runs = settings.runs
        self.random = random.Random(f"{settings.seed}:{name}")
        self._started = []

    def path(self, name):
        return os.path.join(self.dir, name)

    def need(self, build, name):
        """Ends the test, to run it again, if this program is not built yet."""
        if self.s.built is not None and (build, name) not in self.s.built:
            raise NotBuilt(build, name)

    def program(self, name, profile="release"):
        self.need(profile, name)
        p = os.path.join(self.s.stage, "programs", profile, name)
        check(os.path.exists(p), f"no test program {profile}/{name}: was it built?")
        return p

    def start(self, argv, stdin=subprocess.PIPE, cwd=None, env=None, stdout=subprocess.PIPE,
              stderr=subprocess.PIPE, preexec=None):
        drop = {}
        if os.geteuid() == 0 and self.s.uid != 0:
            drop = {"user": self.s.uid, "group": self.s.gid, "extra_groups": []}
        full = dict(self.s.env(), **(env or {}))
        p = subprocess.Popen(argv, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd or self.dir,
                             env=full, start_new_session=True, preexec_fn=preexec, **drop)
        process = Process(argv, p)
        self._started.append(process)
        return process

    def run(self, *argv, stdin=b"", timeout=TIMEOUT_S, **more):
        p = self.start(list(argv), **more)
        began = time.monotonic()
        try:
            out, err = p.popen.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            p.kill_all()
            raise Failed(f"`{' '.join(argv)}` did not end in {timeout} s") from None
        return Result(list(argv), p.popen.returncode, (out or b"").decode(errors="replace"),
                      (err or b"").decode(errors="replace"), time.monotonic() - began)

    def until(self, what, is_so):
        """Waits, with the usual limit, for what cannot be waited for in another way than to look again."""
        end = time.monotonic() + TIMEOUT_S
        while not is_so():
            if time.monotonic() > end:
                raise Failed(f"it does not come about that {what}; {self.casualties()}")
            time.sleep(0.01)

    def casualties(self):
        """What was started and has ended, but not well: of a test that failed since nobody answered any more."""
        ended = [(p.popen.poll(), p.argv) for p in self._started]
        return [f"{' '.join(argv)}: ended with {status}" for status, argv in ended if status]

    def close(self):
        for p in self._started:
            p.kill_all()
            for f in (p.popen.stdin, p.popen.stdout, p.popen.stderr):
                if f:
                    try:
                        f.close()
                    except OSError:
                        pass
        self._started.clear()

    # futrace

    def record_argv(self, *cmd, opts=(), out="t.data"):
        where = ["-o", self.path(out)] if out else []
        return [self.futrace, "record", *where, *opts, "--", *cmd]

    def record(self, *cmd, opts=(), out="t.data", **more):
        return self.run(*self.record_argv(*cmd, opts=opts, out=out), **more)

    def report(self, name="t.data"):
        r = self.run(self.futrace, "report", "--json", self.path(name)).ok()
        try:
            rep = json.loads(r.out)
        except ValueError as e:
            raise Failed(f"report --json is no JSON: {e}: {short(r.out)}") from None
        same("schema", rep.get("schema"), 1)
        for key in ("duration_ns", "events", "lost", "runtimes", "tasks", "workers", "findings"):
            check(key in rep, f"report --json has no {key}")
        return rep

    def info(self, name="t.data"):
        return self.run(self.futrace, "info", self.path(name)).ok().out

    def dump(self, name="t.data"):
        return self.run(self.futrace, "dump", self.path(name)).ok().out


# The program's truth

def truth(text, kind=None):
    """The truth lines of a program's output; all, or those of one kind."""
    found = []
    for line in text.split("\n"):
        if line.startswith('{"truth"'):
            t = json.loads(line)
            if kind in (None, t["truth"]):
                found.append(t)
    return found


def total(text):
    """The last line of totals."""
    t = truth(text, "total")
    check(t, f"the program printed no truth: {short(text)}")
    return t[-1]


def line_of(path, function):
    """Where a source file defines a function: its name and the line, as a place in the report ends."""
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if re.search(rf"\bfn {function}\b", line):
                return f"/{os.path.basename(path)}:{number}"
    raise Failed(f"{path} has no function {function}")


# The report's view

def user_tasks(rep):
    return [t for t in rep["tasks"] if t["kind"] in ("task", "local", "blocking")]


def nr_lost(rep, kind=None):
    """Lost events, all or of one kind."""
    return rep["lost"] if kind is None else rep["lost_by_kind"].get(kind, 0)


def sum_polls(rep):
    return sum(t["polls"] for t in user_tasks(rep))


SEVERITIES = ("critical", "warning", "note")


def findings_of(rep):
    """The findings, each with all that it must have, worst first."""
    found = rep["findings"]
    for f in found:
        for key in ("rule", "severity", "type", "task", "location", "figures", "advice"):
            check(key in f, f"no {key} in {f}")
        check(f["severity"] in SEVERITIES, f"severity {f['severity']}")
        check(len(f["advice"]) > 20, f"no advice in {f}")
    ranks = [SEVERITIES.index(f["severity"]) for f in found]
    same("ranks of the findings", ranks, sorted(ranks))
    return found


def show_findings(found):
    return "; ".join(f"{f['rule']} {f['type']} {f['figures']}" for f in found) or "nothing"

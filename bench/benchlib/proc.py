# SPDX-License-Identifier: MIT OR Apache-2.0
"""Starting the measured programs and reading what they used.

Only CPU time of the measured program itself, read inside it around each repetition, is compared: wall time on
a shared machine says more about the neighbours.  The harness and the tools run on one core, the measured
program binds itself to another (BENCH_CPU).
"""

import dataclasses
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time


class Failed(Exception):
    """A run that gave no figure; the text says why and ends up in the table."""


@dataclasses.dataclass
class Ended:
    lines: list  # (name, {key: number}) of each `NAME KEY=NUMBER...` line of stdout
    stdout: str
    stderr: str
    status: int
    cpu_ns: int  # of the process and all the children it waited for
    wall_ns: int
    peak_bytes: int = 0  # resident, where it was watched
    out_bytes: int = 0  # of stdout, where it was only counted
    marks: list = dataclasses.field(default_factory=list)  # CPU of argv's own process at each of `lines`, where it was read


class Place:
    """Where the run happens: the two cores and a temporary folder that goes away."""

    def __init__(self):
        self.cores = sorted(os.sched_getaffinity(0))
        self.tool_core, self.core = self.cores[0], self.cores[-1]
        self.dir = tempfile.mkdtemp(prefix="futrace-bench-")
        self.env = dict(os.environ, BENCH_CPU=str(self.core), LC_ALL="C")
        self.env["XDG_CACHE_HOME"] = self.path("cache")
        for name in ("LD_PRELOAD", "RUST_LOG", "DIAL9_OUT", "DIAL9_SPAWN"):
            self.env.pop(name, None)

    def bind(self):
        os.sched_setaffinity(0, {self.tool_core})

    def path(self, name):
        return os.path.join(self.dir, name)

    def fresh(self, name):
        """A path at which nothing is left of an earlier run."""
        path = self.path(name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)
        return path

    def release(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def parse(text):
    lines = []
    for line in text.splitlines():
        words = line.split()
        pairs = [w.split("=", 1) for w in words[1:] if "=" in w]
        values = {k: int(v) for k, v in pairs if v.isdigit()}
        if values:
            lines.append((words[0], values))
    return lines


def peak_bytes(pid):
    """What the kernel has seen at most of the memory of a process; 0 when it is over."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            return max((int(l.split()[1]) * 1024 for l in f if l.startswith("VmHWM:")), default=0)
    except OSError:
        return 0


class MemoryWatch(threading.Thread):
    """Reads the peak until the process is over.  (What wait4 tells includes the memory of the harness before exec.)"""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.is_over = pid, 0, threading.Event()
        self.start()

    def run(self):
        while not self.is_over.wait(0.01):
            self.peak = max(self.peak, peak_bytes(self.pid))

    def end(self):
        self.is_over.set()
        self.join()
        return self.peak


def count_output(place, argv, timeout=300):
    """Runs argv, watches its memory, and counts what it writes instead of keeping it."""
    with tempfile.TemporaryFile(dir=place.dir) as err:
        start = time.monotonic_ns()
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, env=place.env, bufsize=0)
        timer = threading.Timer(timeout, child.kill)
        timer.start()
        watch = MemoryWatch(child.pid)
        nr, buf = 0, bytearray(1 << 20)
        while got := child.stdout.readinto(buf):
            nr += got
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.stdout.close()
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        stderr = err.read().decode(errors="replace")
    if child.returncode:
        raise Failed(f"{os.path.basename(argv[0])} ended with status {child.returncode}: {last_line(stderr)}")
    cpu_ns = int((usage.ru_utime + usage.ru_stime) * 1e9)
    return Ended([], "", stderr, 0, cpu_ns, time.monotonic_ns() - start, watch.end(), nr)


def run(place, argv, env=None, timeout=120, to_null=False, watch_memory=False):
    """Runs argv to its end; `to_null` throws its output away."""
    full = dict(place.env, **(env or {}))
    with tempfile.TemporaryFile(dir=place.dir) as out, tempfile.TemporaryFile(dir=place.dir) as err:
        sink = subprocess.DEVNULL if to_null else out
        start = time.monotonic_ns()
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=sink, stderr=err, env=full)
        timer = threading.Timer(timeout, child.kill)
        timer.start()
        watch = MemoryWatch(child.pid) if watch_memory else None
        _, status, usage = os.wait4(child.pid, 0)
        wall_ns = time.monotonic_ns() - start
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        stdout = out.read().decode(errors="replace")
        stderr = err.read().decode(errors="replace")
    cpu_ns = int((usage.ru_utime + usage.ru_stime) * 1e9)
    ended = Ended(parse(stdout), stdout, stderr, child.returncode, cpu_ns, wall_ns, watch.end() if watch else 0)
    if ended.status:
        raise Failed(f"{os.path.basename(argv[0])} ended with status {ended.status}: {last_line(stderr)}")
    return ended


def cpu_ns(pid):
    """CPU time of a whole process, threads that ended included, children not: the clock of clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def target_of(tool_pid):
    """The child of the tool that is another program than it: the tool may have workers of its own."""
    own = os.readlink(f"/proc/{tool_pid}/exe")
    with open(f"/proc/{tool_pid}/task/{tool_pid}/children", encoding="ascii") as f:
        return next(int(pid) for pid in f.read().split() if os.readlink(f"/proc/{pid}/exe") != own)


def run_marked(place, argv, env=None, timeout=120):
    """Runs argv to its end, and reads the CPU time of its own process whenever a line comes: what it used between two lines
    is free of its start and its end."""
    marks = []
    with Background(place, argv, env, timeout) as child:
        for line in child.child.stdout:
            child.seen += line
            if parse(line):
                marks.append(cpu_ns(child.child.pid))
        ended = child.end()
    ended.marks = marks
    if ended.status:
        raise Failed(f"{os.path.basename(argv[0])} ended with status {ended.status}: {last_line(ended.stderr)}")
    return ended


def last_line(text):
    lines = [l.strip() for l in text.splitlines() if l.strip()]
    return lines[-1][:160] if lines else "no message"


class Background:
    """A process that runs beside others: start, wait for a line of its stdout, interrupt it, read the rest."""

    def __init__(self, place, argv, env=None, timeout=120, stdin=subprocess.DEVNULL):
        full = dict(place.env, **(env or {}))
        self.argv = argv
        self.err = tempfile.TemporaryFile(dir=place.dir)
        self.child = subprocess.Popen(
            argv, stdin=stdin, stdout=subprocess.PIPE, stderr=self.err, env=full, text=True
        )
        self.timer = threading.Timer(timeout, self.child.kill)
        self.timer.start()
        self.seen = ""

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.child.returncode is None:
            self.child.kill()
            self.end()

    def wait_for(self, word):
        for line in self.child.stdout:
            self.seen += line
            if word in line:
                return line
        self.end()
        raise Failed(f"{self.argv[0]} ended before it was ready: {last_line(self.error())}")

    def interrupt(self):
        self.child.send_signal(signal.SIGINT)

    def error(self):
        self.err.seek(0)
        return self.err.read().decode(errors="replace")

    def end(self):
        """Waits for the end; the result has the CPU time of the process and its children."""
        if self.child.returncode is None:
            if self.child.stdin:
                self.child.stdin.close()
            self.seen += self.child.stdout.read()
            _, status, usage = os.wait4(self.child.pid, 0)
            self.child.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_ns = int((usage.ru_utime + usage.ru_stime) * 1e9)
        self.timer.cancel()
        stderr = self.error()
        return Ended(parse(self.seen), self.seen, stderr, self.child.returncode, self.cpu_ns, 0)

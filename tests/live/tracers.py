# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tracers that know probes, run for real, as root: bpftrace and perf; and the semaphores that they raise."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

from live import TIMEOUT_S, Failed, Skipped, check

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT, PROBES = "libfutrace-agent.so", "libfutrace-probes.so"
TICK_NS = 100_000_000
AGAIN_S = 3
# What perf recorded, in order. Now and then it has the same event of a thread twice, at the same nanosecond: it is one.
PERF_SCRIPT = "perf script --ns -F tid,time,event,trace 2>/dev/null -i p.data | awk '!seen[$0]++'"
NOTE = re.compile(r"Provider: (\S+)\s+Name: (\S+)\s+Location: (\S+), Base: (\S+), Semaphore: (\S+)\s+Arguments: ?(.*)")


def table():
    """probes.def: (provider, name, name in C, [(type, name)])."""
    with open(os.path.join(HERE, "../../src/wire/probes.def"), encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    found = re.findall(r'PROBE\(\w+, (\w+), (\w+), "([^"]+)",(.*?)(?=\nPROBE|\Z)', text, re.S)
    return [(provider, name, c_name, re.findall(r"ARG\(\d, (\w+), (\w+)\)", args)) for provider, c_name, name, args in found]


def need(*commands):
    for c in commands:
        if not shutil.which(c):
            raise Skipped(f"{c} is not installed (tools/setup test)")


def library(t, name):
    return os.path.join(os.path.dirname(t.futrace), name)


def notes(path):
    """(provider, name) -> (address of the semaphore, operands), as readelf has them."""
    out = subprocess.run(["readelf", "-n", path], check=True, stdout=subprocess.PIPE).stdout.decode()
    return {(m[1], m[2]): (int(m[5], 16), m[6]) for m in NOTE.finditer(out)}


def sites(path):
    """(provider, name) -> addresses of its sites, in their order."""
    out = subprocess.run(["readelf", "-n", path], check=True, stdout=subprocess.PIPE).stdout.decode()
    found = {}
    for m in NOTE.finditer(out):
        found.setdefault((m[1], m[2]), []).append(int(m[3], 16))
    return found


def base_of(pid, path):
    """Where a process has the library."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        bases = [int(line.split("-")[0], 16) for line in f if line.rstrip().endswith(path) and line.split()[2] == "00000000"]
    check(len(bases) == 1, f"{path} is {len(bases)} times in process {pid}")
    return bases[0]


def semaphores(pid, path):
    """(provider, name) -> how many are attached, in the memory of a process."""
    base, found = base_of(pid, path), {}
    with open(f"/proc/{pid}/mem", "rb") as f:
        for probe, (address, _) in notes(path).items():
            f.seek(base + address)
            found[probe] = struct.unpack("<H", f.read(2))[0]
    return found


class Canary:
    """A process with the libraries in it, and no futrace: it shows when a tracer is attached to them."""

    def __init__(self, t):
        self.t = t
        self.paths = [library(t, AGENT), library(t, PROBES)]
        self.process = t.start(["sleep", "3600"], env={"LD_PRELOAD": ":".join(self.paths)})
        self.wait(lambda: all(self.is_mapped(p) for p in self.paths), "the libraries")

    def is_mapped(self, path):
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as f:
            return path in f.read()

    def wait(self, condition, what):
        end = time.monotonic() + TIMEOUT_S
        while not condition():
            if time.monotonic() > end:
                raise Failed(f"waited in vain for {what}")
            time.sleep(0.01)

    def attached(self):
        return {(os.path.basename(p), *probe): nr for p in self.paths
                for probe, nr in semaphores(self.process.pid, p).items() if nr}

    def wait_attached(self, nr):
        self.wait(lambda: len(self.attached()) >= nr, f"{nr} probes to be attached; there are {self.attached()}")

    def wait_detached(self):
        self.wait(lambda: not self.attached(), f"the semaphores to be 0: {self.attached()}")


def interrupted(tracer):
    """Tells a bpftrace to end, and what it said then. A signal that comes while it prints something it overlooks: it comes again."""
    over = threading.Event()

    def interrupt():
        tracer.popen.send_signal(signal.SIGINT)
        while not over.wait(AGAIN_S):
            tracer.popen.send_signal(signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        return tracer.finish()
    finally:
        over.set()
        thread.join()


class Bpftrace:
    """`with Bpftrace(t, script, nr) as b:` is attached to nr probes inside; afterwards b.maps and b.lines are there.

    What was printed before it is told to end may still be in a buffer that it does not look at any more: so it ticks.
    """

    def __init__(self, t, script, nr):
        need("bpftrace")
        self.canary = Canary(t)
        self.nr = nr
        env = {"BPFTRACE_MAP_KEYS_MAX": "100000", "BPFTRACE_STRLEN": "100", "BPFTRACE_PERF_RB_PAGES": "2048"}
        script += f' interval:ms:{TICK_NS // 1_000_000} {{ printf("tick %llu\\n", nsecs); }}'
        self.process = t.start(["bpftrace", "-f", "json", "-B", "line", "-e", script], env=env)

    def __enter__(self):
        try:
            self.canary.wait_attached(self.nr)
        except Failed as e:
            self.process.kill_all()
            raise Failed(f"{e}; {self.process.finish()}") from None
        return self

    def __exit__(self, kind, value, trace):
        now = time.monotonic_ns()
        while int(self.process.wait_line('"tick').split()[-1].split("\\n")[0]) < now + TICK_NS:
            pass
        r = interrupted(self.process)
        if kind:
            return
        self.canary.wait_detached()
        self.maps, self.lines = {}, []
        for line in r.out.splitlines():
            if not line.startswith("{"):
                continue
            o = json.loads(line)
            if o["type"] == "map":
                self.maps.update(o["data"])
            elif o["type"] == "printf" and not o["data"].startswith("tick"):
                self.lines.append(o["data"].rstrip("\n"))
            elif o["type"] == "lost_events":
                raise Failed(f"bpftrace lost {o['data']}")


def with_tracefs(*argv):
    """A command that has tracefs where tracers look for it; the system's mounts stay as they are."""
    mount = "grep -q ' /sys/kernel/tracing tracefs' /proc/mounts || mount -t tracefs nodev /sys/kernel/tracing"
    return ["unshare", "--mount", "sh", "-ec", f'{mount}; exec "$@"', "sh", *argv]


def in_tracefs(t, script, **more):
    """The same for a shell script."""
    need("perf", "unshare")
    return t.run(*with_tracefs("sh", "-ec", script), **more)

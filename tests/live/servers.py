# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the servers of tests/servers, and mini-redis as its crate has it, and starts them.

mini-redis was published with the lock file of its day, and so with Tokio 1.8. It is built with that and with one of ours, which
has the newest Tokio.
"""
import os
import re
import shutil
import subprocess
import sys

import live
import suites

HERE = os.path.dirname(os.path.abspath(__file__))
SERVERS = os.path.join(os.path.dirname(HERE), "servers")
sys.path.insert(0, SERVERS)
import load  # noqa: E402

FAST = ("axum", "smol")
SLOW = ("actix", "tide")
MINI_REDIS = {"mini-redis": os.path.join(SERVERS, "mini-redis.lock"), "mini-redis-1.8": None}
ALL = (*FAST, *SLOW, *MINI_REDIS)


def cargo(folder, target_dir, *args):
    subprocess.run(["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", target_dir, *args], cwd=folder,
                   check=True)


def build_mini_redis(target_dir, name):
    lock, folder = MINI_REDIS[name], os.path.join(target_dir, name, "source")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(suites.sources()["mini-redis"], folder)
    if lock:
        shutil.copy(lock, os.path.join(folder, "Cargo.lock"))
    cargo(folder, os.path.join(target_dir, name), "--bin", "mini-redis-server")


def build_servers(target_dir, names):
    cargo(SERVERS, os.path.join(target_dir, "servers"), "--features", ",".join(names))


def build(target_dir, is_all):
    build_servers(target_dir, FAST + (SLOW if is_all else ()))
    for name in MINI_REDIS if is_all else ():
        build_mini_redis(target_dir, name)


def load_of(name):
    return load.Redis if name in MINI_REDIS else load.Http


class Server:
    """A running server, alone or recorded; on a core of its own, if one is given."""

    def __init__(self, t, name, trace=None, core=None):
        argv, self.port = ["taskset", "-c", str(core)] if core is not None else [], None
        if name in MINI_REDIS:
            self.port = live.free_port()
            argv += [t.program("mini-redis-server", name), "--port", str(self.port)]
        else:
            argv += [t.program(f"on-{name}", "servers")]
        self.process = t.start(t.record_argv(*argv, opts=["-q"], out=trace) if trace else argv)
        if self.port is None:
            self.port = int(re.search(r":(\d+)$", self.process.wait_line("listening"))[1])
        self.load = load_of(name)
        self.pid = self.process.pid
        self.is_recorded = bool(trace)

    def open(self, nr_connections):
        """Load on it; from now on the process is known, since it answered."""
        connections = self.load(self.port, nr_connections)
        if self.is_recorded:
            self.pid = live.children_of(self.process.pid)[0]
        return connections

    def end(self, signal):
        """When all its threads sleep: what is still in a run has no end in the recording, rightly."""
        live.settle(self.process, self.pid)
        os.kill(self.pid, signal)
        return self.process.finish()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Building what is measured, and finding the tools.  What cannot be had is remembered with its reason."""

import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(HERE)


class Tools:
    """Paths of programs and tools.  `why[name]` says why one is missing."""

    def __init__(self, build, target):
        self.target = target
        self.why = {}
        self.paths = {}
        self.find("futrace", os.path.join(build, "futrace"), "not built: run make first")
        self.find("reader", os.path.join(build, "bench", "reader"), "bench/reader.c is not built")
        self.find("hook", os.path.join(build, "bench", "hook"), "bench/hook.c is not built")
        self.find("layouts", os.path.join(build, "bench", "layouts"), "bench/layouts.c is not built")
        for peer in ("bpftrace", "uftrace"):
            self.find(peer, shutil.which(peer), "not installed: see bench/setup")

    def find(self, name, path, why):
        if path and os.path.exists(path):
            self.paths[name] = path
        else:
            self.why[name] = why

    def __getitem__(self, name):
        return self.paths[name]

    def has(self, name):
        return name in self.paths

    def build(self, only=None):
        """What these sections need; None: all."""
        stable = os.path.join(self.target, "stable")
        unstable = os.path.join(self.target, "unstable")
        wanted = set(only or ("storm", "startup", "layouts", "look"))
        self.cargo("plain", stable, "plain", "release")
        if wanted & {"storm", "async-task"}:
            self.cargo("smol", stable, "smol-variant", "release")
        if "startup" in wanted:
            self.cargo("big", stable, "big", "debug")
        if "layouts" in wanted:
            self.cargo("big-full", os.path.join(self.target, "full"), "big", "release",
                       env={"CARGO_PROFILE_RELEASE_DEBUG": "2"})
        if wanted & {"look", "storm", "sparse"}:
            self.cargo("plain-full", os.path.join(self.target, "full"), "plain", "release",
                       env={"CARGO_PROFILE_RELEASE_DEBUG": "2"})
        if wanted & {"storm", "spawn", "sparse", "idle", "server"}:
            self.cargo("dial9", unstable, "dial9-variant", "release", "--cfg tokio_unstable")
        self.barehook()
        if self.has("plain"):
            self.copy_for_uprobes()

    def cargo(self, name, target, package, profile, flags=None, env=None):
        """One package alone, so that the features of another do not leak into it."""
        argv = ["cargo", "build", "--quiet", "--locked", "--package", package]
        if profile == "release":
            argv.append("--release")
        env = dict(os.environ, CARGO_TARGET_DIR=target, **(env or {}))
        env.pop("RUSTFLAGS", None)
        if flags:
            env["RUSTFLAGS"] = flags
        print(f"building {name}", file=sys.stderr, flush=True)
        if not shutil.which("cargo"):
            self.why[name] = "cargo is not installed"
        elif subprocess.run(argv, cwd=os.path.join(HERE, "programs"), env=env).returncode:
            self.why[name] = "cargo could not build it"
        else:
            self.find(name, os.path.join(target, profile, package), "cargo left no program")

    def barehook(self):
        path = os.path.join(self.target, "barehook.so")
        argv = ["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared", "-o", path]
        if subprocess.run(argv + [os.path.join(HERE, "barehook.c")]).returncode:
            self.why["barehook"] = "it could not be compiled"
        else:
            self.paths["barehook"] = path

    def copy_for_uprobes(self):
        """A uprobe sits in the file and hits every run of it, also those of others: a file of its own."""
        path = os.path.join(self.target, "plain-uprobes")
        shutil.copyfile(self["plain"], path)
        os.chmod(path, 0o755)
        self.paths["uprobed"] = path

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs published test suites with and without `futrace record`: each test must end the same way.

The crates of Tokio, mini-redis, axum, async-task, async-executor, async-std and of smol's parts carry their own tests. Their
sources, as cargo keeps them, are copied into one workspace in which all of them use that very Tokio and that very
async-task; its lock file is suites/workspace.lock.
Every test binary is run alone and recorded. A test that fails, alone or recorded, is run again both ways:
only one that passes alone and keeps failing when recorded counts against futrace.
With --futures also futures are recorded; with --memory both runs are in a control group of that many megabytes.
What cannot be compared, because it fails alone or has no tests here, is listed in suites/exceptions with the reason; what is
not listed counts as failed, and so does what is listed for no reason.
"""
import argparse
import contextlib
import fnmatch
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import cgroups
import live

HERE = os.path.dirname(os.path.abspath(__file__))
CRATES = {
    "tokio": ["--features", "full"],
    "mini-redis": [],
    "axum": ["--all-features"],
    "async-task": [],
    "async-executor": ["--all-features"],
    "async-io": [],
    "async-process": [],
    "blocking": [],
    "async-std": [],
    "smol": None,
}
# A few binaries that between them use every part of the runtime that is hooked.
SMOKE = {
    "tokio": ["rt_common", "rt_threaded", "rt_basic", "task_abort", "task_blocking", "task_join_set",
              "task_local_set", "rt_panic", "join_handle_panic", "sync_mpsc", "process_kill_on_drop",
              "signal_twice", "time_sleep", "tcp_stream"],
    "mini-redis": ["server", "client", "buffer"],
    "axum": [],
    "async-task": ["basic", "cancel", "join", "panic", "ready", "waker_panic", "waker_pending", "waker_ready"],
    "async-executor": ["drop", "panic_prop", "spawn_many"],
    "async-io": [],
    "async-process": [],
    "blocking": [],
    "async-std": [],
}
# What a crate's tests need that publishing took out of its manifest: there, a path beside the crate.
ADDED = {"axum": '\n[dev-dependencies.axum-macros]\nversion = "0.5"\nfeatures = ["__private"]\n'}
PATCHED = ("tokio", "async-task", "async-executor", "async-io", "async-process", "blocking")  # what others are built on
RETRIES = 3
TIMEOUT_S = 300

WORKSPACE = """[workspace]
resolver = "2"
members = [{members}]

[patch.crates-io]
{patches}

[profile.dev]
debug = 0
"""


class Exceptions:
    """What suites/exceptions says: crate, test binary and test, in which * may stand for anything, and the reason."""

    def __init__(self):
        with open(os.path.join(HERE, "suites", "exceptions"), encoding="utf-8") as f:
            lines = [l.split(None, 3) for l in f if l.strip() and not l.startswith("#")]
        self.listed = [tuple(l[:3]) for l in lines]
        self.used = set()
        for l in lines:
            if len(l) < 4:
                raise SystemExit(f"suites/exceptions: {' '.join(l)}: no reason")

    def has(self, *what):
        """Whether it is listed: crate, binary, test."""
        found = [l for l in self.listed if all(fnmatch.fnmatchcase(a, b) for a, b in zip(what, l))]
        self.used.update(found)
        return bool(found)

    def unused(self, crates):
        return [l for l in self.listed if l[0] in crates and l not in self.used]


def sources():
    """name -> folder of each crate's source, fetched by cargo."""
    out = subprocess.run(["cargo", "metadata", "--locked", "--format-version", "1"], check=True,
                         cwd=os.path.join(HERE, "suites"), stdout=subprocess.PIPE).stdout
    packages = json.loads(out)["packages"]
    return {p["name"]: os.path.dirname(p["manifest_path"]) for p in packages if p["name"] in CRATES}


def make_workspace(folder):
    """Copies the sources; the folder's name keeps the version, which panic messages show."""
    names = {}
    for name, src in sorted(sources().items()):
        if CRATES[name] is None:
            continue
        names[name] = os.path.basename(src)
        to = os.path.join(folder, names[name])
        if not os.path.exists(to):
            shutil.copytree(src, to)
            with open(os.path.join(to, "Cargo.toml"), "a", encoding="utf-8") as f:
                f.write(ADDED.get(name, ""))
        lock = os.path.join(to, "Cargo.lock")
        if os.path.exists(lock):
            os.unlink(lock)
    with open(os.path.join(folder, "Cargo.toml"), "w", encoding="utf-8") as f:
        f.write(WORKSPACE.format(members=", ".join(f'"{n}"' for n in names.values()),
                                 patches="\n".join(f'{n} = {{ path = "{names[n]}" }}' for n in PATCHED)))
    shutil.copy(os.path.join(HERE, "suites", "workspace.lock"), os.path.join(folder, "Cargo.lock"))


def build(folder, crate, profile, only):
    """[(test name, executable, folder to run it in)] of one crate. Tests of the one before may be running: they go first."""
    what = ["--tests"] if only is None else [x for n in only for x in ("--test", n)]
    if only is not None and not only:
        return []
    out = subprocess.run(["nice", "cargo", "test", "--no-run", "--locked", "-p", crate, *CRATES[crate], *what,
                          "--profile", profile, "--message-format", "json"],
                         cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    found = []
    for line in out.stdout.decode().split("\n"):
        m = json.loads(line) if line.startswith("{") else {}
        if m.get("reason") == "compiler-artifact" and m.get("executable") and m["profile"]["test"]:
            found.append((m["target"]["name"], m["executable"], os.path.dirname(m["manifest_path"])))
    if out.returncode != 0:
        raise SystemExit(f"{crate} ({profile}): its tests do not build; run cargo in {folder} to see why")
    return sorted(found)


class Runner:
    """Runs a test binary, recorded or not, as an ordinary user when started by root."""

    def __init__(self, futrace, work, uid, options=(), memory_mb=None):
        self.futrace, self.work, self.options, self.memory_mb = futrace, work, options, memory_mb
        self.as_user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"] if os.geteuid() == 0 else []
        self.nr_files = self.nr_polls = 0

    def command(self, exe, recorded, names):
        argv = [exe, "--test-threads", "2", *(["--exact", *names] if names else [])]
        if recorded:
            self.nr_files += 1
            trace = os.path.join(self.work, f"trace.{self.nr_files}")
            return [self.futrace, "record", "-q", *self.options, "-o", trace, "--", *argv], trace
        return argv, None

    @contextlib.contextmanager
    def little_memory(self):
        """How a command enters the control group, if there is to be one, and how many of its processes the kernel killed."""
        if self.memory_mb is None:
            yield [], lambda: 0
            return
        with cgroups.group(self.memory_mb * cgroups.MB) as (procs, nr_killed):
            yield ["sh", "-c", 'echo $$ > "$0" && exec "$@"', procs], nr_killed

    def execute(self, argv, cwd):
        """(status, output)"""
        env = dict(os.environ, HOME=self.work, TMPDIR=self.work, RUST_BACKTRACE="0")
        p = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
        try:
            out, status = p.communicate(timeout=TIMEOUT_S)[0], p.returncode
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, 9)
            out, status = p.communicate()[0], "timeout"
        except KeyboardInterrupt:
            os.killpg(p.pid, 9)
            raise
        return status, out.decode(errors="replace")

    def polls_in(self, trace):
        """Runs in a trace: a suite that passes because nothing was recorded shows nothing."""
        info = subprocess.run([self.futrace, "info", "--json", trace], stdout=subprocess.PIPE, check=False)
        return json.loads(info.stdout)["events_by_kind"]["run-start"] if info.returncode == 0 else 0

    def run(self, exe, cwd, recorded, names=()):
        """(test -> "ok" | "FAILED" | "ignored", status, output)"""
        argv, trace = self.command(exe, recorded, names)
        with self.little_memory() as (enter, nr_killed):
            status, text = self.execute([*enter, *self.as_user, *argv], cwd)
            if nr_killed():
                text += f"\nthe kernel killed {nr_killed()} processes: {self.memory_mb} MB were too little\n"
        if trace and os.path.exists(trace):
            self.nr_polls += self.polls_in(trace)
            os.unlink(trace)
        results = dict(re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)", text, re.M))
        return results, status, text


def fail_alone(runner, exe, cwd, results):
    """Those of the failed tests that fail again and again without futrace."""
    failed = [t for t, verdict in results.items() if verdict == "FAILED"]
    for _ in range(RETRIES):
        if failed:
            failed = [t for t in failed if runner.run(exe, cwd, False, [t])[0].get(t) == "FAILED"]
    return failed


def compare(runner, exe, cwd):
    """(results alone, test -> how it differs when recorded); * is the whole binary."""
    alone, status, _ = runner.run(exe, cwd, False)
    recorded, rec_status, text = runner.run(exe, cwd, True)
    if (alone, status) == (recorded, rec_status):
        return alone, {}
    suspects = sorted(t for t in alone.keys() | recorded.keys() if alone.get(t) != recorded.get(t))
    differing = {}
    for t in suspects or ["*"]:
        names = [t] if t != "*" else ()
        for _ in range(RETRIES):
            a, r = runner.run(exe, cwd, False, names), runner.run(exe, cwd, True, names)
            if a[:2] == r[:2]:
                break
        else:
            differing[t] = f"alone {a[0].get(t, a[1])}, recorded {r[0].get(t, r[1])}\n{r[2][-800:] or text[-800:]}"
    return alone, differing


def judge(runner, exceptions, crate, binary):
    """(number of tests, complaints) of one binary."""
    name, exe, cwd = binary
    alone, wrong = compare(runner, exe, cwd)
    if not alone:
        wrong["*"] = "there are no tests in it"
    for t in fail_alone(runner, exe, cwd, alone):
        wrong.setdefault(t, "it fails alone, too")
    return len(alone), [f"{crate} {name} {t}: {why}" for t, why in wrong.items() if not exceptions.has(crate, name, t)]


def build_all(args, crates, builder):
    """Each crate and profile, and its binaries as soon as they are built, while those before are tested."""
    for profile in args.profile or (["dev"] if args.smoke else ["dev", "release"]):
        for crate in [c for c in crates if CRATES[c] is not None]:
            only = SMOKE[crate] if args.smoke else None
            yield crate, profile, builder.submit(build, args.workspace, crate, profile, only)


def test_crate(args, runner, exceptions, crate, profile, built):
    nr_tests, complaints = 0, []
    began, before = time.monotonic(), runner.nr_polls
    binaries = built.result()
    waited = time.monotonic() - began
    for binary in binaries:
        if args.pattern and args.pattern not in binary[0]:
            continue
        started = time.monotonic()
        n, bad = judge(runner, exceptions, crate, binary)
        nr_tests += n
        complaints += bad
        if args.verbose:
            print(f"{'FAIL' if bad else 'ok  '} {crate} {profile} {binary[0]}: {n} tests "
                  f"({time.monotonic() - started:.1f} s)", flush=True)
    if binaries and runner.nr_polls == before and not exceptions.has(crate, "-", "polls"):
        complaints.append(f"{crate}: not one poll was recorded")
    for c in complaints:
        print(f"FAIL ({profile}) {c}", flush=True)
    print(f"{'FAIL' if complaints else 'ok  '} {crate} ({profile}): {nr_tests} tests in {len(binaries)} binaries end "
          f"the same way alone and recorded, {len(complaints)} do not; {runner.nr_polls - before} polls recorded "
          f"({waited:.0f} s for the build, {time.monotonic() - began:.0f} s in all)", flush=True)
    return nr_tests, len(complaints)


def test_crate_without_tests(exceptions, crate):
    """A crate that is listed for having no tests has none."""
    folder = sources()[crate]
    has_tests = os.path.exists(os.path.join(folder, "tests"))
    for path in glob.glob(os.path.join(folder, "src", "**", "*.rs"), recursive=True):
        with open(path, encoding="utf-8") as f:
            has_tests |= "#[test]" in f.read()
    is_good = not has_tests and exceptions.has(crate, "*", "*")
    print(f"{'ok  ' if is_good else 'FAIL'} {crate}: has no tests, and is listed for that", flush=True)
    return int(is_good), int(not is_good)


def check_exceptions(exceptions, crates):
    """What is listed must be met in a whole run, or the list is out of date."""
    unused = exceptions.unused(crates)
    for line in unused:
        print(f"FAIL {' '.join(line)}: listed in suites/exceptions, but it is no exception", flush=True)
    return len(unused)


def stage(args, uid):
    """futrace where every user can read it, and a folder that belongs to the user."""
    work = tempfile.mkdtemp(prefix="futrace-suites-")
    os.chmod(work, 0o755)
    agent_dir = args.agent_dir or os.path.dirname(os.path.abspath(args.futrace))
    for f in (args.futrace, os.path.join(agent_dir, "libfutrace-agent.so")):
        shutil.copy(f, work)
        os.chmod(os.path.join(work, os.path.basename(f)), 0o755)
    home = os.path.join(work, "home")
    os.mkdir(home)
    if os.geteuid() == 0:
        os.chown(home, uid, uid)
    return work, home


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--futrace", default=os.path.join(HERE, "../../build/futrace"))
    p.add_argument("--agent-dir", help="where libfutrace-agent.so is; default: beside the tool")
    p.add_argument("--workspace", required=True, help="folder for the copied sources and cargo's output")
    p.add_argument("--only-build", action="store_true", help="build the test binaries, and run none")
    p.add_argument("--futures", action="store_true", help="record futures too")
    p.add_argument("--memory", type=int, metavar="MB", help="run in a control group with that much memory; needs root")
    p.add_argument("--smoke", action="store_true", help="only the named subset, dev profile")
    p.add_argument("--crate", action="append", choices=list(CRATES), help="only this one")
    p.add_argument("--profile", action="append", choices=["dev", "release"])
    p.add_argument("-k", dest="pattern", help="only test binaries whose name contains this")
    p.add_argument("-v", dest="verbose", action="store_true", help="a line for each binary")
    return p.parse_args()


def run_all(args, builds, runner, exceptions, crates):
    """(number of tests, number of those that differ)"""
    tests = failed = 0
    for crate, profile, built in builds:
        n, bad = test_crate(args, runner, exceptions, crate, profile, built)
        tests, failed = tests + n, failed + bad
    for crate in [c for c in crates if CRATES[c] is None]:
        n, bad = test_crate_without_tests(exceptions, crate)
        tests, failed = tests + n, failed + bad
    if not args.smoke and not args.pattern:
        failed += check_exceptions(exceptions, crates)
    return tests, failed


def main():
    args = options()
    args.workspace = os.path.abspath(args.workspace)  # cargo runs there
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where this was started in the background
    uid = 12345
    os.makedirs(args.workspace, exist_ok=True)
    make_workspace(args.workspace)
    exceptions, crates = Exceptions(), args.crate or list(CRATES)
    with ThreadPoolExecutor(1) as builder:
        builds = list(build_all(args, crates, builder))
        if args.only_build:
            for _, _, built in builds:
                built.result()
            return 0
        work, home = stage(args, uid)
        runner = Runner(os.path.join(work, os.path.basename(args.futrace)), home, uid,
                        ["--futures"] if args.futures else [], args.memory)
        try:
            tests, failed = run_all(args, builds, runner, exceptions, crates)
        except live.Skipped as e:
            raise SystemExit(f"--memory: {e}") from None
        except BaseException:
            builder.shutdown(cancel_futures=True)
            raise
    shutil.rmtree(work, ignore_errors=True)
    print(f"{max(tests - failed, 0)} passed, {failed} failed")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())

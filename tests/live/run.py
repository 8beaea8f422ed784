#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the live tests: real programs recorded by the futrace that was built.

Everything is staged into a world-readable temporary folder; started by root, the tests run as an ordinary
user, and those marked so as root as well. The last line says "N passed, N failed, N skipped".
"""
import argparse
import glob
import importlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import builds  # noqa: E402
import live  # noqa: E402

ORDINARY_UID = 12345
MAX_REASON = 400  # characters
VERDICTS = ("ok", "FAIL", "skip")


def stage_all(args, with_vendors):
    """with_vendors: None to stage no program but those of C."""
    stage = tempfile.mkdtemp(prefix="futrace-live-")
    bin_dir = os.path.join(stage, "bin")
    os.makedirs(bin_dir)
    shutil.copy(args.futrace, os.path.join(bin_dir, "futrace"))
    agent_dir = args.agent_dir or os.path.dirname(os.path.abspath(args.futrace))
    for name in ("libfutrace-agent.so", "libfutrace-probes.so"):
        shutil.copy(os.path.join(agent_dir, name), bin_dir)
    if with_vendors is not None:
        builds.stage_programs(args.target_dir, stage, with_vendors)
    builds.stage_c(stage)
    builds.make_readable(stage)
    os.chmod(stage, 0o755)
    return stage


def load_tests():
    for path in sorted(glob.glob(os.path.join(HERE, "test_*.py"))):
        importlib.import_module(os.path.basename(path)[:-3])
    return live.TESTS


def users(args):
    """(name, uid, gid) of those as whom to run."""
    if os.geteuid() != 0:
        return [("user", os.geteuid(), os.getegid())]
    if args.as_root:
        return [("root", 0, 0)]
    if args.user:
        import pwd
        u = pwd.getpwnam(args.user)
        return [("user", u.pw_uid, u.pw_gid)]
    return [("user", ORDINARY_UID, ORDINARY_UID), ("root", 0, 0)]


def wanted(test, who, args):
    if args.pattern and not any(p in test.name for p in args.pattern.split("|")):
        return False
    if test.slow and not args.slow:
        return False
    if who == "root":
        return test.only_root or test.as_root or args.as_root
    return not test.only_root


def on_one_line(why):
    """The reason for the line of a test; what it leaves out of a long one is shown below."""
    lines = [line.strip() for line in why.splitlines() if line.strip()]
    if why.startswith("Traceback"):
        return lines[-1]
    line = " | ".join(lines)
    return line if len(line) <= MAX_REASON else line[:MAX_REASON] + "…"


def run_one(test, who, settings):
    """Its verdict and what is said of it; or its name, and which program has to be built first."""
    folder = tempfile.mkdtemp(prefix="t-", dir=settings.home)
    if os.geteuid() == 0:
        os.chown(folder, settings.uid, settings.gid)
    case = live.Case(settings, folder, test.name)
    began, kept = time.monotonic(), False
    try:
        test.func(case, *test.args)
        verdict, why = "ok", ""
    except live.Skipped as e:
        verdict, why = "skip", str(e)
    except live.NotBuilt as e:
        verdict, why = e, ""
    except live.Failed as e:
        verdict, why, kept = "FAIL", str(e), True
    except Exception:  # a broken test is a failed test, and the others go on
        verdict, why, kept = "FAIL", traceback.format_exc(), True
    finally:
        casualties = case.casualties()
        case.close()
    if not kept:
        shutil.rmtree(folder, ignore_errors=True)
    if isinstance(verdict, live.NotBuilt):
        return test.name, verdict.asked
    seconds = time.monotonic() - began
    reason = on_one_line(why)
    said = [f"{verdict:4} {test.name} ({who}, {seconds:.1f} s)" + (f": {reason}" if reason else "")]
    if reason != why:
        said += [textwrap.indent(why.rstrip(), "     ")]
    if kept:
        said += [f"     {line}" for line in (f"proves: {test.proves}", f"kept: {folder}", *casualties)]
    return verdict, "\n".join(said)


class Worker:
    """What a fork that runs tests does on Ctrl-C: the test that is running ends what it has started, and no other begins."""
    in_test = interrupted = False

    @classmethod
    def begin(cls):
        signal.signal(signal.SIGINT, cls.interrupt)

    @classmethod
    def interrupt(cls, *_):
        cls.interrupted = True
        if cls.in_test:
            raise KeyboardInterrupt

    @classmethod
    def run(cls, *args):
        if cls.interrupted:
            raise KeyboardInterrupt
        cls.in_test = True
        try:
            return run_one(*args)
        finally:
            cls.in_test = False


def run_together(tests, who, settings):
    """As many at a time as there are cores, in forks of this process, which know all tests."""
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("fork"), initializer=Worker.begin) as pool:
        running = [pool.submit(Worker.run, t, who, settings) for t in tests]
        try:
            yield from (done.result() for done in as_completed(running))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def run_wanted(tests, who, settings):
    """Those that count run first and together, those that measure after them, each alone."""
    yield from run_together([t for t in tests if not t.alone], who, settings)
    yield from (run_one(t, who, settings) for t in tests if t.alone)


def run_and_build(tests, who, settings, target_dir):
    """Tests that ask for a program that is not built yet run again when it is."""
    while tests:
        asked, again = set(), set()
        for verdict, said in run_wanted(tests, who, settings):
            if verdict in VERDICTS:
                yield verdict, said
            else:
                again.add(verdict)
                asked.add(said)
        tests = [t for t in tests if t.name in again]
        if tests:
            builds.build_asked_for(target_dir, settings.stage, asked)
            settings.built |= asked


def run_all(tests, stage, args):
    count = dict.fromkeys(VERDICTS, 0)
    built = set(builds.C_PROGRAMS) if builds_as_asked(args) else None
    for who, uid, gid in users(args):
        home = os.path.join(stage, "home-" + who)
        os.makedirs(home)
        if os.geteuid() == 0:
            os.chown(home, uid, gid)
        settings = live.Settings(stage, uid, gid, home, args.runs, args.seed, built)
        for verdict, said in run_and_build([t for t in tests if wanted(t, who, args)], who, settings, args.target_dir):
            print(said, flush=True)
            count[verdict] += 1
    return count


def builds_as_asked(args):
    """Chosen tests have built what they ask for; a whole run builds everything in advance, so that no core is idle."""
    return bool(args.pattern) and not args.no_build


def build_all(tests, args, matrix):
    topics = {t.topic for t in tests if wanted(t, "user", args)}
    trees = any(t.slow and t.topic in ("tree", "paths", "awaits") and wanted(t, "user", args) for t in tests)
    builds.build_programs(args.target_dir, matrix, trees, topics)


def heed_signals():
    """What a script runs in its background ignores these, and so would all that is started here; tests send them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--futrace", default=os.path.join(HERE, "../../build/futrace"), help="the tool to test")
    p.add_argument("--agent-dir", help="where libfutrace-agent.so is; default: beside the tool")
    p.add_argument("--target-dir", default=os.path.join(builds.PROGRAMS, "target"), help="where cargo builds")
    p.add_argument("--no-build", action="store_true", help="the programs are built already")
    p.add_argument("--only-build", action="store_true", help="build the programs, and run no test")
    p.add_argument("--runs", type=int, default=2, help="how often to repeat what depends on luck")
    p.add_argument("--seed", default=str(time.time_ns()), help="of all random moments and flips")
    p.add_argument("--slow", action="store_true", help="also what takes minutes")
    p.add_argument("--user", help="the ordinary user to be (when started by root)")
    p.add_argument("--as-root", action="store_true", help="run everything as root")
    p.add_argument("--keep", action="store_true", help="keep the staged folder")
    p.add_argument("-k", dest="pattern", help="only tests whose name contains this, or one of these: A|B")
    p.add_argument("--list", action="store_true", help="list the tests and what they prove")
    args = p.parse_args()
    args.target_dir = os.path.abspath(args.target_dir)  # cargo runs in other folders
    os.umask(0o022)
    heed_signals()
    tests = load_tests()
    if args.list:
        for t in tests:
            print(f"{t.name}: {t.proves}")
        return 0
    began = time.monotonic()
    matrix = any(t.slow and t.name.startswith("matrix") and wanted(t, "user", args) for t in tests)
    if not args.no_build and not builds_as_asked(args):
        build_all(tests, args, matrix)
    if args.only_build:
        return 0
    stage = stage_all(args, None if builds_as_asked(args) else matrix)
    print(f"programs ready after {time.monotonic() - began:.0f} s; seed {args.seed}", flush=True)
    count = run_all(tests, stage, args)
    if not args.keep and not count["FAIL"]:
        shutil.rmtree(stage, ignore_errors=True)
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{count['ok']} passed, {count['FAIL']} failed, {count['skip']} skipped")
    return 1 if count["FAIL"] or not count["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())

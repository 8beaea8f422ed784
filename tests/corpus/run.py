#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs published programs under every command of futrace, which is built with AddressSanitizer and UBSan.

programs.toml lists them. Each is run alone and recorded, and must answer the same. doctor looks at its file, ps and tree at
the running process; reports and an export are made of the recording. A report of a sanitizer, a command that fails or a
recording without tasks is a failure; so is a package that cannot be fetched. README.md has the list as a table
(--write-table makes it).
"""
import argparse
import glob
import json
import os
import re
import sys
import tempfile
import time
import tomllib
from multiprocessing.pool import ThreadPool

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "live"))

# pylint: disable=wrong-import-position
import drive  # noqa: E402
import fetch  # noqa: E402
import live  # noqa: E402
from live import Failed, check, same, short  # noqa: E402

TABLES = ("task", "spawn", "worker", "thread", "wake", "await", "future", "machine")
NR_TABLES = 3  # of a program, beside the usual one; the next program has the next ones
FORMATS = ("perfetto", "chrome", "html", "folded", "pprof", "speedscope", "sqlite", "ndjson", "csv")
TIMEOUT_S = 300
COLUMNS = ("program", "source", "what it is", "runtime", "build", "what it brought to light")
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


class Settings(live.Settings):
    """futrace as it was built, run by whoever runs the tests."""

    def __init__(self, futrace, folder):
        super().__init__(folder, os.geteuid(), os.getegid(), folder, 1, 0)
        self.futrace = futrace

    def env(self):
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", live.USER_PATH)])
        return {**super().env(), "PATH": path, "XDG_CACHE_HOME": os.path.join(self.home, "cache"),
                "ASAN_OPTIONS": f"log_path={self.home}/sanitizer:exitcode=99",
                "UBSAN_OPTIONS": f"log_path={self.home}/sanitizer:halt_on_error=1:print_stacktrace=1"}


class Program:
    """One entry of the list, and what is done with it."""

    def __init__(self, entry, number, case, folders):
        self.entry, self.number, self.case, self.folders = entry, number, case, folders
        self.screens = []  # (command, output), for a person to read

    def futrace(self, *args, may_fail=False):
        r = self.case.run(self.case.futrace, *args, timeout=TIMEOUT_S)
        self.screens.append((" ".join(args), r.out + r.err))
        self.sanitizers(args[0], r.err)
        check(may_fail or r.status == 0, f"{r}")
        return r

    def sanitizers(self, command, text=""):
        """No sanitizer has reported anything: AddressSanitizer writes a file, UBSan to stderr."""
        for path in glob.glob(os.path.join(self.case.s.home, "sanitizer.*")) + [self.case.path("recorded.err")]:
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as f:
                    text += f.read()
        found = re.search(r"\S+: runtime error: |AddressSanitizer|LeakSanitizer", text)
        check(not found, f"{command}: {short(text[found.start():] if found else '', 3000)}")

    def look(self, pid, may_be_gone=False):
        """ps and tree of the program while it runs. Its short-lived children are of no concern."""
        tasks = 0
        for command in ("ps", "tree"):
            r = self.futrace(command, str(pid), may_fail=may_be_gone or not self.entry.get("live", True))
            tasks = max(tasks, r.out.count("\n"))
        if not may_be_gone and self.entry.get("live", True):
            check(tasks, f"ps and tree show nothing of process {pid}")

    def doctor(self):
        path = self.entry.get("object")
        if not path:
            return
        found = glob.glob(drive.Run.fill(self.paths(), path))
        check(len(found) == 1, f"{path}: {len(found)} files")
        r = self.futrace("doctor", found[0], may_fail="refused" in self.entry)
        same("status of doctor", r.status, 3 if "refused" in self.entry else 0)
        said = " ".join(r.out.split())
        for text in self.entry["doctor"]:
            check(text in said, f"doctor does not say {text!r}: {r.out}")

    def paths(self):
        """Enough of a Run to fill in the names of packages."""
        words = {"pkg": self.folders[0], "python": sys.executable}
        words.update({f"pkg{n}": f for n, f in enumerate(self.folders)})
        return type("Paths", (), {"words": words})

    def run_both(self):
        driver = drive.DRIVERS[self.entry["drive"]]
        alone = drive.Run(self.case, self.entry, self.folders, "alone")
        answers = driver(alone, alone.argv(), lambda pid, may_be_gone=False: None, False)
        recorded = drive.Run(self.case, self.entry, self.folders, "recorded")
        argv = self.case.record_argv(*recorded.argv(), opts=self.entry.get("record", []))
        got = driver(recorded, argv, self.look, True)
        check(self.entry.get("reason", "") in recorded.said, f"no reason for an empty recording: {recorded.said}")
        self.sanitizers("record")
        for key, value in answers.items():
            same(f"{key} when recorded", got[key], value)
        self.truth(answers)

    def truth(self, answers):
        """The program did alone what its entry says: the comparison is of good answers."""
        same("status alone", answers["status"], self.entry.get("status", 0))
        for text in self.entry.get("says", []):
            check(text in json.dumps(answers, default=str), f"it does not say {text!r} alone: {short(answers)}")

    def recordings(self):
        """Of a program that was followed, also its children's; those in which nothing ran have no file."""
        return sorted(glob.glob(self.case.path("t.data*")))

    def reports(self):
        """The report, some tables and an export of each recording. Gives back the runtimes that have tasks."""
        runtimes, nr_tasks = set(), 0
        for path in self.recordings():
            rep = self.case.report(path)
            same("lost events", rep["lost"], 0)
            nr_tasks += len(rep["tasks"])
            runtimes |= {f"{r['name']} {r['version']}" for r in rep["runtimes"]}
            self.futrace("report", path)
            for n in range(NR_TABLES):
                self.futrace("report", "--by=" + TABLES[(self.number * NR_TABLES + n) % len(TABLES)], path)
            fmt = FORMATS[self.number % len(FORMATS)]
            out = self.case.path("export")
            self.futrace("export", "-f", fmt, "-o", out, path)
            check(os.path.getsize(out) > 0, f"export of {fmt} is empty")
        self.sanitizers("report")
        return runtimes, nr_tasks

    def test(self):
        self.doctor()
        self.run_both()
        runtimes, nr_tasks = self.reports()
        same("runtimes", sorted(runtimes), sorted(self.entry["runtimes"]))
        check(nr_tasks or not self.entry["runtimes"], "no task was recorded")
        return nr_tasks


def row(entry):
    cells = (entry["name"], f"{entry['source']} {entry['packages'][0]}", entry["what"], entry["runtime"], entry["build"],
             entry["found"])
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |\n"


def table(entries):
    return f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|\n" + "".join(map(row, entries))


def check_table(entries, write):
    path = os.path.join(HERE, "README.md")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    before, rest = text.split(BEGIN)
    wanted = before + BEGIN + table(entries) + END + rest.split(END)[1]
    if write:
        with open(path, "w", encoding="utf-8") as f:
            f.write(wanted)
    elif text != wanted:
        raise Failed("tests/corpus/README.md does not show programs.toml; run tests/corpus/run.py --write-table")


def run_one(args, entry, number):
    """Whether it passed; says so in a line."""
    began = time.monotonic()
    try:
        folders = fetch.fetch_entry(entry, args.cache)
        with tempfile.TemporaryDirectory(prefix="corpus.", dir=args.scratch) as folder:
            case = live.Case(Settings(args.futrace, folder), folder, entry["name"])
            program = Program(entry, number, case, folders)
            try:
                nr_tasks = program.test()
            except Failed:
                program.sanitizers("futrace")  # that may be why
                raise
            finally:
                case.close()
                keep_screens(args.screens, entry, program)
    except Failed as e:
        print(f"FAIL {entry['name']}: {e}", flush=True)
        return False
    print(f"ok   {entry['name']}: {nr_tasks} tasks ({time.monotonic() - began:.0f} s)", flush=True)
    return True


def keep_screens(folder, entry, program):
    with open(os.path.join(folder, entry["name"] + ".txt"), "w", encoding="utf-8") as f:
        for command, text in program.screens:
            f.write(f"$ futrace {command}\n{text}\n")


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--futrace", default=os.path.join(ROOT, "build-asan", "futrace"))
    p.add_argument("--cache", default=os.path.join(ROOT, "build", "corpus"), help="where packages are kept")
    p.add_argument("-k", dest="names", help="only these programs, with commas between")
    p.add_argument("-j", dest="jobs", type=int, default=os.cpu_count(), help="programs at a time")
    p.add_argument("--fetch", action="store_true", help="only fetch and build the programs")
    p.add_argument("--write-table", action="store_true", help="only write the table of README.md")
    args = p.parse_args()
    args.screens = os.path.join(args.cache, "screens")
    args.scratch = tempfile.gettempdir()
    os.makedirs(args.screens, exist_ok=True)
    return args


def fetch_one(args, entry):
    try:
        fetch.fetch_entry(entry, args.cache)
    except Failed as e:
        print(f"FAIL {entry['name']}: {e}", flush=True)
        return False
    return True


def main():
    args = options()
    with open(os.path.join(HERE, "programs.toml"), "rb") as f:
        entries = tomllib.load(f)["program"]
    if args.write_table:
        check_table(entries, True)
        return 0
    chosen = [(e, n) for n, e in enumerate(entries) if not args.names or e["name"] in args.names.split(",")]
    passed = failed = 0
    if not args.names:
        try:
            check_table(entries, False)
            passed += 1
        except Failed as e:
            print(f"FAIL table: {e}")
            failed += 1
    # cargo waits for its own lock: builds are not made beside each other
    crates = {e["name"]: fetch_one(args, e) for e, _ in chosen if e["source"] == "crate"}
    rest = [(e, n) for e, n in chosen if crates.get(e["name"], True)]
    with ThreadPool(args.jobs) as pool:
        one = (lambda c: fetch_one(args, c[0])) if args.fetch else (lambda c: run_one(args, *c))
        results = pool.map(one, rest, chunksize=1)
    passed, failed = passed + results.count(True), failed + results.count(False) + len(chosen) - len(rest)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

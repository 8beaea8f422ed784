#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Proves that an option which would be ignored is refused in one line, that the examples in a message are such that the
tool takes, and that text is ASCII where the locale is.

Usage: refuse.py FUTRACE SIMULATE
"""
import os
import subprocess
import sys
import tempfile

REFUSED = [
    ("report", "--json", "--sort=polls"), ("report", "--json", "--limit=3"), ("report", "--task=1", "--sort=polls"),
    ("report", "--task=1", "--by=type"), ("report", "--thresholds", "--json"), ("report", "--thresholds", "--csv"),
    ("report", "--threshold=self-wakes=101%"), ("export", "--format=csv", "--weight=busy"),
    ("export", "--format=csv", "--tasks=3"), ("export", "--format=html", "--task=3"),
    ("export", "--format=perfetto", "--weight=idle"), ("export", "--format=pprof", "--max-size=1M"),
]
failed = 0


def check(what, is_good):
    global failed
    if not is_good:
        failed += 1
        print(what)


def run(*args, **env):
    return subprocess.run([sys.argv[1], *args], capture_output=True, env={**os.environ, **env}, stdin=subprocess.DEVNULL)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "t.data")
    subprocess.run([sys.argv[2], "3", "3000", path], check=True)
    for args in REFUSED:
        p = run(*args, path)
        lines = [line for line in p.stderr.decode().splitlines() if not line.startswith("Try ")]
        check(f"{args}: status {p.returncode}, {p.stderr}", p.returncode == 2 and len(lines) == 1 and not p.stdout)
    said = run("report", "--fail-on=rain", path).stderr.decode()
    examples = said.rsplit("as in ", 1)[1].strip()
    check(f"examples of --fail-on: {examples}", examples.count(",") > 3 and run("report", f"--fail-on={examples}", path).returncode in (0, 3))
    for args in (("report", path), ("report", "-v", path), ("report", "--thresholds"), ("diff", "--all", path, path)):
        text = run(*args, LC_ALL="C").stdout
        check(f"{args}: not ASCII", text.isascii() and len(text) > 100)
        check(f"{args}: the same without its signs", len(run(*args, LC_ALL="C.UTF-8").stdout) > 100)
sys.exit(failed > 0)

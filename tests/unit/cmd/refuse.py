#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Proves that an option which would be ignored is refused in one line, as is an empty name; that the examples in a message
are such that the tool takes; that text is ASCII where the locale is; and that a closed stream is nobody's file.

Usage: refuse.py FUTRACE SIMULATE
"""
import os
import resource
import subprocess
import sys
import tempfile

REFUSED = [
    ("report", "--json", "--sort=polls"), ("report", "--json", "--limit=3"), ("report", "--task=1", "--sort=polls"),
    ("report", "--task=1", "--by=type"), ("report", "--thresholds", "--json"), ("report", "--thresholds", "--csv"),
    ("report", "--threshold=self-wakes=101%"), ("report", "--threshold=long-poll-count=+5"),
    ("report", "--time-range=0x1%..5%"), ("report", "--time-range=+1%..5%"), ("help", "report"),
    ("export", "--format=csv", "--weight=busy"),
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
    return subprocess.run([sys.argv[1], *args], capture_output=True, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                          timeout=20)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "t.data")
    subprocess.run([sys.argv[2], "3", "3000", path], check=True)
    for args in REFUSED:
        p = run(*args, path)
        lines = [line for line in p.stderr.decode().splitlines() if not line.startswith("Try ")]
        check(f"{args}: status {p.returncode}, {p.stderr}", p.returncode == 2 and len(lines) == 1 and not p.stdout)
    for args in (["report", ""], ["diff", path, ""], ["open", ""], ["doctor", ""], ["list", ""], ["tree", ""], ["tree", "--core="],
                 ["export", "-f", "csv", "-o", "", path], ["record", "-o", "", "true"]):
        p = run(*args)
        check(f"{args}: status {p.returncode}, {p.stderr}", p.returncode == 2 and (b"empty" in p.stderr or b"FILE" in p.stderr))
    for name in ("empty", "newer"):
        with open(os.path.join(folder, name), "wb") as f, open(path, "rb") as old:
            data = bytearray(old.read())
            data[8] += 1
            f.write(data if name == "newer" else b"")
    os.mkfifo(os.path.join(folder, "fifo"))
    for name in ("empty", "newer", "fifo", "missing", "."):
        p = run("open", "--no-browser", "--timeout=1s", os.path.join(folder, name))
        check(f"open {name}: status {p.returncode}, {p.stderr}", p.returncode == 1 and not p.stdout and b"in time" not in p.stderr)
    for args in (["record", "--futures=a,,b", "true"], ["record", "--futures=!", "true"], ["record", "--futures=A<,b", "true"],
                 ["list", sys.argv[1], "task-[a"], ["tree", "--filter=", "1"], ["ps", "--filter=", "1"],
                 ["report", "--by=future", "--hide-future=", path], ["report", "--filter=type~A<,kind=task", path]):
        p = run(*args)
        check(f"{args}: status {p.returncode}, {p.stderr}", p.returncode == 2 and not p.stdout)
    with open(path, "rb") as f, open(os.path.join(folder, "cut"), "wb") as cut:
        cut.write(f.read()[:3000])
    for name, is_said in ((path, False), (cut.name, True)):
        for command in (["export", "-f", "csv"], ["export", "-f", "html", "-o", "-"], ["dump"]):
            check(f"{command} of {name}: cut or not", (b"was cut" in run(*command, name).stderr) == is_said)
    for args in (["list", "--", "true", ""], ["run", "true", ""], ["cargo", "--manifest-path=missing", "--", ""]):
        check(f"{args}: an empty argument of a program is its own", b"operand" not in run(*args).stderr)
    check("no process has that id", b"4294967297" in run("doctor", "4294967297").stderr)
    said = run("report", "--fail-on=rain", path).stderr.decode()
    examples = said.rsplit("as in ", 1)[1].strip()
    check(f"examples of --fail-on: {examples}", examples.count(",") > 3 and run("report", f"--fail-on={examples}", path).returncode in (0, 3))
    for args in (("report", path), ("report", "-v", path), ("report", "--thresholds"), ("diff", "--all", path, path)):
        text = run(*args, LC_ALL="C").stdout
        check(f"{args}: not ASCII", text.isascii() and len(text) > 100)
        check(f"{args}: the same without its signs", len(run(*args, LC_ALL="C.UTF-8").stdout) > 100)
    p = subprocess.run([sys.argv[1], "list"], capture_output=True, check=False,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)))
    check(f"too few files for any process: {p.stderr}", b"the limit is 4" in p.stderr)
    wanted = None
    for closed in ([], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2]):
        out = os.path.join(folder, "out")
        subprocess.run([sys.argv[1], "export", "-f", "perfetto", "--task=999999999", "-o", out, path], check=True,
                       preexec_fn=lambda: [os.close(fd) for fd in closed])
        with open(out, "rb") as f:
            data = f.read()
        wanted = wanted or data
        check(f"without {closed} the file is another one", data == wanted)
    for args in (["--version"], ["-h"], ["help"]):
        with open("/dev/full", "wb") as full:
            p = subprocess.run([sys.argv[1], *args], stdout=full, stderr=subprocess.PIPE, check=False)
        check(f"{args} to a full disk", p.returncode == 1 and b"cannot write" in p.stderr)
sys.exit(failed > 0)

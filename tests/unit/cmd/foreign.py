#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Proves that a file from elsewhere does no harm: names with control characters reach no terminal, tables are as large as
the file and not as the numbers in it, and where memory ends a line and a status of 1 say so, and what was there before stays.

Usage: foreign.py FUTRACE SIMULATE
"""
import json
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
import zlib

# C0 but for tab and line feed, DEL, C1, marks of direction and their isolates, and bytes that are no UTF-8.
NAME = "na\x01\x1b[31mme\x7f\u0080\u009b2J\u009f\u200b\u202a\u202e\u2066\u2069\u061c\ufeff\U000e0041end"
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")
TEXTS = [("info",), ("info", "--json"), ("dump",), ("report",), ("report", "-v"), ("report", "--json"), ("report", "--csv"),
         ("report", "--by=type"), ("report", "--by=task"), ("report", "--by=thread"), ("report", "--by=await"),
         ("report", "--by=future"), ("report", "--by=spawn"), ("report", "--by=wake"), ("report", "--task=1"),
         ("export", "-f", "csv"), ("export", "-f", "folded"), ("export", "-f", "ndjson"), ("export", "-f", "chrome", "-o", "-"),
         ("export", "-f", "speedscope", "-o", "-"), ("export", "-f", "html", "-o", "-")]
MAX_KB = 100 << 10
STRING, META, OBJECT, RUNTIME, TYPE, THREAD, STACK, INSTANCE, STEP, PATH, FUTURE = 1, 2, 3, 4, 5, 6, 9, 16, 17, 18, 19
THREAD_START, RUN_START, RUN_END = 8, 1, 2
failed = 0


def check(what, is_good):
    global failed
    if not is_good:
        failed += 1
        print(what)


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7f | 0x80]), n >> 7
    return out + bytes([n])


def block(kind, raw, thread=0, nr=0):
    """With the raw bytes in a zstd frame of one block that is not compressed."""
    frame = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(raw)) + struct.pack("<I", 1 | len(raw) << 3)[:3] + raw
    head = struct.pack("<IBBHIIIIQQI", 0x425446f5, kind, 1, 48, len(frame), len(raw), thread, nr, 0, 0, 0)
    return head + struct.pack("<I", zlib.crc32(head)) + frame


def record(tag, *fields):
    body = b"".join(varint(f) if isinstance(f, int) else f for f in fields)
    return varint(tag) + varint(len(body)) + body


def events(thread=0):
    """A thread starts, and a task of type 0 runs once."""
    shapes = bytes([THREAD_START, 0, 4, 0, RUN_START, 0, 10, 0, RUN_END, 1, 0, 0])
    refs, defs, args = varint(1), varint(2) + varint(1) + varint(64), varint(4) + varint(2)
    raw = struct.pack("<IIIII", 3, 0, len(refs), len(defs), len(args)) + shapes + b"\0\1\2" + b"\0\5\5" + bytes(3)
    return block(2, raw + refs + defs + args, thread, 3)


def trace(*records, thread=0):
    head = b"\x89FUT\r\n\x1a\n" + struct.pack("<HHI", 1, 0, 16)
    return head + block(1, b"".join(records)) + events(thread)


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def limit_memory(size):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


def run(*args, memory=None):
    return subprocess.run([sys.argv[1], *args], capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"}, preexec_fn=memory and limit_memory(memory))


def check_names(folder):
    name = NAME.encode() + b"\xff\xc2"
    defs = [record(STRING, 1, name), record(META, *[1] * 6, 1, 1, 1, 1, 0, 0, 1, 1), record(OBJECT, 0, 1, 1, 0),
            record(RUNTIME, 0, 0, 1, 1), record(TYPE, 0, 0, 0, 1, 1, 1, 1, 1), record(THREAD, 0, 7, 1),
            record(STEP, 0, 0, 0, 1, 1, 1, 1, 1, 0, 1), record(PATH, 1, 1, 0), record(FUTURE, 0, 0, 1, 1, 1, 1, 1),
            record(STACK, 1, 1, 1)]
    path = write(folder, "names", trace(*defs))
    for args in TEXTS:
        p = run(*args, path)
        text = (p.stdout + p.stderr).decode(errors="surrogateescape")
        harm = HARMFUL.search(text)
        check(f"{args}: status {p.returncode}, {p.stderr}", p.returncode == 0)
        check(f"{args}: {harm and ascii(text[max(0, harm.start() - 40):harm.end() + 10])}", not harm)
        check(f"{args}: bytes that are no UTF-8", text.isascii() or not re.search("[\ud800-\udfff]", text))
        check(f"{args}: nothing of the name", "na\\" in text)
        if "--json" in args or "chrome" in args:
            check(f"{args}: another name in JSON", NAME in names_in(json.loads(p.stdout)))


def names_in(value):
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        return "".join(map(names_in, value))
    return value if isinstance(value, str) else ""


def check_tables(folder):
    """Each kind of number as high as the format lets it be."""
    high = {"string": record(STRING, 2**20 - 1, b"x"), "object": record(OBJECT, 65535), "runtime": record(RUNTIME, 4095),
            "type": record(TYPE, 65535, 0, 0), "thread": record(THREAD, 2**20 - 1, 7), "stack": record(STACK, 65535),
            "instance": record(INSTANCE, 4095), "step": record(STEP, 2**20 - 1), "path": record(PATH, 65535, 0),
            "future": record(FUTURE, 65535), "events": b""}
    meta = record(META, *[0] * 13)
    env = {k: v for k, v in os.environ.items() if k != "MALLOC_PERTURB_"}  # which touches all that is allocated
    for name, definition in high.items():
        path = write(folder, name, trace(meta, definition, thread=2**20 - 1 if name == "events" else 0))
        for args in (("info",), ("dump",), ("report", "--json"), ("export", "-f", "html", "-o", "/dev/null")):
            pid = os.posix_spawn(sys.argv[1], [sys.argv[1], *args, path], env,
                                 file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                                               (os.POSIX_SPAWN_DUP2, 1, 2)])
            _, status, usage = os.wait4(pid, 0)
            check(f"{args} of {name}: status {status}", status == 0)
            check(f"{args} of {name}: {usage.ru_maxrss} kB", usage.ru_maxrss < MAX_KB)


def is_sanitized():
    """Sanitizers take more memory than any limit here, and end on their own when there is none."""
    with open(sys.argv[1], "rb") as f:
        return b"__asan_init" in f.read()


def check_no_memory(folder):
    """At some limit it is just enough; below that it ends in words, wherever it was."""
    path, out = os.path.join(folder, "large"), os.path.join(folder, "out")
    subprocess.run([sys.argv[2], "3", "200000", path], check=True)
    nr_said = 0
    for args in (("report",), ("report", "--json"), ("export", "-f", "perfetto", "-o", out), ("export", "-f", "csv", "-o", out)):
        write(folder, "out", b"older")
        for memory in range(12 << 20, 60 << 20, 1 << 20):
            p = run(*args, path, memory=memory)
            if p.returncode == 127 or b"shared lib" in p.stderr or b"shared obj" in p.stderr:
                continue  # not even the loader has room
            if p.returncode == 0:
                break
            check(f"{args} in {memory}: status {p.returncode}, {p.stderr}", p.returncode == 1)
            # libraries may have words of their own to say before main
            ours = [line for line in p.stderr.splitlines() if line.startswith(b"futrace")]
            check(f"{args} in {memory}: {p.stderr}", len(ours) == 1)
            nr_said += b"out of memory" in p.stderr
            with open(out, "rb") as f:
                check(f"{args} in {memory}: the older file is gone", f.read() == b"older")
        check(f"{args}: {os.listdir(folder)}", not [f for f in os.listdir(folder) if "tmp" in f])
    check("memory was never out", nr_said > 3)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as where:
        check_names(where)
        if not is_sanitized():
            check_tables(where)
            check_no_memory(where)
    sys.exit(failed > 0)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recordings that are read while they are made."""
import json
import os
import re
import time

from live import TIMEOUT_S, Failed, check, children_of, same, test

MAX_RSS_KIB = 48 << 10
ROUNDS = 20
# THREAD is the name that the thread had when the line was printed.
THREAD = re.compile(r"^( *\S+ +\d+) \S+ +", re.M)


def lines_of(text):
    return THREAD.sub(r"\1 ", text).split("\n")


def check_same(t, followed, name="t.data"):
    """What was followed is what the finished file has, and in its order unless the order was said to be another."""
    want = t.run(t.futrace, "dump", t.path(name)).ok()
    have, whole = lines_of(followed.out), lines_of(want.out)
    same("lines", len(have), len(whole))
    if "too late" in followed.err:
        # their time is then that of their mark
        have, whole = sorted(x.split(None, 1)[-1] for x in have), sorted(x.split(None, 1)[-1] for x in whole)
    for i, (a, b) in enumerate(zip(have, whole)):
        same(f"line {i + 1}", a, b)


def peak_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1])


def begin(t):
    """A recording that goes on, of which there is something to read, and a reader that follows it to its own file."""
    p = t.start(t.record_argv(t.program("forever"), "30"))
    p.wait_line("running")
    with open(t.path("followed"), "wb") as out:
        f = t.start([t.futrace, "dump", "--follow", t.path("t.data")], stdout=out)
    return p, f


def wait_size(path, size):
    """Until the file has so many bytes. Nothing tells when it grows."""
    end = time.monotonic() + TIMEOUT_S
    while os.path.getsize(path) < size:
        if time.monotonic() > end:
            raise Failed(f"{path} has only {os.path.getsize(path)} bytes")
        time.sleep(0.01)


def end_all(p, f, t):
    for target in children_of(p.pid):
        os.kill(target, 9)
    p.finish()
    r = f.finish().ok()
    with open(t.path("followed"), encoding="utf-8") as out:
        r.out = out.read()
    return r


@test()
def followed_to_the_end(t):
    """A reader that follows a recording has its events while it goes on, and in the end what the finished file has."""
    p, f = begin(t)
    wait_size(t.path("followed"), 1 << 20)
    check(p.popen.poll() is None, "the recording is over")
    check(peak_kib(f.pid) < MAX_RSS_KIB, f"the reader takes {peak_kib(f.pid)} KiB")
    check_same(t, end_all(p, f, t))


@test()
def still_recording(t):
    """A file that is still being written is not said to be cut; one whose recorder was killed is."""
    p, f = begin(t)
    wait_size(t.path("followed"), 1 << 10)
    said = t.run(t.futrace, "report", t.path("t.data")).ok()
    check("still recording" in said.out and "CUT" not in said.out, str(said))
    said = t.run(t.futrace, "info", t.path("t.data")).ok()
    check("still recording" in said.out and "cut" not in said.out, str(said))
    same("end", json.loads(t.run(t.futrace, "info", "--json", t.path("t.data")).ok().out)["end"]["kind"], "recording")
    said = t.run(t.futrace, "export", "--format=ndjson", "-o", t.path("out"), t.path("t.data")).ok()
    check("still being recorded" in said.err and "cut" not in said.err, str(said))
    target = children_of(p.pid)
    os.kill(p.pid, 9)
    p.popen.wait(TIMEOUT_S)
    followed = f.finish().ok()
    check("was cut" in followed.err, f"the reader did not say that the file was cut: {followed.err}")
    same("end", json.loads(t.run(t.futrace, "info", "--json", t.path("t.data")).ok().out)["end"]["kind"], "cut")
    for pid in target:
        os.kill(pid, 9)


def feed(t, path, fifo):
    """Writes the file into the FIFO in pieces of any size."""
    with open(path, "rb") as f:
        data = f.read()
    fd = os.open(fifo, os.O_WRONLY)
    most = 1 << t.random.randrange(4, 17)
    while data:
        n = t.random.randint(1, most)
        os.write(fd, data[:n])
        data = data[n:]
    os.close(fd)


@test()
def in_pieces(t):
    """A recording that comes through a pipe in random pieces is the one in the file."""
    os.mkfifo(t.path("fifo"), 0o666)
    os.chmod(t.path("fifo"), 0o666)
    for i in range(ROUNDS):
        t.record(t.program("storm"), "2", str(20 + 7 * i), "50", "3").ok()
        with open(t.path("followed"), "wb") as out:
            f = t.start([t.futrace, "dump", "--follow", t.path("fifo")], stdout=out)
        feed(t, t.path("t.data"), t.path("fifo"))
        r = f.finish().ok()
        with open(t.path("followed"), encoding="utf-8") as out:
            r.out = out.read()
        check_same(t, r)
        t.close()

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Input from outside that is not what it should be: a line and a status, never a crash."""
import os

from live import Skipped, check, same, test

READERS = (["report"], ["report", "--json"], ["dump"], ["info"])


def no_crash(r, statuses=(0, 1)):
    check(r.status in statuses, f"crashed: {r}")
    if r.status == 1:
        r.failed(1)
    for sign in ("AddressSanitizer", "runtime error:", "Assertion"):
        check(sign not in r.err, f"{sign}: {r}")


def small_trace(t):
    t.record(t.program("life"), "small", "3").ok()
    with open(t.path("t.data"), "rb") as f:
        return f.read()


def write(t, name, data):
    with open(t.path(name), "wb") as f:
        f.write(data)
    os.chmod(t.path(name), 0o644)
    return t.path(name)


@test()
def no_trace(t):
    """What is no trace at all is refused by every reader in one line."""
    os.mkdir(t.path("folder"))
    inputs = [t.path("missing"), t.path("folder"), write(t, "empty", b""), write(t, "text", b"hello\n" * 100),
              write(t, "zeros", bytes(4096)), t.program("plain"), "/dev/null"]
    for path in inputs:
        for cmd in READERS:
            t.run(t.futrace, *cmd, path).failed(1)


@test()
def unreadable(t):
    """A trace of somebody else is refused in one line."""
    if t.s.uid == 0:
        raise Skipped("root may read anything")
    path = write(t, "locked", b"x")
    os.chmod(path, 0)
    for cmd in READERS:
        r = t.run(t.futrace, *cmd, path).failed(1)
        check("ermission" in r.err, f"the reason is not named: {r}")


@test()
def truncated(t):
    """A trace cut at any byte reads as far as it goes, or is refused; it never crashes a reader."""
    data = small_trace(t)
    step = max(1, len(data) // 700)
    cut_said = 0
    for n in range(0, len(data), step):
        path = write(t, "cut", data[:n])
        cmd = READERS[n // step % len(READERS)]
        no_crash(t.run(t.futrace, *cmd, path))
        if n % 5 == 0:
            r = t.run(t.futrace, "info", path)
            cut_said += r.status == 0 and "cut:" in r.out
    check(cut_said > 0, "no cut file was said to be cut")
    same("the whole file", t.run(t.futrace, "info", write(t, "cut", data)).ok().out.count("cut:"), 0)


@test()
def flipped(t):
    """A trace with random bytes changed never crashes a reader."""
    data = small_trace(t)
    for i in range(200):
        bad = bytearray(data)
        for _ in range(t.random.choice((1, 1, 2, 8, 64))):
            bad[t.random.randrange(len(bad))] = t.random.randrange(256)
        no_crash(t.run(t.futrace, *READERS[i % len(READERS)], write(t, "flipped", bytes(bad))))


@test()
def output_full(t):
    """A report that cannot be written is an error and not a success."""
    small_trace(t)
    for cmd in READERS:
        with open("/dev/full", "wb") as full:
            r = t.run(t.futrace, *cmd, t.path("t.data"), stdout=full)
        r.failed(1)


@test()
def closed_pipe(t):
    """A reader that stops early, as `head` does, is no error message."""
    small_trace(t)
    r = t.run("sh", "-c", f"{t.futrace} dump {t.path('t.data')} | head -n 1")
    same("stderr", r.err, "")


@test(cases=[("dev", "debug info"), ("release", "symbols"), ("stripped", "stripped")])
def doctor_names_the_rung(t, profile, word):
    """The doctor finds runtime, version and tables of a file, and says on which rung it stands."""
    r = t.run(t.futrace, "doctor", t.program("exact", profile)).ok()
    for w in ("tokio", "1.54.1", word):
        check(w in r.out.lower(), f"no word of {w!r}:\n{r.out}")


@test()
def doctor_refuses(t):
    """The doctor says of a file without runtime that there is none, and of what is no program why it is none."""
    os.mkdir(t.path("folder"))
    for path in (t.path("missing"), t.path("folder"), write(t, "text", b"hello"), write(t, "short", b"\x7fELF\x02")):
        t.run(t.futrace, "doctor", path).failed(1)
    t.run(t.futrace, "doctor", "999999999").failed(1)
    r = t.run(t.futrace, "doctor", t.program("plain"))
    check("no " in (r.out + r.err).lower() and "runtime" in r.out + r.err, f"no word of the missing runtime: {r}")
    check("static" in t.run(t.futrace, "doctor", t.program("plain-static")).out, "no word of static")


@test()
def doctor_sees_a_process(t):
    """The doctor finds the same in a running process."""
    p = t.start([t.program("life"), "wait"])
    p.wait_line("ready")
    r = t.run(t.futrace, "doctor", str(p.pid)).ok()
    check("tokio" in r.out and "1.54.1" in r.out, f"{r}")
    p.close_stdin()
    p.finish()


@test()
def doctor_survives_damage(t):
    """A damaged ELF file never crashes discovery."""
    with open(t.program("life"), "rb") as f:
        data = f.read()
    check("tokio" in t.run(t.futrace, "doctor", write(t, "whole", data)).ok().out, "the whole file")
    for i in range(60):
        bad = bytearray(data[:t.random.randrange(64, len(data))] if i % 3 == 0 else data)
        for _ in range(t.random.choice((1, 8, 64, 512))):
            limit = 4096 if i % 2 else len(bad)
            bad[t.random.randrange(min(limit, len(bad)))] = t.random.randrange(256)
        no_crash(t.run(t.futrace, "doctor", write(t, "damaged", bytes(bad))), (0, 1, 3))

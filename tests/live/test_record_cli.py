# SPDX-License-Identifier: MIT OR Apache-2.0
"""`futrace record` as a command: status, streams, signals, files, and what cannot be recorded."""
import fcntl
import glob
import json
import os
import pty
import re
import shutil
import signal
import stat
import struct
import termios
import time

from live import (DURATIONS, Failed, Skipped, TIMEOUT_S, check, children_of, nr_lost, same, settle, sum_polls, test, total,
                  truth, user_tasks)

STATUSES = {
    "0": ["sh", "-c", "exit 0"], "7": ["sh", "-c", "exit 7"], "126": ["./not-executable"],
    "127": ["futrace-no-such-command"], "134": ["sh", "-c", "kill -ABRT $$"],
    "137": ["sh", "-c", "kill -KILL $$"], "143": ["sh", "-c", "kill -TERM $$"],
}


@test(cases=[(s,) for s in STATUSES], as_root=True)
def status(t, want):
    """The status is CMD's own: exit codes, 128+n after a signal, 126 and 127 as in a shell."""
    with open(t.path("not-executable"), "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n")
    os.chmod(t.path("not-executable"), 0o644)
    r = t.record(*STATUSES[want])
    same(f"status ({r})", r.status, int(want))
    check("futrace" in r.err, f"nothing is said of a recording without tasks: {r}")


@test()
def streams(t):
    """stdin, stdout and stderr are CMD's own."""
    r = t.record("sh", "-c", "cat; echo err >&2", opts=["-q"], stdin=b"line 1\nline 2\n")
    same("stdout", r.out, "line 1\nline 2\n")
    same("stderr", r.err, "err\n")


@test()
def options_end_at_command(t):
    """CMD's options are CMD's, with and without `--`."""
    plain = t.program("plain")
    for dashes in ([], ["--"]):
        r = t.run(t.futrace, "record", "-q", "-o", t.path("t.data"), *dashes, plain, "0", "-q", "--json", "-o", "x")
        same("CMD's arguments", r.ok().out.split("\n")[0], "plain: 0 -q --json -o x")


@test()
def default_file(t):
    """The file is futrace.data, 0600; the one before becomes futrace.data.old."""
    prog = t.program("life")
    t.record(prog, "small", "5", out=None).ok()
    same("mode", stat.S_IMODE(os.stat(t.path("futrace.data")).st_mode), 0o600)
    first = os.stat(t.path("futrace.data")).st_ino
    t.record(prog, "small", "7", out=None).ok()
    same("the older one", os.stat(t.path("futrace.data.old")).st_ino, first)
    same("files", sorted(os.listdir(t.dir)), ["futrace.data", "futrace.data.old"])
    for argv in (["report", "--json"], ["info"], ["dump"]):
        check(t.run(t.futrace, *argv).ok().out, f"{argv} without FILE")
    same("tasks of the newer one", len(user_tasks(t.report("futrace.data"))), 7)


def contents(t, *names):
    got = []
    for name in names:
        with open(t.path(name), "rb") as f:
            got.append(f.read())
    return got


@test(cases=[("true",), ("static",), ("follow",)])
def nothing_displaces_nothing(t, how):
    """A run that records nothing leaves the recordings of earlier runs where they are, and says so."""
    prog = t.program("life")
    cmd, opts = {"true": (["true"], []), "static": ([t.program("plain-static"), "0"], []),
                 "follow": (["sh", "-c", "true; true"], ["--follow"])}[how]
    first = t.record(*cmd, opts=opts, out=None).ok()
    check("keeps" not in first.err, f"there is no earlier recording: {first.err!r}")
    same("tasks of an empty recording", user_tasks(t.report("futrace.data")), [])
    for nr in ("5", "7"):
        t.record(prog, "small", nr, out=None).ok()
    names = ["futrace.data", "futrace.data.old"]
    before = contents(t, *names)
    for _ in range(2):
        r = t.record(*cmd, opts=opts, out=None).ok()
        check("futrace.data keeps the earlier recording" in r.err, f"it is not said: {r.err!r}")
    same("files", sorted(os.listdir(t.dir)), names)
    check(contents(t, *names) == before, "an empty recording displaced another")


@test()
def killed_with_older_ones(t):
    """Killed while recording, FILE is the new recording, FILE.old the one before, and nothing else is left."""
    prog = t.program("life")
    for nr in ("5", "7"):
        t.record(prog, "small", nr, out=None).ok()
    p = t.start(t.record_argv(prog, "wait", out=None))
    p.wait_line("ready")
    target = children_of(p.pid)
    end = time.monotonic() + TIMEOUT_S
    while not sum_polls(t.report("futrace.data")):  # of the new one: it was begun before its command
        check(time.monotonic() < end, "nothing of the new recording")
    os.kill(p.pid, signal.SIGKILL)
    p.popen.wait()
    os.kill(target[0], signal.SIGKILL)
    same("files", sorted(os.listdir(t.dir)), ["futrace.data", "futrace.data.old"])
    same("tasks of the older one", len(user_tasks(t.report("futrace.data.old"))), 7)
    check(sum_polls(t.report("futrace.data")) > 0, "nothing of the new recording is left")


@test(cases=[("S",), ("",)])
def few_files(t, kind):
    """Under `ulimit -n` a program ends as it does alone; it is recorded if futrace may have more, else the limit is named."""
    for nr in (4, 6, 8, 9, 12):
        limited = ["sh", "-c", f'ulimit -{kind}n {nr}; exec "$@"', "sh"]
        for cmd in ([t.program("life"), "small", "5"], ["sh", "-c", "ulimit -n; ulimit -Hn; exit 7"]):
            alone = t.run(*limited, *cmd)
            r = t.run(*limited, *t.record_argv(*cmd, out=f"{nr}.data"))
            same(f"{cmd[0]} with {nr}", (r.status, r.out), (alone.status, alone.out))
            check(kind or "'ulimit -n 64'" in r.err, f"no word of the limit: {r.err}")
            if kind and alone.status == 0:
                same("tasks", len(user_tasks(t.report(f"{nr}.data"))), 5)


@test(cases=[("S", "-"), ("", "-"), ("S", "run"), ("", "run")])
def small_files(t, kind, command):
    """Under `ulimit -f` a program ends as it does alone; it is recorded if there is room for events, else the limit is named."""
    shows = ["sh", "-c", "ulimit -f; ulimit -Hf; grep 'Sig[PBIC]' /proc/self/status; exit 7"]
    for nr, has_room in ((0, False), (1000, False), (2_000_000, True), (20_000_000, True)):
        limited = ["sh", "-c", f'ulimit -{kind}f {nr}; exec "$@"', "sh"]
        for cmd in ([t.program("life"), "small", "5"], shows):
            alone = t.run(*limited, *cmd)
            argv = [t.futrace, "run", "--", *cmd] if command == "run" else t.record_argv(*cmd, out=f"{nr}.data")
            r = t.run(*limited, *argv)
            same(f"{cmd[0]} with {nr}", (r.status, r.out), (alone.status, alone.out))
            same("a word of the limit", "(ulimit -f)" in r.err, not kind and not has_room)
            if cmd != shows and command == "-" and (kind or has_room):
                same("tasks", len(user_tasks(t.report(f"{nr}.data"))), 5)


def why_nothing(t, *cmd, opts=()):
    """What is said at the end, of a command that ends as it does alone and of which nothing is recorded."""
    alone = t.run(*cmd)
    r = t.record(*cmd, opts=list(opts))
    same("status", r.status, alone.status)
    last = [line for line in r.err.splitlines() if "nothing was recorded" in line]
    same("reasons", len(last), 1)
    return last[0]


@test()
def nothing_of_daemon(t):
    """Of a program that went on in a child by fork it is said that this was not followed, however soon the parent ends."""
    for _ in range(10 * t.runs):
        said = why_nothing(t, t.program("life"), "daemon")
        check("in the foreground" in said and "--follow" in said, said)


@test()
def followed_daemon(t):
    """With --follow it is said that a daemon was left behind, whether it came in before its parent ended or not."""
    for _ in range(10 * t.runs):
        r = t.record(t.program("life"), "daemon", opts=["--follow"])
        is_recorded = any(name.startswith("t.data.") for name in os.listdir(t.dir))
        check("outlives the command" in r.err or "in the foreground" in r.err or is_recorded, str(r))


@test()
def nothing_behind_shell(t):
    """Children of a shell that then becomes the program are not taken for a daemon of the program."""
    said = why_nothing(t, "sh", "-c", f"x=$(echo a); exec {t.program('life')} --help")
    check("ran no task" in said and "fork" not in said, said)


@test()
def nothing_by_loader(t):
    """Of a program that is started by the loader it is said that this hides it."""
    loader = "/lib64/ld-linux-x86-64.so.2"
    said = why_nothing(t, loader, t.program("life"), "small", "5")
    check("start that one directly" in said, said)


@test(only_root=True)
def nothing_of_other_user(t):
    """A program that is started as another user cannot come in, and this is said; of one that stays who it is nothing is."""
    drop = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    stay = ["setpriv", "--clear-groups"]
    for opts in ([], ["--follow"]):
        said = why_nothing(t, *drop, "/bin/echo", "x", opts=opts)
        check("of another user" in said and "--follow" not in said, said)
        said = why_nothing(t, "sh", "-c", f"{' '.join(drop)} echo x; :", opts=opts)
        same(f"a word of the user with {opts}", "of another user" in said, bool(opts))
        for cmd in ("/bin/echo", "/nonexistent"):
            check("of another user" not in why_nothing(t, *stay, cmd, opts=opts), f"no other user for {cmd}")
    t.record(*stay, t.program("life"), "small", "5").ok()
    same("tasks", len(user_tasks(t.report())), 5)


@test()
def closed_streams(t):
    """A program finds those streams closed that were closed for futrace, and no word of ours gets into its recording."""
    look = 'for f in 0 1 2; do [ -e /proc/$$/fd/$f ] && s=$s$f; done; echo "open: $s" >seen; exit 0'
    for closed in ("<&-", ">&-", "2>&-", ">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-"):
        without = ["sh", "-c", f'exec "$@" {closed}', "sh"]
        t.run(*without, *t.record_argv(t.program("life"), "small", "5")).ok()
        same(f"tasks with {closed}", len(user_tasks(t.report())), 5)
        t.run(*without, "sh", "-c", look).ok()
        alone = contents(t, "seen")
        t.run(*without, *t.record_argv("sh", "-c", look)).ok()
        same(f"open with {closed}", contents(t, "seen"), alone)


@test()
def quiet(t):
    """With -q a recording says nothing; without, it says in a line or two what was recorded and where."""
    prog = t.program("life")
    same("stderr", t.record(prog, "small", "5", opts=["-q"]).ok().err, "")
    r = t.record(prog, "small", "5").ok()
    check(t.path("t.data") in r.err and len(r.err.strip().split("\n")) <= 3, f"{r.err!r}")
    check("\r" not in r.err and "\x1b" not in r.err, f"progress although stderr is no terminal: {r.err!r}")


@test()
def same_count(t):
    """The number of events that `record` tells is that of `report` and `info`."""
    r = t.record(t.program("life"), "small", "5").ok()
    said = re.search(r"(\d+) events, 0 lost", r.err)
    check(said, f"no count: {r.err!r}")
    same("events told by record", int(said[1]), t.report()["events"])
    info = t.run(t.futrace, "info", "--json", t.path("t.data")).ok()
    same("events told by info", json.loads(info.out)["events"], int(said[1]))


@test()
def summary(t):
    """The summary tells the size in a unit that fits, and the signal that ended the program by its name."""
    r = t.record(t.program("life"), "small", "5").ok()
    size = re.search(r" lost, ([\d.]+) (B|kB|MB)", r.err)
    check(size, f"no size: {r.err!r}")
    told = float(size[1]) * {"B": 1, "kB": 1e3, "MB": 1e6}[size[2]]
    real = os.stat(t.path("t.data")).st_size
    check(abs(told - real) < 300, f"{size[0]!r} of {real} bytes")
    p = t.start(t.record_argv(t.program("life"), "wait"))
    p.wait_line("ready")
    os.kill(p.pid, signal.SIGTERM)
    p.wait()
    err = p.popen.stderr.read().decode()
    check("killed by SIGTERM" in err, f"no word of the signal: {err!r}")


@test()
def duration(t):
    """--duration ends the recording; the program goes on, and its status is still passed through."""
    for seconds in DURATIONS:  # a program that comes to its first poll late is recorded for longer
        p = t.start(t.record_argv(t.program("life"), "wait", opts=["--duration", f"{seconds}s"]))
        p.wait_line("ready")
        t.until("the recording stops", lambda: "stopped" in t.run(t.futrace, "info", t.path("t.data")).out)
        p.tell("\n")
        p.wait_line("more")
        p.close_stdin()
        r = p.finish().ok()
        rep = t.report()
        same("end", rep["recording"]["end"], "stopped")
        check(seconds * 10**9 <= rep["duration_ns"], f"recorded for {rep['duration_ns']} ns")
        if sum_polls(rep):
            break
        os.unlink(t.path("t.data"))
    want = total(r.out)["polls"]
    check(0 < sum_polls(rep) < want, f"{sum_polls(rep)} of {want} polls")


@test()
def duration_ends_in_a_storm(t):
    """A program that is in the middle of everything when --duration ends is not harmed."""
    ms = nr_cut = 0
    while nr_cut < 9:
        ms += 20 if nr_cut else 20 + ms // 3
        check(ms < 1000 * TIMEOUT_S, f"nothing was recorded before, but {nr_cut} times")
        cmd = [t.program("storm"), "2", "101", "20011", "2"]
        r = t.record(*cmd, opts=["-q", "--duration", f"{ms}ms"], out=f"{ms}.data").ok()
        same("polls of the program itself", total(r.out)["polls"], 2 * 101 * 20012)
        nr_cut += sum_polls(t.report(f"{ms}.data")) > 0  # else the time was over when the storm began


@test(alone=True)
def many_workers(t):
    """However many threads a program has, those that need a large ring have one: nothing is lost in a storm."""
    r = t.record(t.program("storm"), "14", "101", "20011", "2", opts=["-q"]).ok()
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    same("polls", sum_polls(rep), total(r.out)["polls"])


@test(alone=True)
def max_size(t):
    """--max-size bounds the file; the program goes on to its end and the file reads."""
    r = t.record(t.program("storm"), "2", "101", "20011", "3", opts=["--max-size", "256K"]).ok()
    size = os.stat(t.path("t.data")).st_size
    check(size <= 2 * 256 * 1024, f"{size} bytes")
    rep = t.report()
    check(0 < sum_polls(rep) < total(r.out)["polls"], f"{sum_polls(rep)} polls")


class Terminal:
    """A program in a terminal of its own, as the foreground job."""

    def __init__(self, t, argv):
        self.near, far = pty.openpty()
        attrs = termios.tcgetattr(far)
        attrs[3] &= ~termios.ECHO
        termios.tcsetattr(far, termios.TCSANOW, attrs)

        def own_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.p = t.start(argv, stdin=far, stdout=far, stderr=far, preexec=own_terminal)
        os.close(far)
        self.text = ""

    def wait_text(self, text, times=1, timeout=TIMEOUT_S):
        import select
        while self.text.count(text) < times:
            if not select.select([self.near], [], [], timeout)[0]:
                raise Failed(f"no {text!r} within {timeout} s: {self.text[-500:]!r}")
            try:
                data = os.read(self.near, 65536)
            except OSError:
                data = b""
            if not data:
                raise Failed(f"ended without {text!r}: {self.text[-500:]!r}")
            self.text += data.decode(errors="replace")

    def read_rest(self):
        try:
            while data := os.read(self.near, 65536):
                self.text += data.decode(errors="replace")
        except OSError:
            pass

    def press(self, key):
        os.write(self.near, key)


def wait_taken(pid, sig, timeout=TIMEOUT_S):
    """Until a signal is no longer pending: a second one of the same kind would fall together with it."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            fields = dict(line.split(":", 1) for line in f if ":" in line)
        if not (int(fields["ShdPnd"], 16) | int(fields["SigPnd"], 16)) >> (sig - 1) & 1:
            return
    raise Failed(f"signal {sig} is still pending after {timeout} s")


@test()
def one_ctrl_c(t):
    """The first Ctrl-C goes to CMD, once; the recording runs to CMD's own end."""
    term = Terminal(t, t.record_argv(t.program("life"), "handle-sigint"))
    term.wait_text('"who":"ready"')
    term.press(b"\x03")
    term.wait_text('"who":"interrupted"')
    same("status", term.p.wait(), 42)
    term.read_rest()
    check("signals: 1\r" in term.text, f"not exactly one SIGINT came: {term.text!r}")
    lines = [x for x in term.text.replace("\r", "\n").split("\n") if x.startswith('{"truth"')]
    rep = t.report()
    same("polls", sum_polls(rep), total("\n".join(lines))["polls"])
    same("lost", nr_lost(rep), 0)


@test()
def two_ctrl_c(t):
    """The second Ctrl-C closes the file and leaves; CMD, deaf to both, goes on."""
    term = Terminal(t, t.record_argv(t.program("life"), "ignore-sigint"))
    term.wait_text('"who":"ready"')
    target = children_of(term.p.pid)
    term.press(b"\x03")
    term.press(b"\n")
    term.wait_text('"who":"more"')
    check(term.p.popen.poll() is None, "futrace left at the first Ctrl-C")
    wait_taken(term.p.pid, signal.SIGINT)
    term.press(b"\x03")
    term.p.wait()
    same("polls", sum_polls(t.report()) > 0, True)
    os.kill(target[0], 0)
    os.kill(target[0], signal.SIGKILL)


@test(cases=[("TERM",), ("HUP",), ("USR1",)])
def signals_pass(t, name):
    """A signal sent to futrace reaches CMD, and the recording is whole."""
    p = t.start(t.record_argv(t.program("life"), "wait"))
    p.wait_line("ready")
    sig = getattr(signal, "SIG" + name)
    os.kill(p.pid, sig)
    same("status", p.wait(), 128 + sig)
    rep = t.report()
    same("polls", sum_polls(rep), truth(p.seen[-1])[0]["polls"])


@test(cases=[("exec",), ("script",), ("twice",)])
def wrappers(t, how):
    """A wrapper that becomes the program by exec is followed."""
    prog = t.program("life")
    script = t.path("wrapper")
    with open(script, "w", encoding="ascii") as f:
        f.write(f'#!/bin/sh\nexec {prog} "$@"\n')
    os.chmod(script, 0o755)
    cmd = {"exec": ["sh", "-c", f"exec {prog} small 11"], "script": [script, "small", "11"],
           "twice": ["env", "A=b", "sh", "-c", f"exec {script} small 11"]}[how]
    r = t.record(*cmd).ok()
    rep = t.report()
    same("polls", sum_polls(rep), total(r.out)["polls"])
    same("lost", nr_lost(rep), 0)


@test()
def not_followed(t):
    """A program started by a shell as a child is not recorded, and the empty recording says why."""
    prog = t.program("life")
    r = t.record("sh", "-c", f"{prog} small 11; exit 3")
    same("status", r.status, 3)
    same("tasks", user_tasks(t.report()), [])
    check("--follow" in r.err, f"it does not say what to do: {r.err!r}")
    r = t.record("sh", "-c", f"{prog} small 11; exit 3", opts=["--follow"], out="f.data")
    same("status", r.status, 3)
    files = glob.glob(t.path("f.data.[0-9]*"))
    same("files", len(files), 1)
    same("polls", sum_polls(t.report(files[0])), total(r.out)["polls"])


def foreign_elf(t):
    path = t.path("foreign")
    shutil.copy(t.program("plain"), path)
    with open(path, "r+b") as f:
        f.seek(18)
        f.write(struct.pack("<H", 183))
    os.chmod(path, 0o755)
    return path


@test(cases=[("plain", "runtime"), ("plain-static", "static"), ("plain-static-pie", "static")])
def cannot_record(t, prog, why):
    """What cannot be recorded runs all the same, and one line says why nothing is there."""
    r = t.record(t.program(prog), "5")
    same("status", r.status, 5)
    check(r.out.startswith("plain: 5\n"), f"CMD did not run: {r}")
    check(why in r.err, f"no word of {why!r}: {r.err!r}")
    if why == "runtime":
        same(f"lines that say so ({r.err!r})", r.err.count("\n"), 1)


@test()
def cannot_read(t):
    """A program that may be run but not read is named, with the reason and what to do."""
    if t.s.uid == 0:
        raise Skipped("root may read anything")
    path = t.path("unreadable")
    shutil.copy(t.program("life"), path)
    os.chmod(path, 0o711)
    if os.stat(path).st_uid == t.s.uid:
        os.chmod(path, 0o111)
    r = t.record(path, "small", "5").ok()
    same("polls of the program itself", total(r.out)["polls"], 15)
    check(f"{path} cannot be read" in r.err and "chmod" in r.err, f"{r.err!r}")
    check("no async runtime" not in r.err, f"nobody can know that: {r.err!r}")


@test()
def becomes_unreadable(t):
    """A wrapper that becomes a program that may not be read: that is the reason which is told."""
    if t.s.uid == 0:
        raise Skipped("root may read anything")
    path = t.path("unreadable")
    shutil.copy(t.program("life"), path)
    os.chmod(path, 0o111)
    r = t.record("sh", "-c", f"exec {path} small 5").ok()
    check("cannot be read" in r.err and "no async runtime" not in r.err, f"{r.err!r}")


@test()
def foreign_architecture(t):
    """A program of another machine cannot run: 126 as in a shell, and the reason is given."""
    r = t.record(foreign_elf(t), "5")
    same("status", r.status, 126)
    check("aarch64" in r.err or "architecture" in r.err or "machine" in r.err, f"{r.err!r}")


@test(only_root=True)
def setuid(t):
    """A setuid program runs as it would alone, and it is said why it cannot be recorded."""
    path = os.path.join(t.s.stage, "programs", "setuid-life")
    shutil.copy(t.program("life"), path)
    os.chmod(path, 0o4755)
    home = t.path("home")
    os.mkdir(home)
    os.chmod(t.s.home, 0o755)
    os.chmod(t.dir, 0o755)
    os.chown(home, 12345, 12345)
    argv = [t.futrace, "record", "-o", os.path.join(home, "t.data"), "--", path, "small", "5"]
    r = t.run("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", *argv, cwd=home)
    same("status", r.status, 0)
    same("polls of the program itself", total(r.out)["polls"], 15)
    check("set" in r.err and "uid" in r.err, f"no word of setuid: {r.err!r}")


@test()
def bad_options(t):
    """An unknown option or a missing command is a usage error, 2, and nothing is run."""
    mark = t.path("ran")
    for argv in (["--no-such-option", "--", "touch", mark], ["-o"], [], ["--"], ["--ring-size", "x", "--", "touch", mark],
                 ["--duration", "-1", "--", "touch", mark], ["--duration=0", "--", "touch", mark],
                 ["--max-size=0", "--", "touch", mark], ["--ring-size=0", "--", "touch", mark], ["-o", "-", "--", "touch", mark]):
        t.run(t.futrace, "record", *argv).failed(2)
    check(not os.path.exists(mark), "CMD was run")
    for cmd in ("report", "dump", "info", "doctor"):
        t.run(t.futrace, cmd, "--no-such-option").failed(2)
    t.run(t.futrace, "no-such-command").failed(2)


@test()
def fifo(t):
    """A FIFO is waited for, as by a shell: the recording reaches a late reader whole."""
    os.mkfifo(t.path("fifo"))
    os.chmod(t.path("fifo"), 0o666)
    p = t.start(t.record_argv(t.program("life"), "small", "5", out="fifo"))
    settle(p)
    check(p.popen.poll() is None, "futrace has written to nobody and left")
    same("processes before there is a reader", children_of(p.pid), [])
    with open(t.path("fifo"), "rb") as f, open(t.path("t.data"), "wb") as copy:
        shutil.copyfileobj(f, copy)
    r = p.finish().ok()
    os.chmod(t.path("t.data"), 0o644)
    same("polls", sum_polls(t.report()), total(r.out)["polls"])


@test()
def fifo_without_reader(t):
    """While a FIFO is waited for, an interrupt ends futrace as it ends a shell, and CMD never ran."""
    os.mkfifo(t.path("fifo"))
    os.chmod(t.path("fifo"), 0o666)
    p = t.start(t.record_argv("touch", t.path("ran"), out="fifo"))
    settle(p)
    os.kill(p.pid, signal.SIGINT)
    same("status", p.wait(), 128 + signal.SIGINT)
    check(not os.path.exists(t.path("ran")), "CMD was run")


@test(cases=[("5000", "8K"), ("1K", "4K"), ("4K", None), ("1M", None)])
def ring_size_is_rounded(t, given, taken):
    """A ring size that is no power of two is rounded up, and it is said."""
    r = t.record(t.program("life"), "small", "5", opts=[f"--ring-size={given}"]).ok()
    check(("--ring-size" in r.err) == bool(taken), f"{r.err!r}")
    check(not taken or f"taken as {taken}" in r.err, f"{r.err!r}")


@test(cases=[("/nonexistent/t.data",), ("folder",), ("ro/t.data",), ("file/t.data",), ("/proc/t.data",)])
def no_place_for_the_file(t, where):
    """A file that cannot be created is told before CMD is started, in one line: status 1, nothing was run."""
    if t.s.uid == 0 and where.startswith("ro/"):
        raise Skipped("root may write anywhere")
    os.mkdir(t.path("folder"))
    os.mkdir(t.path("ro"))
    os.chmod(t.path("ro"), 0o555)
    with open(t.path("file"), "w", encoding="ascii"):
        pass
    r = t.run(t.futrace, "record", "-o", where, "--", t.program("plain"), "5").failed(1)
    same("output of a command that must not have run", r.out, "")
    check(where in r.err, f"the file is not named: {r.err!r}")


@test()
def read_only_folder(t):
    """In a folder that is not writable the default file cannot be created, and it is said what to do."""
    if t.s.uid == 0:
        raise Skipped("root may write anywhere")
    os.mkdir(t.path("ro"))
    os.chmod(t.path("ro"), 0o555)
    r = t.record(t.program("plain"), "5", out=None, cwd=t.path("ro")).failed(1)
    check("futrace.data" in r.err and "-o" in r.err, f"what to do is not said: {r.err!r}")


@test()
def cannot_write(t):
    """A recording that cannot be written while CMD runs only prints; CMD keeps its output and status."""
    prog = t.program("life")
    alone = t.run(prog, "leave", "exit7")
    r = t.run(t.futrace, "record", "-o", "/dev/full", "--", prog, "leave", "exit7")
    same(f"status ({r})", r.status, alone.status)
    same("output", r.out, alone.out)
    check(r.err.startswith("futrace") and "/dev/full" in r.err, f"nothing is said: {r.err!r}")
    check("incomplete" in r.err and " lost" not in r.err, f"a summary as if nothing had happened: {r.err!r}")


@test(only_root=True)
def full_disk(t):
    """A disk that fills up while recording is said once; CMD runs to its end and the file reads."""
    mnt = t.path("mnt")
    os.mkdir(mnt)
    script = (f"mount -t tmpfs -o size=32k none {mnt} && {t.futrace} record -o {mnt}/t.data -- "
              f"{t.program('storm')} 2 101 20011 1; rc=$?; cp {mnt}/t.data {t.path('t.data')}; exit $rc")
    r = t.run("unshare", "-m", "sh", "-c", script)
    if "unshare failed" in r.err or "mount:" in r.err:
        raise Skipped(f"no mounts here: {r.err.strip()}")
    same(f"status ({r})", r.status, 0)
    check("space" in r.err and "incomplete" in r.err, f"nothing is said: {r.err!r}")
    t.report()


@test(as_root=True)
def empty_says_why(t):
    """A program with a runtime that spawned nothing gives an empty report without an error."""
    r = t.record(t.program("life"), "small", "0").ok()
    same("tasks", user_tasks(t.report()), [])
    check(r.err, "nothing is said about an empty recording")

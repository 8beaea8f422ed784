# SPDX-License-Identifier: MIT OR Apache-2.0
"""`kill -9` of the program, of futrace, or of both, at random moments; and futrace stopped at such moments."""
import contextlib
import ctypes
import os
import shutil
import signal
import time

from live import TIMEOUT_S, Failed, check, children_of, nr_lost, same, sum_polls, test, truth
from test_hostile import compile_c

FIRST_DELAY_S = 0.4  # at most, until a moment
TRIES = 5


def wait_random(t, p, longest_s):
    """Lets a random time pass, while the program's lines are read."""
    end = time.monotonic() + t.random.uniform(0, longest_s)
    while (left := end - time.monotonic()) > 0:
        try:
            if p.read_line(left) is None:
                return
        except Failed:
            return


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def last_truth(p):
    said = truth("\n".join(p.seen), "running")
    return said[-1]["polls"] if said else 0


def read_all(t):
    """All readers accept the file, whatever happened; None when futrace died before there was one."""
    if not os.path.exists(t.path("t.data")):
        return None
    info = t.info()
    dump = t.run(t.futrace, "dump", t.path("t.data")).ok()
    check(dump.status == 0, str(dump))
    return info, t.report()


def one_program(t, longest_s):
    p = t.start(t.record_argv(t.program("forever"), str(2 * TIMEOUT_S)))
    p.wait_line("running")
    wait_random(t, p, longest_s)
    target = children_of(p.pid)
    same("children of futrace", len(target), 1)
    kill(target[0])
    r = p.finish()
    same("status of futrace after the program was killed", r.status, 137)
    p.seen = r.out.split("\n")
    said = [x for x in p.seen if x.endswith("}")]
    polls = truth("\n".join(said), "running")[-1]["polls"]
    info, rep = read_all(t)
    same("lost", nr_lost(rep), 0)
    check(sum_polls(rep) >= polls, f"the program had said {polls} polls, {sum_polls(rep)} are in the file")
    check("signal 9" in info, f"info does not say how the program ended:\n{info}")
    return True


def check_cut(t, may_be_whole=False):
    """False when futrace was killed before there was a file at all."""
    found = read_all(t)
    if found:
        whole = may_be_whole and "signal 9" in found[0]
        check(whole or "cut:" in found[0], f"info does not say that the file was cut:\n{found[0]}")
    return found is not None


def goes_on(p):
    """The program still runs well without its tracer."""
    before = last_truth(p)
    for _ in range(25):
        check(p.read_line() is not None, "the program ended when futrace was killed")
    check(last_truth(p) > before, "the program makes no progress without futrace")


def one_futrace(t, longest_s):
    p = t.start(t.record_argv(t.program("forever"), str(2 * TIMEOUT_S)))
    wait_random(t, p, longest_s)
    target = children_of(p.pid)
    kill(p.pid)
    p.popen.wait(TIMEOUT_S)
    if target:
        goes_on(p)
        kill(target[0])
    return check_cut(t) and bool(target)


def one_both(t, longest_s):
    p = t.start(t.record_argv(t.program("forever"), str(2 * TIMEOUT_S)))
    wait_random(t, p, longest_s)
    victims = [p.pid, *children_of(p.pid)]
    t.random.shuffle(victims)
    for v in victims:
        kill(v)
    p.popen.wait(TIMEOUT_S)
    # Between the two, futrace may have had the time to see the program's end.
    return check_cut(t, may_be_whole=True)


def repeat(t, one, runs):
    """Until so many moments fell into a recording that had begun: the others show nothing, and the next may be later, as a busy
    machine needs."""
    begun, longest_s = 0, FIRST_DELAY_S
    for i in range(TRIES * runs):
        for name in ("t.data", "t.data.old"):
            if os.path.exists(t.path(name)):
                os.unlink(t.path(name))
        try:
            has_begun = one(t, longest_s)
        except Failed as e:
            raise Failed(f"moment {i + 1}, the {begun + 1}. of {runs} in a recording: {e}") from None
        finally:
            t.close()
        begun += has_begun
        longest_s *= 1 if has_begun else 1.3
        if begun == runs:
            return
    raise Failed(f"only {begun} of {TRIES * runs} moments fell into a recording")


@test(cases=[("program",), ("futrace",), ("both",)])
def at_random_moments(t, who):
    """Whoever is killed, the file reads, says that it was cut, and the program is not harmed."""
    one = {"program": one_program, "futrace": one_futrace, "both": one_both}[who]
    repeat(t, one, max(7, t.runs))


@test()
def at_birth(t):
    """Killed while the file comes into being: there is none, or one that reads, and nothing beside it."""
    files, about = 0, 0.01
    for i in range(60):
        p = t.start(t.record_argv("sleep", "30"))
        time.sleep(about * t.random.uniform(0.5, 1.5))
        victims = [p.pid, *children_of(p.pid)]
        for v in victims:
            kill(v)
        p.popen.wait(TIMEOUT_S)
        left = [name for name in os.listdir(os.path.dirname(t.path("t.data"))) if name.startswith("t.data")]
        check(left in ([], ["t.data"]), f"run {i + 1} left {left}")
        if left:
            files += 1
            t.info()
            os.unlink(t.path("t.data"))
        about *= 0.9 if left else 1.1  # so that the moments lie around the birth, however fast the machine is
        t.close()
    check(0 < files < 60, f"{files} of 60 moments fell behind the birth of the file")


@test(slow=True, cases=[("program",), ("futrace",), ("both",)])
def at_200_moments(t, who):
    """The same at some 200 random moments in all."""
    one = {"program": one_program, "futrace": one_futrace, "both": one_both}[who]
    repeat(t, one, 67)


@test()
def keeps_what_was_flushed(t):
    """What the program does reaches the file while it goes on, and stays there when futrace is killed."""
    p = t.start(t.record_argv(t.program("forever"), str(4 * TIMEOUT_S)))
    for _ in range(3):
        polls = truth(p.wait_line("running"))[0]["polls"]
        t.until(f"the {polls} polls that were said are in the file", lambda: sum_polls(t.report()) >= polls)
        while truth(p.wait_line("running"))[0]["polls"] < 2 * polls:
            pass
    target = children_of(p.pid)
    kill(p.pid)
    p.popen.wait(TIMEOUT_S)
    kill(target[0])
    _, rep = read_all(t)
    check(polls > 0 and sum_polls(rep) >= polls, f"{sum_polls(rep)} polls in the file, {polls} were there before")


# futrace dies, or is stopped: the program does not wait for it

ROUNDS = 100  # of the program's work: some tenths of a second
STATUS = 7  # of the program
WORKER_ENDS = (0, 70, -signal.SIGKILL)  # of processes that read files for futrace, and end with it
AT_ONCE_MS = 400  # what a program may sleep for other reasons, as for its own pages from a disk
STUCK_MS = 1000
PR_SET_CHILD_SUBREAPER = 36


def state_of(pid):
    """As a letter, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rsplit(") ", 1)[1][0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def wait_for_state(pid, *states):
    end = time.monotonic() + TIMEOUT_S
    while (state := state_of(pid)) not in states:
        check(time.monotonic() < end, f"process {pid} is in state {state}, should be in one of {states}")
        time.sleep(0.001)
    return state


@contextlib.contextmanager
def orphans_are_ours():
    """A program whose futrace was killed becomes our child, so that its status can be seen."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def slept_after_ms(born, moment_ns):
    """How long a program has slept between a moment and its main, at least."""
    return (born["main_ns"] - moment_ns - born["busy_ns"]) / 1e6


def check_program(what, out, moment_ns, limit_ms):
    """It did all its work, and began without waiting."""
    said = truth("\n".join(out))
    same(f"{what}: lines of the program", [x["truth"] for x in said], ["born", "done"])
    same(f"{what}: its result", [said[1]["tasks"], said[1]["polls"]], [ROUNDS * 17, ROUNDS * 17 * 6])
    slept = slept_after_ms(said[0], moment_ns)
    check(slept < limit_ms, f"{what}: the program slept {slept:.0f} ms before its main began")


class Moment:
    """A recording, and a random moment of its start, of its middle or of its end."""

    def __init__(self, t, number, start_s):
        self.t, self.phase = t, ("start", "start", "middle", "end")[number % 4]
        if number % 8 < 4:
            shutil.rmtree(os.path.join(t.dir, "cache"), ignore_errors=True)  # then the start takes longer
        rings = ["--ring-size", "4k"] if number % 3 == 0 else []
        execs = str(number % 5 % 3)
        argv = t.record_argv(t.program("born"), str(ROUNDS), execs, opts=rings)
        self.p = t.start(argv, env={"XDG_CACHE_HOME": os.path.join(t.dir, "cache")})
        if self.phase == "start":
            time.sleep(t.random.uniform(0, 1.3 * start_s))
        elif self.phase == "middle":
            self.p.wait_line("born")
            time.sleep(t.random.uniform(0, 0.2))
        else:
            self.p.wait_line("done")
            time.sleep(t.random.uniform(0, 0.03))
        self.ns = time.monotonic_ns()

    def signal(self, number):
        try:
            os.kill(self.p.pid, number)
        except ProcessLookupError:
            pass

    def lines(self):
        """To the end of all that hold the stream."""
        while self.p.read_line() is not None:
            pass
        return self.p.seen


def one_killed(t, number, start_s):
    """True if there was a program."""
    m = Moment(t, number, start_s)
    m.signal(signal.SIGKILL)
    m.p.popen.wait(TIMEOUT_S)
    orphans = children_of(os.getpid())
    out, what = m.lines(), f"moment {number}, {m.phase}, killed"
    ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in orphans]
    check(all(e in (STATUS, *WORKER_ENDS) for e in ends), f"{what}: what was left ended with {ends}")
    if STATUS in ends or out:
        check_program(what, out, m.ns, AT_ONCE_MS)
    if os.path.exists(t.path("t.data")):
        t.info()
    return STATUS in ends


def check_account(t, what, rep, was_born):
    """All polls of the program are recorded, or counted as lost; or it is known that nothing is recorded."""
    got, lost, want = sum_polls(rep), nr_lost(rep, "run-start"), ROUNDS * 17 * 6
    if not was_born and not got:
        return  # it went on unrecorded, as it had not been answered
    check(got + lost >= want, f"{what}: {got} polls recorded and {lost} lost, the program made {want}")


def is_program(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "born"
    except OSError:
        return False


def find_program(pid):
    """The child of a stopped futrace that is the program, or becomes it by exec in a moment; None if there is none."""
    end = time.monotonic() + 1
    while time.monotonic() < end:
        children = children_of(pid)
        for child in filter(is_program, children):
            return child
        if all(state_of(child) in ("Z", None) for child in children):
            return None
        time.sleep(0.002)
    return None


def one_stopped(t, number, start_s):
    """True if there was a program."""
    m = Moment(t, number, start_s)
    m.signal(signal.SIGSTOP)
    wait_for_state(m.p.pid, "T", "Z")
    program = find_program(m.p.pid)
    was_born = any("born" in line for line in m.p.seen)
    if program:
        # While futrace is stopped, the program goes on to its end.
        wait_for_state(program, "Z", None)
    m.signal(signal.SIGCONT)
    r, what = m.p.finish(), f"moment {number}, {m.phase}, stopped"
    same(f"{what}: status of {r}", r.status, STATUS)
    check_program(what, [line for line in r.out.split("\n") if line], m.ns, STUCK_MS)
    rep = t.report()
    check_account(t, what, rep, was_born)
    if not sum_polls(rep):
        check("nothing was recorded: futrace was stopped" in r.err, f"{what}: the reason is not told: {r}")
    return bool(program)


def how_long_is_start(t):
    """Seconds until the program's main, without a cache."""
    began = time.monotonic()
    p = t.start(t.record_argv(t.program("born"), str(ROUNDS)), env={"XDG_CACHE_HOME": t.path("none")})
    p.wait_line("born")
    seconds = time.monotonic() - began
    same("status", p.finish().status, STATUS)
    return seconds


def at_moments(t, how, nr):
    one = {"killed": one_killed, "stopped": one_stopped}[how]
    start_s, met = how_long_is_start(t), 0
    with orphans_are_ours():
        for i in range(nr):
            for name in ("t.data", "t.data.old"):
                if os.path.exists(t.path(name)):
                    os.unlink(t.path(name))
            met += one(t, i, start_s)
            t.close()
    check(met >= nr // 4, f"only {met} of {nr} moments fell into the life of a program")


@test(cases=[("killed",), ("stopped",)])
def futrace_at_moments(t, how):
    """Whenever futrace is killed or stopped, the program begins without waiting for it, and has its results and its status."""
    at_moments(t, how, 8 * t.runs)


@test(slow=True, cases=[("killed",), ("stopped",)])
def futrace_at_500_moments(t, how):
    """The same at 500 moments in all."""
    at_moments(t, how, 250)


@test(cases=[("killed",), ("stopped",)])
def at_dlopen(t, how):
    """A program that loads libraries does not wait for a futrace that is gone, and once for one that is stuck."""
    late = compile_c(t, "late", "-ldl")
    libs = [compile_c(t, "lib", "-shared", "-fPIC", out=f"lib{i}.so") for i in range(5)]
    for path in (late, *libs):
        os.chmod(path, 0o755)
    p = t.start(t.record_argv(late, *libs))
    p.wait_line("ready")
    slept = []
    for i in range(4):
        if i == 1:
            os.kill(p.pid, signal.SIGKILL if how == "killed" else signal.SIGSTOP)
            wait_for_state(p.pid, "Z" if how == "killed" else "T")
        p.tell("load\n")
        slept.append(int(p.wait_line("slept").split()[1]))
    limits = [TIMEOUT_S * 1000, STUCK_MS if how == "stopped" else AT_ONCE_MS, AT_ONCE_MS, AT_ONCE_MS]
    check(all(s < limit for s, limit in zip(slept, limits)), f"{how} before the second dlopen, these slept {slept} ms")
    if how == "stopped":
        os.kill(p.pid, signal.SIGCONT)
        p.tell("load\n")
        p.wait_line("slept")
        same("status", p.finish().status, 0)

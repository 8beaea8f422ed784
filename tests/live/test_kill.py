# SPDX-License-Identifier: MIT OR Apache-2.0
"""`kill -9` of the program, of futrace, or of both, at random moments."""
import os
import signal
import time

from live import Failed, check, children_of, nr_lost, same, sum_polls, test, truth

MAX_DELAY_S = 0.4
TRIES = 5


def wait_random(t, p):
    """Lets a random time pass, while the program's lines are read."""
    end = time.monotonic() + t.random.uniform(0, MAX_DELAY_S)
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


def one_program(t):
    p = t.start(t.record_argv(t.program("forever"), "30"))
    p.wait_line("running")
    wait_random(t, p)
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


def one_futrace(t):
    p = t.start(t.record_argv(t.program("forever"), "30"))
    wait_random(t, p)
    target = children_of(p.pid)
    kill(p.pid)
    p.popen.wait(10)
    if target:
        goes_on(p)
        kill(target[0])
    return check_cut(t) and bool(target)


def one_both(t):
    p = t.start(t.record_argv(t.program("forever"), "30"))
    wait_random(t, p)
    victims = [p.pid, *children_of(p.pid)]
    t.random.shuffle(victims)
    for v in victims:
        kill(v)
    p.popen.wait(10)
    # Between the two, futrace may have had the time to see the program's end.
    return check_cut(t, may_be_whole=True)


def repeat(t, one, runs):
    """Until so many moments fell into a recording that had begun: the others show nothing."""
    begun = 0
    for i in range(TRIES * runs):
        for name in ("t.data", "t.data.old"):
            if os.path.exists(t.path(name)):
                os.unlink(t.path(name))
        try:
            begun += one(t)
        except Failed as e:
            raise Failed(f"moment {i + 1}, the {begun + 1}. of {runs} in a recording: {e}") from None
        finally:
            t.close()
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
        p.popen.wait(10)
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
    """What the program had done two seconds before futrace was killed is in the file."""
    p = t.start(t.record_argv(t.program("forever"), "30"))
    began, polls = None, 0
    p.wait_line("running")
    began = time.monotonic()
    while time.monotonic() - began < 3:
        line = p.wait_line("running")
        if time.monotonic() - began < 1:
            polls = truth(line)[0]["polls"]
    target = children_of(p.pid)
    kill(p.pid)
    p.popen.wait(10)
    kill(target[0])
    _, rep = read_all(t)
    check(polls > 0 and sum_polls(rep) >= polls, f"{sum_polls(rep)} polls in the file, {polls} two seconds before")

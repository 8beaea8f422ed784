# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that do what nobody expects of them: they run as they do alone, and their recordings are true."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from live import check, nr_lost, same, sum_polls, test, total, truth, user_tasks
from test_exact import compare_tasks

C_DIR = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "programs", "c")
NR_LIBS = 300
PAUSE_S = 2


def compile_c(t, name, *flags, out=None):
    """A C program of ours, in the folder of the test."""
    path = t.path(out or name)
    source = os.path.join(C_DIR, name + ".c")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", path, source, *flags], check=True)
    return path


def plugin(t):
    return t.program("libplugin.so")


def both_ways(t, *argv, opts=(), **more):
    """Runs it alone and recorded; output and status must not differ. Returns the recorded run."""
    alone = t.run(*argv, **more)
    recorded = t.record(*argv, opts=opts, **more)
    same(f"status ({recorded})", recorded.status, alone.status)
    same("output", recorded.out, alone.out)
    return recorded


def compare_plugin(t, argv, opts=(), **more):
    """The same with a program that ends by loading the plugin: ids in its truth are those of one run."""
    alone = t.run(*argv, **more)
    r = t.record(*argv, opts=opts, **more)
    same(f"status ({r})", (r.status, alone.status), (42, 42))
    same("lines of output", r.out.count("\n"), alone.out.count("\n"))
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    check(user_tasks(rep), f"no task of the plugin: {r.err!r}")
    compare_tasks(rep, truth(r.out, "task"))
    return r


def check_no_nonsense(r):
    check("could not be decoded" not in r.err, f"a ring is broken: {r.err!r}")


def compare_with_lost(t, r):
    """Of each kind, what was recorded and what was lost is together what was."""
    rep, want = t.report(), total(r.out)
    tasks = user_tasks(rep)
    lost = rep["lost_by_kind"]
    check(tasks, f"nothing was recorded: {r.err!r}")
    same(f"polls recorded and lost ({lost})", sum_polls(rep) + nr_lost(rep, "run-start"), want["polls"])
    check(len(tasks) <= want["tasks"], f"{len(tasks)} tasks, there were only {want['tasks']}")
    if not nr_lost(rep):
        same("tasks", len(tasks), want["tasks"])
    check_no_nonsense(r)


# Becoming another program

@test(cases=[("execl",), ("execlp",), ("execle",)])
def many_arguments(t, how):
    """1,500 arguments of a variadic exec, and the environment of execle, arrive as they were given."""
    show = compile_c(t, "show")
    r = both_ways(t, compile_c(t, "becomes"), how, show)
    same("status", r.status, 11)
    same("arguments", r.out.split("\n")[:2] + [r.out.split("\n")[1500]], ["1501 arguments", "a000", "c499"])
    env = [x for x in r.out.split("\n") if x.startswith("env: ")]
    if how == "execle":
        same("environment", env, ["env: MINE=1", "env: ALSO=2"])


def loader_of(path):
    with open(path, "rb") as f:
        found = re.search(rb"/[^\0]*/ld-linux[^\0]*\0", f.read())
    check(found, f"{path} names no loader of glibc")
    return found[0][:-1].decode()


@test(cases=[("execv", ()), ("execv", ("--follow",)), ("spawn", ("--follow",))])
def other_loader(t, how, opts):
    """A program of another loader than glibc's is not handed the agent, which is of no use to it."""
    becomes, show = compile_c(t, "becomes"), compile_c(t, "show")
    other = t.path("ld-musl-x86_64.so.1")
    os.symlink(loader_of(show), other)
    foreign = compile_c(t, "show", f"-Wl,--dynamic-linker={other}", out="foreign")
    for program, is_ours in ((show, True), (foreign, False)):
        r = both_ways(t, becomes, how, program, opts=opts)
        same("status", r.status, 11)
        handed = re.findall(r"^handed over: (LD_PRELOAD|FUTRACE_CTL)$", r.err, re.M)
        same(f"what {os.path.basename(program)} was handed", sorted(handed),
             ["FUTRACE_CTL", "LD_PRELOAD"] if is_ours else [])


@test(cases=[("execv", ()), ("spawn", ("--follow",))])
def privileged(t, how, opts):
    """A set-user-ID or set-group-ID program, whose loader ignores the agent, is not handed it either."""
    becomes, show = compile_c(t, "becomes"), compile_c(t, "show")
    for mode in (0o755, 0o4755, 0o2755):
        os.chmod(show, mode)
        same("mode", os.stat(show).st_mode & 0o7777, mode)
        r = both_ways(t, becomes, how, show, opts=opts)
        handed = re.findall(r"^handed over: (LD_PRELOAD|FUTRACE_CTL)$", r.err, re.M)
        same(f"what a program of mode {mode:o} was handed", bool(handed), mode == 0o755)


@test(cases=[("overwritten", False), ("handler", False), ("handler-path", False), ("handler", True), ("handler-path", True)])
def becomes_in_odd_ways(t, how, is_script):
    """Becoming a program works, and the agent goes along, although the initial environment was overwritten, or in a signal
    handler with a stack of 4 kB; also by a script's interpreter."""
    show = compile_c(t, "show")
    if is_script:
        with open(t.path("script"), "w", encoding="ascii") as f:
            f.write(f"#!{show}\n")
        os.chmod(t.path("script"), 0o755)
    r = both_ways(t, compile_c(t, "becomes"), how, t.path("script") if is_script else show)
    same("status", r.status, 11)
    handed = re.findall(r"^handed over: (LD_PRELOAD|FUTRACE_CTL)$", r.err, re.M)
    same("what it was handed", sorted(handed), ["FUTRACE_CTL", "LD_PRELOAD"])


@test(cases=[(False,), (True,)])
def vforks_and_cancels(t, follow):
    """Children by vfork cost their parent no memory, and threads that are cancelled in their sleep are cleaned up."""
    argv = [compile_c(t, "children", "-pthread", "-ldl"), plugin(t), compile_c(t, "show"), "50"]
    r = compare_plugin(t, argv, opts=["--follow"] if follow else [])
    said = [x for x in r.out.split("\n") if x.startswith(("shown", "cancelled"))]
    same("what the program saw", said, ["shown 50, left 50, pages more: 0", "cancelled 30, cleaned 30"])


# Address space

@test()
def limits_itself(t):
    """A program that limits its own address space to 2 GB still gets its memory and its threads."""
    r = both_ways(t, compile_c(t, "limits", "-pthread"))
    same("status", r.status, 12)
    same("what went well", r.out.count(": ok"), 17)


def compare_or_told(t, r):
    if user_tasks(t.report()):
        compare_with_lost(t, r)
    else:
        check("address space" in r.err, f"nothing was recorded, and not said why: {r.err!r}")


@test(cases=[("80",), ("150",), ("600",)])
def little_address_space(t, megabytes):
    """All under `ulimit -v`, a program runs as it does alone; it is recorded, or the limit is named."""
    limited = ["sh", "-c", f'ulimit -v $(({megabytes} * 1024)); exec "$@"', "sh"]
    prog = [t.program("life"), "small", "5"]
    alone = t.run(*limited, *prog).ok()
    r = t.run(*limited, *t.record_argv(*prog)).ok()
    same("output", r.out, alone.out)
    compare_or_told(t, r)


@test(cases=[("40",), ("150",), ("600",), ("2000",)])
def limited_by_a_wrapper(t, megabytes):
    """Limited by its wrapper, a program runs as it does alone; it is recorded, or the limit is named."""
    limited = ["sh", "-c", f'ulimit -v $(({megabytes} * 1024)); exec "$@"', "sh"]
    r = both_ways(t, *limited, t.program("life"), "small", "5")
    same("status", r.status, 0)
    compare_or_told(t, r)


# The channel between the two

@test()
def truncates_the_channel(t):
    """A program that truncates the file it is recorded through harms neither itself nor futrace."""
    r = compare_plugin(t, [compile_c(t, "loads", "-pthread", "-ldl"), plugin(t), "truncate"])
    check("tried to truncate" in r.err, f"the program found nothing to truncate: {r.err!r}")
    check_no_nonsense(r)


@test()
def polls_in_handlers(t):
    """A signal handler that sleeps in the middle of a storm of polls breaks no ring, and every poll counts."""
    r = both_ways(t, t.program("handler"), "2000003")
    same("status", r.status, 0)
    check("many signals: true" in r.out, f"too few signals: {r.out!r}")
    compare_with_lost(t, r)


@test()
def crowd_of_threads(t):
    """Of 1,500 threads that run a task each at the same time, every event is recorded or counted as lost."""
    r = both_ways(t, t.program("crowd"), "1500", "10", opts=["--no-roots"])
    same("status", r.status, 0)
    compare_with_lost(t, r)
    info = json.loads(t.run(t.futrace, "info", "--json", t.path("t.data")).ok().out)
    want = total(r.out)
    polls, tasks = want["polls"], want["tasks"]
    for kind, nr in (("spawn", tasks), ("run-start", polls), ("run-end", polls), ("wake", polls - tasks)):
        same(f"{kind}: recorded and lost", info["events_by_kind"][kind] + info["lost_by_kind"][kind], nr)


@test()
def stopped_for_a_while(t):
    """While futrace is stopped for two seconds a program that does little goes on, and nothing is lost."""
    p = t.start(t.record_argv(t.program("life"), "wait"))
    p.wait_line("ready")
    os.kill(p.pid, signal.SIGSTOP)
    try:
        end = time.monotonic() + PAUSE_S
        while time.monotonic() < end:
            p.tell("\n")
            p.wait_line("more")
            time.sleep(0.02)  # a low rate
    finally:
        os.kill(p.pid, signal.SIGCONT)
    p.close_stdin()
    r = p.finish().ok()
    rep, want = t.report(), total(r.out)
    same("lost", nr_lost(rep), 0)
    same("tasks and polls", (len(user_tasks(rep)), sum_polls(rep)), (want["tasks"], want["polls"]))
    check_no_nonsense(r)


# The loader

@test()
def allocates_while_loading(t):
    """While another thread allocates blocks like those of tasks, a library that is loaded is hooked, each time."""
    loads = compile_c(t, "loads", "-pthread", "-ldl")
    for _ in range(5):
        compare_plugin(t, [loads, plugin(t), "busy"])


@test(cases=[("each",), ("all",)])
def many_libraries(t, how):
    """After 300 libraries that came and went, the tasks of the next one are recorded."""
    loads = compile_c(t, "loads", "-pthread", "-ldl")
    lib = compile_c(t, "lib", "-shared", "-fPIC", out="lib.so")
    os.mkdir(t.path("many"))
    for i in range(NR_LIBS):
        shutil.copy(lib, t.path(f"many/{i}.so"))
    os.chmod(t.path("many"), 0o755)
    compare_plugin(t, [loads, plugin(t), how, str(NR_LIBS)])


@test()
def by_a_relative_path(t):
    """A library that was loaded by a path relative to a folder which the program has left is hooked."""
    compare_plugin(t, [compile_c(t, "loads", "-pthread", "-ldl"), plugin(t), "relative"])


@test(cases=[(other, follow) for other in (False, True) for follow in (False, True)])
def to_the_same_place(t, other, follow):
    """A library that comes to where it, or another, was unloaded before is hooked anew; a child forked in between finds
    nothing there, and does not mind."""
    lib, more = plugin(t), []
    if other:
        more = [t.path("other.so")]
        shutil.copy(lib, more[0])
        os.chmod(more[0], 0o755)
    r = compare_plugin(t, [compile_c(t, "loads", "-pthread", "-ldl"), lib, "again", *more],
                       opts=["--follow"] if follow else [])
    said = re.findall(r"^loads: (.*)$", r.err, re.M)
    same("what the program saw", said, ["a child ended well: 1", "same place: 1"])


@test()
def constructor_resolves(t):
    """A constructor that resolves a symbol while another thread does so, too, waits for nobody who waits for it."""
    compile_c(t, "constructs", "-shared", "-fPIC", out="constructs.so")
    compare_plugin(t, [compile_c(t, "loads", "-pthread", "-ldl"), plugin(t), "constructs"])


@test()
def code_where_a_library_was(t):
    """Code that the program makes where a hooked library was unloaded allocates: nobody looks it up in the library. A
    library that dlclose leaves where it is keeps its places."""
    lib = t.program("libplugin.so", "dev")
    compare_plugin(t, [compile_c(t, "loads", "-pthread", "-ldl"), lib, "gone"])
    places = {os.path.basename(x["spawned_at"] or "nowhere").split(":")[0] for x in user_tasks(t.report())}
    same("files that spawn", places, {"truth.rs"})


@test()
def forks_in_the_loader(t):
    """With --follow, no child hangs whose parent was in the loader in another thread when it forked."""
    r = both_ways(t, compile_c(t, "forks", "-pthread"), "100", opts=["--follow"])
    same("status and children", (r.status, r.out), (13, "100 children, 100 exited with 0\n"))

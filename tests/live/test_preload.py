# SPDX-License-Identifier: MIT OR Apache-2.0
"""Other libraries that come in before the program: preloads that change the environment, sanitizers that must be first."""
import os
import subprocess

from live import check, nr_lost, same, test, total, truth, user_tasks
from test_hostile import C_DIR, compile_c, plugin
from test_roots import compare as compare_roots, told as told_roots

HOST = os.path.join(os.path.dirname(C_DIR), "plugin", "host.c")
GCC_ASAN, CLANG_ASAN = ("gcc", "address"), ("clang", "address")  # a shared library of the runtime; one in the program
GCC_TSAN = ("gcc", "thread")
# What a sanitizer says of a Tokio that was not built with it is of no interest here.
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "report_bugs=0"}


def moves_env(t, how):
    """To be put before a command: futrace itself shall keep its own environment."""
    flags = {"clearenv": ["-DCLEAR"], "argument": ["-DMOVE_ARGUMENT"]}.get(how, [])
    return ["env", "LD_PRELOAD=" + compile_c(t, "moves_env", "-shared", "-fPIC", *flags, out="moves.so")]


def sanitized(t, how, source, out):
    compiler, kind = how
    path = t.path(out)
    subprocess.run([compiler, "-O1", f"-fsanitize={kind}", "-o", path, source, "-ldl"], check=True)
    return path


def compare_hosted(t, r, alone, name="t.data"):
    same(f"status ({r})", (r.status, alone.status), (0, 0))
    same("totals", total(r.out), total(alone.out))
    rep = t.report(name)
    same("lost", nr_lost(rep), 0)
    check(user_tasks(rep), f"no task of the plugin: {r.err!r}")
    # A sanitizer has an allocator of its own, where no spawn is seen: so no parents.
    same("polls and ends", sorted((x["id"], x["polls"], x["end"]) for x in user_tasks(rep)),
         sorted((x["id"], x["polls"], x["end"]) for x in truth(r.out, "task")))


@test(cases=[(how, mode) for how in ("setenv", "clearenv", "argument") for mode in ("mt", "ct")])
def roots_and_moved_environment(t, how, mode):
    """Root futures begin and end as ever though a constructor moved or cleared the environment before the agent came."""
    argv = [*moves_env(t, how), t.program("roots"), mode]
    labels = [x["label"] for x in told_roots(t.run(*argv).ok().out)]
    want = told_roots(t.record(*argv).ok().out)
    same("roots", [x["label"] for x in want], labels)
    compare_roots(t.report(), want)


@test(cases=[("setenv",), ("clearenv",)])
def places_and_moved_environment(t, how):
    """The main thread's stack is walked to its end: each task has the line that spawned it."""
    r = t.record(*moves_env(t, how), t.program("places", "dev"), "ct").ok()
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    check(user_tasks(rep), f"no task: {r.err!r}")
    same("tasks without a place", [x["id"] for x in user_tasks(rep) if not x["spawned_at"]], [])


@test(cases=[("setenv",), ("clearenv",)])
def moved_environment_is_theirs(t, how):
    """The program sees the environment that it would see alone, and what it becomes gets the agent again."""
    argv = [*moves_env(t, how), compile_c(t, "becomes"), "execv", compile_c(t, "show")]
    alone, r = t.run(*argv), t.record(*argv)
    same("status and output", (r.status, r.out), (alone.status, alone.out))
    check("handed over: FUTRACE_CTL" in r.err, f"the agent was left behind: {r.err!r}")


@test(cases=[(GCC_ASAN,), (CLANG_ASAN,), (GCC_TSAN,)])
def sanitizer(t, how):
    """A program of AddressSanitizer or ThreadSanitizer starts and is recorded: its runtime stays the first library."""
    argv = [sanitized(t, how, HOST, "host"), plugin(t), "2", "0"]
    alone = t.run(*argv, env=OPTIONS)
    compare_hosted(t, t.record(*argv, env=OPTIONS), alone)


@test(cases=[(GCC_ASAN, "exec"), (GCC_ASAN, "follow"), (CLANG_ASAN, "follow"), (GCC_TSAN, "follow")])
def sanitizer_behind_a_shell(t, how, way):
    """The same of what a process becomes, and of a child that is followed."""
    command = " ".join([sanitized(t, how, HOST, "host"), plugin(t), "2"])
    argv = ["sh", "-c", f"exec {command}" if way == "exec" else f"{command}; true"]
    alone = t.run(*argv, env=OPTIONS)
    r = t.record(*argv, opts=["--follow"] if way == "follow" else [], env=OPTIONS)
    names = ["t.data"] if way == "exec" else [n for n in os.listdir(t.dir) if n.startswith("t.data.")]
    same("files", len(names), 1)
    compare_hosted(t, r, alone, names[0])


@test(cases=[("linked",), ("preloaded",), ("late",)])
def sanitizer_environment(t, way):
    """LD_PRELOAD is as without futrace: the sanitizer that was put first is gone, the one of the user's own is there; and one
    that comes behind a preload of the user's complains as it does alone."""
    show = sanitized(t, GCC_ASAN, os.path.join(C_DIR, "show.c"), "show")
    out = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, stdout=subprocess.PIPE).stdout
    asan = os.path.realpath(out.decode().strip())
    if way == "linked":
        argv = ["env", show]
    elif way == "late":
        argv = ["env", "LD_PRELOAD=libm.so.6", show]
    else:
        argv = ["env", f"LD_PRELOAD={asan}:libm.so.6", compile_c(t, "show", out="plain")]
    alone, r = t.run(*argv, env=OPTIONS), t.record(*argv, env=OPTIONS)
    same("status and output", (r.status, r.out), (alone.status, alone.out))
    check("handed over: FUTRACE_CTL" in r.err or way == "late", f"without the agent: {r.err!r}")


@test()
def before_the_agent(t):
    """Of a program that ends before the agent comes in, that is what is said, and not that it has no runtime."""
    lib = compile_c(t, "lib", "-shared", "-fPIC", out="libgone.so")
    program = t.path("needs")
    subprocess.run(["gcc", "-o", program, os.path.join(C_DIR, "show.c"), "-Wl,--no-as-needed", lib], check=True)
    os.unlink(lib)
    alone, r = t.run(program), t.record(program)
    same("status", r.status, alone.status)
    check("before the agent was loaded" in r.err and "async runtime" not in r.err, f"said: {r.err!r}")


@test(cases=[(False,), (True,)])
def apart(t, here):
    """A runtime that dlmopen loads into a link namespace of its own is not recorded, and that is said: at once, by report and by
    info. What is loaded as usual beside it is recorded."""
    argv = [compile_c(t, "apart", "-ldl"), plugin(t), str(int(here))]
    alone, r = t.run(*argv), t.record(*argv)
    same("status", (r.status, alone.status), (0, 0))
    same("totals", total(r.out), total(alone.out))
    check("dlmopen" in r.err, f"said: {r.err!r}")
    if not here:
        check("nothing was recorded" in r.err, f"said: {r.err!r}")
        return
    rep = t.report()
    same("lost and tasks", (nr_lost(rep), len(user_tasks(rep))), (0, total(r.out)["tasks"]))
    same("libraries apart", rep["libraries_apart"], 1)
    for text in (t.info(), t.run(t.futrace, "report", t.path("t.data")).ok().out):
        check("dlmopen" in text, f"nothing of it in {text}")

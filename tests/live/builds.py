# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the programs of the live tests in all their ways, and stages them.

A build has a name, under which a test asks for its programs: `t.program("exact", "jemalloc")`. A whole run builds everything
in advance, those of the slow part of the matrix only when that is to be run. A run of chosen tests builds what they ask for.
"""
import json
import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import servers
import vendors

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(os.path.dirname(HERE), "programs")
DEMO = os.path.join(HERE, "../../examples/demo")


def bins(*names):
    """Options that ask for these programs alone; of none, for all that there are."""
    return [arg for name in names for arg in ("--bin", name)]


# What the matrix runs in every build: between them tasks, polls, parents, ends, kinds, and wakes by cause.
MATRIX = bins("exact", "wakes", "roots")
TYPES = bins("types", "same")
# What each profile is needed for; building less saves two minutes of every run.
PROFILES = {
    "dev": (["--workspace", "--lib", *MATRIX, *TYPES,
             *bins("flavours", "inner", "instances", "life", "machines", "ownalloc", "panics", "places", "traced")], "debug"),
    "release": (["--workspace"], "release"),
    "profiling": (bins("findings", "places", "inner"), "profiling"),
    "lto-lines": ([*TYPES, *bins("places", "life", "inner")], "lto-lines"),
    "lto": ([*MATRIX, *TYPES, *bins("race", "flavours", "instances", "safety", "inner")], "lto"),
}
# Made of the release by strip(1), as Cargo's own strip = true comes to the same by way of another build of everything.
STRIPPED = ("exact", "wakes", "roots", "life", "flavours", "instances", "places")
PROFILES_MATRIX = ("thin", "small", "strip-debuginfo")
PROFILES_SLOW = {**{name: (MATRIX, name) for name in PROFILES_MATRIX}, "abort": (["--bin", "roots"], "abort")}
# Other ways to build and link the same programs: RUSTFLAGS and a feature of each.
VARIANTS = {
    "relr-v0": ("-C link-arg=-Wl,-z,pack-relative-relocs -C symbol-mangling-version=v0", None),
    "unstable": ("--cfg tokio_unstable", None),
    "jemalloc": (None, "jemalloc"),
}
VARIANTS_SLOW = {
    "non-pie": ("-C relocation-model=static", None),
    "mimalloc": (None, "mimalloc"),
    "relr": ("-C link-arg=-Wl,-z,pack-relative-relocs", None),
    "v0": ("-C symbol-mangling-version=v0", None),
    "unstable-tracing": ("--cfg tokio_unstable", "tracing"),
    # Its libstd lies beside it, where every user can read it.
    "prefer-dynamic": ("-C prefer-dynamic -C link-arg=-Wl,-rpath,$ORIGIN", None),
}
# What only some of them are needed for.
PLACES = bins("places")
WITH_LINES = ["--config", 'profile.release.debug="line-tables-only"']
LINES_OF = ("jemalloc", "mimalloc")
MORE = {"relr-v0": bins("inner"), "unstable": PLACES, **{name: PLACES for name in LINES_OF}}
ALL_PROFILES = {**PROFILES, **PROFILES_SLOW}
ALL_VARIANTS = {**VARIANTS, **VARIANTS_SLOW}
# The programs of async-task: profile and RUSTFLAGS of each build.
ASYNC_TASK = {
    "async-task-dev": ("dev", None),
    "async-task-release": ("release", None),
    "async-task-lto": ("lto", None),
    "async-task-v0": ("release", "-C symbol-mangling-version=v0"),
}
ASYNC_TASK_ONLY = {  # that tests want of a build; all of the others
    "async-task-dev": ("asyncstd", "both", "machines-async-std", "machines-smol", "mixed", "named", "raw", "smol", "spots"),
    "async-task-lto": ("asyncstd", "both", "mixed", "named", "race", "raw", "smol"),
    "async-task-v0": ("asyncstd", "both", "mixed", "raw", "smol"),
}
# The programs that wait: profile and RUSTFLAGS of each build. All have full debug info.
AWAIT = {
    "await": ("release", None),
    "await-lto": ("lto", None),
    "await-dev": ("dev", None),
}
AWAIT_SLOW = {  # live.SLOW_BUILDS
    "await-v0": ("release", "-C symbol-mangling-version=v0"),
    "await-small": ("small", None),
}
ALL_AWAIT = {**AWAIT, **AWAIT_SLOW}
AWAIT_ONLY = {  # that tests want of a build; all of the others
    "await-lto": ("counts", "roots", "shapes", "shapes-async-std", "shapes-smol", "stuck", "stuck-smol"),
    "await-dev": ("counts", "losers", "nested-async-std", "nested-current-thread", "nested-large", "nested-smol",
                  "nested-tokio", "roots", "shapes", "shapes-async-std", "shapes-smol"),
}
# Programs with our crate: profile and RUSTFLAGS of each build, and what is built of them. Rust's own linker is LLD since 1.90.
FOR_PERF = [*bins("hooked", "marks"), "--features", "perf"]
HOOKS = {
    "hooks": ("release", None, ["--workspace"]),
    "hooks-lto": ("lto", None, ["--workspace", "--lib", *bins("marks")]),
    "hooks-unstable": ("release", "--cfg tokio_unstable", bins("hooked")),
    "hooks-perf": ("release", "--cfg tokio_unstable", FOR_PERF),
    "hooks-perf-bfd": ("release", "--cfg tokio_unstable -C linker-features=-lld", FOR_PERF),
}
OLD = ("1.8.5", "1.22.0", "1.24.2", "1.38.0")
OLD_SLOW = ("1.0.3", "1.13.1", "1.17.0", "1.20.6", "1.30.0", "1.44.2", "1.47.0")
# Made by other compilers: an old one, with a Tokio and crates that it can build, and the newest.
OLD_RUST, TOKIO_OF_OLD_RUST = "1.63", "1.29.1"
NEW_RUST = "nightly"
RUSTS_SLOW = ("rustc-" + OLD_RUST, "rustc-" + NEW_RUST)
# The second Tokio of the program `two`: a copy by path, as Cargo refuses two 1.x of the registry.
SECOND_TOKIO = "1.38.0"
# Compiled for every run, as they take a moment.
C_PROGRAMS = {("release", "plain"), ("release", "plain-static"), ("release", "plain-static-pie"), ("probes", "sdt"),
              ("probes", "tokio-usdt")}
# Builds that go on at the same time: one alone leaves cores idle while it links, or configures a library of C.
AT_ONCE = 2


def cargo(target_dir, *args, cwd=PROGRAMS, flags=None, rust=None):
    env = dict(os.environ, **({"RUSTFLAGS": flags} if flags else {}))
    if rust:
        env["RUSTUP_TOOLCHAIN"] = rust
    began = time.monotonic()
    p = subprocess.Popen(["cargo", "build", "--quiet", "--locked", "--target-dir", target_dir, *args], cwd=cwd, env=env)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        raise subprocess.CalledProcessError(p.returncode, p.args)
    seconds, cpu_s = time.monotonic() - began, usage.ru_utime + usage.ru_stime
    if cpu_s >= 1:  # it had something to do
        print(f"built {os.path.basename(target_dir)} {' '.join(args)} ({seconds:.0f} s, {cpu_s:.0f} s of CPU)", flush=True)


def old_folder(version):
    return os.path.join(PROGRAMS, "old", version)


def source_of_tokio(version):
    """Where cargo keeps the source of an older release."""
    out = subprocess.run(["cargo", "metadata", "--locked", "--format-version", "1"], check=True,
                         cwd=old_folder(version), stdout=subprocess.PIPE).stdout
    found = [p for p in json.loads(out)["packages"] if p["name"] == "tokio"]
    return os.path.dirname(found[0]["manifest_path"])


def async_task_dir(target_dir, name):
    """Builds with the same flags share what they depend on."""
    return os.path.join(target_dir, name if ASYNC_TASK[name][1] else "async-task")


def await_dir(target_dir, name):
    return os.path.join(target_dir, name if ALL_AWAIT[name][1] else "await")


def build_await(target_dir, name, only=()):
    """The web's crates take long to build, and one build of them is enough. It is one with the rest: what the web needs of
    Tokio's own dependencies would have a second Tokio built."""
    profile, flags = ALL_AWAIT[name]
    web = ["--features", "web"] if name == "await" else []
    cargo(await_dir(target_dir, name), "--profile", profile, *(bins(*only) or bins(*AWAIT_ONLY.get(name, ()))), *web,
          cwd=os.path.join(PROGRAMS, "await"), flags=flags)


def hooks_dir(target_dir, name):
    return os.path.join(target_dir, name if HOOKS[name][1] else "hooks")


def build_hooks(target_dir, name, only=()):
    profile, flags, what = HOOKS[name]
    if only:
        what = [*bins(*only), *(["--features", "perf"] if what is FOR_PERF else [])]
    cargo(hooks_dir(target_dir, name), "--profile", profile, *what, cwd=os.path.join(PROGRAMS, "hooks"), flags=flags)


def need_rust(name):
    have = subprocess.run(["rustup", "toolchain", "list"], check=True, stdout=subprocess.PIPE).stdout.decode()
    if not any(line.startswith(name + "-") for line in have.splitlines()):
        subprocess.run(["rustup", "toolchain", "install", name, "--profile", "minimal"], check=True)


def build_by_other_rusts(target_dir):
    """A cargo that old does not know today's registry: it gets the crates from a folder."""
    need_rust(OLD_RUST)
    need_rust(NEW_RUST)
    folder, sources = os.path.join(target_dir, RUSTS_SLOW[0]), old_folder(TOKIO_OF_OLD_RUST)
    crates = os.path.join(folder, "crates")
    subprocess.run(["cargo", "vendor", "--quiet", "--locked", "--versioned-dirs", crates], cwd=sources, check=True,
                   stdout=subprocess.DEVNULL)
    cargo(folder, "--release", "--offline", "--config", 'source.crates-io.replace-with="crates"', "--config",
          f"source.crates.directory={json.dumps(crates)}", cwd=sources, rust=OLD_RUST)
    cargo(os.path.join(target_dir, RUSTS_SLOW[1]), "--release", *MATRIX, rust=NEW_RUST)


def build_two(target_dir):
    """The sources with the second Tokio beside them, so that the path in the manifest is right."""
    folder = os.path.join(target_dir, "two", "source")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(PROGRAMS, "two"), folder)
    shutil.copytree(source_of_tokio(SECOND_TOKIO), os.path.join(folder, "tokio-" + SECOND_TOKIO))
    for profile in ("dev", "release"):
        cargo(os.path.join(target_dir, "two"), "--profile", profile, cwd=folder)


def build_profile(target_dir, name, only=()):
    what, _ = ALL_PROFILES[name]
    cargo(target_dir, "--profile", name, *(bins(*only) or what))


def build_variant(target_dir, name, only=()):
    flags, feature = ALL_VARIANTS[name]
    what = bins(*only) or MATRIX + (TYPES if "v0" in name else []) + MORE.get(name, [])
    lines = WITH_LINES if name in LINES_OF else []
    cargo(os.path.join(target_dir, name), "--release", *what, *lines, *(["--features", feature] if feature else []),
          flags=flags)


def build_old(target_dir, version):
    cargo(os.path.join(target_dir, "old-" + version), "--release", cwd=old_folder(version))


def build_async_task(target_dir, name, only=()):
    profile, flags = ASYNC_TASK[name]
    cargo(async_task_dir(target_dir, name), "--profile", profile, *bins(*(only or ASYNC_TASK_ONLY.get(name, ()))),
          cwd=os.path.join(PROGRAMS, "async-task"), flags=flags)


def build_alone(target_dir, name, folder):
    cargo(os.path.join(target_dir, name), "--release", cwd=folder)


def build_vendors(target_dir):
    vendors.fetch(os.path.join(target_dir, "vendors"))


def usual(matrix):
    """Each build as a function and its arguments; what takes longest comes first, so that nothing is left for the end."""
    yield from ((build_variant, name) for name in (*VARIANTS, *(VARIANTS_SLOW if matrix else ())))
    yield from ((build_profile, name) for name in (*PROFILES, *(PROFILES_SLOW if matrix else ())))
    yield from ((build_async_task, name) for name in ASYNC_TASK)
    yield from ((build_old, version) for version in OLD + (OLD_SLOW if matrix else ()))
    yield (build_two,)
    yield build_alone, "probes", os.path.join(PROGRAMS, "probes")
    yield build_alone, "demo", DEMO
    if matrix:
        yield (build_by_other_rusts,)
        yield (build_vendors,)


def wanted(matrix, trees, topics):
    """All builds that tests of these topics need; matrix and trees: also what takes long to build."""
    if "matrix_servers" in topics:
        yield servers.build, matrix
    if topics - {"matrix_servers", "marks"}:
        yield from ((build_await, name) for name in (ALL_AWAIT if trees else AWAIT))
        yield from usual(matrix)
    if topics & {"marks", "guide"}:
        yield from ((build_hooks, name) for name in HOOKS)


def build_each(target_dir, builds):
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = [pool.submit(function, target_dir, *args) for function, *args in builds]
        for done in as_completed(running):
            if done.exception():
                pool.shutdown(cancel_futures=True)
            done.result()


def build_programs(target_dir, matrix, trees, topics):
    build_each(target_dir, wanted(matrix, trees, topics))


def alone(names, folder):
    """The programs to build, if each of these has a source of its own. Otherwise (): all that the build has."""
    sources = os.path.join(PROGRAMS, folder, "src", "bin")
    return tuple(names) if all(os.path.exists(os.path.join(sources, f"{n}.rs")) for n in names) else ()


def build_for(build, names):
    """How to build these programs of one build, as a function and its arguments. None: there is no such build."""
    by_bins = ((ALL_PROFILES, build_profile, ""), (ALL_VARIANTS, build_variant, ""), (HOOKS, build_hooks, "hooks"),
               (ASYNC_TASK, build_async_task, "async-task"), (ALL_AWAIT, build_await, "await"))
    for table, function, folder in by_bins:
        if build in table:
            return function, build, alone(names, folder)
    if build == "stripped":
        return build_profile, "release", alone(names, "")
    if build == "servers":
        return servers.build_servers, [n.removeprefix("on-") for n in names]
    if build in servers.MINI_REDIS:
        return servers.build_mini_redis, build
    if build.startswith("old-"):
        return build_old, build.removeprefix("old-")
    single = {"two": (build_two,), "two-dev": (build_two,), "vendors": (build_vendors,),
              "probes": (build_alone, "probes", os.path.join(PROGRAMS, "probes")), "demo": (build_alone, "demo", DEMO),
              **{name: (build_by_other_rusts,) for name in RUSTS_SLOW}}
    return single.get(build)


def build_asked_for(target_dir, stage, asked):
    """Builds and stages the programs that tests have asked for: pairs of a build and the name of a program. A program that no
    build has is missed by the test itself."""
    names = {}
    for build, name in asked:
        names.setdefault(build, set()).add(name)
    how = {build: build_for(build, sorted(of)) for build, of in sorted(names.items())}
    build_each(target_dir, {repr(h): h for h in how.values() if h}.values())
    for build in (b for b, h in how.items() if h):
        stage_build(target_dir, stage, build)
    make_readable(stage)


def make_readable(stage):
    """For the user as whom the tests run."""
    for name in ("bin", "programs", "vendors"):
        if os.path.exists(os.path.join(stage, name)):
            subprocess.run(["chmod", "-R", "u+rwX,go+rX,go-w", os.path.join(stage, name)], check=True)


def compile_c(out, source, *flags):
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", out, source, *flags], check=True)


def link_or_copy(path, to):
    """A run that failed keeps what it staged: half a gigabyte, if they were copies. What was staged before is replaced, and
    never written to: it may be a link to a program of the build folder."""
    if os.path.lexists(to):
        os.unlink(to)
    try:
        os.link(path, to)
    except OSError:
        shutil.copy(path, to)


def copy_programs(from_dir, to):
    if not os.path.exists(from_dir):
        return  # not wanted this time: a test that asks for it says so
    os.makedirs(to, exist_ok=True)
    for f in os.listdir(from_dir):
        path = os.path.join(from_dir, f)
        is_program = os.path.isfile(path) and os.access(path, os.X_OK) and "." not in f
        if is_program or f in ("libplugin.so", "libpymodule.so", "libmarksplugin.so"):
            link_or_copy(path, os.path.join(to, f))


def strip_programs(from_dir, to):
    os.makedirs(to, exist_ok=True)
    for name in STRIPPED:
        if os.path.exists(os.path.join(from_dir, name)):
            subprocess.run(["strip", "-o", os.path.join(to, name), os.path.join(from_dir, name)], check=True)


def copy_libstd(to):
    """The standard library as a shared one, for programs that were linked with it."""
    out = subprocess.run(["rustc", "--print", "target-libdir"], check=True, stdout=subprocess.PIPE).stdout
    folder = out.decode().strip()
    for f in os.listdir(folder):
        if f.startswith("libstd-") and f.endswith(".so"):
            shutil.copy(os.path.join(folder, f), to)


def stage_c(stage):
    """The programs of C, which take a moment to compile."""
    programs = os.path.join(stage, "programs")
    for profile in ("dev", "release"):
        os.makedirs(os.path.join(programs, profile), exist_ok=True)
        compile_c(os.path.join(programs, profile, "plugin-host"), os.path.join(PROGRAMS, "plugin", "host.c"),
                  "-Wl,-rpath,$ORIGIN", "-ldl")
    os.makedirs(os.path.join(programs, "probes"), exist_ok=True)
    compile_c(os.path.join(programs, "probes", "sdt"), os.path.join(PROGRAMS, "c", "probes.c"))
    compile_c(os.path.join(programs, "probes", "tokio-usdt"), os.path.join(PROGRAMS, "c", "tokio_usdt.c"))
    plain = os.path.join(HERE, "plain.c")
    compile_c(os.path.join(programs, "release", "plain"), plain)
    compile_c(os.path.join(programs, "release", "plain-static"), plain, "-static")
    compile_c(os.path.join(programs, "release", "plain-static-pie"), plain, "-static-pie")


def folder_of(profile):
    return "debug" if profile == "dev" else profile


def folders(target_dir):
    """Where the programs of each build are."""
    release = ("demo", "probes", "two", "servers", *servers.MINI_REDIS, *ALL_VARIANTS, *("old-" + v for v in OLD + OLD_SLOW),
               *RUSTS_SLOW)
    return {
        **{name: os.path.join(target_dir, folder) for name, (_, folder) in ALL_PROFILES.items()},
        **{name: os.path.join(target_dir, name, "release") for name in release},
        **{name: os.path.join(async_task_dir(target_dir, name), folder_of(profile)) for name, (profile, _) in ASYNC_TASK.items()},
        **{name: os.path.join(await_dir(target_dir, name), folder_of(profile)) for name, (profile, _) in ALL_AWAIT.items()},
        **{name: os.path.join(hooks_dir(target_dir, name), profile) for name, (profile, _, _) in HOOKS.items()},
        "two-dev": os.path.join(target_dir, "two", "debug"),
    }


def stage_build(target_dir, stage, name):
    """The programs of a build, as far as they are in the build folder."""
    to = os.path.join(stage, "programs", name)
    if name == "vendors":
        if os.path.exists(os.path.join(target_dir, name)) and not os.path.exists(os.path.join(stage, name)):
            vendors.stage(os.path.join(target_dir, name), os.path.join(stage, name), link_or_copy)
        return
    if name == "stripped":
        strip_programs(folders(target_dir)["release"], to)
        return
    copy_programs(folders(target_dir)[name], to)
    if name == "prefer-dynamic" and os.path.exists(to):
        copy_libstd(to)


def stage_programs(target_dir, stage, with_vendors):
    """All programs that are in the build folder."""
    for name in (*folders(target_dir), "stripped", *(("vendors",) if with_vendors else ())):
        stage_build(target_dir, stage, name)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`futrace cargo` and `cargo futrace`: what is built, which executable is taken, and that it is recorded.

One project is built for real, by whoever runs the tests, for cargo's files are theirs. Which executable is taken of
what cargo tells is tested as an ordinary user with a stand-in for cargo that tells what a test wants.
"""
import json
import os
import shutil
import stat

from live import check, same, sum_polls, test, user_tasks

PROGRAMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "programs")
AS_RUNNER = {"only_root": os.geteuid() == 0}  # not as the ordinary user whom root's tests become

MANIFEST = """[package]
name = "small-thing"
version = "0.0.0"
edition = "2021"
default-run = "first"

[dependencies]
tokio = { version = "=1.54.1", features = ["rt-multi-thread", "sync", "time", "net"] }

[profile.release]
opt-level = 0 # quicker to build
"""
# 13 tasks that yield 4 times each: 65 polls
LIBRARY = """pub fn work(nr: u32) {
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    rt.block_on(async {
        let all: Vec<_> = (0..nr).map(|_| tokio::spawn(async { for _ in 0..4 { tokio::task::yield_now().await } })).collect();
        for one in all { one.await.unwrap() }
    });
}
#[test]
fn unit() { work(5) }
"""
MAIN = """fn main() {
    println!("NAME {:?}", std::env::args().skip(1).collect::<Vec<_>>());
    small_thing::work(13);
    std::process::exit(7)
}
"""


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def make_project(t):
    root = t.path("project")
    write(f"{root}/Cargo.toml", MANIFEST)
    shutil.copy(os.path.join(PROGRAMS, "Cargo.lock"), root)  # the same versions as the test programs
    write(f"{root}/src/lib.rs", LIBRARY)
    for name in ("src/bin/first.rs", "src/bin/second.rs", "examples/sample.rs"):
        write(f"{root}/{name}", MAIN.replace("NAME", os.path.basename(name)[:-3]))
    write(f"{root}/tests/whole.rs", "#[test]\nfn whole() { small_thing::work(3) }\n")
    return root


def cargo_env(t):
    """cargo-futrace on PATH, and cargo's own folders."""
    os.makedirs(t.path("bin"))
    os.symlink(t.futrace, t.path("bin/cargo-futrace"))
    keep = {k: v for k, v in os.environ.items() if k.startswith(("CARGO", "RUSTUP", "HTTP", "http")) or k == "HOME"}
    return {**keep, "PATH": t.path("bin") + ":" + os.environ["PATH"], "CARGO_TARGET_DIR": t.path("target"),
            "XDG_CACHE_HOME": t.path("cache")}


def tasks_of(t, name):
    rep = t.report(name)
    same("lost", rep["lost"], 0)
    return len(user_tasks(rep)), sum_polls(rep)


@test(**AS_RUNNER)
def real_project(t):
    """cargo futrace builds and records binaries, an example, a test, unit tests; arguments and status are the program's."""
    env, root = cargo_env(t), make_project(t)

    def run(*words, out="t.data", **more):
        return t.run(*words[:2], "--no-report", "-o", t.path(out), *words[2:], cwd=root, env={**env, **more}, timeout=600)

    r = run("cargo", "futrace")
    same(f"status of {r}", r.status, 7)
    same("what default-run names", r.out, "first []\n")
    same("tasks and polls", tasks_of(t, "t.data"), (13, 65))
    check("CARGO_PROFILE_RELEASE_DEBUG=true" in r.err and "[profile.release]" in r.err, f"no word of debug info: {r}")
    r = run("cargo", "futrace", "--bin", "second", "--", "-o", "a b", "--bin")
    same("arguments", r.out, 'second ["-o", "a b", "--bin"]\n')
    same("the other way to say it", run(t.futrace, "cargo", "--example", "sample").out, "sample []\n")
    same("tasks of an integration test",
         (run("cargo", "futrace", "--test", "whole", out="w.data").ok() and tasks_of(t, "w.data"))[0], 3)
    for how in (["--unit-test"], ["--unit-test", "small-thing"]):
        same(f"tasks of {how}", (run("cargo", "futrace", *how, out="u.data").ok() and tasks_of(t, "u.data"))[0], 5)
    r = run("cargo", "futrace", "--bin", "first", CARGO_PROFILE_RELEASE_DEBUG="true")
    check("debug info" not in r.err, f"there is debug info: {r}")
    write(f"{root}/src/bin/second.rs", "fn main() { no such thing }\n")
    r = run(t.futrace, "cargo", "--bin", "second", out="never.data")
    same("status of a build that fails", r.status, 101)
    check("error" in r.err and not os.path.exists(t.path("never.data")), f"it was recorded: {r}")


def artefact(name, path, kind="bin", is_test=False, package="p 0.0.0"):
    return {"reason": "compiler-artifact", "package_id": package, "target": {"kind": [kind], "name": name},
            "profile": {"test": is_test, "debuginfo": None}, "features": [], "executable": path}


class StandIn:
    """A `cargo` that notes its arguments, prints these messages and exits with this status."""

    def __init__(self, t, messages, status=0, metadata=None):
        self.t, self.words = t, t.path("words")
        lines = "".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in messages)
        write(t.path("messages"), lines)
        write(t.path("metadata"), json.dumps(metadata or {"packages": []}) + "\n")
        write(t.path("cargo"), f"""#!/bin/sh
[ "$1" = metadata ] && exec cat '{t.path("metadata")}'
for w; do echo "$w"; done >'{self.words}'
cat '{t.path("messages")}'
exit {status}
""")
        os.chmod(t.path("cargo"), stat.S_IRWXU | 0o55)
        if os.geteuid() == 0:
            os.chown(t.dir, t.s.uid, t.s.gid)

    def run(self, *args):
        return self.t.run(self.t.futrace, "cargo", *args, env={"CARGO": self.t.path("cargo")})

    def said(self):
        with open(self.words, encoding="utf-8") as f:
            return f.read().split("\n")[:-1]


@test()
def what_cargo_is_told(t):
    """The options of cargo reach it, release is the profile unless another is named, and the bench profile for benchmarks."""
    plain = t.program("plain")
    s = StandIn(t, [artefact("x", plain), artefact("x", plain, "bench", True), artefact("x", plain, "lib", True)])
    usual = ["build", "--message-format=json-render-diagnostics", "--profile", "release"]
    for given, want in (
            ([], usual), (["--release"], usual), (["--dev"], usual[:3] + ["dev"]),
            (["--profile=fast"], usual[:3] + ["fast"]), (["--bin", "x"], usual + ["--bin", "x"]),
            (["--bench=x"], usual[:3] + ["bench", "--bench", "x"]),
            (["--unit-test"], ["test", "--no-run"] + usual[1:] + ["--tests"]),
            (["-p", "a", "-F", "b,c", "--manifest-path=d", "--all-features", "--no-default-features"],
             usual + ["--package", "a", "--features", "b,c", "--manifest-path", "d", "--all-features",
                      "--no-default-features"])):
        r = s.run(*given, "-q", "--no-report", "--", "0").ok()
        same(f"cargo's words for {given}", s.said(), want + ["--quiet"])
        same("the program's", r.out.split("\n")[0], "plain: --bench 0" if given == ["--bench=x"] else "plain: 0")


@test()
def records(t):
    """As an ordinary user: the executable that cargo names is recorded, to futrace.data or where -o says."""
    s = StandIn(t, ["note: not JSON", "{broken", "{}", "[]", {"reason": "build-script-executed", "executable": 5},
                    artefact("lib", None, "lib"), artefact("life", t.program("life"))])
    s.run("--no-report", "small", "5").ok()
    same("tasks", len(user_tasks(t.report("futrace.data"))), 5)
    r = s.run("--no-report", "-o", t.path("x.data"), "--", "small", "7").ok()
    same("tasks", len(user_tasks(t.report("x.data"))), 7)
    check("life has no debug info" in r.err, f"no word of debug info: {r}")
    r = StandIn(t, [artefact("life", t.program("life", "stripped"))]).run("--profile=my-own", "--no-report", "small", "5").ok()
    check("life is stripped" in r.err and "CARGO_PROFILE_MY_OWN_STRIP=false" in r.err, f"no word of strip: {r}")
    r = StandIn(t, [artefact("life", t.program("life", "dev"))]).run("--dev", "--no-report", "small", "5").ok()
    check("debug info" not in r.err, f"there is debug info: {r}")


@test()
def choices(t):
    """Several binaries are named and none is run, but for the one of default-run; nothing to run says what can be."""
    plain = t.program("plain")
    two = [artefact("one", plain), artefact("two", plain)]
    r = StandIn(t, two).run().failed(2)
    check("one, two" in r.err and "--bin" in r.err and "-p" not in r.err, f"what to do? {r}")
    r = StandIn(t, [two[0], artefact("two", plain, package="q 0.0.0")]).run().failed(2)
    check("-p" in r.err, f"what to do? {r}")
    packages = {"packages": [{"id": "o", "default_run": "one"}, {"id": "p 0.0.0", "default_run": "two"}]}
    StandIn(t, [artefact("one", "/nonexistent"), two[1]], metadata=packages).run("-q", "0").ok()
    other = artefact("other", plain, package="o")
    StandIn(t, [other, two[1]], metadata=packages).run().failed(2)  # as `cargo run`: it is not clear whose default
    harnesses = [artefact("x", plain, "cdylib", True), artefact("x", "/nonexistent", is_test=True)]
    StandIn(t, harnesses).run("-q", "--unit-test", "--", "0").ok()
    r = StandIn(t, [artefact("x", None, "lib")]).run().failed(2)
    check("--example" in r.err, f"what to do? {r}")
    r = StandIn(t, [artefact("a", plain, is_test=True), artefact("b", plain, is_test=True)]).run("--unit-test").failed(2)
    check("a, b" in r.err and "--unit-test=" in r.err, f"what to do? {r}")
    hostile = [artefact("one\x1b[31m", plain), artefact("two\n", plain)]
    check("\x1b" not in StandIn(t, hostile).run().failed(2).err, "an escape sequence of a target's name")


@test()
def cargo_fails(t):
    """cargo's exit status is passed on, without a further word; a cargo that is not there is an error."""
    s = StandIn(t, [artefact("x", t.program("plain"))], status=101)
    r = s.run()
    same(f"status of {r}", r.status, 101)
    same("what futrace says", r.err + r.out, "")
    t.run(t.futrace, "cargo", env={"CARGO": t.path("no-such-cargo")}).failed(1)


@test(cases=[("--bin=a", "--test=b"), ("--dev", "--release"), ("--profile=x", "--dev"), ("--example=a", "--unit-test"),
             ("--bin=a", "--unit-test=a")])
def exclusive(t, a, b):
    """Options that contradict each other are refused before anything is built."""
    s = StandIn(t, [])
    s.run(a, b).failed(2)
    check(not os.path.exists(s.words), "cargo was run")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where nothing can be recorded the true reason is told, and the program does as it does alone."""
import os
import shutil
import subprocess

from live import Skipped, check, same, test

SIZES = {"empty": 0, "header": 100, "code": 5000, "half": None, "end": -1000}


@test(only_root=True)
def no_proc(t):
    """Without /proc the command runs alone and /proc is named, by every command that needs it."""
    script = ('mount -t tmpfs none /proc && "$0" record -o t.data -- "$@"; rc=$?; '
              '"$0" ps 1; "$0" doctor 1; "$0" list; exit $rc')
    alone = t.run(t.program("life"), "leave", "exit7")
    r = t.run("unshare", "-m", "sh", "-c", script, t.futrace, t.program("life"), "leave", "exit7")
    if "unshare failed" in r.err or "mount:" in r.err:
        raise Skipped(f"no mounts here: {r.err.strip()}")
    same("status", r.status, alone.status)
    same("output", r.out, alone.out)
    lines = r.err.splitlines()
    same("lines", len(lines), 4)
    for line in lines:
        check("/proc is not mounted" in line, line)
    check("nothing is recorded" in lines[0] and "runs alone" in lines[0], lines[0])


@test(cases=[(name,) for name in [*SIZES, "foreign", "other", "program"]])
def broken_agent(t, how):
    """An agent that is cut, of another architecture or of another version is named before the command is started."""
    agent = os.path.join(os.path.dirname(t.futrace), "libfutrace-agent.so")
    with open(agent, "rb") as f:
        data = bytearray(f.read())
    if how in SIZES:
        size = SIZES[how]
        data = data[:len(data) // 2 if size is None else size]
    elif how == "foreign":
        data[18] = 0xb7  # AArch64
    elif how == "other":
        at = data.index((0x4543415254554631).to_bytes(8, "little"))
        while at >= 0:  # wherever the compiler has put it
            data[at + 12] ^= 1
            at = data.find((0x4543415254554631).to_bytes(8, "little"), at + 8)
    path = t.path("agent.so")
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, 0o755)
    if how == "program":
        shutil.copy(t.program("plain"), path)
    r = t.run(t.futrace, "record", "-o", t.path("t.data"), "--", "touch", t.path("ran"), env={"FUTRACE_AGENT": path})
    r.failed(1)
    want = {"foreign": "another architecture", "other": "this version", "program": "no library"}.get(how, "damaged")
    check(path in r.err and want in r.err, f"{r.err!r}")
    same("files", os.listdir(t.dir), ["agent.so"])


@test()
def symbols(t):
    """That symbols are missing is said of a program without any; else it is said which, or where they are."""
    whole, none, few, apart = (t.path(n) for n in ("whole", "none", "few", "apart"))
    shutil.copy(t.program("life"), whole)
    for argv in (["strip", "-o", none, whole], ["strip", "-o", apart, whole],
                 ["objcopy", "-w", "--strip-symbol=*tokio*", whole, few],
                 ["objcopy", "--only-keep-debug", whole, apart + ".debug"],
                 ["objcopy", "--add-gnu-debuglink=" + apart + ".debug", apart]):
        subprocess.run(argv, check=True, cwd=t.dir)
    for path, want in ((none, "it has no symbols"), (few, "has a symbol: all were inlined"),
                       (apart, "in a separate file")):
        os.chmod(path, 0o755)
        text = " ".join(t.run(t.futrace, "doctor", "-v", "--no-cache", path).ok().out.split())
        check(want in text, f"{path}: {text}")
        same(f"{path}: no symbols", "it has no symbols" in text, path == none)

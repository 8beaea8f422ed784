# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where outputs go: links are followed, descriptors and devices are written as they are, whatever the umask; and
when there is no more memory for them."""
import glob
import json
import os
import shutil
import stat
import tempfile
import time

from live import TIMEOUT_S, Skipped, check, same, sum_polls, test, total

TASKS = "5"


def shell(t, script, *args):
    """Runs a line of shell with futrace as $0. Redirections are its own."""
    return t.run("sh", "-c", script, t.futrace, *args)


def no_new_links(t, *names):
    for name in names:
        check(os.path.islink(t.path(name)), f"{name} is a link no longer")


def far_folder(t):
    """A folder on another disk; the caller removes it."""
    far = tempfile.mkdtemp(prefix="futrace-", dir="/dev/shm")
    if os.stat(far).st_dev == os.stat(t.dir).st_dev:
        os.rmdir(far)
        raise Skipped("/dev/shm is on the same disk")
    if os.geteuid() == 0:
        os.chown(far, t.s.uid, t.s.gid)
    return far


@test(cases=[("/dev/fd/3",), ("/proc/self/fd/3",), ("link",)])
def record_to_descriptor(t, name):
    """A recording goes into a descriptor behind what is there: the file is neither replaced nor emptied."""
    os.symlink("/proc/self/fd/3", t.path("link"))
    r = shell(t, f'printf head >all; exec 3>>all; ino() {{ stat -c %i all; }}; before=$(ino); '
              f'"$0" record -q -o {name} -- "$@" || exit; [ "$before" = "$(ino)" ] || echo replaced',
              t.program("life"), "small", TASKS).ok()
    check("replaced" not in r.out, f"the file behind the descriptor was replaced: {r}")
    same("other files", sorted(os.listdir(t.dir)), ["all", "link"])
    no_new_links(t, "link")
    with open(t.path("all"), "rb") as f:
        data = f.read()
    same("what was there", data[:4], b"head")
    with open(t.path("t.data"), "wb") as f:
        f.write(data[4:])
    os.chmod(t.path("t.data"), 0o644)
    same("polls", sum_polls(t.report()), total(r.out)["polls"])


@test()
def record_to_own_stdout(t):
    """A link to standard output stays one, and a command that writes nothing leaves a recording there."""
    os.symlink("/proc/self/fd/1", t.path("link"))
    shell(t, '"$0" record -q -o link -- sh -c \'exec "$@" >truth\' sh "$@" >t.data', t.program("life"), "small", TASKS).ok()
    no_new_links(t, "link")
    with open(t.path("truth"), encoding="utf-8") as f:
        same("polls", sum_polls(t.report()), total(f.read())["polls"])


@test(cases=[("/dev/fd/9",), ("/dev/fd/0",)])
def record_to_no_descriptor(t, name):
    """A descriptor that is not open, or only for reading, is refused before the command is started."""
    r = shell(t, f'exec 9>&-; "$0" record -o {name} -- touch ran </dev/null', t.program("plain")).failed(1)
    check("not open for writing" in r.err, f"{r.err!r}")
    same("files", os.listdir(t.dir), [])


@test()
def record_through_links(t):
    """A link to another disk is followed, dangling or not: FILE.old and FILE.PID are where the file really is."""
    far = far_folder(t)
    try:
        os.symlink(far + "/trace", t.path("middle"))
        os.symlink("middle", t.path("t.data"))
        first = t.record(t.program("life"), "small", TASKS, opts=["--follow"]).ok()
        same("polls", sum_polls(t.report()), total(first.out)["polls"])
        r = t.record("sh", "-c", '"$0" small 7; :', t.program("life"), opts=["--follow"]).ok()
        no_new_links(t, "t.data", "middle")
        same("files", sorted(os.listdir(t.dir)), ["middle", "t.data"])
        children = glob.glob(far + "/trace.[0-9]*")
        same("recordings of children", len(children), 1)
        rep = json.loads(t.run(t.futrace, "report", "--json", children[0]).ok().out)
        same("polls of the child", sum_polls(rep), total(r.out)["polls"])
        same("files there", sorted(os.path.join(far, f) for f in os.listdir(far)),
             sorted([far + "/trace", far + "/trace.old", *children]))
    finally:
        shutil.rmtree(far)


@test(cases=[("folded",), ("perfetto",)])
def export_to_descriptor(t, fmt):
    """An export goes into the descriptor: the file behind it is neither replaced nor emptied."""
    t.record(t.program("life"), "small", TASKS).ok()
    t.run(t.futrace, "export", "-f", fmt, "-o", "want", "t.data").ok()
    shell(t, f'printf head >all; "$0" export -f {fmt} -o /dev/stdout t.data >>all; '
          f'"$0" export -f {fmt} -o /dev/fd/3 t.data 3>>all').ok()
    with open(t.path("all"), "rb") as f, open(t.path("want"), "rb") as w:
        want = w.read()
        same("bytes", f.read(), b"head" + want + want)
    r = shell(t, '"$0" export -f sqlite -o /dev/fd/3 t.data 3>db')
    same("status of a database into a descriptor", r.status, 2)
    check("can only be a file" in r.err, f"{r.err!r}")


@test()
def export_through_links(t):
    """An export follows a link to another disk, dangling or not, and the link stays."""
    t.record(t.program("life"), "small", TASKS).ok()
    far = far_folder(t)
    try:
        for name in ("folded", "db"):
            os.symlink(far + "/" + name, t.path(name))
        for _ in range(2):
            t.run(t.futrace, "export", "-f", "folded", "-o", "folded", "t.data").ok()
            t.run(t.futrace, "export", "-f", "sqlite", "-o", "db", "t.data").ok()
            same("files", sorted(os.listdir(far)), ["db", "folded"])
        no_new_links(t, "folded", "db")
    finally:
        shutil.rmtree(far)


@test()
def umask_of_everything(t):
    """With umask 777 recordings and exports are still their owner's to read."""
    shell(t, 'umask 777; "$0" record -q -o t.data -- "$@" && "$0" export -f sqlite -o db t.data '
          '&& "$0" export -f folded -o folded t.data', t.program("life"), "small", TASKS).ok()
    for name in ("t.data", "db", "folded"):
        same(f"mode of {name}", stat.S_IMODE(os.stat(t.path(name)).st_mode), 0o600)
    t.report()


@test(cases=[("",), ("--follow",)])
def out_of_memory(t, follow):
    """A recorder that gets no more memory says so; the command goes on as alone, at once, and its status is passed on."""
    script = 'echo up; read line; "$0" small 5 | grep -c truth; exec "$0" small 7'
    alone = max((t.run("sh", "-c", script, t.program("life"), stdin=b"go\n") for _ in range(3)), key=lambda r: r.seconds)
    p = t.start(t.record_argv("sh", "-c", script, t.program("life"), opts=["--no-cache", *filter(None, [follow])]))
    first = p.popen.stdout.readline()
    t.run("prlimit", "--pid", str(p.pid), f"--as={1 << 20}:").ok()
    began = time.monotonic()
    out, err = p.popen.communicate(b"go\n", TIMEOUT_S)
    took = time.monotonic() - began
    same("status", p.popen.returncode, alone.status)
    same("lines of output", (first + out).count(b"\n"), alone.out.count("\n"))
    check(b"memory" in err, f"{err!r}")
    check(took < 8 + 8 * alone.seconds, f"the command waited for its recorder: {took:.1f} s, alone {alone.seconds:.1f} s")
    t.run(t.futrace, "info", "t.data").ok()

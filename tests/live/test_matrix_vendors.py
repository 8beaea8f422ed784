# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs and modules with Tokio inside, as their vendors ship them: they work as before, and are recorded or refused."""
import glob
import json
import os
import re
import time
import urllib.request
import zipfile

import vendors
from live import Failed, Skipped, check, free_port, nr_lost, same, test, user_tasks

WHEEL = {
    "tiny/__init__.py": "X = 1\n",
    "tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
    "tiny-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
TABLE = """
import sys
from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, write_deltalake
t = Table.from_pydict({"x": Array(list(range(101)), DataType.int64())})
for _ in range(3):
    write_deltalake(sys.argv[1], t, mode="append")
d = DeltaTable(sys.argv[1])
print(d.version(), len(d.file_uris()))
"""
STORE = """
import asyncio, sys
import obstore
from obstore.store import LocalStore
store = LocalStore(sys.argv[1], mkdir=True)
async def main():
    await asyncio.gather(*(obstore.put_async(store, f"f{n}", b"x" * n) for n in range(1, 24)))
    answers = await asyncio.gather(*(obstore.get_async(store, f"f{n}") for n in range(1, 24)))
    print(sum(len(a.bytes()) for a in answers))
asyncio.run(main())
print(len(obstore.list(store).collect()))
"""
APP = """
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello " + scope["path"].encode()})
"""


def shipped(t, *names):
    t.need("vendors", "all")
    return os.path.join(t.s.stage, "vendors", *names)


def write(t, name, text):
    with open(t.path(name), "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(t.path(name), 0o644)
    return t.path(name)


def env(t):
    return {"PYTHONPATH": shipped(t, "python"), "PYTHONDONTWRITEBYTECODE": "1"}


def files_in(folder):
    found = {}
    for path in glob.glob(folder + "/**", recursive=True, include_hidden=True):
        if os.path.isfile(path):
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = f.read()
    return found


def untimed(text):
    return re.sub(r"[0-9.]+ ?[mµ]?s\b", "", text)


def check_recorded(rep, of, runtimes=("tokio",)):
    same("lost", nr_lost(rep), 0)
    same("runtimes of the tasks", {x["runtime"] for x in user_tasks(rep)}, {"tokio"})
    same("names", {x["name"] for x in rep["runtimes"]}, set(runtimes))
    check(all(x["version"].startswith("1.") for x in rep["runtimes"]), f"versions: {rep['runtimes']}")
    check(all(of in x["object"] for x in rep["runtimes"]), f"objects: {rep['runtimes']}")
    for x in user_tasks(rep):
        check(x["end"] in ("completed", "cancelled", "dropped", "alive"), f"end of {x}")


@test(slow=True)
def uv_installs(t):
    """uv, a stripped program, installs a package as it does alone, and its tasks are recorded."""
    wheel = t.path("tiny-1.0-py3-none-any.whl")
    record = "".join(f"{n},,\n" for n in [*WHEEL, "tiny-1.0.dist-info/RECORD"])
    with zipfile.ZipFile(wheel, "w") as z:
        for name, text in {**WHEEL, "tiny-1.0.dist-info/RECORD": record}.items():
            z.writestr(name, text)
    os.chmod(wheel, 0o644)
    argv = [shipped(t, "python", "bin", "uv"), "pip", "install", "-q", "--no-cache", "--offline", "--no-index",
            "--python", vendors.user_python()[0], "--link-mode=copy", wheel, "--target"]
    alone = t.run(*argv, t.path("alone")).ok()
    r = t.record(*argv, t.path("recorded"), opts=["-q"]).ok()
    same("output", (r.out, r.err), (alone.out, alone.err))
    check(len(files_in(t.path("alone"))) >= 3, "nothing was installed")
    same("files", files_in(t.path("recorded")), files_in(t.path("alone")))
    check_recorded(t.report(), "/uv")


@test(slow=True)
def deltalake_writes(t):
    """A Python module with Tokio inside, loaded long after the start, writes a table as it does alone."""
    script = write(t, "table.py", TABLE)
    python = vendors.user_python()[0]
    alone = t.run(python, script, t.path("alone"), env=env(t)).ok()
    r = t.record(python, script, t.path("recorded"), opts=["-q"], env=env(t)).ok()
    same("output", (r.out, r.err), (alone.out, alone.err))
    same("output", r.out, "2 3\n")
    check_recorded(t.report(), "deltalake", ("tokio",))  # async-std is inside, but runs nothing here


def ask(port, path, seconds=30):
    """The answer, as soon as somebody listens."""
    end = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                return answer.read()
        except OSError as e:
            if time.monotonic() > end:
                raise Failed(f"no answer from port {port}: {e}") from None
            time.sleep(0.05)


@test(slow=True)
def granian_serves(t):
    """A Python web server with Tokio in its workers answers and ends as it does alone; the worker has its own file."""
    write(t, "hello.py", APP)
    port = free_port()
    r = t.start(t.record_argv(vendors.user_python()[0], "-m", "granian", "--interface", "asgi", "--port", str(port),
                              "hello:app", opts=["--follow", "-q"]), env=env(t))
    for n in range(23):
        same("answer", ask(port, f"/{n}"), f"hello /{n}".encode())
    os.kill(r.pid, 15)  # futrace passes it on
    same(f"status of {r.argv}", r.finish().status, 0)
    files = glob.glob(t.path("t.data.[0-9]*"))
    same("files of workers", len(files), 1)
    check_recorded(t.report(files[0]), "_granian")


@test(slow=True)
def obstore_stores(t):
    """A module with names and a new compiler's code: every file that Python puts is a task with its name."""
    script = write(t, "store.py", STORE)
    python = vendors.user_python()[0]
    alone = t.run(python, script, t.path("alone"), env=env(t)).ok()
    r = t.record(python, script, t.path("recorded"), opts=["-q"], env=env(t)).ok()
    same("output", (r.out, r.err), (alone.out, alone.err))
    same("output", r.out, "276\n23\n")
    same("files", files_in(t.path("recorded")), files_in(t.path("alone")))
    rep = t.report()
    check_recorded(rep, "_obstore")
    puts = [x for x in user_tasks(rep) if "LocalFileSystem" in x["type"] and "put_opts" in x["type"]]
    same("closures that write", (len(puts), {x["kind"] for x in puts}), (23, {"blocking"}))


def node(t):
    """Node, where there is one that is new enough."""
    r = t.run("node", "--version").ok()
    if tuple(map(int, r.out.strip("v\n").split(".")))[:2] < (20, 19):
        raise Skipped(f"rolldown wants Node 20.19 or later, this is {r.out.strip()}")
    return "node"


@test(slow=True)
def rolldown_bundles(t):
    """A module of Node's with Tokio and mimalloc inside, stripped, makes the same bundle."""
    write(t, "a.js", "let a = 1;\nexport function f(x) { return x + a; }\n")
    main = write(t, "main.js", "import { f } from './a.js';\nconsole.log(f(41));\n")
    argv = [node(t), shipped(t, "node_modules", "rolldown", "bin", "cli.mjs"), main, "-d"]
    alone = t.run(*argv, t.path("alone")).ok()
    r = t.record(*argv, t.path("recorded"), opts=["-q"]).ok()
    same("output", untimed(r.out + r.err), untimed(alone.out + alone.err))
    same("bundle", files_in(t.path("recorded")), files_in(t.path("alone")))
    same("what it says", t.run("node", t.path("recorded/main.js")).ok().out, "42\n")
    check_recorded(t.report(), "rolldown")


def message(**what):
    text = json.dumps({"jsonrpc": "2.0", **what})
    return f"Content-Length: {len(text)}\r\n\r\n{text}".encode()


def talk(t, *argv):
    """(answer, status) of a server of the language protocol when an editor comes and goes. Whether it still answers the going
    is a race of its own."""
    p = t.start(list(argv), env={"XDG_CACHE_HOME": t.dir})
    start = {"processId": None, "rootUri": None, "capabilities": {}}
    p.popen.stdin.write(message(id=1, method="initialize", params=start))
    p.popen.stdin.flush()
    head = p.popen.stdout.readline()
    check(head.startswith(b"Content-Length: "), f"no answer: {head}")
    while p.popen.stdout.readline().strip():
        pass
    answer = json.loads(p.popen.stdout.read(int(head.split()[1])))
    p.tell(message(id=2, method="shutdown").decode())
    p.close_stdin()
    return answer, p.wait()


@test(slow=True)
def biome_talks(t):
    """A stripped program with jemalloc inside, and the server that it starts, talk as they do alone; both are recorded."""
    argv = [shipped(t, "node_modules", "@biomejs", "cli-linux-x64", "biome"), "lsp-proxy"]
    alone = talk(t, *argv)
    recorded = talk(t, *t.record_argv(*argv, opts=["--follow", "-q"]))
    check("result" in alone[0], f"no good answer: {alone}")
    same("talk and status", recorded, alone)
    for path in ["t.data", *glob.glob(t.path("t.data.[0-9]*"))]:
        check_recorded(t.report(path), "biome")


@test(slow=True)
def biome_lints(t):
    """The same program doing what it needs no task for: futrace says that, and what the program says is the same."""
    write(t, "a.js", "let a = 1;\nif (a == 1) debugger;\n")
    argv = [shipped(t, "node_modules", "@biomejs", "cli-linux-x64", "biome"), "lint", "a.js"]
    alone, r = t.run(*argv), t.record(*argv)
    same("status", (r.status, r.out), (alone.status, alone.out))
    *said, last = r.err.strip().split("\n")
    same("errors", untimed("\n".join(said).strip()), untimed(alone.err.strip()))
    check(last.startswith("futrace record: nothing was recorded:") and "ran no task" in last, f"no reason: {last}")


@test(slow=True)
def ruff_is_no_case(t):
    """A program without a runtime runs as it does alone, and futrace says that there is nothing to record."""
    write(t, "a.py", "import os\n")
    argv = [shipped(t, "python", "bin", "ruff"), "check", "--no-cache", "a.py"]
    alone, r = t.run(*argv), t.record(*argv)
    same("status", (r.status, r.out), (alone.status, alone.out))
    check(r.err.startswith(alone.err) and "no async runtime" in r.err, f"no reason: {r}")


@test(cases=[("@turbo/linux-64/bin/turbo", "1.50.0"), ("@biomejs/cli-linux-x64-musl/biome", "1.53.")], slow=True)
def static_is_refused(t, program, version):
    """A static program runs as it does alone, and futrace says why nothing was recorded."""
    argv = [shipped(t, "node_modules", program), "--version"]
    alone, r = t.run(*argv).ok(), t.record(*argv).ok()
    same("output", r.out, alone.out)
    check("statically linked" in r.err, f"no reason: {r}")
    doctor = t.run(t.futrace, "doctor", argv[0])
    same("status of doctor", doctor.status, 3)
    check(f"tokio {version}" in doctor.out and "static" in doctor.out, f"{doctor}")

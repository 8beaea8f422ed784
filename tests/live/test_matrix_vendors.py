# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs and modules with Tokio inside, as their vendors ship them: they work as before, and are recorded or refused."""
import glob
import os
import time
import urllib.request
import zipfile

import vendors
from live import Failed, check, free_port, nr_lost, same, test, user_tasks

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
APP = """
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello " + scope["path"].encode()})
"""


def shipped(t, *names):
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


def check_recorded(rep, of):
    same("lost", nr_lost(rep), 0)
    check(user_tasks(rep), "no tasks")
    same("names", {x["name"] for x in rep["runtimes"]}, {"tokio"})
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
    check_recorded(t.report(), "deltalake")


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
def turbo_is_refused(t):
    """A static program runs as it does alone, and futrace says why nothing was recorded."""
    argv = [shipped(t, "turbo"), "--version"]
    alone, r = t.run(*argv).ok(), t.record(*argv).ok()
    same("output", r.out, alone.out)
    check("statically linked" in r.err, f"no reason: {r}")
    doctor = t.run(t.futrace, "doctor", argv[0])
    same("status of doctor", doctor.status, 3)
    check("tokio 1.50.0" in doctor.out and "static" in doctor.out, f"{doctor}")

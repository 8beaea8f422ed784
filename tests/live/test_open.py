# SPDX-License-Identifier: MIT OR Apache-2.0
"""`futrace open`: a recording is served to the Perfetto UI, once, and to nobody else. Read by Python's HTTP client."""
import http.client
import os
import re
import socket
import stat
import subprocess
import time

from live import DURATIONS, TIMEOUT_S, Failed, check, same, test

ORIGIN = "https://ui.perfetto.dev"
PORT = 9001


def start(t, *args, env=None):
    """The running command, and the path of what it serves."""
    p = t.start([t.futrace, "open", *args], env=env)
    line = p.read_line()
    m = re.fullmatch(rf"{ORIGIN}/#!/\?url=http://127\.0\.0\.1:{PORT}(/[0-9a-f]{{32}}/[\w.-]+)&referrer=futrace", line or "")
    check(m, f"said {line!r}; {p.popen.poll()}")
    return p, m.group(1)


def ask(path, method="GET", **headers):
    """Status, headers and body."""
    c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=TIMEOUT_S)
    try:
        c.request(method, path, headers={"Origin": ORIGIN, **headers})
        r = c.getresponse()
        return r.status, {k.lower(): v for k, v in r.getheaders()}, r.read()
    finally:
        c.close()


def record(t):
    t.record(t.program("life"), "small", "7").ok()
    return t.path("t.data")


def big_file(t, size=32 << 20):
    """More than fits into the buffers between two processes."""
    path = t.path("big.pftrace")
    with open(path, "wb") as f:
        f.write(os.urandom(1 << 20) * (size >> 20))
    os.chmod(path, 0o644)
    return path


@test()
def recording(t):
    """A recording is exported as `export` does, served whole with the header that the page needs, and that is all."""
    path = record(t)
    t.run(t.futrace, "export", "-f", "perfetto", "-o", t.path("want"), path).ok()
    before = set(os.listdir(t.s.home))
    p, where = start(t, "--no-browser", path)
    check(where.endswith("/futrace.pftrace"), where)
    same("files left in TMPDIR", set(os.listdir(t.s.home)) - before, set())
    status, headers, body = ask(where)
    same("status", status, 200)
    with open(t.path("want"), "rb") as f:
        same("as exported", body == f.read(), True)
    same("who may read it", headers["access-control-allow-origin"], ORIGIN)
    r = p.finish()
    same("status, stderr", (r.status, r.err), (0, ""))
    same("files left in TMPDIR", set(os.listdir(t.s.home)) - before, set())


@test()
def default_file(t):
    """Without a name it is the recording of this folder, and a new address each time."""
    os.rename(record(t), t.path("futrace.data"))
    seen = set()
    for _ in range(2):
        p, where = start(t, "--no-browser")
        seen.add(where)
        same("status", ask(where)[0], 200)
        same("status of open", p.finish().status, 0)
    same("addresses", len(seen), 2)


@test()
def others(t):
    """Who asks for another name, comes from another host, or wants to write, gets nothing; it goes on for the page."""
    p, where = start(t, "--no-browser", record(t))
    for path, headers in (("/", {}), ("/futrace.pftrace", {}), (where + "x", {}), (where.upper(), {}),
                          (where, {"Host": "localhost:9001"}), (where, {"Host": "evil.example:9001"}),
                          (where, {"Host": "127.0.0.1"})):
        status, got, body = ask(path, **headers)
        same(f"{path} {headers}", (status, body, "access-control-allow-origin" in got), (404, b"", False))
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        same(method, ask(where, method, **{"Content-Length": "0"})[::2], (405, b""))
    status, headers, body = ask(where, "HEAD")
    check(status == 200 and int(headers["content-length"]) > 100 and not body, f"HEAD: {status} {headers}")
    status, headers, body = ask(where, "OPTIONS", **{"Access-Control-Request-Private-Network": "true"})
    check(status == 200 and not body and "GET" in headers["access-control-allow-methods"], f"OPTIONS: {status} {headers}")
    same("private network", headers["access-control-allow-private-network"], "true")
    same("it goes on", p.popen.poll(), None)
    same("page", ask(where)[0], 200)
    same("status", p.finish().status, 0)


@test()
def loopback(t):
    """Nobody outside of this machine can reach it."""
    p, where = start(t, "--no-browser", record(t))
    found = []
    for name in ("tcp", "tcp6"):
        with open(f"/proc/net/{name}", encoding="ascii") as f:
            found += [line.split()[1] for line in f if line.split()[3] == "0A" and line.split()[1].endswith(f":{PORT:04X}")]
    same("listens on", found, [f"0100007F:{PORT:04X}"])
    ask(where)
    p.finish().ok()


@test()
def half_read(t):
    """A reader that leaves midway is none: the next one gets the whole file."""
    path = big_file(t)
    p, where = start(t, "--no-browser", path)
    with socket.create_connection(("127.0.0.1", PORT), TIMEOUT_S) as s:
        s.sendall(f"GET {where} HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\n\r\n".encode())
        check(s.recv(4096).startswith(b"HTTP/1.1 200"), "it begins")
    status, _, body = ask(where)
    with open(path, "rb") as f:
        same("whole", (status, body == f.read()), (200, True))
    same("status", p.finish().status, 0)


@test()
def slow_reader(t):
    """Who is still reading when the time is over is not cut off."""
    path = big_file(t)
    for seconds in DURATIONS:
        p, where = start(t, "--no-browser", f"--timeout={seconds}s", path)
        c = http.client.HTTPConnection("127.0.0.1", PORT, timeout=TIMEOUT_S)
        try:
            c.request("GET", where)
            r = c.getresponse()
            break
        except OSError:  # we came too late
            c.close()
            same("status without a reader", p.finish().status, 1)
    got = len(r.read(1000))
    try:
        p.popen.wait(seconds + 1)
    except subprocess.TimeoutExpired:
        pass
    else:
        raise Failed("it ended while somebody was reading")
    got += len(r.read())
    c.close()
    same("bytes", got, os.path.getsize(path))
    same("status", p.finish().status, 0)


@test()
def timeout(t):
    """It gives up when nobody comes, not before, and says so."""
    path, began = record(t), time.monotonic()
    r = t.run(t.futrace, "open", "--no-browser", "--timeout=700ms", path)
    same("status", r.status, 1)
    check("was not read in time" in r.err, r.err)
    check(time.monotonic() - began >= 0.7, "it waited")


@test()
def port_taken(t):
    """While another program has the port, that is said."""
    path = record(t)
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", PORT))
        s.listen()
        r = t.run(t.futrace, "open", "--no-browser", path).failed()
    check(f"port {PORT} is taken" in r.err and not r.out, str(r))


@test()
def any_file(t):
    """What is no recording is served as it is, under a name that needs no escaping."""
    name = "a b&c?#\u00e4%2f.json"
    with open(t.path(name), "w") as f:
        f.write("[]")
    os.chmod(t.path(name), 0o644)
    p, where = start(t, "--no-browser", t.path(name))
    same("body", ask(where)[2], b"[]")
    same("status", p.finish().status, 0)
    for bad in ("missing", "."):
        t.run(t.futrace, "open", "--no-browser", t.path(bad)).failed()
    t.run(t.futrace, "open", "a", "b").failed(2)


def fake_browser(t, text):
    path = t.path("bin")
    os.mkdir(path)
    with open(os.path.join(path, "xdg-open"), "w") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(os.path.join(path, "xdg-open"), stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    os.chmod(path, 0o755)
    return {"PATH": path + ":/usr/bin:/bin"}


def wait_reader(fifo, timeout=TIMEOUT_S):
    """Until somebody reads from it."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)
    raise Failed("the browser was not started")


@test()
def browser(t):
    """The browser gets the address; that it stays open keeps neither the command nor the port."""
    env = fake_browser(t, 'echo "$1" >asked\nread forever <"$0.fifo"\n')
    fifo = t.path("bin/xdg-open.fifo")
    os.mkfifo(fifo)
    os.chmod(fifo, 0o644)
    for _ in range(2):
        p, where = start(t, record(t), env=env)
        running = wait_reader(fifo)
        with open(t.path("asked"), encoding="utf-8") as f:
            same("address", f.read(), p.seen[0] + "\n")
        same("status", ask(where)[0], 200)
        same("status of open", p.wait(), 0)
        os.close(running)


@test()
def no_browser(t):
    """Where no browser can be started that is said, and the file is served all the same."""
    for env in ({"PATH": t.dir}, fake_browser(t, "exit 3\n")):
        p, where = start(t, record(t), env=env)
        said = p.popen.stderr.readline().decode()
        check("no browser could be started" in said and "9001" in said, said)
        same("status", ask(where)[0], 200)
        same("status of open", p.finish().status, 0)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs one program of the corpus, alone or recorded, and gives back all that it answered.

There is a driver for each way of talking to a program. A driver starts the command, waits until the program serves or
waits itself, calls `look` with its process id, then ends the program. Its answers are plain values that two runs of the
same program have in common: ports, folders and times are replaced by words.
"""
import http.client
import http.server
import json
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time

from live import Failed, check, children_of, free_port

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_S = 60  # for anything that a program does; the machine may be busy
WORDS = [  # what differs between two runs of the same program
    (r"\x1b\[[0-9;]*m", ""),
    (r"\d+-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?", "DATE"),
    (r"\b[0-9.]+ ?(ns|[mµ]?s|seconds?)\b", "TIME"),
]


class Held(http.server.ThreadingHTTPServer):
    """An HTTP server for programs that are clients. It holds its answers until `release`."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked, self.may_answer = threading.Event(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def release(self):
        self.may_answer.set()


class Answer(http.server.BaseHTTPRequestHandler):
    """Always the same text, to every request."""

    def do_GET(self):
        self.server.asked.set()
        self.server.may_answer.wait(TIMEOUT_S)
        body = f"you asked for {self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self):
        self.server.asked.set()
        self.server.may_answer.wait(TIMEOUT_S)
        self.send_error(502)

    def log_message(self, *_args):
        pass


class Run:
    """One run: a fresh folder with the files of the entry, ports, and what its arguments mean."""

    def __init__(self, case, entry, folders, name):
        self.case, self.entry = case, entry
        self.dir = case.path(name)
        os.makedirs(os.path.join(self.dir, "home"))
        self.said = ""  # by futrace
        for path, text in entry.get("files", {}).items():
            full = os.path.join(self.dir, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        self.held = Held() if entry["drive"] == "client" else None
        self.words = {"port": str(free_port()), "port2": str(free_port()), "dir": self.dir, "python": sys.executable,
                      "here": HERE, "node": shutil.which("node") or "node"}
        if self.held:
            self.words["held"] = str(self.held.server_address[1])
        self.words["pkg"] = folders[0]
        for n, folder in enumerate(folders[1:], 1):
            self.words[f"pkg{n}"] = folder
        self.node_modules(folders)
        self.env = {"HOME": os.path.join(self.dir, "home"), "TMPDIR": self.dir, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1",
                    "PYTHONPATH": os.pathsep.join(folders)}
        self.env.update({k: self.fill(v) for k, v in entry.get("env", {}).items()})

    def node_modules(self, folders):
        """What node resolves imports by: the packages of the entry in one folder above the script."""
        if self.entry["source"] != "npm":
            return
        to = os.path.join(self.dir, "node_modules")
        for folder in folders:
            for path, _, names in os.walk(os.path.join(folder, "node_modules")):
                if "package.json" in names:
                    link = os.path.join(to, os.path.relpath(path, os.path.join(folder, "node_modules")))
                    if not os.path.exists(link):
                        os.makedirs(os.path.dirname(link), exist_ok=True)
                        shutil.copytree(path, link, copy_function=os.link)

    def fill(self, text):
        """Replaces {port}, {dir} and the like; other braces are left alone."""
        return re.sub(r"\{(\w+)\}", lambda m: self.words.get(m[1], m[0]), text)

    def argv(self, key="run"):
        return [self.fill(a) for a in self.entry[key]]

    def plain(self, text):
        """Without what differs between two runs of the same program."""
        for pattern in self.entry.get("ignore", []):
            text = re.sub(pattern, "…", text, flags=re.M)
        for word in ("dir", "port", "port2", "held"):
            text = text.replace(self.words.get(word) or "\0", word.upper())
        for pattern, word in WORDS:
            text = re.sub(pattern, word, text)
        return text

    def start(self, argv):
        """Its errors go to a file: nobody reads them while a server runs."""
        with open(self.dir + ".err", "ab") as err:
            return self.case.start(argv, cwd=self.dir, env=self.env, stderr=err)

    def errors(self):
        with open(self.dir + ".err", encoding="utf-8", errors="replace") as f:
            return f.read()

    def produced(self):
        """Contents of the files that the entry says the program writes."""
        found = {}
        for top in self.entry.get("writes", []):
            for path, _, names in os.walk(os.path.join(self.dir, top)):
                for name in names:
                    with open(os.path.join(path, name), "rb") as f:
                        found[os.path.relpath(os.path.join(path, name), self.dir)] = f.read()
            check(found, f"{self.entry['name']} wrote nothing into {top}")
        return found

    def finish(self, process):
        """Status and output of a program that ends by itself. Lines of futrace's own are left out."""
        r = process.finish(TIMEOUT_S)
        lines = self.errors().split("\n")
        self.said = "\n".join(l for l in lines if l.startswith("futrace record:"))
        err = "".join(l + "\n" for l in lines if l and not l.startswith("futrace record:"))
        said = {"status": r.status, "out": self.plain(r.out), "files": self.produced()}
        if not self.entry.get("ignore_stderr"):
            said["err"] = self.plain(err)
        return said


def target_of(process, is_recorded):
    """Process id of the program: of a recorded one, futrace's child. None once it has ended."""
    if not is_recorded:
        return process.pid
    end = time.monotonic() + TIMEOUT_S
    while process.popen.poll() is None and time.monotonic() < end:
        children = children_of(process.pid)
        if children:
            return children[0]
        time.sleep(0.01)
    return None


def ask(port, method, path, body=None, headers=None):
    """Status, type and body of an HTTP answer."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    try:
        c.request(method, path, body, headers or {})
        answer = c.getresponse()
        if answer.status == 101:
            return 101, answer.getheader("Upgrade"), ""
        return answer.status, answer.getheader("Content-Type"), answer.read().decode(errors="replace")
    finally:
        c.close()


def wait_for(process, port):
    """Until somebody listens on the port."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            return
        except OSError as e:
            if process.popen.poll() is not None:
                raise Failed(f"{' '.join(process.argv)} ended before it listened: {process.finish()}") from None
            if time.monotonic() > end:
                raise Failed(f"nobody listens on port {port}: {e}") from None
            time.sleep(0.05)


def stop(run, process, pid):
    """Ends a server as its entry says: by a command, a signal or the end of its input."""
    if "stop" in run.entry:
        helper = run.case.run(*run.argv("stop"), cwd=run.dir, env=run.env, timeout=TIMEOUT_S)
        check(helper.status == 0, f"it cannot be stopped: {helper}")
    else:
        os.kill(pid, getattr(signal, "SIG" + run.entry.get("signal", "TERM")))
    return process.wait(TIMEOUT_S)


def helpers(run):
    """Other commands that the entry needs, such as the far end of a tunnel; they are not recorded."""
    for argv in run.entry.get("helpers", []):
        process = run.start([run.fill(a) for a in argv])
        if "helper_port" in run.entry:
            wait_for(process, int(run.words[run.entry["helper_port"]]))


def drive_server(run, argv, look, is_recorded):
    """A server: the requests of the entry and the commands that are its clients. Bodies are compared, and its status."""
    helpers(run)
    process = run.start(argv)
    process.close_stdin()
    port = int(run.words[run.entry.get("answers_on", "port")])
    wait_for(process, port)
    pid = target_of(process, is_recorded)
    answers = []
    for request in run.entry.get("requests", []):
        if run.entry.get("protocol", "http") == "http":
            method, path, *body = request.split(" ", 2)
            answer = ask(port, method, path, body[0] if body else None, run.entry.get("headers"))
        else:
            answer = exchange(port, request)
        answers.append(run.plain(json.dumps(answer)))
    for command in run.entry.get("clients", []):
        r = run.case.run(*[run.fill(a) for a in command], cwd=run.dir, env=run.env, timeout=TIMEOUT_S)
        answers.append((r.status, run.plain(r.out), run.plain(r.err)))
    look(pid)
    return {"answers": answers, "status": stop(run, process, pid), "files": run.produced()}


def exchange(port, text):
    """What a server of lines answers to a request: everything until it falls silent with a whole line."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as s:
        s.sendall(text.encode())
        got = b""
        while not got.endswith(b"\n"):
            data = s.recv(65536)
            if not data:
                break
            got += data
        return got.decode(errors="replace")


def drive_client(run, argv, look, is_recorded):
    """A client of a server that answers only after a look at the waiting program."""
    process = run.start(argv)
    end = time.monotonic() + TIMEOUT_S
    while not run.held.asked.wait(0.05):
        if process.popen.poll() is not None or time.monotonic() > end:
            break
    if process.popen.poll() is None:
        look(target_of(process, is_recorded))
    run.held.release()
    answers = run.finish(process)
    answers["asked"] = run.held.asked.is_set()
    return answers


def drive_command(run, argv, look, is_recorded):
    """A command that ends by itself, sooner or later than the look at it."""
    process = run.start(argv)
    process.close_stdin()
    pid = target_of(process, is_recorded)
    if pid:
        look(pid, may_be_gone=True)
    return run.finish(process)


def drive_script(run, argv, look, is_recorded):
    """A script that says "ready", waits for a line, and ends."""
    process = run.start(argv)
    process.wait_line("ready", TIMEOUT_S)
    look(target_of(process, is_recorded))
    try:
        process.tell("\n")
    except BrokenPipeError:
        pass
    return run.finish(process)


def message(**what):
    text = json.dumps({"jsonrpc": "2.0", **what})
    return f"Content-Length: {len(text)}\r\n\r\n{text}".encode()


def read_message(stream):
    length = 0
    while True:
        line = stream.readline()
        if not line:
            raise Failed("the language server closed its output before it answered")
        if not line.strip():
            break
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(stream.read(length))


def answer_to(process, number):
    """The answer to a request; questions and notices of the server in between are left out."""
    while True:
        m = read_message(process.popen.stdout)
        if m.get("id") == number and "method" not in m:
            return m


def drive_lsp(run, argv, look, is_recorded):
    """A language server: an editor comes, the look, and the editor goes."""
    process = run.start(argv)
    root = "file://" + run.dir
    timer = threading.Timer(TIMEOUT_S, process.kill_all)
    timer.start()
    try:
        stdin = process.popen.stdin
        stdin.write(message(id=1, method="initialize", params={"processId": None, "rootUri": root, "capabilities": {},
                            "workspaceFolders": [{"uri": root, "name": "x"}]}))
        stdin.flush()
        answers = [answer_to(process, 1)]
        stdin.write(message(method="initialized", params={}))
        stdin.flush()
        look(target_of(process, is_recorded))
        stdin.write(message(id=2, method="shutdown"))
        stdin.flush()
        answers.append(answer_to(process, 2))
        stdin.write(message(method="exit"))
        stdin.flush()
        process.close_stdin()
        if "signal" in run.entry:
            os.kill(target_of(process, is_recorded), getattr(signal, "SIG" + run.entry["signal"]))
        status = process.wait(TIMEOUT_S)
    except (OSError, ValueError) as e:
        raise Failed(f"the language server does not talk: {e}") from None
    finally:
        timer.cancel()
    return {"answers": [run.plain(json.dumps(a)) for a in answers], "status": status}


DRIVERS = {"server": drive_server, "client": drive_client, "command": drive_command, "script": drive_script,
           "lsp": drive_lsp}

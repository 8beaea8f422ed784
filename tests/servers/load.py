# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bounded load for the servers here, over loopback: every answer is read and compared with what it must be.

A load has connections and goes in rounds: a request on each connection, then the answer of each. What is asked follows from
the number of the request, so two servers that were asked as often were asked the same.
"""
import socket
import time

TIMEOUT_S = 20
BODY = bytes(range(48, 123)) * 13


class Wrong(Exception):
    """A server answered something else than it must, or not at all."""


def connect(port):
    """A connection, as soon as somebody listens."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        try:
            s = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return s
        except OSError as e:
            if time.monotonic() > end:
                raise Wrong(f"nobody listens on port {port}: {e}") from None
            time.sleep(0.01)


def cpu_ns(pid):
    """CPU time of a whole process, threads that ended included: the clock that clock_getcpuclockid(3) gives."""
    return time.clock_gettime_ns((~pid << 3) | 2)


class Load:
    """What is common: connections, rounds, and a memory of the answers."""

    def __init__(self, port, nr_connections):
        self.sockets = [connect(port) for _ in range(nr_connections)]
        self.files = [s.makefile("rb") for s in self.sockets]
        self.nr_requests = 0
        self.asked = {}

    def round(self):
        """The answers of one request on each connection, whole, in the order of the connections."""
        first = self.nr_requests
        for number, s in enumerate(self.sockets, first):
            what, text = self.request(number)
            self.asked[what] = self.asked.get(what, 0) + 1
            s.sendall(text)
            # Acknowledge at once: a server that sends head and body apart waits for that.
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        self.nr_requests += len(self.sockets)
        return [self.answer(number, f) for number, f in enumerate(self.files, first)]

    def rounds(self, number):
        return [a for _ in range(number) for a in self.round()]

    def close(self):
        for s in [*self.files, *self.sockets]:
            s.close()

    def request(self, number):
        """(what, bytes) of a request."""
        raise NotImplementedError

    def answer(self, number, f):
        """Reads the answer to a request, all of it but what changes with time."""
        raise NotImplementedError


class Http(Load):
    """Most requests are answered at once; some by a task or a closure of their own, or after a timer."""
    KINDS = {0: "spawn", 5: "block", 10: "sleep", 15: "echo"}
    PERIOD = 20

    def what(self, number):
        return self.KINDS.get(number % self.PERIOD, "hello")

    def request(self, number):
        what = self.what(number)
        if what == "echo":
            return what, b"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY
        return what, f"GET /{what}/{number} HTTP/1.1\r\nhost: x\r\n\r\n".encode()

    def expected(self, number):
        total = number * (number + 1) // 2
        return {"spawn": b"spawned %d\n" % total, "block": b"blocked %d\n" % total, "sleep": b"slept %d\n" % number,
                "echo": BODY, "hello": b"hello %d\n" % number}[self.what(number)]

    def answer(self, number, f):
        head = []
        while line := f.readline().rstrip(b"\r\n"):
            head.append(line.lower())
        length = [int(l.split(b":")[1]) for l in head if l.startswith(b"content-length:")]
        body = f.read(length[0]) if length else b""
        if not head or b" 200" not in head[0] or body != self.expected(number):
            raise Wrong(f"request {number}: {head} {body[:200]}")
        return head[0], sorted(l for l in head[1:] if not l.startswith(b"date:")), body


class Redis(Load):
    """Each connection sets a key of its own, gets it in the next round, and then asks for what the server does not know."""

    def request(self, number):
        turn, key = divmod(number, len(self.sockets))
        words = ((b"SET", b"key:%d" % key, b"value %d" % turn), (b"GET", b"key:%d" % key), (b"FROB",))[turn % 3]
        text = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
        return words[0].decode().lower(), text

    def answer(self, number, f):
        turn = number // len(self.sockets)
        value = b"value %d" % (turn - 1)
        line = f.readline()
        if line.startswith(b"$"):
            line += f.readline()
        good = (b"+OK\r\n", b"$%d\r\n%s\r\n" % (len(value), value), b"-ERR unknown command 'frob'\r\n")[turn % 3]
        if line != good:
            raise Wrong(f"request {number}: {line}, should be {good}")
        return line

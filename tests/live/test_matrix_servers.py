# SPDX-License-Identifier: MIT OR Apache-2.0
"""Servers under load: the same answers and the same end, all that they did in the recording, and little more CPU."""
import os
import re
import signal
import statistics
import sys

import servers
from live import Failed, check, nr_lost, same, test, user_tasks
from servers import Server

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../oracle"))
import recompute  # noqa: E402

NR_CONNECTIONS = 20  # a period of the load: each round asks for everything
NR_ROUNDS = 30
# Each server's runtime, what the type of its connections contains, and the type of the tasks of its handlers.
KNOWN = {
    "axum": ("tokio", "axum::serve::handle_connection", "on_axum::work"),
    "actix": ("tokio", "actix_server::service::StreamService", "on_actix::work"),
    "tide": ("async-std", "tide::listener::tcp_listener::handle_tcp", "on_tide::work"),
    "smol": ("smol", "on_smol::serve", "on_smol::work"),
    "mini-redis": ("tokio", "mini_redis::server::Listener::run", None),
    "mini-redis-1.8": ("tokio", "mini_redis::server::Listener::run", None),
}
SIGNALS = (signal.SIGINT, signal.SIGTERM)
FAST = [(n, s) for n in servers.FAST for s in SIGNALS]
SLOW = [(n, s) for n in servers.ALL if n not in servers.FAST for s in SIGNALS]
# The pairs of `bench/run` say 1.03; a busy machine with two cores does not resolve much more.
MOST = 1.10
NR_PAIRS, NR_BURSTS, BURST_ROUNDS = 5, 10, 40


def answers(server, nr_rounds=NR_ROUNDS):
    load = server.open(NR_CONNECTIONS)
    got = load.rounds(nr_rounds)
    load.close()
    return got, load.asked


def check_tasks(rep, name, asked):
    """Each connection, and each task and closure that a handler began, is there and came to its end."""
    runtime, connection, work = KNOWN[name]
    same("lost", nr_lost(rep), 0)
    same("runtimes", {x["runtime"] for x in user_tasks(rep)}, {runtime})
    named = [x["type"] for x in rep["tasks"] if x["kind"] != "block_on"]
    same("types without a name", sorted({x for x in named if not re.search(r"\w::\w", x)}), [])
    if name == "axum":  # whose main is the root; the compiler inlines unpark into the functions of its waker there
        (root,) = [x for x in rep["tasks"] if x["kind"] == "block_on"]
        check(root["polls"] >= 2 and root["wakes"] == root["polls"] - 1, f"the root future: {root}")
    connections = [x for x in user_tasks(rep) if connection in x["type"]]
    same("connections", (len(connections), min(x["polls"] for x in connections) > 0), (NR_CONNECTIONS, True))
    # A poll may answer two requests, if the next one is there when it has answered the first: not each does.
    check(sum(x["polls"] for x in connections) >= NR_CONNECTIONS * NR_ROUNDS // 2, f"few polls: {connections}")
    if work:
        did = [(x["polls"], x["wakes"], x["end"]) for x in user_tasks(rep) if x["type"] == work]
        same("tasks of handlers", did, [(2, 1, "completed")] * asked["spawn"])
        closures = [x["end"] for x in user_tasks(rep) if x["kind"] == "blocking" and f"on_{name}::" in x["type"]]
        same("closures of handlers", closures, ["completed"] * asked["block"])


def serve(t, name, sig):
    alone, recorded = Server(t, name), Server(t, name, "t.data")
    want, _ = answers(alone)
    got, asked = answers(recorded)
    same("answers", got, want)
    a, r = alone.end(sig), recorded.end(sig)
    same(f"end by signal {sig}", (r.status, re.sub(r":\d+$", "", r.out, flags=re.M), r.err),
         (a.status, re.sub(r":\d+$", "", a.out, flags=re.M), a.err))
    check_tasks(t.report(), name, asked)
    wrong = recompute.check(t.futrace, t.path("t.data"), True)
    if wrong:
        raise Failed(f"{len(wrong)} differences:\n       " + "\n       ".join(wrong[:25]))


@test(cases=FAST)
def serves(t, name, sig):
    """A server answers and ends as it does alone, and what the load made it do is recorded."""
    serve(t, name, sig)


@test(cases=SLOW, slow=True)
def serves_too(t, name, sig):
    """The same for the servers that take longer to build."""
    serve(t, name, sig)


def burst(server, load):
    before = servers.load.cpu_ns(server.pid)
    load.rounds(BURST_ROUNDS)
    return servers.load.cpu_ns(server.pid) - before


def ratios(t, name):
    """CPU of the same requests, recorded to alone: two servers at once on one core, asked by turns from the other."""
    core = max(os.sched_getaffinity(0))
    pair = Server(t, name, core=core), Server(t, name, "t.data", core=core)
    loads = [s.open(NR_CONNECTIONS) for s in pair]
    for load in loads:
        load.rounds(BURST_ROUNDS)
    found = []
    for number in range(NR_BURSTS):
        order = (0, 1) if number % 2 else (1, 0)
        cpu = {i: burst(pair[i], loads[i]) for i in order}
        found.append(cpu[1] / cpu[0])
    for s, load in zip(pair, loads):
        load.close()
        s.end(signal.SIGTERM)
    return found


@test(cases=[(n,) for n in servers.ALL], slow=True)
def cpu_per_request(t, name):
    """A recorded server uses hardly more CPU for a request than one that is not: the median of many pairs."""
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores)})  # and so the tool; otherwise the figure is of who disturbs whom
        found = [r for _ in range(NR_PAIRS) for r in ratios(t, name)]
    finally:
        os.sched_setaffinity(0, cores)
    q = statistics.quantiles(found, n=4)
    print(f"     {name}: {q[1]:.3f} of the CPU per request (middle half {q[0]:.3f} to {q[2]:.3f})", flush=True)
    check(q[1] <= MOST, f"CPU per request: {q[1]:.3f}×, middle half {q[0]:.3f} to {q[2]:.3f}")

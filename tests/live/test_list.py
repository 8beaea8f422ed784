# SPDX-License-Identifier: MIT OR Apache-2.0
"""`futrace list` against what others read from the same notes, and against processes that have the probes.

The programs: `sdt` is C with sys/sdt.h, `usdt` and `probe` are Rust with the crates of these names, `tokio-usdt` is C with the
probes of Tokio's proposed feature `usdt`.
"""
import json
import os
import re
import shutil
import struct

from live import check, children_of, same, test, truth
from tracers import AGENT, NOTE, PROBES, interrupted, library, table

PROGRAMS = ("sdt", "usdt", "probe", "tokio-usdt")
CASES = [(p,) for p in PROGRAMS]
# What their sources say: of each probe the types of its arguments, in each function.
TYPES = {
    "sdt": {("plain", "others"): [], ("registers", "registers"): ["uint64_t", "int32_t", "uint8_t", "int16_t"],
            ("memory", "memory"): ["int32_t", "uint64_t", "int32_t"],
            ("constants", "others"): ["int32_t", "int64_t", "uint8_t"],
            ("floats-of-sse", "others"): ["double", "float"], ("many", "others"): ["int32_t"] * 11 + ["uint64_t"],
            ("twice", "twice"): ["int32_t|uint64_t"], ("twice", "once_more"): ["int32_t"]},
    "usdt": {("order-start", "usdt::take_order"): ["uint64_t"] * 2,
             ("order-done", "usdt::close_order"): ["uint64_t", "int32_t", "uint8_t"], ("idle", "usdt::main"): []},
    "probe": {("step", "probe::step"): ["int64_t"] * 3, ("end", "probe::main"): ["int64_t"]},
    "tokio-usdt": {("task-start", "start_task"): ["uint64_t", "uint8_t", "uint64_t", "uint64_t"],
                   ("task-details", "start_task"): ["uint64_t"] * 3 + ["uint32_t"] * 2,
                   **{(name, "poll"): ["uint64_t"] for name in ("task-poll-start", "waker-clone", "waker-wake", "waker-drop", "task-poll-end")},
                   ("task-poll-start", "poll_and_end"): ["uint64_t"], ("task-poll-end", "poll_and_end"): ["uint64_t"],
                   ("task-terminate", "poll_and_end"): ["uint64_t", "uint8_t"], ("trace-root", "main"): []},
}
PROVIDERS = {"sdt": "kinds", "usdt": "shop", "probe": "stairs", "tokio-usdt": "tokio"}


def probes_of(t, *args):
    return json.loads(t.run(t.futrace, "list", "--json", *args).ok().out)["probes"]


def start(t, name, *args):
    """The program, when it waits for a line."""
    p = t.start([t.program(name, "probes"), *args])
    p.wait_line("ready")
    return p


def sites_of(probes):
    return [(p["note_provider"], p["note_name"], s["va"], s["semaphore"]["va"] if s["semaphore"] else 0, s["note_arguments"])
            for p in probes for s in p["sites"]]


def notes_by_readelf(t, path):
    return [(m[0], m[1], int(m[2], 16), int(m[4], 16), m[5].strip())
            for m in NOTE.findall(t.run("readelf", "-nW", path).ok().out)]


@test(cases=CASES)
def as_readelf(t, name):
    """Each note that readelf prints is a site, with the same addresses, semaphore and arguments."""
    path = t.program(name, "probes")
    want = notes_by_readelf(t, path)
    check(len(want) >= 3, f"readelf sees {want}")
    same("sites", sorted(sites_of(probes_of(t, path))), sorted(want))


@test(cases=CASES)
def as_source(t, name):
    """Probes, functions and types of arguments are those of the source, and every operand is understood."""
    probes = probes_of(t, t.program(name, "probes"))
    same("probes", {(p["name"], p["function"]): p["types"] for p in probes}, TYPES[name])
    same("providers", {p["provider"] for p in probes}, {PROVIDERS[name]})
    unknown = [a for p in probes for s in p["sites"] for a in s["arguments"] if a["where"] == "unknown"]
    same("operands that are not understood", unknown, [])
    sites = {p["name"]: len(p["sites"]) for p in probes if p["function"].endswith(("main", "twice"))}
    same("sites in one function", sites, {"sdt": {"twice": 2}, "usdt": {"idle": 2}, "probe": {"end": 2}, "tokio-usdt": {"trace-root": 2}}[name])


@test()
def operands(t):
    """A static variable, a table with an index, the stack and constants are told apart."""
    found = {}
    for p in probes_of(t, t.program("sdt", "probes"), "memory,constants"):
        found[p["name"]] = p["sites"][0]["arguments"]
    stack, static, table = found["memory"]
    same("on the stack", (stack["where"], stack["base"]), ("memory", "rsp"))
    same("static", (static["where"], static["base"], static["symbol"]), ("memory", "rip", "counter"))
    same("table", (table["where"], table["scale"], bool(table["index"])), ("memory", 4, True))
    same("constants", [a["value"] for a in found["constants"]], [5, -7, -56])


@test(cases=CASES, as_root=True)
def of_process(t, name):
    """A process has the probes of its file, with its id behind the provider and where the file is mapped."""
    path = t.program(name, "probes")
    p = start(t, name)
    with open(f"/proc/{p.pid}/maps", encoding="utf-8") as f:
        base = min(int(line.split("-")[0], 16) for line in f if line.rstrip().endswith(path))
    probes = [x for x in probes_of(t, str(p.pid)) if x["path"] == path]
    same("names", {(x["name"], x["function"]) for x in probes}, set(TYPES[name]))
    for x in probes:
        same("provider", (x["provider"], x["pid"]), (f"{PROVIDERS[name]}{p.pid}", p.pid))
        for site in x["sites"]:
            same("address", site["addr"], base + site["va"])
            if name == "tokio-usdt" and x["name"] != "task-details":
                same("semaphore", site["semaphore"], None)
                continue
            same("semaphore", site["semaphore"]["addr"], base + site["semaphore"]["va"])
            same("value", site["semaphore"]["value"], 0)
    rows = t.run(t.futrace, "list", str(p.pid), f"{PROVIDERS[name]}*:::").ok().out.split("\n")
    same("head", rows[0].split(), ["ID", "PROVIDER", "MODULE", "FUNCTION", "NAME"])
    same("rows", len(rows) - 2, len(probes))
    everywhere = t.run(t.futrace, "list", f"{PROVIDERS[name]}$target:{name}::").ok().out
    check(f" {PROVIDERS[name]}{p.pid} " in everywhere, f"not among all processes: {everywhere}")


@test(as_root=True)
def deleted(t):
    """A program whose file is gone has its probes all the same, and its name."""
    shutil.copy(t.program("usdt", "probes"), t.path("gone"))
    p = t.start([t.path("gone")])
    p.wait_line("ready")
    os.unlink(t.path("gone"))
    probes = probes_of(t, str(p.pid), "shop*:gone::")
    same("probes", {(x["name"], x["function"]) for x in probes}, set(TYPES["usdt"]))


@test(cases=[*CASES, (AGENT,), (PROBES,)], only_root=True)
def as_bpftrace(t, name):
    """bpftrace lists the same probes, each once."""
    path = t.program(name, "probes") if name in PROGRAMS else library(t, name)
    got = t.run("bpftrace", "-l", f"usdt:{path}:*").ok().out.split()
    want = {f"usdt:{path}:{p['note_provider']}:{p['note_name']}" for p in probes_of(t, path)}
    same("probes", sorted(set(got)), sorted(want))


@test(cases=[("sdt", "twice", 3), ("usdt", "order-done", 1), ("tokio-usdt", "task-details", 1)], only_root=True)
def semaphores(t, name, probe, nr_sites):
    """While bpftrace is attached the semaphore counts the sites, and it sees each event that the program fired."""
    p = start(t, name)

    def value():
        found = probes_of(t, str(p.pid), f"{PROVIDERS[name]}*:::{probe}")
        return {s["semaphore"]["value"] for x in found for s in x["sites"]}
    same("before", value(), {0})
    text = f'BEGIN {{ printf("attached\\n"); }} usdt:{t.program(name, "probes")}:{PROVIDERS[name]}:{probe} {{ @ = count(); }}'
    tracer = t.start(["bpftrace", "-p", str(p.pid), "-e", text])
    tracer.wait_line("attached")
    same("attached", value(), {nr_sites})
    said = t.run(t.futrace, "list", "-v", str(p.pid), f"{PROVIDERS[name]}*:::{probe}").ok().out
    check(f", now {nr_sites}\n" in said, f"no value in {said}")
    p.tell("\n")
    fired = truth(p.wait_line("fired"))[0][probe]
    counted = re.search(r"@: (\d+)", interrupted(tracer).ok().out)
    same("events", int(counted[1]) if counted else None, fired)
    check(fired > 100, f"fired {fired}")
    same("after", value(), {0})


@test(only_root=True)
def without_semaphores(t):
    """A probe that has none is listed so, and bpftrace sees all of its events at all of its sites."""
    p, path = start(t, "tokio-usdt"), t.program("tokio-usdt", "probes")
    tracer = t.start(["bpftrace", "-e", f'BEGIN {{ printf("attached\\n"); }} usdt:{path}:tokio:task-poll-start {{ @[arg0] = count(); }}'])
    tracer.wait_line("attached")
    p.tell("\n")
    fired = truth(p.wait_line("fired"))[0]
    counted = {int(k): int(n) for k, n in re.findall(r"@\[(\d+)\]: (\d+)", interrupted(tracer).ok().out)}
    nr_tasks = fired["task-start"]
    same("polls by task", counted, {i: fired["task-poll-start"] // nr_tasks for i in range(1, nr_tasks + 1)})


@test()
def patterns(t):
    """Patterns choose as DTrace's descriptions do; where none fits the status is 1."""
    path = t.program("usdt", "probes")

    def names(*args):
        return [p["name"] for p in probes_of(t, path, *args)]
    same("by name", names("order-*"), ["order-done", "order-start"])
    same("by provider", names("shop*:::i*"), ["idle"])
    same("by function", names("::*take_order*:"), ["order-start"])
    same("several", names("idle", "order-start"), ["idle", "order-start"])
    same("by list", names("shop:::idle, shop:::order-done"), ["idle", "order-done"])
    ids = {p["name"]: p["id"] for p in probes_of(t, path)}
    same("id", probes_of(t, path, "order-start")[0]["id"], ids["order-start"])
    agent = t.run(t.futrace, "list", "task-s*", "--", path).ok().out
    same("the first operand", [line.split()[4] for line in agent.split("\n")[1:-1]], ["task-spawn"])
    check("fits 'no-such'" in t.run(t.futrace, "list", path, "no-such").failed().err, "no word of it")
    t.run(t.futrace, "list", path, "a:b:c:d:e").failed(2)


@test()
def of_command(t):
    """A command has what its file has, and the probes of its libraries; it is not run."""
    path = t.program("usdt", "probes")

    def names(*args):
        return {(p["provider"], p["name"]) for p in probes_of(t, *args)}
    own = names("shop:::", "--", path)
    same("of the program", own, names(path))
    check(("libstdcxx", "throw") in names("--", "bpftrace"), "no probes of libstdc++")
    t.run(t.futrace, "list", "--", "no-such-command").failed()
    t.run(t.futrace, "list", path, "--", path).failed(2)
    t.run(t.futrace, "list", "--").failed(2)
    static = t.run(t.futrace, "list", "--", t.program("plain-static")).ok()
    check("statically linked" in static.err, static.err)


def defined():
    """The probes that futrace has, by its own list: of each file names and types."""
    types = {"u64": "uint64_t", "u32": "uint32_t", "str": "uint64_t"}
    agent, for_perf = {}, {}
    for provider, name, c_name, args in table():
        for_perf[(provider, c_name)] = [types[kind] for kind, _ in args]
        if provider == "tokio":
            agent[(provider, name)] = for_perf[(provider, c_name)]
    return {AGENT: agent, PROBES: for_perf}


def check_perf_finds(t, path, probes):
    """perf does not look at program headers: it takes all to be as far from its address as .stapsdt.base is."""
    base = re.search(r" \.stapsdt\.base +PROGBITS +(\w+) (\w+) ", t.run("readelf", "-SW", path).ok().out)
    shift = int(base[2], 16) - int(base[1], 16)
    sites = [s for p in probes for s in p["sites"]]
    same("places by perf", [s["va"] + shift for s in sites], [s["off"] for s in sites])


@test(cases=[("tokio:::task-spawn", AGENT), ("async_std:::task_spawn", PROBES)])
def of_agent(t, pattern, name):
    """A command has the agent's probes, too: those that futrace defines, as readelf sees them in its files."""
    path = t.run(t.futrace, "list", "--files", pattern, "--", "true").ok().out.strip()
    same("file", os.path.basename(path), name)
    probes = probes_of(t, path)
    same("probes", {(p["provider"], p["name"]): p["types"] for p in probes}, defined()[name])
    same("of the command", sorted(sites_of(probes_of(t, f":{name}::", "--", "true"))), sorted(sites_of(probes)))
    same("as readelf sees them", sorted(sites_of(probes)), sorted(notes_by_readelf(t, path)))
    check_perf_finds(t, path, probes)


@test()
def of_crate(t):
    """A program with the hook crate has the probes that tokio-dtrace documents, in itself, with the agent's arguments."""
    path = t.program("hooked", "hooks-unstable")
    probes = probes_of(t, path, "tokio:::")
    names = [f"task-{name}" for name in ("spawn", "poll-start", "poll-end", "terminate")]
    names += [f"worker-thread-{name}" for name in ("start", "stop", "park", "unpark")]
    same("probes", {p["name"]: p["types"] for p in probes}, {name: defined()[AGENT]["tokio", name] for name in names})
    same("as readelf sees them", sorted(sites_of(probes_of(t, path))), sorted(notes_by_readelf(t, path)))
    check_perf_finds(t, path, probes)


@test()
def under_run(t):
    """A process under `futrace run` has the agent's probes, each with a semaphore that is 0."""
    p = t.start([t.futrace, "run", "--", t.program("usdt", "probes")])
    p.wait_line("ready")
    pid = next(c for c in children_of(p.pid) if os.readlink(f"/proc/{c}/exe").endswith("usdt"))
    probes = probes_of(t, str(pid), "tokio*:::,async_std*:::")
    same("probes", sorted((x["module"], x["name"]) for x in probes),
         sorted((module, name) for module, names in defined().items() for _, name in names))
    same("providers", {x["provider"] for x in probes}, {f"tokio{pid}", f"async_std{pid}"})
    same("semaphores", {s["semaphore"]["value"] for x in probes for s in x["sites"]}, {0})
    p.tell("\n")


@test()
def bad_input(t):
    """What is no file with probes is refused in one line, or said to have none."""
    with open(t.path("text"), "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n")
    with open(t.futrace, "rb") as f, open(t.path("cut"), "wb") as to:
        to.write(f.read(63))
    check("is cut" in t.run(t.futrace, "list", t.path("cut")).failed().err, "what is cut is said to be something else")
    for what in (t.path("text"), t.path("missing"), t.dir, "/dev/null"):
        t.run(t.futrace, "list", what).failed()
    t.run(t.futrace, "list", "4194305").failed()
    t.run(t.futrace, "list", "99999999999999").failed()
    none = t.run(t.futrace, "list", t.program("plain")).ok()
    same("rows", none.out, "")
    check("no USDT probes" in none.err, none.err)
    if os.geteuid() == 0:  # the test runs as somebody else
        other = t.run(t.futrace, "list", str(os.getpid())).failed()
        check("no permission to inspect process" in other.err, other.err)


def notes_of(data):
    """Offset and size of .note.stapsdt, and where its section header is."""
    off, = struct.unpack_from("<Q", data, 40)
    nr, names = struct.unpack_from("<HH", data, 60)
    names_off, = struct.unpack_from("<Q", data, off + names * 64 + 24)
    for i in range(nr):
        at = off + i * 64
        name, = struct.unpack_from("<I", data, at)
        if data[names_off + name:].startswith(b".note.stapsdt\0"):
            return *struct.unpack_from("<QQ", data, at + 24), at
    raise AssertionError("no notes")


@test()
def broken_notes(t):
    """Notes that are cut are told, and those before the cut are listed; changed at random, nothing crashes."""
    with open(t.program("sdt", "probes"), "rb") as f:
        data = bytearray(f.read())
    off, size, header = notes_of(data)
    whole = len(probes_of(t, t.program("sdt", "probes")))

    def listed(changed):
        with open(t.path("broken"), "wb") as f:
            f.write(changed)
        return t.run(t.futrace, "list", "-v", t.path("broken"))
    cut = bytearray(data)
    struct.pack_into("<Q", cut, header + 32, size // 2)
    r = listed(cut).ok()
    check("1 note of probes could not be read" in r.err, r.err)
    check(0 < r.out.count("\tfile ") < whole, r.out)
    for length in (len(data) - 1, len(data) // 2, 1000):
        check("is cut" in listed(data[:length]).failed().err, "a file that is cut has no probes")
    for _ in range(30):
        changed = bytearray(data)
        for _ in range(t.random.randrange(1, 20)):
            changed[off + t.random.randrange(size)] = t.random.randrange(256)
        r = listed(changed)
        check(r.status in (0, 1) and len(r.err.strip().split("\n")) <= 2, str(r))


@test()
def end_meanwhile(t):
    """Processes that end while all are looked at are no files that could not be read."""
    for _ in range(5 * t.runs):
        several = [start(t, "usdt") for _ in range(5)]
        lister = t.start([t.futrace, "list"])
        for p in several:
            p.popen.kill()
        r = lister.finish().ok()
        check("probes/usdt" not in r.err, r.err)
        for p in several:
            p.wait()


@test()
def ends_meanwhile(t):
    """A process that ends while it is looked at is listed, or there is one line about it."""
    for _ in range(10 * t.runs):
        p = start(t, "usdt")
        lister = t.start([t.futrace, "list", "-v", str(p.pid)])
        p.popen.kill()
        r = lister.finish()
        if r.status:
            r.failed()
            check(f"process {p.pid}" in r.err, r.err)
        p.wait()

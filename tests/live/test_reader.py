# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files that kill, stop or starve whoever reads them: the program runs as alone, and is recorded one rung lower."""
import os
import subprocess

from live import check, nr_lost, same, test, user_tasks
from test_exact import compare_tasks, truth

FAULTS = {"abort": "was killed by SIGABRT", "memory": "ran out of memory", "hang": "was stopped after",
          "spin": "was stopped after"}
LIMIT_MS = 400


def notes(r):
    """What futrace says of reading, without its name."""
    return [line.split(": ", 1)[1] for line in r.err.splitlines() if "could not be read" in line]


def record(t, program, spec, *opts):
    env = {"FUTRACE_TEST_READER": spec}
    return t.record(program, "mt", "2", opts=("--no-cache", *opts), env=env).ok()


def check_counts(t, r):
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    compare_tasks(rep, truth(r.out, "task"))
    return rep


@test(cases=[(f,) for f in FAULTS])
def without_debug_info(t, fault):
    """A reader that dies of debug info costs await points, not a task or a poll, and one line says so."""
    r = record(t, t.program("exact", "dev"), f"{fault}@full:{LIMIT_MS}")
    said = notes(r)
    same("lines", len(said), 1)
    check(said[0].startswith("debug info of ") and FAULTS[fault] in said[0], said[0])
    rep = check_counts(t, r)
    check(any("exact::" in x["type"] for x in user_tasks(rep)), "no type has its name from symbols")


@test(cases=[(f,) for f in FAULTS])
def without_symbols(t, fault):
    """A reader that dies of symbols too leaves types by number, with exact counts."""
    r = record(t, t.program("exact", "dev"), f"{fault}@full,symbols:{LIMIT_MS}")
    said = notes(r)
    same("lines", len(said), 1)
    check(said[0].startswith("symbols and debug info of ") and said[0].endswith("types by number"), said[0])
    rep = check_counts(t, r)
    check(not any("exact::" in x["type"] for x in user_tasks(rep)), "a type has a name that nobody could read")


@test(cases=[(f,) for f in FAULTS])
def nothing_at_all(t, fault):
    """A file that no reader survives is not recorded; its program runs as alone, and the reason is said."""
    alone = t.run(t.program("exact", "dev"), "mt", "2").ok()
    r = record(t, t.program("exact", "dev"), f"{fault}@full,symbols,tables:{LIMIT_MS}")
    same("tasks of the program", len(truth(r.out, "task")), len(truth(alone.out, "task")))
    check(any("/exact could not be read" in x and x.endswith("its tasks are not recorded") for x in notes(r)),
          f"said: {r.err}")


@test(cases=[(f,) for f in FAULTS])
def without_lines(t, fault):
    """A reader that dies of line tables when the program is over costs the places of spawns alone."""
    r = record(t, t.program("exact", "dev"), f"{fault}@lines:{LIMIT_MS}")
    said = notes(r)
    same("lines", len(said), 1)
    check(said[0].startswith("lines of "), said[0])
    check_counts(t, r)


def sections(path):
    """Offset and size of each section of an ELF file, by name."""
    data = open(path, "rb").read()
    number = lambda off, size: int.from_bytes(data[off:off + size], "little")
    start, size, nr, names = number(40, 8), number(58, 2), number(60, 2), number(62, 2)
    found = {}
    names_off = number(start + names * size + 24, 8)
    for i in range(nr):
        at = start + i * size
        name = names_off + number(at, 4)
        found[data[name:data.index(b"\0", name)].decode()] = (number(at + 24, 8), number(at + 32, 8))
    return data, found


@test(cases=[(s,) for s in (".debug_info", ".debug_abbrev", ".debug_str", ".debug_line", ".debug_ranges", ".symtab", ".strtab")])
def damaged(t, section):
    """A section with a thousand changed bits changes names at most: every task and poll is recorded."""
    data, found = sections(t.program("exact", "dev"))
    if section not in found:
        section = ".debug_rnglists"
    off, size = found[section]
    bad = bytearray(data)
    for _ in range(1000):
        bad[off + t.random.randrange(size)] ^= 1 << t.random.randrange(8)
    path = t.path("exact")
    with open(path, "wb") as f:
        f.write(bad)
    os.chmod(path, 0o755)
    r = t.record(path, "mt", "2", opts=("--no-cache",)).ok()
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    # what is a closure, and what the runtime's own, is told by names: these may be wrong
    got = {(x["id"], x["polls"], x["end"]) for x in rep["tasks"]}
    wrong = [w for w in truth(r.out, "task") if (w["id"], w["polls"], w["end"]) not in got]
    check(not wrong, f"{len(wrong)} tasks are missing or have other polls: {wrong[:5]}")


# What is redirected in a Tokio program, and what the waker's flag is found by.
REDIRECTED = (b"RngSeedGenerator9next_seed", b"5Inner4park", b"5Inner6unpark", b"7Context4park", b"7Context10park_yield",
              b"7Context13park_internal", b"EnterRuntimeGuard", b"SetCurrentGuard", b"7Builder5build", b"11reset_woken",
              b"19wake_by_ref_arc_raw", b"Future$GT$4poll", b"$u7b$$u7b$closure")
WRONG = {
    "early": lambda at, size, other: (at - 2, size),
    "late": lambda at, size, other: (at + 1, size),
    "later": lambda at, size, other: (at + 4, size - 4),
    "moved": lambda at, size, other: (at + 16, size),
    "another": lambda at, size, other: (other, size),
    "short": lambda at, size, other: (at, size // 2),
    "none": lambda at, size, other: (at, 0),
    "long": lambda at, size, other: (at, 4096 * size),
}


def with_wrong_symbols(t, path, wrong):
    """A copy of the program whose redirected functions have another address or size."""
    data, found = sections(path)
    bad = bytearray(data)
    (off, size), (names, _) = found[".symtab"], found[".strtab"]
    number = lambda at, n: int.from_bytes(data[at:at + n], "little")
    entries = []
    for at in range(off, off + size, 24):
        name = names + number(at, 4)
        if data[at + 4] & 15 == 2 and any(x in data[name:data.index(b"\0", name)] for x in REDIRECTED):
            entries.append(at)
    check(len(entries) > 50, f"only {len(entries)} symbols were made wrong")
    for at, other in zip(entries, entries[1:] + entries[:1]):
        value = WRONG[wrong](number(at + 8, 8), number(at + 16, 8), number(other + 8, 8))
        bad[at + 8:at + 24] = b"".join(max(x, 0).to_bytes(8, "little") for x in value)
    path = t.path("exact")
    with open(path, "wb") as f:
        f.write(bad)
    os.chmod(path, 0o755)
    return path


@test(cases=[(w, p) for w in WRONG for p in ("dev", "release")])
def wrong_symbols(t, wrong, profile):
    """Where symbols are wrong no code is changed: the program runs as alone, and all of its tasks are recorded."""
    path = with_wrong_symbols(t, t.program("exact", profile), wrong)
    r = t.record(path, "mt", "2", opts=("--no-cache", "--futures=*")).ok()
    same("lost", nr_lost(t.report()), 0)
    got = {(x["id"], x["polls"], x["end"]) for x in t.report()["tasks"]}
    missing = [w for w in truth(r.out, "task") if (w["id"], w["polls"], w["end"]) not in got]
    check(not missing, f"{len(missing)} tasks are missing or have other polls: {missing[:5]}")


@test()
def remembered(t):
    """What was read once is remembered: the second time no reader is asked, and as much is recorded."""
    first = t.record(t.program("exact", "dev"), "mt", "2").ok()
    before = check_counts(t, first)
    tids = [x["tid"] for x in before["workers"]]
    same("threads, each once though lines were read when the rings were dropped", len(tids), len(set(tids)))
    r = t.record(t.program("exact", "dev"), "mt", "2",
                 env={"FUTRACE_TEST_READER": "abort@full,symbols,tables,lines"}).ok()
    same("lines", notes(r), [])
    after = check_counts(t, r)
    names = lambda rep: sorted({(x["type"], x.get("spawned_at")) for x in user_tasks(rep)}, key=str)
    same("types and places", names(after), names(before))


def look_in_vain(t, fault, command, *operands):
    """The command ends with one line and status 1."""
    r = t.run(t.futrace, command, *operands, env={"FUTRACE_TEST_READER": f"{fault}@command:{LIMIT_MS}"})
    same(f"status of {command}", r.status, 1)
    same(f"output of {command}", r.out, "")
    lines = r.err.splitlines()
    same(f"lines of {command}", len(lines), 1)
    check(lines[0].startswith(f"futrace {command}: ") and f"could not be read: its reader {FAULTS[fault]}" in lines[0], lines[0])
    return lines[0]


@test(cases=[(f,) for f in FAULTS])
def commands(t, fault):
    """Commands that only look end with one line and status 1, whatever becomes of their reader."""
    program = t.program("exact", "dev")
    for command in ("doctor", "list", "tree", "ps"):
        operand = program if command in ("doctor", "list") else str(os.getpid())
        line = look_in_vain(t, fault, command, operand)
        check(f"{operand} could not be read" in line, line)


@test()
def cores(t):
    """So do those that read a core file, and it is named."""
    core = t.path("core")
    with open(core, "wb") as f:
        f.write(b"\x7fELF")
    for fault in FAULTS:
        for command in ("tree", "ps"):
            line = look_in_vain(t, fault, command, f"--core={core}")
            check(f"{core} could not be read" in line, line)


def apart(t, size=None):
    """The program, with its debug info in another file, to which a hole is added up to a size."""
    path = t.path("exact")
    for argv in (["objcopy", "--only-keep-debug", t.program("exact", "dev"), path + ".debug"],
                 *([["truncate", "-s", size, path + ".debug"]] if size else []),
                 ["objcopy", "--strip-all", f"--add-gnu-debuglink={path}.debug", t.program("exact", "dev"), path]):
        subprocess.run(argv, check=True, cwd=t.dir)
    os.chmod(path, 0o755)
    return path


@test(cases=[(None,), ("100M",)])
def debug_file(t, size):
    """Names, places and counts are the same when debug info is in a file of its own, however large it is."""
    t.record(t.program("exact", "dev"), "mt", "2", opts=("--no-cache",)).ok()
    whole = t.report()
    r = t.record(apart(t, size), "mt", "2", opts=("--no-cache",)).ok()
    same("lines", notes(r), [])
    names = lambda rep: sorted({(x["type"], x.get("spawned_at")) for x in user_tasks(rep)}, key=str)
    same("types and places", names(check_counts(t, r)), names(whole))


@test(cases=[(f,) for f in FAULTS])
def without_debug_file(t, fault):
    """A reader that dies of a separate debug file costs what is in it: of its symbols types have their names."""
    r = record(t, apart(t), f"{fault}@full:{LIMIT_MS}")
    said = notes(r)
    same("lines", len(said), 1)
    check(said[0].startswith("debug info of ") and FAULTS[fault] in said[0], said[0])
    rep = check_counts(t, r)
    check(any("exact::" in x["type"] for x in user_tasks(rep)), "no type has its name from symbols")

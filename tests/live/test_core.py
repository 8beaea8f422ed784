# SPDX-License-Identifier: MIT OR Apache-2.0
"""Core files of programs that are not where they were: taken in a container, or on another machine."""
import os
import re
import shutil

import trees
from live import check, same, settle, short, test, truth


def refused(t, *args, word):
    r = t.run(t.futrace, *args).failed(1)
    check(re.search(word, r.err), f"no word of {word!r}: {r}")


def core_elsewhere(t, filter_bits=None, *linking):
    """A core file of a program that is not there any more, where the program is now, and its truth."""
    there, here = t.path("there"), t.path("here")
    exe = os.path.join(there, "stuck")
    t.run("mkdir", there).ok()
    t.run("cp", t.program("stuck", "await"), exe).ok()
    for args in linking:
        t.run("objcopy", *args, cwd=there).ok()
    p = t.start([exe, "await-chain"])
    p.wait_line("ready")
    settle(p)
    if filter_bits:
        with open(f"/proc/{p.pid}/coredump_filter", "w", encoding="ascii") as f:
            f.write(filter_bits)
    core = trees.core_of(t, p)
    p.close_stdin()
    p.wait()
    os.rename(there, here)
    return core, os.path.join(here, "stuck"), truth("\n".join(p.seen), "task")


# Of the program's pages a core has the headers, or only what was written to.
@test(cases=[("headers", "0x33"), ("no headers", "0x23")])
def program_elsewhere(t, what, bits):
    """The program of a core from another machine is named by --exe: it is taken if it is the one that was loaded, and refused if not."""
    core, exe, tasks = core_elsewhere(t, bits)
    for cmd in ("ps", "tree"):
        refused(t, cmd, f"--core={core}", word="stuck does not exist.*--exe")
        for other in (t.program("stuck", "await-lto"), t.program("life", "stripped"), "/bin/true"):
            refused(t, cmd, f"--core={core}", f"--exe={other}", word=f"{other} is not what was loaded: it is another build")
        refused(t, cmd, f"--core={core}", f"--exe={t.path('missing')}", word="missing: No such file")
        refused(t, cmd, f"--core={core}", f"--exe={core}", word="core")
        same("status", t.run(t.futrace, cmd, f"--exe={exe}", "1").status, 2)
    found = trees.look(t, "tree", f"--core={core}", f"--exe={exe}")
    trees.compare(tasks, found["tasks"])
    same("program, as it was called", found["exe"], os.path.join(t.path("there"), "stuck"))
    # Somebody else's program has its place now.
    os.mkdir(t.path("there"))
    shutil.copy(t.program("stuck", "await-lto"), t.path("there"))
    refused(t, "tree", f"--core={core}", word="stuck is not what was loaded: it is another build.*--exe")
    word = "build-id" if what == "headers" else "sizes"
    refused(t, "tree", f"--core={core}", word=word)


@test()
def program_elsewhere_with_debug_file(t):
    """A separate debug file is found beside the program that --exe names; alone it is no program, and that is said."""
    core, exe, tasks = core_elsewhere(t, None, ("--only-keep-debug", "stuck", "stuck.debug"),
                                      ("--strip-all", "--add-gnu-debuglink=stuck.debug", "stuck"))
    trees.compare(tasks, trees.look(t, "tree", f"--core={core}", f"--exe={exe}")["tasks"])
    refused(t, "tree", f"--core={core}", f"--exe={exe}.debug", word="debug info alone")
    os.remove(f"{exe}.debug")
    found = trees.look(t, "tree", f"--core={core}", f"--exe={exe}")
    check(found["tasks"] and all(not x["tree"] for x in found["tasks"]), f"trees without debug info: {short(found)}")
    check(f"{exe}: where its tasks wait is unknown" in t.run(t.futrace, "tree", f"--core={core}", f"--exe={exe}").ok().err,
          "no word of what is missing")

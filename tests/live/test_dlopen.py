# SPDX-License-Identifier: MIT OR Apache-2.0
"""A library with its own Tokio, loaded long after the start."""
import os

from live import check, nr_lost, same, test, truth, user_tasks
from test_exact import compare_tasks


def compare(t, argv):
    alone = t.run(*argv).ok()
    r = t.record(*argv).ok()
    same("lines of output", len(r.out.split("\n")), len(alone.out.split("\n")))
    rep = t.report()
    same("lost", nr_lost(rep), 0)
    compare_tasks(rep, truth(r.out, "task"))
    check(user_tasks(rep), "no tasks")
    check(rep["functions_not_redirected"] > 0, "its functions were redirected although it was loaded later")
    out = " ".join(t.run(t.futrace, "report", t.path("t.data")).ok().out.split())
    check("in libraries loaded later" in out, f"the report does not say that roots are unseen: {out[:600]}")
    for x in rep["runtimes"]:
        check(os.path.basename(x["object"]) == "libplugin.so", f"object of {x}")


@test(cases=[("dev",), ("release",)])
def by_path(t, profile):
    """A library loaded by its path has every poll of its tasks recorded, and each reload too."""
    host = t.program("plugin-host", profile)
    compare(t, [host, os.path.join(os.path.dirname(host), "libplugin.so"), "0", "2", "1"])


@test()
def by_runpath(t):
    """A library that only the caller's own RUNPATH finds is still found by it, and recorded."""
    compare(t, [t.program("plugin-host"), "libplugin.so", "2", "0"])


@test()
def not_found(t):
    """The error of a library that is not there is the program's own business, unchanged."""
    argv = [t.program("plugin-host"), "libnothing.so", "1"]
    alone, r = t.run(*argv), t.record(*argv, opts=["-q"])
    same("status", r.status, alone.status)
    same("message", r.err, alone.err)

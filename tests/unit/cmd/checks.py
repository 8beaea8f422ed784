# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the scripts of this folder share: they call futrace, compare, say what differs, and fail if anything does.

Each is started as SCRIPT FUTRACE SIMULATE [ARGUMENT...].
"""
import os
import subprocess
import sys

FUTRACE, SIMULATE = sys.argv[1:3]
ARGUMENTS = sys.argv[3:]
nr_failed = 0


def check(what, found, wanted):
    global nr_failed
    if found != wanted:
        nr_failed += 1
        print(f"{what}: {found!r}, not {wanted!r}")


def futrace(*args, status=0, **env):
    """What it printed, or, where it is to fail, what it complained of."""
    done = subprocess.run([FUTRACE, *args], capture_output=True, text=True, env={**os.environ, **env})
    if done.returncode != status:
        sys.exit(f"futrace {' '.join(args)}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout if not status else done.stderr


def simulate(seed, nr_events, path):
    subprocess.run([SIMULATE, str(seed), str(nr_events), path], check=True)


def finish(nr_files):
    print(f"{nr_files} files, {nr_failed} differences")
    sys.exit(nr_failed > 0)

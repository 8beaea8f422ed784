# SPDX-License-Identifier: MIT OR Apache-2.0
"""Control groups that limit memory, of version 1 or 2: whichever this machine has."""
import contextlib
import os
import re
import signal
import time

from live import Failed, Skipped, TIMEOUT_S

MB = 1 << 20
# Of each version of control groups: where they are, the file with the limit, the one that counts what the kernel killed.
V1 = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control")
V2 = ("/sys/fs/cgroup", "memory.max", "memory.events")


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def make_group(name):
    """Its folder, the file for its limit, and the one that counts what the kernel killed."""
    for base, limit, kills in (V1, V2):
        folder = os.path.join(base, name)
        with contextlib.suppress(OSError):
            if base == V2[0]:
                write(os.path.join(base, "cgroup.subtree_control"), "+memory")
            os.mkdir(folder)
            if os.path.exists(os.path.join(folder, limit)):
                return folder, os.path.join(folder, limit), os.path.join(folder, kills)
            os.rmdir(folder)
    raise Skipped("no control group for memory can be made here")


def remove_group(folder):
    """Who was in it may still be about to leave."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        try:
            os.rmdir(folder)
            return
        except OSError:
            for pid in read(os.path.join(folder, "cgroup.procs")).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            if time.monotonic() > end:
                raise Failed(f"{folder} cannot be removed") from None
            time.sleep(0.01)


@contextlib.contextmanager
def group(limit_bytes):
    """A control group with that limit: the file to enter it by, and how many processes of it the kernel has killed."""
    folder, limit, kills = make_group(f"futrace-test-{os.getpid()}")
    try:
        write(limit, str(limit_bytes))
        yield (os.path.join(folder, "cgroup.procs"),
               lambda: sum(int(n) for n in re.findall(r"^oom_kill (\d+)", read(kills), re.M)))
    finally:
        remove_group(folder)

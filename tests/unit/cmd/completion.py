#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT OR Apache-2.0
"""completion.py HOSTILE: asks real shells what they read in the scripts that the program HOSTILE prints. Speaks TAP."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../live"))
import shells  # noqa: E402

WORDS = ["a+b", "plain", "with-dash", "x.y"]
OPTIONS = ["--all", "--dir", "--help", "--kind", "--list", "--maybe", "-a", "-d", "-h", "-k", "-l"]


def printed(program, what):
    return subprocess.run([program, what], stdout=subprocess.PIPE, check=True).stdout.decode()


def open_shell(program, name, folder):
    os.makedirs(os.path.join(folder, "work", "sub"))
    path = os.path.join(folder, "_futrace")
    with open(path, "w", encoding="utf-8") as f:
        f.write(printed(program, name))
    work = os.path.join(folder, "work")
    return {"bash": lambda: shells.Bash(path, work), "zsh": lambda: shells.Zsh(work, fpath=folder),
            "fish": lambda: shells.Fish(path, work)}[name]()


def answers(program, name, shell):
    """(what, answer, right answer)"""
    text = printed(program, "text").rstrip("\n")
    yield "commands", shell.offers("futrace "), ["nasty", "word"]
    yield "options", [w.rstrip("=") for w in shell.offers("futrace nasty -")], OPTIONS
    yield "choices of an option", shell.offers("futrace nasty --kind="), WORDS
    yield "choices after its letter", shell.offers("futrace nasty -k "), WORDS
    yield "an option whose argument may be missing", [w.rstrip("=") for w in shell.offers("futrace nasty --maybe --a")], \
        ["--all"]
    yield "a folder", [w.rstrip("/") for w in shell.offers("futrace nasty --dir ")], ["sub"]
    yield "what may come again", [w.rstrip("=") for w in shell.offers("futrace nasty -l x --l")], ["--list"]
    yield "choices of a command", shell.offers("futrace word "), WORDS
    # zsh shows the options then
    yield "no operands", [w for w in shell.offers("futrace nasty ") if w[0] != "-"], []
    if name != "bash":
        yield "a summary", shell.described("futrace ").get("nasty"), text
        yield "help of an option", shell.described("futrace nasty --a").get("--all") or \
            shell.described("futrace nasty -").get("--all"), text


def main():
    number = wrong = 0
    for name in ("bash", "zsh", "fish"):
        with tempfile.TemporaryDirectory() as folder:
            shell = open_shell(sys.argv[1], name, folder)
            for what, got, want in answers(sys.argv[1], name, shell):
                number += 1
                wrong += got != want
                print(f"{'ok' if got == want else 'not ok'} {number} - {name}: {what}", flush=True)
                if got != want:
                    print(f"# {got!r}, should be {want!r}")
            shell.close()
    print(f"1..{number}")
    return 1 if wrong else 0


sys.exit(main())

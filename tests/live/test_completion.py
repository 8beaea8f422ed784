# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shell completion, asked of real shells. What there is to complete is taken from `futrace help` and `-h`."""
import os
import re

import shells
from live import check, same, test

SHELLS = [("bash",), ("zsh",), ("fish",)]
DESCRIBING = [("zsh",), ("fish",)]
FILES = ["futrace.data", "futrace.data.old", "notes.txt"]


def script(t, shell, path):
    with open(path, "w", encoding="utf-8") as f:
        f.write(t.run(t.futrace, "completion", shell).ok().out)
    return path


class Open:
    """A shell that has read the script, in a folder with FILES and a folder `sub`."""

    def __init__(self, t, shell, **more):
        self.home = os.path.join(t.s.home, f"{shell}-{os.path.basename(t.dir)}")
        work = os.path.join(self.home, "work")
        for folder in (work, os.path.join(work, "sub"), os.path.join(self.home, "fpath")):
            os.makedirs(folder)
        for name in FILES:
            open(os.path.join(work, name), "w", encoding="ascii").close()
        if shell == "bash":
            self.shell = shells.Bash(script(t, shell, os.path.join(self.home, "futrace")), work, **more)
        elif shell == "zsh":
            script(t, shell, os.path.join(self.home, "fpath", "_futrace"))
            self.shell = shells.Zsh(work, fpath=os.path.join(self.home, "fpath"))
        else:
            self.shell = shells.Fish(script(t, shell, os.path.join(self.home, "futrace.fish")), work)

    def __enter__(self):
        return self.shell

    def __exit__(self, *_):
        self.shell.close()


def commands(t):
    """{name: summary}"""
    block = re.search(r"^Commands:\n((?:  .*\n)+)", t.run(t.futrace, "help").ok().out, re.M).group(1)
    return dict(re.findall(r"^  (\S+) +(.*)$", block, re.M))


def options(t, command):
    """{option: help}, letters and names, as -h tells them."""
    text = t.run(t.futrace, command, "-h").ok().out
    found = {"-h": None, "--help": None}
    for letter, name, about in re.findall(r"^  (?:(-.),|   ) (--[\w-]+)\S* +(.*)$", text.split("\nOptions:\n")[-1], re.M):
        found[name] = about
        if letter:
            found[letter] = about
    return found


def names(offered):
    return sorted(w.rstrip("=") for w in offered)


@test(cases=SHELLS)
def every_command(t, shell):
    """After `futrace` every command is offered, and no other word; help offers them too."""
    with Open(t, shell) as s:
        same("commands", s.offers("futrace "), sorted(commands(t)))
        same("those with re", s.offers("futrace re"), sorted(c for c in commands(t) if c.startswith("re")))
        same("for help", s.offers("futrace help "), sorted(commands(t)))
        same("after an unknown one", s.offers("futrace nonsense "), [])


@test(cases=SHELLS)
def every_option(t, shell):
    """Each command offers exactly the options of its table, those of a prefix when there is one, and none after `--`."""
    with Open(t, shell) as s:
        for c in commands(t):
            want = options(t, c)
            # zsh counts '-' itself among the commands that may follow
            same(f"options of {c}", [w for w in names(s.offers(f"futrace {c} -")) if w != "-"], sorted(want))
            same(f"--h of {c}", names(s.offers(f"futrace {c} --h")), [o for o in sorted(want) if o.startswith("--h")])
        same("after --", s.offers("futrace info -- -"), [])


@test(cases=DESCRIBING)
def descriptions(t, shell):
    """Commands and options are described in the words of `help` and `-h`, quotes and all."""
    with Open(t, shell) as s:
        same("commands", s.described("futrace "), commands(t))
        for c in commands(t):
            got = s.described(f"futrace {c} -")
            for option, about in options(t, c).items():
                check(option in got, f"{c} {option} is not offered with a description: {got}")
                # -h names the choices behind the text
                check(about is None or got[option] and about.startswith(got[option]),
                      f"{c} {option}: {got[option]!r}, should be {about!r}")


@test(cases=SHELLS)
def files(t, shell):
    """Operands of report are files, those named like traces first or alone; so is what -o takes, behind a space or `=`."""
    with Open(t, shell) as s:
        got = [w.rstrip("/") for w in s.offers("futrace report ")]
        same("traces", [f for f in got if f in FILES[:2]], FILES[:2])
        same("another file", s.offers("futrace report no"), ["notes.txt"])
        for line in ("futrace record -o ", "futrace record --output ", "futrace record --output="):
            same(f"files after {line!r}", [w.rstrip("/") for w in s.offers(line)], FILES + ["sub"])
        same("a prefix", s.offers("futrace record --output=no"), ["notes.txt"])
        same("a number", s.offers("futrace dump --limit "), [])


@test(cases=SHELLS)
def words_and_processes(t, shell):
    """Shells are offered to completion, processes where a PID is wanted."""
    with Open(t, shell) as s:
        same("shells", s.offers("futrace completion "), ["bash", "fish", "zsh"])
        for line in ("futrace ps ", "futrace doctor "):
            pid = str(os.getpid() if shell == "fish" else s.process.pid)  # zsh knows those of its terminal
            check(pid in s.offers(line + pid[0]), f"process {pid} is not offered after {line!r}")
        check("notes.txt" in s.offers("futrace doctor no"), "doctor takes files as well")


@test(cases=SHELLS)
def program_to_run(t, shell):
    """record offers programs, behind `--` and without; what follows one is its own, and no option of record."""
    with Open(t, shell) as s:
        for line in ("futrace record ", "futrace record -- ", "futrace record -q -o x -- ", "futrace record --output=x "):
            check("setpriv" in s.offers(line + "setpr"), f"setpriv is not offered after {line!r}")
            same("its arguments", s.offers(line + "cat no"), ["notes.txt"])
            got = s.offers(line + "cat --f")
            check("--follow" not in got, f"{line!r} cat --f offers {got}")
        same("options before it", names(s.offers("futrace record -o x --fo")), ["--follow"])
        same("arguments of a program that cargo builds", s.offers("futrace cargo --bin x -- no"), ["notes.txt"])


@test(cases=[("bash",), ("zsh",)])
def keys(t, shell):
    """The Tab key completes in place: a space behind a whole word, none behind `=` and within a file's name."""
    with Open(t, shell) as s:
        for typed, want in (("futrace rep", "futrace report "), ("futrace report --j", "futrace report --json "),
                            ("futrace record --out", "futrace record --output="),
                            ("futrace report no", "futrace report notes.txt "),
                            ("futrace record --output=no", "futrace record --output=notes.txt "),
                            ("futrace report fut", "futrace report futrace.data")):
            same(f"Tab after {typed!r}", s.tab(typed), want)


@test()
def other_ways(t):
    """zsh takes the script by `source` too; bash does with `=` as an ordinary character, and hands a program's arguments
    to bash-completion where that is there."""
    home = Open(t, "fish").home
    z = shells.Zsh(home, script=script(t, "zsh", os.path.join(home, "sourced")))
    same("commands", z.offers("futrace "), sorted(commands(t)))
    z.close()
    stub = "_command_offset() { COMPREPLY=(\"at-$1-${COMP_WORDS[$1]}\"); }; COMP_WORDBREAKS=${COMP_WORDBREAKS//=}"
    with Open(t, "bash", first=stub) as b:
        same("the line", b.tab("futrace record --output=no"), "futrace record --output=notes.txt ")
        same("who is asked", b.tab("futrace record -q -- cat x"), "futrace record -q -- cat at-4-cat ")


@test()
def wrong_use(t):
    """A shell that is not known, none, or two, are refused."""
    for args in ([], ["tcsh"], ["bash", "zsh"]):
        t.run(t.futrace, "completion", *args).failed(2)

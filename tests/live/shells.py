# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real shells on a terminal, which are asked what they complete.

bash and zsh run interactively on a pseudo-terminal: keys are sent, and a key of our own makes the shell print the line
that it has in its editor. fish has a command for it.
"""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

TIMEOUT_S = 20
CTRL_U, SHOW, ALL, LIST = b"\x15", b"\x07", b"\x14", b"\x04"
COLUMNS = 400  # so that nothing is cut or wrapped


class ShellError(Exception):
    pass


def values(line, words):
    """The words that a shell offers; of --option=value the value, however much the shell tells of it."""
    if re.search(r"--[\w-]+=\S*$", line):
        words = [re.sub(r"^--[\w-]+=", "", w) for w in words]
    return sorted(words)


def take_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class OnTerminal:
    """Ctrl-G shows the line between \\1 and \\2, Ctrl-T inserts all completions, Ctrl-U clears the line."""

    def __init__(self, argv, setup, folder):
        env = {"PATH": os.environ["PATH"], "HOME": folder, "TERM": "dumb", "INPUTRC": "/dev/null", "LANG": "C.UTF-8"}
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 200, COLUMNS, 0, 0))
        self.process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=env,
                                        start_new_session=True, preexec_fn=take_terminal)
        os.close(slave)
        self.seen = b""
        os.write(self.master, setup.encode() + b"\nprintf 'rea''dy\\n'\n")
        self.read_until(rb"ready\r?\n")
        # Before its editor has the terminal, Ctrl-D is an end of file and not a key; the editor alone can show its line.
        os.write(self.master, SHOW)
        self.read_until(rb"\x01\x02")

    def read_until(self, pattern):
        end = time.monotonic() + TIMEOUT_S
        while True:
            found = re.search(pattern, self.seen, re.S)
            if found:
                self.seen = self.seen[found.end():]
                return found
            if not select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
                raise ShellError(f"no {pattern!r} on the terminal, but {self.seen[-500:]!r}")
            try:
                self.seen += os.read(self.master, 65536)
            except OSError:
                raise ShellError(f"the shell is gone: {self.seen[-500:]!r}") from None

    def keys(self, line, key):
        """The line after these keys, and what else was on the terminal."""
        os.write(self.master, line.encode() + key + SHOW)
        found = self.read_until(rb"(.*?)\x01([^\x02]*)\x02")
        os.write(self.master, CTRL_U)
        return found.group(2).decode(), found.group(1).decode(errors="replace")

    def tab(self, line):
        return self.keys(line, b"\t")[0]

    def offers(self, line):
        """All completions of the last word of the line."""
        before = line[:len(line) - len(re.search(r"[^ =]*$", line).group())]
        after = self.keys(line, ALL)[0]
        if not after.startswith(before):
            raise ShellError(f"{line!r} became {after!r}")
        return values(line, after[len(before):].split()) if after.rstrip() != line.rstrip() else []

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


class Bash(OnTerminal):
    def __init__(self, script, folder, first=""):
        setup = "unset HISTFILE\n" + first + f"\nsource '{script}'\n" + r"""
show() { printf '\1%s\2' "$READLINE_LINE"; }
bind -x '"\C-g": show'; bind '"\C-t": insert-completions'; bind 'set bell-style none'
bind 'set enable-bracketed-paste off'; bind 'set completion-query-items 0'; bind 'set page-completions off'
"""
        super().__init__(["bash", "--norc", "--noprofile", "-i"], setup, folder)


class Zsh(OnTerminal):
    """`fpath` is the folder of _futrace, as it is installed; `script` is sourced instead where given."""

    def __init__(self, folder, fpath=None, script=None):
        setup = "unset zle_bracketed_paste; setopt nolistbeep nobeep interactivecomments; LISTMAX=100000\n"
        if fpath:
            setup += f"fpath=('{fpath}' $fpath)\n"
        setup += "autoload -Uz compinit && compinit -u -D\n"
        if script:
            setup += f"source '{script}'\n"
        setup += r"""
show() { print -rn -- $'\1'"$BUFFER"$'\2' }
zle -N show; bindkey '^G' show; bindkey '^D' list-choices; bindkey '^U' kill-whole-line
zle -C all-matches complete-word _generic; bindkey '^T' all-matches
zstyle ':completion:all-matches:*' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert true
zstyle ':completion:*' list-separator '%%'
"""
        super().__init__(["zsh", "-f", "-i"], setup, folder)

    def described(self, line):
        """{completion: description} from the list that zsh shows."""
        screen = self.keys(line, LIST)[1]
        found = {}
        for text in re.split(r"[\r\n]+", screen):
            m = re.fullmatch(r"(\S.*?) +%% (.*?) *", text)
            for name in m.group(1).split() if m else ():
                found[name] = m.group(2)
        return found


class Fish:
    def __init__(self, script, folder):
        self.script, self.folder = script, folder

    def described(self, line):
        env = {"PATH": os.environ["PATH"], "HOME": self.folder, "LANG": "C.UTF-8", "LINE": line}
        p = subprocess.run(["fish", "--no-config", "-c", f"source '{self.script}'; complete -C \"$LINE\""], env=env,
                           cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=TIMEOUT_S)
        if p.returncode or p.stderr:
            raise ShellError(f"fish says {p.stderr.decode()!r}")
        return dict((l + "\t").split("\t")[:2] for l in p.stdout.decode().splitlines())

    def offers(self, line):
        return values(line, self.described(line))

    def close(self):
        pass

# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the checks share: the files of the tree, C text without comments and strings, and how to finish."""
import os
import re
import subprocess
import sys

# Another tree may be given as the first argument; check-checks uses that to see each check fail.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
if len(sys.argv) > 1 and not sys.argv[1].startswith('-'):
    ROOT = os.path.abspath(sys.argv[1])

_bad = []


def is_own_tree():
    """Exceptions for files of this tree do not hold in the small trees of check-checks."""
    return ROOT == os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def files(*suffixes, under='', exists=os.path.exists):
    """Paths of tracked and new files (not ignored ones) under a folder, relative to ROOT. Without links that lead nowhere,
    unless `exists` finds these too."""
    out = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', under or '.'],
                         cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.decode()
    names = sorted(set(n for n in out.split('\0') if n and exists(os.path.join(ROOT, n))))
    return [n for n in names if not suffixes or n.endswith(suffixes)]


def read(path):
    with open(os.path.join(ROOT, path), 'rb') as f:
        return f.read().decode('utf-8', 'replace')


def code(path, strings=False):
    """The C text with comments and (unless strings) the insides of literals blanked; lines keep their numbers."""
    def blank(m):
        s = m.group(0)
        if s[0] in '"\'':
            return s if strings else s[0] + ' ' * (len(s) - 2) + s[0]
        return re.sub(r'[^\n]', ' ', s)
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, read(path), flags=re.S)


def bad(path, line, text):
    _bad.append(f'{path}:{line}: {text}' if line else f'{path}: {text}')


def warn(path, line, text):
    print(f'note: {path}:{line}: {text}')


def skip(reason):
    print(f'skipped: {reason}')
    sys.exit(77)


def finish(nr_looked_at):
    """Nothing to look at is a failure too: a check of nothing proves nothing."""
    for line in _bad:
        print(line)
    if not nr_looked_at:
        print('found nothing to check')
    sys.exit(1 if _bad or not nr_looked_at else 0)

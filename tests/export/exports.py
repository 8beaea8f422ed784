# SPDX-License-Identifier: MIT OR Apache-2.0
"""What every test of an exporter uses: traces of all sorts, the futrace under test, and its report.

A test is a function with the decorator `@test` (called with an Env) or `@test_each` (called with an Env and a Trace, once
for each trace); the first line of its docstring says what it proves. It fails by raising.
"""
import collections
import functools
import json
import os
import subprocess

TIMEOUT_S = 120
TESTS = []

Test = collections.namedtuple('Test', 'name func for_each_trace')


def register(func, for_each_trace):
    if not func.__doc__:
        raise SyntaxError(f'{func.__name__} does not say what it proves')
    TESTS.append(Test(f'{func.__module__.removeprefix("test_")}.{func.__name__}', func, for_each_trace))
    return func


def test(func):
    return register(func, False)


def test_each(func):
    return register(func, True)


def check(cond, why):
    if not cond:
        raise AssertionError(why)


def same(what, got, want):
    check(got == want, f'{what}: got {got!r}, not {want!r}')


def keeps_latest(read):
    """Of a function that reads what was exported of a trace: the latest one that it read whole is kept, for the next test."""
    whole = functools.lru_cache(maxsize=1)(read)
    return lambda env, trace, *options: read(env, trace, *options) if options else whole(env, trace)


class Trace:
    def __init__(self, name, path, is_absurd=False, said=''):
        self.name, self.path = name, path
        self.said = said  # by the program
        self.is_random = name.startswith('seed')
        self.is_absurd = is_absurd  # events that no runtime makes, which have to be survived


# Programs of tests/programs that are recorded, with their arguments, and how, where that matters.
PROGRAMS = {'exact': ['mt', '2'], 'wakes': ['mt', '2'], 'blocks': ['mt', '2'], 'life': ['small', '7'],
            'storm': ['2', '31', '503', '1'], 'inner': [], 'nested-tokio': []}
RECORD = {'inner': ['--futures=*'], 'nested-tokio': ['--futures']}
# Those with full debug info, which are built by themselves.
AWAIT = ['nested-tokio']
# Even seeds give what a runtime might do, odd ones anything at all.
SEEDS = (1, 2, 3, 4, 6, 7, 8)
NR_EVENTS = 6000


class Env:
    def __init__(self, futrace, build, agent_dir, target_dir, folder):
        self.futrace, self.build, self.folder = futrace, build, folder
        self.target_dir = target_dir
        # what Go compiles is kept, and not with all else in a folder that goes
        go_cache = subprocess.run(['go', 'env', 'GOCACHE'], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
        self.environ = dict(os.environ, FUTRACE_AGENT=os.path.join(agent_dir, 'libfutrace-agent.so'),
                            XDG_CACHE_HOME=os.path.join(folder, 'cache'), GOCACHE=go_cache)
        self.nr_files = 0

    def run(self, *command, status=0):
        p = subprocess.run(command, env=self.environ, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        check(p.returncode == status, f'{" ".join(command)}: status {p.returncode}: {p.stderr.decode("utf-8", "replace")}')
        return p.stdout, p.stderr.decode()

    def tool(self, name):
        """A program that the unit tests are built with."""
        return os.path.join(self.build, 'tests/unit', name)

    def new_path(self, suffix):
        self.nr_files += 1
        return os.path.join(self.folder, f'{os.getpid()}-{self.nr_files}.{suffix}')

    @functools.cache
    def traces(self):
        result = []
        for seed in SEEDS:
            path = self.new_path('data')
            self.run(self.tool('model/model-simulate'), str(seed), str(NR_EVENTS), path)
            result.append(Trace(f'seed {seed}', path, seed % 2 == 1))
        path = self.new_path('data')
        self.run(self.tool('trace/maketrace'), path)
        result.append(Trace('every event once', path, True))
        path = self.new_path('data')
        self.run(os.path.join(self.build, 'tests/make-hard-trace'), path)
        result.append(Trace('hard', path, True))
        for name, args in PROGRAMS.items():
            path = self.new_path('data')
            out, _ = self.run(self.futrace, 'record', '-q', *RECORD.get(name, []), '-o', path, '--',
                              os.path.join(self.target_dir, 'await' if name in AWAIT else '', 'release', name), *args)
            result.append(Trace(name, path, said=out.decode()))
        return result

    def trace(self, name):
        return next(t for t in self.traces() if t.name == name)

    @functools.cache
    def made(self, *args):
        """A trace by make-html-trace, and what that says is in it."""
        path = self.new_path('data')
        truth = json.loads(self.run(os.path.join(self.build, 'tests/make-html-trace'), *args, path)[0])
        return Trace('made ' + ' '.join(args), path), truth

    def export(self, trace, fmt, *options, suffix='out'):
        """Path of what was written, and what was said on stderr."""
        path = self.new_path(suffix)
        _, said = self.run(self.futrace, 'export', '--format', fmt, '-o', path, *options, trace.path)
        return path, said

    @functools.cache
    def report(self, trace, *options):
        return json.loads(self.run(self.futrace, 'report', '--json', *options, trace.path)[0])

    @functools.cache
    def ndjson(self, trace, *options):
        """All runs, wakes and tasks, as the model tells them."""
        out = self.run(self.futrace, 'export', '--format', 'ndjson', *options, trace.path)[0]
        return [json.loads(line) for line in out.splitlines()]

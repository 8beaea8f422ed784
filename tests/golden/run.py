#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Proves that every report and every export of a known recording is what it was: tests/golden/run.py [--update] [-k PART].

The recordings are made from scenarios.py; nothing in them is of one machine. What futrace makes of them is compared with
expected/SCENARIO/FORM.txt, as text. --update writes these anew: look at the difference before you commit it. The last
line says "N passed, N failed".
"""
import argparse
import difflib
import functools
import glob
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from multiprocessing.pool import ThreadPool

import decode
import scenarios  # noqa: F401: they register themselves
import machines  # noqa: F401
from script import SCENARIOS

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
EXPECTED = os.path.join(HERE, 'expected')
PAGE = os.path.join(ROOT, 'src/export/html')
TIMEOUT_S = 600
WIDTH = 100
SHOWN_LINES, SHOWN_COLUMNS = 60, 300

# Pairs to compare, and in which form.
DIFFS = [('healthy', 'shop'), ('healthy', 'shop', '--all'), ('healthy', 'shop', '--json'), ('healthy', 'shop', '--csv'),
         ('shop', 'shop', '--all'), ('healthy', 'hostile', '--all')]
# More than one way to export.
EXPORTS = {'folded': [[], ['--weight=scheduled'], ['--weight=idle']]}
DECODERS = {'perfetto': decode.perfetto, 'pprof': decode.pprof, 'html': lambda data: decode.html(data.decode()),
            'chrome': decode.chrome, 'speedscope': decode.as_json}


def check(cond, why):
    if not cond:
        raise AssertionError(why)


class Env:
    def __init__(self, futrace, compose, folder):
        self.futrace, self.compose, self.folder = futrace, compose, folder
        os.makedirs(folder, exist_ok=True)
        self.environ = {**os.environ, 'LC_ALL': 'C.UTF-8', 'TZ': 'UTC', 'TERM': 'dumb'}
        for name in 'NO_COLOR', 'PAGER', 'FUTRACE_PAGER':
            self.environ.pop(name, None)
        self.lock = threading.Lock()

    def run(self, *command, status=0, stdin=None, columns=WIDTH):
        p = subprocess.run(command, env={**self.environ, 'COLUMNS': str(columns)}, cwd=self.folder, input=stdin, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        said = p.stderr.decode('utf-8', 'replace')
        check(p.returncode == status, f'{" ".join(command)}: status {p.returncode}: {said}')
        return p.stderr if status else p.stdout

    def trace(self, name):
        """Path of a scenario's recording, from the folder in which futrace runs."""
        with self.lock:
            return self.make_trace(name)

    @functools.cache
    def make_trace(self, name):
        scenario = next(s for s in SCENARIOS if s.name == name)
        self.run(self.compose, f'{name}.data', stdin=scenario.func().text().encode())
        return f'{name}.data'

    def report(self, scenario, *options, columns=WIDTH):
        return self.run(self.futrace, 'report', *thresholds(scenario), *options, self.trace(scenario.name), columns=columns)

    def table(self, scenario, by):
        """As it is in the JSON."""
        return decode.pretty(json.loads(self.report(scenario, '--json', f'--by={by}'))['table']) + '\n'

    @functools.cache
    def findings(self, scenario_name):
        scenario = next(s for s in SCENARIOS if s.name == scenario_name)
        return json.loads(self.report(scenario, '--json'))['findings']

    def export(self, scenario, fmt, *options):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = os.path.join(folder, f'{scenario.name}.{fmt}')
            self.run(self.futrace, 'export', '--format', fmt, '-o', path, *thresholds(scenario), *options,
                     self.trace(scenario.name))
            if fmt == 'sqlite':
                return decode.sqlite(path)
            with open(path, 'rb') as f:
                return DECODERS.get(fmt, bytes.decode)(f.read())

    @functools.cache
    def choices(self, command, option):
        """The words that an option takes, as its error message lists them."""
        said = self.run(self.futrace, command, f'{option}=?', 'none', status=2).decode()
        return re.search(r'(?:there are|one of) ([\w, -]+?)(?:, not|\n)', said).group(1).split(', ')

    @functools.cache
    def analyses(self):
        return re.findall(r'^([\w-]+): ', self.run(self.futrace, 'report', '--thresholds').decode(), re.M)

    @functools.cache
    def version(self):
        return self.run(self.futrace, '--version').decode().split()[1]


def thresholds(scenario):
    return tuple(f'--threshold={t}' for t in scenario.options)


def file_name(words):
    return '-'.join(re.sub(r'\W+', '-', w.lstrip('-')) for w in words)


def forms(env, scenario):
    """All that is kept of a scenario: name of the form, how to make it, and for how wide a terminal (None: for no one)."""
    yield 'report', functools.partial(env.report, scenario), WIDTH
    yield 'findings.json', lambda: decode.pretty(env.findings(scenario.name)) + '\n', None
    for by in scenario.tables:
        yield f'by-{by}', functools.partial(env.report, scenario, f'--by={by}'), WIDTH
        yield f'by-{by}.csv', functools.partial(env.report, scenario, f'--by={by}', '--csv'), None
        yield f'by-{by}.json', functools.partial(env.table, scenario, by), None
        yield f'by-{by}-v', functools.partial(env.report, scenario, f'--by={by}', '--verbose'), math.inf
    if not scenario.is_full:
        return
    yield 'report-v', functools.partial(env.report, scenario, '--verbose'), math.inf
    yield 'report-colors', functools.partial(env.report, scenario, '--color=always'), None
    yield 'report-wide', functools.partial(env.report, scenario, columns=160), 160
    yield 'report.json', functools.partial(env.report, scenario, '--json'), None
    yield 'report-range', functools.partial(env.report, scenario, '--time-range=20ms..70ms'), WIDTH
    yield 'report-filter', functools.partial(env.report, scenario, '--filter=busy>1ms,kind=task'), WIDTH
    for by in env.choices('report', '--by'):
        if by != 'type':  # that is what a report usually has
            yield f'by-{by}', functools.partial(env.report, scenario, f'--by={by}'), WIDTH
        yield f'by-{by}.csv', functools.partial(env.report, scenario, f'--by={by}', '--csv'), None
    yield 'story', functools.partial(env.report, scenario, f'--task={scenario.story}'), WIDTH
    for fmt in env.choices('export', '--format'):
        for options in EXPORTS.get(fmt, [[]]):
            yield file_name(['export', fmt, *options]), functools.partial(env.export, scenario, fmt, *options), None
    for command in ['dump'], ['info'], ['info', '--json']:
        yield file_name(command), functools.partial(
            env.run, env.futrace, *command, env.trace(scenario.name)), None if '--json' in command else math.inf


def diff_forms(env):
    for before, after, *options in DIFFS:
        yield file_name([before, after, *options]), functools.partial(
            env.run, env.futrace, 'diff', *options, env.trace(before), env.trace(after)), None if {'--json', '--csv'} & set(options) else WIDTH


# What would move or hide text on a terminal, or in a source file.
UNSAFE = re.compile('[\0-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]')


def normal(env, text):
    """Without what depends on the version of futrace or of its libraries: what compressed data takes."""
    text = text.replace(f'futrace {env.version()}', 'futrace VERSION')
    text = re.sub(r'(events, )[\d,]+( bytes)', r'\1N\2', text)
    text = re.sub(r'^(size +)\d+ bytes, [\d.]+ per', r'\1N bytes, N per', text, flags=re.M)
    return re.sub(r'^( "bytes"):\d+', r'\1:N', text, flags=re.M)


def readable(text):
    """As it is kept: every byte shows."""
    text = UNSAFE.sub(lambda m: f'⟨{ord(m[0]):02x}⟩', text)
    return re.sub(r' $', '⟨20⟩', text, flags=re.M)


def difference(want, got):
    lines = list(difflib.unified_diff(want.splitlines(), got.splitlines(), 'expected', 'got', lineterm=''))
    shown = [line[:SHOWN_COLUMNS] for line in lines[:SHOWN_LINES]]
    return '\n'.join(shown + ['…'] * (len(lines) > len(shown)))


def check_terminal(text, width):
    unsafe = UNSAFE.search(text)
    check(not unsafe, f'{unsafe and unsafe[0]!r} would reach the terminal')
    for line in text.splitlines():
        check(len(line) <= width, f'{len(line)} columns: {line}')


def compare(env, path, make, width, update):
    made = make()
    text = normal(env, made.decode() if isinstance(made, bytes) else made)  # all of it is UTF-8
    if width:
        check_terminal(text, width)
    text = readable(text)
    if update:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        return
    check(os.path.exists(path), 'there is nothing to compare with; --update, and look at it')
    with open(path, encoding='utf-8') as f:
        want = f.read()
    check(text == want, '\n' + difference(want, text))


def all_forms(env):
    """Name, path of what is expected, how to make it, for how wide a terminal."""
    for scenario in SCENARIOS:
        for form, make, width in forms(env, scenario):
            yield f'{scenario.name} {form}', os.path.join(EXPECTED, scenario.name, f'{form}.txt'), make, width
    for form, make, width in diff_forms(env):
        yield f'diff {form}', os.path.join(EXPECTED, 'diff', f'{form}.txt'), make, width


def test_finds(env):
    """Each scenario has the findings that it is about, and no other."""
    for s in SCENARIOS:
        found = {f['rule'] for f in env.findings(s.name)}
        check(found == s.finds, f'{s.name}: {sorted(found)}, not {sorted(s.finds)}')


def test_analyses(env):
    """Each analysis finds something in one scenario that is about nothing else, and nothing in another one."""
    alone = {f for s in SCENARIOS for f in s.finds if len(s.finds) == 1}
    always = set.intersection(*(s.finds for s in SCENARIOS))
    check(alone == set(env.analyses()), f'not the same: {sorted(alone ^ set(env.analyses()))}')
    check(not always, f'{always} is found everywhere')


def test_runs(env, scenario):
    """Every export and every table can be made of every scenario."""
    for fmt in env.choices('export', '--format'):
        env.export(scenario, fmt)
    for by in env.choices('report', '--by'):
        check(env.report(scenario, f'--by={by}'), f'--by={by}: nothing was said')


def test_events(env):
    """All kinds of events happen in some scenario."""
    seen, known = set(), set()
    for s in SCENARIOS:
        kinds = json.loads(env.run(env.futrace, 'info', '--json', env.trace(s.name)))['events_by_kind']
        known |= set(kinds) - {'unknown'}
        seen |= {k for k, n in kinds.items() if n}
    check(seen == known, f'never: {sorted(known - seen)}')


def test_page(env):
    """The HTML page is its sources and the data, and nothing that a recording says gets out of the data."""
    with open(os.path.join(PAGE, 'page.html'), encoding='utf-8') as f:
        around = re.split('@[A-Z]+@', f.read())
    parts = set()
    for s in SCENARIOS:
        path = os.path.join(env.folder, f'{s.name}.html')
        env.run(env.futrace, 'export', '--format=html', '-o', path, env.trace(s.name))
        with open(path, encoding='utf-8') as f:
            parts.add(decode.html_parts(f.read())[0])
    check(len(parts) == 1, 'the page itself is not always the same')
    whole = ''.join(parts.pop())
    for text in around:
        text = text.replace(' id="columns">', '').replace(' id="facts">', '')
        check(all(line in whole for line in text.split('</script>')), f'{text!r} is not in the page')
    for path in glob.glob(os.path.join(PAGE, '*.js')) + glob.glob(os.path.join(PAGE, '*.css')):
        with open(path, encoding='utf-8') as f:
            check(f.read() in whole, f'{os.path.basename(path)} is not in the page')


def test_recomputed(env, scenario):
    """The numbers of the report are those that an independent computation finds in the events."""
    env.run(sys.executable, '-B', os.path.join(ROOT, 'tests/oracle/recompute.py'), env.futrace, env.trace(scenario.name))


def test_pieces(env):
    """A recording that comes through a pipe, in pieces of any size, is the one in the file."""
    rng = random.Random(16)
    for s in SCENARIOS:
        trace = env.trace(s.name)
        whole = env.run(env.futrace, 'dump', trace)
        with open(os.path.join(env.folder, trace), 'rb') as f:
            data = f.read()
        fifo = os.path.join(env.folder, 'pieces')
        os.mkfifo(fifo)
        with subprocess.Popen([env.futrace, 'dump', '--follow', fifo], env=env.environ, stdout=subprocess.PIPE) as p:
            feeder = threading.Thread(target=feed, args=(fifo, data, rng))
            feeder.start()
            got = p.stdout.read()
            feeder.join()
        os.unlink(fifo)
        check(p.returncode == 0 and got == whole, f'{s.name}: status {p.returncode}, {len(got)} bytes, not {len(whole)}')


def feed(path, data, rng):
    most = 1 << rng.randrange(3, 16)
    with open(path, 'wb', buffering=0) as f:
        while data:
            n = rng.randint(1, most)
            f.write(data[:n])
            data = data[n:]


def test_leftovers(env):
    """Nothing is kept that is compared with nothing."""
    have = {os.path.join(folder, f) for folder, _, files in os.walk(EXPECTED) for f in files}
    left = have - {path for _, path, _, _ in all_forms(env)}
    check(not left, f'left over: {sorted(os.path.relpath(p, HERE) for p in left)}')


META = [test_finds, test_analyses, test_events, test_page, test_pieces, test_leftovers]
OF_EACH = [test_recomputed, test_runs]


def run_one(name, func, *args):
    """Whether it passed, and what to say of it."""
    began = time.monotonic()
    try:
        func(*args)
    except Exception as e:
        more = '' if isinstance(e, AssertionError) else '\n' + traceback.format_exc().rstrip()
        return False, f'FAIL {name}: {e}{more}'
    return True, f'ok   {name} ({time.monotonic() - began:.1f} s)'


def run_all(jobs):
    """As many at a time as there are cores: futrace does the work."""
    with ThreadPool() as pool:
        for good, said in pool.imap(lambda job: run_one(*job), jobs):
            print(said, flush=True)
            yield good


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = os.path.join(ROOT, 'build')
    p.add_argument('--futrace', default=os.path.join(build, 'futrace'))
    p.add_argument('--compose', default=os.path.join(build, 'tests/compose'))
    p.add_argument('--update', action='store_true', help='write what is expected')
    p.add_argument('-k', metavar='PART', default='', help='only what has PART in its name')
    args = p.parse_args()
    env = Env(os.path.abspath(args.futrace), os.path.abspath(args.compose), os.path.join(build, 'golden'))
    jobs = [(name, compare, env, path, make, width, args.update)
            for name, path, make, width in all_forms(env) if args.k in name]
    jobs += [(t.__name__, t, env) for t in META if args.k in t.__name__]
    jobs += [(f'{t.__name__} {s.name}', t, env, s) for t in OF_EACH for s in SCENARIOS if args.k in f'{t.__name__} {s.name}']
    results = list(run_all(jobs))
    print(f'{results.count(True)} passed, {results.count(False)} failed')
    return 1 if False in results or not results else 0


if __name__ == '__main__':
    sys.exit(main())

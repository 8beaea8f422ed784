#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the tests of the exporters: every test_*.py of this folder. What futrace wrote is read back by software of others.

Python packages that this takes (requirements.txt) go into a virtual environment in the build folder, in which this
script then starts itself again. The last line says "N passed, N failed".
"""
import argparse
import collections
import glob
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
REQUIREMENTS = os.path.join(HERE, 'requirements.txt')


def enter_venv(folder):
    """Goes on in the virtual environment, made or renewed when requirements.txt changed."""
    python = os.path.join(folder, 'bin', 'python3')
    stamp = os.path.join(folder, 'installed.txt')
    with open(REQUIREMENTS) as f:
        wanted = f.read()
    if not os.path.exists(stamp) or open(stamp).read() != wanted:
        subprocess.run([sys.executable, '-m', 'venv', '--clear', folder], check=True)
        subprocess.run([python, '-m', 'pip', 'install', '-q', '--disable-pip-version-check', '-r', REQUIREMENTS], check=True)
        with open(stamp, 'w') as f:
            f.write(wanted)
    os.execv(python, [python, *sys.argv])


def build_programs(target_dir, with_debug_info):
    programs = os.path.join(ROOT, 'tests/programs')
    command = ['cargo', 'build', '--quiet', '--locked', '--release', '--target-dir']
    subprocess.run([*command, target_dir, '--workspace'], cwd=programs, check=True)
    bins = [word for name in with_debug_info for word in ('--bin', name)]
    # with the features of the live tests, which have built it already
    subprocess.run([*command, os.path.join(target_dir, 'await'), *bins, '--features', 'web'], cwd=os.path.join(programs, 'await'),
                   check=True)


def run_one(name, func, *args):
    """Whether it passed, and what to say of it."""
    began = time.monotonic()
    try:
        func(*args)
    except Exception as e:
        more = '' if isinstance(e, AssertionError) and str(e) else '\n' + traceback.format_exc().rstrip()
        return False, f'FAIL {name}: {e}{more}'
    return True, f'ok   {name} ({time.monotonic() - began:.1f} s)'


def jobs_of(tests, traces, pattern):
    """Lists of (name, function, what it is called with): what looks at the same trace in the same format stays together."""
    jobs = collections.defaultdict(list)
    for t in tests:
        for trace in traces if t.for_each_trace else [None]:
            name = t.name + (f' [{trace.name}]' if trace else '')
            if not pattern or pattern in name:
                job = jobs[t.func.__module__, trace] if trace else jobs[name]
                job.append((name, t.func, [trace] if trace else []))
    return list(jobs.values())


def run_job(nr):
    """In a fork, which has inherited what there is to do."""
    env, jobs = inherited
    return [run_one(name, func, env, *args) for name, func, args in jobs[nr]]


def inherit(*args):
    global inherited
    inherited = args


def run_all(tests, env, pattern):
    """As many at a time as there are cores; then those with a browser, which measure what a page takes."""
    alone = [t for t in tests if t.name.startswith('html.')]
    jobs = jobs_of([t for t in tests if t not in alone], env.traces(), pattern)
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context('fork'), initializer=inherit,
                             initargs=(env, jobs)) as pool:
        for done in as_completed([pool.submit(run_job, nr) for nr in range(len(jobs))]):
            yield from done.result()
    for job in jobs_of(alone, env.traces(), pattern):
        yield from (run_one(name, func, env, *args) for name, func, args in job)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--futrace', default=os.path.join(ROOT, 'build/futrace'))
    parser.add_argument('--agent-dir', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--target-dir', default=os.path.join(ROOT, 'build/programs'), help='of the Rust programs')
    parser.add_argument('--no-build', action='store_true', help='they are built already')
    parser.add_argument('-k', dest='pattern', help='only tests with this in their name')
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where this was started in the background
    build = os.path.dirname(os.path.abspath(args.futrace))
    venv = os.path.join(build, 'export-venv')
    if os.path.realpath(sys.prefix) != os.path.realpath(venv):
        enter_venv(venv)
    sys.path.insert(0, HERE)
    import exports
    if not args.no_build:
        build_programs(args.target_dir, exports.AWAIT)
    for path in sorted(glob.glob(os.path.join(HERE, 'test_*.py'))):
        importlib.import_module(os.path.basename(path)[:-3])
    with tempfile.TemporaryDirectory(prefix='futrace-export-') as folder:
        env = exports.Env(os.path.abspath(args.futrace), build, os.path.abspath(args.agent_dir),
                          os.path.abspath(args.target_dir), folder)
        results = []
        for good, said in run_all(exports.TESTS, env, args.pattern):
            print(said, flush=True)
            results.append(good)
    print(f'{results.count(True)} passed, {results.count(False)} failed')
    return 1 if False in results or not results else 0


if __name__ == '__main__':
    sys.exit(main())

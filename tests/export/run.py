#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the tests of the exporters: every test_*.py of this folder. What futrace wrote is read back by software of others.

Python packages that this takes (requirements.txt) go into a virtual environment in the build folder, in which this
script then starts itself again. The last line says "N passed, N failed".
"""
import argparse
import glob
import importlib
import os
import subprocess
import sys
import tempfile
import traceback

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
    subprocess.run([*command, os.path.join(target_dir, 'await'), *bins], cwd=os.path.join(programs, 'await'), check=True)


def run_one(name, func, *args):
    try:
        func(*args)
    except Exception as e:
        print(f'FAIL {name}: {e}', flush=True)
        if not isinstance(e, AssertionError) or not str(e):
            traceback.print_exc(file=sys.stdout)
        return False
    print(f'ok   {name}', flush=True)
    return True


def run_all(tests, env, pattern):
    passed = failed = 0
    for t in tests:
        for trace in env.traces() if t.for_each_trace else [None]:
            name = t.name + (f' [{trace.name}]' if trace else '')
            if pattern and pattern not in name:
                continue
            good = run_one(name, t.func, env, *([trace] if trace else []))
            passed, failed = passed + good, failed + (not good)
    return passed, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--futrace', default=os.path.join(ROOT, 'build/futrace'))
    parser.add_argument('--agent-dir', default=os.path.join(ROOT, 'build'))
    parser.add_argument('--target-dir', default=os.path.join(ROOT, 'build/programs'), help='of the Rust programs')
    parser.add_argument('--no-build', action='store_true', help='they are built already')
    parser.add_argument('-k', dest='pattern', help='only tests with this in their name')
    args = parser.parse_args()
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
        passed, failed = run_all(exports.TESTS, env, args.pattern)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())

# SPDX-License-Identifier: MIT OR Apache-2.0
"""What becomes of the output, whatever happens meanwhile: an older file stays until the new one is whole."""
import os
import re
import resource
import signal
import subprocess
import time

from exports import TIMEOUT_S, check, same, test
from test_all import formats

OLD = b'what was here before'


def folder_with(env, name):
    folder = env.new_path('folder')
    os.mkdir(folder)
    path = os.path.join(folder, name)
    with open(path, 'wb') as f:
        f.write(OLD)
    return folder, path


def check_untouched(folder, path):
    same('files', os.listdir(folder), [os.path.basename(path)])
    with open(path, 'rb') as f:
        same('content', f.read(), OLD)


def be_full():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


@test
def no_room(env):
    """When there is no room for it, that is said in a line, the older file stays, and nothing else is left."""
    for fmt in formats(env):
        folder, path = folder_with(env, 'out')
        p = subprocess.run([env.futrace, 'export', '-f', fmt, '-o', path, env.trace('wakes').path], preexec_fn=be_full,
                           capture_output=True, timeout=TIMEOUT_S)
        same(f'{fmt}: status', p.returncode, 1)
        check(p.stderr.startswith(b'futrace export: cannot write') and p.stderr.count(b'\n') == 1, f'{fmt}: {p.stderr}')
        check_untouched(folder, path)


@test
def interrupted(env):
    """Ctrl-C midway leaves the older file, and nothing else."""
    trace = env.new_path('data')
    env.run(os.path.join(env.build, 'tests/make-html-trace'), 'polls', '2000000', '2', trace)
    for fmt in ('csv', 'sqlite'):
        folder, path = folder_with(env, 'out')
        p = subprocess.Popen([env.futrace, 'export', '-q', '-f', fmt, '-o', path, trace])
        end = time.monotonic() + TIMEOUT_S
        while sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)) < 100000:
            check(p.poll() is None and time.monotonic() < end, f'{fmt}: it was over too soon, or wrote nothing')
            time.sleep(0.001)
        p.send_signal(signal.SIGINT)
        same(f'{fmt}: ended by', p.wait(TIMEOUT_S), -signal.SIGINT)
        check_untouched(folder, path)


@test
def replaced(env):
    """A whole export takes the place of the older file, for its owner alone; a link stays a link."""
    for fmt in formats(env):
        folder, path = folder_with(env, 'real')
        os.chmod(path, 0o644)
        link = os.path.join(folder, 'link')
        os.symlink('real', link)
        env.run(env.futrace, 'export', '-f', fmt, '-o', link, env.trace('life').path)
        same('files', sorted(os.listdir(folder)), ['link', 'real'])
        check(os.path.islink(link) and os.path.getsize(path) > 0, f'{fmt}: a link to something')
        same('mode', os.stat(path).st_mode & 0o777, 0o600)
        with open(path, 'rb') as f:
            check(f.read() != OLD, f'{fmt} is new')


@test
def stdout(env):
    """`-o -` writes to stdout what else goes into a file, and what is made of lines goes there by itself."""
    trace = env.trace('life')
    for fmt in formats(env):
        if fmt == 'sqlite':
            env.run(env.futrace, 'export', '-f', fmt, '-o', '-', trace.path, status=2)
            continue
        with open(env.export(trace, fmt)[0], 'rb') as f:
            want = f.read()
        same(fmt, env.run(env.futrace, 'export', '-f', fmt, '-o', '-', trace.path)[0] == want, True)
        if fmt in ('folded', 'ndjson', 'csv'):
            same(f'{fmt} by itself', env.run(env.futrace, 'export', '-f', fmt, trace.path)[0] == want, True)


@test
def promises(env):
    """--max-size is kept, however small, or there is an error and no output, and what is left out is told."""
    trace, truth = env.made('spin', '200000')
    for fmt, least in ('html', 0), ('chrome', 1 << 20), ('perfetto', 1 << 20):
        nr_kept = 0
        for size in (1, 3000, 50 << 10, 100 << 10, 200 << 10, 300 << 10, 1 << 20, 2 << 20):
            path = env.new_path('out')
            command = (env.futrace, 'export', '-f', fmt, f'--max-size={size}', '-o', path, trace.path)
            p = subprocess.run(command, env=env.environ, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=30, text=True)
            if p.returncode:
                same(f'{fmt} of {size}: status', p.returncode, 1)
                check(f'{fmt} cannot become smaller than' in p.stderr and 'left out' not in p.stderr, p.stderr)
                check(not os.path.exists(path), f'{fmt} of {size}: nothing is left behind')
                same(f'{fmt} of {size} comes after one that was larger', nr_kept, 0)
                continue
            check(os.path.getsize(path) <= size, f'{fmt}: {os.path.getsize(path)} bytes are more than {size}')
            check(size > least or re.search(f'{truth["polls"]:,} polls', p.stderr), f'{fmt} of {size}: {p.stderr}')
            nr_kept += 1
        check(nr_kept >= 3, f'{fmt} fits into some')
    path, _ = env.export(trace, 'html', '--max-size=0')
    check(os.path.getsize(path) > 300 << 10, 'there is something to leave out')


@test
def limits(env):
    """A format that cannot keep to a size refuses one."""
    for fmt in ('folded', 'pprof', 'speedscope', 'sqlite', 'ndjson', 'csv'):
        _, said = env.run(env.futrace, 'export', '-f', fmt, '--max-size=1M', env.trace('life').path, status=2)
        check(f'--max-size is not for {fmt}' in said, said)

# SPDX-License-Identifier: MIT OR Apache-2.0
"""What holds for every exporter, also for one that is added tomorrow."""
import os
import re
import stat

from exports import check, same, test, test_each

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def formats(env):
    text = env.run(env.futrace, 'export', '-h')[0].decode()
    return re.search(r'--format=FMT +the format: (.*)', text).group(1).split(', ')


@test_each
def runs(env, trace):
    """Each format writes something of each trace, says at most that events were lost, and writes the same when asked again."""
    lost = env.report(trace)['lost']
    for fmt in formats(env):
        outputs = []
        for _ in range(2):
            path, said = env.export(trace, fmt)
            check(not said or lost and f': {lost:,} events were lost' in said, f'{fmt} said {said}')
            with open(path, 'rb') as f:
                outputs.append(f.read())
            same(f'mode of {fmt}', os.stat(path).st_mode & 0o777, 0o600)
        check(outputs[0], f'{fmt} writes something')
        same(f'{fmt}: the same twice', outputs[0] == outputs[1], True)


@test
def manual(env):
    """The manual has a paragraph on each format, and on no others."""
    with open(os.path.join(ROOT, 'docs/man/futrace-export.1.scd')) as f:
        part = re.search(r'^# FORMATS\n(.*?)^# ', f.read(), re.M | re.S).group(1)
    same('formats of the manual', re.findall(r'^\*(\w+)\*$', part, re.M), formats(env))


@test
def refuses(env):
    """Neither the recording nor a file that cannot be written is taken for an output."""
    trace = env.trace('life')
    before = open(trace.path, 'rb').read()
    for fmt in formats(env):
        env.run(env.futrace, 'export', '-f', fmt, '-o', trace.path, trace.path, status=2)
        env.run(env.futrace, 'export', '-f', fmt, '-o', '/no/such/folder/file', trace.path, status=1)
    same('the recording is whole', open(trace.path, 'rb').read() == before, True)
    # a link to a device stays, and so does the device
    link = env.new_path('full')
    os.symlink('/dev/full', link)
    _, said = env.run(env.futrace, 'export', '-f', 'perfetto', '-o', link, trace.path, status=1)
    check('cannot write' in said and os.path.islink(link) and os.path.exists('/dev/full'), said)
    # a database is made beside and moved: that must not hit what is no file
    fifo = env.new_path('fifo')
    os.mkfifo(fifo)
    env.run(env.futrace, 'export', '-f', 'sqlite', '-o', fifo, trace.path, status=2)
    check(stat.S_ISFIFO(os.stat(fifo).st_mode), 'a FIFO stays one')
    env.run(env.futrace, 'export', trace.path, status=2)
    env.run(env.futrace, 'export', '-f', 'nonsense', trace.path, status=2)

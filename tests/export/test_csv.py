# SPDX-License-Identifier: MIT OR Apache-2.0
"""CSV, read by Python's module and imported by sqlite3."""
import collections
import csv
import json
import os
import re

import sums
from exports import check, same, test, test_each

NUMBERS = ('start_ns', 'end_ns', 'task', 'runtime_id', 'type_id', 'tid', 'blocked_ns', 'sched_ns', 'idle_ns', 'waker',
           'waker_type_id', 'is_open')
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(env, trace, *options):
    path, _ = env.export(trace, 'csv', *options)
    with open(path, encoding='utf-8', newline='') as f:
        rows = list(csv.DictReader(f, strict=True))
    for r in rows:
        check(None not in r and None not in r.values(), f'{r} has all columns and no more')
        for key in NUMBERS:
            r[key] = int(r[key]) if r[key] else None
    return rows


def known(trace, report, rows):
    """Without what turned out to be the runtime's own midway."""
    tasks = {sums.task_key(t) for t in report['tasks']}
    return [r for r in rows if not trace.is_random or (r['runtime_id'], r['task'], r['type_id']) in tasks]


def spoken(text):
    """A name without what one format writes in another way than the next."""
    return re.sub(r"^'(?=[=+@-])|\\x[0-9a-f]{2}|\\u\{\w+\}|[\0-\x1f\x7f\ufffd\u2028]", '', text)


@test_each
def totals(env, trace):
    """Each task has the report's busy and blocked time and polls, exactly; and so in parts of a recording."""
    for options in ((), *sums.VIEWS):
        report = env.report(trace, *options)
        got = collections.defaultdict(lambda: [0, 0, 0])
        for r in known(trace, report, read(env, trace, *options)):
            key = r['runtime_id'], r['task'], r['type_id']
            more = r['end_ns'] - r['start_ns'], r['blocked_ns'], int(r['run'] == 'poll')
            got[key] = [a + b for a, b in zip(got[key], more)]
        want = sums.by_task(report, 'busy_ns', 'blocked_ns', 'polls')
        same(f'sums {options}', {k: v for k, v in got.items() if any(v)}, {k: v for k, v in want.items() if any(v)})


@test_each
def same_as_ndjson(env, trace):
    """Line by line it is what the other format says of the same runs."""
    want = [t for t in env.ndjson(trace) if t['kind'] in ('poll', 'drop')]
    rows = read(env, trace)
    same('lines', len(rows), len(want))
    for r, t in zip(rows, want):
        same('run', (r['run'], r['start_ns'], r['end_ns'] - r['start_ns'], r['task'], r['tid'], spoken(r['type'])),
             (t['kind'], t['time_ns'], t['busy_ns'], t['task'], t['tid'], spoken(t['type'])))
        same('before it', (r['sched_ns'], r['idle_ns'], r['cause'] or None, r['waker']),
             (t.get('sched_ns'), t.get('idle_ns'), t.get('cause'), t.get('waker')))
        same('open', r['is_open'], int(t.get('open', False)))


@test_each
def imported(env, trace):
    """sqlite3 imports it, and adds up the same."""
    path, _ = env.export(trace, 'csv')
    out = env.run('sqlite3', '-json', '-cmd', '.mode csv', '-cmd', f'.import {path} run', '-cmd', '.mode json', ':memory:',
                  'SELECT count(*) AS runs, coalesce(sum(end_ns - start_ns), 0) AS busy_ns FROM run')[0]
    rows = read(env, trace)
    same('sums', json.loads(out), [{'runs': len(rows), 'busy_ns': sum(r['end_ns'] - r['start_ns'] for r in rows)}])


@test
def hard(env):
    """No name breaks a line or is a formula to a spreadsheet; runtimes with the same ids are told apart."""
    path, _ = env.export(env.trace('hard'), 'csv')
    with open(path, 'rb') as f:
        data = f.read()
    check(not re.search(rb'[\x00-\x09\x0b-\x1f\x7f]', data), 'no control characters')
    rows = read(env, env.trace('hard'))
    same('lines', data.count(b'\n'), len(rows) + 1)
    types = {r['type'] for r in rows}
    same('formulas', [t for t in types if t[0] in '=+-@'], [])
    check("'=cmd|' /C calc'!A0" in types and '[u8; 3];c"d\'\\,\\x0a\\x09<&>' in types, f'{types}')
    same('runtimes of task 103', {r['runtime_id'] for r in rows if r['task'] == 103}, {0, 1})
    same('open runs', [r['task'] for r in rows if r['is_open']], [51])


@test
def manual(env):
    """The manual names the columns, all of them and in order."""
    with open(os.path.join(ROOT, 'docs/man/futrace-export.1.scd')) as f:
        part = re.search(r'^\*csv\*\n(.*?)(?=^\*|^#)', f.read(), re.M | re.S).group(1)
    header = env.run(env.futrace, 'export', '-f', 'csv', env.trace('life').path)[0].decode().split('\n')[0].split(',')
    same('columns', re.findall(r'_(\w+)_', part)[:len(header)], header)

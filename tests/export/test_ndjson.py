# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lines of JSON, read by jq."""
import collections
import json
import os
import re

import sums
from exports import check, same, test, test_each

KEYS = ('polls', 'busy_ns', 'sched_ns', 'idle_ns', 'unknown_ns', 'max_poll_ns', 'max_sched_ns', 'blocked_ns', 'wakes',
        'self_wakes')
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def jq(env, path, program, *options):
    return json.loads(env.run('jq', '-c', *options, program, path)[0])


@test_each
def tasks(env, trace):
    """jq finds the report's tasks with all their numbers, and its threads and findings."""
    for options in ((), *sums.VIEWS):
        report = env.report(trace, *options)
        path, said = env.export(trace, 'ndjson', *options)
        same('said', said, '')
        got, threads, findings = (jq(env, path, '[inputs | select(.kind | IN("task", "thread", "finding"))] | '
                                                '[[.[] | select(.kind == "task")], [.[] | select(.kind == "thread")], '
                                                '[.[] | select(.kind == "finding")]]'))
        same('tasks', len(got), len(report['tasks']))
        for g, w in zip(got, report['tasks']):
            same('who', (g['task'], g.get('runtime_id'), g.get('type_id'), g['type'], g['task_kind'], g['spawn'], g['time_ns']),
                 (*(w[k] for k in ('id', 'runtime_id', 'type_id', 'type', 'kind', 'spawn', 'spawn_ns')),))
            same('end', (g['end'], g['end_ns'], g.get('parent', '?')), (w['end'], w['end_ns'], w.get('parent', '?')))
            same('numbers', [g[k] for k in KEYS], [w[k] for k in KEYS])
        same('threads', [[t[k] for k in ('tid', 'name', 'thread_kind', 'polls', 'busy_ns', 'asleep_ns')] for t in threads],
             [[w[k] for k in ('tid', 'name', 'kind', 'polls', 'busy_ns', 'asleep_ns')] for w in report['workers']])
        same('findings', *([[f[k] for k in ('rule', 'severity', 'advice')] for f in each]
                           for each in (findings, report['findings'])))


@test_each
def sums_of_lines(env, trace):
    """Lines of polls, wakes and spawns add up to what the lines of tasks say."""
    path, _ = env.export(trace, 'ndjson')
    lines = jq(env, path, '.', '-s')
    # what turns out to be the runtime's own midway has no line of a task
    tasks = {(t.get('runtime_id'), t['task'], t.get('type_id')): t for t in lines if t['kind'] == 'task'}
    got = collections.defaultdict(collections.Counter)
    for t in lines:
        key = t.get('runtime_id'), t.get('task'), t.get('type_id')
        if t['kind'] in ('poll', 'drop', 'wake', 'spawn'):
            check(key in tasks or trace.is_random, f'{t} has a task')
            got[key][t['kind'] + 's'] += 1
            got[key]['busy_ns'] += t.get('busy_ns', 0)
    want = collections.defaultdict(collections.Counter)
    for t in lines:
        if t['kind'] == 'task':
            key = t.get('runtime_id'), t['task'], t.get('type_id')
            want[key].update({'polls': t['polls'], 'wakes': t['wakes'], 'busy_ns': t['busy_ns'], 'spawns': 1})
    for key, w in want.items():
        if trace.is_random:
            del w['spawns']
        same(f'task {key}', {k: got[key][k] for k in w}, dict(w))


@test_each
def whole(env, trace):
    """The first line says what the recording is of; the last one counts the lines, and has the report's totals."""
    report = env.report(trace)
    lines = [json.loads(x) for x in env.run(env.futrace, 'export', '-f', 'ndjson', trace.path)[0].splitlines()]
    same('first', {k: lines[0][k] for k in ('kind', 'schema', 'exe', 'pid')},
         {'kind': 'recording', 'schema': 1, 'exe': report['exe'], 'pid': report['pid']})
    same('last', {k: v for k, v in lines[-1].items() if k != 'time_ns'},
         {'kind': 'end', 'start_ns': 0, 'lines': len(lines), **{k: report[k] for k in ('duration_ns', 'events', 'lost')}})
    same('others of these', sum(t['kind'] in ('recording', 'end') for t in lines), 2)
    check(all(list(t)[0] == 'kind' and t['time_ns'] >= 0 for t in lines), 'each has its kind first, and a time')


@test
def manual(env):
    """The manual names every kind of line, and every key."""
    with open(os.path.join(ROOT, 'docs/man/futrace-export.1.scd')) as f:
        part = re.search(r'^\*ndjson\*\n(.*?)(?=^\*|^#)', f.read(), re.M | re.S).group(1)
    told = set(re.findall(r'_(\w+)_', part))
    for trace in env.traces():
        for t in env.ndjson(trace):
            same(f'not in the manual of {t["kind"]}', {t['kind'], *t} - told, set())

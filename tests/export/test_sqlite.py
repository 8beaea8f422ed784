# SPDX-License-Identifier: MIT OR Apache-2.0
"""Databases, read by sqlite3."""
import collections
import json
import os
import re

import sums
from exports import check, same, test, test_each

KEYS = ('polls', 'busy_ns', 'sched_ns', 'idle_ns', 'unknown_ns', 'max_poll_ns', 'max_sched_ns', 'blocked_ns', 'max_blocked_ns',
        'wakes', 'self_wakes')
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def sql(env, path, query):
    out = env.run('sqlite3', '-json', '-readonly', path, query)[0]
    return json.loads(out) if out.strip() else []


@test_each
def tasks(env, trace):
    """The database is whole, and has the report's tasks with all their numbers; and so for parts of a recording."""
    for options in ((), *sums.VIEWS):
        report = env.report(trace, *options)
        path, said = env.export(trace, 'sqlite', *options)
        same('said', said, '')
        same('integrity', sql(env, path, 'PRAGMA integrity_check'), [{'integrity_check': 'ok'}])
        columns = ', '.join(f'{k}' for k in ('id', 'runtime_id', 'type_id', 'kind', 'spawn_ns', 'end_ns', '"end"', *KEYS))
        got = sql(env, path, f'SELECT {columns} FROM task')
        want = [{k.strip('"'): t[k.strip('"')] for k in columns.split(', ')} for t in report['tasks']]
        order = lambda t: json.dumps(t, sort_keys=True)
        same('tasks', sorted(got, key=order), sorted(want, key=order))
        meta = {r['key']: r['value'] for r in sql(env, path, 'SELECT * FROM meta')}
        for key in ('exe', 'pid', 'duration_ns', 'events', 'lost'):
            same(key, meta[key], report[key])


@test_each
def rows(env, trace):
    """Polls and wakes of each task add up to what its row says, and each of them has its task, thread and type."""
    path, _ = env.export(trace, 'sqlite')
    # what turns out to be the runtime's own midway has no row of a task
    orphans = sql(env, path, 'SELECT (SELECT count(*) FROM poll WHERE task_nr NOT IN (SELECT nr FROM task)) + '
                             '(SELECT count(*) FROM wake WHERE task_nr NOT IN (SELECT nr FROM task)) AS nr')
    check(trace.is_random or orphans == [{'nr': 0}], f'{orphans} without a task')
    same('sums that differ', sql(env, path, '''
        SELECT * FROM task t WHERE
            (SELECT count(*) FROM poll p WHERE p.task_nr = t.nr AND NOT is_drop) <> polls
            OR (SELECT coalesce(sum(dur_ns), 0) FROM poll p WHERE p.task_nr = t.nr) <> busy_ns
            OR (SELECT coalesce(sum(p.blocked_ns), 0) FROM poll p WHERE p.task_nr = t.nr) <> blocked_ns
            OR (SELECT count(*) FROM wake w WHERE w.task_nr = t.nr) <> wakes
            OR (SELECT count(*) FROM wake w JOIN cause c ON c.id = w.cause_id WHERE w.task_nr = t.nr AND c.name = 'self')
                <> self_wakes'''), [])
    for table, column, to in (('poll', 'thread_id', 'thread'), ('wake', 'thread_id', 'thread'), ('poll', 'cause_id', 'cause'),
                              ('wake', 'waker_type_id', 'type'), ('task', 'type_id', 'type'), ('task', 'parent_type_id', 'type'),
                              ('task', 'runtime_id', 'runtime'), ('thread', 'runtime_id', 'runtime'), ('type', 'runtime_id', 'runtime')):
        same(f'{table}.{column} that are in no {to}', sql(env, path, f'SELECT {column} FROM {table} WHERE {column} IS NOT NULL '
             f'AND {column} NOT IN (SELECT id FROM "{to}")'), [])


def all_names(type_):
    """Of merged types all that are known, and a question mark for the others."""
    names = type_.get('candidate_types')
    return ' | '.join(names + ['?'] * (len(names) < type_['candidates'])) if names else type_['name']


@test_each
def others(env, trace):
    """Threads, types and findings are the report's, and the views add up to it."""
    report = env.report(trace)
    path, _ = env.export(trace, 'sqlite')
    keys = ('tid', 'kind', 'polls', 'busy_ns', 'asleep_ns', 'sleeps', 'blocked_ns', 'blocks')
    same('threads', sql(env, path, f'SELECT {", ".join(keys)} FROM thread ORDER BY id'),
         [{k: w[k] for k in keys} for w in sorted(report['workers'], key=lambda w: w['thread'])])
    same('findings', sql(env, path, 'SELECT rule, severity, advice FROM v_finding'),
         [{k: f[k] for k in ('rule', 'severity', 'advice')} for f in report['findings']])
    same('types', sql(env, path, 'SELECT id, name, kind, candidates FROM type ORDER BY id'),
         [dict({k: t[k] for k in ('id', 'kind', 'candidates')}, name=all_names(t)) for t in report['types']])
    for key in ('busy_ns', 'polls', 'wakes'):
        got = sql(env, path, f'SELECT sum({key}) AS n FROM v_type')
        same(key, got[0]['n'] or 0, sum(t[key] for t in report['tasks']))
    same('groups', sql(env, path, 'SELECT count(*) AS n FROM v_type')[0]['n'],
         len({(sums.labels(report)[t['type_id']], t['kind']) for t in report['tasks']}))
    same('wakes', sql(env, path, 'SELECT coalesce(sum(wakes), 0) AS n FROM v_wake')[0]['n'],
         sql(env, path, 'SELECT count(*) AS n FROM wake JOIN task ON nr = task_nr')[0]['n'])


def tables(env):
    path, _ = env.export(env.trace('wakes'), 'sqlite')
    names = [r['name'] for r in sql(env, path, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY rowid")]
    return path, {n: [c['name'] for c in sql(env, path, f'PRAGMA table_info("{n}")')] for n in names}


def manual_part():
    with open(os.path.join(ROOT, 'docs/man/futrace-export.1.scd')) as f:
        return re.search(r'^# SQLITE\n(.*?)^# ', f.read(), re.M | re.S).group(1)


@test
def manual(env):
    """The manual names each table and view with its columns, in order."""
    told = {name: re.findall(r'\w+', columns) for name, columns in re.findall(r'^(\w+)\(([^)]*)\)', manual_part(), re.M)}
    same('tables and columns', told, tables(env)[1])


@test
def examples(env):
    """Each view, and each query of the manual, answers with rows."""
    path, names = tables(env)
    made_up = 'v_await', 'v_still_waiting', 'v_future', 'v_future_poll'  # this program has no debug info, and no polls of futures
    for view in (n for n in names if n.startswith('v_') and n not in ('v_finding', *made_up)):
        check(sql(env, path, f'SELECT * FROM {view}'), f'{view} has rows')
    random, _ = env.export(env.trace('seed 2'), 'sqlite')
    for view in made_up:
        check(sql(env, random, f'SELECT * FROM {view}'), f'{view} has rows')
    queries = re.findall(r'^(SELECT .*?;)$', manual_part(), re.M | re.S)
    check(len(queries) >= 2, 'the manual has examples')
    for query in queries:
        check(sql(env, random if any(v in query for v in made_up) else path, query), f'{query} has rows')


def without_task(polls):
    return collections.Counter((*poll[:2], *poll[3:]) for poll in polls.elements())


@test_each
def futures(env, trace):
    """Each poll of an inner future that was recorded is a row, with its future, task and thread; views add up to the report."""
    for options in ((), ('--time-range=30%..60%',)):
        path, _ = env.export(trace, 'sqlite', *options)
        got = collections.Counter(tuple(r.values()) for r in sql(env, path, '''
            SELECT future, tid, task_id, start_ns, dur_ns, self_ns, depth, result, is_open FROM v_future_poll'''))
        keys = 'future', 'tid', 'task', 'time_ns', 'busy_ns', 'self_ns', 'depth', 'result'
        lines = list(env.ndjson(trace, *options))
        want = collections.Counter((*map(line.get, keys), int(line.get('open', False)))
                                   for line in lines if line['kind'] == 'future_poll')
        if trace.is_random:  # what turns out to be the runtime's own midway has no row of a task
            got, want = map(without_task, (got, want))
        same('polls that are too many', list((got - want).items())[:3], [])
        same('polls that are missing', list((want - got).items())[:3], [])
        table = json.loads(env.run(env.futrace, 'report', '--by=future', '--json', '--limit=0', *options, trace.path)[0])['table']
        exact = {row['future']: (row['exact_polls'],) for row in table['rows'] if row['exact_polls']}
        same('polls of each', {r['future']: (r['polls'],) for r in sql(env, path, 'SELECT * FROM v_future')}, exact)
    keys = 'function', 'file', 'line', 'is_generated', 'seen'
    same('futures', [tuple(r.values()) for r in sql(env, path, f'SELECT id, name, {", ".join(keys)} FROM future')],
         [(line['future_id'], line['future'], *(line.get(k.removeprefix('is_')) for k in keys))
          for line in lines if line['kind'] == 'future'])


@test
def hard(env):
    """Names are whole and do nothing; runtimes with the same ids and a cut run are told apart."""
    path, _ = env.export(env.trace('hard'), 'sqlite')
    names = {r['name'] for r in sql(env, path, 'SELECT name FROM type')}
    check({"x';DROP TABLE task;--", '[u8; 3];c"d\'\\,\n\t<&>', 'bad\ufffd\ufffd utf8 \x1b[31m \u2028 \U0001f980'} <= names, f'{names}')
    same('runtimes of task 103', sql(env, path, 'SELECT runtime_id FROM task WHERE id = 103 ORDER BY 1'),
         [{'runtime_id': 0}, {'runtime_id': 1}])
    same('open', sql(env, path, 'SELECT task_id FROM v_poll WHERE is_open'), [{'task_id': 51}])
    same('types of one name', sql(env, path, "SELECT count(DISTINCT group_id) AS n FROM type WHERE name = 'b::twin'"), [{'n': 2}])

# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the report says of a recording, in the shapes in which exports say it."""
import collections
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../oracle'))
import awaits  # noqa: E402

STATES = {'busy': 'busy_ns', 'scheduled': 'sched_ns', 'idle': 'idle_ns'}
# A part of a recording, as every command takes it.
VIEWS = (('--time-range=20%..70%',), ('--filter=polls>1',), ('--time-range=10%..90%', '--filter=kind=task'))


def labels(report):
    """By type_id what a type is called where it has to be told apart from all others by its name."""
    group_of, first, names = {}, {}, collections.Counter()
    for t in report['types']:
        is_exact = t['name'] is not None and t['candidates'] <= 1
        group = (t['name'], t['kind']) if is_exact else t['id']
        group_of[t['id']] = group
        if group not in first:
            first[group] = t['id']
            names[t['name']] += 1
    result = {None: 'type#unknown'}
    for t in report['types']:
        nr = first[group_of[t['id']]]
        result[t['id']] = f'type#{nr}' if t['name'] is None else t['name'] + (f' #{nr}' if names[t['name']] > 1 else '')
    return result


def by_label(report, key):
    """The sum of a number of all tasks, by what their type is called; what is zero is not there."""
    name = labels(report)
    result = collections.Counter()
    for t in report['tasks']:
        result[name[t['type_id']]] += t[key]
    return {label: n for label, n in result.items() if n}


def task_key(t):
    return t['runtime_id'], t['id'], t['type_id']


def by_task(report, *keys):
    """Numbers of each task; ids come again in the course of absurd traces."""
    result = collections.defaultdict(lambda: [0] * len(keys))
    for t in report['tasks']:
        result[task_key(t)] = [a + t[k] for a, k in zip(result[task_key(t)], keys)]
    return dict(result)


def said(report):
    """What is to be said on stderr about a recording, by formats without a place for it."""
    return f'{report["lost"]:,} events were lost' if report['lost'] else ''


def waits_at_places(lines):
    """How long tasks waited where it is known: at least, and at most, which is the same unless something was lost."""
    over = sum(awaits.wait(line) for line in lines if line['kind'] in ('poll', 'drop') and 'path' in line)
    still = [line for line in awaits.open_waits(lines) if 'path' in line]
    return over + sum(awaits.wait(line) for line in still if line['is_exact']), over + sum(map(awaits.wait, still))

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Folded stacks, drawn by flamegraph.pl (the original, as Debian has it with Devel::NYTProf)."""
import collections
import re
import subprocess
import xml.etree.ElementTree

import sums
from exports import check, same, test, test_each

FLAMEGRAPH = '/usr/share/perl5/Devel/NYTProf/flamegraph.pl'


def fold(env, trace, *options):
    path, said = env.export(trace, 'folded', *options)
    check(said == '' if not env.report(trace, *[o for o in options if 'weight' not in o])['lost'] else 'events were lost' in said,
          f'said: {said}')
    stacks = {}
    with open(path, encoding='utf-8', newline='\n') as f:
        for line in f:
            stack, ns = line.removesuffix('\n').rsplit(' ', 1)
            check(stack not in stacks, f'{stack} stands there once')
            stacks[stack] = int(ns)
    return path, stacks


def frame(label):
    """A name as it is written: no line, no semicolon, no number that would be a weight."""
    text = ''.join(f'\\x{ord(c):02x}' if ord(c) < 32 or ord(c) == 127 else c for c in label.replace(';', ','))
    return re.sub(r' ([0-9.]*)$', r'_\1', text)


def by_leaf(stacks):
    result = collections.Counter()
    for stack, ns in stacks.items():
        result[stack.rsplit(';', 1)[-1]] += ns
    return dict(result)


@test_each
def totals(env, trace):
    """Each type has the report's busy, scheduled and idle time, by --weight, exactly; and so in parts of a recording."""
    for options in ((), *sums.VIEWS):
        for weight, key in sums.STATES.items():
            got = by_leaf(fold(env, trace, f'--weight={weight}', *options)[1])
            want = sums.by_label(env.report(trace, *options), key)
            # bytes that are no UTF-8 are one character in JSON, and written as their number here
            got, want = ({re.sub(r'(\\x[f][ef])+|\ufffd+|\\u\{2028\}|\u2028', '?', k): n for k, n in d.items()} for d in (got, want))
            same(f'{weight} {options}', got, {frame(label): n for label, n in want.items()})


@test_each
def drawn(env, trace):
    """flamegraph.pl takes every line, and draws every frame with the sum of all stacks that it stands in."""
    path, stacks = fold(env, trace)
    p = subprocess.run(['perl', FLAMEGRAPH, '--minwidth=0', '--countname=ns', path], capture_output=True)
    same('status and errors', (p.returncode, p.stderr.decode()), (0, ''))
    drawn = collections.Counter()
    for title in xml.etree.ElementTree.fromstring(p.stdout).iter('{http://www.w3.org/2000/svg}title'):
        m = re.fullmatch(r'(.*) \(([\d,]+) ns, [\d.]+%\)', title.text)
        drawn[m.group(1)] += int(m.group(2).replace(',', ''))
    want = collections.Counter({'all': sum(stacks.values())})
    for stack, ns in stacks.items():
        for name in stack.translate(str.maketrans('<>', '()')).split(';'):
            want[name] += ns
    same('frames', drawn, want)


@test
def lineage(env):
    """Stacks tell who spawned whom, below the program."""
    trace = env.trace('wakes')
    report = env.report(trace)
    type_of = {t['id']: t['type'] for t in report['tasks']}
    want = {(type_of[t['parent']], t['type']) for t in report['tasks'] if t.get('parent') in type_of and t['busy_ns']}
    stacks = [stack.split(';') for stack in fold(env, trace)[1]]
    same('programs', {s[0] for s in stacks}, {'wakes'})
    check(want, 'some task is spawned by a task')
    same('types and the types that spawned them', {tuple(s[-2:]) for s in stacks if len(s) > 2}, want)


@test_each
def waiting_adds_up(env, trace):
    """Stacks of waiting weigh what tasks waited where it is known, exactly, and end with what was waited for."""
    path, _ = env.export(trace, 'folded', '--weight=waiting')
    with open(path, encoding='utf-8') as f:
        stacks = [line.rstrip('\n').rpartition(' ') for line in f]
    known = sum(int(ns) for stack, _, ns in stacks if not stack.endswith(';place not known'))
    least, most = sums.waits_at_places(env.ndjson(trace))
    same('ns', known, min(max(known, least), most))
    same('stacks', len({stack for stack, *_ in stacks}), len(stacks))

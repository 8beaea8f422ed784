# SPDX-License-Identifier: MIT OR Apache-2.0
"""Profiles, read by `go tool pprof`."""
import collections
import re

import sums
from exports import check, same, test, test_each

VALUES = ('busy_ns', 'sched_ns', 'idle_ns', 'polls')


STATES = 'busy/nanoseconds[dflt] sched/nanoseconds idle/nanoseconds polls/count'
WAITING = 'waiting/nanoseconds[dflt] waits/count'


def parse_raw(text, types=STATES):
    """Samples as (values, types from the leaf on, labels)."""
    part = re.search(r'^Samples:\n(.*?)\n(.*?)^Locations\n(.*?)^Mappings\n', text, re.M | re.S)
    same('sample types', part.group(1), types)
    names = {nr: name for nr, name in re.findall(r'^ +(\d+): 0x0 M=1 (.*) \S*:\d+:0 s=\d+\(\)$', part.group(3), re.M)}
    samples = []
    for line in part.group(2).splitlines():
        m = re.fullmatch(r' +((?:\d+ +)*\d+): ([\d ]+)', line)
        if m:
            samples.append(([int(n) for n in m.group(1).split()], [names[i] for i in m.group(2).split()], {}))
        else:
            samples[-1][2].update(re.findall(r'(\w+):\[(.*?)\]', line))
    return samples


def pprof(env, path, *options):
    return env.run('go', 'tool', 'pprof', *options, path)[0].decode()


@test_each
def totals(env, trace):
    """Each type has the report's busy, scheduled and idle time and polls, exactly."""
    path, said = env.export(trace, 'pprof', suffix='pb.gz')
    same('said', said, '')
    got, want = (collections.defaultdict(lambda: [0, 0, 0, 0]) for _ in range(2))
    text = pprof(env, path, '-raw')
    for values, stack, labels in parse_raw(text):
        key = stack[0], labels['kind']
        got[key] = [a + b for a, b in zip(got[key], values)]
    for t in env.report(trace)['tasks']:
        key = t['type'], t['kind']
        want[key] = [a + t[v] for a, v in zip(want[key], VALUES)]
    check(not re.search(r'[\x00-\x09\x0b-\x1f\x7f]', text.replace('\t', '')), 'a control character')
    if any(re.search(r'[\x00-\x1f\x7f]', name) for name, _ in want):  # they are escaped: the values must do
        got, want = sorted(got.values()), sorted(want.values())
    same('totals', got, want)


@test
def top(env):
    """`pprof -top` shows them with the same sums, and --weight chooses what it begins with."""
    trace = env.trace('storm')
    busy = sum(t['busy_ns'] for t in env.report(trace)['tasks'])
    path, _ = env.export(trace, 'pprof', suffix='pb.gz')
    text = pprof(env, path, '-top', '-unit=ns')
    check(f' {busy}ns total' in text and 'Type: busy' in text, text)
    path, _ = env.export(trace, 'pprof', '--weight=idle', suffix='pb.gz')
    check('Type: idle' in pprof(env, path, '-top'), 'idle comes first')


@test
def lineage(env):
    """Stacks tell who spawned whom."""
    trace = env.trace('wakes')
    report = env.report(trace)
    type_of = {t['id']: t['type'] for t in report['tasks']}
    want = {(t['type'], type_of.get(t['parent'])) for t in report['tasks'] if t.get('parent')}
    path, _ = env.export(trace, 'pprof', suffix='pb.gz')
    got = {(stack[0], stack[1]) for _, stack, _ in parse_raw(pprof(env, path, '-raw')) if len(stack) > 1}
    check(want, 'some task is spawned by a task')
    same('types and the types that spawned them', got, want)


@test_each
def waiting(env, trace):
    """Stacks of waiting are those of the folded ones, as deep and with the same sums, and hold what tasks waited for."""
    path, _ = env.export(trace, 'pprof', '--weight=waiting', suffix='pb.gz')
    folded, _ = env.export(trace, 'folded', '--weight=waiting')
    got, want = collections.Counter(), collections.Counter()
    with open(folded, encoding='utf-8') as f:
        for line in f:
            stack, _, ns = line.rstrip('\n').rpartition(' ')
            want[stack.count(';')] += int(ns)  # the program is no frame here
    samples = parse_raw(pprof(env, path, '-raw'), WAITING) if want else []
    for (ns, _), stack, _ in samples:
        got[len(stack)] += ns
    same('waiting by depth of stacks', +got, +want)
    known = sum(ns for (ns, _), stack, _ in samples if 'place not known' not in stack)
    least, most = sums.waits_at_places(env.ndjson(trace))
    same('waiting', known, min(max(known, least), most))

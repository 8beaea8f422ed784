# SPDX-License-Identifier: MIT OR Apache-2.0
"""The JSON of chrome://tracing, read by Python's parser, with its times as exact decimals, and then as viewers do: sorted
by time, the order of the file among equals, and what comes first is the outer one."""
import collections
import decimal
import json
import os
import re

import sums
from exports import check, keeps_latest, same, test, test_each

Slice = collections.namedtuple('Slice', 'start end event')
TAIL_BYTES = 1024  # for what follows the events; so much less is used of what is allowed


def to_ns(us):
    ns = decimal.Decimal(us) * 1000
    same('digits behind a nanosecond', ns % 1, 0)
    return int(ns)


class Reader:
    def __init__(self, path):
        with open(path, encoding='utf-8') as f:
            self.file = json.load(f, parse_float=decimal.Decimal)
        self.by_phase = collections.defaultdict(list)
        for e in self.file['traceEvents']:
            self.by_phase[e['ph']].append(e)
            check('pid' in e and 'tid' in e and (e['ph'] == 'M' or e['ts'] >= 0), f'{e} has a place')
        same('kinds of events', set(self.by_phase) - set('XCsfMbei'), set())
        self.slices = [Slice(to_ns(e['ts']), to_ns(e['ts']) + to_ns(e['dur']), e) for e in self.by_phase['X']]
        pairs = self.pair('b', 'e')
        self.spans = [s for s in pairs if s.event['cat'] == 'span']
        self.torn = [s for s in pairs if s.event['cat'] != 'span']
        self.marks = [e for e in self.by_phase['i'] if e['cat'] == 'mark']

    def pair(self, begin, end):
        """Events of two phases that belong together by their id."""
        ends = {e['id']: e for e in self.by_phase[end]}
        same(f'ids of {end}', len(ends), len(self.by_phase[end]))
        same(f'ids of {begin} and {end}', sorted(map(str, ends)), sorted(str(e['id']) for e in self.by_phase[begin]))
        result = []
        for e in self.by_phase[begin]:
            other = ends[e['id']]
            same('name and category', (e['name'], e['cat']), (other['name'], other['cat']))
            check(e['ts'] <= other['ts'], f'{e} begins first')
            result.append(Slice(to_ns(e['ts']), to_ns(other['ts']), e))
        return result

    def runs(self):
        return [s for s in self.slices if s.event['cat'] in ('poll', 'drop')] + self.torn


@keeps_latest
def read(env, trace, *options):
    path, said = env.export(trace, 'chrome', *options, suffix='json')
    same('said', said, '')
    return Reader(path)


def check_sums(trace, report, r):
    busy, polls = collections.Counter(), collections.Counter()
    name = sums.labels(report)
    known = {(t['id'], name[t['type_id']]) for t in report['tasks']}
    for s in r.runs():
        # what turns out to be the runtime's own midway is no task of the report
        if trace.is_random and (s.event['args']['task'], s.event['name']) not in known:
            continue
        busy[s.event['name']] += s.end - s.start
        polls[s.event['name']] += s.event['cat'] == 'poll'
    same('busy_ns', {k: n for k, n in busy.items() if n}, sums.by_label(report, 'busy_ns'))
    same('polls', {k: n for k, n in polls.items() if n}, sums.by_label(report, 'polls'))


@test_each
def totals(env, trace):
    """Each type has the report's busy time and polls, exactly; the file says how much there was and was lost."""
    r, report = read(env, trace), env.report(trace)
    check_sums(trace, report, r)
    for key in ('duration_ns', 'events', 'lost'):
        same(key, r.file['otherData'][key], report[key])
    same('findings', [e['name'] for e in r.by_phase['i'] if e['cat'] != 'mark'], [f'{f["severity"]}: {f["rule"]}' for f in report['findings']])


@test_each
def marks(env, trace):
    """Each mark and span that the report counts is there once."""
    r, rows = read(env, trace), env.report(trace, '--by=mark', '--limit=0')['table']['rows']
    for kind, found in (('mark', r.marks), ('span', r.spans)):
        same(f'{kind}s', len(found), sum(row['count'] for row in rows if row['kind'] == kind))


@test_each
def views(env, trace):
    """A part of the recording has the sums of the same part in the report."""
    for options in sums.VIEWS:
        check_sums(trace, env.report(trace, *options), read(env, trace, *options))


@test_each
def nesting(env, trace):
    """On each thread a slice that begins inside of another ends inside of it, and outer ones come first in the file."""
    stacks = collections.defaultdict(list)
    for s in sorted(read(env, trace).slices, key=lambda s: s.start):  # stable
        stack = stacks[s.event['tid']]
        while stack and stack[-1].end <= s.start and not (stack[-1].end == s.start == s.end):
            stack.pop()
        check(not stack or s.end <= stack[-1].end, f'{s} sticks out of {stack and stack[-1]}')
        stack.append(s)


@test_each
def flows(env, trace):
    """Every arrow has two ends: it begins inside of a run of the thread, and leads to the beginning of a run."""
    r = read(env, trace)
    starts = {(s.event['tid'], s.start) for s in r.runs()}
    by_thread = collections.defaultdict(list)
    for s in r.runs():
        by_thread[s.event['tid']].append(s)
    ends = {e['id']: e for e in r.by_phase['f']}
    for arrow in r.pair('s', 'f'):
        e = arrow.event
        check((ends[e['id']]['tid'], arrow.end) in starts, f'{e} leads to a run')
        check(trace.is_absurd or trace.is_random or any(s.start <= arrow.start <= s.end for s in by_thread[e['tid']]), f'{e} begins in a run')


@test
def arrows(env):
    """Wakes by tasks and spawns by tasks are drawn."""
    r = read(env, env.trace('wakes'))
    kinds = collections.Counter(e['cat'] for e in r.by_phase['s'])
    check(kinds['wake'] > 10 and kinds['spawn'] > 10, f'{kinds}')


def enclosed(events, end_ns):
    """Time under the counters, by name; each is in order."""
    points = collections.defaultdict(list)
    for e in events:
        (unit, value), = e['args'].items()
        points[e['name']].append((to_ns(e['ts']), float(value)))
    sums = {}
    for name, line in points.items():
        line.append((end_ns, 0))
        same(f'{name} in order', line, sorted(line, key=lambda p: p[0]))
        sums[name] = sum(value * (next_ns - ns) for (ns, value), (next_ns, _) in zip(line, line[1:]))
    return sums


@test_each
def counters(env, trace):
    """Counters over time add up to the report's live, scheduled and running time."""
    report = env.report(trace)
    sums = enclosed(read(env, trace).by_phase['C'], report['duration_ns'])
    ends = [t['end_ns'] if t['end_ns'] is not None else report['duration_ns'] for t in report['tasks']]
    want = {'live tasks': sum(e - t['spawn_ns'] for e, t in zip(ends, report['tasks'])),
            'scheduled tasks': sum(t['sched_ns'] for t in report['tasks']),
            'running tasks': sum(t['busy_ns'] for t in report['tasks'])}
    same('counters', set(sums), set(want) | {'busy workers', 'busy blocking threads'})
    for name, total in want.items():
        got = sums[name]
        # six digits are written, of averages over bins that end at a whole nanosecond
        share = 0.02 if trace.is_random else 1e-4
        check(abs(got - total) <= total * share + 1, f'{name}: {got}, not {total}')


@test
def size(env):
    """--max-size keeps to the size, leaves the shortest polls out, and says so; findings and counters are of all."""
    trace = env.trace('wakes')
    path, _ = env.export(trace, 'chrome', suffix='json')
    limit, whole = os.path.getsize(path) // 4, Reader(path)
    path, said = env.export(trace, 'chrome', f'--max-size={limit}', suffix='json')
    part = Reader(path)
    used = os.path.getsize(path)
    check(used <= limit, f'{used} bytes')
    left_out = len(whole.runs()) - len(part.runs())
    check(left_out and re.search(f'{left_out:,} of {len(whole.runs()):,} polls', said), f'{left_out}: {said}')
    same('left out', part.file['otherData']['polls_left_out'], left_out)
    shortest = min(s.end - s.start for s in part.runs())
    same('polls of that length and longer', sum(s.end - s.start >= shortest for s in whole.runs()), len(part.runs()))
    # polls go by length, in steps of 1/64 and less: those of the next step would not have fitted
    longest = max(s.end - s.start for s in whole.runs() if s.end - s.start < shortest)
    step = sum(longest * 63 / 64 - 1 <= s.end - s.start < shortest for s in whole.runs())
    more = TAIL_BYTES + step * 1.5 * 4 * limit / len(whole.runs())
    check(used + more > limit, f'{used} of {limit} bytes, {step} more polls would fit')
    same('findings', part.by_phase['i'], whole.by_phase['i'])
    end = env.report(trace)['duration_ns']
    want, got = (enclosed(r.by_phase['C'], end) for r in (whole, part))
    same('counters', got.keys(), want.keys())
    for name in want:  # they may be coarser, and enclose the same
        check(abs(got[name] - want[name]) <= want[name] * 1e-4 + 1, f'{name}: {got[name]}, not {want[name]}')


@test
def hard(env):
    """Names are whole, of whatever characters; a cut run, a sleep, runtimes and a run that does not nest are told."""
    r = read(env, env.trace('hard'))
    names = {s.event['name'] for s in r.runs()}
    want = {'[u8; 3];c"d\'\\,\n\t<&>', 'bad\ufffd\ufffd utf8 \x1b[31m \u2028 \U0001f980', 'a::one or 1 other #1', 'a::one or 1 other #2',
            'b::twin #3', 'b::twin #5', 'type#6'}
    same('names that are missing', want - names, set())
    same('torn runs', [(s.start, s.end) for s in r.torn], [(50000, 50100)])
    same('runtimes of task 103', {s.event['args']['runtime_id'] for s in r.runs() if s.event['args']['task'] == 103}, {0, 1})
    same('open runs', [s.event['args']['task'] for s in r.runs() if s.event['args'].get('recording_ended_first')], [51])
    same('sleeps', [s.end - s.start for s in r.slices if s.event['cat'] == 'sleep'], [70])

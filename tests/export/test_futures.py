# SPDX-License-Identifier: MIT OR Apache-2.0
"""Polls of inner futures on timelines: those that were recorded one by one, and those that only a path tells."""
import collections
import json

import test_chrome
import test_perfetto
from exports import check, same, test, test_each

Poll = collections.namedtuple('Poll', 'tid start ns result')


def recorded(env, trace, *options):
    """By name, as the model tells them; what nobody defined has none."""
    polls = collections.defaultdict(collections.Counter)
    for line in env.ndjson(trace, *options):
        if line['kind'] == 'future_poll' and 'future' in line:
            polls[line['future']][Poll(line['tid'], line['time_ns'], line['busy_ns'], line.get('result'))] += 1
    return polls


def of_perfetto(env, trace, *options):
    r = test_perfetto.read(env, trace, *options)
    polls, guessed = collections.defaultdict(collections.Counter), collections.Counter()
    for uuid, slices in r.slices.items():
        for s in slices:
            name = r.sources[s.event.source_location_iid].function_name if s.event.source_location_iid else None
            if r.category_of(s.event) == 'future_poll':
                result = r.args_of(s.event).get('result')
                polls[name][Poll(r.thread_of(uuid), s.begin, s.end - s.begin, result)] += 1
            elif r.category_of(s.event) == 'future' and r.thread_of(uuid):
                guessed[name] += 1
    return polls, guessed


def of_chrome(env, trace, *options):
    r = test_chrome.read(env, trace, *options)
    polls, guessed = collections.defaultdict(collections.Counter), collections.Counter()
    for s in r.slices:
        if s.event['cat'] == 'future_poll':
            polls[s.event['name']][Poll(s.event['tid'], s.start, s.end - s.start, s.event['args'].get('result'))] += 1
        elif s.event['cat'] == 'future':
            guessed[s.event['name']] += 1
    return polls, guessed


def check_same(what, got, want):
    for name in {*got, *want}:
        same(f'{what}: too many of {name}', list((got[name] - want[name]).items())[:3], [])
        same(f'{what}: missing of {name}', list((want[name] - got[name]).items())[:3], [])


@test_each
def each_once(env, trace):
    """Each poll that was recorded is one slice of its thread, at its time; so it is in a part of the time."""
    for options in [], ['--time-range=30%..60%']:
        want = recorded(env, trace, *options)
        got, _ = of_perfetto(env, trace, *options)
        check_same('perfetto', got, want)
        if all(len(name) <= 60 for name in want):  # longer names are cut there
            check_same('chrome', of_chrome(env, trace, *options)[0], want)


@test
def some_were(env):
    """The traces have such polls, of programs and made up ones, that begin together with what is around them."""
    for name in 'inner', 'seed 1', 'seed 2':
        polls = recorded(env, env.trace(name))
        check(sum(map(len, polls.values())) > 100, f'{name} has few polls of futures: {polls.keys()}')
    starts = {(p['tid'], p['time_ns']) for p in env.ndjson(env.trace('seed 2')) if p['kind'] == 'poll'}
    both = [p for c in recorded(env, env.trace('seed 2')).values() for p in c if (p.tid, p.start) in starts]
    check(len(both) > 10, 'few polls begin with their run')


def inside(slices):
    """(slice, the one around it) of slices that nest, outer ones first."""
    stack = []
    for s in slices:
        while stack and s.begin >= stack[-1].end and s.depth <= stack[-1].depth:
            stack.pop()
        yield s, stack[-1] if stack else None
        stack.append(s)


@test_each
def nest(env, trace):
    """What only a path tells is as long as the slice around it, and lies in a run or in the poll of a future."""
    r = test_perfetto.read(env, trace)
    for uuid, slices in r.slices.items():
        if r.thread_of(uuid) is None:
            continue
        around = {}
        for s in sorted(slices, key=lambda s: (s.begin, s.depth)):
            outer = around.get(s.depth - 1)
            if r.category_of(s.event) == 'future':
                same('begin and end of what is in it', (s.begin, s.end), (outer.begin, outer.end))
                check(r.category_of(outer.event) in ('poll', 'drop', 'future', 'future_poll'), f'{s} is in {outer}')
            around[s.depth] = s


def truth(trace):
    found = [json.loads(line) for line in trace.said.splitlines()]
    return {x['future']: x['polls'] for x in found if 'future' in x}


@test
def as_the_program_says(env):
    """Report, Perfetto and Chrome have as many polls of each future as the program counted, and no slice more."""
    trace = env.trace('inner')
    want, nr_exact = truth(trace), 0
    rows = json.loads(env.run(env.futrace, 'report', '--by=future', '--json', '--limit=0', trace.path)[0])['table']['rows']
    reported, whole = collections.Counter(), collections.defaultdict(lambda: True)
    for row in rows:
        name = row['future'].split('<')[0]
        reported[name] += row['exact_polls']
        whole[name] &= row['polls_from'] == 'exact'
    for read in of_perfetto, of_chrome:
        polls, guessed = read(env, trace)
        slices = collections.Counter()
        for name, found in polls.items():
            slices[name.split('<')[0]] += sum(found.values())
        for name, nr in want.items():
            same(f'slices of {name}', slices[name], reported[name])
            check(slices[name] + guessed[name] <= nr, f'{name} has more slices than its {nr} polls')
            if reported[name] and whole[name]:
                same(f'polls of {name}', reported[name], nr)
                same(f'slices of {name} by its path', guessed[name], 0)
                nr_exact += 1
    # without debug info nobody can say that all are seen, but big futures are kept by every build
    same('polls of inner::big', reported['inner::big'], want['inner::big'])


@test
def chosen(env):
    """--generated-future, --hide-future and --show-future choose polls as they choose rows of the report."""
    trace = env.trace('inner')
    made = {line['future'] for line in env.ndjson(trace) if line['kind'] == 'future' and line['generated']}
    every = recorded(env, trace)
    check(made & set(every) and set(every) - made, f'all of one sort: {every.keys()}')
    for options, wanted in ((['--generated-future'], lambda n: n in made),
                            (['--hide-future=inner::b'], lambda n: 'inner::b' not in n),
                            (['--generated-future', '--hide-future=inner::b', '--show-future=Catch'],
                             lambda n: 'Catch' in n or (n in made and 'inner::b' not in n))):
        want = {n: c for n, c in every.items() if wanted(n)}
        check(want and len(want) < len(every), f'{options} choose nothing')
        got, guessed = of_perfetto(env, trace, *options)
        same(f'polls by {options}', {n: +c for n, c in got.items()}, {n: +c for n, c in want.items()})
        check(all(wanted(n) for n in guessed if n in every), f'{options} left {guessed}')
        out = env.run(env.futrace, 'report', '--by=future', '--json', '--limit=0', *options, trace.path)[0]
        rows = {row['future'] for row in json.loads(out)['table']['rows'] if row['exact_polls']}
        same(f'rows by {options}', rows, set(want))

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


def chains_of(env, trace):
    """By thread and start of a run: its task, and the names of the futures of its path, outermost first, for each branch."""
    steps, paths, runs = {}, {}, {}
    for line in env.ndjson(trace):
        if line['kind'] == 'step':
            names = {line.get('future'), line.get('function')} - {None}
            steps[line['step']] = steps.get(line.get('outer'), []) + [names]
        elif line['kind'] == 'path':
            paths[line['path']] = [steps[step] for step in line['steps'] if step in steps]
        elif line['kind'] == 'poll' and 'path' in line:
            runs[line['tid'], line['time_ns']] = line['task'], paths.get(line['path'], [])
    return runs


def lies_around(chain, outer, inner):
    """Is each `inner` of the path in an `outer` of it, or one itself?"""
    where = [[i for i, names in enumerate(chain) if name in names] for name in (outer, inner)]
    return all(where) and where[0][-1] <= where[1][0]


def stacks_of_polls(r):
    """(thread, slices as (category, name, begin) from the run inwards) of each poll of a future that lies in a run."""
    for uuid, slices in r.slices.items():
        tid, stack = r.thread_of(uuid), []
        for s in sorted(slices, key=lambda s: (s.begin, s.depth)) if tid else []:
            del stack[s.depth:]
            source = s.event.source_location_iid
            stack.append((r.category_of(s.event), r.sources[source].function_name if source else None, s.begin))
            runs = [i for i, (category, _, _) in enumerate(stack) if category in ('poll', 'drop')]
            if runs and stack[-1][0] == 'future_poll':
                yield tid, stack[runs[-1]:]


@test_each
def not_upside_down(env, trace):
    """No poll that was recorded lies in a slice of what its run's path has inside of that future."""
    chains, nr = chains_of(env, trace), 0
    # made up events have polls in the time of a run that are not in it
    tasks = collections.defaultdict(set)
    for line in env.ndjson(trace):
        if line['kind'] == 'future_poll':
            tasks[line['tid'], line['time_ns']].add(line.get('task'))
    for tid, stack in stacks_of_polls(test_perfetto.read(env, trace)):
        task, branches = chains.get((tid, stack[0][2]), (None, []))
        _, poll, begin = stack[-1]
        for chain in branches if task in tasks[tid, begin] else []:
            nr += any(poll in names for names in chain)
            wrong = [name for category, name, _ in stack if category == 'future' and lies_around(chain, poll, name)]
            same(f'what {poll} lies in but is around, in {stack} of {chain}', wrong, [])
    check(nr or trace.name != 'nested-tokio', 'no poll of a future that is on a path')

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Perfetto files, parsed by the classes that Perfetto's own schema makes, and then read as its trace processor does:
packets sorted by time, the order of the file among equals, a slice's end closes what began last on its track."""
import collections
import os
import re

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import BuiltinClock, Trace, TracePacket, TrackDescriptor, TrackEvent

import sums
from exports import check, keeps_latest, same, test, test_each

OWN_CLOCK = 64
MANY = 'many short polls'
Slice = collections.namedtuple('Slice', 'name begin end event depth')


def check_known(message, path='trace'):
    """Nothing that the schema does not know."""
    same(f'unknown fields in {path}', len(UnknownFieldSet(message)), 0)
    for field, value in message.ListFields():
        if field.message_type:
            for each in value if field.is_repeated else [value]:
                check_known(each, f'{path}.{field.name}')


class Reader:
    """A file, with every reference resolved and every slice closed."""

    def __init__(self, path):
        self.trace = Trace()
        with open(path, 'rb') as f:
            self.trace.ParseFromString(f.read())
        self.names, self.categories, self.args, self.strings, self.sources = {}, {}, {}, {}, {}
        self.tracks = {}
        self.events = []
        for nr, packet in enumerate(self.trace.packet):
            self.check_packet(nr, packet)
            self.define(packet)
            if packet.HasField('track_event'):
                self.check_references(packet.track_event)
                self.events.append((packet.timestamp, packet.track_event))
        self.events.sort(key=lambda e: e[0])  # stable
        self.slices = collections.defaultdict(list)  # by track
        self.instants = collections.defaultdict(list)
        self.counters = collections.defaultdict(list)
        self.replay()

    def check_packet(self, nr, packet):
        same('sequence', packet.trusted_packet_sequence_id, 1)
        same('flags', packet.sequence_flags, TracePacket.SEQ_INCREMENTAL_STATE_CLEARED if nr == 0 else
             TracePacket.SEQ_NEEDS_INCREMENTAL_STATE)
        check(nr > 0 or packet.HasField('clock_snapshot'), 'the first packet has the clocks')
        check(packet.HasField('timestamp') != packet.HasField('clock_snapshot'), f'packet {nr} has a time')

    def define(self, packet):
        data = packet.interned_data
        for into, entries in ((self.names, data.event_names), (self.categories, data.event_categories),
                              (self.args, data.debug_annotation_names)):
            for e in entries:
                check(e.iid and e.iid not in into, f'iid {e.iid} is defined once')
                into[e.iid] = e.name
        for e in data.debug_annotation_string_values:
            self.strings[e.iid] = e.str.decode()
        for e in data.source_locations:
            self.sources[e.iid] = e
        if packet.HasField('track_descriptor'):
            track = packet.track_descriptor
            check(track.uuid not in self.tracks, f'track {track.uuid} is defined once')
            check(not track.HasField('parent_uuid') or track.parent_uuid in self.tracks, 'a parent comes first')
            self.tracks[track.uuid] = track

    def check_references(self, ev):
        check(ev.track_uuid in self.tracks, f'track {ev.track_uuid} is defined')
        for iid in ev.category_iids:
            check(iid in self.categories, f'category {iid} is defined')
        if ev.HasField('name_iid'):
            check(ev.name_iid in self.names, f'name {ev.name_iid} is defined')
        if ev.HasField('source_location_iid'):
            check(ev.source_location_iid in self.sources, f'source location {ev.source_location_iid} is defined')
        for a in ev.debug_annotations:
            check(a.name_iid in self.args if a.HasField('name_iid') else a.name, 'an argument has a name')
            if a.HasField('string_value_iid'):
                check(a.string_value_iid in self.strings, f'string {a.string_value_iid} is defined')

    def name_of(self, ev):
        return self.names[ev.name_iid] if ev.HasField('name_iid') else ev.name

    def args_of(self, ev):
        result = {}
        for a in ev.debug_annotations:
            name = self.args[a.name_iid] if a.HasField('name_iid') else a.name
            value = self.strings[a.string_value_iid] if a.HasField('string_value_iid') else \
                getattr(a, a.WhichOneof('value'))
            check(name not in result, f'{name} stands there once')
            result[name] = value
        return result

    def category_of(self, ev):
        return self.categories[ev.category_iids[0]] if ev.category_iids else None

    def replay(self):
        open_slices = collections.defaultdict(list)
        for time, ev in self.events:
            stack = open_slices[ev.track_uuid]
            if ev.type == TrackEvent.TYPE_SLICE_BEGIN:
                stack.append((time, ev))
            elif ev.type == TrackEvent.TYPE_SLICE_END:
                check(stack, f'an end at {time} on {ev.track_uuid} without a beginning')
                begin, first = stack.pop()
                self.slices[ev.track_uuid].append(Slice(self.name_of(first), begin, time, first, len(stack)))
            elif ev.type == TrackEvent.TYPE_INSTANT:
                self.instants[ev.track_uuid].append((time, ev))
            elif ev.type == TrackEvent.TYPE_COUNTER:
                self.counters[ev.track_uuid].append((time, ev.double_counter_value))
            else:
                check(False, f'an event of type {ev.type}')
        for uuid, stack in open_slices.items():
            same(f'slices left open on track {uuid}', stack, [])

    def thread_of(self, uuid):
        """The tid whose track it is, or below which it is; None."""
        track = self.tracks[uuid]
        while not track.HasField('thread') and track.HasField('parent_uuid'):
            track = self.tracks[track.parent_uuid]
        return track.thread.tid if track.HasField('thread') else None

    def runs(self):
        for uuid, slices in self.slices.items():
            for s in slices:
                if self.category_of(s.event) in ('poll', 'drop'):
                    yield self.thread_of(uuid), s

    def tracks_called(self, name):
        return [t.uuid for t in self.tracks.values() if t.name == name]

    def task_tracks(self):
        parent, = self.tracks_called('tasks')
        return [t for t in self.tracks.values() if t.parent_uuid == parent]


@keeps_latest
def read(env, trace, *options):
    path, said = env.export(trace, 'perfetto', *options, suffix='pftrace')
    same('said', said, '')
    return Reader(path)


@test_each
def known(env, trace):
    """All that is written is in Perfetto's schema, and the process and its threads are there."""
    r = read(env, trace)
    check_known(r.trace)
    process = [t.process for t in r.tracks.values() if t.HasField('process')]
    same('processes', [p.pid for p in process], [env.report(trace)['pid']])
    threads = {t.thread.tid for t in r.tracks.values() if t.HasField('thread')}
    check({w['tid'] for w in env.report(trace)['workers']} <= threads, 'each worker has a track')


@test_each
def clocks(env, trace):
    """The first packet relates our clock to the system's, and all stamps lie within the recording."""
    r = read(env, trace)
    first = r.trace.packet[0]
    same('clock', first.trace_packet_defaults.timestamp_clock_id, OWN_CLOCK)
    ids = [c.clock_id for c in first.clock_snapshot.clocks]
    same('clocks', ids[:3], [OWN_CLOCK, BuiltinClock.BUILTIN_CLOCK_MONOTONIC, BuiltinClock.BUILTIN_CLOCK_BOOTTIME])
    snapshots = [p for p in r.trace.packet if p.HasField('clock_snapshot')]
    check(trace.is_absurd or len(snapshots) == 1, f'nobody suspended the machine: {len(snapshots)} snapshots')
    same('time 0', first.clock_snapshot.clocks[0].timestamp, 0)
    check(all(0 <= t <= env.report(trace)['duration_ns'] for t, _ in r.events), 'stamps lie within the recording')


def truth_of_runs(env, trace, *options):
    return collections.Counter((t['tid'], t['task'], t['time_ns'], t['busy_ns'], t['kind'])
                               for t in env.ndjson(trace, *options) if t['kind'] in ('poll', 'drop'))


def check_runs(env, trace, r, *options):
    got = collections.Counter((tid, r.args_of(s.event)['task'], s.begin, s.end - s.begin, r.category_of(s.event))
                              for tid, s in r.runs())
    want = truth_of_runs(env, trace, *options)
    same('runs too many', list((got - want).items())[:3], [])
    same('runs missing', list((want - got).items())[:3], [])


@test_each
def slices(env, trace):
    """Each run is a slice on its thread, from its start to its end, whatever it nests with."""
    check_runs(env, trace, read(env, trace))


@test_each
def part(env, trace):
    """The same of a part of the time, where many runs begin at once."""
    options = ['--time-range=30%..60%']
    r = read(env, trace, *options)
    check_runs(env, trace, r, *options)


@test
def nested(env):
    """Runs of orderly traces nest as they ran, also where they begin together, and sleeps lie in their run."""
    depths = collections.Counter()
    for seed in (2, 4, 6, 8):
        for options in ([], ['--time-range=50%..100%']):
            r = read(env, env.trace(f'seed {seed}'), *options)
            depths.update(s.depth for _, s in r.runs())
    check(depths[0] and depths[1] and depths[2], f'some are nested: {depths}')
    r = read(env, env.trace('blocks'))
    sleeps = [s for slices in r.slices.values() for s in slices if r.category_of(s.event) == 'sleep']
    check(sleeps and all(s.depth > 0 for s in sleeps), 'sleeps lie in runs')
    check({s.name for s in sleeps} & {'asleep: futex', 'asleep: sleep'}, f'and say in what: {sleeps[0].name}')
    blocked = sum(r.args_of(s.event).get('blocked_ns', 0) for _, s in r.runs())
    same('time asleep in runs', sum(s.end - s.begin for s in sleeps), blocked)


@test_each
def totals(env, trace):
    """Slices add up to the report's busy time of each type, arguments to its scheduled and idle time before runs."""
    r = read(env, trace)
    got, want = collections.Counter(), collections.Counter()
    for t in env.report(trace)['tasks']:
        want[t['id'], t['type']] += t['busy_ns']
    for _, s in r.runs():
        key = r.args_of(s.event)['task'], r.sources[s.event.source_location_iid].function_name
        # what turns out to be the runtime's own midway is no task of the report
        if key in want or not trace.name.startswith('seed'):
            got[key] += s.end - s.begin
    same('busy time by task and type', +got, +want)
    args = [r.args_of(s.event) for _, s in r.runs()]
    told = [t for t in env.ndjson(trace) if t['kind'] in ('poll', 'drop')]
    for key in ('sched_ns', 'idle_ns'):
        same(key, sum(a.get(key, 0) for a in args), sum(t.get(key, 0) for t in told))


def named(env, trace, task):
    """What is made up gives one id to tasks of several types."""
    return task['id'], sums.labels(env.report(trace))[task['type_id']]


@test_each
def flows(env, trace):
    """Each flow has both its ends, in the order of time, and there is one for each wake that is known to have led to a run."""
    r = read(env, trace)
    begins, ends = {}, {}
    for time, ev in r.events:
        for flow in ev.flow_ids:
            check(flow not in begins, f'flow {flow} begins once')
            begins[flow] = (time, r.name_of(ev))
        for flow in ev.terminating_flow_ids:
            check(flow not in ends, f'flow {flow} ends once')
            ends[flow] = (time, r.args_of(ev), r.name_of(ev))
    same('flows with one end', begins.keys() ^ ends.keys(), set())
    check(all(begins[f][0] <= ends[f][0] for f in begins), 'what causes comes first')
    same('instants without a flow', [e for t, e in r.events if r.category_of(e) == 'wake' and not e.flow_ids], [])
    wakes = [f for f in begins if begins[f][1] == 'wake']
    same('arrows to oneself', [f for f in wakes if ends[f][1]['woken_by'] == 'self'], [])
    if trace.is_absurd:
        return
    told = collections.Counter((t['task'], t['time_ns']) for t in env.ndjson(trace)
                               if t['kind'] == 'wake' and 'tid' in t and t['cause'] != 'self')
    got = collections.Counter((ends[f][1]['task'], begins[f][0]) for f in wakes)
    check(bool(got) == bool(told) and not got - told, f'arrows from wakes that are: {list((got - told).items())[:3]}')
    ran = {t['task'] for t in env.ndjson(trace) if t['kind'] in ('poll', 'drop')}
    is_made_up = trace.name.startswith('seed')
    tasks = [(t, named(env, trace, t) if is_made_up else t['id']) for t in env.report(trace)['tasks']]
    exact = {key for t, key in tasks if t['spawn'] == 'exact' and t['id'] in ran}
    spawned = {(args['task'], name.removeprefix('drop: ')) if is_made_up else args['task']
               for _, args, name in (ends[f] for f in begins if begins[f][1] == 'spawn')}
    # what turns out to be the runtime's own midway is no task of the report
    known = {key for _, key in tasks} if is_made_up else spawned
    same('tasks whose spawn was seen', (spawned & known) - exact, set())
    check(is_made_up or not exact - spawned, 'each spawn that was seen has an arrow')


@test
def correlation(env):
    """All polls of a task have one correlation id, and no other task has it."""
    r = read(env, env.trace('exact'))
    # root futures are numbered by themselves
    pairs = {(r.args_of(s.event)['task'], s.event.correlation_id) for _, s in r.runs() if s.name != 'block_on'}
    same('pairs', len(pairs), len({p[0] for p in pairs}))
    same('ids', len(pairs), len({p[1] for p in pairs}))


def integral(points, end):
    return sum(value * (until - time) for (time, value), (until, _) in zip(points, points[1:] + [(end, 0)]))


@test_each
def counters(env, trace):
    """Counters enclose the time that tasks live, wait and run in the report."""
    r = read(env, trace)
    report = env.report(trace)
    tasks = report['tasks']
    end = report['duration_ns']
    want = {'live tasks': sum((t['end_ns'] if t['end_ns'] is not None else end) - t['spawn_ns'] for t in tasks),
            'scheduled tasks': sum(t['sched_ns'] for t in tasks), 'running tasks': sum(t['busy_ns'] for t in tasks)}
    for name, ns in want.items():
        uuid, = r.tracks_called(name)
        points = r.counters[uuid]
        check(points and points == sorted(points, key=lambda p: p[0]), f'{name} has values in order')
        got = integral(points, end)
        # what turns out to be the runtime's own midway is no task of the report
        share = 0.02 if trace.name.startswith('seed') else 1e-6
        check(abs(got - ns) <= share * ns + 1, f'{name}: {got} for {ns} ns')
    busy = sum(integral(r.counters[r.tracks_called(n)[0]], end) for n in ('busy workers', 'busy blocking threads'))
    check(busy <= want['running tasks'] * (1 + share) + 1, 'a busy thread runs a task')
    if not trace.is_absurd:
        threads = sum(w['busy_ns'] for w in report['workers'])
        # a thread is busy a little longer: until it stamps the end of a run whose task runs elsewhere already
        check(threads / 2 <= busy <= threads * (1 + share) + 1, f'threads are busy for {threads}, not {busy}')


STATES = ('running', 'scheduled', 'idle', 'unknown', 'dropping')


def check_task_track(r, track, tasks):
    number = int(re.match(r'task (\d+) ', track.name).group(1))
    sums = collections.Counter()
    slices = sorted((s for s in r.slices[track.uuid] if r.category_of(s.event) == 'state'), key=lambda s: (s.begin, s.end))
    futures = [s for s in r.slices[track.uuid] if r.category_of(s.event) == 'future']
    same('states and futures', len(slices) + len(futures), len(r.slices[track.uuid]))
    for s in slices:
        args = r.args_of(s.event)
        if s.name == MANY:
            parts = {state: args.get(state + '_ns', 0) for state in ('running', 'scheduled', 'idle', 'unknown')}
            same('parts of it', sum(parts.values()), s.end - s.begin)
            sums.update(parts)
        elif s.name in STATES:
            sums[s.name] += s.end - s.begin
        else:  # what it waits for, and where
            sums['idle'] += s.end - s.begin
        if s.begin < s.end:
            around = sum(f.begin <= s.begin and s.end <= f.end and f.begin < f.end for f in futures)
            same('futures around a state', s.depth, around)
    for a, b in zip(slices, slices[1:]):
        same('states follow each other', b.begin, a.end)
    got = {'busy_ns': sums['running'] + sums['dropping'], 'sched_ns': sums['scheduled'], 'idle_ns': sums['idle'],
           'unknown_ns': sums['unknown']}
    fits = [t for t in tasks if t['id'] == number and got == {k: t[k] for k in got}]
    check(fits, f'{track.name} is drawn as {got}, and is {[t for t in tasks if t["id"] == number]}')
    if slices:
        check(any(slices[0].begin == t['spawn_ns'] for t in fits), 'it begins with its spawn')
    return number


@test_each
def task_tracks(env, trace):
    """The worst tasks have a track that accounts for every nanosecond of their lives."""
    r = read(env, trace, '--tasks=7')
    tasks = env.report(trace)['tasks']
    tracks = r.task_tracks()
    same('tracks', len(tracks), min(7, len(tasks)))
    if trace.name.startswith('seed'):  # what turns out to be the runtime's own midway is no task of the report
        known = {'task %d %s' % named(env, trace, t) for t in tasks}
        tracks = [t for t in tracks if t.name in known]
    drawn = {check_task_track(r, t, tasks) for t in tracks}
    if not env.report(trace)['findings']:
        worst = max(tasks, key=lambda t: max(t['max_poll_ns'], t['max_sched_ns']))
        check(worst['id'] in drawn, 'the worst is among them')
    same('tracks of no tasks', read(env, trace, '--tasks=0').task_tracks(), [])


@test
def dense(env):
    """A task with very many polls has a track of some thousand slices, and every nanosecond is in them; polls are all there."""
    trace, truth = env.made('spin', '200000')
    r = read(env, trace)
    track, = r.task_tracks()
    slices = r.slices[track.uuid]
    check(100 < len(slices) <= 2 * 8192 + 1, f'{len(slices)} slices')
    same('it', check_task_track(r, track, env.report(trace)['tasks']), 7)
    naps = [s for s in slices if s.name == 'idle' and s.end - s.begin > 900000]
    same('what is long stands alone', len(naps), truth['polls'] // 5000 - 1)
    many = [s for s in slices if s.name == MANY]
    alone = sum(s.name == 'running' for s in slices)
    same('polls in it', sum(r.args_of(s.event)['polls'] for s in many) + alone, truth['polls'])
    same('polls', len(list(r.runs())), truth['polls'])
    size = os.path.getsize(env.export(trace, 'perfetto')[0])
    check(size < 80 * truth['polls'], f'{size / truth["polls"]} bytes for a poll')


@test
def one_task(env):
    """--task gives one task a track, whichever it is; an id that is not there is told."""
    trace = env.trace('wakes')
    tasks = env.report(trace)['tasks']
    for t in tasks[:3]:
        r = read(env, trace, f'--task={t["id"]}')
        same('drawn', [check_task_track(r, track, tasks) for track in r.task_tracks()], [t['id']])
    _, said = env.export(trace, 'perfetto', '--task=987654321')
    check('no task has that id' in said, said)


@test_each
def findings(env, trace):
    """Each finding of the report is an instant with its severity, its sentence and its advice."""
    r = read(env, trace)
    uuid, = r.tracks_called('findings')
    got = [(r.name_of(ev).split(':')[0], r.args_of(ev)) for _, ev in r.instants[uuid]]
    lost = [args['events'] for name, args in got if name == 'events were lost']
    same('lost', lost, [env.report(trace)['lost']] if env.report(trace)['lost'] else [])
    got = [(name, a['severity'], a['advice'], a.get('task')) for name, a in got if name != 'events were lost']
    want = [(f['rule'], f['severity'], f['advice'], f.get('task')) for f in env.report(trace)['findings']]
    key = lambda f: [str(x) for x in f]
    same('findings', sorted(got, key=key), sorted(want, key=key))
    if trace.name == 'blocks':
        check(want, 'blocks is a program with faults')


@test
def thinned(env):
    """Beyond --max-size exactly the shortest polls are missing, which is told; counters and findings are whole."""
    trace = env.trace('storm')
    whole_path, _ = env.export(trace, 'perfetto', '--tasks=0')
    limit = os.path.getsize(whole_path) // 2 + 700000
    path, said = env.export(trace, 'perfetto', '--tasks=0', f'--max-size={limit}')
    check(os.path.getsize(path) <= limit, f'{os.path.getsize(path)} bytes are more than {limit}')
    m = re.search(r'([\d,]+) of ([\d,]+) polls, all that took less than', said)
    check(m, said)
    left, of = (int(n.replace(',', '')) for n in m.groups())
    whole, thin = Reader(whole_path), Reader(path)
    lengths = sorted(s.end - s.begin for _, s in whole.runs())
    kept = sorted(s.end - s.begin for _, s in thin.runs())
    same('polls', of, len(lengths))
    same('left out', left, len(lengths) - len(kept))
    check(0 < left < of, f'{left} of {of} left out')
    same('the longest are kept', kept, lengths[left:])
    end = env.report(trace)['duration_ns']
    same('counters', thin.counters.keys(), whole.counters.keys())
    for uuid, points in thin.counters.items():  # they may be coarser, and enclose the same
        want = integral(whole.counters[uuid], end)
        check(abs(integral(points, end) - want) <= want * 1e-6 + 1, f'{uuid}: {integral(points, end)}, not {want}')


@test
def filtered(env):
    """--filter keeps the polls of the tasks that it wants, and of no others."""
    trace = env.trace('wakes')
    report = env.report(trace)
    wanted = report['tasks'][0]['id']
    r = read(env, trace, f'--filter=id={wanted}')
    same('tasks', {r.args_of(s.event)['task'] for _, s in r.runs()}, {wanted})

# SPDX-License-Identifier: MIT OR Apache-2.0
"""speedscope's JSON, against the schema that speedscope itself publishes in its npm package."""
import collections
import functools
import json
import os
import subprocess
import tarfile
import tempfile

import jsonschema

import sums
from exports import check, same, test, test_each

PACKAGE = 'speedscope@1.25.0'
INSIDE = 'package/dist/release/file-format-schema.json'


@functools.cache
def validator(build):
    folder = os.path.join(build, 'export-npm')
    path = os.path.join(folder, PACKAGE.replace('@', '-') + '.tgz')
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as fresh:  # whole or not there, for who looks at the same time
            subprocess.run(['npm', 'pack', '--silent', PACKAGE], cwd=fresh, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=300)
            os.replace(os.path.join(fresh, os.path.basename(path)), path)
    with tarfile.open(path) as package:
        schema = json.load(package.extractfile(INSIDE))
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def read(env, trace, *options):
    path, _ = env.export(trace, 'speedscope', *options)
    with open(path, encoding='utf-8') as f:
        data = json.load(f)
    errors = [e.message for e in validator(env.build).iter_errors(data)]
    same('what the schema forbids', errors[:3], [])
    return data


@test
def schema(env):
    """The schema is one that finds faults."""
    data = read(env, env.trace('wakes'))
    for spoil in (lambda d: d['profiles'][0].pop('unit'), lambda d: d['profiles'][0]['weights'].append('x'),
                  lambda d: d['shared'].pop('frames'), lambda d: d.pop('$schema')):
        copy = json.loads(json.dumps(data))
        spoil(copy)
        check(not validator(env.build).is_valid(copy), 'it is not valid any more')


@test_each
def totals(env, trace):
    """Each profile has the report's busy, scheduled or idle time of each type, exactly; and so in parts of a recording."""
    for options in ((), *sums.VIEWS):
        data, report = read(env, trace, *options), env.report(trace, *options)
        names = [f['name'] for f in data['shared']['frames']]
        used = {i for p in data['profiles'][:len(sums.STATES)] for stack in p['samples'] for i in stack}
        same('names that are there twice', [n for n, nr in collections.Counter(names[i] for i in used).items() if nr > 1], [])
        waiting = ['waiting'] * any(t['kind'] == 'path' for t in env.ndjson(trace))
        same('profiles', [p['name'].split(':')[0] for p in data['profiles']], [*sums.STATES, *waiting])
        for profile, key in zip(data['profiles'], sums.STATES.values()):
            got = collections.Counter()
            same('samples and weights', len(profile['samples']), len(profile['weights']))
            for stack, ns in zip(profile['samples'], profile['weights']):
                got[names[stack[-1]]] += ns
            same(key, dict(got), sums.by_label(report, key))
            same('ends', (profile['startValue'], profile['endValue']), (0, sum(profile['weights'])))


@test
def weight(env):
    """--weight chooses the profile that is shown first; types stand where their futures are defined."""
    for nr, name in enumerate(sums.STATES):
        same('active', read(env, env.trace('life'), f'--weight={name}')['activeProfileIndex'], nr)
    frames = {f['name']: f for f in read(env, env.trace('hard'))['shared']['frames']}
    same('place', frames['b::twin #3'], {'name': 'b::twin #3', 'file': 'src/b.rs', 'line': 7})
    same('no place', frames['b::twin #5'], {'name': 'b::twin #5'})

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The HTML page, opened in a real browser from a file: what it shows, what it does when somebody uses it, what it
costs, and what strings of the target cannot do to it. What is asked inside of the page is html/probe.js."""
import atexit
import collections
import functools
import json
import os
import re

from browser import Browser
from exports import PROGRAMS, check, same, test, test_each

FRAME_MS = 50  # of a zoom or a move, with a million polls
UNSEEN = re.compile('[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]')
LABELS = 168  # pixels at the left of the timeline
with open(os.path.join(os.path.dirname(__file__), 'html/probe.js'), encoding='utf-8') as probe:
    PROBE = probe.read()


def made(env, *args):
    return env.made(*args)


@functools.cache
def page_of(env, trace, *options):
    return env.export(trace, 'html', *options, suffix='html')


def a_million(env):
    return made(env, 'polls', '1000000', '8')


@functools.cache
def browser(width, height, dark):
    """One for all pages of a size: starting it is what takes time."""
    b = Browser(width, height, dark)
    atexit.register(b.close)
    return b


class Page:
    """A page that is open; at its end it has said nothing to the console and asked for nothing but its own file."""

    def __init__(self, env, trace, *options, width=1280, height=900, dark=False):
        self.path, self.said = page_of(env, trace, *options)
        self.browser = browser(width, height, dark)
        self.browser.open(self.path)
        same('ready', self.run('document.documentElement.dataset.ready'), 'yes')
        self.run(PROBE)

    def __getattr__(self, name):
        return getattr(self.browser, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if not any(error):
            self.frame()
            same('console', self.console, [])
            same('requests', self.requests, ['file://' + self.path])

    def ask(self, function, *args):
        """What a function of probe.js answers."""
        return self.run(f'probe.{function}({", ".join(map(json.dumps, args))})')

    def texts(self, selector):
        return self.run(f'[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)')

    def total(self, key):
        return int(self.run(f'document.querySelector(\'#totals [data-key="{key}"]\').dataset.value'))

    def frame(self):
        self.run('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')

    def view(self):
        self.frame()
        return self.run('futrace.timeline.view')

    def place(self, selector):
        """Its left upper corner in the window, scrolled to where it can be seen."""
        self.run(f'document.querySelector({json.dumps(selector)}).scrollIntoView({{block: "center"}})')
        self.frame()
        box = self.run(f'document.querySelector({json.dumps(selector)}).getBoundingClientRect().toJSON()')
        return box['x'], box['y']


@test_each
def shows_every_poll(env, trace):
    """Each poll is in the page with its times, task and thread, for every trace, absurd ones too."""
    runs = [t for t in env.ndjson(trace) if t['kind'] in ('poll', 'drop')]
    wanted = sorted([t['time_ns'], t['busy_ns'], t['blocked_ns'], t.get('sched_ns', -1), t['task'], t['tid'],
                     t['kind'] == 'drop'] for t in runs)
    with Page(env, trace) as page:
        same('polls', sorted(page.ask('runs')), wanted)
        same('polls in lanes', page.ask('nrInLanes'), len(wanted))


@test_each
def shows_waiting(env, trace):
    """Where await points are known, the flame graph is as wide as all waiting, and each frame as wide as what is in it."""
    path, _ = env.export(trace, 'folded', '--weight=waiting')
    with open(path, encoding='utf-8') as f:
        wanted = sum(int(line.rpartition(' ')[2]) for line in f)
    with Page(env, trace) as page:
        if not any(t['kind'] == 'path' for t in env.ndjson(trace)):
            same('hidden', page.run('document.getElementById("waiting").hidden'), True)
            return
        same('waiting', page.run('futrace.flames.root.total'), wanted)
        same('frames', page.run('document.querySelectorAll("#flames .flame").length > 1'), True)
        same('rows', page.run('document.querySelectorAll("#awaits-table tbody tr").length > 2'), True)


@test_each
def shows_futures(env, trace):
    """The table of futures has the rows of the report, with the same polls, exact where those are."""
    out = env.run(env.futrace, 'report', '--by=future', '--json', '--limit=0', trace.path)[0]
    wanted = collections.Counter(
        (r['polls_from'], r['count'], r['dropped'], r['polls'], r['poll_ns'], r['wait_ns'],
         *((r['exact_self_ns'], r['exact_max_ns'], r['exact_ready'], r['exact_unwound']) if r['polls_from'] != 'paths' else (0,) * 4))
        for r in json.loads(out)['table']['rows'])
    with Page(env, trace) as page:
        same('hidden', page.run('document.getElementById("futures").hidden'), not wanted)
        got = page.run('futrace.data.facts.futures.map(f => '
                       '[f.by, f.count, f.dropped, f.polls, f.poll_ns, f.wait_ns, f.self_ns, f.max_ns, f.ready, f.unwound])')
        same('rows', collections.Counter(map(tuple, got)), wanted)
        if wanted:
            told = page.run('document.getElementById("futures-count").textContent')
            same('told', int(told.split()[0].replace(',', '')), wanted.total())


@test_each
def knows_who_woke(env, trace):
    """Where the page says who woke a task there was such a wake, and of a program it knows most of them."""
    wakes = collections.defaultdict(list)
    for t in env.ndjson(trace):
        if t['kind'] == 'wake':
            wakes[t['task'], t['cause'], t.get('waker'), t.get('tid')].append(t['time_ns'])
    with Page(env, trace) as page:
        told = page.ask('wakes')
        for ready, *who in told:
            check(tuple(who) in wakes, f'{who} was no wake')
            # one that was woken while it ran is ready after that; simulated tasks are woken again and again
            check(trace.name not in PROGRAMS or min(wakes[tuple(who)]) <= ready, f'{who} came after {ready}')
        nr = sum(map(len, wakes.values()))
        check(trace.name not in PROGRAMS or len(told) >= nr / 2, f'{len(told)} of {nr} wakes are told')


@test_each
def shows_the_totals(env, trace):
    """Tasks, polls, duration, loss and cost that the page shows are those of the report."""
    report = env.report(trace)
    with Page(env, trace) as page:
        ids = sorted(page.run('[...futrace.data.columns["task.id"]]'))
        same('tasks', ids, sorted(t['id'] for t in report['tasks']))
        same('tasks shown', page.total('tasks'), len(report['tasks']))
        same('polls shown', page.total('polls'), sum(t['polls'] for t in report['tasks']))
        same('duration', page.total('duration'), report['duration_ns'])
        same('lost', page.total('lost'), report['lost'])
        same('cost', page.total('cost'), report['cost']['tool_cpu_ns'])
        same('busy workers', page.total('busy'), sum(w['busy_ns'] for w in report['workers'] if w['kind'] == 'worker'))


@test_each
def tells_the_same_findings(env, trace):
    """The findings of the page are those of the report, in the same order and the same words."""
    report = env.report(trace)
    with Page(env, trace) as page:
        same('what', page.texts('.finding .what'), [f['what'] for f in report['findings']])
        same('advice', page.texts('.finding .advice'), [f['advice'] or '' for f in report['findings']])
        same('severity', page.texts('.finding .pill'), [f['severity'] for f in report['findings']])
        same('none', len(page.texts('.findings .none')), int(not report['findings']))


@test
def knows_how_busy_threads_were(env):
    """The bins of each thread add up to its busy time, and those of all tasks to their lives."""
    trace, truth = a_million(env)
    report = env.report(trace)
    with Page(env, trace) as page:
        got = page.ask('sums')
        for w in report['workers']:
            busy, blocked = got['threads'][str(w['tid'])]
            check(abs(busy - w['busy_ns']) < w['busy_ns'] / 1000, f'busy on {w["tid"]}: {busy}, not {w["busy_ns"]}')
            check(abs(blocked - w['blocked_ns']) < w['busy_ns'] / 1000, f'blocked on {w["tid"]}: {blocked}')
        lives = sum(sum(t[k] for k in ('busy_ns', 'sched_ns', 'idle_ns', 'unknown_ns')) for t in report['tasks'])
        check(abs(got['live'] - lives) < lives / 1e6, f'lives {got["live"]}, not {lives}')
        same('busy in all', sum(w['busy_ns'] for w in report['workers']), truth['busy_ns'])


@test
def counts_all_in_histograms(env):
    """Histograms hold every poll, of all types and of one, and their maximum is the true one."""
    trace, truth = a_million(env)
    report = env.report(trace)
    with Page(env, trace) as page:
        figures = 'document.getElementById("poll-figures").dataset'
        same('polls', int(page.run(figures + '.nr')), truth['polls'])
        same('max', int(page.run(figures + '.max')), truth['max_ns'])
        same('bins', page.run('probe.nrInBins(futrace.data.facts.totals.poll)'), truth['polls'])
        name = report['tasks'][0]['type']
        page.ask('showTimesOf', name)
        of_type = [t for t in report['tasks'] if t['type'] == name]
        same('polls of ' + name, int(page.run(figures + '.nr')), sum(t['polls'] for t in of_type))
        same('max of ' + name, int(page.run(figures + '.max')), max(t['max_poll_ns'] for t in of_type))


@test
def stays_quick_with_a_million_polls(env):
    """Zooming into and moving through a million polls takes less than a moment for each picture."""
    trace, truth = a_million(env)
    with Page(env, trace, width=1920, height=1000) as page:
        same('polls', page.run('futrace.data.nr'), truth['polls'])
        times = page.ask('times')
        times.sort()
        # others may use the machine: the slowest picture says nothing, most of them do
        half, most, all_of_them = times[len(times) // 2], times[len(times) * 3 // 4], times[-1]
        check(most < FRAME_MS, f'{most:.1f} ms for a picture')
        print(f'     {len(times)} pictures: half of them in {half:.1f} ms, the slowest in {all_of_them:.1f} ms')


def span(view):
    return view['to'] - view['from']


@test
def obeys_mouse_and_keys(env):
    """Wheel, dragging, a box, keys and buttons move the timeline; a click selects a poll, and its task is told."""
    trace, _ = a_million(env)
    with Page(env, trace) as page:
        x, y = page.place('#polls')
        whole = page.view()
        page.mouse('mouseWheel', x + 600, y + 60, deltaX=0, deltaY=-300)
        same('not clicked, the wheel scrolls', page.view(), whole)
        x, y = page.place('#polls')
        page.click(x + 600, y + 60)
        page.mouse('mouseWheel', x + 600, y + 60, deltaX=0, deltaY=-300)
        near = page.view()
        check(span(near) < span(whole) * 0.7, f'the wheel zooms: {near}')
        page.drag(x + 700, y + 60, x + 500, y + 60)
        moved = page.view()
        check(moved['from'] > near['from'], 'dragging to the left goes on in time')
        check(abs(span(moved) - span(near)) < 1, 'and does not zoom')
        page.drag(x + 500, y + 60, x + 600, y + 60, modifiers=8)
        box = page.view()
        part = 100 / (page.run('futrace.timeline.width') - LABELS)
        check(abs(span(box) / span(moved) - part) < 0.01, f'a box of 100 pixels: {box} of {moved}')
        for key, wanted in (('w', lambda a, b: span(b) < span(a)), ('d', lambda a, b: b['from'] > a['from']),
                            ('a', lambda a, b: b['from'] < a['from']), ('s', lambda a, b: span(b) > span(a)),
                            ('ArrowRight', lambda a, b: b['from'] > a['from']), ('0', lambda a, b: b == whole)):
            before = page.view()
            page.key(key)
            check(wanted(before, page.view()), f'key {key}: {before} became {page.view()}')
        selects_and_tells(page)


def selects_and_tells(page):
    """The longest poll, by the pointer."""
    poll = page.ask('showLongest')
    x, y = page.place('#polls')
    page.mouse('mouseMoved', x + poll['x'], y + poll['y'])
    page.frame()
    check(f'task{poll["task"]}' in ''.join(page.texts('#tip')), f'the tip tells: {page.texts("#tip")}')
    page.click(x + poll['x'], y + poll['y'])
    same('selected', page.run('futrace.timeline.poll'), poll['poll'])
    check(f'Task {poll["task"]}' in ''.join(page.texts('#detail')), 'its task is told')
    is_last = page.run('futrace.timeline.ownPolls.at(-1) === futrace.timeline.poll')
    page.key('[' if is_last else ']')
    same('the next poll is of the same task', page.ask('selectedTask'), poll['task'])
    check(page.run('futrace.timeline.poll') != poll['poll'], 'and another one')
    page.key('Escape')
    same('nothing is selected', page.texts('#detail'), [''])


@test
def is_read_at_once(env):
    """What was found needs none of the columns; what does is not shown until it can be, and then all is."""
    trace, _ = made(env, 'spin', '200000')
    with Page(env, trace) as page:
        same('loading', page.run('getComputedStyle(document.getElementById("loading")).display'), 'none')
        same('shown', page.run('getComputedStyle(document.getElementById("timeline")).visibility'), 'visible')
        page.run('document.documentElement.dataset.ready = ""')
        same('hidden before', page.run('getComputedStyle(document.getElementById("timeline")).visibility'), 'hidden')
        want = page.texts('.finding .what')
        check(want, 'something is found')
        with open(page.path, encoding='utf-8') as f:
            text = f.read()
    path = env.new_path('html')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(re.sub('(id="columns">)[^<]*', r'\1AAAA', text))
    b = browser(1280, 900, False)
    b.open(path)
    same('ready', b.run('document.documentElement.dataset.ready'), 'failed')
    same('findings of the facts alone', b.run('[...document.querySelectorAll(".finding .what")].map(e => e.textContent)'), want)


@test
def jumps_to_a_finding(env):
    """The button of each finding shows the moment and the task that it is about."""
    trace = env.trace('blocks')
    findings = env.report(trace)['findings']
    check(findings, 'there are some')
    with Page(env, trace) as page:
        same('buttons', len(page.texts('.finding button')), len(findings))
        for i, f in enumerate(findings):
            page.run(f'document.querySelectorAll(".finding button")[{i}].click()')
            view = page.view()
            check(view['from'] <= f['time_ns'] <= view['to'], f'{f["rule"]} at {f["time_ns"]} is in {view}')
            if f['task'] is not None:
                same('task', page.ask('selectedTask'), f['task'])


@test
def sorts_and_searches_tables(env):
    """A click on a column sorts by it, another one turns it round; searching leaves what fits; only seen rows exist."""
    trace, _ = a_million(env)
    tasks = env.report(trace)['tasks']
    with Page(env, trace) as page:
        def first(column):
            return page.texts(f'#tasks-table tbody tr:nth-child(2) td:nth-child({column})')[0]

        longest = max(t['max_poll_ns'] for t in tasks)
        check(int(first(1)) in [t['id'] for t in tasks if t['max_poll_ns'] == longest], 'the longest poll comes first')
        page.ask('clickHead', 'tasks-table', 'Polls')
        same('most polls', int(first(6).replace(',', '')), max(t['polls'] for t in tasks))
        page.ask('clickHead', 'tasks-table', 'Polls')
        same('fewest polls', int(first(6).replace(',', '')), min(t['polls'] for t in tasks))
        check(page.ask('count', '#tasks-table tr') < 100, 'rows that are not seen are not there')
        page.run('document.querySelector("#tasks-table .scroll").scrollTop = 1e9')
        page.frame()
        last = page.texts('#tasks-table tbody tr:nth-last-child(2) td:nth-child(6)')[0]
        same('the last row', int(last.replace(',', '')), max(t['polls'] for t in tasks))
        page.ask('search', 'tasks-search', 'WORK_7 completed')
        wanted = [t for t in tasks if t['type'].endswith('work_7') and t['end'] == 'completed']
        same('found', page.texts('#tasks-count'), [f'{len(wanted)} of {len(tasks):,} tasks'])
        check(int(first(1)) in [t['id'] for t in wanted], 'one of them comes first')


@test
def strings_stay_strings(env):
    """Markup, script and control characters in names of types, files, threads and the program do nothing but show."""
    trace, _ = made(env, 'hostile')
    with open(page_of(env, trace)[0], encoding='utf-8') as f:
        text = f.read()
    same('script elements', re.findall(r'</?script', text, re.I), ['<script', '</script'] * 3)
    facts = text.split('id="facts">')[1].split('</script>')[0]
    same('dangerous characters', re.findall('[<>&\u2028\u2029\u0000-\u001f]', facts), [])
    with Page(env, trace) as page:
        same('variables of the page', page.run('[typeof window.hacked, typeof hacked]'), ['undefined'] * 2)
        same('elements', page.ask('count', 'img, iframe, object, embed, link, svg, script:not([id]), style'), 2)
        same('handlers', page.ask('nrHandlers'), 0)
        same('program', page.texts('#program'), ['<img src=x onerror=window.hacked=7>'])
        page.run('document.querySelector(".finding button").click()')
        page.frame()
        shown = page.run('document.body.innerText')
        check('</script><script>window.hacked=1</script>' in shown, 'the name is shown as it is')
        same('unseen characters', UNSEEN.findall(shown), [])
        check('evil\\u202edlrow' in shown, 'what would turn the text around is written out')
        same('variables of the page', page.run('typeof window.hacked'), 'undefined')


@test
def forbids_everything_else(env):
    """The page's own policy lets neither foreign script nor style nor the network in."""
    page = Page(env, made(env, 'hostile')[0])
    same('console before', page.console, [])
    same('fetch', page.ask('misbehave'), 'refused')
    same('variables of the page', page.run('typeof window.hacked'), 'undefined')
    for what in ('script-src', 'img-src', 'connect-src', 'inline event handler'):
        check(any(what in c and 'Content Security Policy' in c for c in page.console), f'{what}: {page.console}')


@test
def leaves_out_the_short_ones(env):
    """Of more polls than a page takes, all long ones stay, a sample of the others, and page and tool say so."""
    trace, truth = made(env, 'polls', '3000000', '8')
    with Page(env, trace) as page:
        kept = page.run('futrace.data.facts.kept')
        same('seen', kept['seen'], truth['polls'])
        check(kept['polls'] < truth['polls'] and kept['min_ns'] <= 1e6, f'some were left out: {kept}')
        check(f'{kept["polls"]:,} of {kept["seen"]:,} polls' in page.said, f'the tool says so: {page.said}')
        check(f'{kept["polls"]:,} of {kept["seen"]:,} polls' in page.texts('#left-out')[0], 'the page says so')
        same('polls in it', page.run('futrace.data.nr'), kept['polls'])
        same('long polls', page.ask('nrLonger', 1e6), truth['long'])
        same('sums count all', page.total('polls'), truth['polls'])
        check(os.path.getsize(page.path) < 50 << 20, 'it keeps to its size')


@test
def keeps_to_a_size(env):
    """With --max-size the file is no larger, what tells most is still there, and what is missing is told."""
    trace, truth = a_million(env)
    with Page(env, trace, '--max-size=3MB') as page:
        kept = page.run('futrace.data.facts.kept')
        check(1.5e6 < os.path.getsize(page.path) <= 3e6, f'{os.path.getsize(page.path)} bytes')
        check(f'{kept["polls"]:,} of {kept["seen"]:,} polls' in page.said, f'the tool says so: {page.said}')
        same('long polls', page.ask('nrLonger', 1e6), truth['long'])


@test
def shows_a_part(env):
    """Of a range of time and a filter the page shows what the report counts, at the times of the whole recording."""
    trace, _ = a_million(env)
    for options in (('--time-range=20%..60%',), ('--filter=type~work_7',),
                    ('--time-range=50%..', '--filter=type~work_1')):
        report = env.report(trace, *options)
        check(report['tasks'], 'there is something in it')
        with Page(env, trace, *options) as page:
            same('polls', page.total('polls'), sum(t['polls'] for t in report['tasks']))
            same('duration', page.total('duration'), report['duration_ns'])
            same('findings', page.texts('.finding .what'), [f['what'] for f in report['findings']])
            same('view', page.view(), {'from': report['totals']['start_ns'], 'to': report['totals']['end_ns']})


@test
def is_light_and_dark(env):
    """The page follows the system's colours, and a button changes them."""
    trace, _ = made(env, 'hostile')
    background = 'getComputedStyle(document.body).backgroundColor'
    with Page(env, trace) as page:
        light = page.run(background)
    with Page(env, trace, dark=True) as page:
        dark = page.run(background)
        page.run('document.getElementById("theme").click()')
        same('changed', page.run(background), light)
    check(light != dark, f'both are {light}')


@test
def fits_the_window(env):
    """Nothing sticks out at the widths that people have, and an empty recording is no error."""
    for trace in (a_million(env)[0], made(env, 'empty')[0]):
        for width in (1280, 1920):
            with Page(env, trace, width=width, height=900) as page:
                same('width', page.run('document.documentElement.scrollWidth'), width)
                hidden = page.run('[...document.querySelectorAll("section[hidden]")].map(s => s.id)')
                same('left out where no await points were recorded', hidden, ['waiting', 'futures'])
                heights = page.run('[...document.querySelectorAll("section:not([hidden])")].map(s => s.offsetHeight)')
                check(min(heights) > 40, f'a section has shrunk: {heights}')

# SPDX-License-Identifier: MIT OR Apache-2.0
"""How a scenario is told: a Script collects definitions and events, and prints them for compose.c, in order of time."""
import collections
import struct

US, MS, S = 1000, 1000 * 1000, 1000 * 1000 * 1000

Scenario = collections.namedtuple('Scenario', 'name func finds options is_full story tables')
SCENARIOS = []


def scenario(*finds, options=(), is_full=False, story=None, tables=()):
    """A function that tells a Script what happens. `finds`: the rules that must find something in it, and no others may.
    `options`: thresholds, so that few events are enough. `is_full`: all forms are kept, with the story of task `story`;
    `tables`: of one that is not full, these are kept too."""
    def register(func):
        if not func.__doc__:
            raise SyntaxError(f'{func.__name__} does not say what happens')
        SCENARIOS.append(Scenario(func.__name__, func, set(finds), list(options), is_full, story, tables))
        return func
    return register


class Task:
    def __init__(self, nr, type_nr):
        self.id, self.type, self.addr = nr, type_nr, 0x7f0000000000 + 128 * nr + 0x100000 * type_nr

    def fields(self):
        return {'task': self.id, 'type': self.type}


def escape(text):
    """Bytes or text as compose.c wants them at the end of a line."""
    data = text if isinstance(text, bytes) else text.encode()
    return ''.join(chr(b) if 0x20 <= b < 0x7f and b != 0x5c else f'\\x{b:02x}' for b in data) or '-'


def word(text):
    return escape(text).replace(' ', '\\x20')


class Script:
    def __init__(self):
        self.definitions, self.threads, self.events, self.last = [], [], [], []
        self.nr_types = self.nr_helpers = self.nr_stacks = self.nr_instances = 0
        self.nr_steps = self.nr_paths = self.nr_futures = self.nr_texts = 0

    def define(self, *words):
        self.definitions.append(' '.join(map(str, words)))

    def runtime(self, version='1.54.1', name='tokio'):
        self.define('runtime', word(name), escape(version))
        self.launch = self.type('worker launch', 'helper', place='-')

    def type(self, name, kind='task', place='src/main.rs:10', size=0, scheduler='multi_thread'):
        self.define('type', kind, scheduler, word(place) if place != '-' else '-', size, escape(name))
        self.nr_types += 1
        return self.nr_types - 1

    def stack(self, place):
        """One that tasks are spawned on, for spawn()."""
        self.define('stack', self.nr_stacks, escape(place))
        self.nr_stacks += 1
        return self.nr_stacks - 1

    def step(self, future, place='-', outer=None, function='-', leaf='-', state='waits', foreign=False):
        """A future that a task waits in, at that place, inside the step `outer`; with a function an async fn or block; foreign:
        in a library's source."""
        self.define('step', '-' if outer is None else outer, state + ',foreign' * foreign, word(place) if place != '-' else '-', leaf, word(function)
                    if function != '-' else '-', escape(future))
        self.nr_steps += 1
        return self.nr_steps - 1

    def path(self, *steps):
        """Where a task stands: the innermost step of each branch; for poll()."""
        self.nr_paths += 1
        self.define('path', self.nr_paths, *steps)
        return self.nr_paths

    def stand(self, time, task, path):
        """A task was seen to stand there, when somebody looked."""
        fields = task.fields()
        self.define('stand', time, fields['type'], fields['task'], path)

    def instance(self, type_nr, owner):
        """A runtime or LocalSet that runs tasks of this type, for owned()."""
        self.nr_instances += 1
        self.define('instance', self.nr_instances, type_nr, owner)
        return self.nr_instances

    def future(self, name, function='-', place='-', seen='all'):
        """An inner future, for inner(); of a function if the compiler made it."""
        self.define('future', seen, int(function != '-'), word(place), word(function), escape(name))
        self.nr_futures += 1
        return self.nr_futures - 1

    def inner(self, time, tid, future, ns, *end):
        """A poll of it. What is inside of that is to be given before. Returns when it is over."""
        self.at(time, tid, 'future-start', future=future)
        self.at(time + ns, tid, 'future-end', *end)
        return time + ns

    def name(self, text):
        """Of marks, spans and fields."""
        self.define('text', escape(text))
        self.nr_texts += 1
        return self.nr_texts

    def mark(self, time, tid, name, nr=0, kind='mark', **fields):
        """fields: name of the field (as name() has it) -> value."""
        for field, value in fields.items():
            field = int(field.removeprefix('f'))
            if isinstance(value, float):
                self.at(time, tid, 'field', 'float', name=field, value=int.from_bytes(struct.pack('<d', value), 'little'))
            elif isinstance(value, int):
                self.at(time, tid, 'field', *(['signed'] if value < 0 else []), name=field, value=value % 2**64)
            else:
                data = value if isinstance(value, bytes) else value.encode()
                self.at(time, tid, 'field', 'text', name=field, value=len(data))
                for i in range(0, len(data), 16):
                    lo, hi = struct.unpack('<QQ', data[i:i + 16].ljust(16, b'\0'))
                    self.at(time, tid, 'text', text_lo=lo, text_hi=hi)
        self.at(time, tid, kind, name=name, id=nr)

    def owned(self, time, tid, task, instance):
        """From now on that thread runs what the instance owns."""
        self.at(time, tid, 'instance', **task.fields(), instance=instance, owner=0)

    def task(self, nr, type_nr):
        return Task(nr, type_nr)

    def at(self, time, tid, event, *flags, **fields):
        words = [*flags, *(f'{k}={v}' for k, v in fields.items())]
        self.events.append((time, ' '.join(map(str, [time, tid, event, *words]))))

    def thread(self, tid, name, at=0):
        self.threads.append(f'thread {at} {tid} {escape(name)}')

    def worker(self, tid, name='tokio-rt-worker', at=0):
        """A thread inside a worker's main loop."""
        self.thread(tid, name, at)
        self.nr_helpers += 1
        helper = Task(1000000 + self.nr_helpers, self.launch)
        self.at(at, tid, 'run-start', **helper.fields(), addr=helper.addr)

    def spawn(self, time, tid, task, size=256, stack=None):
        self.at(time, tid, 'spawn', addr=task.addr, size=size)
        if stack is not None:
            self.at(time, tid, 'spawn-stack', stack=stack)

    def wake(self, time, tid, task, *flags):
        self.at(time, tid, 'wake', *flags, **task.fields())

    def detach(self, time, tid, task):
        """The JoinHandle is dropped unread."""
        self.at(time, tid, 'detach', **task.fields())

    def sleep(self, time, tid, how, ns):
        self.at(time, tid, 'sleep', how)
        self.at(time + ns, tid, 'awake')

    def poll(self, time, tid, task, ns, *end, start=(), asleep=None, path=None):
        """asleep: (how, ns), in the middle of it; path: where the task stood before. Returns when it is over."""
        self.at(time, tid, 'run-start', *start, **task.fields(), addr=task.addr, **({'path': path} if path else {}))
        if asleep:
            how, asleep_ns = asleep
            self.sleep(time + (ns - asleep_ns) // 2, tid, how, asleep_ns)
        self.at(time + ns, tid, 'run-end', *end)
        return time + ns

    def counted(self, time, tid, cpu_ns, wait_ns=0):
        """What the kernel has counted of a thread by then."""
        self.events.append((time, f'counted {time} {tid} {cpu_ns} {wait_ns}'))

    def end(self, time, how='exited', status=0, tool_ns=3 * MS, target_ns=900 * MS):
        self.last = [f'cpu {tool_ns} {target_ns}', f'end {time} {how} {status}']

    def text(self):
        events = [line for _, line in sorted(self.events, key=lambda e: e[0])]
        return '\n'.join(self.definitions + self.threads + events + self.last) + '\n'

# SPDX-License-Identifier: MIT OR Apache-2.0
"""What --by=machine is about: recordings that begin late, in which nothing finishes, or that last for seconds."""
from scenarios import MAIN, W1, W2, service
from script import MS, S, US, Script, scenario

PID = 4711  # of every recording here
KEPT = {'options': ['blockade=1ms'], 'tables': ['machine']}


@scenario(**KEPT)
def machines_late():
    """It begins in the middle: the spawns of most tasks were before, also that of a parent."""
    s = service()
    serve = s.type('shop::serve', place='src/main.rs:51')
    tasks = {nr: s.task(nr, serve) for nr in (3, 5, 8, 9)}
    s.poll(10 * MS, W1, tasks[3], 2 * MS)
    s.wake(20 * MS, MAIN, tasks[5])
    s.at(21 * MS, W2, 'run-start', **tasks[5].fields(), addr=tasks[5].addr)
    s.spawn(21 * MS + 10 * US, W2, tasks[8])
    s.at(21 * MS + 20 * US, W2, 'run-end', 'complete', 'wanted')
    s.poll(22 * MS, W2, tasks[8], 1 * MS, 'complete', 'wanted')
    s.wake(30 * MS, W2, tasks[3])
    s.poll(30 * MS + 5 * US, W2, tasks[3], 3 * MS, 'complete', 'wanted')
    s.wake(40 * MS, MAIN, tasks[9])
    s.end(100 * MS)
    return s


@scenario(**KEPT)
def machines_unfinished():
    """No task comes to its end: one is in a poll, one waits, one is cancelled, one was never polled."""
    s = service(3)
    serve = s.type('shop::serve', place='src/main.rs:51')
    tasks = [s.task(nr, serve) for nr in range(1, 4)]
    for task in tasks:
        s.spawn(10 * MS, MAIN, task)
    s.poll(11 * MS, W1, tasks[0], 2 * MS)
    s.poll(12 * MS, W2, tasks[1], 400 * US)
    s.at(15 * MS, W2, 'run-start', 'drop', **tasks[1].fields(), addr=tasks[1].addr)
    s.at(18 * MS, W2, 'run-end', 'complete', 'cancelled')
    s.at(20 * MS, W1, 'run-start', **tasks[2].fields(), addr=tasks[2].addr)
    s.spawn(21 * MS, W1, s.task(4, serve))
    s.end(25 * MS, 'signaled', 9)
    return s


@scenario(**KEPT)
def machines_seconds():
    """Spawns, polls and ends lie in different seconds; tasks live for a nanosecond more than a second, and for several."""
    s = service()
    serve, fetch = s.type('shop::serve', place='src/main.rs:51'), s.type('shop::fetch', place='src/fetch.rs:9')
    parent, child, long = s.task(1, serve), s.task(2, fetch), s.task(3, fetch)
    s.spawn(999_999_999, MAIN, parent)
    s.at(1 * S, W1, 'run-start', **parent.fields(), addr=parent.addr)
    s.spawn(1 * S + 5, W1, child)
    s.spawn(1 * S + 6, W1, long)
    s.at(1 * S + 999_999, W1, 'run-end')  # 1 ns less than a blockade
    s.poll(1 * S + 999_500_000, W2, child, 1 * MS)  # one, from one second into the next
    s.poll(1 * S + 999_600_000, W1, long, 1 * MS)
    s.wake(2 * S, MAIN, parent)
    s.poll(2 * S + 700_000, W1, parent, 299_999, 'complete', 'wanted')
    for second in 3, 4, 5:
        s.wake(second * S - 2 * MS, MAIN, long)
        s.poll(second * S - 1 * MS, W1, long, 1 * MS)
    s.wake(6 * S - 2 * MS, MAIN, long)
    s.poll(6 * S - 1 * MS, W1, long, 5 * MS, 'complete')
    s.wake(7 * S - 1, MAIN, child)
    s.poll(7 * S, W2, child, 4, 'complete')
    s.end(8 * S)
    return s


@scenario(**KEPT)
def machines_of_async_std():
    """Threads of an executor that no task launches, of which one has nothing to do; another thread has the program's name."""
    s = Script()
    s.runtime('1.13.2', 'async-std')
    s.thread(PID, 'shop')
    for tid in W1, W2, W2 + 1:
        s.thread(tid, 'async-std/runti')
    s.thread(W2 + 2, 'async-io')
    s.thread(W2 + 3, 'shop')
    serve = s.type('shop::serve', place='src/main.rs:51', scheduler='executor')
    tasks = [s.task(0x7f0000004000 + 0x100 * nr, serve) for nr in range(4)]
    for i, task in enumerate(tasks):
        task.addr = task.id
        s.spawn((10 + i) * MS, PID if i < 2 else W1, task)
        s.poll((10 + i) * MS + 100 * US, (W1, W2)[i % 2], task, 2 * MS if i % 2 else 50 * US, 'complete', 'wanted')
    for tid in PID, W2 + 1, W2 + 2, W2 + 3:
        s.sleep(20 * MS, tid, 'futex', 5 * MS)
    s.end(40 * MS)
    return s

# SPDX-License-Identifier: MIT OR Apache-2.0
"""What happens in the golden traces. One scenario for each thing that an analysis finds, in which nothing else is to be
found; a healthy one; and those in which a file, or the names in it, are not as they should be."""
from script import MS, S, US, Script, scenario, word

W1, W2, W3 = 101, 102, 103  # workers
POOL = 111                  # a thread of the blocking pool
MAIN = 100


def service(nr_workers=2):
    """A program with a runtime whose workers have begun."""
    s = Script()
    s.runtime()
    s.thread(MAIN, 'shop')
    for i in range(nr_workers):
        s.worker(W1 + i)
    return s


def one_poll_each(s, type_nr, times, ns, asleep=None, first=1):
    """Tasks that are spawned by the main thread, polled once, and done."""
    for i, time in enumerate(times):
        task = s.task(first + i, type_nr)
        s.spawn(time, MAIN, task)
        s.poll(time + 10 * US, W1 + i % 2, task, ns, 'complete', 'wanted', asleep=asleep)


@scenario('blocked-poll')
def blocked_poll_lock():
    """Three polls wait for a lock of std."""
    s = service()
    stock = s.type('shop::stock::count', place='src/stock.rs:23')
    one_poll_each(s, stock, range(100 * MS, 400 * MS, 100 * MS), 14 * MS, asleep=('futex', 12 * MS))
    s.end(1 * S)
    return s


@scenario('blocked-poll')
def blocked_poll_sleep():
    """A single poll calls thread::sleep."""
    s = service()
    retry = s.type('shop::retry', place='src/retry.rs:7')
    one_poll_each(s, retry, [100 * MS], 80 * MS, asleep=('sleep', 75 * MS))
    s.end(1 * S)
    return s


@scenario('blocked-poll')
def blocked_poll_io():
    """A single poll waits for a socket of std."""
    s = service()
    rates = s.type('shop::rates::fetch', place='src/rates.rs:40')
    one_poll_each(s, rates, [100 * MS], 31 * MS, asleep=('poll', 30 * MS))
    s.end(1 * S)
    return s


@scenario('blocked-poll')
def blocked_poll_share():
    """No sleep is long, but all of them together are."""
    s = service()
    log = s.type('shop::log::write', place='src/log.rs:12')
    one_poll_each(s, log, range(10 * MS, 130 * MS, 10 * MS), 6 * MS, asleep=('futex', 5 * MS))
    s.end(1 * S)
    return s


@scenario('long-poll')
def long_poll():
    """Five polls compute for long."""
    s = service()
    resize = s.type('shop::image::resize', place='src/image.rs:88')
    one_poll_each(s, resize, range(100 * MS, 600 * MS, 100 * MS), 12 * MS)
    for tid, cpu_ms in (W1, 40), (W2, 30):
        s.counted(700 * MS, tid, cpu_ms * MS, 1 * MS)
    s.end(1 * S)
    return s


@scenario('long-poll')
def long_poll_off_cpu():
    """Five polls take long, and their threads hardly used a CPU meanwhile."""
    s = service()
    load = s.type('shop::image::load', place='src/image.rs:31')
    one_poll_each(s, load, range(100 * MS, 600 * MS, 100 * MS), 60 * MS)
    for time in 150 * MS, 450 * MS, 900 * MS:
        s.counted(time, W1, time // 200, time // 300)
        s.counted(time, W2, time // 100)
    s.end(1 * S, target_ns=20 * MS)
    return s


@scenario('long-poll')
def long_poll_starved():
    """Five polls take long, and for most of it their threads waited for a CPU."""
    s = service()
    quote = s.type('shop::quote', place='src/quote.rs:9')
    one_poll_each(s, quote, range(100 * MS, 600 * MS, 100 * MS), 60 * MS)
    for tid in W1, W2:
        s.counted(900 * MS, tid, 6 * MS, 177 * MS)
    s.end(1 * S, target_ns=20 * MS)
    return s


@scenario('long-poll')
def long_poll_uncounted():
    """Five polls take long, and nobody knows what for."""
    s = service()
    thumbs = s.type('shop::image::thumbs', place='src/image.rs:120')
    one_poll_each(s, thumbs, range(100 * MS, 600 * MS, 100 * MS), 12 * MS)
    s.end(1 * S)
    return s


@scenario('never-yields')
def never_yields():
    """One task is polled once, for more than a second."""
    s = service()
    index = s.task(1, s.type('shop::search::build_index', place='src/search.rs:140'))
    s.spawn(200 * MS, MAIN, index)
    s.poll(210 * MS, W1, index, 1200 * MS, 'complete', 'wanted')
    s.end(2 * S, target_ns=3 * S)
    return s


@scenario('never-yields')
def never_yields_open():
    """The same, and the recording ends before the poll does."""
    s = service()
    index = s.task(1, s.type('shop::search::build_index', place='src/search.rs:140'))
    s.spawn(200 * MS, MAIN, index)
    s.at(210 * MS, W1, 'run-start', **index.fields(), addr=index.addr)
    s.end(2 * S, 'stopped', 1, target_ns=3 * S)
    return s


@scenario('sched-delay')
def sched_delay():
    """Polls that are not yet long keep others waiting."""
    s = service()
    price = s.task(1, s.type('shop::price', place='src/price.rs:5'))
    serve = s.task(2, s.type('shop::serve', place='src/main.rs:51'))
    for i in range(6):
        time = (100 + 50 * i) * MS
        s.wake(time, W2, price)
        s.wake(time + 1 * MS, W2, serve)
        s.poll(time + 10 * US, W1, price, 8 * MS)
        s.poll(time + 8100 * US, W1, serve, 100 * US)
    s.end(1 * S)
    return s


@scenario('sched-delay')
def sched_delay_asleep():
    """Workers are woken late, a hundred times."""
    s = service()
    serve = s.task(1, s.type('shop::serve', place='src/main.rs:51'))
    for i in range(100):
        time = (10 + 9 * i) * MS
        s.wake(time, MAIN, serve)
        s.sleep(time - 1 * MS, W1, 'epoll', 6900 * US)
        s.poll(time + 6 * MS, W1, serve, 50 * US)
    s.end(1 * S)
    return s


@scenario('sched-delay', options=['sched-delay=50ms'])
def sched_delay_unheld():
    """Tasks wait while the workers do other things, none of them long."""
    s = service()
    render = s.type('shop::render', place='src/render.rs:14')
    serve = s.type('shop::serve', place='src/main.rs:51')
    busy = [(W1, s.task(1, render)), (W2, s.task(2, render))]
    late = [s.task(3 + i, serve) for i in range(10)]
    for i in range(10):
        time = (10 + 75 * i) * MS
        for task in late:
            s.wake(time, MAIN, task)
        for k in range(17):
            for worker, task in busy:
                s.wake(time + 4 * k * MS + 5 * US, worker, task)
                s.poll(time + 4 * k * MS + 10 * US, worker, task, 3900 * US)
        for k, task in enumerate(late):
            s.poll(time + 69 * MS + 100 * k * US, W1, task, 50 * US)
    s.end(770 * MS)
    return s


@scenario('self-wakes', options=['self-wakes-count=20', 'self-wakes-rate=10'])
def self_wakes():
    """A task polls something that is not ready, and wakes itself instead of waiting."""
    s = service()
    spin = s.task(1, s.type('shop::spin', place='src/spin.rs:9'))
    s.spawn(9 * MS, MAIN, spin)
    for i in range(25):
        time = (10 + i) * MS
        s.wake(time + 3 * US, W1, spin)
        s.poll(time, W1, spin, 4 * US)
    s.end(1 * S)
    return s


@scenario('idle-wakes', options=['idle-wakes=20', 'idle-wakes-rate=10'])
def idle_wakes():
    """One task wakes another one that has nothing to do."""
    s = service()
    clock = s.task(1, s.type('shop::tick', place='src/tick.rs:3'))
    view = s.task(2, s.type('shop::view::update', place='src/view.rs:77'))
    for i in range(25):
        time = (10 + 3 * i) * 10 * US
        s.wake(time - 1 * US, W1, clock)
        s.wake(time + 5 * US, W1, view)
        s.poll(time, W1, clock, 10 * US)
        s.poll(time + 12 * US, W2, view, 4 * US)
    s.end(900 * US)
    return s


@scenario('worker-imbalance')
def worker_imbalance():
    """One worker has all the work, and what it wakes waits for it."""
    s = service(3)
    parse = s.task(1, s.type('shop::parse', place='src/parse.rs:60'))
    reply = s.task(2, s.type('shop::reply', place='src/reply.rs:18'))
    for i in range(22):
        time = (2 + 4 * i) * MS
        s.wake(time, W1, parse)
        s.wake(time + 2 * MS, W1, reply)
        s.poll(time + 1 * US, W1, parse, 3800 * US)
        s.poll(time + 3802 * US, W1, reply, 100 * US)
    s.end(100 * MS)
    return s


@scenario('blocking-queue')
def blocking_queue():
    """A pool of one thread has six closures to run."""
    s = service()
    s.thread(POOL, 'tokio-rt-worker')
    mail = s.type('shop::mail::send', 'blocking', 'src/mail.rs:34', scheduler='blocking')
    closures = [s.task(1 + i, mail) for i in range(6)]
    for i, closure in enumerate(closures):
        s.spawn(100 * MS + i * US, W1, closure)
        s.poll((101 + 15 * i) * MS, POOL, closure, 14 * MS, 'complete', 'wanted', asleep=('futex', 13 * MS))
    s.end(1 * S)
    return s


@scenario('lock-queue')
def lock_queue():
    """Six tasks queue on an async lock at one line, one waits for a timer or a channel, whichever is first, one joins two
    futures, and one is aborted where it waits."""
    s = service()
    cart = s.type('shop::cart::update::{async_fn_env#0}', place='src/cart.rs:20')
    watch = s.type('shop::watch::{async_fn_env#0}', place='src/watch.rs:5')
    fresh = {t: s.path(s.step(f'shop::{t}::{{async_fn_env#0}}', function=f'shop::{t}', state='not_started')) for t in ('cart::update', 'watch')}
    top = s.step('shop::cart::update::{async_fn_env#0}', 'src/cart.rs:31', function='shop::cart::update')
    lock = s.step('tokio::sync::mutex::{impl#5}::lock::{async_fn_env#0}<u64>', '/cargo/registry/src/index/tokio-1.54.1/src/sync/mutex.rs:432',
                  outer=top, function='tokio::sync::mutex::{impl#5}::lock', foreign=True)
    queued = s.path(s.step('tokio::sync::batch_semaphore::Acquire', outer=lock, leaf='mutex'))
    stock = s.step('shop::cart::update::{async_fn_env#0}', 'src/cart.rs:32', function='shop::cart::update')
    stored = s.path(s.step('tokio::time::sleep::Sleep', leaf='sleep', outer=s.step(
        'shop::stock::store::{async_fn_env#0}', 'src/stock.rs:8', outer=stock, function='shop::stock::store')))
    race = s.step('shop::watch::{async_fn_env#0}', 'src/watch.rs:9-13', function='shop::watch')
    slow = s.step('shop::watch::slow::{async_fn_env#0}', 'src/watch.rs:30', outer=race, function='shop::watch::slow')
    raced = s.path(s.step('tokio::time::sleep::Sleep', outer=slow, leaf='sleep'),
                   s.step('tokio::sync::mpsc::bounded::Receiver<u32>::recv', outer=race, leaf='mpsc'))
    joined = s.step('shop::watch::{async_fn_env#0}', 'src/watch.rs:15', function='shop::watch')
    both = s.step('futures_util::future::join_all::JoinAll<shop::ask>', outer=joined)
    arms = [s.step(f'shop::ask_{n}::{{async_fn_env#0}}', f'src/ask.rs:{n}', outer=both, function=f'shop::ask_{n}') for n in (1, 2)]
    all_of = s.path(*(s.step('tokio::runtime::io::Readiness', outer=a, leaf='socket') for a in arms))
    tasks = [s.task(1 + i, cart) for i in range(6)]
    for i, task in enumerate(tasks):
        s.spawn(1 * MS + i * US, MAIN, task)
        s.poll(2 * MS + i * 20 * US, W1 + i % 2, task, 10 * US, path=fresh['cart::update'])
    time = 10 * MS
    for turn in range(30):  # one has the lock for 4 ms, then gives it to the next
        task = tasks[turn % 6]
        if turn:
            s.wake(time - 5 * US, W1 + (turn - 1) % 2, task)
        else:
            s.wake(time - 5 * US, W1, task)
        s.poll(time, W1 + turn % 2, task, 50 * US, path=queued)
        time += 4 * MS
        s.wake(time - 10 * US, W1 + turn % 2, task)
        last = turn >= 24
        s.poll(time - 8 * US, W1 + turn % 2, task, 15 * US, *(('complete', 'wanted') if last else ()), path=stored)
    watcher = s.task(7, watch)
    s.spawn(1 * MS, MAIN, watcher)
    s.poll(3 * MS, W2, watcher, 5 * US, path=fresh['watch'])
    s.wake(60 * MS + 100 * US, W1, watcher)
    s.poll(60 * MS + 110 * US, W2, watcher, 30 * US, path=raced)
    s.wake(61 * MS, W1, watcher)
    s.poll(61 * MS + 10 * US, W1, watcher, 9 * US, path=all_of)
    s.wake(65 * MS, MAIN, watcher, 'abort')
    s.poll(65 * MS + 10 * US, W1, watcher, 4 * US, 'complete', 'cancelled', start=('drop',), path=all_of)
    s.end(200 * MS)
    return s


@scenario('task-leak')
def task_leak():
    """Every tenth of a second one task ends and another one does not."""
    s = service()
    session = s.type('shop::session', place='src/session.rs:15', size=2048)
    for i in range(16):
        waits, ends = s.task(1 + 2 * i, session), s.task(2 + 2 * i, session)
        time = (100 + 110 * i) * MS
        s.spawn(time, MAIN, waits)
        s.spawn(time + 5 * US, MAIN, ends)
        s.poll(time + 10 * US, W1, waits, 20 * US)
        s.poll(time + 10 * US, W2, ends, 20 * US, 'complete')
    s.end(2 * S)
    return s


@scenario('never-polled')
def never_polled():
    """A task is spawned on a LocalSet that nobody runs, and dropped with it."""
    s = service()
    local = s.task(1, s.type('shop::cart::save', 'local', 'src/cart.rs:29', scheduler='local'))
    s.spawn(100 * MS, MAIN, local)
    s.poll(900 * MS, MAIN, local, 3 * US, 'complete', 'cancelled', start=['shutdown'])
    s.end(1 * S)
    return s


@scenario('cancel-storm', options=['cancel-storm=10'])
def cancel_storm():
    """Most lookups are aborted by what wanted them."""
    s = service()
    lookup = s.type('shop::lookup', place='src/lookup.rs:48')
    for i in range(15):
        task, time = s.task(1 + i, lookup), (10 + 20 * i) * MS
        s.spawn(time, MAIN, task)
        s.poll(time + 10 * US, W1, task, 300 * US, *([] if i % 5 else ['complete', 'wanted']))
        if i % 5:
            s.wake(time + 5 * MS, MAIN, task, 'abort')
            s.poll(time + 5010 * US, W2, task, 5 * US, 'complete', 'cancelled', start=['drop'])
    s.end(1 * S)
    return s


@scenario('lost-panic')
def lost_panic():
    """Four tasks panic. The handle of the first is kept, and that of the second was gone before; those of the others are
    dropped while the task runs, and long after."""
    s = service()
    order = s.type('shop::order::place', place='src/order.rs:90')
    for i, detach in enumerate([None, None, 30 * US, 50 * MS]):
        task, time = s.task(1 + i, order), (100 + 100 * i) * MS
        s.spawn(time, MAIN, task)
        s.at(time + 50 * US, W1, 'panic')
        s.poll(time + 10 * US, W1, task, 80 * US, 'complete', 'panicked', *([] if i == 1 else ['wanted']))
        if detach:
            s.detach(time + detach, MAIN, task)
    s.end(1 * S)
    return s


@scenario('large-future')
def large_future():
    """Three tasks at a time hold an array across an .await."""
    s = service()
    upload = s.type('shop::upload', place='src/upload.rs:11', size=70000)
    for i in range(4):
        task, time = s.task(1 + i, upload), (100 + 20 * i) * MS
        s.spawn(time, MAIN, task)
        s.poll(time + 10 * US, W1, task, 100 * US)
        s.wake(time + 50 * MS, W1, task)
        s.poll(time + 50 * MS + 5 * US, W1, task, 100 * US, 'complete', 'wanted')
    s.end(1 * S)
    return s


@scenario()
def near_misses():
    """A little of everything, and never enough of it."""
    s = service()
    s.thread(POOL, 'tokio-rt-worker')
    many = s.type('shop::many', place='src/many.rs:1', size=16383)
    order = s.type('shop::order::place', place='src/order.rs:90')
    mail = s.type('shop::mail::send', 'blocking', 'src/mail.rs:34', scheduler='blocking')
    one_poll_each(s, many, [100 * MS, 200 * MS], 11 * MS, asleep=('futex', 10 * MS))
    one_poll_each(s, many, [300 * MS, 400 * MS, 500 * MS, 600 * MS], 11 * MS, first=3)
    panics = s.task(7, order)
    s.spawn(650 * MS, MAIN, panics)
    s.poll(650 * MS + 10 * US, W1, panics, 80 * US, 'complete', 'panicked', 'wanted')
    for i in range(4):
        closure = s.task(8 + i, mail)
        s.spawn(700 * MS, W1, closure)
        s.poll((701 + 15 * i) * MS, POOL, closure, 14 * MS, 'complete', 'wanted', asleep=('sleep', 14 * MS))
    s.end(1 * S)
    return s


def accept(s, time, listener, task):
    """The listener takes a connection and spawns a task for it."""
    s.wake(time - 20 * US, W2, listener)
    s.spawn(time + 8 * US, W2, task, 1408)
    s.poll(time, W2, listener, 12 * US)


def small_shop(is_broken):
    """A listener and its connections; each asks the stock, and gets its answer from there."""
    s = Script()
    s.define('arg', '/usr/bin/shop')
    s.define('arg', '--port=8080')
    s.runtime()
    s.thread(MAIN, 'shop')
    for tid in W1, W2:
        s.worker(tid, at=1 * MS)
    s.thread(POOL, 'tokio-rt-worker', at=5 * MS)
    listener = s.task(1, s.type('shop::listen', place='src/main.rs:30', size=320))
    stock = s.task(2, s.type('shop::stock::keep', place='src/stock.rs:12', size=640))
    serve = s.type('shop::serve', place='src/main.rs:51', size=1280)
    invoice = s.type('shop::invoice::print', 'blocking', 'src/invoice.rs:8', scheduler='blocking')
    upload = s.task(30, s.type('shop::upload', place='src/upload.rs:11', size=20480 if is_broken else 1024))
    at_start = [s.stack('/src/shop/src/main.rs:22'), s.stack('/src/shop/src/main.rs:23')]
    at_upload = s.stack('/src/shop/src/main.rs:23')  # the same line, called from elsewhere
    for i, task in enumerate((listener, stock)):
        s.spawn(1100 * US + i * 50 * US, MAIN, task, 512, at_start[i])
        s.poll(1500 * US + i * 100 * US, W1 + i, task, 40 * US)
    for i in range(3):
        connection(s, (10 + 60 * i) * MS, listener, stock, s.task(3 + i, serve), is_broken)
    for i in range(2):
        closure = s.task(10 + i, invoice)
        s.spawn((10 + 60 * i) * MS + 1150 * US, W2, closure, 384)
        s.poll((10 + 60 * i) * MS + 1210 * US, POOL, closure, 4 * MS, 'complete', 'wanted', asleep=('epoll', 3 * MS))
    s.spawn(241 * MS, MAIN, upload, 2 * 10240, at_upload)
    s.poll(241 * MS + 15 * US, W1, upload, 70 * US)
    if is_broken:
        s.at(260 * MS + 20 * US, W1, 'panic')
        s.wake(260 * MS - 5 * US, W2, upload)
        s.poll(260 * MS, W1, upload, 60 * US, 'complete', 'panicked')
        s.wake(270 * MS - 10 * US, W2, stock)
        for i in range(6):  # the stock asks for something again and again
            s.wake(270 * MS + i * 200 * US + 50 * US, W2, stock)
            s.poll(270 * MS + i * 200 * US, W2, stock, 60 * US)
        s.poll(271 * MS + 200 * US, W2, stock, 60 * US)
    for task in (listener, stock) if is_broken else (listener, stock, upload):
        s.poll(298 * MS + task.id * 10 * US, MAIN, task, 4 * US, 'complete', 'cancelled', start=['shutdown'])
    s.at(299 * MS, POOL, 'thread-stop')
    s.end(300 * MS, tool_ns=6 * MS, target_ns=150 * MS)
    return s


def connection(s, time, listener, stock, task, is_broken):
    accept(s, time, listener, task)
    s.sleep(time + 100 * US, W2, 'epoll', 900 * US)
    s.wake(time + 30 * US, W1, stock)
    s.poll(time + 18 * US, W1, task, 25 * US)
    s.wake(time + 1300 * US, W2, task)
    s.poll(time + 1100 * US, W2, stock, 210 * US)
    if is_broken:
        over = s.poll(time + 1320 * US, W1, task, 17 * MS, asleep=('futex', 16 * MS))
        s.wake(time + 3 * MS, MAIN, listener)
        s.poll(over + 15 * US, W1, listener, 9 * US)
    else:
        over = s.poll(time + 1320 * US, W1, task, 170 * US)
    s.sleep(over + 50 * US, W1, 'futex', 2 * MS)
    s.wake(over + 3 * MS, W1, task)
    s.poll(over + 3 * MS + 4 * US, W1, task, 90 * US, 'complete', *(['wanted'] if task.id % 2 else []))


FEW = ['self-wakes-count=5', 'self-wakes-rate=1', 'self-wakes-poll=1ms', 'sched-delay-count=3', 'self-wakes=40%']


@scenario(options=FEW)
def healthy():
    """A small service does its work."""
    return small_shop(False)


@scenario('blocked-poll', 'sched-delay', 'lost-panic', 'large-future', 'self-wakes', options=FEW, is_full=True, story=3)
def shop():
    """The same service waits for locks, spins, and loses a task."""
    return small_shop(True)


def await_steps(s):
    """Steps of an order's task: not started; two awaits of its own, one of them two functions deep."""
    order = 'shop::order::place::{async_fn}'
    begin = s.step(order, 'src/order.rs:12', function='shop::order::place', state='not_started')
    pay = s.step(order, 'src/order.rs:17', function='shop::order::place')
    charge = s.step('shop::pay::charge::{async_fn}', 'src/pay.rs:33', outer=pay, function='shop::pay::charge')
    lock = s.step('tokio::sync::batch_semaphore::Acquire', outer=charge, leaf='mutex')
    rest = s.step(order, 'src/order.rs:21', function='shop::order::place')
    nap = s.step('tokio::time::sleep::Sleep', outer=rest, leaf='sleep')
    return s.path(begin), s.path(lock), s.path(nap)


def orders(nr, ends=None):
    """So many orders, polled once, after which those in `ends` are over; and where others may stand then."""
    s = service()
    order = s.type('shop::order::place', place='src/order.rs:12')
    begin, lock, nap = await_steps(s)
    tasks = [s.task(1 + i, order) for i in range(nr)]
    for i, task in enumerate(tasks):
        s.spawn((1 + i) * MS, MAIN, task)
        s.poll((1 + i) * MS + 5 * US, W1, task, 30 * US, *(ends or {}).get(i, []), path=begin)
    return s, tasks, lock, nap


@scenario(is_full=True, story=2)
def awaits_chain():
    """Three orders wait for a lock, two functions down, and then twice at a timer."""
    s = service()
    order = s.type('shop::order::place', place='src/order.rs:12')
    begin, lock, nap = await_steps(s)
    for i in range(3):
        task, start = s.task(1 + i, order), (10 + i) * MS
        s.spawn(start, MAIN, task)
        s.poll(start + 20 * US, W1, task, 100 * US, path=begin)
        s.wake(start + (5 + i) * MS, W2, task)
        s.poll(start + (5 + i) * MS + 10 * US, W2, task, 200 * US, path=lock)
        for k in 20, 40:
            s.wake(start + k * MS, W1, task)
            s.poll(start + k * MS + 30 * US, W1, task, 50 * US, *(['complete', 'wanted'] if k == 40 else []), path=nap)
    s.end(100 * MS)
    return s


@scenario(is_full=True, story=7)
def awaits_join():
    """A task waits for three futures at once: one had not begun, then two wait at different leaves, then one is done."""
    s = service()
    page = s.type('shop::page::render', place='src/page.rs:40')
    body = {'function': 'shop::page::render'}
    begin = s.step('shop::page::render::{async_fn}', 'src/page.rs:40', state='not_started', **body)
    join = s.step('shop::page::render::{async_fn}', 'src/page.rs:42-55', **body)
    all_ = s.step('core::future::poll_fn::PollFn<F>', outer=join)
    head = s.step('shop::page::head::{async_fn}', 'src/page.rs:61', outer=all_, function='shop::page::head')
    timer = s.step('tokio::time::sleep::Sleep', outer=head, leaf='sleep')
    stock = s.step('shop::stock::list::{async_fn}', 'src/stock.rs:9', outer=all_, function='shop::stock::list')
    rows = s.step('tokio::sync::mpsc::chan::Rx', outer=stock, leaf='mpsc')
    foot = s.step('shop::page::foot::{async_fn}', 'src/page.rs:70', outer=all_, function='shop::page::foot', state='not_started')
    done = s.step('shop::page::foot::{async_fn}', 'src/page.rs:74', outer=all_, function='shop::page::foot', state='done')
    start, first, second, third = s.path(begin), s.path(timer, rows, foot), s.path(timer, rows, done), s.path(rows, done)
    task = s.task(7, page)
    s.spawn(5 * MS, MAIN, task)
    for time, path in (6, start), (16, first), (29, second), (30, second), (60, third):
        s.wake(time * MS, W1, task) if path != start else None
        s.poll(time * MS + 40 * US, W2, task, 80 * US, *(['complete'] if path == third else []), path=path)
    s.end(70 * MS)
    return s


@scenario()
def awaits_cancelled():
    """Two of four tasks are aborted where they wait, one loses its runtime there, and of one the place is not known."""
    s, tasks, lock, nap = orders(4)
    for task, path in (tasks[0], lock), (tasks[1], nap):
        time = (20 + task.id) * MS
        s.wake(time, W2, task, 'abort')
        s.poll(time + 7 * US, W1, task, 20 * US, 'complete', 'cancelled', start=['drop'], path=path)
    s.poll(40 * MS, MAIN, tasks[2], 10 * US, 'complete', 'cancelled', start=['shutdown'], path=lock)
    s.poll(41 * MS, MAIN, tasks[3], 10 * US, 'complete', 'cancelled', start=['shutdown'])
    s.end(50 * MS)
    return s


@scenario(tables=['await'])
def awaits_generic():
    """Three instances of a generic function wait at its one line, each for a task of another type."""
    s = service()
    runs = s.type('shop::main', place='src/main.rs:9')
    begin = s.path(s.step('shop::main::{async_fn}', 'src/main.rs:9', function='shop::main', state='not_started'))
    task = s.task(1, runs)
    s.spawn(1 * MS, MAIN, task)
    s.poll(2 * MS, W1, task, 10 * US, path=begin)
    for i, arg in enumerate(('shop::naps', 'shop::order::place', 'shop::stock::watch::{async block#0}')):
        name = f'shop::jobs::on_tokio::spawn<{arg}>::{{async block#0}}'
        wait = s.step(name, 'src/jobs/spawn.rs:166', function=name)
        join = s.step('tokio::runtime::task::join::JoinHandle<()>', outer=wait, leaf='join')
        s.wake((10 + 10 * i) * MS, W2, task)
        s.poll((10 + 10 * i) * MS + 10 * US, W1, task, 20 * US, *(['complete'] if i == 2 else []), path=s.path(join))
    s.end(50 * MS)
    return s


@scenario(tables=['await'])
def awaits_open():
    """Of four orders one is served, of one nobody saw where it had waited, and two hang until the end."""
    s, tasks, lock, nap = orders(4)
    for task, path in (tasks[0], {'path': lock}), (tasks[1], {}):
        s.wake(20 * MS + task.id * MS, W2, task)
        s.poll(20 * MS + task.id * MS + 10 * US, W1, task, 40 * US, 'complete', 'wanted', **path)
    s.wake(30 * MS, W2, tasks[2])
    s.poll(30 * MS + 5 * US, W2, tasks[2], 15 * US, path=nap)
    s.end(500 * MS, 'signaled', 15)
    return s


@scenario(tables=['await', 'future'])
def awaits_hang():
    """Six orders hang when the recording is stopped. Of three it was seen where; one has run since somebody looked, and one again
    at the very moment; of one nobody saw anything."""
    s, tasks, lock, nap = orders(6)
    for task in tasks[1:]:
        s.wake(30 * MS + task.id * MS, W2, task)
        s.poll(30 * MS + task.id * MS + 5 * US, W2, task, 15 * US, path=nap)
    s.wake(70 * MS, W2, tasks[2])  # is runnable, but no worker has taken it
    for task, path in (tasks[0], lock), (tasks[1], nap), (tasks[2], lock), (tasks[3], lock):
        s.stand((34 if task == tasks[3] else 60) * MS, task, path)
    s.stand(35 * MS + 5 * US, tasks[4], lock)
    s.end(80 * MS, 'stopped', 1)
    return s


@scenario('lost-panic', tables=['future'])
def awaits_panicked():
    """One order panics after it waited, one in its first poll, and one is aborted where the first had waited."""
    s, tasks, _, nap = orders(3, {1: ['complete', 'panicked']})
    s.wake(20 * MS, W2, tasks[0])
    s.poll(20 * MS + 10 * US, W1, tasks[0], 40 * US, 'complete', 'panicked', path=nap)
    s.wake(30 * MS, W2, tasks[2], 'abort')
    s.poll(30 * MS + 7 * US, W1, tasks[2], 20 * US, 'complete', 'cancelled', start=['drop'], path=nap)
    s.end(50 * MS)
    return s


HOSTILE = [
    'plain',
    '\x1b[31mred\x1b[0m\x07',
    '</script><img src=x onerror=alert(1)>',
    '"quoted", \'and\' `back`\\n',
    '=SUM(A1:A9)',
    'evil\u202edesrever',
    b'bad\xff\xfe utf8 \xc3',
    'two\nlines\ttab\rreturn',
    'a;b 1 # c',
    'core::future::from_generator::GenFuture<' + 'very::long::path::' * 6 + 'end>',
]


@scenario('blocked-poll', is_full=True, story=4)
def hostile():
    """Every name that the program gives is meant to harm whoever shows it."""
    s = Script()
    s.define('exe', '/usr/bin/\\x1b[2J</script>,"\\x0a=shop')
    for text in ['--name=\\x1b]0;title\\x07', '</script><script>', '-']:
        s.define('arg', text)
    s.runtime(version='1.54.1"<i>', name='tokio</b>')
    s.worker(W1, '\x1b[31m</b>"')
    s.worker(W2, b'\xff=1+1\n,')
    for i, name in enumerate(HOSTILE):
        place = (name if isinstance(name, bytes) else name.encode()) + b':7'
        task = s.task(1 + i, s.type(name, place=place))
        time = (10 + 20 * i) * MS
        s.spawn(time, W1, task, stack=s.stack(place))
        path = s.path(s.step(name, place, s.step(name, place, function=name), leaf=word(name)))
        s.poll(time + 1 * MS, W1 if i % 2 else W2, task, 13 * MS, 'complete', asleep=('sleep', 12 * MS), path=path)
    s.end(250 * MS, 'signaled', 11)
    return s


@scenario(is_full=True, story=2)
def lossy():
    """Events are lost one by one and in a hole of the file, threads vanish, and the file has no end."""
    s = service()
    s.thread(POOL, '')
    serve = s.type('shop::serve', place='src/main.rs:51')
    mail = s.type('shop::mail::send', 'blocking', 'src/mail.rs:34', scheduler='blocking')
    tasks = [s.task(1 + i, serve) for i in range(4)]
    for i, task in enumerate(tasks):
        s.spawn((10 + i) * MS, MAIN, task)
        s.poll((10 + i) * MS + 40 * US, W1, task, 100 * US)
    s.at(20 * MS, W1, 'lost', kind='wake', count=3)
    s.poll(30 * MS, W1, tasks[0], 50 * US)
    s.poll(31 * MS, W2, tasks[1], 70 * US, 'complete')
    s.at(40 * MS, W2, 'lost', kind='run-start', count=2)
    s.at(40 * MS, W2, 'lost', kind='run-end', count=2)
    s.wake(45 * MS, W2, tasks[2])
    s.poll(46 * MS, W2, tasks[2], 60 * US)
    s.at(50 * MS, POOL, 'run-start', **s.task(5, mail).fields(), addr=0x1000)
    s.at(55 * MS, POOL, 'thread-stop')
    s.at(60 * MS, W1, 'run-start', **tasks[3].fields(), addr=tasks[3].addr)
    s.at(61 * MS, W1, 'lost', kind=0, count=7)
    s.at(62 * MS, W1, 'run-end')
    s.at(63 * MS, W1, 'awake')
    s.at(64 * MS, W1, 'lost', kind='sleep', count=1)
    s.wake(65 * MS, W2, s.task(99, 0xffff))
    s.poll(66 * MS, W1, s.task(99, 0xffff), 20 * US)
    s.poll(70 * MS, W2, tasks[0], 30 * US)
    s.at(80 * MS, W2, 'run-start', **tasks[2].fields(), addr=tasks[2].addr)
    return s


@scenario()
def two_runtimes():
    """Two copies of a runtime, of which each has a task 1 of the same name."""
    s = service(1)
    first = s.task(1, s.type('shop::serve', place='src/main.rs:51'))
    s.runtime('1.30.0')
    s.worker(W2, 'plugin-worker')
    second = s.task(1, s.type('shop::serve', place='src/main.rs:51'))
    for tid, task, wakes in (W1, first, W2), (W2, second, W1):
        s.spawn(10 * MS, MAIN, task)
        s.poll(10 * MS + tid * US, tid, task, 300 * US)
        s.wake(20 * MS, wakes, task)
        s.poll(20 * MS + tid * US, tid, task, 500 * US, 'complete', 'wanted')
    s.end(50 * MS)
    return s


@scenario(is_full=True, story=1)
def merged():
    """The compiler merged types: some tables have several names, and one of them has lost a few. Of a second copy of the
    runtime nothing ever ran."""
    s = service()
    several = s.type('shop::mail::send | shop::mail::queue<u64> | <shop::Fax as shop::Send>::send', place='-')
    again = s.type('shop::mail::send | shop::mail::queue<u64> | <shop::Fax as shop::Send>::send', place='-')
    lost = s.type('shop::stock::count | ?', place='-')
    erased = s.type('dyn core::future::future::Future<Output = u64> + core::marker::Send', place='-')
    one_poll_each(s, several, [100 * MS, 200 * MS], 100 * US)
    one_poll_each(s, again, [300 * MS], 50 * US, first=11)
    one_poll_each(s, lost, [400 * MS], 20 * US, first=21)
    one_poll_each(s, erased, [500 * MS], 10 * US, first=31)
    s.runtime('1.30.0')
    s.type('shop::import', place='src/import.rs:4')
    s.end(1 * S)
    return s


@scenario(is_full=True, story=7)
def named():
    """A runtime names its tasks by their addresses, and tells its own ids and names of some of them."""
    s = service()
    s.runtime('1.13.2', 'async-std')
    serve = s.type('shop::serve', 'numbered', place='src/main.rs:51', scheduler='executor')
    hash_ = s.type('shop::hash', 'blocking', place='src/hash.rs:3', scheduler='blocking')
    names = {7: 'conn 7', 9: None, 4: 'from \x1b[31mfar\nand wide: 10.0.0.4', 12: 'x' * 40}
    for i, (nr, name) in enumerate(names.items()):
        # in the memory of the one before
        task = s.task(0x7f0000004000, serve)
        task.addr = task.id
        s.spawn((10 + 10 * i) * MS, MAIN, task)
        at = (11 + 10 * i) * MS
        s.at(at, W1, 'task-number', **task.fields(), number=nr)
        data = (name or '').encode()
        for k in range(0, min(len(data), 32), 16):
            lo, hi = (int.from_bytes(data[k + x:k + x + 8].ljust(8, b'\0'), 'little') for x in (0, 8))
            s.at(at, W1, 'task-name', *(['more'] if len(data) > k + 16 else []), **task.fields(), name_lo=lo, name_hi=hi)
        s.poll(at, W1, task, 300 * US)
        s.wake(at + 1 * MS, W2, task)
        s.poll(at + 2 * MS, W2, task, 200 * US, 'complete', 'wanted')
    closure = s.task(0x7f0000008000, hash_)
    closure.addr = closure.id
    s.spawn(60 * MS, MAIN, closure)
    s.poll(61 * MS, POOL, closure, 500 * US, 'complete')
    s.thread(POOL, 'blocking-1')
    s.end(100 * MS)
    return s


@scenario(is_full=True, story=9)
def instances():
    """One copy of a runtime, of which the program made two, and a LocalSet in the second; closures on the pools of both."""
    s = service()
    serve = s.type('shop::serve', place='src/main.rs:51')
    batch = s.type('shop::batch', place='src/batch.rs:5', scheduler='current_thread')
    local = s.type('shop::batch::row', 'local', place='src/batch.rs:15', scheduler='local')
    hash_ = s.type('shop::hash', 'blocking', place='src/hash.rs:3', scheduler='blocking')
    # seen in another order than they were made
    rows, main, batches = s.instance(local, 3), s.instance(serve, 1), s.instance(batch, 2)
    s.thread(POOL, 'tokio-rt-worker')
    s.thread(POOL + 1, 'tokio-rt-worker')
    places = s.stack('src/main.rs:77'), s.stack('src/main.rs:78')
    for i in range(4):
        task = s.task(3 + i, serve)
        s.spawn(10 * MS, MAIN, task, stack=places[0] if i % 2 else None)
        if i < 2:
            s.owned(11 * MS, W1 + i, task, main)
        s.at((11 + i // 2) * MS, W1 + i % 2, 'spawn-place', **task.fields(), stack=places[i // 2])
        s.poll((11 + i // 2) * MS, W1 + i % 2, task, 300 * US, 'complete', 'wanted')
    for i in range(2):
        task = s.task(7 + i, batch)
        s.spawn((20 + 5 * i) * MS, MAIN, task)
        s.owned((21 + 5 * i) * MS, MAIN, task, batches)
        s.poll((21 + 5 * i) * MS, MAIN, task, 400 * US, 'complete')
        task = s.task(9 + i, local)
        s.spawn((22 + 5 * i) * MS, MAIN, task)
        s.owned((23 + 5 * i) * MS, MAIN, task, rows)
        s.poll((23 + 5 * i) * MS, MAIN, task, 100 * US)
        s.wake((23 + 5 * i) * MS + 500 * US, POOL, task)
        s.poll((24 + 5 * i) * MS, MAIN, task, 100 * US, 'complete', 'wanted')
    # by a task of the first, by the second's thread, and by who knows whom
    last, closures = s.task(20, serve), [s.task(21 + i, hash_) for i in range(3)]
    s.spawn(40 * MS, W1, last)
    s.at(41 * MS, W1, 'run-start', **last.fields(), addr=last.addr)
    s.spawn(41 * MS + 10 * US, W1, closures[0])
    s.at(41 * MS + 20 * US, W1, 'run-end', 'complete')
    s.spawn(42 * MS, MAIN, closures[1])
    s.poll(43 * MS, POOL, closures[0], 2 * MS, 'complete', 'wanted')
    s.poll(47 * MS, POOL + 1, closures[1], 3 * MS, 'complete', 'wanted')
    s.poll(52 * MS, POOL + 1, closures[2], 1 * MS, 'complete', 'wanted')
    s.end(60 * MS)
    return s


@scenario(is_full=True, story=3)
def inner():
    """Polls of inner futures: one in the other, a panic, one outside of any task, one that is open at the end."""
    s = service()
    serve = s.type('shop::serve', place='src/main.rs:51')
    pay = s.future('shop::pay', 'shop::pay', 'src/pay.rs:12')
    block = s.future('shop::pay::{async block#0}', 'shop::pay', 'src/pay.rs:20', seen='some')
    manual = s.future('shop::Timer<"x">', seen='unsure')
    task = s.task(3, serve)
    s.spawn(10 * MS, MAIN, task)
    for at, result in ((11 * MS, 'pending'), (21 * MS, 'unwound')):
        s.at(at, W1, 'run-start', **task.fields(), addr=task.addr)
        s.at(at + 100 * US, W1, 'future-start', future=pay)
        s.inner(at + 200 * US, W1, manual, 50 * US)
        s.at(at + 300 * US, W1, 'future-start', future=block)
        s.inner(at + 400 * US, W1, manual, 100 * US, 'ready')
        s.at(at + 700 * US, W1, 'future-end', result)
        s.at(at + 900 * US, W1, 'future-end', result)
        s.at(at + 1000 * US, W1, 'run-end', *(('complete', 'panicked', 'wanted') if result == 'unwound' else ()))
    s.wake(16 * MS, W2, task)
    s.inner(30 * MS, MAIN, manual, 1 * MS, 'pending')
    s.at(35 * MS, MAIN, 'future-start', future=pay)
    s.end(40 * MS)
    return s


@scenario(is_full=True, story=3)
def overlap():
    """Polls that overlap on a thread, as stackful coroutines make them: one ends before a later one, one on another thread."""
    s = service()
    serve = s.type('shop::serve', place='src/main.rs:51')
    one, two, three = (s.task(number, serve) for number in (3, 4, 5))
    for task, at in ((one, 10 * MS), (two, 11 * MS), (three, 12 * MS)):
        s.spawn(at, MAIN, task)
    s.at(20 * MS, W1, 'run-start', **one.fields(), addr=one.addr)
    s.at(22 * MS, W1, 'run-start', **two.fields(), addr=two.addr)
    s.at(24 * MS, W1, 'end-of', **one.fields())
    s.at(24 * MS, W1, 'run-end')
    s.at(27 * MS, W1, 'run-end', 'complete', 'wanted')
    s.wake(28 * MS, W2, one)
    s.poll(30 * MS, W1, one, 1 * MS, 'complete', 'wanted')
    s.at(32 * MS, W1, 'run-start', **three.fields(), addr=three.addr)
    s.at(37 * MS, W2, 'end-of', **three.fields())
    s.at(37 * MS, W2, 'run-end', 'complete', 'wanted')
    s.end(50 * MS)
    return s


@scenario(is_full=True, story=3)
def marks():
    """Marks and spans of the program's own: with fields, outside of tasks, one that goes to another task, one that never ends."""
    s = service()
    serve = s.type('shop::serve', place='src/main.rs:51')
    request, hit, odd = s.name('request'), s.name('cache-hit'), s.name('\x1b[31m"a, b"\n')
    size, word, half = s.name('bytes'), s.name('word'), s.name('half')
    one, two = s.task(3, serve), s.task(4, serve)
    for task, at in ((one, 10 * MS), (two, 11 * MS)):
        s.spawn(at, MAIN, task)
    s.at(20 * MS, W1, 'run-start', **one.fields(), addr=one.addr)
    s.mark(21 * MS, W1, request, 700, 'span-start', **{f'f{size}': 4096, f'f{word}': 'a text with more than sixteen bytes'})
    s.mark(22 * MS, W1, hit, 7, **{f'f{half}': 0.5, f'f{size}': -1, f'f{word}': b'\xff"=\x1b'})
    s.mark(22 * MS, W1, hit, 8)
    s.at(24 * MS, W1, 'run-end')
    s.at(30 * MS, W2, 'run-start', **two.fields(), addr=two.addr)
    s.mark(31 * MS, W2, request, 701, 'span-start')
    s.mark(32 * MS, W2, request, 700, 'span-end')
    s.mark(33 * MS, W2, hit, 2**64 - 1)
    s.at(34 * MS, W2, 'run-end', 'complete', 'wanted')
    s.mark(35 * MS, MAIN, odd)
    s.mark(36 * MS, MAIN, 0, 1)
    s.mark(37 * MS, MAIN, odd, 1, 'span-start')
    s.mark(38 * MS, MAIN, odd, 2, 'span-end')
    s.mark(39 * MS, MAIN, odd, 1, 'span-end')
    s.end(50 * MS)
    return s


@scenario()
def stripped():
    """Nobody knows the names of anything."""
    s = Script()
    s.define('runtime', 'tokio', '-')
    launch = s.task(1, s.type('', 'blocking', '-', scheduler='-'))
    task = s.task(2, s.type('', place='-', scheduler='-'))
    s.thread(W1, '')
    s.at(0, W1, 'run-start', **launch.fields(), addr=launch.addr)
    s.spawn(10 * MS, W1, task)
    s.poll(11 * MS, W1, task, 1 * MS)
    s.wake(15 * MS, W1, task)
    s.poll(15 * MS + 5 * US, W1, task, 2 * MS, 'complete')
    s.end(50 * MS)
    return s


@scenario()
def empty():
    """Nothing happens."""
    s = Script()
    s.end(0, tool_ns=0, target_ns=0)
    return s


@scenario()
def taskless():
    """A runtime is found, and nothing happens."""
    s = Script()
    s.runtime()
    s.end(0, tool_ns=0, target_ns=0)
    return s

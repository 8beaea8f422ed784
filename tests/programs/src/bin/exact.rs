// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hundreds of tasks of many types; each counts its own polls. `exact ct | mt WORKERS`
//!
//! No truth here depends on who wins a race: where an abort or a shutdown can come before or after a poll,
//! the poll is counted if it happened, and the future never becomes ready, so that the end is certain.

use std::future::{pending, Future};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{mpsc as std_mpsc, Arc, Mutex as StdMutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{broadcast, mpsc, oneshot, watch, Barrier, Mutex, Notify, RwLock, Semaphore};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use truth::{spawn, spawn_blocking, yields, Rec, Task};

type Tasks = Vec<Task<()>>;

async fn yielder(n: u64) {
	yields(n).await;
}

async fn sleeper(ms: u64) {
	sleep(Duration::from_millis(ms)).await;
}

async fn timed_out() {
	assert!(timeout(Duration::from_millis(2), pending::<()>())
		.await
		.is_err());
}

async fn receiver(mut rx: mpsc::Receiver<u32>) {
	let mut n = 0;
	while rx.recv().await.is_some() {
		n += 1;
	}
	assert_eq!(n, 4 * 29);
}

async fn sender(tx: mpsc::Sender<u32>) {
	for i in 0..29 {
		tx.send(i).await.expect("the receiver lives");
	}
}

async fn asker(rx: oneshot::Receiver<u32>) {
	assert_eq!(rx.await, Ok(7));
}

async fn answerer(tx: oneshot::Sender<u32>) {
	yields(2).await;
	tx.send(7).expect("the asker waits");
}

async fn locker(m: Arc<Mutex<u64>>) {
	for _ in 0..5 {
		let mut g = m.lock().await;
		yields(1).await;
		*g += 1;
	}
}

async fn permit_taker(s: Arc<Semaphore>) {
	for _ in 0..3 {
		let _p = s.acquire().await.expect("open");
		yields(2).await;
	}
}

async fn reader_writer(l: Arc<RwLock<u64>>, write: bool) {
	for _ in 0..3 {
		if write {
			*l.write().await += 1;
		} else {
			let _g = l.read().await;
			yields(1).await;
		}
	}
}

async fn barrier_waiter(b: Arc<Barrier>) {
	b.wait().await;
}

async fn notified(n: Arc<Notify>) {
	n.notified().await;
}

async fn notifier(n: Arc<Notify>) {
	yields(3).await;
	n.notify_one();
}

async fn watcher(mut rx: watch::Receiver<u32>) {
	while *rx.borrow_and_update() < 5 {
		rx.changed().await.expect("the sender lives");
	}
}

async fn listener(mut rx: broadcast::Receiver<u32>) {
	while rx.recv().await.is_ok() {}
}

/// A spawn tree: each node spawns its children and waits for them.
fn tree(depth: u32) -> Pin<Box<dyn Future<Output = ()> + Send>> {
	Box::pin(async move {
		let children: Tasks = (0..depth).map(|d| spawn("tree", tree(d))).collect();
		for c in children {
			c.await.expect("child");
		}
	})
}

async fn leaver(done: mpsc::Sender<()>) {
	drop(spawn("left_behind", left_behind(done)));
}

async fn left_behind(done: mpsc::Sender<()>) {
	yields(5).await;
	done.send(()).await.expect("root waits");
}

async fn big_future(n: u64) {
	let a = [n as u8; 40_000];
	yields(n).await;
	assert_eq!(std::hint::black_box(&a)[39_999], n as u8);
}

/// Wakes itself from inside its poll, `left` times.
struct Countdown {
	left: u64,
}

impl Future for Countdown {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if self.left == 0 {
			return Poll::Ready(());
		}
		self.left -= 1;
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

/// Aligned more strictly than the task cell itself.
#[repr(align(256))]
struct Aligned(Countdown);

impl Future for Aligned {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		Pin::new(&mut self.0).poll(cx)
	}
}

fn spawn_plain(v: &mut Tasks) {
	v.extend((0..31).map(|n| spawn("yielder", yielder(n))));
	v.extend((0..23).map(|n| spawn("sleeper", sleeper(n % 7))));
	v.extend((0..5).map(|_| spawn("timed_out", timed_out())));
	v.extend((0..13).map(|n| spawn("countdown", Countdown { left: n })));
	v.extend((0..5).map(|n| spawn("aligned", Aligned(Countdown { left: n }))));
	v.extend((0..5).map(|n| spawn("big_future", big_future(n))));
	v.extend((0..3).map(|_| spawn("ready", std::future::ready(()))));
	v.extend((0..3).map(|_| spawn("tree", tree(4))));
	let boxed: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(yielder(3));
	v.push(spawn("boxed", boxed));
}

fn spawn_channels(v: &mut Tasks) {
	for _ in 0..3 {
		let (tx, rx) = mpsc::channel(3);
		v.push(spawn("receiver", receiver(rx)));
		v.extend((0..4).map(|_| spawn("sender", sender(tx.clone()))));
	}
	for _ in 0..11 {
		let (tx, rx) = oneshot::channel();
		v.push(spawn("asker", asker(rx)));
		v.push(spawn("answerer", answerer(tx)));
	}
	let (tx, rx) = watch::channel(0);
	v.extend((0..5).map(|_| spawn("watcher", watcher(rx.clone()))));
	v.push(spawn("watched", async move {
		for i in 1..6 {
			tx.send(i).expect("watchers live");
			yields(1).await;
		}
		tx.closed().await;
	}));
	drop(rx);
	let (tx, _) = broadcast::channel(2);
	v.extend((0..3).map(|_| spawn("listener", listener(tx.subscribe()))));
	v.push(spawn("broadcaster", async move {
		for i in 0..7 {
			let _ = tx.send(i);
			yields(1).await;
		}
	}));
}

fn spawn_locks(v: &mut Tasks) {
	let m = Arc::new(Mutex::new(0));
	v.extend((0..7).map(|_| spawn("locker", locker(m.clone()))));
	let s = Arc::new(Semaphore::new(2));
	v.extend((0..7).map(|_| spawn("permit_taker", permit_taker(s.clone()))));
	let l = Arc::new(RwLock::new(0));
	v.extend((0..5).map(|i| spawn("reader_writer", reader_writer(l.clone(), i % 2 == 0))));
	let b = Arc::new(Barrier::new(5));
	v.extend((0..5).map(|_| spawn("barrier_waiter", barrier_waiter(b.clone()))));
	for _ in 0..3 {
		let n = Arc::new(Notify::new());
		v.push(spawn("notified", notified(n.clone())));
		v.push(spawn("notifier", notifier(n)));
	}
}

async fn wait_polls(rec: &Rec, n: u64) {
	while rec.polls.load(SeqCst) < n {
		sleep(Duration::from_micros(200)).await;
	}
}

async fn expect_cancelled(t: Task<()>) {
	let e = t.await.expect_err("was aborted");
	assert!(e.is_cancelled());
}

async fn never() {
	pending::<()>().await
}

/// Spawned and aborted inside one poll of a task: with one worker the victim is never polled. (With more, the
/// abort could fall between the call of the runtime's poll and its look at the state: one cannot see which.)
async fn kills_its_child() {
	let child = spawn("never", never());
	child.abort();
	expect_cancelled(child).await;
}

type Slot = Arc<StdMutex<Option<(Arc<Rec>, AbortHandle)>>>;

/// Aborts itself in its second poll, which then returns Pending.
struct SelfAbort {
	me: Slot,
	polled: bool,
}

impl Future for SelfAbort {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if !self.polled {
			self.polled = true;
			cx.waker().wake_by_ref();
			return Poll::Pending;
		}
		let me = self.me.lock().unwrap().take();
		match me {
			Some((rec, handle)) => {
				rec.note_abort();
				handle.abort();
			}
			None => cx.waker().wake_by_ref(),
		}
		Poll::Pending
	}
}

/// Blocks inside its poll until a foreign thread has aborted it, then returns Pending.
struct AbortedInPoll {
	entered: std_mpsc::Sender<()>,
	aborted: StdMutex<std_mpsc::Receiver<()>>,
}

impl Future for AbortedInPoll {
	type Output = ();
	fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
		self.entered.send(()).expect("the aborter waits");
		self.aborted
			.lock()
			.unwrap()
			.recv()
			.expect("the aborter answers");
		Poll::Pending
	}
}

fn spawn_aborted_in_poll() -> (Task<()>, std::thread::JoinHandle<()>) {
	let (entered, has_entered) = std_mpsc::channel();
	let (tell, aborted) = std_mpsc::channel();
	let t = spawn(
		"aborted_in_poll",
		AbortedInPoll {
			entered,
			aborted: StdMutex::new(aborted),
		},
	);
	let (rec, handle) = t.aborter();
	let thread = std::thread::spawn(move || {
		has_entered.recv().expect("polled");
		rec.note_abort();
		handle.abort();
		tell.send(()).expect("the poll waits");
	});
	(t, thread)
}

struct SpawnsInDrop(mpsc::Sender<()>);

impl Drop for SpawnsInDrop {
	fn drop(&mut self) {
		drop(spawn("left_behind", left_behind(self.0.clone())));
	}
}

async fn holds(_d: SpawnsInDrop) {
	pending::<()>().await
}

/// Keeps its worker until the channel's other end is dropped.
async fn holds_worker(entered: std_mpsc::Sender<()>, free: StdMutex<std_mpsc::Receiver<()>>) {
	entered.send(()).expect("root waits");
	assert!(free.lock().unwrap().recv().is_err());
}

/// While every worker is kept busy (and in `ct` while the root runs) nobody can poll what is spawned here.
async fn aborted_before_first_poll(workers: usize) {
	let (entered, has_entered) = std_mpsc::channel();
	let (mut held, mut free) = (vec![], vec![]);
	for _ in 0..workers {
		let (tx, rx) = std_mpsc::channel();
		free.push(tx);
		held.push(spawn(
			"holds_worker",
			holds_worker(entered.clone(), StdMutex::new(rx)),
		));
	}
	(0..workers).for_each(|_| has_entered.recv().expect("worker"));
	let victims: Tasks = (0..7).map(|_| spawn("never", never())).collect();
	victims.iter().for_each(|t| t.abort());
	drop(free);
	for t in victims {
		assert_eq!(t.rec.polls.load(SeqCst), 0);
		expect_cancelled(t).await;
	}
	for t in held {
		t.await.expect("worker");
	}
}

async fn aborts(workers: usize) {
	if workers < 2 {
		spawn("kills_its_child", kills_its_child())
			.await
			.expect("parent");
	}
	let idle: Tasks = (0..11).map(|_| spawn("never", never())).collect();
	for t in idle {
		wait_polls(&t.rec, 1).await;
		t.abort();
		t.abort();
		expect_cancelled(t).await;
	}
	for _ in 0..5 {
		let me = Slot::default();
		let t = spawn(
			"self_abort",
			SelfAbort {
				me: me.clone(),
				polled: false,
			},
		);
		*me.lock().unwrap() = Some(t.aborter());
		expect_cancelled(t).await;
	}
	for _ in 0..3 {
		let (t, thread) = spawn_aborted_in_poll();
		expect_cancelled(t).await;
		thread.join().expect("aborter");
	}
	for n in 0..5 {
		let t = spawn("yielder", yielder(n));
		while !t.is_finished() {
			sleep(Duration::from_micros(200)).await;
		}
		t.abort();
		t.await.expect("it had completed");
	}
	let (tx, mut rx) = mpsc::channel(8);
	for _ in 0..3 {
		let t = spawn("holds", holds(SpawnsInDrop(tx.clone())));
		wait_polls(&t.rec, 1).await;
		t.abort();
		expect_cancelled(t).await;
		rx.recv().await.expect("spawned while dropping");
	}
}

/// Catches its own panics and goes on: three caught in polls of one task, then a normal end.
struct Catches {
	left: u32,
}

impl Future for Catches {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		assert!(catch_unwind(AssertUnwindSafe(|| panic!("caught"))).is_err());
		if self.left == 0 {
			return Poll::Ready(());
		}
		self.left -= 1;
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

async fn panics_after(n: u64) {
	yields(n).await;
	panic!("not caught");
}

/// Catches a panic first and dies by another one.
async fn catches_then_panics() {
	assert!(catch_unwind(|| panic!("caught")).is_err());
	yields(1).await;
	panic!("not caught");
}

async fn panics() {
	if cfg!(panic = "abort") {
		return;
	}
	for n in 0..3 {
		spawn("catches", Catches { left: n }).await.expect("caught");
	}
	for n in 0..5 {
		let e = spawn("panics_after", panics_after(n))
			.await
			.expect_err("panicked");
		assert!(e.is_panic());
	}
	for n in 0..3 {
		let t = spawn("panics_after", panics_after(n));
		let rec = t.rec.clone();
		drop(t);
		while rec.end() != "panicked" || rec.polls.load(SeqCst) <= n {
			sleep(Duration::from_micros(200)).await;
		}
	}
	assert!(spawn("catches_then_panics", catches_then_panics())
		.await
		.is_err());
	assert!(spawn_blocking("blocking_panic", || panic!("not caught"))
		.await
		.is_err());
}

/// Three busy threads are all there are: a fourth closure stays queued and can be aborted.
async fn aborted_blocking() {
	let (mut busy, mut free) = (vec![], vec![]);
	for _ in 0..3 {
		let (tx, rx) = std_mpsc::channel::<()>();
		free.push(tx);
		busy.push(spawn_blocking("busy", move || assert!(rx.recv().is_err())));
	}
	for b in &busy {
		wait_polls(&b.rec, 1).await;
	}
	let queued: Tasks = (0..3).map(|_| spawn_blocking("queued", || ())).collect();
	for q in &queued {
		q.abort();
	}
	drop(free);
	for q in queued {
		expect_cancelled(q).await;
	}
	for b in busy {
		b.await.expect("not aborted");
	}
}

async fn blocker(n: u32) {
	for _ in 0..n {
		spawn_blocking("closure", || std::hint::black_box(()))
			.await
			.expect("closure");
	}
}

async fn blocking() {
	let v: Tasks = (0..5).map(|n| spawn("blocker", blocker(n))).collect();
	for t in v {
		t.await.expect("blocker");
	}
	let rt = Handle::current();
	let child = spawn_blocking("spawns", move || {
		truth::spawn_on(&rt, "yielder", yielder(2))
	});
	child.await
		.expect("closure")
		.await
		.expect("spawned by a closure");
	aborted_blocking().await;
}

async fn join_set() {
	let mut set = JoinSet::new();
	for n in 0..7 {
		let (rec, fut) = truth::counted("in_set", yielder(n));
		truth::note_id(&rec, set.spawn(fut).id());
	}
	while let Some(r) = set.join_next().await {
		r.expect("in set");
	}
}

async fn foreign_thread() {
	let rt = Handle::current();
	let v: Tasks = std::thread::spawn(move || {
		(0..7).map(|n| truth::spawn_on(&rt, "yielder", yielder(n)))
			.collect()
	})
	.join()
	.expect("thread");
	for t in v {
		t.await.expect("spawned by a thread");
	}
}

async fn root(workers: usize) {
	aborted_before_first_poll(workers).await;
	let mut v = vec![];
	spawn_plain(&mut v);
	spawn_channels(&mut v);
	spawn_locks(&mut v);
	let (done, mut wait) = mpsc::channel(16);
	v.extend((0..5).map(|_| spawn("leaver", leaver(done.clone()))));
	v.push(spawn("join_set", join_set()));
	v.push(spawn("aborts", aborts(workers)));
	v.push(spawn("panics", panics()));
	v.push(spawn("blocking", blocking()));
	foreign_thread().await;
	for t in v {
		t.await.expect("completes");
	}
	drop(done);
	while wait.recv().await.is_some() {}
}

async fn yields_forever() {
	loop {
		tokio::task::yield_now().await;
	}
}

/// What is still there when the runtime goes: idle, runnable, never polled, queued closures.
fn shutdown(rt: Runtime, workers: usize) {
	let handle = rt.handle().clone();
	let mut idle = vec![];
	rt.block_on(async {
		for _ in 0..11 {
			idle.push(spawn("never", never()));
		}
		// With more workers see the program `shutdown`.
		for _ in 0..if workers < 2 { 3 } else { 0 } {
			idle.push(spawn("yields_forever", yields_forever()));
		}
		for t in &idle {
			wait_polls(&t.rec, 1).await;
		}
	});
	for _ in 0..5 {
		drop(truth::spawn_blocking_on(&handle, "maybe_run", || {
			std::hint::black_box(())
		}));
	}
	if workers < 2 {
		for _ in 0..7 {
			drop(truth::spawn_on(&handle, "never", never()));
		}
	}
	drop(rt);
	for _ in 0..3 {
		drop(truth::spawn_on(&handle, "never", never()));
	}
	for t in idle {
		assert_eq!(t.rec.end(), "dropped");
	}
}

/// Counts that are prime do not come out right by chance.
fn make_prime(rt: &Runtime) {
	while !truth::is_prime(truth::nr_tasks()) {
		rt.block_on(truth::spawn_on(rt.handle(), "filler", yielder(1)))
			.expect("filler");
	}
}

fn main() {
	let args: Vec<String> = std::env::args().skip(1).collect();
	std::panic::set_hook(Box::new(|_| ()));
	let rt = truth::runtime(&args);
	let workers = args
		.get(1)
		.map_or(0, |n| n.parse().expect("number of workers"));
	rt.block_on(root(workers));
	drop(rt);
	shutdown(truth::runtime(&args), workers);
	let rt = truth::runtime(&args);
	make_prime(&rt);
	drop(rt);
	truth::print();
}

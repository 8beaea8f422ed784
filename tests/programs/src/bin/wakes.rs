// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every transition to runnable, counted by cause. `wakes ct | mt WORKERS`
//!
//! A wake by another party is sent only when the sleeper is known to be idle (its worker has gone on to
//! something else), so that no wake can fall into a poll and become another kind of transition.

use std::future::{poll_fn, Future};
use std::os::unix::net::UnixStream as StdStream;
use std::pin::Pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{mpsc, Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use truth::{spawn, yields, Rec, Task};

/// Wakes itself in each poll but the last, up to three times: still one transition.
struct SelfWakes {
	left: u64,
}

impl Future for SelfWakes {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if self.left == 0 {
			return Poll::Ready(());
		}
		for i in 0..=self.left % 3 {
			match i {
				1 => cx.waker().clone().wake(),
				_ => cx.waker().wake_by_ref(),
			}
		}
		self.left -= 1;
		Poll::Pending
	}
}

type Slot = Arc<Mutex<Option<Waker>>>;

/// Sleeps `left` times; whoever takes the waker out of the slot wakes it.
struct Sleeps {
	slot: Slot,
	left: u64,
}

impl Future for Sleeps {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		assert!(
			self.slot.lock().unwrap().is_none(),
			"polled without being woken"
		);
		if self.left == 0 {
			return Poll::Ready(());
		}
		self.left -= 1;
		*self.slot.lock().unwrap() = Some(cx.waker().clone());
		Poll::Pending
	}
}

fn spawn_sleeper(label: &'static str, times: u64) -> (Task<()>, Slot) {
	let slot = Slot::default();
	(
		spawn(
			label,
			Sleeps {
				slot: slot.clone(),
				left: times,
			},
		),
		slot,
	)
}

fn wake(slot: &Slot, times: u64) {
	let w = slot
		.lock()
		.unwrap()
		.take()
		.expect("idle, so it has left its waker");
	(0..times).for_each(|_| w.wake_by_ref());
}

async fn wait_idle(rec: &Rec, n: u64) {
	while !rec.is_idle_after(n) {
		truth::turn().await;
	}
}

fn spin_idle(rec: &Rec, n: u64) {
	while !rec.is_idle_after(n) {
		std::thread::yield_now();
	}
}

/// All of this task's own wakes are yields, however many it needed.
fn note_yields(t: &Rec) {
	t.wakes.by_worker.store(t.polls.load(SeqCst) - 1, SeqCst);
}

async fn wakes_another(rec: Arc<Rec>, slot: Slot, times: u64) {
	for n in 1..=times {
		wait_idle(&rec, n).await;
		rec.wakes.from_task(truth::current().expect("a task"));
		// The last wake may be repeated: the sleeper's next poll is its last.
		wake(&slot, if n == times { 3 } else { 1 });
	}
}

async fn by_self() {
	for n in 0..31 {
		let t = spawn("self_wakes", SelfWakes { left: n });
		t.rec.wakes.by_self.store(n, SeqCst);
		t.await.expect("self_wakes");
	}
}

async fn by_worker() {
	for n in 0..13 {
		let t = spawn("yielder", yields(n));
		t.rec.wakes.by_worker.store(n, SeqCst);
		t.await.expect("yielder");
	}
}

async fn by_task() {
	for n in 1..12 {
		let (sleeper, slot) = spawn_sleeper("woken_by_task", n);
		let waker = spawn("wakes_another", wakes_another(sleeper.rec.clone(), slot, n));
		sleeper.await.expect("sleeper");
		let rec = waker.rec.clone();
		waker.await.expect("waker");
		note_yields(&rec);
	}
}

async fn by_thread() {
	for n in 1..8 {
		let (sleeper, slot) = spawn_sleeper("woken_by_thread", n);
		let rec = sleeper.rec.clone();
		let thread = std::thread::spawn(move || {
			for i in 1..=n {
				spin_idle(&rec, i);
				rec.wakes.by_thread.fetch_add(1, SeqCst);
				wake(&slot, if i == n { 3 } else { 1 });
			}
		});
		sleeper.await.expect("sleeper");
		thread.join().expect("thread");
	}
}

/// A task awaits another one, which ends only when the first is idle: its end is the wake.
async fn by_join() {
	for _ in 0..7 {
		let parent: Arc<OnceLock<Arc<Rec>>> = Default::default();
		let p = parent.clone();
		let t = spawn("joins", async move {
			let me = p.clone();
			let child = spawn("joined", async move {
				while me.get().is_none_or(|r| !r.is_idle_after(1)) {
					truth::turn().await;
				}
				me.get().unwrap()
					.wakes
					.from_task(truth::current().expect("a task"));
			});
			let rec = child.rec.clone();
			child.await.expect("child");
			note_yields(&rec);
		});
		assert!(parent.set(t.rec.clone()).is_ok());
		t.await.expect("parent");
	}
}

/// The same with a closure on a blocking thread.
async fn by_closure() {
	for _ in 0..5 {
		let parent: Arc<OnceLock<Arc<Rec>>> = Default::default();
		let p = parent.clone();
		let t = spawn("awaits_closure", async move {
			let closure = truth::spawn_blocking("closure", move || {
				while p.get().is_none_or(|r| !r.is_idle_after(1)) {
					std::thread::yield_now();
				}
				p.get().unwrap()
					.wakes
					.from_task(truth::current().expect("a task"));
			});
			closure.await.expect("closure");
		});
		assert!(parent.set(t.rec.clone()).is_ok());
		t.await.expect("parent");
	}
}

async fn by_abort() {
	for i in 0..11 {
		let (t, _slot) = spawn_sleeper("aborted", 1);
		let (rec, handle) = t.aborter();
		rec.wakes.by_abort.store(1, SeqCst);
		if i % 2 == 0 {
			let thread = std::thread::spawn(move || {
				spin_idle(&rec, 1);
				rec.note_abort();
				handle.abort();
			});
			assert!(t.await.expect_err("aborted").is_cancelled());
			thread.join().expect("thread");
		} else {
			let aborter = spawn("aborter", async move {
				wait_idle(&rec, 1).await;
				rec.note_abort();
				handle.abort();
			});
			assert!(t.await.expect_err("aborted").is_cancelled());
			let rec = aborter.rec.clone();
			aborter.await.expect("aborter");
			note_yields(&rec);
		}
	}
}

/// The driver wakes a task whose socket became readable, only after it had become idle.
async fn by_driver() {
	for _ in 0..7 {
		let (near, far) = StdStream::pair().expect("socket pair");
		near.set_nonblocking(true).expect("socket");
		let t = spawn("reads_socket", async move {
			let s = tokio::net::UnixStream::from_std(near).expect("socket");
			s.readable().await.expect("readable");
		});
		let rec = t.rec.clone();
		let thread = std::thread::spawn(move || {
			spin_idle(&rec, 1);
			std::io::Write::write_all(&mut &far, b"x").expect("write");
			far
		});
		let rec = t.rec.clone();
		t.await.expect("reader");
		thread.join().expect("thread");
		note_yields(&rec);
	}
}

/// With one worker only: on several, a timer may fire on one of them while another still polls.
async fn by_timer() {
	let v: Vec<_> = (1..24)
		.map(|n| spawn("sleeper", tokio::time::sleep(Duration::from_millis(n % 5))))
		.collect();
	for t in v {
		let rec = t.rec.clone();
		t.await.expect("sleeper");
		note_yields(&rec);
	}
}

/// Woken by a thread while its poll runs: one transition, made when that poll returns.
async fn while_running() {
	for _ in 0..5 {
		let (tx, rx) = mpsc::channel::<Waker>();
		let (done, is_done) = mpsc::channel();
		let thread = std::thread::spawn(move || {
			rx.recv().expect("waker").wake();
			done.send(()).expect("the poll waits");
		});
		let mut first = true;
		let is_done = Mutex::new(is_done);
		let t = spawn(
			"woken_while_running",
			poll_fn(move |cx| {
				if !std::mem::take(&mut first) {
					return Poll::Ready(());
				}
				tx.send(cx.waker().clone()).expect("thread");
				is_done.lock().unwrap().recv().expect("woken");
				Poll::Pending
			}),
		);
		t.rec.wakes.by_thread.store(1, SeqCst);
		t.await.expect("woken");
		thread.join().expect("thread");
	}
}

async fn root(one_worker: bool) {
	by_self().await;
	by_worker().await;
	by_task().await;
	by_thread().await;
	by_join().await;
	by_closure().await;
	by_abort().await;
	by_driver().await;
	while_running().await;
	if one_worker {
		by_timer().await;
	}
}

fn main() {
	let args: Vec<String> = std::env::args().skip(1).collect();
	let rt = truth::runtime(&args);
	let one_worker = args[0] == "ct" || args.get(1).is_some_and(|n| n == "1");
	rt.block_on(root(one_worker));
	drop(rt);
	truth::print();
}

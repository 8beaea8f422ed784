// SPDX-License-Identifier: MIT OR Apache-2.0
//! smol: the global executor (as many threads as SMOL_THREADS says), LocalExecutor, the blocking pool.

use smol::future::{self, FutureExt};
use smol::{Executor, LocalExecutor, Task, Timer};
use std::future::{pending, Future};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::Arc;
use std::time::Duration;
use truth::{blocking, counted, counted_local, Countdown, Rec, Sleeps, Slot, STEPS};

fn spawn<F>(label: &'static str, inner: F) -> (Arc<Rec>, Task<F::Output>)
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	let (rec, f) = counted(label, inner);
	(rec, smol::spawn(f))
}

async fn timer(ms: u64) {
	Timer::after(Duration::from_millis(ms)).await;
}

async fn receiver(rx: smol::channel::Receiver<u32>) {
	let mut n = 0;
	while rx.recv().await.is_ok() {
		n += 1;
	}
	assert_eq!(n, 3 * 29);
}

async fn sender(tx: smol::channel::Sender<u32>) {
	for i in 0..29 {
		tx.send(i).await.expect("the receiver lives");
	}
}

async fn locker(m: Arc<smol::lock::Mutex<u64>>) {
	for _ in 0..5 {
		let mut g = m.lock().await;
		future::yield_now().await;
		*g += 1;
	}
}

/// Each node spawns its children and waits for them.
fn tree(depth: u32) -> Pin<Box<dyn Future<Output = ()> + Send>> {
	Box::pin(async move {
		let children: Vec<_> = (0..depth).map(|d| spawn("tree", tree(d)).1).collect();
		for c in children {
			c.await;
		}
	})
}

async fn big_future(n: u64) {
	let a = [n as u8; 40_000];
	Countdown(n).await;
	assert_eq!(std::hint::black_box(&a)[39_999], n as u8);
}

async fn panics(n: u64) {
	Countdown(n).await;
	panic!("meant");
}

async fn plain() {
	let mut v = Vec::new();
	for n in 0..31 {
		let (rec, t) = spawn("countdown", Countdown(n));
		rec.knows_wakes(n);
		v.push(t);
	}
	v.extend((0..23).map(|n| spawn("timer", timer(n % 7)).1));
	v.extend((0..5).map(|n| spawn("big_future", big_future(n)).1));
	v.push(spawn("tree", tree(4)).1);
	let (tx, rx) = smol::channel::bounded(2);
	v.push(spawn("receiver", receiver(rx)).1);
	v.extend((0..3).map(|_| spawn("sender", sender(tx.clone())).1));
	drop(tx);
	let m = Arc::new(smol::lock::Mutex::new(0));
	v.extend((0..7).map(|_| spawn("locker", locker(m.clone())).1));
	for t in v {
		t.await;
	}
	let (rec, t) = spawn("detached", Countdown(3));
	t.detach();
	while !rec.is_over() {
		timer(1).await;
	}
}

async fn ends() {
	for n in 0..11 {
		let (rec, t) = spawn("pending", pending::<()>());
		while n % 2 == 0 && rec.polls.load(SeqCst) == 0 {
			timer(1).await;
		}
		rec.note_cancel();
		if n % 3 == 0 {
			drop(t);
			while !rec.is_over() {
				timer(1).await;
			}
		} else {
			assert!(t.cancel().await.is_none());
		}
	}
	for n in 0..5 {
		let t = spawn("panics", panics(n)).1;
		assert!(AssertUnwindSafe(t).catch_unwind().await.is_err());
	}
	for _ in 0..7 {
		smol::unblock(blocking("closure", || std::hint::black_box(1))).await;
	}
}

async fn wakes_another(rec: Arc<Rec>, slot: Slot, times: u64) {
	for n in 1..=times {
		while slot.lock().unwrap().is_none() {
			future::yield_now().await;
		}
		rec.by_task.fetch_add(1, SeqCst);
		let w = slot.lock().unwrap().take().unwrap();
		// Of several wakes only the first is a transition.
		(0..n % 3 + 1).for_each(|_| w.wake_by_ref());
	}
}

async fn ticks(rec: Arc<Rec>) {
	while !rec.is_over() {
		future::yield_now().await;
	}
}

/// All on one thread, so that whoever else runs knows that the sleeper does not.
async fn local(ex: &LocalExecutor<'static>) {
	for n in 1..8 {
		let slot = Slot::default();
		let (rec, f) = counted_local(
			"woken_by_task",
			Sleeps {
				slot: slot.clone(),
				left: n,
			},
		);
		rec.knows_wakes(0);
		let t = ex.spawn(f);
		let (_, w) = counted_local("wakes_another", wakes_another(rec, slot, n));
		let w = ex.spawn(w);
		t.await;
		w.await;
	}
	for n in 1..6 {
		let slot = Slot::default();
		let (rec, f) = counted_local(
			"woken_by_thread",
			Sleeps {
				slot: slot.clone(),
				left: n,
			},
		);
		rec.knows_wakes(0);
		let t = ex.spawn(f);
		let (_, ticker) = counted_local("ticks", ticks(rec.clone()));
		let ticker = ex.spawn(ticker);
		let thread = std::thread::spawn(move || {
			for _ in 0..n {
				let w = loop {
					if let Some(w) = slot.lock().unwrap().take() {
						break w;
					}
					std::thread::yield_now();
				};
				let step = STEPS.load(SeqCst);
				while STEPS.load(SeqCst) < step + 2 {
					std::thread::yield_now();
				}
				rec.by_thread.fetch_add(1, SeqCst);
				w.wake();
			}
		});
		t.await;
		ticker.await;
		thread.join().expect("thread");
	}
}

/// An executor that goes away with tasks in it: some idle, some queued.
fn dropped() {
	let ex = Executor::new();
	let tasks: Vec<_> = (0..5)
		.map(|n| {
			let (_, f) = counted("left", async move {
				Countdown(n).await;
				pending::<()>().await
			});
			ex.spawn(f)
		})
		.collect();
	while ex.try_tick() {}
	let queued: Vec<_> = (0..3)
		.map(|_| ex.spawn(counted("queued", Countdown(1)).1))
		.collect();
	tasks.into_iter().chain(queued).for_each(Task::detach);
	drop(ex);
}

fn main() {
	truth::hush();
	smol::block_on(async {
		plain().await;
		ends().await;
		let ex = LocalExecutor::new();
		ex.run(local(&ex)).await;
	});
	dropped();
	truth::print(1); // async-process' driver
}

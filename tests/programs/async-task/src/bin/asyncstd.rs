// SPDX-License-Identifier: MIT OR Apache-2.0
//! async-std: as many threads as ASYNC_STD_THREAD_COUNT says.

use async_std::channel;
use async_std::sync::Mutex;
use async_std::task::{self, JoinHandle};
use std::future::{pending, Future};
use std::pin::Pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::Arc;
use std::time::Duration;
use truth::{blocking, counted, Countdown, Rec};

fn spawn<F>(label: &'static str, inner: F) -> (Arc<Rec>, JoinHandle<F::Output>)
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	let (rec, f) = counted(label, inner);
	(rec, task::spawn(f))
}

async fn sleeper(ms: u64) {
	task::sleep(Duration::from_millis(ms)).await;
}

async fn receiver(rx: channel::Receiver<u32>) {
	let mut n = 0;
	while rx.recv().await.is_ok() {
		n += 1;
	}
	assert_eq!(n, 3 * 29);
}

async fn sender(tx: channel::Sender<u32>) {
	for i in 0..29 {
		tx.send(i).await.expect("the receiver lives");
	}
}

async fn locker(m: Arc<Mutex<u64>>) {
	for _ in 0..5 {
		let mut g = m.lock().await;
		task::yield_now().await;
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

async fn plain() {
	let mut v = Vec::new();
	for n in 0..31 {
		let (rec, t) = spawn("countdown", Countdown(n));
		rec.knows_wakes(n);
		v.push(t);
	}
	v.extend((0..23).map(|n| spawn("sleeper", sleeper(n % 7)).1));
	v.push(spawn("tree", tree(4)).1);
	let (tx, rx) = channel::bounded(2);
	v.push(spawn("receiver", receiver(rx)).1);
	v.extend((0..3).map(|_| spawn("sender", sender(tx.clone())).1));
	drop(tx);
	let m = Arc::new(Mutex::new(0));
	v.extend((0..7).map(|_| spawn("locker", locker(m.clone())).1));
	for t in v {
		t.await;
	}
	// a handle that is dropped leaves its task alone
	let (rec, t) = spawn("detached", Countdown(3));
	drop(t);
	while !rec.is_over() {
		sleeper(1).await;
	}
}

async fn ends() {
	for n in 0..7 {
		let (rec, t) = spawn("pending", pending::<()>());
		while n % 2 == 0 && rec.polls.load(SeqCst) == 0 {
			sleeper(1).await;
		}
		rec.note_cancel();
		assert!(t.cancel().await.is_none());
	}
	for _ in 0..7 {
		task::spawn_blocking(blocking("closure", || std::hint::black_box(1))).await;
	}
}

fn main() {
	task::block_on(async {
		plain().await;
		ends().await;
	});
	truth::print(7); // the task around each closure
}

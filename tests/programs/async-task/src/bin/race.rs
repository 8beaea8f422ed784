// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that go on, complete or are cancelled on one thread while another is still leaving their last run,
//! and tasks woken by threads at any moment. `race THREADS`

use smol::channel::{unbounded, Receiver};
use smol::future::block_on;
use smol::{Executor, Task};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use truth::{counted, Rec};

/// Wakes itself so often; never ends by itself when there is no number.
struct Requeues {
	left: Option<u64>,
}

impl Future for Requeues {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if self.left == Some(0) {
			return Poll::Ready(());
		}
		self.left = self.left.map(|n| n - 1);
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

/// Another type, so that the report tells the two apart.
struct Cancelled(Requeues);

impl Future for Cancelled {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		Pin::new(&mut self.0).poll(cx)
	}
}

type Wakers = Arc<Mutex<Vec<Waker>>>;

/// Completes at its seventh poll; all but the first come from the threads that wake whatever they find.
struct Spammed {
	wakers: Wakers,
	polls: u64,
}

impl Future for Spammed {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		self.polls += 1;
		if self.polls == 7 {
			return Poll::Ready(());
		}
		if self.polls == 1 {
			self.wakers.lock().unwrap().push(cx.waker().clone());
		}
		Poll::Pending
	}
}

fn spam(wakers: &Wakers, over: &AtomicBool) {
	while !over.load(SeqCst) {
		wakers.lock().unwrap().iter().for_each(Waker::wake_by_ref);
		std::thread::yield_now();
	}
}

type Spawned = (Arc<Rec>, Task<()>);

fn spawn<F>(ex: &Executor<'static>, label: &'static str, f: F) -> Spawned
where
	F: Future<Output = ()> + Send + 'static,
{
	let (rec, f) = counted(label, f);
	(rec, ex.spawn(f))
}

async fn root(ex: &Executor<'static>, wakers: &Wakers) {
	let (mut v, mut never) = (Vec::new(), Vec::new());
	for i in 0..2003 {
		v.push(spawn(ex, "requeues", Requeues { left: Some(i % 13) }));
		let wakers = wakers.clone();
		match i % 10 {
			0 => v.push(spawn(ex, "spammed", Spammed { wakers, polls: 0 })),
			5 => never.push(spawn(ex, "cancelled", Cancelled(Requeues { left: None }))),
			_ => (),
		}
		if never.len() == 3 {
			let (rec, task) = never.remove(0);
			rec.note_cancel();
			assert!(task.cancel().await.is_none());
		}
	}
	for (rec, task) in never {
		rec.note_cancel();
		assert!(task.cancel().await.is_none());
	}
	for (_, task) in v {
		task.await;
	}
}

fn main() {
	let nr: usize = std::env::args()
		.nth(1)
		.map_or(2, |n| n.parse().expect("number of threads"));
	let ex: Arc<Executor<'static>> = Arc::new(Executor::new());
	let (stop, is_stopped): (_, Receiver<()>) = unbounded();
	let (wakers, over) = (Wakers::default(), Arc::new(AtomicBool::new(false)));
	let mut threads: Vec<_> = (0..nr)
		.map(|_| {
			let (ex, is_stopped) = (ex.clone(), is_stopped.clone());
			std::thread::spawn(move || {
				block_on(ex.run(is_stopped.recv())).unwrap_or(())
			})
		})
		.collect();
	threads.extend((0..2).map(|_| {
		let (wakers, over) = (wakers.clone(), over.clone());
		std::thread::spawn(move || spam(&wakers, &over))
	}));
	block_on(root(&ex, &wakers));
	over.store(true, SeqCst);
	drop(stop);
	threads.into_iter().for_each(|t| t.join().expect("thread"));
	wakers.lock().unwrap().clear();
	drop(ex);
	truth::print(0);
}

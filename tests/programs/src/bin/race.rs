// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that re-queue themselves and complete on another worker while the runtime is still leaving their
//! last poll, and tasks woken by threads at any moment. `race mt WORKERS`

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use truth::spawn;

struct Requeues {
	left: u64,
}

impl Future for Requeues {
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

async fn root(wakers: Wakers) {
	let mut v = vec![];
	for i in 0..2003 {
		v.push(spawn("requeues", Requeues { left: i % 13 }));
		if i % 10 == 0 {
			v.push(spawn(
				"spammed",
				Spammed {
					wakers: wakers.clone(),
					polls: 0,
				},
			));
		}
	}
	for t in v {
		t.await.expect("completes");
	}
}

fn main() {
	let args: Vec<String> = std::env::args().skip(1).collect();
	let rt = truth::runtime(&args);
	let (wakers, over) = (Wakers::default(), Arc::new(AtomicBool::new(false)));
	let spammers: Vec<_> = (0..2)
		.map(|_| {
			let (wakers, over) = (wakers.clone(), over.clone());
			std::thread::spawn(move || spam(&wakers, &over))
		})
		.collect();
	rt.block_on(root(wakers.clone()));
	over.store(true, SeqCst);
	spammers.into_iter()
		.for_each(|t| t.join().expect("spammer"));
	wakers.lock().unwrap().clear();
	drop(rt);
	truth::print();
}

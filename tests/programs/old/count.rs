// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts its tasks and polls with what every Tokio 1.x has. `count ct | mt WORKERS | local`

use std::future::{pending, Future};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, LocalSet};

static TASKS: AtomicU64 = AtomicU64::new(0);
static POLLS: AtomicU64 = AtomicU64::new(0);
static SELF_WAKES: AtomicU64 = AtomicU64::new(0);
static IDLE: AtomicU64 = AtomicU64::new(0);
static IS_LOCAL: AtomicBool = AtomicBool::new(false);

const CANCELLED: u64 = 7;
const PANICKED: u64 = 3;
const DROPPED: u64 = 5;

struct Counted<F>(F);

impl<F: Future> Future for Counted<F> {
	type Output = F::Output;
	fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
		POLLS.fetch_add(1, SeqCst);
		// SAFETY: the inner future is never moved out of the pinned wrapper.
		unsafe { self.map_unchecked_mut(|s| &mut s.0) }.poll(cx)
	}
}

fn spawn<F>(f: F) -> JoinHandle<F::Output>
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	TASKS.fetch_add(1, SeqCst);
	if IS_LOCAL.load(SeqCst) {
		return tokio::task::spawn_local(Counted(f));
	}
	tokio::spawn(Counted(f))
}

async fn yielder(n: u64) {
	for _ in 0..n {
		if cfg!(feature = "yield-wakes") {
			SELF_WAKES.fetch_add(1, SeqCst);
		}
		let () = tokio::task::yield_now().await; // must be used, say some releases
	}
}

/// Wakes itself in every poll but the last.
struct Countdown(u64);

impl Future for Countdown {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if self.0 == 0 {
			return Poll::Ready(());
		}
		self.0 -= 1;
		SELF_WAKES.fetch_add(1, SeqCst);
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

async fn idle() {
	IDLE.fetch_add(1, SeqCst);
	pending::<()>().await;
}

async fn panics() {
	yielder(2).await;
	panic!("as planned");
}

async fn parent(n: u64) {
	for i in 0..n {
		spawn(yielder(i)).await.expect("child");
	}
}

async fn closures() {
	for _ in 0..3 {
		TASKS.fetch_add(1, SeqCst);
		let f = || POLLS.fetch_add(1, SeqCst);
		tokio::task::spawn_blocking(f).await.expect("closure");
	}
}

async fn root() {
	let mut v = vec![];
	v.extend((0..31).map(|n| spawn(yielder(n))));
	v.extend((0..11).map(|n| spawn(tokio::time::sleep(Duration::from_millis(n % 3)))));
	v.extend((0..5).map(|n| spawn(parent(n))));
	v.extend((0..13).map(|n| spawn(Countdown(n))));
	v.push(spawn(closures()));
	for _ in 0..PANICKED {
		assert!(spawn(panics()).await.expect_err("panics").is_panic());
	}
	let aborted: Vec<_> = (0..CANCELLED).map(|_| spawn(idle())).collect();
	(0..DROPPED).for_each(|_| drop(spawn(idle())));
	for h in v {
		h.await.expect("task");
	}
	// A task that is dropped from a queue before its first poll is nothing that anybody sees.
	while IDLE.load(SeqCst) < CANCELLED + DROPPED {
		tokio::time::sleep(Duration::from_millis(1)).await;
	}
	for h in aborted {
		h.abort();
		assert!(h.await.expect_err("aborted").is_cancelled());
	}
}

fn main() {
	let args: Vec<String> = std::env::args().skip(1).collect();
	let mut b = match args.first().map(String::as_str) {
		Some("ct" | "local") => Builder::new_current_thread(),
		_ => Builder::new_multi_thread(),
	};
	if let Some(n) = args.get(1) {
		b.worker_threads(n.parse().expect("number of workers"));
	}
	std::panic::set_hook(Box::new(|_| ()));
	let rt = b.enable_all().build().expect("runtime");
	if args.first().map(String::as_str) == Some("local") {
		IS_LOCAL.store(true, SeqCst);
		LocalSet::new().block_on(&rt, root());
	} else {
		rt.block_on(root());
	}
	drop(rt);
	println!(
		concat!(
			r#"{{"truth":"total","tasks":{},"polls":{},"self_wakes":{},"#,
			r#""cancelled":{},"panicked":{},"dropped":{}}}"#
		),
		TASKS.load(SeqCst),
		POLLS.load(SeqCst),
		SELF_WAKES.load(SeqCst),
		CANCELLED,
		PANICKED,
		DROPPED
	);
}

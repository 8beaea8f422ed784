// SPDX-License-Identifier: MIT OR Apache-2.0
//! Root futures of block_on, each with the number of times that it was polled. `roots mt | ct | local | mixed | guards | builders | deep | deeper | many | panics-mt | panics-ct | blocks`
//!
//! One JSON object a root, when it is over; `root` counts them in the order in which they begin.

use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, LocalOptions, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{yield_now, LocalSet};
use tokio::time::sleep;

/// Counts its polls, and says so when it is over.
struct Root<F> {
	nr: u64,
	label: &'static str,
	polls: u64,
	inner: Pin<Box<F>>,
}

impl<F: Future> Future for Root<F> {
	type Output = F::Output;
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
		self.polls += 1;
		let this = &mut *self;
		this.inner.as_mut().poll(cx)
	}
}

impl<F> Drop for Root<F> {
	fn drop(&mut self) {
		println!(
			"{{\"root\":{},\"label\":\"{}\",\"polls\":{}}}",
			self.nr, self.label, self.polls
		);
	}
}

fn root<F: Future>(label: &'static str, inner: F) -> Root<F> {
	static NR: AtomicU64 = AtomicU64::new(0);

	Root {
		nr: NR.fetch_add(1, SeqCst),
		label,
		polls: 0,
		inner: Box::pin(inner),
	}
}

/// Wakes itself directly, which the compiler may see through.
async fn wakes_itself(times: u64) {
	let mut left = times;
	poll_fn(|cx| {
		if left == 0 {
			return Poll::Ready(());
		}
		left -= 1;
		cx.waker().wake_by_ref();
		Poll::Pending
	})
	.await
}

async fn waits_for_tasks() {
	let (tx, mut rx) = mpsc::channel(1);
	let producer = tokio::spawn(async move {
		for i in 0..17u64 {
			tx.send(i).await.unwrap();
			if i % 3 == 0 {
				yield_now().await;
			}
		}
	});
	let mut sum = 0;
	while let Some(i) = rx.recv().await {
		sum += i;
	}
	producer.await.unwrap();
	assert_eq!(sum, 136);
}

async fn selects() {
	let (tx, rx) = oneshot::channel();
	let task = tokio::spawn(async move {
		sleep(Duration::from_millis(3)).await;
		tx.send(()).unwrap();
	});
	let mut rx = Box::pin(rx);
	let mut tick = Box::pin(sleep(Duration::from_millis(1)));
	let mut ticks = 0;
	poll_fn(|cx| {
		while tick.as_mut().poll(cx).is_ready() {
			tick = Box::pin(sleep(Duration::from_millis(1)));
			ticks += 1;
		}
		rx.as_mut().poll(cx)
	})
	.await
	.unwrap();
	task.await.unwrap();
	assert!(ticks < 1000);
}

async fn woken_by_thread() {
	let woken = Arc::new(AtomicU64::new(0));
	let seen = woken.clone();
	let mut thread = None;
	poll_fn(|cx| {
		if seen.load(SeqCst) == 1 {
			return Poll::Ready(());
		}
		if thread.is_none() {
			let (waker, woken) = (cx.waker().clone(), woken.clone());
			thread = Some(std::thread::spawn(move || {
				std::thread::sleep(Duration::from_millis(5));
				woken.store(1, SeqCst);
				waker.wake();
			}));
		}
		Poll::Pending
	})
	.await;
	thread.unwrap().join().unwrap();
}

fn all(rt: &Runtime) {
	rt.block_on(root("ready", async {}));
	rt.block_on(root("yields", async {
		for _ in 0..10 {
			yield_now().await;
		}
	}));
	rt.block_on(root("wakes_itself", wakes_itself(7)));
	rt.block_on(root("sleeps", async {
		for _ in 0..5 {
			sleep(Duration::from_millis(2)).await;
		}
	}));
	rt.block_on(root("tasks", waits_for_tasks()));
	rt.block_on(root("select", selects()));
	rt.block_on(root("thread", woken_by_thread()));
	for _ in 0..3 {
		rt.block_on(root("again", yield_now()));
	}
	let handle = rt.spawn(async { sleep(Duration::from_millis(2)).await });
	rt.block_on(root("joins", async { handle.await.unwrap() }));
}

fn mt() -> Runtime {
	Builder::new_multi_thread()
		.worker_threads(2)
		.enable_all()
		.build()
		.unwrap()
}

fn ct() -> Runtime {
	Builder::new_current_thread().enable_all().build().unwrap()
}

fn local() {
	let rt = ct();
	let set = LocalSet::new();
	set.block_on(
		&rt,
		root("local_set", async {
			let tasks: Vec<_> = (0..5)
				.map(|i| {
					tokio::task::spawn_local(async move {
						for _ in 0..i {
							yield_now().await;
						}
						sleep(Duration::from_millis(1)).await;
					})
				})
				.collect();
			for task in tasks {
				task.await.unwrap();
			}
		}),
	);
	drop(set);
	/* a runtime without drivers parks in another way */
	let bare = Builder::new_current_thread().build().unwrap();
	bare.block_on(root("bare", async {
		yield_now().await;
		woken_by_thread().await;
	}));
}

fn mixed() {
	let first = mt();
	first.block_on(root("first", async {
		sleep(Duration::from_millis(1)).await
	}));
	let handle = first.handle().clone();
	std::thread::spawn(move || {
		handle.block_on(root("handle", async {
			tokio::spawn(yield_now()).await.unwrap();
			sleep(Duration::from_millis(2)).await;
		}))
	})
	.join()
	.unwrap();
	first.block_on(root("nested", async {
		tokio::spawn(async {
			tokio::task::block_in_place(|| {
				Handle::current().block_on(root("in_task", async {
					yield_now().await;
					sleep(Duration::from_millis(2)).await;
				}))
			})
		})
		.await
		.unwrap();
		tokio::task::spawn_blocking(|| {
			Handle::current().block_on(root("in_blocking", async {
				sleep(Duration::from_millis(1)).await
			}))
		})
		.await
		.unwrap();
	}));
	drop(first);
	let second = ct();
	second.block_on(root("second", async {
		tokio::spawn(yield_now()).await.unwrap();
	}));
	drop(second);
	/* no root: these wait without a runtime, by the same parker */
	let (tx, mut rx) = mpsc::channel(1);
	let thread = std::thread::spawn(move || {
		for i in 0..5u64 {
			std::thread::sleep(Duration::from_millis(1));
			tx.blocking_send(i).unwrap();
		}
	});
	while rx.blocking_recv().is_some() {}
	thread.join().unwrap();
	let last = mt();
	last.block_on(root("last", yield_now()));
}

/// Guards of Handle::enter that are dropped while a root lasts: from the heap, from the root future
/// where it lies on the stack, from a task.
fn guards() {
	let other = mt();
	for rt in [ct(), mt()] {
		rt.block_on(root("heap", async {
			{
				let _guard = other.enter();
				sleep(Duration::from_millis(1)).await;
			}
			yield_now().await;
			sleep(Duration::from_millis(1)).await;
		}));
		let mut told = root("stack", async {});
		rt.block_on(async {
			let mut inner = std::pin::pin!(async {
				{
					let _guard = other.enter();
					yield_now().await;
				}
				yield_now().await;
			});
			poll_fn(|cx| {
				told.polls += 1;
				inner.as_mut().poll(cx)
			})
			.await
		});
		drop(told);
		rt.block_on(root("task", async {
			let handle = other.handle().clone();
			let task = tokio::spawn(async move {
				drop(std::hint::black_box(Box::new(handle.enter())));
				yield_now().await;
			});
			task.await.unwrap();
			yield_now().await;
		}));
	}
}

/// A builder that does not lie on the stack builds all the same.
fn builders() {
	let mut multi = Box::new(Builder::new_multi_thread());
	let mut current = Box::new(Builder::new_current_thread());
	multi.worker_threads(2).enable_all();
	current.enable_all();
	for _ in 0..3 {
		multi.build().unwrap().block_on(root("multi", yield_now()));
		current.build()
			.unwrap()
			.block_on(root("current", yield_now()));
		let local = current.build_local(LocalOptions::default());
		local.unwrap().block_on(root("local", yield_now()));
	}
}

fn nest(depth: u32) -> Pin<Box<dyn Future<Output = ()>>> {
	Box::pin(async move {
		yield_now().await;
		if depth > 1 {
			tokio::task::block_in_place(|| {
				Handle::current().block_on(root("nested", nest(depth - 1)))
			});
		}
		sleep(Duration::from_millis(1)).await;
	})
}

fn deep() {
	mt().block_on(root("outermost", nest(7)));
}

/// More of them than are told.
fn deeper() {
	mt().block_on(root("outermost", nest(12)));
}

/// As many threads wait at once, and are woken by this one.
fn many() {
	const NR: usize = 601;
	let rt = Arc::new(mt());
	let permits = Arc::new(tokio::sync::Semaphore::new(0));
	let nr_waiting = Arc::new(AtomicU64::new(0));
	let threads: Vec<_> = (0..NR)
		.map(|_| {
			let (rt, permits, nr_waiting) =
				(rt.clone(), permits.clone(), nr_waiting.clone());
			std::thread::spawn(move || {
				rt.block_on(root("waits", async {
					nr_waiting.fetch_add(1, SeqCst);
					permits.acquire().await.unwrap().forget();
				}))
			})
		})
		.collect();
	while nr_waiting.load(SeqCst) < NR as u64 {
		std::thread::sleep(Duration::from_millis(1));
	}
	std::thread::sleep(Duration::from_millis(300));
	permits.add_permits(NR);
	for thread in threads {
		thread.join().unwrap();
	}
}

/// The first leaves block_on by a panic, the second catches one in its poll, the third is as any.
fn panics(rt: &Runtime) {
	let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
		rt.block_on(root("panics", async {
			yield_now().await;
			sleep(Duration::from_millis(1)).await;
			panic!("meant");
		}))
	}));
	assert!(caught.is_err());
	rt.block_on(root("catches", async {
		yield_now().await;
		assert!(std::panic::catch_unwind(|| panic!("meant")).is_err());
	}));
	rt.block_on(root("after", yield_now()));
}

fn blocks(rt: &Runtime) {
	rt.block_on(root("blocks", async {
		std::thread::sleep(Duration::from_millis(300));
		rt.spawn(yield_now()).await.unwrap();
	}));
}

fn main() {
	match std::env::args().nth(1).as_deref() {
		Some("mt") => all(&mt()),
		Some("ct") => all(&ct()),
		Some("local") => local(),
		Some("mixed") => mixed(),
		Some("guards") => guards(),
		Some("builders") => builders(),
		Some("deep") => deep(),
		Some("deeper") => deeper(),
		Some("many") => many(),
		Some("panics-mt") => panics(&mt()),
		Some("panics-ct") => panics(&ct()),
		Some("blocks") => {
			blocks(&mt());
			blocks(&ct());
		}
		_ => {
			eprintln!("usage: roots mt | ct | local | mixed | guards | builders | deep | deeper | many | panics-mt | panics-ct | blocks");
			std::process::exit(2);
		}
	}
}

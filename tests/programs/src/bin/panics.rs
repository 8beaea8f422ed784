// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that panic, and what becomes of their JoinHandles. `panics ORDER` prints how many panicked, and of how many of these
//! the program let go of the handle without looking. Also built with older releases of Tokio.

use std::future::Future;
use std::mem::forget;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

static BEGUN: AtomicU64 = AtomicU64::new(0);
static PANICS: AtomicU64 = AtomicU64::new(0);

fn panics() -> ! {
	PANICS.fetch_add(1, SeqCst);
	panic!("on purpose")
}

/// Not ready until the flag is set; asks for another poll each time.
struct Until(Arc<AtomicBool>);

impl Future for Until {
	type Output = ();
	fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if self.0.load(SeqCst) {
			return Poll::Ready(());
		}
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

async fn panics_at_once() -> u64 {
	BEGUN.fetch_add(1, SeqCst);
	panics()
}

async fn panics_when(go: Arc<AtomicBool>) -> u64 {
	BEGUN.fetch_add(1, SeqCst);
	Until(go).await;
	panics()
}

/// Keeps its thread busy meanwhile.
async fn panics_behind(go: Arc<AtomicBool>) -> u64 {
	BEGUN.fetch_add(1, SeqCst);
	while !go.load(SeqCst) {
		thread::yield_now();
	}
	panics()
}

async fn until_count(count: &AtomicU64, n: u64) {
	while count.load(SeqCst) < n {
		let () = tokio::task::yield_now().await;
	}
}

fn current_thread() -> Runtime {
	Builder::new_current_thread().build().expect("a runtime")
}

fn multi_thread() -> Runtime {
	Builder::new_multi_thread().worker_threads(2).build().expect("a runtime")
}

fn spawn_all(n: u64) -> Vec<JoinHandle<u64>> {
	(0..n).map(|_| tokio::spawn(panics_at_once())).collect()
}

async fn before(n: u64) {
	drop(spawn_all(n));
	until_count(&PANICS, n).await;
}

async fn between(n: u64) {
	let go = Arc::new(AtomicBool::new(false));
	let handles: Vec<_> = (0..n).map(|_| tokio::spawn(panics_when(go.clone()))).collect();
	until_count(&BEGUN, n).await;
	drop(handles);
	go.store(true, SeqCst);
	until_count(&PANICS, n).await;
}

async fn during(n: u64) {
	for i in 0..n {
		let go = Arc::new(AtomicBool::new(false));
		let handle = tokio::spawn(panics_behind(go.clone()));
		let elsewhere = thread::spawn(move || {
			while BEGUN.load(SeqCst) <= i {
				thread::yield_now();
			}
			drop(handle);
			go.store(true, SeqCst);
		});
		until_count(&PANICS, i + 1).await;
		elsewhere.join().expect("no panic");
	}
}

async fn after(n: u64) {
	let handles = spawn_all(n);
	until_count(&PANICS, n).await;
	drop(handles);
}

async fn awaited(n: u64) {
	for handle in spawn_all(n) {
		assert!(handle.await.is_err());
	}
}

async fn kept_behind(n: u64) {
	let mut handles = spawn_all(n);
	for handle in &mut handles {
		assert!(handle.await.is_err());
	}
	until_count(&PANICS, n).await;
	drop(handles);
}

async fn never_dropped(n: u64) {
	spawn_all(n).into_iter().for_each(forget);
	until_count(&PANICS, n).await;
}

async fn statement(n: u64) {
	for i in 0..n {
		tokio::spawn(panics_at_once());
		until_count(&PANICS, i + 1).await;
	}
}

async fn storm(n: u64) {
	for _ in 0..n {
		tokio::spawn(panics_at_once());
	}
	until_count(&PANICS, n).await;
}

#[cfg(feature = "sets")]
mod sets {
	use super::{panics_at_once, until_count, PANICS};
	use tokio::task::JoinSet;

	fn spawn_all(n: u64) -> JoinSet<u64> {
		let mut set = JoinSet::new();
		for _ in 0..n {
			set.spawn(panics_at_once());
		}
		set
	}

	pub async fn joined(n: u64) {
		let mut set = spawn_all(n);
		while let Some(result) = set.join_next().await {
			assert!(result.is_err());
		}
	}

	pub async fn dropped(n: u64) {
		let set = spawn_all(n);
		until_count(&PANICS, n).await;
		drop(set);
	}

	pub async fn detached(n: u64) {
		spawn_all(n).detach_all();
		until_count(&PANICS, n).await;
	}

	pub async fn abort_handles(n: u64) {
		let handles: Vec<_> = (0..n).map(|_| tokio::spawn(panics_at_once()).abort_handle()).collect();
		until_count(&PANICS, n).await;
		drop(handles);
	}
}

fn main() {
	let order = std::env::args().nth(1).expect("panics ORDER");
	std::panic::set_hook(Box::new(|_| ()));
	// An odd prime of each; are they lost?
	let (n, is_lost) = match order.as_str() {
		"before" => current_thread().block_on(async { before(7).await; (7, true) }),
		"between" => current_thread().block_on(async { between(11).await; (11, true) }),
		"during" => current_thread().block_on(async { during(13).await; (13, true) }),
		"after" => current_thread().block_on(async { after(17).await; (17, true) }),
		"awaited" => multi_thread().block_on(async { awaited(19).await; (19, false) }),
		"kept-behind" => multi_thread().block_on(async { kept_behind(23).await; (23, false) }),
		"never-dropped" => current_thread().block_on(async { never_dropped(29).await; (29, false) }),
		"statement" => multi_thread().block_on(async { statement(211).await; (211, true) }),
		"storm" => multi_thread().block_on(async { storm(211).await; (211, true) }),
		#[cfg(feature = "sets")]
		"joined" => multi_thread().block_on(async { sets::joined(31).await; (31, false) }),
		#[cfg(feature = "sets")]
		"set-dropped" => current_thread().block_on(async { sets::dropped(37).await; (37, true) }),
		#[cfg(feature = "sets")]
		"set-detached" => multi_thread().block_on(async { sets::detached(41).await; (41, true) }),
		#[cfg(feature = "sets")]
		"abort-handles" => current_thread().block_on(async { sets::abort_handles(43).await; (43, true) }),
		_ => panic!("which order is {order}?"),
	};
	assert_eq!(PANICS.load(SeqCst), n);
	println!("{{\"panics\": {n}, \"lost\": {}}}", if is_lost { n } else { 0 });
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A lock that belongs to a future which nobody polls: who wants it waits forever, although no two tasks are involved.

use crate::{keep, nap, start};
use futures::FutureExt;
use std::future::Future;
use std::time::Duration;
use tokio::sync::{oneshot, Mutex};
use waits::{here, within, At};

type Lock = &'static Mutex<u64>;

async fn hold(at: At, lock: Lock) {
	let mut held = lock.lock().await;
	nap(here!(at), 100_000).await;
	*held += 1;
}

/// The arm that lost holds the lock, lives on outside of the `select!`, and is not polled any more.
async fn held_by_loser(at: At, lock: Lock) {
	let mut loser = Box::pin(hold_quietly(lock));
	tokio::select! {
		() = &mut loser => {}
		() = tokio::time::sleep(Duration::from_millis(20)) => {}
	}
	let _w = here!(at, 1).object("mutex", lock, "");
	*lock.lock().await += 1;
	loser.await;
}

/// Its nap is no wait: nobody polls it.
async fn hold_quietly(lock: Lock) {
	let mut held = lock.lock().await;
	tokio::time::sleep(Duration::from_secs(100_000)).await;
	*held += 1;
}

pub fn held() {
	let lock: Lock = keep(Mutex::new(0));
	start("stuck", 1, |at| held_by_loser(at, lock));
}

async fn add(lock: Lock) {
	*lock.lock().await += 1;
}

/// The arm that lost stood in the queue; when the lock became free it was given to it.
async fn given_to_loser(at: At, lock: Lock, queued: oneshot::Sender<()>) {
	let mut loser = Box::pin(add(lock));
	tokio::select! {
		() = &mut loser => {}
		() = tokio::time::sleep(Duration::from_millis(20)) => {}
	}
	queued.send(()).expect("somebody asks");
	let _w = here!(at, 1).object("mutex", lock, "");
	*lock.lock().await += 1;
	loser.await;
}

/// When it was given to it, the fault is there.
pub async fn queued() {
	let lock: Lock = keep(Mutex::new(0));
	let guard = lock.try_lock().expect("it is new");
	let (tx, rx) = oneshot::channel();
	start("stuck", 1, |at| given_to_loser(at, lock, tx));
	rx.await.expect("queued");
	drop(guard);
}

/// The future that holds the lock is polled by the same task: it will let go.
async fn held_by_polled(at: At, lock: Lock) {
	let holder = hold(within!(at, 3), lock);
	let other = async {
		let _w = here!(within!(at, 3), 1).object("mutex", lock, "");
		*lock.lock().await += 1;
	};
	tokio::join!(holder, other);
}

pub fn polled() {
	let lock: Lock = keep(Mutex::new(0));
	start("fine", 2, |at| held_by_polled(at, lock));
}

/// Somebody else holds the lock; the future that lost has nothing.
async fn has_a_loser(at: At, lock: Lock) {
	let mut loser = Box::pin(tokio::time::sleep(Duration::from_secs(100_000)));
	tokio::select! {
		() = &mut loser => {}
		() = tokio::time::sleep(Duration::from_millis(20)) => {}
	}
	let _w = here!(at, 1).object("mutex", lock, "");
	*lock.lock().await += 1;
	loser.await;
}

/// It has polled the future that holds the lock, and does not any more; a thread does.
async fn shares(at: At, lock: Lock, mut f: impl Future<Output = ()> + Unpin) {
	tokio::select! {
		() = &mut f => {}
		() = tokio::time::sleep(Duration::from_millis(20)) => {}
	}
	let _w = here!(at, 1).object("mutex", lock, "");
	*lock.lock().await += 1;
	f.await;
}

/// Nobody can see which future the thread has.
pub fn shared() {
	let lock: Lock = keep(Mutex::new(0));
	let runtime = tokio::runtime::Handle::current();
	let f = hold_quietly(lock).boxed().shared();
	let own = f.clone();
	std::thread::spawn(move || {
		let _inside = runtime.enter();
		futures::executor::block_on(own)
	});
	start("fine", 1, |at| shares(at, lock, f));
}

/// What both await holds up its thread, in a poll by one of them.
pub fn shared_that_runs() {
	let f = async { std::thread::sleep(Duration::from_secs(100_000)) };
	let f = f.boxed().shared();
	for name in ["runs", "waits"] {
		let f = f.clone();
		start(name, 1, |at| async move {
			let _w = here!(at, 1).waits("any", "");
			f.await;
		});
	}
}

pub fn elsewhere() {
	let lock: Lock = keep(Mutex::new(0));
	start("holds", 1, |at| hold(at, lock));
	start("fine", 1, |at| has_a_loser(at, lock));
}

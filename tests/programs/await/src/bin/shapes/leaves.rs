// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task can wait for inside the process: channels, locks, other tasks, blocking jobs.

use crate::{nap, start};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::sync::{Barrier, Mutex, Notify, RwLock, Semaphore};
use tokio::task::JoinSet;
use waits::{here, At};

/// What must live as long as the waits: forever.
fn keep<T>(x: T) -> &'static mut T {
	Box::leak(Box::new(x))
}

fn channels() {
	let (tx, rx) = mpsc::channel::<u64>(7);
	keep((tx.clone(), tx));
	start("mpsc recv", 1, |at| async move {
		let mut rx = rx;
		let facts = r#""senders":2,"capacity":7,"direction":"recv""#;
		let _w = here!(at, 1).shared("mpsc", &rx, facts);
		rx.recv().await;
	});
	let (tx, rx) = mpsc::unbounded_channel::<u64>();
	keep(tx);
	start("mpsc recv, unbounded", 1, |at| async move {
		let mut rx = rx;
		let _w = here!(at, 1).shared("mpsc", &rx, r#""senders":1,"direction":"recv""#);
		rx.recv().await;
	});
	let (tx, rx) = mpsc::channel::<u64>(1);
	keep(rx);
	start("mpsc send", 1, |at| async move {
		tx.send(1).await.expect("room for one");
		let facts = r#""senders":1,"capacity":1,"direction":"send""#;
		let _w = here!(at, 1).shared("mpsc", &tx, facts);
		let _ = tx.send(2).await;
	});
	let (tx, rx) = oneshot::channel::<u64>();
	keep(tx);
	start("oneshot", 1, |at| async move {
		let _w = here!(at, 1).shared("oneshot", &rx, "");
		let _ = rx.await;
	});
	let (tx, rx) = watch::channel(1);
	keep((tx.clone(), tx.clone(), tx));
	for name in ["watch", "watch too", "watch as well"] {
		let mut rx = rx.clone();
		start(name, 1, |at| async move {
			let _w = here!(at, 1).shared("watch", &rx, r#""senders":3"#);
			let _ = rx.changed().await;
		});
	}
	let (tx, mut rx) = broadcast::channel::<u64>(4);
	keep((tx.clone(), tx));
	start("broadcast", 1, |at| async move {
		let _w = here!(at, 1).shared("broadcast", &rx, r#""senders":2,"capacity":4"#);
		let _ = rx.recv().await;
	});
}

async fn holder(at: At, lock: &'static Mutex<u64>, held: oneshot::Sender<()>) {
	let mut guard = lock.lock().await;
	held.send(()).expect("somebody asks");
	*guard += nap(here!(at), 7000).await;
}

async fn queue_on(at: At, lock: &'static Mutex<u64>, place: u64, holder: String) {
	let facts = format!(
		r#""queue_place":{place},"permits_free":0,"permits_wanted":1,"holder":{holder}"#
	);
	let _w = here!(at, 1).object("mutex", lock, &facts);
	*lock.lock().await += 1;
}

/// The next may only queue when this one does.
async fn until(nr_waits: usize) {
	while waits::nr_now() < nr_waits {
		tokio::time::sleep(Duration::from_millis(1)).await;
	}
	// Said, but perhaps not done: a turn of every worker is.
	tokio::time::sleep(Duration::from_millis(20)).await;
}

async fn locks() {
	let lock: &Mutex<u64> = keep(Mutex::new(0));
	let (tx, rx) = oneshot::channel();
	let id = start("mutex, holds", 1, |at| holder(at, lock, tx)).to_string();
	rx.await.expect("held");
	let before = waits::nr_now();
	let first = id.clone();
	start("mutex, first in the queue", 1, |at| {
		queue_on(at, lock, 1, first)
	});
	until(before + 1).await;
	start("mutex, second in the queue", 1, |at| {
		queue_on(at, lock, 2, id)
	});

	let lock = Arc::new(Mutex::new(0));
	keep(lock.clone().lock_owned().await);
	start("mutex, owned", 1, |at| async move {
		let facts = r#""queue_place":1,"permits_free":0"#;
		let _w = here!(at, 1).object("mutex", &*lock, facts);
		lock.clone().lock_owned().await;
	});

	let lock: &RwLock<u64> = keep(RwLock::new(0));
	keep((lock.read().await, lock.read().await));
	start("rwlock, write", 1, |at| async move {
		let facts = r#""direction":"write","queue_place":1"#;
		let _w = here!(at, 1).object("rwlock", lock, facts);
		*lock.write().await += 1;
	});
	let lock: &RwLock<u64> = keep(RwLock::new(0));
	keep(lock.write().await);
	start("rwlock, read", 1, |at| async move {
		let facts = r#""direction":"read","permits_free":0"#;
		let _w = here!(at, 1).object("rwlock", lock, facts);
		drop(lock.read().await);
	});

	let sem: &Semaphore = keep(Semaphore::new(3));
	start("semaphore", 1, |at| async move {
		let facts = r#""permits_wanted":5,"permits_missing":2,"permits_free":0"#;
		let _w = here!(at, 1).object("semaphore", sem, facts);
		let _ = sem.acquire_many(5).await;
	});
	let sem: &Semaphore = keep(Semaphore::new(2));
	let (tx, rx) = oneshot::channel();
	let id = start("semaphore, holds", 1, |at| async move {
		let _permit = sem.acquire_many(2).await;
		tx.send(()).expect("somebody asks");
		nap(here!(at), 7000).await;
	});
	rx.await.expect("held");
	start("semaphore, held", 1, |at| async move {
		let facts = format!(r#""permits_missing":1,"permits_free":0,"holder":{id}"#);
		let _w = here!(at, 1).object("semaphore", sem, &facts);
		let _ = sem.acquire().await;
	});
	let notify: &Notify = keep(Notify::new());
	start("notify", 1, |at| async move {
		let _w = here!(at, 1).object("notify", notify, "");
		notify.notified().await;
	});
	let barrier: &Barrier = keep(Barrier::new(2));
	start("barrier", 1, |at| async move {
		let _w = here!(at, 1).object("barrier", barrier, "");
		barrier.wait().await;
	});
}

fn block() {
	std::thread::sleep(Duration::from_secs(7300));
}

fn tasks() {
	let sleeper = tokio::spawn(async { tokio::time::sleep(Duration::from_secs(7100)).await });
	start("join handle", 1, |at| async move {
		let facts = format!(r#""task":{}"#, sleeper.id());
		let _w = here!(at, 1).waits("join", facts);
		let _ = sleeper.await;
	});
	start("join set", 3, |at| async move {
		let mut set = JoinSet::new();
		let children = [7200, 7201, 7202].map(|s| {
			set.spawn(async move { tokio::time::sleep(Duration::from_secs(s)).await })
				.id()
		});
		let facts = |id| format!(r#""task":{id}"#);
		let _w = children.map(|id| here!(at, 1).waits("join", facts(id)));
		while set.join_next().await.is_some() {}
	});
	start("blocking job", 1, |at| async move {
		let job = tokio::task::spawn_blocking(|| block());
		let facts = format!(r#""task":{},"task_type":"shapes::leaves::tasks""#, job.id());
		let _w = here!(at, 1).waits("blocking", facts);
		let _ = job.await;
	});
	start("file", 1, |at| async move {
		let name = format!("fifo-{}", std::process::id());
		let made = std::process::Command::new("mkfifo").arg(&name).status();
		assert!(made.expect("mkfifo").success());
		let _w = here!(at, 1).waits("blocking", r#""task_type":"tokio::fs::""#);
		let _ = tokio::fs::read(name).await;
	});
}

pub async fn start_all() {
	channels();
	locks().await;
	tasks();
}

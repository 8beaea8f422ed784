// SPDX-License-Identifier: MIT OR Apache-2.0
//! Channels and locks of crates that belong to no runtime: futures-rs and flume.

use crate::{nap, start};
use futures::channel::{mpsc, oneshot};
use futures::lock::Mutex;
use futures::{SinkExt, StreamExt};
use std::sync::Arc;
use waits::{here, At};

/// What must live as long as the waits: forever.
fn keep<T>(x: T) -> &'static mut T {
	Box::leak(Box::new(x))
}

fn receivers() {
	let (tx, mut rx) = mpsc::channel::<u64>(7);
	keep((tx.clone(), tx));
	start("futures mpsc", 1, |at| async move {
		let facts =
			r#""senders":2,"capacity":7,"messages":0,"direction":"recv","state":null"#;
		let _w = here!(at, 1).shared("mpsc", &rx, facts);
		rx.next().await;
	});
	let (tx, mut rx) = mpsc::unbounded::<u64>();
	let tx = keep(tx);
	start("futures mpsc, unbounded", 1, |at| async move {
		let facts = format!(
			r#""senders":1,"capacity":null,"messages":{},"direction":"recv""#,
			tx.len()
		);
		let _w = here!(at, 1).shared("mpsc", &rx, &facts);
		let _ = rx.recv().await;
	});
	let (tx, rx) = oneshot::channel::<u64>();
	keep(tx);
	start("futures oneshot", 1, |at| async move {
		let _w = here!(at, 1).shared("oneshot", &rx, r#""state":null"#);
		let _ = rx.await;
	});
}

/// Each sender has room for one message more than the channel, and waits when it has used that.
fn senders() {
	let (mut tx, rx) = mpsc::channel::<u64>(2);
	let (rx, other): (&_, _) = (keep(rx), tx.clone());
	keep(other);
	start("futures mpsc, send", 1, |at| async move {
		tx.send(1).await.expect("room");
		tx.send(2).await.expect("room");
		let facts =
			r#""senders":2,"capacity":2,"messages":3,"direction":"send","state":null"#;
		let _w = here!(at, 1).shared("mpsc", rx, facts);
		let _ = tx.send(3).await;
	});
	let (mut tx, rx) = mpsc::channel::<u64>(0);
	let rx: &_ = keep(rx);
	start("futures mpsc, feed", 1, |at| async move {
		tx.feed(1).await.expect("room");
		let facts = r#""senders":1,"capacity":0,"messages":1,"direction":"send""#;
		let _w = here!(at, 1).shared("mpsc", rx, facts);
		let _ = tx.feed(2).await;
	});
}

async fn holder(at: At, lock: &'static Mutex<u64>, held: oneshot::Sender<()>) {
	let mut guard = lock.lock().await;
	held.send(()).expect("somebody asks");
	*guard += nap(here!(at), 8000).await;
}

async fn locks() {
	let lock: &Mutex<u64> = keep(Mutex::new(0));
	let (tx, rx) = oneshot::channel();
	let id = start("futures mutex, holds", 1, |at| holder(at, lock, tx));
	rx.await.expect("held");
	for name in ["futures mutex", "futures mutex too"] {
		start(name, 1, |at| async move {
			let facts = format!(r#""waiters":2,"holder":{id}"#);
			let _w = here!(at, 1).object("mutex", lock, &facts);
			*lock.lock().await += 1;
		});
	}
	let lock = Arc::new(Mutex::new(0));
	keep(lock.clone().lock_owned().await);
	start("futures mutex, owned", 1, |at| async move {
		let facts = r#""waiters":1,"holder":null"#;
		let _w = here!(at, 1).object("mutex", &*lock, facts);
		lock.clone().lock_owned().await;
	});
}

fn ends<T>(tx: &flume::Sender<T>) -> String {
	let capacity = tx.capacity().map_or("null".to_string(), |n| n.to_string());
	format!(
		r#""capacity":{capacity},"senders":{},"receivers":{},"messages":{},"state":null"#,
		tx.sender_count(),
		tx.receiver_count(),
		tx.len()
	)
}

fn flumes() {
	let (tx, rx) = flume::bounded::<u64>(5);
	keep((rx.clone(), rx.clone()));
	let tx: &_ = keep(tx);
	start("flume recv", 1, |at| async move {
		let _w = here!(at, 1).shared("mpsc", &rx, &(ends(tx) + r#","direction":"recv""#));
		let _ = rx.recv_async().await;
	});
	let (tx, rx) = flume::unbounded::<u64>();
	keep((tx.clone(), tx.clone()));
	let tx: &_ = keep(tx);
	start("flume stream", 1, |at| async move {
		let facts = ends(tx) + r#","direction":"recv""#;
		let _w = here!(at, 2).shared("mpsc", &rx, &facts);
		let mut all = rx.into_stream();
		all.next().await;
	});
	let (tx, rx) = flume::bounded::<u64>(3);
	keep(rx);
	start("flume send", 1, |at| async move {
		for i in 0..3 {
			tx.send_async(i).await.expect("room");
		}
		let _w = here!(at, 1).shared("mpsc", &tx, &(ends(&tx) + r#","direction":"send""#));
		let _ = tx.send_async(3).await;
	});
	let (tx, rx) = flume::bounded::<u64>(0);
	keep(rx);
	start("flume send, owned", 1, |at| async move {
		let _w = here!(at, 1).shared("mpsc", &tx, &(ends(&tx) + r#","direction":"send""#));
		let _ = tx.into_send_async(3).await;
	});
}

pub async fn start_all() {
	receivers();
	senders();
	locks().await;
	flumes();
}

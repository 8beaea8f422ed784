// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futures that are dropped before they are ready: by a timeout, as losers of a select!, with their task. The program says of
//! each function at which line that was, how often, and how many were ready after all.

use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tokio::sync::oneshot::{channel, Receiver};
use tokio::time::{sleep, timeout};
use waits::nested::ms;

const TIMEOUTS: u32 = 7;
const RACES: u32 = 5;
const ABORTS: u32 = 3;

static ANSWER: AtomicU32 = AtomicU32::new(0);
static NAP: AtomicU32 = AtomicU32::new(0);
static STUCK: AtomicU32 = AtomicU32::new(0);

/// Nobody answers in time.
async fn answer(rx: Receiver<()>) {
	ANSWER.store(line!() + 1, Relaxed);
	rx.await.ok();
}

/// Nobody waits so long.
async fn nap() {
	NAP.store(line!() + 1, Relaxed);
	sleep(ms(3_600_000)).await;
}

async fn stuck() {
	STUCK.store(line!() + 1, Relaxed);
	pending::<()>().await;
}

async fn is_late() {
	let (_tx, rx) = channel();
	assert!(timeout(ms(5), answer(rx)).await.is_err());
}

async fn race() {
	let (tx, rx) = channel();
	tokio::spawn(async move {
		sleep(ms(5)).await;
		tx.send(()).unwrap();
	});
	tokio::select! {
		_ = nap() => unreachable!(),
		_ = answer(rx) => {}
	}
}

#[tokio::main(worker_threads = 2)]
async fn main() {
	for _ in 0..TIMEOUTS {
		tokio::spawn(is_late()).await.unwrap();
	}
	for _ in 0..RACES {
		tokio::spawn(race()).await.unwrap();
	}
	for _ in 0..ABORTS {
		let task = tokio::spawn(stuck());
		sleep(ms(5)).await;
		task.abort();
		assert!(task.await.unwrap_err().is_cancelled());
	}
	for (function, line, dropped, finished) in [
		("answer", &ANSWER, TIMEOUTS, RACES),
		("nap", &NAP, RACES, 0),
		("stuck", &STUCK, ABORTS, 0),
	] {
		let line = line.load(Relaxed);
		println!(
			r#"{{"function":"{function}","line":{line},"dropped":{dropped},"finished":{finished}}}"#
		);
	}
}

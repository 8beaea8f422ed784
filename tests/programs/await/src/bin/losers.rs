// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futures that are dropped before they are ready: by a timeout, as losers of a select!, in a loop as well, with their task. The
//! program says of each function at which line that was, how often, and how many were ready after all.
//!
//! On one thread, where nobody can send, time out or abort while a future is polled for the first time: each of them has waited.

use std::future::pending;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tokio::sync::mpsc;
use tokio::sync::oneshot::{channel, Receiver};
use tokio::time::{sleep, timeout};
use waits::nested::ms;

const TIMEOUTS: u32 = 7;
const RACES: u32 = 5;
const ABORTS: u32 = 3;
const TURNS: u32 = 11;

static ANSWER: AtomicU32 = AtomicU32::new(0);
static NAP: AtomicU32 = AtomicU32::new(0);
static STUCK: AtomicU32 = AtomicU32::new(0);
static DOZE: AtomicU32 = AtomicU32::new(0);
static REST: AtomicU32 = AtomicU32::new(0);
static SLOW: AtomicU32 = AtomicU32::new(0);
static NR_DOZES: AtomicU32 = AtomicU32::new(0);
static NR_SLOW: AtomicU32 = AtomicU32::new(0);
static NR_LULLS: AtomicU32 = AtomicU32::new(0);

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

async fn doze() {
	DOZE.store(line!() + 2, Relaxed);
	NR_DOZES.fetch_add(1, Relaxed);
	sleep(ms(3_600_000)).await;
}

async fn rest() {
	REST.store(line!() + 1, Relaxed);
	sleep(ms(3_600_000)).await;
}

async fn slow(rx: Receiver<()>) {
	SLOW.store(line!() + 2, Relaxed);
	NR_SLOW.fetch_add(1, Relaxed);
	rx.await.ok();
}

async fn lull() {
	NR_LULLS.fetch_add(1, Relaxed);
	sleep(ms(3_600_000)).await;
}

/// One timer loses against another in each turn: nobody who only sees that a timer woke the task knows which one.
async fn ticks() {
	for _ in 0..TURNS {
		tokio::select! {
			_ = lull() => unreachable!(),
			_ = sleep(ms(5)) => {}
		}
	}
}

/// At one line: what is made anew in each turn loses in each, what is only borrowed is dropped once.
async fn turns() {
	let (tx, mut rx) = mpsc::channel(1);
	let mut rest = pin!(rest());
	tokio::spawn(async move {
		for i in 1..=TURNS {
			while NR_DOZES.load(Relaxed) < i {
				sleep(ms(1)).await;
			}
			tx.send(()).await.unwrap();
		}
	});
	for _ in 0..TURNS {
		tokio::select! {
			_ = doze() => unreachable!(),
			_ = &mut rest => unreachable!(),
			_ = rx.recv() => {}
		}
	}
}

/// The same of timeouts.
async fn is_late_again() {
	let mut senders = Vec::new();
	for _ in 0..TURNS {
		let (tx, rx) = channel();
		senders.push(tx);
		assert!(timeout(ms(5), slow(rx)).await.is_err());
	}
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

#[tokio::main(flavor = "current_thread")]
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
	tokio::spawn(turns()).await.unwrap();
	tokio::spawn(is_late_again()).await.unwrap();
	tokio::spawn(ticks()).await.unwrap();
	println!(r#"{{"function":"lull","nr":{}}}"#, NR_LULLS.load(Relaxed));
	assert_eq!((NR_DOZES.load(Relaxed), NR_SLOW.load(Relaxed)), (TURNS, TURNS));
	for (function, line, dropped, finished) in [
		("answer", &ANSWER, TIMEOUTS, RACES),
		("nap", &NAP, RACES, 0),
		("stuck", &STUCK, ABORTS, 0),
		("doze", &DOZE, TURNS, 0),
		("rest", &REST, 1, 0),
		("slow", &SLOW, TURNS, 0),
	] {
		let line = line.load(Relaxed);
		println!(
			r#"{{"function":"{function}","line":{line},"dropped":{dropped},"finished":{finished}}}"#
		);
	}
}

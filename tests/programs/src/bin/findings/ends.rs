// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that never begin, never end, end by force or by a panic, and tasks that are too big.

use crate::{ms, multi_thread, Mode, Truth};
use std::future::pending;
use std::mem::size_of_val;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

pub const MODES: &[Mode] = &[
	("task-leak", task_leak),
	("task-leak-miss", task_leak_miss),
	("never-polled", never_polled),
	("never-polled-miss", never_polled_miss),
	("cancel-storm", cancel_storm),
	("cancel-storm-miss", cancel_storm_miss),
	("lost-panic", lost_panic),
	("lost-panic-miss", lost_panic_miss),
	("large-future", large_future),
	("large-future-miss", large_future_miss),
];

async fn never_ends(go: oneshot::Receiver<()>) {
	let _ = go.await;
}

/// One more every few milliseconds, and only a few are ever told to end.
fn task_leak() -> Truth {
	let mut kept = Vec::new();
	let rt = multi_thread(2);
	rt.block_on(async {
		for n in 0..241 {
			let (tell, go) = oneshot::channel();
			tokio::spawn(never_ends(go));
			if n % 8 == 7 {
				tell.send(()).expect("still there");
			} else {
				kept.push(tell);
			}
			sleep(ms(5)).await;
		}
	});
	drop(rt);
	Truth::named("findings::ends::never_ends").with("count", kept.len() as u64)
}

/// A pool that is made at the start and stays, and requests that take their time and end.
async fn serves(mut calls: tokio::sync::mpsc::Receiver<()>) {
	while calls.recv().await.is_some() {}
}

async fn takes_its_time() {
	sleep(ms(150)).await;
}

/// Arrives, stays, and has something to do all the time.
async fn stays() {
	loop {
		sleep(ms(20)).await;
	}
}

fn task_leak_miss() -> Truth {
	let rt = multi_thread(2);
	rt.block_on(async {
		let pool: Vec<_> = (0..53)
			.map(|_| {
				let (call, calls) = tokio::sync::mpsc::channel(1);
				tokio::spawn(serves(calls));
				call
			})
			.collect();
		let mut requests = Vec::new();
		for n in 0..241 {
			let _ = pool[n % pool.len()].try_send(());
			requests.push(tokio::spawn(takes_its_time()));
			if n % 4 == 0 {
				tokio::spawn(stays());
			}
			sleep(ms(5)).await;
		}
		for r in requests {
			r.await.expect("request");
		}
	});
	drop(rt);
	Truth::named("findings::ends::serves").with("count", 53)
}

async fn never_runs() {
	sleep(ms(1)).await;
}

/// Given to a runtime that nobody drives.
fn never_polled() -> Truth {
	let rt = Builder::new_current_thread().build().expect("runtime");
	for _ in 0..7 {
		rt.spawn(never_runs());
	}
	// Something that does run, or there is no recording to speak of.
	multi_thread(2).block_on(async { tokio::spawn(sleep(ms(600))).await.expect("sleep") });
	drop(rt);
	Truth::of(&never_runs()).with("count", 7)
}

/// Given to a runtime that is driven later; and one more right before the end.
fn never_polled_miss() -> Truth {
	let rt = Builder::new_current_thread()
		.enable_all()
		.build()
		.expect("runtime");
	let v: Vec<_> = (0..7).map(|_| rt.spawn(never_runs())).collect();
	multi_thread(2).block_on(async { tokio::spawn(sleep(ms(400))).await.expect("sleep") });
	rt.block_on(async {
		for t in v {
			t.await.expect("late");
		}
	});
	rt.spawn(never_runs());
	drop(rt);
	Truth::of(&never_runs()).with("count", 7)
}

async fn is_cancelled(is_quick: bool) {
	if !is_quick {
		pending::<()>().await;
	}
}

/// One of eight is done in time.
fn cancel_storm() -> Truth {
	multi_thread(2).block_on(async {
		for _ in 0..127 {
			let v: Vec<_> = (0..8)
				.map(|n| tokio::spawn(is_cancelled(n == 0)))
				.collect();
			sleep(ms(5)).await;
			for (n, t) in v.into_iter().enumerate() {
				if n > 0 {
					t.abort();
					assert!(t.await.expect_err("aborted").is_cancelled());
				} else {
					t.await.expect("quick");
				}
			}
		}
	});
	Truth::of(&is_cancelled(true)).with("count", 127 * 7)
}

/// Stands by until its owner is done, which aborts it: that is all it ever does.
async fn stands_by() {
	loop {
		sleep(ms(1000)).await;
	}
}

/// Nearly all are in time, by far.
async fn has_a_limit(n: u64) -> bool {
	let takes = if n.is_multiple_of(40) { 500 } else { 2 };
	timeout(ms(100), sleep(ms(takes))).await.is_ok()
}

fn cancel_storm_miss() -> Truth {
	let nr = multi_thread(2).block_on(async {
		let mut cancelled = 0;
		for n in 0..211 {
			let t = tokio::spawn(has_a_limit(n));
			if n % 70 == 1 {
				t.abort();
			}
			let helper = tokio::spawn(stands_by());
			cancelled += u64::from(t.await.is_err());
			helper.abort();
		}
		cancelled
	});
	Truth::of(&has_a_limit(0)).with("count", nr)
}

async fn panics() {
	sleep(ms(20)).await;
	panic!("nobody will know");
}

fn lost_panic() -> Truth {
	std::panic::set_hook(Box::new(|_| ()));
	multi_thread(2).block_on(async {
		for _ in 0..5 {
			drop(tokio::spawn(panics()));
		}
		sleep(ms(300)).await;
	});
	Truth::of(&panics()).with("count", 5)
}

/// The same panics, and somebody looks.
fn lost_panic_miss() -> Truth {
	std::panic::set_hook(Box::new(|_| ()));
	let nr = multi_thread(2).block_on(async {
		let v: Vec<_> = (0..5).map(|_| tokio::spawn(panics())).collect();
		let mut seen = 0;
		for t in v {
			seen += u64::from(t.await.is_err_and(|e| e.is_panic()));
		}
		seen
	});
	Truth::of(&panics()).with("count", nr)
}

/// A buffer that lives across an await is part of the future.
async fn keeps_buffer<const N: usize>() -> u8 {
	let mut buffer = [0u8; N];
	sleep(ms(20)).await;
	buffer[N / 2] = 7;
	sleep(ms(20)).await;
	buffer.iter().fold(0, |a, b| a ^ b)
}

async fn is_large() -> u8 {
	keeps_buffer::<40_000>().await
}

/// Tokio boxes what is larger than 16 KiB (2 KiB in a debug build), and then copies only the pointer.
fn large_future() -> Truth {
	let bytes = size_of_val(&is_large()) as u64;
	multi_thread(2).block_on(async {
		let v: Vec<_> = (0..5).map(|_| tokio::spawn(is_large())).collect();
		for t in v {
			assert_eq!(t.await.expect("large"), 7);
		}
	});
	Truth::of(&is_large()).with("count", 5).with("bytes", bytes)
}

/// The same buffer on the heap.
async fn is_small() -> u8 {
	let mut buffer = vec![0u8; 40_000];
	sleep(ms(20)).await;
	buffer[20_000] = 7;
	sleep(ms(20)).await;
	buffer.iter().fold(0, |a, b| a ^ b)
}

fn large_future_miss() -> Truth {
	let bytes = size_of_val(&is_small()) as u64;
	multi_thread(2).block_on(async {
		let v: Vec<_> = (0..5).map(|_| tokio::spawn(is_small())).collect();
		for t in v {
			assert_eq!(t.await.expect("small"), 7);
		}
	});
	Truth::of(&is_small()).with("count", 5).with("bytes", bytes)
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work that is spread badly: one worker has it all, or the blocking pool is too small.

use crate::{ms, multi_thread, ns_since, spin, us, Mode, Truth};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::sleep;

pub const MODES: &[Mode] = &[
	("worker-imbalance", worker_imbalance),
	("worker-imbalance-miss", worker_imbalance_miss),
	("blocking-queue", blocking_queue),
	("blocking-queue-miss", blocking_queue_miss),
];

/// All in one task: however many workers there are, only one has something to do.
async fn does_everything(time: Duration) -> u64 {
	let (began, mut nr) = (Instant::now(), 0);
	while began.elapsed() < time {
		spin(ms(2));
		yield_now().await;
		nr += 1;
	}
	nr
}

fn worker_imbalance() -> Truth {
	let task = does_everything(ms(1500));
	let truth = Truth::of(&task);
	let nr = multi_thread(4).block_on(async { tokio::spawn(task).await.expect("does") });
	truth.with("count", nr)
}

/// Hardly anything to do: it is all done by one worker, which sleeps most of the time as well.
async fn does_little() -> u64 {
	for _ in 0..101 {
		sleep(ms(10)).await;
		spin(us(300));
	}
	101
}

fn worker_imbalance_miss() -> Truth {
	let task = does_little();
	let truth = Truth::of(&task);
	let nr = multi_thread(4).block_on(async { tokio::spawn(task).await.expect("does") });
	truth.with("count", nr)
}

/// Notes how long it waited for a thread, then sleeps.
fn job(max: Arc<AtomicU64>, asked: Instant, time: Duration) -> impl FnOnce() + Send {
	move || {
		max.fetch_max(ns_since(asked), SeqCst);
		std::thread::sleep(time);
	}
}

/// So many closures at once; how long the unluckiest waited for a thread.
fn run_closures(rt: &Runtime, nr: u64, time: Duration) -> Truth {
	let max = Arc::new(AtomicU64::new(0));
	rt.block_on(async {
		let closures: Vec<_> = (0..nr)
			.map(|_| {
				tokio::task::spawn_blocking(job(max.clone(), Instant::now(), time))
			})
			.collect();
		for c in closures {
			c.await.expect("closure");
		}
	});
	let one = job(max.clone(), Instant::now(), time);
	Truth::named(std::any::type_name_of_val(&one))
		.with("count", nr)
		.with("max_ns", max.load(SeqCst))
}

fn blocking_queue() -> Truth {
	let rt = Builder::new_multi_thread()
		.worker_threads(2)
		.max_blocking_threads(2)
		.build()
		.expect("runtime");
	run_closures(&rt, 41, ms(30))
}

/// Many, and a thread for each.
fn blocking_queue_miss() -> Truth {
	run_closures(&multi_thread(2), 23, ms(300))
}

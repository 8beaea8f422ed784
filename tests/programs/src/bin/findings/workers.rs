// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work that is spread badly: one worker has it all, or the blocking pool is too small.

use crate::{ms, multi_thread, ns_since, spin, Mode, Truth};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::sleep;

pub const MODES: &[Mode] = &[
	("worker-imbalance", worker_imbalance),
	("worker-imbalance-miss", worker_imbalance_miss),
	("blocking-queue", blocking_queue),
	("blocking-queue-miss", blocking_queue_miss),
];

/// Calls for help and goes on with its own work. Whom a task wakes is the next one on the same worker, and no
/// other worker takes it from there.
async fn does_everything(help: Arc<Notify>, time: Duration) -> u64 {
	let (began, mut nr) = (Instant::now(), 0);
	while began.elapsed() < time {
		help.notify_one();
		spin(ms(4));
		yield_now().await;
		nr += 1;
	}
	nr
}

async fn helps(called: Arc<Notify>) {
	loop {
		called.notified().await;
	}
}

/// One worker of four is busy for a second and a half, with or without somebody who could help it.
fn keep_one_busy(has_helper: bool) -> Truth {
	let help = Arc::new(Notify::new());
	let task = does_everything(help.clone(), ms(1500));
	let truth = Truth::of(&task);
	let nr = multi_thread(4).block_on(async {
		if has_helper {
			tokio::spawn(helps(help));
			sleep(ms(5)).await;
		}
		tokio::spawn(task).await.expect("does")
	});
	truth.with("count", nr)
}

fn worker_imbalance() -> Truth {
	keep_one_busy(true)
}

/// As busy, but nothing waits for it.
fn worker_imbalance_miss() -> Truth {
	keep_one_busy(false)
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

/// As long, and a thread for each.
fn blocking_queue_miss() -> Truth {
	run_closures(&multi_thread(2), 11, ms(300))
}

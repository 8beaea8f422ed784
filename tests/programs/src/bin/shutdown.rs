// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runtimes that go away while their workers are busy with tasks. `shutdown mt WORKERS`
//!
//! A worker may be in the middle of a task, or just about to look at it, when another one shuts it down.

use std::future::pending;
use truth::{spawn, yields};

async fn yields_forever() {
	loop {
		// Long enough that no ring overflows, and that most shutdowns come while a poll runs.
		(0..500).for_each(|_| std::hint::spin_loop());
		yields(1).await;
	}
}

async fn begin() {
	let v: Vec<_> = (0..5)
		.map(|_| spawn("yields_forever", yields_forever()))
		.collect();
	for t in &v {
		while t.rec.polls.load(std::sync::atomic::Ordering::SeqCst) == 0 {
			truth::turn().await;
		}
	}
	for _ in 0..3 {
		drop(spawn("never", pending::<()>()));
	}
}

fn main() {
	let args: Vec<String> = std::env::args().skip(1).collect();
	for _ in 0..31 {
		let rt = truth::runtime(&args);
		rt.block_on(begin());
		drop(rt);
	}
	truth::print();
}

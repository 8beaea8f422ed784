// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that mark as fast as they can, and how often they did.
//!
//! usage: storm MARKS_OF_A_THREAD | storm on
//! on: until its input ends.

use futrace::{mark, span};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

const THREADS: u64 = 3;

static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Returns how many marks it made.
fn storm(thread: u64, nr: u64) -> u64 {
	for i in 0..nr {
		if IS_OVER.load(Ordering::Relaxed) {
			return i;
		}
		let _span = span!("turn", i << 8 | thread);
		mark!(
			"storm",
			i,
			thread = thread,
			text = "of some length, so that it has pieces"
		);
	}
	nr
}

fn main() {
	let nr = std::env::args()
		.nth(1)
		.expect("how many marks")
		.parse()
		.ok();
	let threads: Vec<_> = (0..THREADS)
		.map(|t| std::thread::spawn(move || storm(t, nr.unwrap_or(u64::MAX))))
		.collect();
	if nr.is_none() {
		println!("{}", std::process::id());
		std::io::stdin()
			.read_to_end(&mut Vec::new())
			.expect("an end");
		IS_OVER.store(true, Ordering::Relaxed);
	}
	let sum: u64 = threads
		.into_iter()
		.map(|t| t.join().expect("a thread"))
		.sum();
	println!(r#"{{"truth":"storm","marks":{sum},"spans":{sum}}}"#);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that mark as fast as they can, and how often they did.
//!
//! usage: storm MARKS_OF_A_THREAD

use futrace::{mark, span};

const THREADS: u64 = 3;

fn main() {
	let nr: u64 = std::env::args()
		.nth(1)
		.and_then(|n| n.parse().ok())
		.expect("how many marks");
	let threads: Vec<_> =
		(0..THREADS)
			.map(|t| {
				std::thread::spawn(move || {
					for i in 0..nr {
						let _span = span!("turn", i << 8 | t);
						mark!("storm", i, thread = t, text = "of some length, so that it has pieces");
					}
				})
			})
			.collect();
	for t in threads {
		t.join().expect("a thread");
	}
	println!(
		r#"{{"truth":"storm","marks":{},"spans":{}}}"#,
		nr * THREADS,
		nr * THREADS
	);
}

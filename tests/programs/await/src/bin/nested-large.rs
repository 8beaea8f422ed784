// SPDX-License-Identifier: MIT OR Apache-2.0
//! As nested-async-std, but its root future is larger than a page, and so is the frame that it lies in.

use async_std::task::sleep;
use std::hint::black_box;
use waits::nested::{at, ms, tell};

const LARGE: usize = 7919;

async fn my_test() {
	let note = at(line!() + 1, "my_test");
	sleep(ms(100)).await;
	note.done();
}

#[async_std::main]
async fn main() {
	let kept = black_box([1u8; LARGE]);
	let note = at(line!() + 1, "main");
	my_test().await;
	note.done();
	let note = at(line!() + 1, "main");
	sleep(ms(150)).await;
	note.done();
	let sum: usize = black_box(&kept).iter().map(|&x| usize::from(x)).sum();
	assert_eq!(sum, LARGE);
	tell("root");
}

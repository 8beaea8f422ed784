// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that await functions that sleep, in the root future of async-std and in a task.

use async_std::task::sleep;
use waits::nested::{at, ms, tell};

async fn my_test() {
	let note = at(line!() + 1, "my_test");
	sleep(ms(100)).await;
	note.done();
}

async fn both() {
	for _ in 0..3 {
		let note = at(line!() + 1, "both");
		my_test().await;
		note.done();
		let note = at(line!() + 1, "both");
		sleep(ms(50)).await;
		note.done();
	}
}

#[async_std::main]
async fn main() {
	let note = at(line!() + 1, "main");
	my_test().await;
	note.done();
	let note = at(line!() + 1, "main");
	sleep(ms(150)).await;
	note.done();
	tell("root");
	let note = at(line!() + 1, "main");
	async_std::task::spawn(both()).await;
	tell("task");
	note.done();
	tell("root");
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A function that awaits a function that sleeps, in the root future of Tokio on a single thread.

use tokio::time::sleep;
use waits::nested::{at, ms, tell};

async fn my_test() {
	let note = at(line!() + 1, "my_test");
	sleep(ms(100)).await;
	note.done();
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
	let note = at(line!() + 1, "main");
	my_test().await;
	note.done();
	let note = at(line!() + 1, "main");
	sleep(ms(150)).await;
	note.done();
	tell("root");
}

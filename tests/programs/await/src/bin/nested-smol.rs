// SPDX-License-Identifier: MIT OR Apache-2.0
//! A function that awaits a function that sleeps, in the root future of smol.

use smol::Timer;
use waits::nested::{at, ms, tell};

async fn my_test() {
	let note = at(line!() + 1, "my_test");
	Timer::after(ms(100)).await;
	note.done();
}

fn main() {
	smol::block_on(async {
		let note = at(line!() + 1, "main");
		my_test().await;
		note.done();
		let note = at(line!() + 1, "main");
		Timer::after(ms(150)).await;
		note.done();
		tell("root");
	});
}

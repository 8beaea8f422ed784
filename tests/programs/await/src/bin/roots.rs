// SPDX-License-Identifier: MIT OR Apache-2.0
//! roots SHAPE: main waits in block_on, and there may be no task at all. It goes on until its input ends.

use std::future::{pending, poll_fn};
use std::hint::{black_box, spin_loop};
use std::io::Read;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

const LONG: Duration = Duration::from_secs(3600);

fn say_ready(truth: &str) {
	println!("{truth}\nready");
}

async fn inner() {
	sleep(LONG).await // inner
}

/// A future that the compiler made, in a function whose name says nothing.
fn wait_for_block(rt: &Runtime) {
	rt.block_on(async {
		say_ready("lines block inner");
		inner().await // block
	})
}

/// A task, while handles of others lie around.
fn wait_for_task(rt: &Runtime) {
	let tasks = [0; 3].map(|_| rt.spawn(pending::<()>()));
	let [a, b, c] = tasks;
	let others = (a, c);

	say_ready("");
	black_box(&others);
	rt.block_on(b).unwrap();
	black_box(&others);
}

/// A future that somebody wrote: nothing tells that it is one.
fn wait_for_sleep(rt: &Runtime) {
	let _entered = rt.enter();

	say_ready("");
	rt.block_on(sleep(LONG));
}

/// Polled all the time.
fn wait_for_nothing(rt: &Runtime) {
	say_ready("");
	rt.block_on(poll_fn(|_| loop {
		spin_loop()
	}))
}

fn main() {
	let rt = Builder::new_multi_thread()
		.worker_threads(1)
		.enable_all()
		.build()
		.unwrap();

	std::thread::spawn(|| {
		std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
		std::process::exit(0)
	});
	match std::env::args().nth(1).as_deref() {
		Some("block") => wait_for_block(&rt),
		Some("task") => wait_for_task(&rt),
		Some("sleep") => wait_for_sleep(&rt),
		Some("busy") => wait_for_nothing(&rt),
		_ => panic!("roots block | task | sleep | busy"),
	}
}

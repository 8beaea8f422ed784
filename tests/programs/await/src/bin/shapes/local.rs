// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runtimes of one thread, and tasks that never leave theirs.

use crate::{nap, turns};
use std::rc::Rc;
use waits::{here, At};

async fn local(at: At) {
	let rc = Rc::new(9000);
	turns(1).await;
	nap(here!(at), *rc).await;
}

async fn root(at: At) {
	let set = tokio::task::LocalSet::new();
	set.spawn_local(local(waits::task("local")));
	let other = waits::task("of another runtime");
	tokio::spawn(async move { nap(here!(other), 9001).await });
	set.run_until(nap(here!(at), 9002)).await;
}

pub fn start_all() {
	waits::expect(3);
	std::thread::spawn(|| {
		let rt = tokio::runtime::Builder::new_current_thread()
			.enable_all()
			.build();
		rt.expect("runtime")
			.block_on(root(waits::task("root of one thread")));
	});
}

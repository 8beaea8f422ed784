// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that block their worker, on Tokio. `machines [idle]`

#[path = "../machines.rs"]
mod machines;

use machines::Runtime;

fn main() {
	let rt = tokio::runtime::Builder::new_multi_thread()
		.worker_threads(3)
		.enable_time()
		.build()
		.expect("a runtime");
	rt.block_on(machines::run(Runtime {
		spawn: |task| {
			let handle = tokio::spawn(task);
			Box::pin(async { handle.await.expect("no task panics") })
		},
		sleep: |time| Box::pin(async move { tokio::time::sleep(time).await }),
	}));
}

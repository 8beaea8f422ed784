// SPDX-License-Identifier: MIT OR Apache-2.0
//! A library with its own Tokio, loaded by `plugin-host` long after the start of the process.

use truth::{spawn, yields};

async fn in_plugin(n: u64) {
	yields(n).await;
}

async fn root() {
	let v: Vec<_> = (0..11).map(|n| spawn("in_plugin", in_plugin(n))).collect();
	for t in v {
		t.await.expect("in plugin");
	}
	truth::spawn_blocking("closure", || ())
		.await
		.expect("closure");
}

/// Runs eleven tasks on a runtime of its own, on `workers` workers or (0) in the caller's thread.
/// Returns the number of tasks spawned so far.
#[no_mangle]
pub extern "C" fn plugin_run(workers: u32) -> u64 {
	let n = workers.to_string();
	let args = if workers == 0 {
		vec!["ct".into()]
	} else {
		vec!["mt".into(), n]
	};
	truth::runtime(&args).block_on(root());
	truth::nr_tasks() as u64
}

/// Prints the truth of all runs.
#[no_mangle]
pub extern "C" fn plugin_print() {
	truth::print();
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads of a runtime that have little to do, and tell their numbers. `parks ct | mt WORKERS`
//!
//! No poll sleeps in the kernel: whatever one of these threads sleeps there, it is parked.

use std::sync::Mutex;
use std::time::Duration;
use tokio::runtime::Builder;

static THREADS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn tid() -> String {
	let link = std::fs::read_link("/proc/thread-self").expect("proc is mounted");
	let name = link.file_name().expect("PID/task/TID");
	name.to_str().expect("a number").to_owned()
}

async fn sleeper(n: u64) {
	for _ in 0..7 {
		tokio::time::sleep(Duration::from_millis(n)).await;
	}
}

fn main() {
	let args: Vec<String> = std::env::args().collect();
	let mut builder = match &args[1][..] {
		"ct" => Builder::new_current_thread(),
		_ => Builder::new_multi_thread(),
	};
	if args[1] == "mt" {
		builder.worker_threads(args[2].parse().expect("a number of workers"));
		builder.on_thread_start(|| THREADS.lock().unwrap().push(tid()));
	} else {
		THREADS.lock().unwrap().push(tid());
	}
	let runtime = builder.enable_all().build().expect("a runtime");
	runtime.block_on(async {
		let tasks: Vec<_> = (1..6).map(|n| tokio::spawn(sleeper(n))).collect();
		for t in tasks {
			t.await.expect("it sleeps, and ends");
		}
	});
	drop(runtime);
	for t in THREADS.lock().unwrap().iter() {
		println!("{{\"truth\":\"thread\",\"tid\":{t}}}");
	}
}

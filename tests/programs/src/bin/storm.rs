// SPDX-License-Identifier: MIT OR Apache-2.0
//! A yield storm: as many polls as can be. `storm WORKERS TASKS YIELDS REPEATS`
//!
//! The tasks count nothing, so that the cost of a poll is the runtime's own.

use tokio::runtime::Builder;

async fn stormy(yields: u64) {
	for _ in 0..yields {
		tokio::task::yield_now().await;
	}
}

async fn round(tasks: u64, yields: u64) {
	let v: Vec<_> = (0..tasks).map(|_| tokio::spawn(stormy(yields))).collect();
	for h in v {
		h.await.expect("stormy");
	}
}

fn main() {
	let a: Vec<u64> = std::env::args()
		.skip(1)
		.map(|x| x.parse().expect("a number"))
		.collect();
	let &[workers, tasks, yields, repeats] = a.as_slice() else {
		eprintln!("usage: storm WORKERS TASKS YIELDS REPEATS");
		std::process::exit(2);
	};
	let rt = Builder::new_multi_thread()
		.worker_threads(workers as usize)
		.build()
		.expect("runtime");
	let polls = tasks * (yields + 1);
	let mut best = f64::MAX;
	for _ in 0..repeats {
		let began = truth::cpu_ns();
		rt.block_on(round(tasks, yields));
		best = best.min((truth::cpu_ns() - began) as f64 / polls as f64);
	}
	// A runtime that goes away calls once more into tasks that it has not yet put away: no poll, but a run.
	while rt.metrics().num_alive_tasks() > 0 {
		std::thread::yield_now();
	}
	drop(rt);
	println!(
		r#"{{"truth":"total","tasks":{},"polls":{},"cpu_ns_per_poll":{best:.2}}}"#,
		tasks * repeats,
		polls * repeats
	);
}

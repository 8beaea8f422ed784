// SPDX-License-Identifier: MIT OR Apache-2.0
//! Many threads that are all there at once, each with a runtime of its own that runs one task.
//! `crowd THREADS YIELDS`

use std::sync::{Arc, Barrier};
use std::thread::Builder;

const STACK: usize = 128 * 1024;

async fn one_of_many(yields: u64) {
	for _ in 0..yields {
		tokio::task::yield_now().await;
	}
}

fn alone(all_here: &Barrier, yields: u64) {
	let rt = tokio::runtime::Builder::new_current_thread()
		.build()
		.expect("runtime");
	all_here.wait();
	rt.block_on(async { tokio::spawn(one_of_many(yields)).await.expect("task") });
	drop(rt);
	// Nobody leaves before all have run: no thread takes the place of another.
	all_here.wait();
}

fn main() {
	let a: Vec<u64> = std::env::args()
		.skip(1)
		.map(|x| x.parse().expect("a number"))
		.collect();
	let &[threads, yields] = a.as_slice() else {
		eprintln!("usage: crowd THREADS YIELDS");
		std::process::exit(2);
	};
	let all_here = Arc::new(Barrier::new(threads as usize));
	let v: Vec<_> = (0..threads)
		.map(|_| {
			let here = all_here.clone();
			Builder::new()
				.stack_size(STACK)
				.spawn(move || alone(&here, yields))
				.expect("thread")
		})
		.collect();
	v.into_iter().for_each(|t| t.join().expect("thread"));
	let polls = threads * (yields + 1);
	println!(r#"{{"truth":"total","tasks":{threads},"polls":{polls}}}"#);
}

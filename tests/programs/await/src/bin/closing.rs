// SPDX-License-Identifier: MIT OR Apache-2.0
//! closing ROUNDS: runtimes that shut down, one after another, while their workers poll tasks as fast as they can. What a task
//! waits in lies on the heap, several boxes deep, and memory is spoilt before it is given back: whoever follows a future
//! that is being dropped reads rubbish, or ends the program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

struct Spoiling;

unsafe impl GlobalAlloc for Spoiling {
	unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
		System.alloc(layout)
	}

	unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
		std::ptr::write_bytes(at, 0xa5, layout.size());
		std::hint::black_box(at);
		System.dealloc(at, layout)
	}
}

#[global_allocator]
static ALLOCATOR: Spoiling = Spoiling;

const TASKS: u64 = 23;
static BEGUN: AtomicU64 = AtomicU64::new(0);

fn down(depth: u32) -> Pin<Box<dyn Future<Output = ()> + Send>> {
	Box::pin(async move {
		if depth > 0 {
			down(depth - 1).await
		}
		tokio::task::yield_now().await
	})
}

async fn spins() {
	BEGUN.fetch_add(1, Ordering::Relaxed);
	loop {
		down(5).await
	}
}

fn main() {
	let rounds: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("closing ROUNDS");
	for round in 0..rounds {
		let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap();
		for _ in 0..TASKS {
			rt.spawn(spins());
		}
		while BEGUN.load(Ordering::Relaxed) < (round + 1) * TASKS {
			std::thread::sleep(Duration::from_micros(50));
		}
		drop(rt);
	}
	println!(r#"{{"tasks":{}}}"#, rounds * TASKS);
}

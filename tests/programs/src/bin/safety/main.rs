// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cases of `cases.rs` on Tokio.

mod cases;
mod sandbox;
mod state;

use cases::{yields, Started};
use std::future::Future;
use tokio::runtime::{Builder, Runtime};

/// A runtime with that many workers; 0: it runs in the thread that calls `run`.
pub struct Alive(Runtime);

impl Alive {
	pub fn new(workers: usize) -> Alive {
		let mut b = match workers {
			0 => Builder::new_current_thread(),
			_ => Builder::new_multi_thread(),
		};
		let started = Started::default();
		let thread = started.clone();
		b.worker_threads(workers.max(1));
		b.on_thread_start(move || thread.arrive());
		let runtime = b.build().expect("runtime");
		started.wait_for(workers);
		Alive(runtime)
	}

	/// So many tasks, which are over when this returns.
	pub fn run(&self, nr: u64) {
		self.0.block_on(async {
			let v: Vec<_> = (0..nr).map(|n| tokio::spawn(yields(n % 5))).collect();
			for t in v {
				t.await.expect("task");
			}
		});
	}

	/// A task that nobody waits for.
	pub fn spawn(&self, f: impl Future<Output = ()> + Send + 'static) {
		drop(self.0.spawn(f));
	}

	/// Runs what was spawned until `f` is over. A panic of it is caught, as Tokio does.
	pub fn finish(&self, f: impl Future<Output = ()> + Send + 'static) {
		let _ = self.0.block_on(self.0.spawn(f));
	}
}

fn main() {
	cases::main();
}

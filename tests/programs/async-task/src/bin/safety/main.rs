// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cases of Tokio's `safety` on an executor of smol's, that is on async-task.

#[path = "../../../../src/bin/safety/cases.rs"]
mod cases;
#[path = "../../../../src/bin/safety/sandbox.rs"]
mod sandbox;
#[path = "../../../../src/bin/safety/state.rs"]
mod state;

use cases::{yields, Started};
use smol::channel::{unbounded, Receiver, Sender};
use smol::future::block_on;
use smol::Executor;
use std::future::Future;
use std::sync::Arc;
use std::thread::JoinHandle;

/// An executor with that many threads; 0: it runs in the thread that calls `run`.
pub struct Alive {
	executor: Arc<Executor<'static>>,
	threads: Vec<JoinHandle<()>>,
	over: Option<Sender<()>>,
}

impl Alive {
	pub fn new(workers: usize) -> Alive {
		let executor = Arc::new(Executor::new());
		let (over, is_over): (_, Receiver<()>) = unbounded();
		let started = Started::default();
		let threads = (0..workers)
			.map(|_| {
				let (executor, is_over) = (executor.clone(), is_over.clone());
				let started = started.clone();
				std::thread::spawn(move || {
					started.arrive();
					// Ends when the sender is gone.
					let _ = block_on(executor.run(is_over.recv()));
				})
			})
			.collect();
		started.wait_for(workers);
		Alive {
			executor,
			threads,
			over: Some(over),
		}
	}

	fn until<T>(&self, f: impl Future<Output = T>) -> T {
		match self.threads.is_empty() {
			true => block_on(self.executor.run(f)),
			false => block_on(f),
		}
	}

	/// So many tasks, which are over when this returns.
	pub fn run(&self, nr: u64) {
		let v: Vec<_> = (0..nr)
			.map(|n| self.executor.spawn(yields(n % 5)))
			.collect();
		self.until(async {
			for t in v {
				t.await;
			}
		});
	}

	/// A task that nobody waits for.
	pub fn spawn(&self, f: impl Future<Output = ()> + Send + 'static) {
		self.executor.spawn(f).detach();
	}

	/// Runs what was spawned until `f` is over. A panic of it comes out here.
	pub fn finish(&self, f: impl Future<Output = ()> + Send + 'static) {
		self.until(self.executor.spawn(f));
	}
}

impl Drop for Alive {
	fn drop(&mut self) {
		drop(self.over.take());
		for t in self.threads.drain(..) {
			t.join().expect("thread of the executor");
		}
	}
}

fn main() {
	cases::main();
}

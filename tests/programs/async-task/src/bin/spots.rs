// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spawns tasks of async-std, smol and bare async-task from known lines, a different number from each, and prints the
//! line and the number.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;

/// What spawns must stand on the line of this.
macro_rules! spawned {
	($nr:expr, $spawn:expr) => {{
		println!(
			"{{\"place\": \"{}:{}\", \"tasks\": {}}}",
			file!(),
			line!(),
			$nr
		);
		(0..$nr).map(|_| $spawn).collect::<Vec<_>>()
	}};
}

async fn work() {
	smol::future::yield_now().await;
}

async fn nested() {
	for t in spawned!(2, smol::spawn(work())) {
		t.await;
	}
}

const HELPER: u32 = line!() + 2;
fn helper<F: Future<Output = ()> + Send + 'static>(f: F) -> smol::Task<()> {
	smol::spawn(f)
}

fn of_smol() {
	let own = smol::Executor::new();
	let local = smol::LocalExecutor::new();

	smol::block_on(async {
		for t in spawned!(3, smol::spawn(work())) {
			t.await;
		}
		for t in spawned!(5, own.spawn(work())) {
			own.run(t).await;
		}
		for t in spawned!(7, local.spawn(work())) {
			local.run(t).await;
		}
		nested().await;
	});
	println!("{{\"place\": \"{}:{}\", \"tasks\": 11}}", file!(), HELPER);
	smol::block_on(async {
		for _ in 0..11 {
			helper(work()).await;
		}
	});
}

fn of_async_std() {
	async_std::task::block_on(async {
		for t in spawned!(13, async_std::task::spawn(work())) {
			t.await;
		}
		for t in spawned!(17, async_std::task::Builder::new().spawn(work()).unwrap()) {
			t.await;
		}
	});
}

fn bare() {
	let (queue, runnables) = mpsc::channel::<async_task::Runnable>();
	let schedule = move |r| queue.send(r).unwrap();
	let tasks = RefCell::new(Vec::new());
	let make = || {
		let (runnable, task) = async_task::spawn(work(), schedule.clone());
		tasks.borrow_mut().push(task);
		runnable
	};

	let _ = spawned!(19, make().schedule());
	for t in tasks.into_inner() {
		let mut t = pin!(t);

		while smol::block_on(smol::future::poll_once(t.as_mut())).is_none() {
			runnables.recv().unwrap().run();
		}
	}
}

fn main() {
	of_smol();
	of_async_std();
	bare();
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Eight futures of the same body, which optimisers merge into one, and one that is like no other, on two runtimes of
//! different kinds. Prints the id and the type of each task.

use std::any::type_name;
use std::future::Future;
use tokio::runtime::Builder;
use tokio::task::yield_now;

async fn run<F>(future: F)
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	let handle = tokio::spawn(future);
	println!(
		"{{\"task\": {}, \"type\": {:?}}}",
		handle.id(),
		type_name::<F>()
	);
	handle.await.expect("it ends");
}

macro_rules! alike {
	($($name:ident)*) => {
		$(async fn $name() {
			yield_now().await;
			yield_now().await;
		})*

		async fn all() {
			$(run($name()).await;)*
		}
	};
}

alike!(first second third fourth fifth sixth seventh eighth);

async fn other(n: u64) -> u64 {
	for _ in 0..n {
		yield_now().await;
	}
	n * 7919
}

fn main() {
	let current = Builder::new_current_thread().build().expect("a runtime");
	let multi = Builder::new_multi_thread()
		.worker_threads(2)
		.build()
		.expect("a runtime");
	current.block_on(async {
		all().await;
		run(other(3)).await;
	});
	multi.block_on(run(other(2)));
}

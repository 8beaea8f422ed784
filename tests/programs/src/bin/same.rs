// SPDX-License-Identifier: MIT OR Apache-2.0
//! Eight futures of the same body, which optimisers merge into one, and one that is like no other. Prints the id and
//! the type of each task. `same ct | mt WORKERS`

use std::any::type_name;
use std::future::Future;
use tokio::task::yield_now;

async fn run<F>(future: F)
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	let handle = tokio::spawn(future);
	println!("{{\"task\": {}, \"type\": {:?}}}", handle.id(), type_name::<F>());
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
	let args: Vec<String> = std::env::args().collect();
	let mut builder = match args.get(1).map(String::as_str) {
		Some("mt") => tokio::runtime::Builder::new_multi_thread(),
		_ => tokio::runtime::Builder::new_current_thread(),
	};
	if let Some(workers) = args.get(2) {
		builder.worker_threads(workers.parse().expect("a number of workers"));
	}
	builder.enable_all().build().expect("a runtime").block_on(async {
		all().await;
		run(other(3)).await;
	});
}

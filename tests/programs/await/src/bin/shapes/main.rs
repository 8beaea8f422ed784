// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task for every way to wait in Tokio. Says where each of them waits and for what, then `ready`, and stays so until
//! stdin ends.

mod blocks;
mod compose;
mod io;
mod leaves;
mod libraries;
mod local;
mod many;
mod streams;

use std::future::Future;
use std::time::Duration;
use waits::{here, At};

/// A task that has so many waits at once.
pub fn start<F>(name: &'static str, nr_waits: usize, f: impl FnOnce(At) -> F) -> tokio::task::Id
where
	F: Future<Output = ()> + Send + 'static,
{
	waits::expect(nr_waits);
	tokio::spawn(f(waits::task(name))).id()
}

/// The leaf of most: longer than any test, and another number of seconds for each.
pub async fn nap(at: At, s: u64) -> u64 {
	let sleep = tokio::time::sleep(Duration::from_secs(s));
	let _w = here!(at, 1).sleep(sleep.deadline().into_std());
	sleep.await;
	s
}

/// No leaf that anybody knows: its type is what can be said.
pub async fn never(at: At) {
	let _w = here!(at, 1).waits("other", r#""type":"core::future::pending::Pending<()>""#);
	std::future::pending().await
}

/// Some polls, so that nobody is where the first poll left it.
pub async fn turns(n: u64) {
	for _ in 0..n {
		tokio::task::yield_now().await;
	}
}

#[tokio::main(worker_threads = 2)]
async fn main() {
	compose::start_all();
	blocks::start_all();
	streams::start_all();
	many::start_all();
	leaves::start_all().await;
	libraries::start_all().await;
	io::start_all().await;
	local::start_all();
	waits::expect(1);
	waits::tell_when_ready();
	let at = waits::task("root");
	let sleep = tokio::time::sleep(Duration::from_secs(90_000));
	let _w = here!(at, 1).sleep(sleep.deadline().into_std());
	sleep.await;
}

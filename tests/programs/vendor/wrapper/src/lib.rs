// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spawns for others.

use std::future::Future;
use tokio::task::{Id, JoinHandle};

pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	named("", future)
}

fn named<F>(_: &str, future: F) -> JoinHandle<F::Output>
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	tokio::spawn(future)
}

/// A task that spawns another by itself: its id, and where that was.
pub fn chain() -> JoinHandle<(Id, String)> {
	tokio::spawn(async {
		let (handle, line) = (tokio::spawn(async {}), line!());
		let id = handle.id();
		handle.await.expect("it ends");
		(id, format!("{}:{line}", file!()))
	})
}

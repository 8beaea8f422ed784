// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams: their own state machines, and the adapters that poll futures for them.

use crate::{nap, start};
use futures::{stream, StreamExt};
use std::time::Duration;
use waits::{here, At};

async fn buffered(at: At) {
	let at = here!(at, 3);
	let s = stream::iter(0..10).map(|i| nap(at, 5000 + i)).buffered(3);
	futures::pin_mut!(s);
	while s.next().await.is_some() {}
}

async fn buffer_unordered(at: At) {
	let at = here!(at, 2);
	let s = stream::iter(0..10).map(|i| nap(at, 5100 + i));
	s.buffer_unordered(2).for_each(|_| async {}).await;
}

async fn for_each(at: At) {
	let at = here!(at, 2);
	let work = |i: u64| async move { println!("{}", nap(here!(at), 5200 + i).await) };
	stream::iter(0..3).for_each(work).await;
}

async fn by_macro(at: At) {
	let s = async_stream::stream! {
		for i in 0..3 {
			yield nap(here!(here!(at, 4)), 5300 + i).await;
		}
	};
	futures::pin_mut!(s);
	while s.next().await.is_some() {}
}

async fn unfold(at: At) {
	let at = here!(at, 4);
	let step = |n| async move { Some((nap(here!(at), n).await, n + 1)) };
	let s = stream::unfold(5400, step);
	futures::pin_mut!(s);
	while s.next().await.is_some() {}
}

async fn interval(at: At) {
	let mut ticks = tokio::time::interval(Duration::from_secs(5500));
	ticks.tick().await;
	let start = std::time::Instant::now() + Duration::from_secs(5600);
	let mut ticks = tokio::time::interval_at(start.into(), Duration::from_secs(1));
	let _w = here!(at, 1).sleep(start);
	ticks.tick().await;
}

pub fn start_all() {
	start("buffered", 3, buffered);
	start("buffer_unordered", 2, buffer_unordered);
	start("for_each", 1, for_each);
	start("async_stream", 1, by_macro);
	start("unfold", 1, unfold);
	start("interval", 1, interval);
}

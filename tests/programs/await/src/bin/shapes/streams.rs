// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams: their own state machines, and the adapters that poll futures for them.

use crate::{nap, start};
use futures::{stream, FutureExt, StreamExt, TryStreamExt};
use std::future::Future;
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

async fn enumerated(at: At) {
	let at = here!(at, 2);
	let s = stream::iter(0..10).enumerate();
	s.map(|(_, i)| nap(at, 5700 + i)).buffered(2).for_each(|_| async {}).await;
}

async fn filtered(at: At) {
	let at = here!(at, 2);
	let s = stream::iter(0..10).filter(|i| std::future::ready(*i > 2)).map(|i| nap(at, 5800 + i));
	s.buffer_unordered(2).for_each(|_| async {}).await;
}

async fn tried(at: At) {
	let at = here!(at, 3);
	let s = stream::iter((0..10).map(Ok::<u64, ()>)).map_ok(|i| nap(at, 5900 + i).map(Ok));
	let s = s.try_buffer_unordered(2);
	s.try_for_each(|_| async { Ok(()) }).await.unwrap();
}

async fn no_item(at: At) {
	let facts = r#""type":"futures_util::stream::pending::Pending<()>","for_ever":true"#;
	let _w = here!(at, 1).waits("other", facts);
	stream::pending::<()>().next().await;
}

/// No stream, but it has variables of its own: those that it has taken.
fn captured(at: At) -> impl Future<Output = ()> {
	let (seconds, wide, ratio) = (6100, i128::MIN, 0.25);
	async move {
		nap(here!(at), seconds).await;
		println!("{seconds} {wide} {ratio}");
	}
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
	start("enumerated", 2, enumerated);
	start("filtered", 2, filtered);
	start("tried", 2, tried);
	start("no_item", 1, no_item);
	start("captured", 1, captured);
	start("for_each", 1, for_each);
	start("async_stream", 1, by_macro);
	start("unfold", 1, unfold);
	start("interval", 1, interval);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks with names and without, which print what async-std itself calls them.

use async_std::task::{self, Builder, JoinHandle};
use std::future::Future;
use std::sync::Mutex;

static TRUTH: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Of the task that calls it, which is polled that often in all.
fn note(polls: u32) {
	let me = task::current();
	let name = me.name().map_or("null".into(), |n| format!("{n:?}"));
	TRUTH.lock().unwrap().push(format!("{{\"id\":{},\"name\":{name},\"polls\":{polls}}}", me.id()));
}

async fn work(yields: u32) {
	note(yields + 1);
	for _ in 0..yields {
		task::yield_now().await;
	}
}

/// So large that async-task puts it into a box.
async fn large(yields: u32) -> u8 {
	let room = [yields as u8; 4096];
	work(yields).await;
	room[yields as usize]
}

async fn keeper(text: String) -> usize {
	work(2).await;
	text.len()
}

fn spawn<F>(name: Option<String>, f: F) -> JoinHandle<F::Output>
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	let builder = Builder::new();
	match name {
		Some(name) => builder.name(name),
		None => builder,
	}
	.spawn(f)
	.unwrap()
}

fn main() {
	task::block_on(async {
		for i in 0..40 {
			// one after the other: their memory is used again
			spawn(Some(format!("worker {i}")), work(i % 3)).await;
		}
		let some: Vec<_> = (0..20).map(|i| spawn((i % 2 == 0).then(|| format!("even {i}")), work(3))).collect();
		spawn(Some("large".into()), large(1)).await;
		spawn(None, large(2)).await;
		spawn(Some("keeper of a string".into()), keeper("abc".into())).await;
		for name in ["sixteen bytes ok", "grüße, 世界", "", "\"quoted\\\""] {
			spawn(Some(name.into()), work(0)).await;
		}
		spawn(Some("long ".repeat(60)), work(1)).await;
		for t in some {
			t.await;
		}
		// without a TaskId of its own
		task::spawn_blocking(|| std::hint::black_box(1)).await;
	});
	for line in TRUTH.lock().unwrap().iter() {
		println!("{line}");
	}
}

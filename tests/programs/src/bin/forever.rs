// SPDX-License-Identifier: MIT OR Apache-2.0
//! A steady stream of spawns and polls for some seconds, to be killed at any moment. `forever SECONDS`
//!
//! Says what has certainly happened so far, every few milliseconds: a recording may hold more, as it is
//! read after the line was written, and never less of what was flushed.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

static POLLS: AtomicU64 = AtomicU64::new(0);
static TASKS: AtomicU64 = AtomicU64::new(0);

async fn passer_by() {
	for _ in 0..5 {
		POLLS.fetch_add(1, SeqCst);
		tokio::task::yield_now().await;
	}
	POLLS.fetch_add(1, SeqCst);
	TASKS.fetch_add(1, SeqCst);
}

fn say(what: &str) {
	let mut out = std::io::stdout().lock();
	let (tasks, polls) = (TASKS.load(SeqCst), POLLS.load(SeqCst));
	// Whoever read us may be gone; go on all the same.
	let _ = writeln!(
		out,
		r#"{{"truth":"{what}","tasks":{tasks},"polls":{polls}}}"#
	);
	let _ = out.flush();
}

async fn stream(end: Instant) {
	while Instant::now() < end {
		let v: Vec<_> = (0..17).map(|_| tokio::spawn(passer_by())).collect();
		for h in v {
			h.await.expect("passer_by");
		}
		tokio::time::sleep(Duration::from_millis(1)).await;
		say("running");
	}
}

fn main() {
	let seconds: u64 = std::env::args()
		.nth(1)
		.and_then(|s| s.parse().ok())
		.unwrap_or(10);
	let rt = truth::runtime(&["mt".into(), "2".into()]);
	rt.block_on(stream(Instant::now() + Duration::from_secs(seconds)));
	drop(rt);
	say("total");
}

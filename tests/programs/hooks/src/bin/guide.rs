// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program of the last part of docs/tracing-async.md: what it does has ids and spans of its own. `guide [wait]`

use futrace::{mark, span, UniqueId};
use std::sync::Mutex;
use tokio::task::yield_now;

const REQUESTS: u64 = 31;

static STEPS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

// guide: begin
async fn answer(id: UniqueId, size: u64) {
	let _span = span!("answer", &id, bytes = size);
	let part = tokio::spawn(fetch(id.clone(), size));
	part.await.expect("a part");
}

async fn fetch(id: UniqueId, size: u64) {
	for _ in 0..size {
		yield_now().await;
	}
	mark!("fetched", &id, bytes = size);
}
// guide: end

async fn request(size: u64) {
	let id = UniqueId::new();
	let number = id.as_u64();
	answer(id, size).await;
	STEPS.lock().unwrap().push((number, size));
}

fn main() {
	if std::env::args().nth(1).as_deref() == Some("wait") {
		println!("ready");
		std::io::stdin()
			.read_line(&mut String::new())
			.expect("a line");
	}
	let rt = tokio::runtime::Builder::new_multi_thread()
		.worker_threads(2)
		.build()
		.expect("a runtime");
	rt.block_on(async {
		let all: Vec<_> = (1..=REQUESTS).map(|n| tokio::spawn(request(n))).collect();
		for task in all {
			task.await.expect("request");
		}
	});
	for (id, size) in STEPS.lock().unwrap().iter() {
		println!(r#"{{"truth":"request","id":{id},"bytes":{size}}}"#);
	}
}

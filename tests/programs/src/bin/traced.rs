// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a tracer may count: tasks and polls of four types, system calls that they make, polls that take long, and tasks
//! that live long. Says its process id and waits for a line, then works, prints the truth, and waits for the end of its
//! input, so that its symbols can be found. `traced WORKERS`

use std::cell::Cell;
use std::io::{BufRead, Read};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use truth::{spawn, yields};

const LONG_MS: u64 = 20;
const IDLE_MS: u64 = 300;

static CALLS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
/// Of all workers, by Tokio's own hooks.
static IDLE_NS: AtomicU64 = AtomicU64::new(0);

thread_local! {
	static PARKED: Cell<Option<Instant>> = const { Cell::new(None) };
}

fn runtime(workers: usize) -> Runtime {
	Builder::new_multi_thread()
		.worker_threads(workers)
		.enable_all()
		.on_thread_park(|| PARKED.set(Some(Instant::now())))
		.on_thread_unpark(|| {
			if let Some(since) = PARKED.take() {
				IDLE_NS.fetch_add(since.elapsed().as_nanos() as u64, SeqCst);
			}
		})
		.build()
		.expect("runtime")
}

/// A system call that nobody else makes.
fn call(who: usize) {
	CALLS[who].fetch_add(1, SeqCst);
	unsafe { libc::syscall(libc::SYS_getsid, 0) };
}

async fn asks_often() {
	for _ in 0..7 {
		call(0);
		yields(1).await;
	}
}

/// What a task that it spawned does is not its own.
async fn asks_once() {
	spawn("asks_often", asks_often())
		.await
		.expect("no task panics");
	call(1);
}

/// Its first poll takes long.
async fn blocks() {
	std::thread::sleep(Duration::from_millis(LONG_MS));
	yields(2).await;
}

/// It lives long, and runs short.
async fn waits() {
	tokio::time::sleep(Duration::from_millis(LONG_MS)).await;
}

async fn root() {
	let mut v = vec![];

	for _ in 0..53 {
		v.push(spawn("asks_often", asks_often()));
		v.push(spawn("asks_once", asks_once()));
		v.push(spawn("waits", waits()));
	}
	for _ in 0..5 {
		v.push(spawn("blocks", blocks()));
	}
	for task in v {
		task.await.expect("no task panics");
	}
	// nobody has anything to do
	tokio::time::sleep(Duration::from_millis(IDLE_MS)).await;
}

fn main() {
	let workers = std::env::args().nth(1).and_then(|n| n.parse().ok());
	let stdin = std::io::stdin();

	println!("ready {}", std::process::id());
	stdin.lock().read_line(&mut String::new()).expect("a line");
	let rt = runtime(workers.expect("number of workers"));
	rt.block_on(async { spawn("root", root()).await })
		.expect("the root ends");
	drop(rt);
	println!(
		r#"{{"truth":"calls","number":{},"asks_often":{},"asks_once":{}}}"#,
		libc::SYS_getsid,
		CALLS[0].load(SeqCst),
		CALLS[1].load(SeqCst)
	);
	println!(
		r#"{{"truth":"times","long_ns":{},"idle_ns":{}}}"#,
		LONG_MS * 1_000_000,
		IDLE_NS.load(SeqCst)
	);
	truth::print();
	let _ = stdin.lock().read_to_end(&mut vec![]);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program that docs/tracing-async.md looks at: requests that look two things up at once and open some files.
//! `guide ct | mt WORKERS`
//!
//! It knows nothing of tracers. What happens is marked by plain functions, which any tracer can find by their names.

use std::collections::BTreeMap;
use std::future::{poll_fn, Future};
use std::hint::black_box;
use std::pin::pin;
use std::sync::Mutex;
use std::task::Poll;
use std::time::{Duration, Instant};

const REQUESTS: u64 = 23;

static OPENS: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());
static LOOKUPS: Mutex<Vec<(u64, u64, u128)>> = Mutex::new(Vec::new());

#[no_mangle]
#[inline(never)]
pub extern "C" fn lookup_begins(key: u64) {
	black_box(key);
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn lookup_is_done(key: u64) {
	black_box(key + 1);
}

async fn lookup(key: u64) {
	lookup_begins(key);
	let began = Instant::now();
	tokio::time::sleep(Duration::from_millis(3 + key % 7)).await;
	let ns = began.elapsed().as_nanos();
	lookup_is_done(key);
	let task = truth::current().expect("in a task");
	LOOKUPS.lock().unwrap().push((key, task, ns));
}

/// As join! does it: both make progress whenever the task is polled.
async fn both(a: impl Future<Output = ()>, b: impl Future<Output = ()>) {
	let (mut a, mut b) = (pin!(a), pin!(b));
	let (mut a_done, mut b_done) = (false, false);
	poll_fn(|cx| {
		a_done = a_done || a.as_mut().poll(cx).is_ready();
		b_done = b_done || b.as_mut().poll(cx).is_ready();
		if a_done && b_done {
			Poll::Ready(())
		} else {
			Poll::Pending
		}
	})
	.await
}

async fn request(nr: u64) {
	both(lookup(2 * nr), lookup(2 * nr + 1)).await;
	for _ in 0..nr % 4 {
		black_box(std::fs::File::open("/dev/null").expect("a file"));
	}
	let task = truth::current().expect("in a task");
	OPENS.lock().unwrap().insert(task, nr % 4);
}

async fn accept() {
	let tasks: Vec<_> = (1..=REQUESTS)
		.map(|nr| truth::spawn("request", request(nr)))
		.collect();
	for task in tasks {
		task.await.expect("request");
	}
}

fn main() {
	let args: Vec<String> = std::env::args().skip(1).collect();
	let rt = truth::runtime(&args);
	rt.block_on(async { truth::spawn("accept", accept()).await.expect("accept") });
	drop(rt);
	truth::print();
	for (task, nr) in OPENS.lock().unwrap().iter() {
		println!(r#"{{"truth":"opens","task":{task},"count":{nr}}}"#);
	}
	for (key, task, ns) in LOOKUPS.lock().unwrap().iter() {
		println!(r#"{{"truth":"lookup","key":{key},"task":{task},"ns":{ns}}}"#);
	}
}

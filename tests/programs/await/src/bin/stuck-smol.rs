// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stuck-smol fault | healthy`: two tasks of smol that take two locks in opposite order, or in the same, as `stuck` has
//! them of Tokio.

use smol::lock::{Barrier, Mutex};
use std::time::{Duration, Instant};
use waits::{here, At};

type Lock = &'static Mutex<u64>;

async fn take_both(at: At, a: Lock, b: Lock, both: &'static Barrier) {
	let held = a.lock().await;
	both.wait().await;
	let _w = here!(at, 1).object("mutex", b, "");
	let mut wanted = b.lock().await;
	*wanted += *held;
}

async fn has_both(at: At, a: Lock, b: Lock, both: &'static Barrier) {
	let (held, mut wanted) = (a.lock().await, b.lock().await);
	both.wait().await;
	let end = Instant::now() + Duration::from_secs(100_000);
	let _w = here!(at, 1).sleep(end);
	smol::Timer::at(end).await;
	*wanted += *held;
}

async fn take_first(at: At, a: Lock, both: &'static Barrier) {
	both.wait().await;
	let _w = here!(at, 1).object("mutex", a, "");
	*a.lock().await += 1;
}

fn keep<T>(x: T) -> &'static T {
	Box::leak(Box::new(x))
}

fn main() {
	let (a, b, both) = (
		keep(Mutex::new(1)),
		keep(Mutex::new(2)),
		keep(Barrier::new(2)),
	);
	let (one, other) = (waits::task("stuck"), waits::task("stuck too"));
	waits::expect(2);
	if std::env::args().nth(1).as_deref() == Some("fault") {
		smol::spawn(take_both(one, a, b, both)).detach();
		smol::spawn(take_both(other, b, a, both)).detach();
	} else {
		smol::spawn(has_both(one, a, b, both)).detach();
		smol::spawn(take_first(other, a, both)).detach();
	}
	waits::tell_when_ready();
	smol::block_on(std::future::pending())
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! `stuck-smol fault | healthy | lost-waker`: two tasks of smol that take two locks in opposite order, or in the same, or
//! of which one forgets its waker, as `stuck` has them of Tokio.

use smol::lock::{Barrier, Mutex};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
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

struct Forgetful(u64);

impl Future for Forgetful {
	type Output = u64;

	fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u64> {
		self.0 += 1;
		Poll::Pending
	}
}

struct Careful(&'static std::sync::Mutex<Option<Waker>>);

impl Future for Careful {
	type Output = u64;

	fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
		*self.0.lock().unwrap() = Some(cx.waker().clone());
		Poll::Pending
	}
}

async fn forgets(at: At) {
	let _w = here!(at, 1).waits("other", r#""type":"stuck_smol::Forgetful""#);
	Forgetful(0).await;
}

async fn keeps(at: At) {
	let _w = here!(at, 1).waits("other", r#""type":"stuck_smol::Careful""#);
	Careful(keep(std::sync::Mutex::new(None))).await;
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
	match std::env::args().nth(1).as_deref() {
		Some("fault") => {
			smol::spawn(take_both(one, a, b, both)).detach();
			smol::spawn(take_both(other, b, a, both)).detach();
		}
		Some("lost-waker") => {
			smol::spawn(forgets(one)).detach();
			smol::spawn(keeps(other)).detach();
			smol::spawn(std::future::pending::<()>()).detach();
		}
		_ => {
			smol::spawn(has_both(one, a, b, both)).detach();
			smol::spawn(take_first(other, a, both)).detach();
		}
	}
	waits::tell_when_ready();
	smol::block_on(std::future::pending())
}

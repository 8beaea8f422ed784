// SPDX-License-Identifier: MIT OR Apache-2.0
//! Faults that `futrace tree` names, and healthy programs that look much the same: `stuck WHAT`.
//!
//! Says where each task waits, which of them are part of the fault, then `ready`, and stays so until stdin ends.

mod cycles;
mod futurelock;
mod growth;
mod wakers;

use std::future::Future;
use std::time::Duration;
use tokio::task::JoinHandle;
use waits::{here, At};

/// A task that has so many waits at once.
pub fn start<F>(name: &'static str, nr_waits: usize, f: impl FnOnce(At) -> F) -> JoinHandle<()>
where
	F: Future<Output = ()> + Send + 'static,
{
	waits::expect(nr_waits);
	tokio::spawn(f(waits::task(name)))
}

pub async fn nap(at: At, s: u64) {
	let sleep = tokio::time::sleep(Duration::from_secs(s));
	let _w = here!(at, 1).sleep(sleep.deadline().into_std());
	sleep.await;
}

/// What must live as long as the waits: forever.
pub fn keep<T>(x: T) -> &'static mut T {
	Box::leak(Box::new(x))
}

#[tokio::main(worker_threads = 2)]
async fn main() {
	let what = std::env::args().nth(1).unwrap_or_default();
	match what.as_str() {
		"lock-cycle" => cycles::locks(true),
		"lock-cycle-futures" => cycles::locks_of_futures(),
		"lock-cycle-inside" => cycles::locks_inside(),
		"lock-cycle-boxed" => cycles::locks_boxed(),
		"lock-boxed-elsewhere" => cycles::lock_boxed_elsewhere(),
		"lock-kept" => cycles::lock_given_away(false),
		"lock-given-away" => cycles::lock_given_away(true),
		"lock-cycle-owned" => cycles::locks_owned(cycles::Guard::Kept),
		"lock-given-owned" => cycles::locks_owned(cycles::Guard::Given),
		"lock-given-always" => cycles::locks_owned(cycles::Guard::GivenAlways),
		"lock-let-go" => cycles::lock_let_go(),
		"lock-dropped" => cycles::lock_dropped(),
		"lock-cycle-unread" => cycles::locks_beside_one_that_runs(),
		"lock-twice" => cycles::lock_twice(),
		"lock-dropped-two" => cycles::locks_dropped(),
		"lock-of-main" => cycles::lock_of_main().await,
		"lock-cycle-main" => cycles::locks_with_main().await,
		"lock-order" => cycles::locks(false),
		"two-readers" => cycles::two_readers(),
		"rwlock-cycle" => cycles::rwlocks(),
		"semaphore-cycle" => cycles::permits(cycles::Other::Nobody),
		"semaphore-held-up" => cycles::permits(cycles::Other::HeldUp),
		"semaphore-sleeps" => cycles::permits(cycles::Other::Sleeps),
		"semaphore-gives-up" => cycles::permits(cycles::Other::GivesUp),
		"lock-chain" => cycles::lock_chain(),
		"await-cycle" => cycles::handles(true).await,
		"await-chain" => cycles::handles(false).await,
		"futurelock-held" => futurelock::held(),
		"futurelock-queued" => futurelock::queued().await,
		"lock-polled" => futurelock::polled(),
		"lock-shared" => futurelock::shared(),
		"shared-unread" => futurelock::shared_that_runs(),
		"lock-elsewhere" => futurelock::elsewhere(),
		"lost-waker" => wakers::lost(),
		"kept-waker" => wakers::kept(),
		"growth" => growth::grows(true),
		"steady" => growth::grows(false),
		_ => {
			eprintln!("usage: stuck WHAT");
			std::process::exit(2);
		}
	}
	waits::tell_when_ready();
	std::future::pending().await
}

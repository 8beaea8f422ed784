// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two copies of Tokio that run at the same time, each with ids from 1 on; `alone`: only the first of them ever runs.
//! `two [alone] ct | mt WORKERS`

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll};

/// What one copy did.
#[derive(Default)]
struct Sums {
	tasks: AtomicU64,
	polls: AtomicU64,
	self_wakes: AtomicU64,
}

struct Counted<F>(F, &'static Sums);

impl<F: Future> Future for Counted<F> {
	type Output = F::Output;
	fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
		self.1.polls.fetch_add(1, SeqCst);
		// SAFETY: the inner future is never moved out of the pinned wrapper.
		unsafe { self.map_unchecked_mut(|s| &mut s.0) }.poll(cx)
	}
}

/// Wakes itself in every poll but the last.
struct Countdown(u64, &'static Sums);

impl Future for Countdown {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if self.0 == 0 {
			return Poll::Ready(());
		}
		self.0 -= 1;
		self.1.self_wakes.fetch_add(1, SeqCst);
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

const CANCELLED: u64 = 7;

macro_rules! copy_of_tokio {
	($tokio:ident, $version:literal) => {
		pub mod $tokio {
			use super::*;
			use ::$tokio::runtime::{Builder, Runtime};

			static SUMS: Sums = Sums {
				tasks: AtomicU64::new(0),
				polls: AtomicU64::new(0),
				self_wakes: AtomicU64::new(0),
			};

			fn spawn<F>(f: F) -> ::$tokio::task::JoinHandle<F::Output>
			where
				F: Future + Send + 'static,
				F::Output: Send + 'static,
			{
				SUMS.tasks.fetch_add(1, SeqCst);
				::$tokio::spawn(Counted(f, &SUMS))
			}

			async fn yielder(n: u64) {
				for _ in 0..n {
					::$tokio::task::yield_now().await;
				}
			}

			async fn root(nr: u64) {
				let mut v = vec![];
				for n in 0..nr {
					v.push(spawn(yielder(n)));
					v.push(spawn(Countdown(n, &SUMS)));
				}
				for h in v {
					h.await.expect("task");
				}
				for _ in 0..CANCELLED {
					let h = spawn(std::future::pending::<()>());
					h.abort();
					assert!(h.await.expect_err("aborted").is_cancelled());
				}
				SUMS.tasks.fetch_add(1, SeqCst);
				let f = || SUMS.polls.fetch_add(1, SeqCst);
				::$tokio::task::spawn_blocking(f).await.expect("closure");
			}

			fn runtime(args: &[String]) -> Runtime {
				let mut b = match args.first().map(String::as_str) {
					Some("ct") => Builder::new_current_thread(),
					_ => Builder::new_multi_thread(),
				};
				if let Some(n) = args.get(1) {
					b.worker_threads(n.parse().expect("number of workers"));
				}
				b.enable_all().build().expect("runtime")
			}

			pub fn run(args: &[String], nr: u64) {
				runtime(args).block_on(root(nr));
			}

			pub fn print() {
				println!(
					concat!(
						r#"{{"truth":"total","version":"{}","tasks":{},"polls":{},"#,
						r#""self_wakes":{},"cancelled":{}}}"#
					),
					$version,
					SUMS.tasks.load(SeqCst),
					SUMS.polls.load(SeqCst),
					SUMS.self_wakes.load(SeqCst),
					CANCELLED
				);
			}
		}
	};
}

copy_of_tokio!(tokio, "1.54.1");
copy_of_tokio!(second, "1.38.0");

fn main() {
	let mut args: Vec<String> = std::env::args().skip(1).collect();
	if args.first().is_some_and(|x| x == "alone") {
		args.remove(0);
		self::tokio::run(&args, 29);
		self::tokio::print();
		return;
	}
	let for_first = args.clone();
	let first = std::thread::spawn(move || self::tokio::run(&for_first, 29));
	self::second::run(&args, 23);
	first.join().expect("first");
	self::tokio::print();
	self::second::print();
}

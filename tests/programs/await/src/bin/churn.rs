// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that are polled all the time: `churn yield | wake`. The choice at the top decides all lines below it, which are
//! marked "even" and "odd": a tree that was put together from two moments would have both. Each line on stdin is answered
//! with the rounds made so far and the CPU time they took; its end ends the program.

use std::future::Future;
use std::io::BufRead;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

const NR_TASKS: u64 = 7;

static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// Wakes itself inside its poll, so that its task is never idle.
struct Wake(bool);

impl Future for Wake {
	type Output = ();

	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if std::mem::replace(&mut self.0, true) {
			return Poll::Ready(());
		}
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

async fn pause(is_waking: bool) {
	match is_waking {
		true => Wake(false).await,
		false => tokio::task::yield_now().await,
	}
}

async fn bottom(round: u64, is_waking: bool) -> u64 {
	let held = [round; 16];
	match round % 2 {
		0 => pause(is_waking).await, // even
		_ => pause(is_waking).await, // odd
	}
	assert!(held.iter().all(|&x| x == round));
	held[3]
}

/// A box in between: an object of its own, that is freed and made again.
fn middle(round: u64, is_waking: bool) -> Pin<Box<dyn Future<Output = u64> + Send>> {
	Box::pin(async move {
		match round % 2 {
			0 => bottom(round, is_waking).await + 1, // even
			_ => bottom(round, is_waking).await + 2, // odd
		}
	})
}

async fn top(round: u64, is_waking: bool) -> u64 {
	match round % 2 {
		0 => middle(round, is_waking).await + 3, // even
		_ => middle(round, is_waking).await + 5, // odd
	}
}

async fn churn(is_waking: bool) {
	let mut sum = 0;
	for round in 0.. {
		sum += top(round, is_waking).await;
		ROUNDS.fetch_add(1, Relaxed);
	}
	println!("{sum}");
}

fn cpu_ns() -> u64 {
	let mut t = libc::timespec {
		tv_sec: 0,
		tv_nsec: 0,
	};
	// SAFETY: it is given room for the answer.
	unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
	t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

fn main() {
	let is_waking = match std::env::args().nth(1).as_deref() {
		Some("wake") => true,
		Some("yield") => false,
		_ => panic!("usage: churn yield | wake"),
	};
	let rt = tokio::runtime::Builder::new_multi_thread()
		.worker_threads(2)
		.build();
	let rt = rt.expect("runtime");
	for _ in 0..NR_TASKS {
		rt.spawn(churn(is_waking));
	}
	println!("ready");
	for _ in std::io::stdin().lock().lines() {
		let (rounds, cpu) = (ROUNDS.load(Relaxed), cpu_ns());
		println!(
			r#"{{"truth":"rounds","rounds":{rounds},"cpu_ns":{cpu},"tasks":{NR_TASKS}}}"#
		);
	}
	std::process::exit(0);
}

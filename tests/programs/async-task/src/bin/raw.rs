// SPDX-License-Identifier: MIT OR Apache-2.0
//! async-task without an executor: a queue and a loop. Panics unwind out of `Runnable::run`.

use async_task::{Runnable, Task};
use std::collections::VecDeque;
use std::future::{pending, Future};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use truth::{counted, Countdown, Rec, Sleeps, Slot};

static QUEUE: Mutex<VecDeque<Runnable>> = Mutex::new(VecDeque::new());

fn spawn<F>(label: &'static str, inner: F) -> (Arc<Rec>, Task<F::Output>)
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	let (rec, f) = counted(label, inner);
	let (runnable, task) = async_task::spawn(f, |r| QUEUE.lock().unwrap().push_back(r));
	runnable.schedule();
	(rec, task)
}

fn next() -> Option<Runnable> {
	QUEUE.lock().unwrap().pop_front()
}

/// Runs everything; returns how many panics came out.
fn run() -> u64 {
	let mut nr = 0;
	while let Some(r) = next() {
		nr += u64::from(catch_unwind(AssertUnwindSafe(|| r.run())).is_err());
	}
	nr
}

async fn panics(n: u64) {
	Countdown(n).await;
	panic!("meant");
}

/// What it catches itself is no panic of the task.
async fn catches(n: u64) {
	Countdown(n).await;
	assert!(catch_unwind(|| panic!("meant")).is_err());
	Countdown(n).await;
}

async fn spawns(n: u64) {
	for i in 0..n {
		let (rec, t) = spawn("countdown", Countdown(i));
		rec.knows_wakes(i);
		t.await;
	}
}

fn main() {
	truth::hush();
	for n in 0..13 {
		let (rec, t) = spawn("countdown", Countdown(n));
		rec.knows_wakes(n);
		t.detach();
		spawn("spawns", spawns(n)).1.detach();
		if n % 2 == 0 {
			spawn("panics", panics(n)).1.detach();
		}
		spawn("catches", catches(n)).1.detach();
	}
	assert_eq!(run(), 7);
	for n in 0..7 {
		let slot = Slot::default();
		let (rec, t) = spawn(
			"woken_by_thread",
			Sleeps {
				slot: slot.clone(),
				left: n,
			},
		);
		rec.knows_wakes(0);
		rec.by_thread.store(n, SeqCst);
		t.detach();
		run();
		for _ in 0..n {
			let w = slot.lock().unwrap().take().expect("it sleeps");
			std::thread::spawn(move || w.wake()).join().expect("thread");
			run();
		}
	}
	for n in 0..5 {
		let (rec, t) = spawn("cancelled", pending::<()>());
		if n % 2 == 0 {
			run();
		}
		rec.note_cancel();
		drop(t);
		run();
	}
	for n in 0..5 {
		let (_, t) = spawn("dropped", Countdown(n));
		for _ in 0..n {
			next().expect("it is queued").run();
		}
		drop(next().expect("it is queued"));
		t.detach();
	}
	truth::print(0);
}

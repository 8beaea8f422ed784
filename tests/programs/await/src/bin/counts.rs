// SPDX-License-Identifier: MIT OR Apache-2.0
//! counts mt | ct | async-std | smol: tasks that wait again and again, and count where: at its end the program prints, for
//! each chain of await lines, how often a poll left a future waiting there, and how many tasks were aborted there.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{pin, Pin};
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// The await lines that lead to a place.
#[derive(Clone)]
struct At(Vec<u32>);

impl At {
	fn down(&self, line: u32) -> At {
		let mut lines = self.0.clone();
		lines.push(line);
		At(lines)
	}

	fn text(&self) -> String {
		self.0.iter()
			.map(|l| l.to_string())
			.collect::<Vec<_>>()
			.join(">")
	}
}

/// The line that this stands on awaits what it is given to.
macro_rules! on {
	($at:expr) => {
		$at.down(line!())
	};
}

static WAITS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
static SLEEPS: Mutex<BTreeMap<u32, (u64, u64)>> = Mutex::new(BTreeMap::new());
static ABORTS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

/// Is polled `left` times in vain, and wakes itself.
struct Turns {
	left: u32,
	at: At,
}

fn turns(at: At, left: u32) -> Turns {
	Turns { left, at }
}

impl Future for Turns {
	type Output = ();

	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if self.left == 0 {
			return Poll::Ready(());
		}
		self.left -= 1;
		*WAITS.lock().unwrap().entry(self.at.text()).or_default() += 1;
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

fn top(at: At) -> impl Future<Output = ()> + Send {
	async move { five(on!(at)).await }
}

async fn five(at: At) {
	for _ in 0..3 {
		four(on!(at)).await;
	}
	turns(on!(at), 2).await;
}

async fn four(at: At) {
	three(on!(at)).await;
	turns(on!(at), 5).await
}

async fn three(at: At) {
	turns(on!(at), 1).await;
	two(on!(at)).await
}

async fn two(at: At) {
	one(on!(at)).await
}

async fn one(at: At) {
	turns(on!(at), 7).await;
	turns(on!(at), 11).await
}

fn down(at: At, depth: u32) -> Pin<Box<dyn Future<Output = ()> + Send>> {
	Box::pin(async move {
		turns(on!(at), 2).await;
		if depth > 0 {
			down(on!(at), depth - 1).await;
		}
	})
}

async fn branches(at: At) {
	futures::join!(one(at.clone()), two(at.clone()), turns(at.clone(), 3));
	futures::future::select(turns(on!(at), 4), pin!(three(on!(at)))).await;
}

/// Nobody wakes it, but who aborts it does.
struct Stuck(At);

impl Future for Stuck {
	type Output = ();

	fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
		*ABORTS.lock().unwrap().entry(self.0.text()).or_default() += 1;
		Poll::Pending
	}
}

async fn stuck(at: At) {
	Stuck(on!(at)).await
}

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

async fn naps(sleep: fn(Duration) -> Boxed) {
	for _ in 0..5 {
		let (start, line) = (Instant::now(), line!() + 1);
		sleep(Duration::from_millis(13)).await;
		let mut sleeps = SLEEPS.lock().unwrap();
		let entry = sleeps.entry(line).or_default();
		*entry = (entry.0 + 1, entry.1 + start.elapsed().as_nanos() as u64);
	}
}

/// Starts all tasks and waits for them. `abort` lets its task run for a while, and then aborts it.
macro_rules! run {
	($spawn:expr, $abort:expr, $sleep:expr) => {{
		let mut all: Vec<Boxed> = Vec::new();
		for _ in 0..17 {
			all.push($spawn(top(At(vec![]))));
			all.push($spawn(down(At(vec![]), 3)));
			all.push($spawn(branches(At(vec![]))));
		}
		for _ in 0..3 {
			all.push($spawn(naps($sleep)));
		}
		for _ in 0..13 {
			all.push($abort(stuck(At(vec![]))));
		}
		for task in all {
			task.await;
		}
	}};
}

const WHILE: Duration = Duration::from_millis(20);

mod on_tokio {
	use super::*;

	pub fn spawn(f: impl Future<Output = ()> + Send + 'static) -> Boxed {
		let task = tokio::spawn(f);
		Box::pin(async move { task.await.unwrap() })
	}

	pub fn abort(f: impl Future<Output = ()> + Send + 'static) -> Boxed {
		let task = tokio::spawn(f);
		Box::pin(async move {
			sleep(WHILE).await;
			task.abort();
			assert!(task.await.unwrap_err().is_cancelled());
		})
	}

	pub fn sleep(d: Duration) -> Boxed {
		Box::pin(tokio::time::sleep(d))
	}
}

mod on_async_std {
	use super::*;

	pub fn spawn(f: impl Future<Output = ()> + Send + 'static) -> Boxed {
		Box::pin(async_std::task::spawn(f))
	}

	pub fn abort(f: impl Future<Output = ()> + Send + 'static) -> Boxed {
		let task = async_std::task::spawn(f);
		Box::pin(async move {
			sleep(WHILE).await;
			assert!(task.cancel().await.is_none());
		})
	}

	pub fn sleep(d: Duration) -> Boxed {
		Box::pin(async_std::task::sleep(d))
	}
}

mod on_smol {
	use super::*;

	pub fn spawn(f: impl Future<Output = ()> + Send + 'static) -> Boxed {
		Box::pin(smol::spawn(f))
	}

	pub fn abort(f: impl Future<Output = ()> + Send + 'static) -> Boxed {
		let task = smol::spawn(f);
		Box::pin(async move {
			sleep(WHILE).await;
			assert!(task.cancel().await.is_none());
		})
	}

	pub fn sleep(d: Duration) -> Boxed {
		Box::pin(async move {
			smol::Timer::after(d).await;
		})
	}
}

fn tell() {
	for (at, n) in WAITS.lock().unwrap().iter() {
		println!(r#"{{"waits":"{at}","count":{n}}}"#);
	}
	for (line, (n, ns)) in SLEEPS.lock().unwrap().iter() {
		println!(r#"{{"sleeps":{line},"count":{n},"ns":{ns}}}"#);
	}
	for (at, n) in ABORTS.lock().unwrap().iter() {
		println!(r#"{{"aborts":"{at}","count":{n}}}"#);
	}
}

fn main() {
	let mode = std::env::args()
		.nth(1)
		.expect("counts mt | ct | async-std | smol");
	let all = async { run!(on_tokio::spawn, on_tokio::abort, on_tokio::sleep) };
	match mode.as_str() {
		"mt" => tokio::runtime::Builder::new_multi_thread()
			.worker_threads(2)
			.enable_all()
			.build()
			.unwrap()
			.block_on(all),
		"ct" => tokio::runtime::Builder::new_current_thread()
			.enable_all()
			.build()
			.unwrap()
			.block_on(all),
		"async-std" => async_std::task::block_on(async {
			run!(
				on_async_std::spawn,
				on_async_std::abort,
				on_async_std::sleep
			)
		}),
		"smol" => smol::block_on(async {
			run!(on_smol::spawn, on_smol::abort, on_smol::sleep)
		}),
		other => panic!("no runtime {other}"),
	}
	tell();
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futures inside of tasks, each of which knows how often it was polled. `inner ROUNDS`
//!
//! An async fn cannot count its own polls. But it is polled when it starts, and once more whenever the
//! [`Pause`] that it waits for at the bottom is polled again: that is told the whole way that leads to it.
//! Every future is polled from several places and is long enough not to be inlined, so that the compiler keeps
//! its code as a function.
//! One JSON object a future at the end, and what the program has computed.

use std::future::Future;
use std::hint::black_box;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};

macro_rules! futures {
	($($id:ident = $name:literal),* $(,)?) => {
		#[allow(non_camel_case_types)]
		#[derive(Clone, Copy)]
		enum Id { $($id),* }
		const NAMES: &[&str] = &[$($name),*];
	};
}

// As a report is to call them.
futures! {
	Step = "inner::step",
	Twice = "inner::twice",
	Big = "inner::big",
	Wide = "inner::wide",
	Float = "inner::float",
	Pair = "inner::pair",
	Text = "inner::text",
	Falls = "inner::falls",
	FallsLate = "inner::falls_late",
	Boxed = "inner::boxed",
	BoxedFalls = "inner::boxed_falls",
	Deep = "inner::deep",
	Method = "inner::Counter::method",
	Pause_ = "inner::Pause",
	Tiny = "inner::Tiny",
	Catch = "inner::Catch",
	Never = "inner::never_polled",
}

const NR: usize = NAMES.len();
static POLLS: [AtomicU64; NR] = [const { AtomicU64::new(0) }; NR];
static READY: [AtomicU64; NR] = [const { AtomicU64::new(0) }; NR];
static UNWOUND: [AtomicU64; NR] = [const { AtomicU64::new(0) }; NR];
static SUM: AtomicU64 = AtomicU64::new(0);

/// The futures from the task's own down to the one that waits.
type Way<'a> = &'a [Id];

/// Makes a future long.
macro_rules! linger {
	($way:expr) => {
		pause(1, $way).await;
		pause(1, $way).await;
		pause(1, $way).await;
		pause(1, $way).await;
		pause(1, $way).await;
	};
}

fn polled(id: Id) {
	POLLS[id as usize].fetch_add(1, Relaxed);
}

fn ready(id: Id) {
	READY[id as usize].fetch_add(1, Relaxed);
}

fn add(n: u64) {
	SUM.fetch_add(n, Relaxed);
}

/// Pending `left` times, and woken at once.
struct Pause<'a> {
	left: u32,
	was_pending: bool,
	way: Way<'a>,
}

fn pause(left: u32, way: Way<'_>) -> Pause<'_> {
	Pause {
		left,
		was_pending: false,
		way,
	}
}

impl Future for Pause<'_> {
	type Output = ();
	#[inline(never)]
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		polled(Id::Pause_);
		if self.was_pending {
			self.way.iter().for_each(|&id| polled(id));
		}
		if self.left == 0 {
			ready(Id::Pause_);
			return Poll::Ready(());
		}
		self.left -= 1;
		self.was_pending = true;
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

/// Its poll is too short to be redirected: it is seen by its table.
struct Tiny;

impl Future for Tiny {
	type Output = ();
	#[inline(never)]
	fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
		Poll::Ready(())
	}
}

/// Catches what its future panics with; then it is ready with nothing.
struct Catch<F>(Pin<Box<F>>);

impl<F: Future> Future for Catch<F> {
	type Output = Option<F::Output>;
	#[inline(never)]
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
		polled(Id::Catch);
		let result = match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx))) {
			Ok(Poll::Pending) => return Poll::Pending,
			Ok(Poll::Ready(value)) => Some(value),
			Err(_) => None,
		};
		ready(Id::Catch);
		Poll::Ready(result)
	}
}

async fn step(times: u32, way: Way<'_>) -> u64 {
	polled(Id::Step);
	let mut sum = 0;
	for i in 0..times {
		pause(1, way).await;
		sum += black_box(u64::from(i) + 1);
	}
	linger!(way);
	ready(Id::Step);
	sum
}

async fn twice(times: u32, way: Way<'_>) -> u64 {
	polled(Id::Twice);
	let way: Vec<Id> = [way, &[Id::Step]].concat();
	let first = step(times, &way).await;
	pause(1, &way[..way.len() - 1]).await;
	let second = step(times + 1, &way).await;
	ready(Id::Twice);
	first * 1000 + second
}

async fn big(seed: u64, way: Way<'_>) -> [u64; 40] {
	polled(Id::Big);
	let mut all = [seed; 40];
	for (i, one) in all.iter_mut().enumerate() {
		if i % 13 == 0 {
			pause(1, way).await;
		}
		*one += i as u64;
	}
	linger!(way);
	ready(Id::Big);
	all
}

async fn wide(n: u64, way: Way<'_>) -> u128 {
	polled(Id::Wide);
	pause(2, way).await;
	linger!(way);
	ready(Id::Wide);
	u128::from(n) << 70 | u128::from(n)
}

async fn float(x: f64, way: Way<'_>) -> f64 {
	polled(Id::Float);
	pause(1, way).await;
	let half = black_box(x) / 2.0;
	linger!(way);
	ready(Id::Float);
	half
}

async fn pair(n: u64, x: f64, way: Way<'_>) -> (u64, f64) {
	polled(Id::Pair);
	linger!(way);
	ready(Id::Pair);
	(black_box(n) + 1, black_box(x) * 3.0)
}

async fn text(n: u64, way: Way<'_>) -> Result<String, u32> {
	polled(Id::Text);
	linger!(way);
	ready(Id::Text);
	if black_box(n) % 2 == 0 {
		Ok(format!("number {n}"))
	} else {
		Err(7)
	}
}

fn fall(id: Id) -> ! {
	UNWOUND[id as usize].fetch_add(1, Relaxed);
	std::panic::resume_unwind(Box::new("on purpose"));
}

async fn falls(way: Way<'_>) -> u64 {
	polled(Id::Falls);
	linger!(way);
	if black_box(true) {
		fall(Id::Falls);
	}
	1
}

/// The same, reached through a table alone.
async fn boxed_falls(way: Way<'_>) -> u64 {
	polled(Id::BoxedFalls);
	pause(1, way).await;
	if black_box(true) {
		fall(Id::BoxedFalls);
	}
	1
}

/// A panic that passes through two futures.
async fn falls_late(way: Way<'_>) -> u64 {
	polled(Id::FallsLate);
	let way: Vec<Id> = [way, &[Id::Falls]].concat();
	linger!(&way[..way.len() - 1]);
	UNWOUND[Id::FallsLate as usize].fetch_add(1, Relaxed);
	falls(&way).await
}

async fn boxed(n: u64, way: Way<'_>) -> u64 {
	polled(Id::Boxed);
	pause(1, way).await;
	ready(Id::Boxed);
	n * 3
}

/// As deep as told, each of them in a box.
async fn deep(depth: u32, way: Vec<Id>) -> u64 {
	polled(Id::Deep);
	let way: Vec<Id> = [&way[..], &[Id::Deep]].concat();
	linger!(&way);
	let below = if depth == 0 {
		0
	} else {
		Box::pin(deep(depth - 1, way)).await
	};
	ready(Id::Deep);
	below + 1
}

struct Counter(u64);

impl Counter {
	async fn method(&mut self, way: Way<'_>) -> u64 {
		polled(Id::Method);
		pause(1, way).await;
		self.0 += 1;
		linger!(way);
		ready(Id::Method);
		self.0
	}
}

async fn never_polled() -> u64 {
	polled(Id::Never);
	black_box(1)
}

fn dynamic(n: u64, way: &'static [Id]) -> Pin<Box<dyn Future<Output = u64> + Send>> {
	if black_box(n) % 2 == 0 {
		Box::pin(boxed(n, way))
	} else {
		Box::pin(boxed_falls(way))
	}
}

async fn results(seed: u64) {
	let all = big(seed, &[Id::Big]).await;
	add(all.iter().sum());
	let n = wide(seed, &[Id::Wide]).await;
	add((n >> 70) as u64 + n as u64);
	let half = float(seed as f64, &[Id::Float]).await;
	let (m, x) = pair(seed, half, &[Id::Pair]).await;
	add(m + x as u64);
	match text(seed, &[Id::Text]).await {
		Ok(s) => add(s.len() as u64),
		Err(n) => add(u64::from(n)),
	}
}

/// The same from another place, and in another order.
async fn results_again(seed: u64) {
	let (m, x) = pair(seed, 0.5, &[Id::Pair]).await;
	let n = wide(m, &[Id::Wide]).await;
	add((n >> 70) as u64 + x as u64);
	add(big(m, &[Id::Big]).await[39]);
	add(float(x, &[Id::Float]).await as u64);
	add(text(m, &[Id::Text]).await.map_or(1, |s| s.len() as u64));
}

async fn chain(seed: u64) {
	add(twice(2, &[Id::Twice]).await);
	add(step(3, &[Id::Step]).await);
	let mut counter = Counter(seed);
	add(counter.method(&[Id::Method]).await);
	add(deep(4, Vec::new()).await);
}

async fn chain_again(seed: u64) {
	let mut counter = Counter(seed);
	add(counter.method(&[Id::Method]).await + counter.method(&[Id::Method]).await);
	add(step(1, &[Id::Step]).await);
	add(twice(1, &[Id::Twice]).await);
	add(deep(1, Vec::new()).await);
}

async fn panics() {
	add(Catch(Box::pin(falls(&[Id::Falls]))).await.unwrap_or(5));
	add(Catch(Box::pin(falls_late(&[Id::FallsLate])))
		.await
		.unwrap_or(5));
	add(Catch(Box::pin(step(1, &[Id::Step]))).await.unwrap_or(5));
}

async fn dynamics(rounds: u64) {
	for n in 0..rounds {
		if n % 2 == 0 {
			add(dynamic(n, &[Id::Boxed]).await);
		} else {
			let falls = dynamic(n, &[Id::BoxedFalls]);
			if cfg!(panic = "unwind") {
				add(Catch(Box::pin(falls)).await.unwrap_or(9));
			}
		}
		let tiny: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(Tiny);
		tiny.await;
		polled(Id::Tiny);
		ready(Id::Tiny);
	}
}

/// Dropped before they are over: no poll of theirs is missing for it.
async fn dropped() {
	let mut future = Box::pin(step(9, &[]));
	for _ in 0..3 {
		std::future::poll_fn(|cx| {
			let _ = future.as_mut().poll(cx);
			Poll::Ready(())
		})
		.await;
	}
	// two of the three polls were of a pause that was there before, which was told no way
	polled(Id::Step);
	polled(Id::Step);
	let never = never_polled();
	if black_box(false) {
		add(never.await);
	}
}

async fn one_round(round: u64) {
	let tasks = [
		tokio::spawn(results(round)),
		tokio::spawn(results(round + 1)),
		tokio::spawn(results_again(round)),
		tokio::spawn(chain(round)),
		tokio::spawn(chain_again(round)),
		tokio::spawn(dynamics(round % 7)),
		tokio::spawn(dropped()),
	];
	for task in tasks {
		task.await.unwrap();
	}
	if cfg!(panic = "abort") {
		return;
	}
	tokio::spawn(panics()).await.unwrap();
	// a panic that the task does not survive
	let fell = tokio::spawn(async { falls(&[Id::Falls]).await });
	assert!(fell.await.unwrap_err().is_panic());
	let fell = tokio::spawn(async { falls_late(&[Id::FallsLate]).await });
	assert!(fell.await.unwrap_err().is_panic());
}

fn main() {
	let rounds: u64 = std::env::args().nth(1).map_or(11, |s| s.parse().unwrap());
	let rt = tokio::runtime::Builder::new_multi_thread()
		.worker_threads(2)
		.build()
		.unwrap();
	rt.block_on(async {
		for round in 0..rounds {
			one_round(round).await;
		}
	});
	drop(rt);
	for (i, name) in NAMES.iter().enumerate() {
		println!(
			"{{\"future\":\"{name}\",\"polls\":{},\"ready\":{},\"unwound\":{}}}",
			POLLS[i].load(Relaxed),
			READY[i].load(Relaxed),
			UNWOUND[i].load(Relaxed)
		);
	}
	println!("{{\"sum\":{}}}", SUM.load(Relaxed));
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spawns a task of every sort of future there is, and prints of each its id, what the compiler calls its type
//! (`std::any::type_name`), its size, and where it lies: in the task, in a box, or behind `dyn Future`. `types ct | mt WORKERS`

use std::any::type_name;
use std::fmt::Debug;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::{spawn_blocking, yield_now, Id, LocalSet};

fn told(id: Id, lies: &str, name: &str, bytes: usize) {
	println!(
		"{{\"task\": {id}, \"lies\": \"{lies}\", \"type\": {name:?}, \"bytes\": {bytes}}}"
	);
}

async fn run<F>(future: F)
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	let handle = tokio::spawn(future);
	told(handle.id(), "here", type_name::<F>(), size_of::<F>());
	handle.await.expect("it ends");
}

async fn run_boxed<F>(future: F)
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	let handle = tokio::spawn(Box::pin(future));
	told(handle.id(), "box", type_name::<F>(), size_of::<F>());
	handle.await.expect("it ends");
}

async fn run_erased<T: Send + 'static>(future: Pin<Box<dyn Future<Output = T> + Send>>) {
	let handle = tokio::spawn(future);
	told(
		handle.id(),
		"dyn",
		&format!("dyn Future<Output = {}>", type_name::<T>()),
		0,
	);
	handle.await.expect("it ends");
}

async fn run_blocking<F: FnOnce() -> u32 + Send + 'static>(closure: F) {
	let handle = spawn_blocking(closure);
	told(handle.id(), "blocking", type_name::<F>(), size_of::<F>());
	handle.await.expect("it ends");
}

async fn run_local<F: Future + 'static>(future: F) {
	let handle = tokio::task::spawn_local(future);
	told(handle.id(), "local", type_name::<F>(), size_of::<F>());
	handle.await.expect("it ends");
}

/// No two futures here do the same, so that none are merged: each has its own number.
async fn step<const N: u64>() -> u64 {
	yield_now().await;
	N * 7919
}

async fn plain() -> u64 {
	step::<1>().await
}

async fn größe() -> u64 {
	step::<2>().await
}

async fn generic<T: Debug>(value: T) -> usize {
	yield_now().await;
	format!("{value:?}").len()
}

async fn counted<const N: usize>(bytes: [u8; N]) -> u8 {
	yield_now().await;
	bytes.iter().fold(N as u8, |a, b| a ^ b)
}

async fn called<F: Fn(u32) -> u32>(f: F) -> u32 {
	yield_now().await;
	f(1)
}

async fn large() -> u8 {
	let mut bytes = [1u8; 40_000];
	yield_now().await;
	bytes[77] = 3;
	yield_now().await;
	bytes.iter().fold(0, |a, b| a ^ b)
}

mod net {
	pub mod tcp {
		use super::super::{step, yield_now};

		pub struct Conn(pub u32);

		impl Conn {
			pub async fn serve(self) -> u64 {
				step::<3>().await + u64::from(self.0)
			}
		}

		pub struct Pool<T>(pub T);

		impl<T: Copy + Into<u64>> Pool<T> {
			pub async fn get(self) -> u64 {
				yield_now().await;
				self.0.into() * 31
			}

			pub async fn map<U: From<u8>>(self) -> (u64, U) {
				yield_now().await;
				(self.0.into() * 37, U::from(2))
			}
		}

		pub trait Service {
			fn call(self) -> impl std::future::Future<Output = u64> + Send;
		}

		impl Service for Conn {
			async fn call(self) -> u64 {
				step::<4>().await
			}
		}

		impl<T: Copy + Into<u64> + Send> Service for Pool<T> {
			async fn call(self) -> u64 {
				yield_now().await;
				self.0.into() * 41
			}
		}
	}
}

/// A future by hand.
struct Twice<F> {
	inner: F,
	nr: u32,
}

impl<F: Future + Unpin> Future for Twice<F> {
	type Output = F::Output;

	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
		self.nr += 1;
		if self.nr < 2 {
			cx.waker().wake_by_ref();
			return Poll::Pending;
		}
		Pin::new(&mut self.inner).poll(cx)
	}
}

fn returned(n: u64) -> impl Future<Output = u64> + Send {
	async move { step::<5>().await + n }
}

async fn blocks() {
	run(async { step::<6>().await }).await;
	let n = 3;
	run(async move { step::<7>().await + n }).await;
	let make = |n: u64| async move { step::<8>().await - n };
	run(make(1)).await;
	run(returned(2)).await;
	let asynchronous = async |n: u64| step::<9>().await ^ n;
	asynchronous(1).await;
	run(async {
		run(async { step::<10>().await }).await;
		step::<11>().await
	})
	.await;
}

async fn functions() {
	run(plain()).await;
	run(größe()).await;
	run(generic(7u32)).await;
	run(generic("text")).await;
	run(generic((1u8, vec![Some(2u64)]))).await;
	run(generic([[0u16; 3]; 2])).await;
	run(counted([3; 5])).await;
	run(called(u32::swap_bytes as fn(u32) -> u32)).await;
	run(called(|x| x + 1)).await;
	run(net::tcp::Conn(1).serve()).await;
	run(net::tcp::Service::call(net::tcp::Conn(1))).await;
	run(net::tcp::Pool(1u32).get()).await;
	run(net::tcp::Pool(1u8).map::<u16>()).await;
	run(net::tcp::Service::call(net::tcp::Pool(1u16))).await;
}

async fn others() {
	run(Twice {
		inner: Box::pin(step::<12>()),
		nr: 0,
	})
	.await;
	run(tokio::time::timeout(Duration::from_secs(60), step::<13>())).await;
	run(std::future::ready(5u8)).await;
	let mut left = 3;
	run(poll_fn(move |cx| {
		left -= 1;
		cx.waker().wake_by_ref();
		if left == 0 {
			Poll::Ready(())
		} else {
			Poll::Pending
		}
	}))
	.await;
}

async fn boxes() {
	run_boxed(step::<14>()).await;
	run_boxed(async { step::<15>().await }).await;
	run_boxed(generic('x')).await;
	run(large()).await;
	run_erased(Box::pin(step::<16>())).await;
	run_erased(Box::pin(generic(8u64))).await;
}

async fn elsewhere() {
	run_blocking(|| 3).await;
	let n = std::process::id();
	run_blocking(move || n).await;
	run_blocking(std::process::id).await;
	let local = LocalSet::new();
	local.run_until(async {
		run_local(step::<17>()).await;
		run_local(async { step::<18>().await }).await;
	})
	.await;
}

fn main() {
	let args: Vec<String> = std::env::args().collect();
	let mut builder = match args.get(1).map(String::as_str) {
		Some("mt") => tokio::runtime::Builder::new_multi_thread(),
		_ => tokio::runtime::Builder::new_current_thread(),
	};
	if let Some(workers) = args.get(2) {
		builder.worker_threads(workers.parse().expect("a number of workers"));
	}
	builder.enable_all()
		.build()
		.expect("a runtime")
		.block_on(async {
			functions().await;
			blocks().await;
			others().await;
			boxes().await;
			elsewhere().await;
		});
}

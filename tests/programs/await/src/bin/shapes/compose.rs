// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futures made of futures: calls, traits, boxes, recursion, and what makes many into one.

use crate::{nap, never, start, turns};
use futures::future::{self, BoxFuture};
use futures::stream::{FuturesOrdered, FuturesUnordered};
use futures::{FutureExt, StreamExt, TryFutureExt};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use waits::{here, within, At};

async fn upper(at: At) -> Result<u64, String> {
	let text = format!("{:p}", &at);
	turns(3).await;
	let n = lower(here!(at), 2).await?;
	Ok(n + text.len() as u64)
}

async fn lower(at: At, rounds: u64) -> Result<u64, String> {
	let mut sum = 0;
	for i in 0..rounds {
		match turns(i).await {
			() if i == 0 => tokio::task::yield_now().await,
			() => sum += nap(here!(at), 1001 + i).await,
		}
	}
	Ok(sum)
}

async fn nested(at: At) {
	let n = upper(here!(at)).await;
	println!("{n:?}");
}

async fn padded<T, F>(at: At, make: impl FnOnce(At) -> F, pad: [u8; 40]) -> (T, u8)
where
	F: Future<Output = T>,
{
	let f = make(here!(at, 1));
	let r = f.await;
	(r, pad[3])
}

async fn generic(at: At) {
	padded(here!(at), |at| nap(at, 1100), [7; 40]).await;
}

trait Native {
	fn go(&self, at: At) -> impl Future<Output = u64> + Send;
}

struct Plain(u64);

impl Native for Plain {
	async fn go(&self, at: At) -> u64 {
		nap(here!(at), 1200 + self.0).await
	}
}

async fn native_trait(at: At) {
	Plain(1).go(here!(at)).await;
}

#[async_trait::async_trait]
trait Boxed {
	async fn go(&self, at: At) -> u64;
}

struct Named(String);

#[async_trait::async_trait]
impl Boxed for Named {
	async fn go(&self, at: At) -> u64 {
		nap(here!(at), 1300 + self.0.len() as u64).await
	}
}

async fn async_trait(at: At) {
	let b: Box<dyn Boxed + Send + Sync> = Box::new(Named("two".into()));
	b.go(here!(at)).await;
}

fn deeper(at: At, n: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
	Box::pin(async move {
		if n == 0 {
			return nap(here!(at), 1400).await;
		}
		deeper(here!(at), n - 1).await + 1
	})
}

async fn recursion_dyn(at: At) {
	deeper(here!(at), 5).await;
}

async fn again(at: At, n: u64) -> u64 {
	if n == 0 {
		return nap(here!(at), 1500).await;
	}
	Box::pin(again(here!(at), n - 1)).await + 1
}

async fn recursion_box(at: At) {
	again(here!(at), 7).await;
}

async fn join(at: At) {
	let r = tokio::join!(
		nap(within!(at), 1600),
		async {
			turns(2).await;
			nap(here!(within!(at)), 1601).await
		},
		turns(5),
		upper(within!(at)),
	);
	println!("{r:?}");
}

async fn try_join(at: At) {
	let r = tokio::try_join!(upper(within!(at)), lower(within!(at), 2));
	println!("{r:?}");
}

async fn select(at: At) {
	let is_on = std::env::args().count() > 5;
	tokio::select! {
		n = nap(within!(at), 1700) => println!("{n}"),
		_ = upper(within!(at)) => {}
		_ = nap(within!(at), 1701), if is_on => {}
	}
}

async fn select_held(at: At) {
	let sleep = nap(within!(at, 4), 1702);
	tokio::pin!(sleep);
	turns(2).await;
	tokio::select! {
		biased;
		_ = &mut sleep => {}
		_ = nap(within!(at), 1703) => {}
	}
}

/// An arm that is over is off the second time.
async fn select_rest(at: At) {
	let mut short = std::pin::pin!(turns(3).fuse());
	let mut long = std::pin::pin!(nap(within!(at, 2), 1704).fuse());
	for _ in 0..2 {
		futures::select! {
			() = short => {}
			_ = long => {}
		}
	}
}

async fn futures_join(at: At) {
	let r = futures::join!(nap(within!(at), 1800), upper(within!(at)));
	println!("{r:?}");
}

async fn futures_select(at: At) {
	let (a, b) = (nap(within!(at, 3), 1801), nap(within!(at, 3), 1802));
	let (a, b) = (a.fuse(), b.fuse());
	futures::pin_mut!(a, b);
	futures::select! { _ = a => {}, _ = b => {} }
}

async fn join_all(at: At) {
	let at = here!(at, 1);
	future::join_all((0..3).map(|i| nap(at, 1900 + i))).await;
}

async fn join_all_big(at: At) {
	let at = here!(at, 1);
	future::join_all((0..41).map(|i| nap(at, 2000 + i))).await;
}

async fn try_join_all(at: At) {
	let at = here!(at, 1);
	let r = future::try_join_all((0..3).map(|_| lower(at, 2))).await;
	println!("{r:?}");
}

async fn select_all(at: At) {
	let at = here!(at, 1);
	future::select_all((0..3).map(|i| Box::pin(nap(at, 2050 + i)))).await;
}

async fn unordered(at: At) {
	let at = here!(at, 2);
	let mut set: FuturesUnordered<_> = (0..5).map(|i| nap(at, 2100 + i)).collect();
	while set.next().await.is_some() {}
}

async fn ordered(at: At) {
	let at = here!(at, 2);
	let mut set: FuturesOrdered<_> = (0..3).map(|i| nap(at, 2200 + i)).collect();
	while set.next().await.is_some() {}
}

async fn timeout(at: At) {
	let limit = tokio::time::Instant::now() + Duration::from_secs(2300);
	let facts = format!(r#""deadline_ns":{}"#, waits::deadline_ns(limit.into_std()));
	let _w = here!(at, 1).waits("timeout", facts);
	let _ = tokio::time::timeout_at(limit, nap(here!(at), 2301)).await;
}

async fn boxed(at: At) {
	let at = here!(at, 2);
	let f: Pin<Box<dyn Future<Output = u64> + Send>> = Box::pin(nap(at, 2400));
	f.await;
}

async fn boxed_twice(at: At) {
	let at = here!(at, 3);
	let f: BoxFuture<u64> = async move { nap(here!(at), 2401).await }.boxed();
	let f: Box<dyn Future<Output = u64> + Send + Unpin> = Box::new(f.map(|n| n + 1));
	f.await;
}

async fn combinators(at: At) {
	let f = upper(here!(at, 2)).map_ok(|n| n + 1);
	let f = f.and_then(|n| future::ok(n + 1)).map(drop).boxed();
	f.await
}

async fn by_poll_fn(at: At) {
	let mut f = Box::pin(nap(here!(at, 1), 2500));
	std::future::poll_fn(move |cx| f.as_mut().poll(cx)).await;
}

struct Counting<F> {
	inner: F,
	polls: u64,
}

impl<F: Future + Unpin> Future for Counting<F> {
	type Output = (F::Output, u64);

	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
		self.polls += 1;
		let polls = self.polls;
		Pin::new(&mut self.inner).poll(cx).map(|r| (r, polls))
	}
}

async fn by_hand(at: At) {
	let inner = Box::pin(nap(here!(at, 1), 2600));
	Counting { inner, polls: 0 }.await;
}

async fn closure(at: At) {
	let s = 2700;
	let c = async |at: At, more: u64| nap(here!(at), s + more).await;
	c(here!(at), 3).await;
}

async fn unconstrained(at: At) {
	tokio::task::unconstrained(nap(here!(at), 2800)).await;
}

async fn cell(at: At) {
	static CELL: tokio::sync::OnceCell<u64> = tokio::sync::OnceCell::const_new();
	CELL.get_or_init(|| nap(here!(at), 2900)).await;
}

/// A future that several await, and where it waits itself.
struct Together {
	deadline: std::time::Instant,
	line: u32,
}

async fn share(at: At, with: &'static Together, f: impl Future<Output = ()>) {
	turns(2).await;
	let inner = here!(at, 2).step(file!(), with.line, false);
	let _w = inner.sleep(with.deadline);
	f.await
}

/// Each of those who await it together waits for what it waits for; who only has it does not.
fn start_shared() {
	let sleep = tokio::time::sleep(Duration::from_secs(3200));
	let (deadline, line) = (sleep.deadline().into_std(), line!() + 2);
	let with: &Together = Box::leak(Box::new(Together { deadline, line }));
	let f = async move { sleep.await }.boxed().shared();
	for name in ["shared", "shared too", "third of shared"] {
		start(name, 1, |at| share(at, with, f.clone()));
	}
	start("has shared", 1, |at| async move {
		nap(here!(at), 3201).await;
		drop(f);
	});
	let sleep = tokio::time::sleep(Duration::from_secs(3202));
	let (deadline, line) = (sleep.deadline().into_std(), line!() + 2);
	let with: &Together = Box::leak(Box::new(Together { deadline, line }));
	let f = async move { sleep.await }.shared();
	start("shared without a box", 1, |at| share(at, with, f));
}

/// Futures that it holds, but does not await, are no waits.
async fn holds(at: At) {
	let held = [nap(at, 1), nap(at, 2)];
	nap(here!(at), 3000).await;
	drop(held);
}

async fn mixed(at: At) {
	let inner = async {
		tokio::select! {
			_ = future::join(nap(within!(within!(at)), 3100), turns(1)) => {}
			() = never(within!(within!(at))) => {}
		}
	};
	tokio::join!(inner, turns(1), Box::pin(nap(within!(at), 3101)));
}

pub fn start_all() {
	start("nested", 1, nested);
	start("generic", 1, generic);
	start("native trait", 1, native_trait);
	start("async-trait", 1, async_trait);
	start("recursion by dyn", 1, recursion_dyn);
	start("recursion by Box", 1, recursion_box);
	start("join!", 3, join);
	start("try_join!", 2, try_join);
	start("select!", 2, select);
	start("select! of held", 2, select_held);
	start("select! again", 1, select_rest);
	start("futures::join!", 2, futures_join);
	start("futures::select!", 2, futures_select);
	start("join_all", 3, join_all);
	start("join_all, big", 41, join_all_big);
	start("try_join_all", 3, try_join_all);
	start("select_all", 3, select_all);
	start("FuturesUnordered", 5, unordered);
	start("FuturesOrdered", 3, ordered);
	start("timeout", 2, timeout);
	start("Box<dyn>", 1, boxed);
	start("Box<dyn> in Box<dyn>", 1, boxed_twice);
	start("combinators", 1, combinators);
	start("poll_fn", 1, by_poll_fn);
	start("by hand", 1, by_hand);
	start("async closure", 1, closure);
	start("unconstrained", 1, unconstrained);
	start("OnceCell", 1, cell);
	start("holds", 1, holds);
	start("mixed", 3, mixed);
	start_shared();
}

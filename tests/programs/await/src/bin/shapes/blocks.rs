// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks, branches, and awaits that macros write.

use crate::{nap, never, start, turns};
use std::future::{poll_fn, Future};
use waits::{here, within, At};

macro_rules! awaited {
	($f:expr) => {
		$f.await
	};
}

/// The line of the await is that of the macro's definition: all that is left is the range of the function.
async fn own_macro(at: At) {
	turns(1).await;
	awaited!(nap(within!(at), 4000));
}

async fn between_macros(at: At) {
	awaited!(turns(1));
	nap(here!(at), 4001).await;
	awaited!(turns(1));
}

async fn block_in_block(at: At) {
	let at = here!(at, 5);
	async {
		turns(1).await;
		async { nap(here!(here!(at)), 4100).await }.await
	}
	.await;
}

#[rustfmt::skip]
async fn two_in_a_line(at: At) {
	turns(1).await; nap(here!(at), 4200).await; turns(1).await;
}

/// The place is that of `.await`, not of the call that begins the chain.
#[rustfmt::skip]
async fn chain(at: At) {
	let at = here!(at, 3);
	let n = nap(here!(at, 1), 4300);
	let r = async move { n.await }
		.await
		.checked_add(1);
	println!("{r:?}");
}

async fn branches(at: At) {
	let arg = std::env::args().nth(9);
	let n = match arg.as_deref() {
		Some("a") => nap(at, 1).await,
		Some(_) => nap(at, 2).await,
		None => nap(here!(at), 4400).await,
	};
	if n == 0 {
		nap(at, 3).await;
	}
}

/// As rustc sees it, all variables after the first are moved or dropped when it waits.
async fn shadowed(at: At) {
	let x = String::from("one");
	let x = vec![x; 3];
	let x: Box<[String]> = x.into();
	nap(here!(at), 4500).await;
	println!("{}", x.len());
}

struct Server {
	name: String,
}

impl Server {
	async fn handle(&self, at: At) -> usize {
		nap(here!(at), 4600).await;
		self.name.len()
	}
}

async fn method(at: At) {
	let s = Server { name: "x".into() };
	s.handle(here!(at)).await;
}

async fn never_in_macro(at: At) {
	let _w = within!(at, 1).waits("other", r#""type":"core::future::pending::Pending""#);
	awaited!(std::future::pending::<()>());
}

/// A block changes and hides what it has captured; of what it only uses before it waits, the value is known as well.
async fn by_value(at: At) {
	let at = here!(at, 11);
	let (mut count, early, hidden) = (41u64, 12u16, 7u8);
	let (is_on, sign, half) = (true, 'x', 2.5f64);
	let (wide, deep) = (u128::MAX, i128::MIN);
	async move {
		turns(u64::from(early) % 5).await;
		count += 1;
		let hidden = i32::from(hidden) - 8;
		nap(here!(at), 4700).await;
		println!("{count} {hidden} {is_on} {sign} {half} {wide} {deep}");
	}
	.await;
}

async fn by_reference(at: At) {
	let at = here!(at, 7);
	let (mut count, small, row) = (-42i128, 9u8, Box::<[u8]>::from([88]));
	async {
		count -= 1;
		nap(here!(at), 4701).await;
		println!("{count} {small} {}", row[0]);
	}
	.await;
}

/// The argument is moved to a variable before all else, and changed there.
async fn by_closure(at: At) {
	let outer = 60i8;
	let c = async |at: At, mut inner: u32| {
		inner += 1;
		turns(u64::from(inner)).await;
		nap(here!(at), 4702).await;
		println!("{outer}");
	};
	c(here!(at), 5).await;
}

/// A variable that is called as that of select!, and the latter.
async fn own_mask(at: At) {
	let mut disabled = 3u8;
	let mut f = std::pin::pin!(nap(here!(at, 5), 4703));
	poll_fn(|cx| {
		disabled |= 4;
		f.as_mut().poll(cx)
	})
	.await;
	println!("{disabled}");
}

async fn select_mask(at: At) {
	let own = 6u8;
	tokio::select! {
		_ = nap(within!(at), 4704) => {}
		_ = turns(1), if own == 7 => {}
	}
	println!("{own}");
}

pub fn start_all() {
	start("own macro", 1, own_macro);
	start("between macros", 1, between_macros);
	start("block in block", 1, block_in_block);
	start("two in a line", 1, two_in_a_line);
	start("chain", 1, chain);
	start("branches", 1, branches);
	start("shadowed", 1, shadowed);
	start("method", 1, method);
	start("captured by value", 1, by_value);
	start("captured by reference", 1, by_reference);
	start("captured by a closure", 1, by_closure);
	start("own mask", 1, own_mask);
	start("mask of select!", 1, select_mask);
	start("never", 1, never);
	start("never, in a macro", 1, never_in_macro);
}

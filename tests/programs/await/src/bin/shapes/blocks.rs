// SPDX-License-Identifier: MIT OR Apache-2.0
//! Blocks, branches, and awaits that macros write.

use crate::{nap, never, start, turns};
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

pub fn start_all() {
	start("own macro", 1, own_macro);
	start("between macros", 1, between_macros);
	start("block in block", 1, block_in_block);
	start("two in a line", 1, two_in_a_line);
	start("chain", 1, chain);
	start("branches", 1, branches);
	start("shadowed", 1, shadowed);
	start("method", 1, method);
	start("never", 1, never);
	start("never, in a macro", 1, never_in_macro);
}

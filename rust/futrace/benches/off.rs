// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a mark and a span cost while nobody wants to know, beside an `if` on a global: `cargo bench`. Rounds of each take
//! turns, and the best of each counts.
use futrace::{mark, span};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const ROUNDS: usize = 60;
const LOOPS: u64 = 2_000_000;

pub static GLOBAL: AtomicU64 = AtomicU64::new(0);

#[cold]
#[inline(never)]
fn seldom(n: u64) {
	black_box(n);
}

/// ns of a turn of the loop, which does some work, as programs do: one that does nothing else tells of the alignment of
/// its code.
fn ns(mut body: impl FnMut(u64)) -> f64 {
	let begun = Instant::now();
	let mut work = 1u64;
	for n in 0..LOOPS {
		work = work.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n;
		body(n);
	}
	black_box(work);
	begun.elapsed().as_nanos() as f64 / LOOPS as f64
}

#[inline(never)]
fn nothing() -> f64 {
	ns(|_| ())
}

#[inline(never)]
fn with_if() -> f64 {
	ns(|n| {
		if GLOBAL.load(Ordering::Relaxed) != 0 {
			seldom(n);
		}
	})
}

#[inline(never)]
fn with_mark() -> f64 {
	ns(|n| mark!("bench", n, more = n))
}

#[inline(never)]
fn with_span() -> f64 {
	ns(|n| {
		let _span = span!("bench", n);
	})
}

fn main() {
	type Case = (&'static str, fn() -> f64);
	const CASES: [Case; 4] = [
		("a loop without any", nothing),
		("an if on a global", with_if),
		("mark! off", with_mark),
		("span! off", with_span),
	];
	let mut best = [f64::MAX; CASES.len()];
	for _ in 0..ROUNDS {
		for (i, (_, f)) in CASES.iter().enumerate() {
			best[i] = best[i].min(f());
		}
	}
	for ((name, _), best) in CASES.iter().zip(best) {
		println!("{name:26} {best:6.2} ns");
	}
}

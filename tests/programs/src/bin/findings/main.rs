// SPDX-License-Identifier: MIT OR Apache-2.0
//! One fault at a time, each with something close to it that is none. `findings MODE`
//!
//! A mode prints what it did as one line of truth: the type of the task that is at fault and its figures,
//! measured here. A mode that ends in `-miss` is what a careless rule would flag as well.

mod ends;
mod polls;
mod wakes;
mod workers;

use std::any::type_name_of_val;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

type Mode = (&'static str, fn() -> Truth);

const MODES: [&[Mode]; 4] = [polls::MODES, wakes::MODES, ends::MODES, workers::MODES];

/// What a mode says of itself.
pub struct Truth {
	ty: String,
	figures: Vec<(&'static str, u64)>,
}

impl Truth {
	/// Of the tasks that are such a future.
	pub fn of<F: Future>(future: &F) -> Truth {
		Truth::named(type_name_of_val(future))
	}

	pub fn named(ty: &str) -> Truth {
		Truth {
			ty: ty.trim_end_matches("::{{closure}}").to_string(),
			figures: Vec::new(),
		}
	}

	pub fn with(mut self, name: &'static str, value: u64) -> Truth {
		self.figures.push((name, value));
		self
	}
}

pub fn ms(n: u64) -> Duration {
	Duration::from_millis(n)
}

pub fn us(n: u64) -> Duration {
	Duration::from_micros(n)
}

pub fn ns_since(began: Instant) -> u64 {
	began.elapsed().as_nanos() as u64
}

/// Works without a pause.
pub fn spin(time: Duration) {
	let began = Instant::now();
	while began.elapsed() < time {
		std::hint::spin_loop();
	}
}

pub fn multi_thread(workers: usize) -> Runtime {
	Builder::new_multi_thread()
		.worker_threads(workers)
		.enable_all()
		.build()
		.expect("runtime")
}

fn main() {
	let name = std::env::args().nth(1).unwrap_or_default();
	let mode = MODES
		.iter()
		.flat_map(|m| m.iter())
		.find(|(n, _)| *n == name);
	let Some((_, run)) = mode else {
		let names: Vec<_> = MODES
			.iter()
			.flat_map(|m| m.iter())
			.map(|(n, _)| *n)
			.collect();
		eprintln!("usage: findings {}", names.join("|"));
		std::process::exit(2);
	};
	let truth = run();
	let figures: String = truth
		.figures
		.iter()
		.map(|(k, v)| format!(r#","{k}":{v}"#))
		.collect();
	println!(r#"{{"truth":"finding","type":"{}"{figures}}}"#, truth.ty);
}

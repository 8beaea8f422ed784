// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program that awaits functions inside of functions knows of its own awaits: in which function, at which line, how
//! often and how long.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

static AWAITS: Mutex<BTreeMap<(u32, &str), (u64, u64)>> = Mutex::new(BTreeMap::new());

/// An await that is to be counted when it is done.
pub struct Await(u32, &'static str, Instant);

pub fn at(line: u32, function: &'static str) -> Await {
	Await(line, function, Instant::now())
}

impl Await {
	pub fn done(self) {
		let mut awaits = AWAITS.lock().unwrap();
		let (count, ns) = awaits.entry((self.0, self.1)).or_default();
		*count += 1;
		*ns += self.2.elapsed().as_nanos() as u64;
	}
}

pub fn ms(n: u64) -> Duration {
	Duration::from_millis(n)
}

/// What was counted since the last time.
pub fn tell(part: &str) {
	for ((line, function), (count, ns)) in std::mem::take(&mut *AWAITS.lock().unwrap()) {
		println!(
			r#"{{"part":"{part}","function":"{function}","line":{line},"count":{count},"ns":{ns}}}"#
		);
	}
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program that awaits functions inside of functions knows of its own awaits: in which function, at which line, how
//! often, how long, and from when to when.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// From when to when, by line and function.
static AWAITS: Mutex<BTreeMap<(u32, &str), Vec<(u64, u64)>>> = Mutex::new(BTreeMap::new());

/// An await that is to be counted when it is done.
pub struct Await(u32, &'static str, u64);

/// By the clock of which a recording knows what it was when it began.
fn unix_ns() -> u64 {
	SystemTime::now()
		.duration_since(UNIX_EPOCH)
		.unwrap()
		.as_nanos() as u64
}

pub fn at(line: u32, function: &'static str) -> Await {
	Await(line, function, unix_ns())
}

impl Await {
	pub fn done(self) {
		let now = unix_ns();
		AWAITS.lock()
			.unwrap()
			.entry((self.0, self.1))
			.or_default()
			.push((self.2, now));
	}
}

pub fn ms(n: u64) -> Duration {
	Duration::from_millis(n)
}

/// What was counted since the last time.
pub fn tell(part: &str) {
	for ((line, function), times) in std::mem::take(&mut *AWAITS.lock().unwrap()) {
		let (count, ns) = (
			times.len(),
			times.iter().map(|(from, to)| to - from).sum::<u64>(),
		);
		let times: Vec<_> = times
			.iter()
			.map(|(from, to)| format!("[{from},{to}]"))
			.collect();
		println!(
			r#"{{"part":"{part}","function":"{function}","line":{line},"count":{count},"ns":{ns},"times":[{}]}}"#,
			times.join(",")
		);
	}
}

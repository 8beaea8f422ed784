// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes by the crate probe: a semaphore for each site, and arguments wherever the compiler put them. Says how often it
//! fired each whose semaphore was up; waits for a line before that, and for the end of its input after it.

use probe::probe_lazy;
use std::io::BufRead;

#[inline(never)]
fn step(n: u64, table: &[i32; 4]) -> bool {
	probe_lazy!(stairs, step, n, table[(n % 4) as usize], 7)
}

fn main() {
	let table = [1, -2, 3, -4];
	let stdin = std::io::stdin();

	println!("ready");
	stdin.lock().read_line(&mut String::new()).expect("a line");
	let steps = (0..101).filter(|n| step(*n, &table)).count();
	// two sites in one function
	let ends = probe_lazy!(stairs, end, 1) as u32 + probe_lazy!(stairs, end, 2) as u32;
	println!(r#"{{"truth": "fired", "step": {steps}, "end": {ends}}}"#);
	stdin.lock().read_line(&mut String::new()).expect("a line");
}

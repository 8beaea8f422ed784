// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes by the crate usdt, as Oxide's programs have them. Says how often it fired each whose semaphore was up; waits for
//! a line before that, and for the end of its input after it.

use std::io::BufRead;

#[usdt::provider(provider = "shop")]
mod probes {
	fn order__start(id: u64, customer: &str) {}
	fn order__done(id: u64, total: i32, is_paid: u8) {}
	fn idle() {}
}

#[inline(never)]
fn take_order(id: u64, fired: &mut [u64; 3]) {
	probes::order__start!(|| {
		fired[0] += 1;
		(id, "somebody")
	});
}

#[inline(never)]
fn close_order(id: u64, fired: &mut [u64; 3]) {
	probes::order__done!(|| {
		fired[1] += 1;
		(id, -(id as i32), 1)
	});
}

fn main() {
	let orders: u64 = std::env::args().nth(1).map_or(101, |n| n.parse().expect("a number"));
	let mut fired = [0; 3];
	let stdin = std::io::stdin();

	usdt::register_probes().expect("probes");
	println!("ready");
	stdin.lock().read_line(&mut String::new()).expect("a line");
	for id in 0..orders {
		take_order(id, &mut fired);
		close_order(id, &mut fired);
	}
	// two sites in one function
	probes::idle!(|| fired[2] += 1);
	probes::idle!(|| fired[2] += 1);
	println!(r#"{{"truth": "fired", "order-start": {}, "order-done": {}, "idle": {}}}"#, fired[0], fired[1], fired[2]);
	stdin.lock().read_line(&mut String::new()).expect("a line");
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the servers say to one another's load: the same numbers, whatever runs the handler.

/// Some work that the compiler cannot do beforehand.
pub fn sum_to(n: u64) -> u64 {
	(1..=n).fold(0, |a, b| std::hint::black_box(a).wrapping_add(b))
}

/// The address that whoever loads the server waits for.
pub fn say(address: std::net::SocketAddr) {
	println!("listening on {address}");
}

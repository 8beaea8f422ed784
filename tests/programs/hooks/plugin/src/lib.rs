// SPDX-License-Identifier: MIT OR Apache-2.0
//! A library with a copy of our crate of its own, which `marks` loads.

/// Marks `nr` times, in a span.
#[no_mangle]
pub extern "C" fn plugin_mark(nr: u64) {
	let _span = futrace::span!("plugin", nr);
	for i in 0..nr {
		futrace::mark!("from-plugin", i, of = nr);
	}
}

#[no_mangle]
pub extern "C" fn plugin_id() -> u64 {
	futrace::UniqueId::new().as_u64()
}

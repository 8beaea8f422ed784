// SPDX-License-Identifier: MIT OR Apache-2.0
//! The slot of marks, as a recorder has it: see c/mark.h.
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

#[repr(C)]
struct Slot {
	magic: u64,
	record: AtomicU64,
	probes: [u16; 3],
	recorder: AtomicU16,
}

extern "C" {
	#[link_name = concat!("futrace_marks_", env!("CARGO_PKG_VERSION_MAJOR"), "_", env!("CARGO_PKG_VERSION_MINOR"), "_",
	                      env!("CARGO_PKG_VERSION_PATCH"))]
	static SLOT: Slot;
}

/// As the recorder does it: its function first, then the word that everybody looks at. A function at 0 is none.
pub fn switch(record: u64, on: bool) {
	unsafe {
		assert_eq!(&SLOT.magic.to_le_bytes(), b"FUTMARK1");
		assert_eq!(SLOT.probes, [0; 3], "nobody traces this test");
		SLOT.record.store(record, Ordering::Relaxed);
		SLOT.recorder.store(on as u16, Ordering::Release);
	}
}

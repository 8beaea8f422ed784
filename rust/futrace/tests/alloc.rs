// SPDX-License-Identifier: MIT OR Apache-2.0
//! A mark takes no memory from the heap, also while it is recorded: it may be where the program counts on that.
#![cfg(futrace_probes)]
use futrace::{mark, span, UniqueId};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

mod slot;

struct Counting;

thread_local! {
	static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

unsafe impl GlobalAlloc for Counting {
	unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
		ALLOCATIONS.set(ALLOCATIONS.get() + 1);
		System.alloc(layout)
	}

	unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
		System.dealloc(at, layout)
	}
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn nothing_is_allocated() {
	let (text, path, id) = (
		String::from("text"),
		PathBuf::from("/a/path"),
		UniqueId::new(),
	);
	let many = vec![1; 1000];
	slot::switch(0, true);
	let before = ALLOCATIONS.get();
	for _ in 0..1000 {
		mark!(
			"values",
			&id,
			text = text,
			path = path,
			c = 'c',
			some = Some(&text)
		);
		mark!("texts", a = %Duration::from_millis(3).as_secs_f64(), b = ?many, c = format_args!("{text}!"));
		let _span = span!("span", of = ?path);
	}
	let after = ALLOCATIONS.get();
	slot::switch(0, false);
	assert_eq!(after, before);
	drop(Box::new(1));
	assert_eq!(ALLOCATIONS.get(), after + 1, "allocations are counted");
}

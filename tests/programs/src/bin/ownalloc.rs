// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks whose memory comes from an allocator that libc does not know as aligned. `ownalloc ct | mt WORKERS`

use std::alloc::{GlobalAlloc, Layout, System};
use truth::{spawn, yields};

/// Aligns by itself, as jemalloc and others do; what it asks of the system is never aligned.
struct Own;

const SLACK: usize = 512;

unsafe impl GlobalAlloc for Own {
	unsafe fn alloc(&self, l: Layout) -> *mut u8 {
		assert!(l.align() < SLACK);
		let raw = System.alloc(Layout::from_size_align_unchecked(l.size() + SLACK, 16));
		if raw.is_null() {
			return raw;
		}
		let at = (raw as usize + 8).next_multiple_of(l.align().max(16));
		*(at as *mut usize).sub(1) = raw as usize;
		at as *mut u8
	}

	unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
		let raw = *(p as *mut usize).sub(1) as *mut u8;
		System.dealloc(raw, Layout::from_size_align_unchecked(l.size() + SLACK, 16));
	}
}

#[global_allocator]
static ALLOC: Own = Own;

async fn parent(n: u64) {
	let v: Vec<_> = (0..n).map(|i| spawn("child", yields(i))).collect();
	for t in v {
		t.await.expect("child");
	}
}

async fn root() {
	let v: Vec<_> = (0..13).map(|n| spawn("parent", parent(n))).collect();
	for t in v {
		t.await.expect("parent");
	}
}

fn main() {
	let args: Vec<String> = std::env::args().skip(1).collect();
	let rt = truth::runtime(&args);
	rt.block_on(root());
	drop(rt);
	truth::print();
}

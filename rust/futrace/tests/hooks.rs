// SPDX-License-Identifier: MIT OR Apache-2.0
//! A runtime with all hooks does its work, whether somebody is at the probes or not.
#![cfg(feature = "tokio")]
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::Builder;

fn sum(builder: &mut Builder) -> u64 {
	let runtime = builder.worker_threads(2).build().unwrap();
	runtime.block_on(async {
		let mut sum = 0;
		let tasks: Vec<_> = (0..100).map(|i| tokio::spawn(async move { i })).collect();
		for t in tasks {
			sum += t.await.unwrap();
		}
		sum
	})
}

/// As a tracer does it, by the kernel.
#[cfg(futrace_probes)]
fn raise(by: i16) {
	extern "C" {
		#[link_name = concat!("futrace_tokio_", env!("CARGO_PKG_VERSION_MAJOR"), "_", env!("CARGO_PKG_VERSION_MINOR"),
		                      "_", env!("CARGO_PKG_VERSION_PATCH"))]
		static ON: [std::sync::atomic::AtomicU16; 8];
	}
	for semaphore in unsafe { &ON } {
		semaphore.fetch_add(by as u16, Ordering::Relaxed);
	}
}

#[cfg(not(futrace_probes))]
fn raise(_: i16) {}

#[test]
fn work_is_done() {
	static PARKS: AtomicU64 = AtomicU64::new(0);
	let mut builder = Builder::new_multi_thread();
	assert_eq!(sum(futrace::register_hooks(&mut builder).unwrap()), 4950);
	raise(1);
	assert_eq!(sum(&mut builder), 4950);
	// one of the program's own around it
	builder.on_thread_park(|| {
		PARKS.fetch_add(1, Ordering::Relaxed);
		futrace::hooks::on_thread_park();
	});
	assert_eq!(sum(&mut builder), 4950);
	raise(-1);
	assert!(PARKS.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_task_id_is_an_id() {
	use futrace::Id;
	let runtime = Builder::new_current_thread().build().unwrap();
	let task = runtime.spawn(async { (tokio::task::id().id(), tokio::task::id().to_string()) });
	let (number, text) = runtime.block_on(task).unwrap();
	assert_eq!(number.to_string(), text);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spawns tasks from known lines, in many ways, and prints the id and the line of each. `places ct | mt WORKERS`
//!
//! The line is that of the program's own call, whatever lies between it and the runtime. A helper of the program's own
//! is the program's own: its line counts, not that of whoever called it.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::thread;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::{Id, JoinHandle, JoinSet, LocalSet};

fn told(id: Id, how: &str, place: &str) {
	println!("{{\"task\": {id}, \"how\": \"{how}\", \"place\": \"{place}\"}}");
}

/// What spawns must stand on the line of this.
macro_rules! spawned {
	($how:expr, $handle:expr) => {{
		let handle = $handle;
		told(handle.id(), $how, &format!("{}:{}", file!(), line!()));
		handle
	}};
}

async fn work(n: u32) {
	for _ in 0..n {
		tokio::task::yield_now().await;
	}
}

fn helper<F>(future: F) -> JoinHandle<F::Output>
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	spawned!("generic helper", tokio::spawn(future))
}

async fn nested(depth: u32) {
	if depth > 0 {
		Box::pin(nested(depth - 1)).await;
		return;
	}
	spawned!("nested await", tokio::spawn(work(2)))
		.await
		.expect("it ends");
}

async fn leaf() {
	spawned!("inlined await", tokio::spawn(work(1)))
		.await
		.expect("it ends");
}

async fn ordinary() {
	spawned!("task", tokio::spawn(work(3)))
		.await
		.expect("it ends");
	for _ in 0..50 {
		spawned!("loop", tokio::spawn(async { work(1).await }))
			.await
			.expect("it ends");
	}
	helper(work(2)).await.expect("it ends");
	helper(async {}).await.expect("it ends");
	nested(5).await;
	leaf().await;
	spawned!("parent", tokio::spawn(leaf()))
		.await
		.expect("it ends");
	let all: Vec<_> = (0..7)
		.map(|i| spawned!("closure", tokio::spawn(work(i))))
		.collect();
	for one in all {
		one.await.expect("it ends");
	}
	let handle = Handle::current();
	thread::spawn(move || spawned!("thread", handle.spawn(work(1))))
		.join()
		.expect("the thread ends")
		.await
		.expect("it ends");
	spawned!("blocking", tokio::task::spawn_blocking(|| ()))
		.await
		.expect("it ends");
}

async fn libraries() {
	spawned!("library", wrapper::spawn(work(1)))
		.await
		.expect("it ends");
	let (id, place) = spawned!("library's task", wrapper::chain())
		.await
		.expect("it ends");
	told(id, "library by itself", &place);
}

async fn sets() {
	let mut set = JoinSet::new();
	for i in 0..5 {
		spawned!("JoinSet", set.spawn(work(i)));
	}
	while set.join_next().await.is_some() {}
	let local = LocalSet::new();
	local.run_until(async {
		spawned!("spawn_local", tokio::task::spawn_local(work(2)))
			.await
			.expect("it ends");
	})
	.await;
	spawned!("LocalSet", local.spawn_local(work(1)));
	local.await;
}

/// Spawns when it is dropped.
struct Last(Handle, &'static str);

impl Drop for Last {
	fn drop(&mut self) {
		spawned!(self.1, self.0.spawn(work(1)));
	}
}

thread_local!(static AT_EXIT: RefCell<Option<Last>> = const { RefCell::new(None) });

async fn odd() {
	let handle = Handle::current();
	std::panic::set_hook(Box::new(|_| ()));
	let _ = catch_unwind(AssertUnwindSafe(|| {
		let _last = Last(handle.clone(), "drop while a panic unwinds");
		panic!("on purpose");
	}));
	let here = handle.clone();
	thread::spawn(move || {
		AT_EXIT.with(|x| *x.borrow_mut() = Some(Last(here, "destructor of a thread local")))
	})
	.join()
	.expect("the thread ends");
	for _ in 0..20 {
		let here = handle.clone();
		thread::Builder::new()
			.stack_size(16 << 10)
			.spawn(move || spawned!("small stack", here.spawn(work(0))))
			.expect("threads can be made")
			.join()
			.expect("the thread ends");
	}
	tokio::time::sleep(Duration::from_millis(20)).await;
}

extern "C" fn on_signal(_: libc::c_int) {}

/// A signal every 200 microseconds, its handler on a stack of its own.
fn disturb() {
	let period = libc::timeval {
		tv_sec: 0,
		tv_usec: 200,
	};
	let timer = libc::itimerval {
		it_interval: period,
		it_value: period,
	};
	unsafe {
		let mut action: libc::sigaction = std::mem::zeroed();
		action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
		action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
		libc::sigaction(libc::SIGPROF, &action, std::ptr::null_mut());
		libc::setitimer(libc::ITIMER_PROF, &timer, std::ptr::null_mut());
	}
}

fn main() {
	let args: Vec<String> = std::env::args().collect();
	let mut builder = match args.get(1).map(String::as_str) {
		Some("mt") => tokio::runtime::Builder::new_multi_thread(),
		_ => tokio::runtime::Builder::new_current_thread(),
	};
	if let Some(workers) = args.get(2) {
		builder.worker_threads(workers.parse().expect("a number of workers"));
	}
	disturb();
	let runtime = builder.enable_all().build().expect("a runtime");
	runtime.block_on(async {
		ordinary().await;
		libraries().await;
		sets().await;
		odd().await;
	});
	spawned!("outside", runtime.spawn(work(1)));
	runtime.block_on(async { tokio::time::sleep(Duration::from_millis(5)).await });
}

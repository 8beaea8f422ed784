// SPDX-License-Identifier: MIT OR Apache-2.0
//! A runtime with our hooks, and with hooks of its own around them that count what ours are told: one JSON object for each
//! task, in the order of their ends, one for the threads, and one for the system calls that tasks made. With --cfg
//! tokio_unstable; without it no tasks.
//!
//! usage: hooked TASKS [wait]
//! wait: says its pid, and goes on when a line comes, so that a tracer can be attached first.

use futrace::hooks;
use std::io::BufRead;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use tokio::runtime::Builder;
use tokio::task::yield_now;

static STARTS: AtomicU64 = AtomicU64::new(0);
static STOPS: AtomicU64 = AtomicU64::new(0);
static PARKS: AtomicU64 = AtomicU64::new(0);
static UNPARKS: AtomicU64 = AtomicU64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);

#[cfg(tokio_unstable)]
mod tasks {
	use std::collections::BTreeMap;
	use std::sync::Mutex;
	use tokio::runtime::{Builder, TaskMeta};

	#[derive(Default)]
	struct Task {
		place: String,
		/// s spawn, ( poll start, ) poll end, t terminate
		told: String,
	}

	static TASKS: Mutex<BTreeMap<u64, Task>> = Mutex::new(BTreeMap::new());

	fn told(meta: &TaskMeta<'_>, what: char) {
		let at = meta.spawned_at();
		let mut tasks = TASKS.lock().unwrap();
		let task = tasks
			.entry(meta.id().to_string().parse().expect("a number"))
			.or_default();
		task.place = format!(
			r#""file":"{}","line":{},"column":{}"#,
			at.file(),
			at.line(),
			at.column()
		);
		task.told.push(what);
	}

	/// Each as a program would compose it: its own, and ours.
	pub fn compose(builder: &mut Builder) {
		builder.on_task_spawn(|m| {
			told(m, 's');
			futrace::hooks::on_task_spawn(m);
		});
		builder.on_before_task_poll(|m| {
			told(m, '(');
			futrace::hooks::on_before_task_poll(m);
		});
		builder.on_after_task_poll(|m| {
			told(m, ')');
			futrace::hooks::on_after_task_poll(m);
		});
		builder.on_task_terminate(|m| {
			told(m, 't');
			futrace::hooks::on_task_terminate(m);
		});
	}

	pub fn print() {
		for (id, t) in TASKS.lock().unwrap().iter() {
			println!(
				r#"{{"truth":"task","id":{id},{},"told":"{}"}}"#,
				t.place, t.told
			);
		}
	}
}

#[cfg(not(tokio_unstable))]
mod tasks {
	pub fn compose(_: &mut tokio::runtime::Builder) {}
	pub fn print() {}
}

async fn work(nr: u64) {
	for _ in 0..nr % 5 {
		// a system call that nobody else makes
		unsafe { libc::getppid() };
		CALLS.fetch_add(1, SeqCst);
		yield_now().await;
	}
}

async fn root(nr: u64) {
	for i in 0..nr {
		let task = tokio::spawn(work(i));
		if i % 7 == 6 {
			task.abort();
		}
		let _ = task.await;
	}
}

fn main() {
	let mut args = std::env::args().skip(1);
	let nr = args
		.next()
		.and_then(|n| n.parse().ok())
		.expect("how many tasks");
	let mut builder = Builder::new_multi_thread();
	futrace::register_hooks(builder.worker_threads(2)).expect("hooks");
	builder.on_thread_start(|| {
		STARTS.fetch_add(1, SeqCst);
		hooks::on_thread_start();
	});
	builder.on_thread_stop(|| {
		STOPS.fetch_add(1, SeqCst);
		hooks::on_thread_stop();
	});
	builder.on_thread_park(|| {
		PARKS.fetch_add(1, SeqCst);
		hooks::on_thread_park();
	});
	builder.on_thread_unpark(|| {
		UNPARKS.fetch_add(1, SeqCst);
		hooks::on_thread_unpark();
	});
	tasks::compose(&mut builder);
	if args.next().is_some() {
		println!("{}", std::process::id());
		let mut line = String::new();
		std::io::stdin()
			.lock()
			.read_line(&mut line)
			.expect("a line");
	}
	let rt = builder.build().expect("a runtime");
	rt.block_on(root(nr));
	drop(rt);
	tasks::print();
	println!(
		r#"{{"truth":"calls","number":{},"made":{}}}"#,
		libc::SYS_getppid,
		CALLS.load(SeqCst)
	);
	println!(
		r#"{{"truth":"threads","starts":{},"stops":{},"parks":{},"unparks":{}}}"#,
		STARTS.load(SeqCst),
		STOPS.load(SeqCst),
		PARKS.load(SeqCst),
		UNPARKS.load(SeqCst)
	);
}

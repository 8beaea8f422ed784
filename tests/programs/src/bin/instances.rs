// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several runtimes and LocalSets in one process, at the same time and one after the other. Each task and
//! closure says which one it belongs to, by Tokio's own number, and on which thread it ran. `instances driver`: one
//! thread that has nearly always something to do, looks at its timers and sockets meanwhile, and seldom parks. `instances idle`: more workers than work. `instances alone`: runtimes that run
//! no task. `instances ready`: that do not even wait. `instances after`: two of two flavours, one after the other.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, LocalOptions, Runtime};
use tokio::task::{yield_now, LocalSet};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
const NR_BRIEF: u64 = 60;

fn tid() -> String {
	let path = std::fs::read_link("/proc/thread-self").expect("proc");
	path.file_name().unwrap().to_string_lossy().into_owned()
}

fn say(id: String, kind: &str, owner: String) {
	LINES.lock().unwrap().push(format!(
		r#"{{"truth":"task","id":{id},"kind":"{kind}","owner":{owner},"tid":{}}}"#,
		tid()
	));
}

async fn work(kind: &'static str, n: u64) {
	let owner = Handle::current().id().to_string();
	say(tokio::task::id().to_string(), kind, owner);
	for _ in 0..n {
		yield_now().await;
	}
}

async fn local_work(set: String, n: u64) {
	say(tokio::task::id().to_string(), "local", set);
	for _ in 0..n {
		yield_now().await;
	}
}

fn closure() {
	say(
		tokio::task::id().to_string(),
		"blocking",
		Handle::current().id().to_string(),
	);
}

/// Spawns tasks and closures from the root, which is no task, and from a task.
async fn some(kind: &'static str, nr: u64) {
	for n in 0..nr {
		tokio::spawn(work(kind, n)).await.expect("task");
	}
	let parent = tokio::spawn(async move {
		say(
			tokio::task::id().to_string(),
			kind,
			Handle::current().id().to_string(),
		);
		tokio::spawn(work(kind, 3)).await.expect("child");
		tokio::task::spawn_blocking(closure).await.expect("closure");
	});
	parent.await.expect("parent");
}

fn multi(workers: usize) -> Runtime {
	let mut b = Builder::new_multi_thread();
	b.worker_threads(workers)
		.enable_all()
		.build()
		.expect("runtime")
}

fn current() -> Runtime {
	Builder::new_current_thread()
		.enable_all()
		.build()
		.expect("runtime")
}

/// A LocalSet in the root of a runtime, beside the runtime's own tasks.
fn localset(rt: &Runtime) {
	let set = LocalSet::new();
	let owner = set.id().to_string();
	rt.block_on(set.run_until(async {
		for n in 0..9 {
			let local = tokio::task::spawn_local(local_work(owner.clone(), n));
			let beside = tokio::spawn(work("task", n));
			local.await.expect("local");
			beside.await.expect("beside");
		}
	}));
}

fn localruntime() {
	let rt = Builder::new_current_thread()
		.enable_all()
		.build_local(LocalOptions::default())
		.expect("runtime");
	rt.block_on(some("local", 5));
}

/// The worker's loop moves to another thread.
async fn in_place() {
	let blocks = async {
		say(
			tokio::task::id().to_string(),
			"task",
			Handle::current().id().to_string(),
		);
		tokio::task::block_in_place(|| {
			let h = tokio::spawn(work("task", 5));
			while !h.is_finished() {
				std::thread::yield_now();
			}
		});
	};
	tokio::spawn(blocks).await.expect("blocks");
}

fn across(a: &Runtime, b: &Runtime) -> impl Future<Output = ()> {
	let (a, b) = (a.handle().clone(), b.handle().clone());
	async move {
		for n in 0..7 {
			let there = b.spawn(work("task", n));
			let here = a.spawn(work("task", n));
			there.await.expect("there");
			here.await.expect("here");
		}
	}
}

/// The driver is looked at once in 61 polls, without waiting; a park waits.
fn driver() {
	static PARKS: AtomicU64 = AtomicU64::new(0);
	let rt = Builder::new_current_thread()
		.enable_all()
		.on_thread_park(|| {
			PARKS.fetch_add(1, SeqCst);
		})
		.build()
		.expect("runtime");
	let began = Instant::now();
	rt.block_on(async {
		for _ in 0..5 {
			tokio::time::sleep(Duration::from_millis(3)).await;
			tokio::spawn(work("task", 6100)).await.expect("task");
		}
	});
	let (parks, ns) = (PARKS.load(SeqCst), began.elapsed().as_nanos());
	println!(
		r#"{{"truth":"driver","parks":{parks},"life_ns":{ns},"tid":{}}}"#,
		tid()
	);
}

/// Most workers of the second have nothing to do; who made them has run tasks of the first.
fn idle() {
	let (first, second) = (current(), multi(6));
	first.block_on(some("task", 10));
	let third = multi(6);
	second.block_on(some("task", 1));
	third.block_on(some("task", 1));
}

/// One runtime runs a task, the others only what is waited for. Each has threads of its own.
fn alone() {
	for (workers, tasks) in [(2, 1), (0, 0), (1, 0), (3, 0)] {
		let rt = if workers > 0 { multi(workers) } else { current() };
		rt.block_on(async {
			for n in 0..tasks {
				tokio::spawn(work("task", n)).await.expect("task");
			}
			tokio::time::sleep(Duration::from_millis(20)).await;
		});
		println!(r#"{{"truth":"runtime","workers":{workers},"tasks":{tasks}}}"#);
		std::mem::forget(rt); // another one at its address would look like it
	}
	std::thread::sleep(Duration::from_millis(50));
}

/// What they are given is ready at once.
fn ready() {
	let all = [current(), multi(1), current()];
	for rt in &all {
		rt.block_on(async {});
	}
}

/// The second has its memory where the first had it, if the allocator does as most do.
fn after() {
	let first = multi(2);
	first.block_on(some("task", 10));
	std::thread::spawn(|| ()).join().expect("thread");
	drop(first);
	let second = Builder::new_current_thread().build().expect("runtime");
	second.block_on(some("task", 10));
	drop(second);
	for line in LINES.lock().unwrap().iter() {
		println!("{line}");
	}
}

fn main() {
	if std::env::args().nth(1).as_deref() == Some("after") {
		return after();
	}
	if std::env::args().nth(1).as_deref() == Some("ready") {
		return ready();
	}
	if std::env::args().nth(1).as_deref() == Some("alone") {
		return alone();
	}
	if std::env::args().nth(1).as_deref() == Some("driver") {
		return driver();
	}
	if std::env::args().nth(1).as_deref() == Some("idle") {
		return idle();
	}
	let (a, b) = (multi(2), multi(1));
	a.block_on(some("task", 20));
	b.block_on(some("task", 20));
	a.block_on(across(&a, &b));
	b.block_on(in_place());
	let c = current();
	c.block_on(some("task", 10));
	localset(&c);
	localset(&a);
	localruntime();
	// one after the other, each perhaps where the one before was
	for n in 0..NR_BRIEF {
		current().block_on(some("task", n % 3));
	}
	drop((a, b, c));
	for line in LINES.lock().unwrap().iter() {
		println!("{line}");
	}
}

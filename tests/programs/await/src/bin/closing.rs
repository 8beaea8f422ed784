// SPDX-License-Identifier: MIT OR Apache-2.0
//! closing ROUNDS mt|ct: runtimes, of ct with LocalSets, that shut down, one after another, while their workers poll tasks as fast
//! as they can. What a task waits in lies on the heap, several boxes deep, and memory is spoilt before it is given back: whoever
//! follows a future that is being dropped reads rubbish, or ends the program. Of each task the program says at which chain of
//! lines it was when it was dropped, and whether it was at rest there.

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::{pending, Future};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

struct Spoiling;

unsafe impl GlobalAlloc for Spoiling {
	unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
		System.alloc(layout)
	}

	unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
		std::ptr::write_bytes(at, 0xa5, layout.size());
		std::hint::black_box(at);
		System.dealloc(at, layout)
	}
}

#[global_allocator]
static ALLOCATOR: Spoiling = Spoiling;

const SPINNING: u64 = 23;
const RESTING: u64 = 6;
const LATE: u64 = 2;
const DEPTH: usize = 5;
static BEGUN: AtomicU64 = AtomicU64::new(0);
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The lines that a task awaits at, from the outside in: by level, 0 for none.
#[derive(Default)]
struct Lines {
	at: [AtomicU32; DEPTH + 2],
	rests: AtomicBool,
}

impl Lines {
	fn enter(&self, level: usize, line: u32) {
		self.at[level].store(line, Relaxed);
		if let Some(inner) = self.at.get(level + 1) {
			inner.store(0, Relaxed);
		}
	}
}

/// Belongs to a task, and goes with it.
struct Task(Arc<Lines>);

impl Drop for Task {
	fn drop(&mut self) {
		let lines: Vec<_> = self.0.at.iter().map(|l| l.load(Relaxed)).take_while(|&l| l > 0).map(|l| l.to_string()).collect();
		let rests = self.0.rests.load(Relaxed);
		let id = tokio::task::try_id().map_or("0".into(), |id| id.to_string());
		TOLD.lock().unwrap().push(format!(r#"{{"task":"{id}","stood":"{}","rests":{rests}}}"#, lines.join(">")));
	}
}

/// From one level to the last, a box each.
fn down(lines: Arc<Lines>, level: usize, last: usize, rests: bool) -> Pin<Box<dyn Future<Output = ()> + Send>> {
	Box::pin(async move {
		if level < last {
			lines.enter(level, line!() + 1);
			down(lines.clone(), level + 1, last, rests).await
		}
		if rests {
			lines.rests.store(true, Relaxed);
			BEGUN.fetch_add(1, Relaxed);
			lines.enter(level, line!() + 1);
			pending::<()>().await
		}
		for _ in 0..100 {
			std::hint::spin_loop(); // so that not all that is seen are turns
		}
		lines.enter(level, line!() + 1);
		tokio::task::yield_now().await
	})
}

async fn spins(task: Task) {
	BEGUN.fetch_add(1, Relaxed);
	loop {
		task.0.enter(0, line!() + 1);
		down(task.0.clone(), 1, DEPTH + 1, false).await
	}
}

async fn rests(task: Task, depth: usize) {
	task.0.enter(0, line!() + 1);
	down(task.0.clone(), 1, depth, true).await
}

fn task() -> Task {
	Task(Default::default())
}

fn wait_for(begun: u64) {
	while BEGUN.load(Relaxed) < begun {
		std::thread::sleep(Duration::from_micros(50));
	}
}

/// Workers poll while another thread drops their runtime, and tasks come that it does not take any more.
fn multi_thread(begun: u64) {
	let rt = Builder::new_multi_thread().worker_threads(3).build().unwrap();
	let handle = rt.handle().clone();
	for _ in 0..SPINNING {
		rt.spawn(spins(task()));
	}
	for i in 0..RESTING {
		rt.spawn(rests(task(), 1 + i as usize % DEPTH));
	}
	wait_for(begun + SPINNING + RESTING);
	drop(rt);
	for _ in 0..LATE {
		handle.spawn(spins(task()));
	}
}

fn spawn_here() {
	for _ in 0..SPINNING {
		tokio::task::spawn_local(spins(task()));
	}
	for i in 0..RESTING {
		tokio::task::spawn_local(rests(task(), 1 + i as usize % DEPTH));
	}
}

async fn some_turns() {
	for _ in 0..100 {
		tokio::task::yield_now().await
	}
}

fn main() {
	let args: Vec<_> = std::env::args().collect();
	let rounds: u64 = args[1].parse().expect("closing ROUNDS mt|ct");
	for round in 0..rounds {
		match args[2].as_str() {
			"mt" => multi_thread(round * (SPINNING + RESTING)),
			"ct" => {
				let rt = Builder::new_current_thread().build().unwrap();
				let set = LocalSet::new();
				rt.spawn(spins(task()));
				rt.spawn(rests(task(), DEPTH));
				set.spawn_local(async { spawn_here() });
				set.block_on(&rt, some_turns());
			}
			other => panic!("no such way: {other}"),
		}
	}
	for line in TOLD.lock().unwrap().iter() {
		println!("{line}");
	}
}

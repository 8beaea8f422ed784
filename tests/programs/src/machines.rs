// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that block their thread as often as they are told to, on any runtime, and what the program knows
//! of them and of the threads that ran them. No task waits for another: each is polled as often as it says.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

pub type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What is asked of a runtime: to spawn a task, whose handle may be awaited, and a timer.
pub struct Runtime {
	pub spawn: fn(Task) -> Boxed,
	pub sleep: fn(Duration) -> Boxed,
}

/// How long a poll blocks its thread, and how long the task lives that only waits.
const BLOCKED: Duration = Duration::from_millis(120);
const LONG: Duration = Duration::from_millis(2100);

/// Polls that block come first.
#[derive(Clone, Copy)]
struct Plan {
	polls: u64,
	blockades: u64,
	children: &'static [Plan],
}

const fn leaf(polls: u64, blockades: u64) -> Plan {
	Plan {
		polls,
		blockades,
		children: &[],
	}
}

/// No two of them are polled equally often: by that they are told from each other.
const FAMILY: &[Plan] = &[
	Plan {
		polls: 11,
		blockades: 1,
		children: &[leaf(12, 0), leaf(13, 1)],
	},
	Plan {
		polls: 21,
		blockades: 0,
		children: &[
			leaf(22, 2),
			Plan {
				polls: 23,
				blockades: 0,
				children: &[leaf(31, 3), leaf(32, 0), leaf(33, 1)],
			},
			leaf(24, 0),
		],
	},
	leaf(41, 0),
	leaf(42, 1),
];

#[derive(Default)]
struct Seen {
	parent: Option<u64>,
	polls: u64,
	blockades: u64,
	is_over: bool,
	tids: BTreeSet<i32>,
	last_tid: i32,
	least_ns: u64, // from its first poll to its last
}

#[derive(Default)]
struct Machine {
	polls: u64,
	blockades: u64,
}

#[derive(Default)]
struct Truth {
	tasks: Vec<Seen>,
	machines: BTreeMap<i32, Machine>,
	handles: Vec<Boxed>,
	slowest: Duration, // of the polls that were not to block
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();
static TRUTH: Mutex<Option<Truth>> = Mutex::new(None);

fn with<T>(f: impl FnOnce(&mut Truth) -> T) -> T {
	f(TRUTH.lock().unwrap().get_or_insert_with(Truth::default))
}

/// What a task does but for spawning and blocking.
enum Work {
	Polls(u64),
	Waits(Boxed),
	Forever,
}

pub struct Task {
	nr: u64,
	plan: Plan,
	work: Work,
	began: Option<Instant>,
}

impl Future for Task {
	type Output = ();

	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		let began = Instant::now();
		if self.began.is_none() {
			self.began = Some(began);
			for child in self.plan.children {
				spawn(Some(self.nr), *child, Work::Polls(child.polls));
			}
		}
		let blocks = self.plan.blockades > 0;
		if blocks {
			self.plan.blockades -= 1;
			std::thread::sleep(BLOCKED);
		}
		let result = match &mut self.work {
			Work::Polls(1) => Poll::Ready(()),
			Work::Polls(left) => {
				*left -= 1;
				cx.waker().wake_by_ref();
				Poll::Pending
			}
			Work::Waits(timer) => timer.as_mut().poll(cx),
			Work::Forever => Poll::Pending,
		};
		self.note(began, blocks, result.is_ready());
		result
	}
}

impl Task {
	fn note(&self, began: Instant, blocks: bool, is_over: bool) {
		let tid = unsafe { libc::gettid() };
		with(|t| {
			let seen = &mut t.tasks[self.nr as usize];
			seen.polls += 1;
			seen.blockades += blocks as u64;
			seen.is_over = is_over;
			seen.tids.insert(tid);
			seen.last_tid = tid;
			seen.least_ns = self.began.unwrap().elapsed().as_nanos() as u64;
			let machine = t.machines.entry(tid).or_default();
			machine.polls += 1;
			machine.blockades += blocks as u64;
			if !blocks {
				t.slowest = t.slowest.max(began.elapsed());
			}
		});
	}
}

fn spawn(parent: Option<u64>, plan: Plan, work: Work) {
	let is_endless = matches!(work, Work::Forever);
	let nr = with(|t| {
		t.tasks.push(Seen {
			parent,
			..Seen::default()
		});
		t.tasks.len() as u64 - 1
	});
	let task = Task {
		nr,
		plan,
		work,
		began: None,
	};
	let handle = (RUNTIME.get().unwrap().spawn)(task);
	if !is_endless {
		with(|t| t.handles.push(handle));
	} else {
		std::mem::forget(handle);
	}
}

/// All of it; with `idle` one task that is polled once.
pub async fn run(runtime: Runtime) {
	assert!(RUNTIME.set(runtime).is_ok());
	let began = Instant::now();
	if std::env::args().nth(1).as_deref() == Some("idle") {
		spawn(None, leaf(1, 0), Work::Polls(1));
	} else {
		for plan in FAMILY {
			spawn(None, *plan, Work::Polls(plan.polls));
		}
		let timer = (RUNTIME.get().unwrap().sleep)(LONG);
		spawn(None, leaf(0, 0), Work::Waits(timer));
		spawn(None, leaf(0, 0), Work::Forever);
	}
	while let Some(handle) = with(|t| t.handles.pop()) {
		handle.await;
	}
	let elapsed = began.elapsed();
	wait_for_sleep();
	print(elapsed);
}

/// Whoever awaits a task goes on before the thread is out of the task's last poll.
fn wait_for_sleep() {
	let me = unsafe { libc::gettid() };
	for _ in 0..1000 {
		let awake = threads().into_iter().filter(|t| t.0 != me && t.2 != 'S');
		if awake.count() == 0 {
			return;
		}
		std::thread::sleep(Duration::from_millis(10));
	}
	panic!("the threads do not come to rest");
}

/// All threads of the process: id, name, and state as the kernel calls it.
fn threads() -> Vec<(i32, String, char)> {
	let all = std::fs::read_dir("/proc/self/task").expect("proc");
	let stat = |entry: std::io::Result<std::fs::DirEntry>| {
		let path = entry.ok()?.path();
		let stat = std::fs::read_to_string(path.join("stat")).ok()?;
		let (before, after) = stat.rsplit_once(") ")?;
		let (tid, name) = before.split_once(" (")?;
		Some((tid.parse().ok()?, name.to_string(), after.chars().next()?))
	};
	all.filter_map(stat).collect()
}

fn print(elapsed: Duration) {
	with(|t| {
		for (nr, s) in t.tasks.iter().enumerate() {
			let parent = s.parent.map_or("null".to_string(), |p| p.to_string());
			println!(
				r#"{{"truth":"task","nr":{nr},"parent":{parent},"polls":{},"blockades":{},"over":{},"least_ns":{}}}"#,
				s.polls, s.blockades, s.is_over, s.least_ns
			);
		}
		for (tid, m) in &t.machines {
			let handled = t.tasks.iter().filter(|s| s.tids.contains(tid)).count();
			let over = |s: &&Seen| s.is_over && s.last_tid == *tid;
			println!(
				r#"{{"truth":"machine","tid":{tid},"tasks":{handled},"polls":{},"blockades":{},"completed":{}}}"#,
				m.polls,
				m.blockades,
				t.tasks.iter().filter(over).count()
			);
		}
		for (tid, name, _) in threads() {
			println!(r#"{{"truth":"thread","tid":{tid},"name":"{name}"}}"#);
		}
		println!(
			r#"{{"truth":"total","slowest_ns":{},"elapsed_ns":{}}}"#,
			t.slowest.as_nanos(),
			elapsed.as_nanos()
		);
	});
}

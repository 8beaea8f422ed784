// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ways to run tasks besides `spawn`. `flavours localset | localruntime | joinset | blocking |
//! block_in_place | two  [ct | mt WORKERS]`
//!
//! Tasks yield, which is no wake of their own, or wake themselves, which is one, and only the root awaits
//! them: so each self-wake is counted, and none can be a wake from elsewhere that fell into a poll.

use std::future::{pending, Future};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{mpsc, Arc, Barrier};
use std::task::{Context, Poll};
use tokio::runtime::{Builder, Handle, LocalOptions, Runtime, RuntimeFlavor};
use tokio::task::{AbortHandle, JoinSet, LocalSet};
use truth::{spawn, spawn_blocking, spawn_local, yields, Rec, Task};

/// Wakes itself in every poll but the last.
struct Countdown {
	left: u64,
}

impl Future for Countdown {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if self.left == 0 {
			return Poll::Ready(());
		}
		self.left -= 1;
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

/// None where a panic ends the program.
const NR_PANICS: u32 = if cfg!(panic = "unwind") { 3 } else { 0 };

async fn panics() {
	yields(2).await;
	panic!("as planned");
}

/// Not Send, as only local tasks may be.
async fn holds_rc(n: u64) {
	let shared = Rc::new(n);
	yields(n).await;
	assert_eq!(*shared, n);
}

/// For the root, whose own polls show that its thread has left the task.
async fn wait_idle(rec: &Rec) {
	while !rec.is_idle_after(1) {
		truth::turn().await;
		truth::note_step();
	}
}

/// Ends of every sort for tasks spawned by `$spawn`; the idle ones are left to the caller.
macro_rules! all_ends {
	($spawn:path) => {{
		for n in 0..7 {
			let t = $spawn("countdown", Countdown { left: n });
			t.rec.wakes.by_self.store(n, SeqCst);
			t.await.expect("countdown");
		}
		let v: Vec<Task<()>> = (0..11).map(|n| $spawn("yields", yields(n))).collect();
		for t in v {
			t.await.expect("yields");
		}
		for _ in 0..NR_PANICS {
			let t = $spawn("panics", panics());
			assert!(t.await.expect_err("panics").is_panic());
		}
		for _ in 0..5 {
			let t = $spawn("aborted", pending::<()>());
			wait_idle(&t.rec).await;
			t.abort();
			assert!(t.await.expect_err("aborted").is_cancelled());
		}
		let idle: Vec<Task<()>> = (0..5).map(|_| $spawn("idle", pending())).collect();
		for t in &idle {
			wait_idle(&t.rec).await;
		}
		idle
	}};
}

async fn local_tasks() -> Vec<Task<()>> {
	let v: Vec<_> = (0..7)
		.map(|n| spawn_local("holds_rc", holds_rc(n)))
		.collect();
	for t in v {
		t.await.expect("holds_rc");
	}
	let nested = spawn_local("nested", async {
		drop(spawn_local("child", holds_rc(3)));
		yields(9).await;
	});
	nested.await.expect("nested");
	all_ends!(spawn_local)
}

/// A LocalSet beside ordinary tasks, then dropped with five tasks that wait.
fn localset(rt: Runtime) {
	let set = LocalSet::new();
	let idle = rt.block_on(set.run_until(async {
		for n in 0..5 {
			spawn("beside", yields(n)).await.expect("beside");
		}
		spawn_blocking("closure", || ()).await.expect("closure");
		local_tasks().await
	}));
	drop(set);
	assert!(idle.iter().all(|t| t.rec.end() == "dropped"));
	if rt.handle().runtime_flavor() == RuntimeFlavor::MultiThread {
		// The set runs on a thread that is no worker, and only a worker defers the wake of a yield.
		truth::for_each(|r| {
			if r.kind == "local" {
				r.wakes.by_self.store(r.polls.load(SeqCst) - 1, SeqCst);
			}
		});
	}
}

fn localruntime() {
	let rt = Builder::new_current_thread()
		.enable_all()
		.on_thread_park(truth::note_step)
		.build_local(LocalOptions::default())
		.expect("runtime");
	let idle = rt.block_on(async {
		spawn_blocking("closure", || ()).await.expect("closure");
		local_tasks().await
	});
	drop(rt);
	assert!(idle.iter().all(|t| t.rec.end() == "dropped"));
}

fn add(set: &mut JoinSet<()>, label: &'static str, f: impl Future<Output = ()> + Send + 'static) {
	let (rec, counted) = truth::counted(label, f);
	truth::note_id(&rec, set.spawn(counted).id());
}

/// Tasks that wait, with what is needed to say that they will be aborted.
async fn add_idle(set: &mut JoinSet<()>, nr: usize) -> Vec<(Arc<Rec>, AbortHandle)> {
	let mut v = vec![];
	for _ in 0..nr {
		let (rec, counted) = truth::counted("waits", pending::<()>());
		let handle = set.spawn(counted);
		truth::note_id(&rec, handle.id());
		wait_idle(&rec).await;
		v.push((rec, handle));
	}
	v
}

/// Awaited, aborted one by one, aborted all at once, aborted by being dropped.
async fn joinset() {
	let mut set = JoinSet::new();
	for n in 0..13 {
		add(&mut set, "yields", yields(n));
	}
	for _ in 0..NR_PANICS {
		add(&mut set, "panics", panics());
	}
	let mut panicked = 0;
	while let Some(r) = set.join_next().await {
		panicked += r.is_err_and(|e| e.is_panic()) as u32;
	}
	assert_eq!(panicked, NR_PANICS);
	for (rec, handle) in add_idle(&mut set, 5).await {
		rec.note_abort();
		handle.abort();
	}
	while set.join_next().await.is_some() {}
	add_idle(&mut set, 5)
		.await
		.iter()
		.for_each(|(rec, _)| rec.note_abort());
	set.shutdown().await;
	let last = add_idle(&mut set, 7).await;
	last.iter().for_each(|(rec, _)| rec.note_abort());
	drop(set);
	for (rec, handle) in last {
		while !handle.is_finished() {
			truth::turn().await;
		}
		assert_eq!(rec.end(), "cancelled");
	}
}

/// More closures than threads, some that panic, some aborted before a thread had time for them.
async fn blocking() {
	let (open, gate) = mpsc::channel::<()>();
	let gate = Arc::new(std::sync::Mutex::new(gate));
	let busy: Vec<_> = (0..3)
		.map(|_| {
			let gate = gate.clone();
			spawn_blocking("waits_for_gate", move || {
				gate.lock().unwrap().recv().expect("opened");
			})
		})
		.collect();
	let aborted: Vec<_> = (0..5).map(|_| spawn_blocking("aborted", || ())).collect();
	let queued: Vec<_> = (0..11).map(|_| spawn_blocking("queued", || ())).collect();
	aborted.iter().for_each(Task::abort);
	(0..3).for_each(|_| open.send(()).expect("closures wait"));
	for t in aborted {
		assert!(t.await.expect_err("aborted").is_cancelled());
	}
	for t in busy.into_iter().chain(queued) {
		t.await.expect("closure");
	}
	for _ in 0..NR_PANICS {
		let t = spawn_blocking("panics", || panic!("as planned"));
		assert!(t.await.expect_err("panics").is_panic());
	}
}

/// The worker's loop moves to another thread meanwhile, and tasks there go on. The first time all other workers are kept busy:
/// so it is the loop that moved which runs the task. Where there are no names, that tells it from a closure.
async fn block_in_place() {
	for n in 0..7 {
		let others = match n {
			0 => Handle::current().metrics().num_workers() - 1,
			_ => 0,
		};
		let all = Arc::new(Barrier::new(others + 1));
		let busy: Vec<_> = (0..others)
			.map(|_| {
				let all = all.clone();
				spawn("keeps_busy", async move {
					all.wait();
					all.wait();
				})
			})
			.collect();
		let t = spawn("blocks_in_place", async move {
			all.wait();
			let got = tokio::task::block_in_place(|| {
				let beside = spawn("beside", yields(n));
				while !beside.is_finished() {
					std::thread::yield_now();
				}
				n
			});
			assert_eq!(got, n);
			all.wait();
		});
		t.await.expect("blocks_in_place");
		for b in busy {
			b.await.expect("keeps_busy");
		}
	}
}

/// Two runtimes at the same time, each of which spawns on the other.
fn two(a: Runtime) {
	let b = Builder::new_current_thread()
		.on_thread_park(truth::note_step)
		.build()
		.expect("runtime");
	let on_b: Vec<_> = (0..13)
		.map(|n| truth::spawn_on(b.handle(), "on_second", yields(n)))
		.collect();
	let across = b.handle().clone();
	let idle = a.block_on(async move {
		let t = spawn("reaches_over", async move {
			drop(truth::spawn_on(&across, "from_first", yields(3)));
		});
		t.await.expect("reaches_over");
		all_ends!(spawn)
	});
	b.block_on(async {
		for t in on_b {
			t.await.expect("on_second");
		}
		let t = spawn("last_on_second", yields(23));
		t.await.expect("last_on_second");
	});
	drop(a);
	assert!(idle.iter().all(|t| t.rec.end() == "dropped"));
}

fn main() {
	let args: Vec<String> = std::env::args().skip(1).collect();
	std::panic::set_hook(Box::new(|_| ()));
	match args.first().map(String::as_str) {
		Some("localset") => localset(truth::runtime(&args[1..])),
		Some("localruntime") => localruntime(),
		Some("joinset") => truth::runtime(&args[1..]).block_on(joinset()),
		Some("blocking") => truth::runtime(&args[1..]).block_on(blocking()),
		Some("block_in_place") => truth::runtime(&args[1..]).block_on(block_in_place()),
		Some("two") => two(truth::runtime(&args[1..])),
		_ => {
			eprintln!("usage: flavours WHAT [ct | mt WORKERS]");
			std::process::exit(2);
		}
	}
	truth::print();
}

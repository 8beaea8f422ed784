// SPDX-License-Identifier: MIT OR Apache-2.0
//! Polls that do not nest: tasks switch to another stack in the middle of a poll. `coroutines EXECUTOR MODE`
//!
//! A *lane* is a coroutine in which an executor (`tokio`: a LocalSet, `async-task`: a queue) runs tasks of its own. Every
//! poll leaves its lane once or more, and others go on meanwhile. Modes:
//!   interleave  lanes are resumed in any order
//!   abandon N   … and N more are left for ever in the middle of a poll
//!   move        … and each is resumed on another thread than before
//!   killed      a thread ends inside a poll, without a word

use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::hint::black_box;
use std::pin::{pin, Pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, Waker};

const NR_LANES: u64 = 4;
const NR_TASKS: u64 = 5;
const NR_POLLS: u64 = 7;
const NR_ROUNDS: u64 = 20; // of lanes: the stacks of those that are over are gone

type Lane = Coroutine<(), (), ()>;

thread_local! {
	static YIELDER: Cell<*const Yielder<(), ()>> = const { Cell::new(std::ptr::null()) };
}
static DAMAGED: AtomicU64 = AtomicU64::new(0);
static ALL: Mutex<Vec<Arc<Rec>>> = Mutex::new(Vec::new());

struct Rec {
	id: AtomicU64,
	polls: AtomicU64,
	has_ended: AtomicBool,
}

#[inline(never)]
fn set_yielder(y: *const Yielder<(), ()>) {
	YIELDER.with(|c| c.set(y));
}

#[inline(never)]
fn yielder() -> *const Yielder<(), ()> {
	YIELDER.with(Cell::get)
}

/// Leaves the lane in the middle of whatever runs in it.
#[inline(never)]
fn leave_lane() {
	let y = yielder();
	// SAFETY: it was set when the lane was entered, on its own stack.
	unsafe { (*y).suspend(()) };
	set_yielder(y);
}

/// Fills a part of the stack, leaves the lane, and looks whether it is still the same.
#[inline(never)]
fn work(seed: u64) {
	let mut words = [0u64; 96];
	for (i, w) in words.iter_mut().enumerate() {
		*w = (seed + i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
	}
	black_box(&mut words);
	for _ in 0..1 + seed % 3 {
		leave_lane();
	}
	black_box(&words);
	let is_whole = words.iter().enumerate().all(|(i, w)| *w == (seed + i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
	DAMAGED.fetch_add(u64::from(!is_whole), SeqCst);
}

/// An inner future with a poll of its own.
struct Works(u64, bool);

impl Future for Works {
	type Output = ();

	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		work(self.0);
		if self.1 {
			return Poll::Ready(());
		}
		self.1 = true;
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

struct Counted<F>(Arc<Rec>, Pin<Box<F>>);

impl<F: Future<Output = ()>> Future for Counted<F> {
	type Output = ();

	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		self.0.polls.fetch_add(1, SeqCst);
		if let Some(id) = tokio::task::try_id() {
			self.0.id.store(id.to_string().parse().expect("a number"), SeqCst);
		}
		let result = self.1.as_mut().poll(cx);
		self.0.has_ended.store(result.is_ready(), SeqCst);
		result
	}
}

fn counted<F: Future<Output = ()>>(f: F) -> Counted<F> {
	let rec = Arc::new(Rec { id: AtomicU64::new(0), polls: AtomicU64::new(0), has_ended: AtomicBool::new(false) });
	ALL.lock().unwrap().push(rec.clone());
	Counted(rec, Box::pin(f))
}

async fn job(seed: u64, nr_polls: u64) {
	for i in 1..nr_polls {
		let inner: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(Works(seed + i, false));
		inner.await;
	}
	work(seed);
}

/// Tasks of one lane, until all are over.
fn run_tokio(seed: u64, nr_tasks: u64, nr_polls: u64) {
	let set = tokio::task::LocalSet::new();
	for i in 0..nr_tasks {
		set.spawn_local(counted(job(seed + i, nr_polls)));
	}
	let mut set = pin!(set);
	while set.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {}
}

fn run_async_task(seed: u64, nr_tasks: u64, nr_polls: u64) {
	let queue = Arc::new(Mutex::new(VecDeque::new()));
	for i in 0..nr_tasks {
		let to = queue.clone();
		let (runnable, task) = async_task::spawn(counted(job(seed + i, nr_polls)), move |r| to.lock().unwrap().push_back(r));
		runnable.schedule();
		task.detach();
	}
	loop {
		let next = queue.lock().unwrap().pop_front();
		match next {
			Some(runnable) => runnable.run(),
			None => break,
		};
	}
}

fn lane(is_tokio: bool, seed: u64, nr_tasks: u64, nr_polls: u64) -> Lane {
	Coroutine::new(move |y, ()| {
		set_yielder(y);
		if is_tokio {
			run_tokio(seed, nr_tasks, nr_polls);
		} else {
			run_async_task(seed, nr_tasks, nr_polls);
		}
	})
}

fn resume(lane: &mut Lane) -> bool {
	let outer = yielder();
	let is_over = matches!(lane.resume(()), CoroutineResult::Return(()));
	set_yielder(outer);
	is_over
}

/// A lane that goes to another thread.
struct Sent(Lane);
// SAFETY: nothing on its stack belongs to a thread but what `set_yielder` sets anew.
unsafe impl Send for Sent {}

/// Resumes each lane it is given and hands it back.
fn helper(jobs: mpsc::Receiver<Sent>, done: mpsc::Sender<(Sent, bool)>) {
	for mut lane in jobs {
		let is_over = resume(&mut lane.0);
		done.send((lane, is_over)).expect("somebody waits for it");
	}
}

fn drive(is_tokio: bool, nr_abandoned: u64, moves: bool) {
	let mut waiting: VecDeque<Lane> =
		(0..NR_LANES * NR_ROUNDS).map(|i| lane(is_tokio, 1 + 100 * i, NR_TASKS, NR_POLLS)).collect();
	let mut lanes: VecDeque<Lane> = waiting.drain(..NR_LANES as usize).collect();
	let (to_helper, jobs) = mpsc::channel();
	let (done, from_helper) = mpsc::channel();
	let thread = std::thread::spawn(move || helper(jobs, done));
	let mut random: u64 = 1;
	let mut left = nr_abandoned;
	while !lanes.is_empty() || left > 0 {
		random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
		if left > 0 {
			left -= 1;
			let mut abandoned = lane(is_tokio, 10_000 + left, 1, 2);
			assert!(!resume(&mut abandoned), "it is in the middle of a poll");
			std::mem::forget(abandoned);
		}
		lanes.rotate_left((random >> 33) as usize % lanes.len().max(1));
		let Some(mut lane) = lanes.pop_front() else { continue };
		let mut is_over;
		if moves && random >> 40 & 1 == 1 {
			to_helper.send(Sent(lane)).expect("it waits for it");
			let (back, over) = from_helper.recv().expect("it hands it back");
			(lane, is_over) = (back.0, over);
		} else {
			is_over = resume(&mut lane);
		}
		if random >> 50 & 7 == 0 && !is_over {
			is_over = resume(&mut lane);
		}
		if !is_over {
			lanes.push_back(lane);
		} else {
			lanes.extend(waiting.pop_front());
		}
	}
	drop(to_helper);
	thread.join().expect("it ends");
}

extern "C" fn die_in_poll(is_tokio: *mut libc::c_void) -> *mut libc::c_void {
	let end = |_: &Yielder<(), ()>, ()| {
		// SAFETY: ends this thread; what is on its stack is never used again.
		unsafe { libc::syscall(libc::SYS_exit, 0) };
	};
	let dies = counted(async move {
		Coroutine::new(end).resume(());
	});
	if is_tokio.is_null() {
		let (runnable, task) = async_task::spawn(dies, |_| ());
		task.detach();
		runnable.run();
	} else {
		let set = tokio::task::LocalSet::new();
		set.spawn_local(dies);
		let _ = pin!(set).poll(&mut Context::from_waker(Waker::noop()));
	}
	std::ptr::null_mut()
}

fn kill_thread(is_tokio: bool) {
	// SAFETY: a thread that needs nothing of Rust's own threads, as it does not end by returning.
	unsafe {
		let mut thread = std::mem::zeroed();
		let arg = is_tokio as usize as *mut libc::c_void;
		assert_eq!(libc::pthread_create(&mut thread, std::ptr::null(), die_in_poll, arg), 0);
		assert_eq!(libc::pthread_join(thread, std::ptr::null_mut()), 0);
	}
}

fn main() {
	let args: Vec<String> = std::env::args().collect();
	let is_tokio = args[1] == "tokio";
	let nr = args.get(3).map_or(0, |n| n.parse().expect("a number"));
	if args[2] == "killed" {
		(0..3).for_each(|_| kill_thread(is_tokio));
	}
	drive(is_tokio, nr, args[2] == "move");
	let all = ALL.lock().unwrap();
	for rec in all.iter() {
		let (id, polls, ended) = (rec.id.load(SeqCst), rec.polls.load(SeqCst), rec.has_ended.load(SeqCst));
		println!("{{\"truth\":\"task\",\"id\":{id},\"polls\":{polls},\"ended\":{ended}}}");
	}
	let polls: u64 = all.iter().map(|r| r.polls.load(SeqCst)).sum();
	println!("{{\"truth\":\"total\",\"polls\":{polls},\"damaged\":{}}}", DAMAGED.load(SeqCst));
}

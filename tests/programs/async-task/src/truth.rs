// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program knows about its own tasks. async-task gives them no ids, so a task is told by what it
//! did: how often it was polled and woken, by whom, how it ended, and the same of who spawned it.

use std::cell::RefCell;
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

pub struct Rec {
	nr: u64,
	label: &'static str,
	kind: &'static str,
	parent: Option<u64>,
	pub polls: AtomicU64,
	in_poll: AtomicBool,
	ready: AtomicBool,
	cancelled: AtomicBool,
	gone: AtomicBool,
	/// Transitions to runnable, where the program knows who made them.
	pub by_self: AtomicU64,
	pub by_task: AtomicU64,
	pub by_thread: AtomicU64,
	knows_wakes: AtomicBool,
}

static ALL: Mutex<Vec<Arc<Rec>>> = Mutex::new(Vec::new());
/// Polls of all tasks: when it has moved on, on a single thread, an earlier poll is over.
pub static STEPS: AtomicU64 = AtomicU64::new(0);

thread_local! {
	static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

pub fn current() -> Option<u64> {
	CURRENT.with(|c| c.borrow().last().copied())
}

impl Rec {
	pub fn new(label: &'static str, kind: &'static str) -> Arc<Rec> {
		let mut all = ALL.lock().unwrap();
		let rec = Arc::new(Rec {
			nr: all.len() as u64,
			label,
			kind,
			parent: current(),
			polls: AtomicU64::new(0),
			in_poll: AtomicBool::new(false),
			ready: AtomicBool::new(false),
			cancelled: AtomicBool::new(false),
			gone: AtomicBool::new(false),
			by_self: AtomicU64::new(0),
			by_task: AtomicU64::new(0),
			by_thread: AtomicU64::new(0),
			knows_wakes: AtomicBool::new(false),
		});
		all.push(rec.clone());
		rec
	}

	/// Before the cancelling itself, which may take effect at once.
	pub fn note_cancel(&self) {
		self.cancelled.store(true, SeqCst);
	}

	/// All of its wakes are counted here.
	pub fn knows_wakes(&self, by_self: u64) {
		self.by_self.store(by_self, SeqCst);
		self.knows_wakes.store(true, SeqCst);
	}

	pub fn is_over(&self) -> bool {
		self.gone.load(SeqCst)
	}

	fn end(&self) -> &'static str {
		if self.ready.load(SeqCst) {
			"completed"
		} else if self.in_poll.load(SeqCst) {
			"panicked"
		} else if !self.gone.load(SeqCst) {
			"alive"
		} else if self.cancelled.load(SeqCst) {
			"cancelled"
		} else {
			"dropped"
		}
	}

	fn enter(&self) {
		STEPS.fetch_add(1, SeqCst);
		self.polls.fetch_add(1, SeqCst);
		self.in_poll.store(true, SeqCst);
		CURRENT.with(|c| c.borrow_mut().push(self.nr));
	}
}

/// Takes its task off the thread's stack, also when a panic goes through.
struct Inside;

impl Drop for Inside {
	fn drop(&mut self) {
		CURRENT.with(|c| c.borrow_mut().pop());
	}
}

/// The future that every task is: it counts and passes on.
pub struct Counted<F> {
	inner: F,
	rec: Arc<Rec>,
}

impl<F: Future> Future for Counted<F> {
	type Output = F::Output;

	fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
		// SAFETY: `inner` is never moved out of the pinned wrapper.
		let this = unsafe { self.get_unchecked_mut() };
		this.rec.enter();
		let _inside = Inside;
		let r = unsafe { Pin::new_unchecked(&mut this.inner) }.poll(cx);
		this.rec.ready.fetch_or(r.is_ready(), SeqCst);
		this.rec.in_poll.store(false, SeqCst);
		r
	}
}

impl<F> Drop for Counted<F> {
	fn drop(&mut self) {
		self.rec.gone.store(true, SeqCst);
	}
}

pub fn counted<F: Future>(label: &'static str, inner: F) -> (Arc<Rec>, Counted<F>) {
	let rec = Rec::new(label, "task");
	(rec.clone(), Counted { inner, rec })
}

/// For an executor that does not leave its thread.
pub fn counted_local<F: Future>(label: &'static str, inner: F) -> (Arc<Rec>, Counted<F>) {
	let rec = Rec::new(label, "local");
	(rec.clone(), Counted { inner, rec })
}

/// A closure for a pool of threads: a task of one poll.
pub fn blocking<T>(label: &'static str, f: impl FnOnce() -> T) -> impl FnOnce() -> T {
	let rec = Rec::new(label, "blocking");
	move || {
		rec.enter();
		let _inside = Inside;
		let r = f();
		rec.ready.store(true, SeqCst);
		rec.gone.store(true, SeqCst);
		r
	}
}

/// Wakes itself in each poll but the last, up to three times: still one transition.
pub struct Countdown(pub u64);

impl Future for Countdown {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if self.0 == 0 {
			return Poll::Ready(());
		}
		for i in 0..=self.0 % 3 {
			match i {
				1 => cx.waker().clone().wake(),
				_ => cx.waker().wake_by_ref(),
			}
		}
		self.0 -= 1;
		Poll::Pending
	}
}

pub type Slot = Arc<Mutex<Option<Waker>>>;

/// Sleeps so many times; whoever takes the waker out of the slot wakes it.
pub struct Sleeps {
	pub slot: Slot,
	pub left: u64,
}

impl Future for Sleeps {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if self.left == 0 {
			return Poll::Ready(());
		}
		self.left -= 1;
		*self.slot.lock().unwrap() = Some(cx.waker().clone());
		Poll::Pending
	}
}

fn print_one(out: &mut impl Write, r: &Rec) -> std::io::Result<()> {
	let wakes = if r.knows_wakes.load(SeqCst) {
		format!(
			r#"{{"self":{},"task":{},"thread":{}}}"#,
			r.by_self.load(SeqCst),
			r.by_task.load(SeqCst),
			r.by_thread.load(SeqCst)
		)
	} else {
		"null".to_string()
	};
	writeln!(
		out,
		r#"{{"truth":"task","nr":{},"label":"{}","kind":"{}","parent":{},"polls":{},"end":"{}","wakes":{}}}"#,
		r.nr,
		r.label,
		r.kind,
		r.parent.map_or("null".to_string(), |p| p.to_string()),
		r.polls.load(SeqCst),
		r.end(),
		wakes
	)
}

/// Everything, and how many tasks of its own the runtime has besides.
pub fn print(nr_own: u64) {
	let all = ALL.lock().unwrap();
	let mut out = std::io::BufWriter::new(std::io::stdout().lock());
	for r in all.iter() {
		print_one(&mut out, r).expect("stdout");
	}
	let polls: u64 = all.iter().map(|r| r.polls.load(SeqCst)).sum();
	writeln!(
		out,
		r#"{{"truth":"total","tasks":{},"polls":{polls},"own":{nr_own}}}"#,
		all.len()
	)
	.expect("stdout");
	out.flush().expect("stdout");
}

/// Panics that the program means say nothing.
pub fn hush() {
	std::panic::set_hook(Box::new(|_| {}));
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program knows about its own tasks, counted without any help of the runtime.
//!
//! Every task is spawned through [`spawn`] or [`spawn_blocking`]: a wrapper future counts its polls and
//! notes how it ended, a record keeps Tokio's id and the id of the task that spawned it. [`print`] writes
//! all of it as one JSON object a line, which is what a recording is compared with.

use std::cell::OnceCell;
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{AbortHandle, Id, JoinError, JoinHandle};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOC: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One task. `end` follows from the flags: nothing here is asked of the runtime but the id.
pub struct Rec {
	id: AtomicU64,
	seen_id: AtomicU64,
	pub label: &'static str,
	ty: &'static str,
	pub kind: &'static str,
	parent: Option<u64>,
	pub polls: AtomicU64,
	in_poll: AtomicBool,
	ready: AtomicBool,
	aborted: AtomicBool,
	gone: AtomicBool,
	last_poll: Mutex<Option<(Arc<AtomicU64>, u64)>>,
	pub wakes: Wakes,
}

/// Transitions to runnable by cause, for programs that know them.
#[derive(Default)]
pub struct Wakes {
	pub by_self: AtomicU64,
	pub by_task: AtomicU64,
	pub by_thread: AtomicU64,
	pub by_worker: AtomicU64,
	pub by_abort: AtomicU64,
	pub last_waker: AtomicU64,
}

impl Wakes {
	pub fn from_task(&self, waker: u64) {
		self.by_task.fetch_add(1, SeqCst);
		self.last_waker.store(waker, SeqCst);
	}
}

static ALL: Mutex<Vec<Arc<Rec>>> = Mutex::new(Vec::new());

thread_local! {
	static STEPS: OnceCell<Arc<AtomicU64>> = const { OnceCell::new() };
}

/// Counts what this thread has gone on to: a poll of any task, or a park. When the count has moved on
/// since a poll began there, that poll is over and its task was let go by the runtime.
fn step() -> (Arc<AtomicU64>, u64) {
	STEPS.with(|s| {
		let steps = s.get_or_init(|| Arc::new(AtomicU64::new(0)));
		(steps.clone(), steps.fetch_add(1, SeqCst) + 1)
	})
}

/// This thread runs none of its tasks at this moment: it is about to park, or polls a root.
pub fn note_step() {
	drop(step());
}

pub fn number(id: Id) -> u64 {
	id.to_string().parse().expect("Tokio's id is a number")
}

/// The task we are in; none inside `block_on` or on a foreign thread.
pub fn current() -> Option<u64> {
	tokio::task::try_id().map(number)
}

impl Rec {
	fn new(label: &'static str, ty: &'static str, kind: &'static str) -> Arc<Rec> {
		let rec = Arc::new(Rec {
			id: AtomicU64::new(0),
			seen_id: AtomicU64::new(0),
			label,
			ty,
			kind,
			parent: current(),
			polls: AtomicU64::new(0),
			in_poll: AtomicBool::new(false),
			ready: AtomicBool::new(false),
			aborted: AtomicBool::new(false),
			gone: AtomicBool::new(false),
			last_poll: Mutex::new(None),
			wakes: Wakes::default(),
		});
		ALL.lock().unwrap().push(rec.clone());
		rec
	}

	pub fn id(&self) -> u64 {
		self.id.load(SeqCst)
	}

	pub fn end(&self) -> &'static str {
		if self.ready.load(SeqCst) {
			"completed"
		} else if self.in_poll.load(SeqCst) {
			"panicked"
		} else if !self.gone.load(SeqCst) {
			"alive"
		} else if self.aborted.load(SeqCst) {
			"cancelled"
		} else {
			"dropped"
		}
	}

	/// All at once for `is_idle_after`, which must not see half of a new poll.
	fn enter(&self) {
		let mut last = self.last_poll.lock().unwrap();
		if self.polls.fetch_add(1, SeqCst) == 0 {
			self.seen_id.store(number(tokio::task::id()), SeqCst);
		}
		self.in_poll.store(true, SeqCst);
		*last = Some(step());
	}

	/// Polled `n` times at least, and the runtime has finished with the last of these polls.
	pub fn is_idle_after(&self, n: u64) -> bool {
		let last = self.last_poll.lock().unwrap();
		let over = last
			.as_ref()
			.is_some_and(|(steps, at)| steps.load(SeqCst) > *at);
		over && self.polls.load(SeqCst) >= n && !self.in_poll.load(SeqCst)
	}

	fn leave(&self, ready: bool) {
		if ready {
			self.ready.store(true, SeqCst);
		}
		self.in_poll.store(false, SeqCst);
	}

	/// To be called before the abort itself: the abort may take effect at once.
	pub fn note_abort(&self) {
		self.aborted.store(true, SeqCst);
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
		let r = unsafe { Pin::new_unchecked(&mut this.inner) }.poll(cx);
		this.rec.leave(r.is_ready());
		r
	}
}

impl<F> Drop for Counted<F> {
	fn drop(&mut self) {
		self.rec.gone.store(true, SeqCst);
	}
}

/// A spawned task with its record. Dropping it detaches the task, as with a `JoinHandle`.
pub struct Task<T> {
	pub rec: Arc<Rec>,
	handle: JoinHandle<T>,
}

impl<T> Task<T> {
	pub fn id(&self) -> u64 {
		self.rec.id()
	}

	pub fn abort(&self) {
		self.rec.note_abort();
		self.handle.abort();
	}

	pub fn is_finished(&self) -> bool {
		self.handle.is_finished()
	}

	pub fn aborter(&self) -> (Arc<Rec>, AbortHandle) {
		(self.rec.clone(), self.handle.abort_handle())
	}
}

impl<T> Future for Task<T> {
	type Output = Result<T, JoinError>;

	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
		let r = Pin::new(&mut self.handle).poll(cx);
		if let Poll::Ready(Err(e)) = &r {
			let end = self.rec.end();
			let panicked = end == "panicked";
			assert_eq!(e.is_panic(), panicked, "{}: {end} but {e}", self.rec.label);
		}
		r
	}
}

pub fn spawn_on<F>(rt: &Handle, label: &'static str, inner: F) -> Task<F::Output>
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	let rec = Rec::new(label, std::any::type_name::<Counted<F>>(), "task");
	let handle = rt.spawn(Counted {
		inner,
		rec: rec.clone(),
	});
	rec.id.store(number(handle.id()), SeqCst);
	Task { rec, handle }
}

pub fn spawn<F>(label: &'static str, inner: F) -> Task<F::Output>
where
	F: Future + Send + 'static,
	F::Output: Send + 'static,
{
	spawn_on(&Handle::current(), label, inner)
}

/// On the LocalSet or LocalRuntime that we are in.
pub fn spawn_local<F>(label: &'static str, inner: F) -> Task<F::Output>
where
	F: Future + 'static,
	F::Output: 'static,
{
	let rec = Rec::new(label, std::any::type_name::<Counted<F>>(), "local");
	let handle = tokio::task::spawn_local(Counted {
		inner,
		rec: rec.clone(),
	});
	rec.id.store(number(handle.id()), SeqCst);
	Task { rec, handle }
}

/// A wrapped future for those who spawn by other means; its id is noted by the first poll, or by hand.
pub fn counted<F: Future>(label: &'static str, inner: F) -> (Arc<Rec>, Counted<F>) {
	let rec = Rec::new(label, std::any::type_name::<Counted<F>>(), "task");
	(rec.clone(), Counted { inner, rec })
}

pub fn note_id(rec: &Rec, id: Id) {
	rec.id.store(number(id), SeqCst);
}

struct Gone(Arc<Rec>);

impl Drop for Gone {
	fn drop(&mut self) {
		self.0.gone.store(true, SeqCst);
	}
}

/// A blocking closure is a task of one poll.
pub fn spawn_blocking_on<T, F>(rt: &Handle, label: &'static str, f: F) -> Task<T>
where
	T: Send + 'static,
	F: FnOnce() -> T + Send + 'static,
{
	let rec = Rec::new(label, std::any::type_name::<F>(), "blocking");
	let gone = Gone(rec.clone());
	let handle = rt.spawn_blocking(move || {
		gone.0.enter();
		let r = f();
		gone.0.leave(true);
		r
	});
	rec.id.store(number(handle.id()), SeqCst);
	Task { rec, handle }
}

pub fn spawn_blocking<T, F>(label: &'static str, f: F) -> Task<T>
where
	T: Send + 'static,
	F: FnOnce() -> T + Send + 'static,
{
	spawn_blocking_on(&Handle::current(), label, f)
}

/// Gives up the worker once: the runtime defers the wake until this poll is over.
pub async fn yields(n: u64) {
	for _ in 0..n {
		tokio::task::yield_now().await;
	}
}

/// A turn of who waits for another thread to have done something. That one may want the CPU, and so may who records us: each turn
/// is an event or three, and there is only room for so many until they are taken.
pub async fn turn() {
	std::thread::yield_now();
	yields(1).await
}

/// The runtime that `ct` or `mt N` on the command line asks for.
pub fn runtime(args: &[String]) -> Runtime {
	let mut b = match args.first().map(String::as_str) {
		Some("ct") => Builder::new_current_thread(),
		Some("mt") => {
			let mut b = Builder::new_multi_thread();
			b.worker_threads(
				args.get(1)
					.map_or(2, |n| n.parse().expect("number of workers")),
			);
			b
		}
		_ => {
			eprintln!("usage: PROGRAM ct | mt WORKERS [...]");
			std::process::exit(2);
		}
	};
	b.enable_all()
		.max_blocking_threads(3)
		.on_thread_park(note_step)
		.build()
		.expect("runtime")
}

/// For truths that are known only when all is over.
pub fn for_each(f: impl Fn(&Rec)) {
	ALL.lock().unwrap().iter().for_each(|r| f(r));
}

/// What was so far is another process's truth: to be called in a child after a fork, by its only thread.
pub fn forget() {
	ALL.lock().unwrap().clear();
}

pub fn nr_tasks() -> usize {
	ALL.lock().unwrap().len()
}

pub fn is_prime(n: usize) -> bool {
	n > 1 && (2..).take_while(|d| d * d <= n).all(|d| n % d != 0)
}

fn print_one(out: &mut impl Write, r: &Rec) -> std::io::Result<()> {
	let (id, seen) = (r.id(), r.seen_id.load(SeqCst));
	assert!(
		id != 0 && (seen == 0 || seen == id),
		"{}: id {id}, but polled as {seen}",
		r.label
	);
	assert_eq!(seen == 0, r.polls.load(SeqCst) == 0);
	let parent = r.parent.map_or("null".to_string(), |p| p.to_string());
	let w = &r.wakes;
	writeln!(
		out,
		concat!(
			r#"{{"truth":"task","id":{},"label":"{}","type":"{}","kind":"{}","parent":{},"#,
			r#""polls":{},"end":"{}","wakes":{{"self":{},"task":{},"thread":{},"worker":{},"abort":{},"last_waker":{}}}}}"#
		),
		id,
		r.label,
		r.ty,
		r.kind,
		parent,
		r.polls.load(SeqCst),
		r.end(),
		w.by_self.load(SeqCst),
		w.by_task.load(SeqCst),
		w.by_thread.load(SeqCst),
		w.by_worker.load(SeqCst),
		w.by_abort.load(SeqCst),
		w.last_waker.load(SeqCst),
	)
}

/// Writes every task and a line of totals. The caller has let all runtimes go, or says so by its truth.
pub fn print() {
	let all = ALL.lock().unwrap();
	let mut out = std::io::BufWriter::new(std::io::stdout().lock());
	for r in all.iter() {
		print_one(&mut out, r).expect("stdout");
	}
	let polls: u64 = all.iter().map(|r| r.polls.load(SeqCst)).sum();
	writeln!(
		out,
		r#"{{"truth":"total","tasks":{},"polls":{}}}"#,
		all.len(),
		polls
	)
	.expect("stdout");
	out.flush().expect("stdout");
}

pub fn gettid() -> i32 {
	unsafe { libc::gettid() }
}

/// CPU time of the whole process.
pub fn cpu_ns() -> u64 {
	let mut t = libc::timespec {
		tv_sec: 0,
		tv_nsec: 0,
	};
	unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
	t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

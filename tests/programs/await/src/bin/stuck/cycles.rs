// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that wait for each other, by locks and by handles.

use crate::{keep, nap, start};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, Barrier, Mutex, MutexGuard, RwLock, Semaphore};
use tokio::task::JoinHandle;
use waits::{here, within, At};

async fn take_both(at: At, a: &'static Mutex<u64>, b: &'static Mutex<u64>, both: &'static Barrier) {
	let held = a.lock().await;
	both.wait().await;
	let _w = here!(at, 1).object("mutex", b, "");
	let mut wanted = b.lock().await;
	*wanted += *held;
}

/// The same two locks in the same order: the second task waits before it has any.
async fn take_first(at: At, a: &'static Mutex<u64>, both: &'static Barrier) {
	both.wait().await;
	let _w = here!(at, 1).object("mutex", a, "");
	let mut held = a.lock().await;
	*held += 1;
}

async fn has_both(at: At, a: &'static Mutex<u64>, b: &'static Mutex<u64>, both: &'static Barrier) {
	let (held, mut wanted) = (a.lock().await, b.lock().await);
	both.wait().await;
	nap(here!(at), 100_000).await;
	*wanted += *held;
}

pub fn locks(is_fault: bool) {
	let (a, b): (&Mutex<u64>, &Mutex<u64>) = (keep(Mutex::new(1)), keep(Mutex::new(2)));
	let both: &Barrier = keep(Barrier::new(2));
	if is_fault {
		start("stuck", 1, |at| take_both(at, a, b, both));
		start("stuck too", 1, |at| take_both(at, b, a, both));
	} else {
		start("has both", 1, |at| has_both(at, a, b, both));
		start("waits", 1, |at| take_first(at, a, both));
	}
}

async fn wait_for(at: At, lock: &'static Mutex<u64>) {
	let _w = here!(at, 1).object("mutex", lock, "");
	*lock.lock().await += 1;
}

/// Main has the lock, which is no task: a thread waits for its future.
pub async fn lock_of_main() {
	let lock: &Mutex<u64> = keep(Mutex::new(1));
	let mut held = lock.lock().await;
	start("waits", 1, |at| wait_for(at, lock));
	waits::tell_when_ready();
	tokio::time::sleep(Duration::from_secs(100_000)).await;
	*held += 1;
}

/// Main is one of the two.
pub async fn locks_with_main() {
	let (a, b): (&Mutex<u64>, &Mutex<u64>) = (keep(Mutex::new(1)), keep(Mutex::new(2)));
	let both: &Barrier = keep(Barrier::new(2));
	let held = a.lock().await;
	start("stuck", 1, |at| take_both(at, b, a, both));
	both.wait().await;
	waits::tell_when_ready();
	let mut wanted = b.lock().await;
	*wanted += *held;
}

struct Order {
	nr: u64,
	lock: MutexGuard<'static, u64>,
}

async fn take_both_inside(
	at: At,
	a: &'static Mutex<u64>,
	b: &'static Mutex<u64>,
	both: &'static Barrier,
) {
	let order = Order {
		nr: 3,
		lock: a.lock().await,
	};
	both.wait().await;
	let _w = here!(at, 1).object("mutex", b, "");
	let mut wanted = b.lock().await;
	*wanted += *order.lock + order.nr;
}

/// Has the first lock, or has let it go already when it waits for the second.
async fn take_one_at_a_time(
	at: At,
	a: &'static Mutex<u64>,
	b: &'static Mutex<u64>,
	all: &'static Barrier,
	lets_go: Option<&'static Barrier>,
) {
	let mut held = Some((7, a.lock().await));
	if let Some(is_free) = lets_go {
		held.take();
		is_free.wait().await;
	}
	all.wait().await;
	let _w = here!(at, 1).object("mutex", b, "");
	let mut wanted = b.lock().await;
	*wanted += held.map_or(0, |(n, held)| n + *held);
}

/// The guards are parts of something else.
pub fn locks_inside() {
	let (a, b): (&Mutex<u64>, &Mutex<u64>) = (keep(Mutex::new(1)), keep(Mutex::new(2)));
	let both: &Barrier = keep(Barrier::new(2));
	start("stuck", 1, |at| take_both_inside(at, a, b, both));
	start("stuck too", 1, |at| {
		take_one_at_a_time(at, b, a, both, None)
	});
}

async fn take_both_boxed(
	at: At,
	a: &'static Mutex<u64>,
	b: &'static Mutex<u64>,
	both: &'static Barrier,
) {
	let held = Box::new(Some(a.lock().await));
	both.wait().await;
	let _w = here!(at, 1).object("mutex", b, "");
	let mut wanted = b.lock().await;
	*wanted += held.map_or(0, |held| *held);
}

/// The guards are in boxes.
pub fn locks_boxed() {
	let (a, b): (&Mutex<u64>, &Mutex<u64>) = (keep(Mutex::new(1)), keep(Mutex::new(2)));
	let both: &Barrier = keep(Barrier::new(2));
	start("stuck", 1, |at| take_both_boxed(at, a, b, both));
	start("stuck too", 1, |at| take_both_boxed(at, b, a, both));
}

/// The first has let go of what the second wants, and a third one has it.
pub fn lock_let_go() {
	let (a, b): (&Mutex<u64>, &Mutex<u64>) = (keep(Mutex::new(1)), keep(Mutex::new(2)));
	let (is_free, all): (&Barrier, &Barrier) = (keep(Barrier::new(2)), keep(Barrier::new(3)));
	start("first", 1, |at| {
		take_one_at_a_time(at, a, b, all, Some(is_free))
	});
	start("second", 1, |at| take_both(at, b, a, all));
	start("third", 1, |at| async move {
		is_free.wait().await;
		let mut held = a.lock().await;
		all.wait().await;
		nap(here!(at), 100_000).await;
		*held += 1;
	});
}

/// Gives its guard of the first lock away, and waits for the second when another one has the first.
async fn take_after_drop(
	at: At,
	a: &'static Mutex<u64>,
	b: &'static Mutex<u64>,
	is_free: &'static Barrier,
	all: &'static Barrier,
) {
	let mut held = a.lock().await;
	tokio::task::yield_now().await;
	*held += 1;
	drop(held);
	is_free.wait().await;
	all.wait().await;
	let _w = here!(at, 1).object("mutex", b, "");
	let mut wanted = b.lock().await;
	*wanted += 1;
}

async fn take_and_nap(
	at: At,
	a: &'static Mutex<u64>,
	is_free: &'static Barrier,
	all: &'static Barrier,
) {
	is_free.wait().await;
	let mut held = a.lock().await;
	all.wait().await;
	nap(here!(at), 100_000).await;
	*held += 1;
}

/// A task waits for a lock that it had before, and has not any more.
pub fn lock_dropped() {
	let a: &Mutex<u64> = keep(Mutex::new(1));
	let (is_free, all): (&Barrier, &Barrier) = (keep(Barrier::new(2)), keep(Barrier::new(2)));
	start("again", 1, |at| take_after_drop(at, a, a, is_free, all));
	start("busy", 1, |at| take_and_nap(at, a, is_free, all));
}

/// A cycle, beside a task that holds up its thread, so that nobody can read what it has.
pub fn locks_beside_one_that_runs() {
	locks(true);
	tokio::spawn(async move {
		tokio::task::yield_now().await; // whom it woke may be next on this thread
		std::thread::sleep(Duration::from_secs(100_000));
	});
}

async fn take_twice(at: At, a: &'static Mutex<u64>) {
	let held = a.lock().await;
	let _w = here!(at, 1).object("mutex", a, "");
	let mut wanted = a.lock().await;
	*wanted += *held;
}

pub fn lock_twice() {
	let a: &Mutex<u64> = keep(Mutex::new(1));
	start("stuck", 1, |at| take_twice(at, a));
}

/// The first waits for the second's lock, the second for one that the first does not have any more.
pub fn locks_dropped() {
	let (a, b): (&Mutex<u64>, &Mutex<u64>) = (keep(Mutex::new(1)), keep(Mutex::new(2)));
	let (is_free, all): (&Barrier, &Barrier) = (keep(Barrier::new(2)), keep(Barrier::new(3)));
	start("first", 1, |at| take_after_drop(at, a, b, is_free, all));
	start("second", 1, |at| take_both(at, b, a, all));
	start("busy", 1, |at| take_and_nap(at, a, is_free, all));
}

/// The same, but who has the first one's lock now has it in a box.
pub fn lock_boxed_elsewhere() {
	let (a, b): (&Mutex<u64>, &Mutex<u64>) = (keep(Mutex::new(1)), keep(Mutex::new(2)));
	let (is_free, all): (&Barrier, &Barrier) = (keep(Barrier::new(2)), keep(Barrier::new(3)));
	start("first", 1, |at| take_after_drop(at, a, b, is_free, all));
	start("second", 1, |at| take_both(at, b, a, all));
	start("busy", 1, |at| async move {
		is_free.wait().await;
		let mut held = Box::new(a.lock().await);
		all.wait().await;
		nap(here!(at), 100_000).await;
		**held += 1;
	});
}

/// Its guard is with a thread, where nobody can see it, if it has given it away.
async fn give_away(
	at: At,
	a: &'static Mutex<u64>,
	b: &'static Mutex<u64>,
	all: &'static Barrier,
	gives: bool,
) {
	let mut held = a.lock().await;
	*held += 1;
	if gives {
		std::thread::spawn(move || {
			std::thread::sleep(Duration::from_secs(100_000));
			*held += 1;
		});
	}
	all.wait().await;
	let _w = here!(at, 1).object("mutex", b, "");
	let mut wanted = b.lock().await;
	*wanted += 1;
}

/// The first waits for the second's lock; a thread has the one that the second waits for.
pub fn lock_given_away(gives: bool) {
	let (a, b): (&Mutex<u64>, &Mutex<u64>) = (keep(Mutex::new(1)), keep(Mutex::new(2)));
	let all: &Barrier = keep(Barrier::new(2));
	start("stuck", 1, |at| give_away(at, a, b, all, gives));
	start("stuck too", 1, |at| take_both(at, b, a, all));
}

type Owned = Arc<Mutex<u64>>;

/// What becomes of the guard that a task has, besides the argument that it moves away.
#[derive(Clone, Copy)]
pub enum Guard {
	Kept,
	/// a thread has it, where nobody can see it
	Given,
	/// the same, in any case
	GivenAlways,
}

fn give_to_thread<T: Send + 'static>(guard: T) {
	std::thread::spawn(move || {
		std::thread::sleep(Duration::from_secs(100_000));
		drop(guard);
	});
}

/// Its arguments are moved away one after the other; `b_too` only says where the second one is.
async fn take_both_owned(at: At, a: Owned, b: Owned, b_too: &'static Owned, both: &'static Barrier) {
	let held = a.lock_owned().await;
	both.wait().await;
	let _w = here!(at, 1).object("mutex", &**b_too, "");
	let mut wanted = b.lock_owned().await;
	*wanted += *held;
}

async fn give_away_owned(
	at: At,
	(a, gives): (Owned, bool),
	b: Owned,
	b_too: &'static Owned,
	both: &'static Barrier,
) {
	let mut held = a.lock_owned().await;
	*held += 1;
	if gives {
		give_to_thread(held);
	}
	both.wait().await;
	let _w = here!(at, 1).object("mutex", &**b_too, "");
	let mut wanted = b.lock_owned().await;
	*wanted += 1;
}

async fn always_give_away_owned(
	at: At,
	a: Owned,
	b: Owned,
	b_too: &'static Owned,
	both: &'static Barrier,
) {
	let mut held = a.lock_owned().await;
	both.wait().await;
	*held += 1;
	give_to_thread(held);
	let _w = here!(at, 1).object("mutex", &**b_too, "");
	let mut wanted = b.lock_owned().await;
	*wanted += 1;
}

/// Each lock is an argument that is moved into the guard of it.
pub fn locks_owned(guard: Guard) {
	let (a, b) = (Owned::default(), Owned::default());
	let (a_too, b_too): (&Owned, &Owned) = (keep(a.clone()), keep(b.clone()));
	let both: &Barrier = keep(Barrier::new(2));
	let (own_a, own_b) = (a.clone(), b.clone());
	match guard {
		Guard::Kept => start("stuck", 1, |at| {
			take_both_owned(at, own_a, own_b, b_too, both)
		}),
		Guard::Given => start("first", 1, |at| {
			give_away_owned(at, (own_a, true), own_b, b_too, both)
		}),
		Guard::GivenAlways => start("first", 1, |at| {
			always_give_away_owned(at, own_a, own_b, b_too, both)
		}),
	};
	start("stuck too", 1, |at| {
		take_both_owned(at, b, a, a_too, both)
	});
}

async fn read_and_nap(at: At, a: &'static RwLock<u64>, all: &'static Barrier) {
	let held = a.read().await;
	all.wait().await;
	nap(here!(at), 100_000).await;
	drop(held);
}

async fn write(at: At, a: &'static RwLock<u64>, all: &'static Barrier) {
	all.wait().await;
	let _w = here!(at, 1).object("rwlock", a, "");
	*a.write().await += 1;
}

/// Two have the lock that two others want for themselves.
pub fn two_readers() {
	let (a, all): (&RwLock<u64>, &Barrier) = (keep(RwLock::new(1)), keep(Barrier::new(4)));
	start("reads", 1, |at| read_and_nap(at, a, all));
	start("reads too", 1, |at| read_and_nap(at, a, all));
	start("writes", 1, |at| write(at, a, all));
	start("writes too", 1, |at| write(at, a, all));
}

async fn read_then_write(
	at: At,
	a: &'static RwLock<u64>,
	b: &'static RwLock<u64>,
	both: &'static Barrier,
) {
	let held = a.read().await;
	both.wait().await;
	let _w = here!(at, 1).object("rwlock", b, "");
	let mut wanted = b.write().await;
	*wanted += *held;
}

pub fn rwlocks() {
	let (a, b): (&RwLock<u64>, &RwLock<u64>) = (keep(RwLock::new(1)), keep(RwLock::new(2)));
	let both: &Barrier = keep(Barrier::new(2));
	start("stuck", 1, |at| read_then_write(at, a, b, both));
	start("stuck too", 1, |at| read_then_write(at, b, a, both));
}

async fn take_both_of_futures(
	at: At,
	a: &'static futures::lock::Mutex<u64>,
	b: &'static futures::lock::Mutex<u64>,
	both: &'static Barrier,
) {
	let held = a.lock().await;
	both.wait().await;
	let _w = here!(at, 1).object("mutex", b, r#""waiters":1"#);
	let mut wanted = b.lock().await;
	*wanted += *held;
}

/// The locks of futures-rs.
pub fn locks_of_futures() {
	use futures::lock::Mutex;
	let (a, b): (&Mutex<u64>, &Mutex<u64>) = (keep(Mutex::new(1)), keep(Mutex::new(2)));
	let both: &Barrier = keep(Barrier::new(2));
	start("stuck", 1, |at| take_both_of_futures(at, a, b, both));
	start("stuck too", 1, |at| take_both_of_futures(at, b, a, both));
}

/// One waits for the second, the second for the third, and that one for time.
pub fn lock_chain() {
	let (a, b): (&Mutex<u64>, &Mutex<u64>) = (keep(Mutex::new(1)), keep(Mutex::new(2)));
	let both: &Barrier = keep(Barrier::new(3));
	start("first", 1, |at| take_first(at, a, both));
	start("second", 1, |at| take_both(at, a, b, both));
	start("third", 1, |at| async move {
		let mut held = b.lock().await;
		both.wait().await;
		nap(here!(at), 100_000).await;
		*held += 1;
	});
}

/// Has a permit of the one, and wants one of the other.
async fn take_permits(at: At, a: Arc<Semaphore>, b: Arc<Semaphore>, all: &'static Barrier) {
	let first = a.clone().acquire_owned().await.expect("open");
	all.wait().await;
	let _w = here!(at, 1).object("semaphore", &*b, "");
	let second = b.acquire().await.expect("open");
	drop((first, second));
}

/// Has one permit more of the first semaphore.
pub enum Other {
	Nobody,
	/// one that is held up by them
	HeldUp,
	/// one that waits for time
	Sleeps,
	/// one that wants more, but not for ever
	GivesUp,
}

pub fn permits(other: Other) {
	let nr = if matches!(other, Other::Nobody) { 1 } else { 2 };
	let (a, b) = (Arc::new(Semaphore::new(nr)), Arc::new(Semaphore::new(1)));
	let all: &Barrier = keep(Barrier::new(1 + nr));
	let (own_a, own_b) = (a.clone(), b.clone());
	start("stuck", 1, |at| take_permits(at, own_a, own_b, all));
	if let Other::HeldUp = other {
		let (own_a, own_b) = (a.clone(), b.clone());
		start("held up", 1, |at| take_permits(at, own_a, own_b, all));
	}
	if let Other::Sleeps = other {
		let own_a = a.clone();
		start("sleeps", 1, |at| async move {
			let permit = own_a.acquire().await.expect("open");
			all.wait().await;
			nap(here!(at), 100_000).await;
			drop(permit);
		});
	}
	if let Other::GivesUp = other {
		let own_a = a.clone();
		start("gives up", 2, |at| async move {
			all.wait().await;
			let _w = within!(at, 2).object("semaphore", &*own_a, "");
			tokio::select! {
				permits = own_a.acquire_many(2) => drop(permits),
				() = nap(within!(at), 100_000) => {}
			}
		});
	}
	start("stuck too", 1, |at| async move {
		let first = b.clone().acquire_owned().await.expect("open");
		all.wait().await;
		while a.available_permits() > 0 {
			tokio::time::sleep(Duration::from_millis(1)).await;
		}
		let _w = here!(at, 1).object("semaphore", &*a, "");
		let second = a.acquire().await.expect("open");
		drop((first, second));
	});
}

async fn join(at: At, other: oneshot::Receiver<JoinHandle<()>>) {
	let other = other.await.expect("a handle");
	let _w = here!(at, 1).waits("join", format!(r#""task":{}"#, other.id()));
	let _ = other.await;
}

pub async fn handles(is_fault: bool) {
	let ((to_a, of_a), (to_b, of_b)) = (oneshot::channel(), oneshot::channel());
	let (to_c, of_c) = oneshot::channel();
	let a = start("stuck", 1, |at| join(at, of_a));
	let b = start("stuck too", 1, |at| join(at, of_b));
	let c = start("third", 1, |at| join(at, of_c));
	let last = match is_fault {
		true => a,
		false => start("sleeps", 1, |at| nap(at, 100_000)),
	};
	to_a.send(b).expect("it waits");
	to_b.send(c).expect("it waits");
	to_c.send(last).expect("it waits");
}

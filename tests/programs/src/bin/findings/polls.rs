// SPDX-License-Identifier: MIT OR Apache-2.0
//! Polls that keep their worker: asleep in the kernel, busy, or without an end.

use crate::{ms, multi_thread, ns_since, spin, us, Mode, Truth};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{mpsc, Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::task::{block_in_place, spawn_blocking, yield_now};
use tokio::time::sleep;

pub const MODES: &[Mode] = &[
	("blocked-sleep", blocked_sleep),
	("blocked-sleep-miss", blocked_sleep_miss),
	("blocked-lock", blocked_lock),
	("blocked-lock-miss", blocked_lock_miss),
	("long-poll", long_poll),
	("long-poll-miss", long_poll_miss),
	("long-read", long_read),
	("long-read-miss", long_read_miss),
	("never-yields", never_yields),
	("never-yields-miss", never_yields_miss),
];

const ROUNDS: u64 = 11;

async fn sleeps_in_poll() -> u64 {
	let mut slept = 0;
	for _ in 0..ROUNDS {
		sleep(ms(10)).await;
		let began = Instant::now();
		std::thread::sleep(ms(40));
		slept += ns_since(began);
	}
	slept
}

fn blocked_sleep() -> Truth {
	let task = sleeps_in_poll();
	let truth = Truth::of(&task);
	let slept = multi_thread(2).block_on(async { tokio::spawn(task).await.expect("sleeps") });
	truth.with("count", ROUNDS).with("ns", slept)
}

/// Sleeps as long, on threads that are made for it: the task only waits, or has given its worker away.
async fn sleeps_elsewhere() {
	for _ in 0..ROUNDS {
		block_in_place(|| std::thread::sleep(ms(40)));
		spawn_blocking(|| std::thread::sleep(ms(60)))
			.await
			.expect("closure");
		sleep(ms(40)).await;
	}
}

fn blocked_sleep_miss() -> Truth {
	let task = sleeps_elsewhere();
	let truth = Truth::of(&task);
	multi_thread(2).block_on(async { tokio::spawn(task).await.expect("sleeps") });
	truth.with("count", ROUNDS)
}

type Lock = Arc<Mutex<()>>;

async fn locks_in_poll(m: Lock, mut held: UnboundedReceiver<()>, tell: mpsc::Sender<()>) -> u64 {
	let mut waited = 0;
	for _ in 0..ROUNDS {
		sleep(ms(5)).await; // each time in a poll of its own
		held.recv().await.expect("holder");
		let began = Instant::now();
		tell.send(()).expect("holder");
		drop(m.lock().expect("lock"));
		waited += ns_since(began);
		tell.send(()).expect("holder");
	}
	waited
}

/// Holds the lock `ROUNDS` times, each time for a while after somebody said to want it; then they get it.
fn hold(m: &Mutex<()>, tell: &UnboundedSender<()>, wanted: &mpsc::Receiver<()>) {
	for _ in 0..ROUNDS {
		let guard = m.lock().expect("lock");
		tell.send(()).expect("somebody wants it");
		wanted.recv().expect("somebody wants it");
		std::thread::sleep(ms(40));
		drop(guard);
		wanted.recv().expect("somebody got it");
	}
}

fn blocked_lock() -> Truth {
	let m = Lock::default();
	let (tell, held) = unbounded_channel();
	let (want, wanted) = mpsc::channel();
	let task = locks_in_poll(m.clone(), held, want);
	let truth = Truth::of(&task);
	let holder = std::thread::spawn(move || hold(&m, &tell, &wanted));
	let waited = multi_thread(2).block_on(async { tokio::spawn(task).await.expect("locks") });
	holder.join().expect("holder");
	truth.with("count", ROUNDS).with("ns", waited)
}

/// A lock of Tokio's, held for as long: whoever wants it is not running meanwhile.
async fn locks_outside(m: Arc<tokio::sync::Mutex<u64>>) {
	for _ in 0..ROUNDS {
		let mut guard = m.lock().await;
		sleep(ms(30)).await;
		*guard += 1;
	}
}

fn blocked_lock_miss() -> Truth {
	let m = Arc::new(tokio::sync::Mutex::new(0));
	let truth = Truth::of(&locks_outside(m.clone()));
	multi_thread(2).block_on(async {
		let v: Vec<_> = (0..3)
			.map(|_| tokio::spawn(locks_outside(m.clone())))
			.collect();
		for t in v {
			t.await.expect("locks");
		}
	});
	truth.with("count", 3 * ROUNDS)
}

async fn busy_in_poll() -> u64 {
	let mut busy = 0;
	for _ in 0..ROUNDS {
		sleep(ms(20)).await;
		let began = Instant::now();
		spin(ms(60));
		busy += ns_since(began);
	}
	busy
}

fn long_poll() -> Truth {
	let task = busy_in_poll();
	let truth = Truth::of(&task);
	let busy = multi_thread(2).block_on(async { tokio::spawn(task).await.expect("busy") });
	truth.with("count", ROUNDS).with("ns", busy)
}

/// Work in small pieces. It does not take all of a CPU, as on a busy machine that would be taken away.
async fn busy_in_pieces(work: Duration, pause: Duration) -> u64 {
	let mut pieces = 0;
	for _ in 0..ROUNDS {
		sleep(pause).await;
		let began = Instant::now();
		while began.elapsed() < work {
			spin(us(200));
			yield_now().await;
			pieces += 1;
		}
	}
	pieces
}

fn in_pieces(work: Duration, pause: Duration) -> Truth {
	let task = busy_in_pieces(work, pause);
	let truth = Truth::of(&task);
	let n = multi_thread(2).block_on(async { tokio::spawn(task).await.expect("busy") });
	truth.with("count", n)
}

fn long_poll_miss() -> Truth {
	in_pieces(ms(15), ms(50))
}

/// Answers each question after 40 ms.
struct Slow {
	ask: mpsc::Sender<()>,
	answers: UnixStream,
}

impl Slow {
	fn new() -> Slow {
		let (ask, asked) = mpsc::channel();
		let (answers, mut out) = UnixStream::pair().expect("socket");
		std::thread::spawn(move || {
			while asked.recv().is_ok() {
				std::thread::sleep(ms(40));
				out.write_all(&[0]).expect("answer");
			}
		});
		Slow { ask, answers }
	}

	/// How long it took.
	fn read(&mut self) -> u64 {
		let began = Instant::now();
		self.ask.send(()).expect("question");
		self.answers.read_exact(&mut [0]).expect("answer");
		ns_since(began)
	}
}

async fn reads_in_poll(mut from: Slow) -> u64 {
	let mut took = 0;
	for _ in 0..ROUNDS {
		sleep(ms(5)).await;
		took += from.read();
	}
	took
}

fn long_read() -> Truth {
	let task = reads_in_poll(Slow::new());
	let truth = Truth::of(&task);
	let took = multi_thread(2).block_on(async { tokio::spawn(task).await.expect("reads") });
	truth.with("count", ROUNDS).with("ns", took)
}

async fn reads_elsewhere(mut from: Slow) {
	for _ in 0..ROUNDS {
		sleep(ms(5)).await;
		from = spawn_blocking(move || {
			from.read();
			from
		})
		.await
		.expect("closure");
	}
}

fn long_read_miss() -> Truth {
	let task = reads_elsewhere(Slow::new());
	let truth = Truth::of(&task);
	multi_thread(2).block_on(async { tokio::spawn(task).await.expect("reads") });
	truth.with("count", ROUNDS)
}

async fn computes() -> u64 {
	let began = Instant::now();
	spin(ms(1300));
	ns_since(began)
}

fn never_yields() -> Truth {
	let task = computes();
	let truth = Truth::of(&task);
	let busy = multi_thread(2).block_on(async { tokio::spawn(task).await.expect("computes") });
	truth.with("count", 1).with("ns", busy)
}

fn never_yields_miss() -> Truth {
	in_pieces(ms(1300 / ROUNDS), ms(1))
}

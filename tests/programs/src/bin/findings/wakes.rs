// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wakes that are too many, and wakes that are answered too late.

use crate::{ms, multi_thread, ns_since, spin, us, Mode, Truth};
use std::future::{poll_fn, Future};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, Notify};
use tokio::task::yield_now;
use tokio::time::sleep;

pub const MODES: &[Mode] = &[
	("self-wakes", self_wakes),
	("self-wakes-miss", self_wakes_miss),
	("idle-wakes", idle_wakes),
	("idle-wakes-miss", idle_wakes_miss),
	("sched-delay", sched_delay),
	("sched-delay-miss", sched_delay_miss),
];

/// Asks again and again, until somebody else has something to say.
async fn wakes_itself(flag: Arc<AtomicBool>, spins: Arc<AtomicU64>) {
	poll_fn(|cx| {
		if flag.load(SeqCst) {
			return Poll::Ready(());
		}
		spins.fetch_add(1, SeqCst);
		cx.waker().wake_by_ref();
		Poll::Pending
	})
	.await;
}

fn self_wakes() -> Truth {
	let (flag, spins) = (
		Arc::new(AtomicBool::new(false)),
		Arc::new(AtomicU64::new(0)),
	);
	let task = wakes_itself(flag.clone(), spins.clone());
	let truth = Truth::of(&task);
	multi_thread(2).block_on(async {
		let t = tokio::spawn(task);
		sleep(ms(300)).await;
		flag.store(true, SeqCst);
		t.await.expect("wakes");
	});
	truth.with("count", spins.load(SeqCst))
}

/// Fair to the others: gives way some times in a long job, and once wakes itself.
async fn gives_way(nr: u64) {
	for _ in 0..nr {
		sleep(ms(20)).await;
		spin(us(100));
		yield_now().await;
	}
	wakes_itself_once().await;
}

async fn wakes_itself_once() {
	let mut is_second = false;
	poll_fn(|cx| {
		if is_second {
			return Poll::Ready(());
		}
		is_second = true;
		cx.waker().wake_by_ref();
		Poll::Pending
	})
	.await;
}

/// Two futures of one task that wake each other, and work.
async fn is_joined(nr: u64) {
	let (give, mut take) = mpsc::channel(1);
	let mut gives = Box::pin(async move {
		for n in 0..nr {
			spin(us(20));
			give.send(n).await.expect("takes");
		}
	});
	let mut takes = Box::pin(async {
		while take.recv().await.is_some() {
			spin(us(20));
		}
	});
	let mut has_given = false;
	poll_fn(|cx| {
		has_given = has_given || gives.as_mut().poll(cx).is_ready();
		takes.as_mut().poll(cx)
	})
	.await;
}

fn self_wakes_miss() -> Truth {
	let truth = Truth::of(&gives_way(1));
	multi_thread(2).block_on(async {
		tokio::spawn(is_joined(5003)).await.expect("joined");
		let v: Vec<_> = (0..11).map(|_| tokio::spawn(gives_way(31))).collect();
		for t in v {
			t.await.expect("gives way");
		}
	});
	truth.with("count", 11)
}

/// Somebody calls for everybody at each change, and only the last one is for us. That takes a look.
async fn finds_nothing(changed: Arc<Notify>, is_ours: Arc<AtomicBool>, woken: Arc<AtomicU64>) {
	while !is_ours.load(SeqCst) {
		changed.notified().await;
		spin(us(2));
		woken.fetch_add(1, SeqCst);
	}
}

async fn calls(changed: Arc<Notify>, is_ours: Arc<AtomicBool>) {
	for _ in 0..20011 {
		changed.notify_one();
		yield_now().await;
	}
	is_ours.store(true, SeqCst);
	changed.notify_one();
}

fn idle_wakes() -> Truth {
	let (changed, is_ours) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
	let woken = Arc::new(AtomicU64::new(0));
	let task = finds_nothing(changed.clone(), is_ours.clone(), woken.clone());
	let truth = Truth::of(&task);
	multi_thread(1).block_on(async {
		let t = tokio::spawn(task);
		tokio::spawn(calls(changed, is_ours)).await.expect("calls");
		t.await.expect("finds");
	});
	truth.with("count", woken.load(SeqCst) - 1)
}

/// As many wakes, each for a job with an answer.
async fn finds_work(mut jobs: mpsc::Receiver<oneshot::Sender<u64>>) -> u64 {
	let mut nr = 0;
	while let Some(answer) = jobs.recv().await {
		nr += 1;
		spin(us(20));
		let _ = answer.send(nr);
	}
	nr
}

async fn asks(jobs: mpsc::Sender<oneshot::Sender<u64>>) {
	for n in 0..3001 {
		let (answer, answered) = oneshot::channel();
		jobs.send(answer).await.expect("worker");
		answered.await.expect("answer");
		if n % 4 == 0 {
			sleep(ms(1)).await;
		}
	}
}

/// Adds up what it is told: a tiny poll for each message, and few of them.
async fn adds_up(mut values: mpsc::UnboundedReceiver<u64>) -> u64 {
	let mut sum = 0;
	while let Some(n) = values.recv().await {
		sum += n;
	}
	sum
}

fn idle_wakes_miss() -> Truth {
	let (give, jobs) = mpsc::channel(1);
	let task = finds_work(jobs);
	let truth = Truth::of(&task);
	let nr = multi_thread(2).block_on(async {
		let (tell, values) = mpsc::unbounded_channel();
		tokio::spawn(adds_up(values));
		std::thread::spawn(move || {
			for n in 0..3001 {
				tell.send(n).expect("adds up");
				std::thread::sleep(us(200));
			}
		});
		let t = tokio::spawn(task);
		tokio::spawn(asks(give)).await.expect("asks");
		t.await.expect("works")
	});
	truth.with("count", nr)
}

/// Gets messages from outside and notes how late it gets them.
async fn waits_for_worker(mut messages: mpsc::UnboundedReceiver<Instant>) -> (u64, u64, u64) {
	let (mut nr, mut sum, mut max) = (0, 0, 0);
	while let Some(sent) = messages.recv().await {
		let late = ns_since(sent);
		(nr, sum, max) = (nr + 1, sum + late, late.max(max));
	}
	(nr, sum, max)
}

const LONG: Duration = Duration::from_millis(60);

async fn holds_worker() {
	for _ in 0..11 {
		sleep(ms(15)).await;
		spin(LONG);
	}
}

/// A message every 20 ms from a thread of its own, while `held` runs on the only worker, or elsewhere.
fn deliver(held: fn(&Handle) -> tokio::task::JoinHandle<()>) -> Truth {
	let rt = multi_thread(1);
	let (send, messages) = mpsc::unbounded_channel();
	let sender = std::thread::spawn(move || {
		for _ in 0..31 {
			std::thread::sleep(ms(20));
			send.send(Instant::now()).expect("receiver");
		}
	});
	let waiting = rt.spawn(waits_for_worker(messages));
	let holder = held(rt.handle());
	let (nr, sum, max) = rt.block_on(async {
		holder.await.expect("holds");
		waiting.await.expect("waits")
	});
	sender.join().expect("sender");
	Truth::of(&holds_worker())
		.with("count", nr)
		.with("ns", sum)
		.with("max_ns", max)
}

fn sched_delay() -> Truth {
	deliver(|rt| rt.spawn(holds_worker()))
}

/// One of very many that begin at once, and have next to nothing to do.
async fn is_one_of_many(n: u64) {
	sleep(ms(100 + n % 50)).await;
}

fn sched_delay_miss() -> Truth {
	multi_thread(2).block_on(async {
		let v: Vec<_> = (0..20011).map(|n| tokio::spawn(is_one_of_many(n))).collect();
		for t in v {
			t.await.expect("one of many");
		}
	});
	deliver(|rt| {
		rt.spawn_blocking(|| {
			for _ in 0..11 {
				std::thread::sleep(ms(15));
				spin(LONG);
			}
		})
	})
}

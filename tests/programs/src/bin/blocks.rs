// SPDX-License-Identifier: MIT OR Apache-2.0
//! Polls that block their worker, and threads of each role with their kernel ids. `blocks mt WORKERS`

use std::sync::{mpsc, Arc, Barrier, Mutex};
use std::time::{Duration, Instant};
use truth::{gettid, spawn, spawn_blocking};

fn thread_name() -> String {
	let mut name = [0u8; 16];
	unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
	let len = name.iter().position(|b| *b == 0).unwrap_or(16);
	String::from_utf8_lossy(&name[..len]).into_owned()
}

fn say_thread(role: &str) {
	println!(
		r#"{{"truth":"thread","tid":{},"role":"{role}","name":"{}"}}"#,
		gettid(),
		thread_name()
	);
}

fn say_block(how: &str, began: Instant) {
	println!(
		r#"{{"truth":"block","how":"{how}","tid":{},"task":{},"ns":{}}}"#,
		gettid(),
		truth::current().expect("inside a task"),
		began.elapsed().as_nanos()
	);
}

/// As many tasks as workers meet inside their polls: each has a worker of its own.
async fn workers(n: usize) {
	let all = Arc::new(Barrier::new(n));
	let v: Vec<_> = (0..n)
		.map(|_| {
			let all = all.clone();
			spawn("meets", async move {
				all.wait();
				say_thread("worker");
				all.wait();
			})
		})
		.collect();
	for t in v {
		t.await.expect("worker");
	}
}

async fn sleeps_in_poll(ms: u64) {
	let began = Instant::now();
	std::thread::sleep(Duration::from_millis(ms));
	say_block("sleep", began);
}

async fn locks_in_poll(m: Arc<Mutex<()>>) {
	let began = Instant::now();
	drop(m.lock().unwrap());
	say_block("mutex", began);
}

async fn busy_in_poll(ms: u64) {
	let began = Instant::now();
	while began.elapsed() < Duration::from_millis(ms) {
		std::hint::spin_loop();
	}
	say_block("busy", began);
}

async fn contended() {
	let m = Arc::new(Mutex::new(()));
	let (tell, held) = mpsc::channel();
	let (m2, began) = (m.clone(), Instant::now());
	let holder = std::thread::spawn(move || {
		let _g = m2.lock().unwrap();
		tell.send(()).expect("root waits");
		std::thread::sleep(Duration::from_millis(60));
	});
	held.recv().expect("held");
	assert!(began.elapsed() < Duration::from_secs(30));
	spawn("locks_in_poll", locks_in_poll(m))
		.await
		.expect("locks");
	holder.join().expect("holder");
}

async fn root(nr_workers: usize) {
	workers(nr_workers).await;
	spawn("sleeps_in_poll", sleeps_in_poll(50))
		.await
		.expect("sleeps");
	contended().await;
	spawn("busy_in_poll", busy_in_poll(40)).await.expect("busy");
	let together = Arc::new(Barrier::new(2));
	let closures: Vec<_> = (0..2)
		.map(|_| {
			let together = together.clone();
			spawn_blocking("closure", move || {
				together.wait();
				say_thread("blocking");
				together.wait();
			})
		})
		.collect();
	for c in closures {
		c.await.expect("closure");
	}
	// Nothing to do for any worker meanwhile.
	tokio::time::sleep(Duration::from_millis(150)).await;
}

fn main() {
	let args: Vec<String> = std::env::args().skip(1).collect();
	let rt = truth::runtime(&args);
	let nr_workers = args
		.get(1)
		.map_or(1, |n| n.parse().expect("number of workers"));
	rt.block_on(root(nr_workers));
	std::thread::Builder::new()
		.name("bystander".into())
		.spawn(|| say_thread("other"))
		.expect("thread")
		.join()
		.expect("bystander");
	drop(rt);
	truth::print();
}

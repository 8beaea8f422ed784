// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks of async-std that wait in its ways, and say where, as `shapes` does of Tokio's.

use async_std::channel;
use async_std::io::ReadExt;
use async_std::net::{TcpListener, TcpStream, UdpSocket};
use async_std::sync::{Condvar, Mutex, RwLock};
use async_std::task;
use std::future::Future;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::time::{Duration, Instant};
use waits::{here, within, At};

/// The waits of one `nap`: async-std sleeps by a timeout of what never happens.
const NAP: usize = 2;

fn start<F>(name: &'static str, nr_waits: usize, f: impl FnOnce(At) -> F)
where
	F: Future<Output = ()> + Send + 'static,
{
	waits::expect(nr_waits);
	task::spawn(f(waits::task(name)));
}

fn keep<T>(x: T) -> &'static mut T {
	Box::leak(Box::new(x))
}

async fn nap(at: At, s: u64) -> u64 {
	let time = Duration::from_secs(s);
	let _p = here!(at, 2).waits("other", r#""type":"async_std::future::pending::Pending""#);
	let _w = here!(at, 1).sleep_about(Instant::now() + time);
	task::sleep(time).await;
	s
}

async fn turns(n: u64) {
	for _ in 0..n {
		task::yield_now().await;
	}
}

async fn nested(at: At) {
	turns(3).await;
	let n = inner(here!(at)).await;
	println!("{n:?}");
}

async fn inner(at: At) -> Result<u64, String> {
	let text = format!("{:p}", &at);
	let n = nap(here!(at), 1000).await;
	Ok(n + text.len() as u64)
}

fn deeper(at: At, n: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
	Box::pin(async move {
		if n == 0 {
			return nap(here!(at), 1100).await;
		}
		deeper(here!(at), n - 1).await + 1
	})
}

async fn recursion(at: At) {
	deeper(here!(at), 3).await;
}

async fn join(at: At) {
	let r = futures::join!(nap(within!(at), 1200), inner(within!(at)));
	println!("{r:?}");
}

async fn timeout(at: At) {
	let limit = Duration::from_secs(1300);
	let _w = here!(at, 1).sleep_about(Instant::now() + limit);
	let _ = async_std::future::timeout(limit, nap(here!(at), 1301)).await;
}

fn channels() {
	let (tx, rx) = channel::bounded::<u64>(3);
	keep((tx.clone(), tx));
	start("channel recv", 1, |at| async move {
		let facts = r#""senders":2,"capacity":3,"direction":"recv""#;
		let _w = here!(at, 1).shared("mpsc", &rx, facts);
		let _ = rx.recv().await;
	});
	let (tx, rx) = channel::bounded::<u64>(1);
	keep(rx);
	start("channel send", 1, |at| async move {
		tx.send(1).await.expect("room for one");
		let facts = r#""senders":1,"capacity":1,"direction":"send""#;
		let _w = here!(at, 1).shared("mpsc", &tx, facts);
		let _ = tx.send(2).await;
	});
}

async fn locks() {
	let lock: &Mutex<u64> = keep(Mutex::new(0));
	keep(lock.lock().await);
	start("mutex", 1, |at| async move {
		let _w = here!(at, 1).object("mutex", lock, "");
		*lock.lock().await += 1;
	});
	let lock: &RwLock<u64> = keep(RwLock::new(0));
	keep(lock.read().await);
	start("rwlock, write", 1, |at| async move {
		let _w = here!(at, 1).object("rwlock", lock, r#""direction":"write""#);
		*lock.write().await += 1;
	});
	let (lock, cond): (&Mutex<u64>, &Condvar) = (keep(Mutex::new(0)), keep(Condvar::new()));
	start("condvar", 1, |at| async move {
		let guard = lock.lock().await;
		let _w = here!(at, 1).object("condvar", cond, r#""waiters":1"#);
		*cond.wait(guard).await += 1;
	});
}

fn facts(fd: &impl AsRawFd, peer: Option<std::net::SocketAddr>) -> String {
	let peer = peer.map_or(String::new(), |p| format!(r#","peer":"{p}""#));
	format!(r#""fd":{},"direction":"read"{peer}"#, fd.as_raw_fd())
}

async fn sockets() {
	let l = TcpListener::bind("127.0.0.1:0").await.expect("socket");
	let mut s = TcpStream::connect(l.local_addr().expect("bound"))
		.await
		.expect("connected");
	keep(l.accept().await.expect("accepted"));
	start("tcp read", 1, |at| async move {
		let _w = here!(at, 1).waits("socket", facts(&s, s.peer_addr().ok()));
		let _ = s.read(&mut [0; 4]).await;
	});
	start("tcp accept", 1, |at| async move {
		let _w = here!(at, 1).waits("socket", facts(&l, None));
		let _ = l.accept().await;
	});
	let u = UdpSocket::bind("127.0.0.1:0").await.expect("socket");
	start("udp", 1, |at| async move {
		let _w = here!(at, 1).waits("socket", facts(&u, None));
		let _ = u.recv_from(&mut [0; 4]).await;
	});
}

fn block() {
	std::thread::sleep(Duration::from_secs(1500));
}

fn tasks() {
	let sleeper = task::spawn(task::sleep(Duration::from_secs(1501)));
	start("join handle", 1, |at| async move {
		let _w = here!(at, 1).waits("join", "");
		sleeper.await;
	});
	start("blocking job", 1, |at| async move {
		let job = task::spawn_blocking(block);
		// Another task waits for the thread, and this one for that task.
		let _w = here!(at, 1).waits("join", "");
		job.await;
	});
}

async fn root() {
	start("nested", NAP, nested);
	start("recursion by dyn", NAP, recursion);
	start("join!", 2 * NAP, join);
	start("timeout", 1 + NAP, timeout);
	channels();
	locks().await;
	sockets().await;
	tasks();
	waits::expect(NAP);
	waits::tell_when_ready();
	nap(here!(waits::task("root")), 9000).await;
}

fn main() {
	task::block_on(root());
}

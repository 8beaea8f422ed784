// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks of smol that wait in its ways, and say where, as `shapes` does of Tokio's: on the global executor, and on
//! executors of its own.

use smol::io::AsyncReadExt;
use smol::lock::{Barrier, Mutex, RwLock, Semaphore};
use smol::net::{TcpListener, TcpStream, UdpSocket};
use smol::{channel, future, Async, Executor, LocalExecutor, Timer};
use std::future::Future;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::process::Stdio;
use std::rc::Rc;
use std::time::{Duration, Instant};
use waits::{here, within, At};

fn start<F>(name: &'static str, nr_waits: usize, f: impl FnOnce(At) -> F)
where
	F: Future<Output = ()> + Send + 'static,
{
	waits::expect(nr_waits);
	smol::spawn(f(waits::task(name))).detach();
}

fn keep<T>(x: T) -> &'static mut T {
	Box::leak(Box::new(x))
}

async fn nap(at: At, s: u64) -> u64 {
	let end = Instant::now() + Duration::from_secs(s);
	let _w = here!(at, 1).sleep(end);
	Timer::at(end).await;
	s
}

async fn turns(n: u64) {
	for _ in 0..n {
		future::yield_now().await;
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

async fn either(at: At) {
	future::or(nap(here!(at), 1300), nap(here!(at), 1301)).await;
}

async fn both(at: At) {
	future::zip(nap(here!(at), 1400), turns(2)).await;
}

fn channels() {
	let (tx, rx) = channel::bounded::<u64>(3);
	keep((tx.clone(), tx));
	start("channel recv", 1, |at| async move {
		let facts = r#""senders":2,"capacity":3,"direction":"recv""#;
		let _w = here!(at, 1).shared("mpsc", &rx, facts);
		let _ = rx.recv().await;
	});
	let (tx, rx) = channel::unbounded::<u64>();
	keep(tx);
	start("channel recv, unbounded", 1, |at| async move {
		let _w = here!(at, 1).shared("mpsc", &rx, r#""senders":1,"direction":"recv""#);
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
	let lock: &RwLock<u64> = keep(RwLock::new(0));
	keep(lock.write().await);
	start("rwlock, read", 1, |at| async move {
		let _w = here!(at, 1).object("rwlock", lock, r#""direction":"read""#);
		drop(lock.read().await);
	});
	let sem: &Semaphore = keep(Semaphore::new(0));
	start("semaphore", 1, |at| async move {
		let _w = here!(at, 1).object("semaphore", sem, r#""permits_free":0"#);
		drop(sem.acquire().await);
	});
	let barrier: &Barrier = keep(Barrier::new(2));
	start("barrier", 1, |at| async move {
		let _w = here!(at, 1).waits("barrier", "");
		barrier.wait().await;
	});
}

fn facts(fd: &impl AsRawFd, peer: Option<std::net::SocketAddr>) -> String {
	let peer = peer.map_or(String::new(), |p| format!(r#","peer":"{p}""#));
	format!(r#""fd":{},"direction":"read"{peer}"#, fd.as_raw_fd())
}

async fn sockets() {
	let l = TcpListener::bind("127.0.0.1:0").await.expect("socket");
	let addr = l.local_addr().expect("bound");
	let mut s = TcpStream::connect(addr).await.expect("connected");
	keep(l.accept().await.expect("accepted"));
	let whole = TcpStream::connect(addr).await.expect("connected");
	keep(l.accept().await.expect("accepted"));
	start("tcp read, split", 1, |at| async move {
		let facts = facts(&whole, whole.peer_addr().ok());
		let (mut r, _rest) = smol::io::split(whole);
		let _w = here!(at, 1).waits("socket", facts);
		let _ = r.read(&mut [0; 4]).await;
	});
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
	let own = Async::<std::net::TcpListener>::bind(([127, 0, 0, 1], 0)).expect("socket");
	start("Async, accept", 1, |at| async move {
		let _w = here!(at, 1).waits("socket", facts(&own, None));
		let _ = own.accept().await;
	});
}

fn block() {
	std::thread::sleep(Duration::from_secs(1500));
}

fn tasks() {
	let sleeper = smol::spawn(async { Timer::after(Duration::from_secs(1501)).await });
	start("task", 1, |at| async move {
		let _w = here!(at, 1).waits("join", "");
		sleeper.await;
	});
	start("blocking job", 1, |at| async move {
		let job = smol::unblock(|| block());
		let _w = here!(at, 1).waits("blocking", r#""task_type":"shapes_smol::tasks""#);
		job.await;
	});
	start("child", 1, |at| async move {
		let mut cat = smol::process::Command::new("cat");
		let cat = cat.stdin(Stdio::piped()).stdout(Stdio::null());
		let mut child = cat.spawn().expect("cat");
		// It reads until we end.
		std::mem::forget(child.stdin.take());
		let _w = here!(at, 1).waits("process", format!(r#""pid":{}"#, child.id()));
		let _ = child.status().await;
	});
	start("output of a child", 1, |at| async move {
		let mut cat = smol::process::Command::new("cat");
		let cat = cat.stdin(Stdio::piped()).stdout(Stdio::piped());
		let mut child = cat.spawn().expect("cat");
		let mut out = child.stdout.take().expect("piped");
		let _w = here!(at, 1).waits("pipe", facts(&out, None));
		let _ = out.read(&mut [0; 4]).await;
		drop(child);
	});
}

async fn of(name: &'static str, s: Rc<u64>) {
	nap(here!(waits::task(name)), *s).await;
}

/// Executors of its own: one that any thread may run, and one of this thread.
fn executors() {
	waits::expect(3);
	std::thread::spawn(|| {
		let (any, local) = (Executor::new(), LocalExecutor::new());
		let at = waits::task("task of an own executor");
		any.spawn(async move { nap(here!(at), 1700).await })
			.detach();
		local.spawn(of("local task", Rc::new(1701))).detach();
		let root = async {
			nap(here!(waits::task("root of executors")), 1702).await;
		};
		smol::block_on(any.run(local.run(root)));
	});
}

async fn root() {
	start("nested", 1, nested);
	start("recursion by dyn", 1, recursion);
	start("join!", 2, join);
	start("or", 2, either);
	start("zip", 1, both);
	channels();
	locks().await;
	sockets().await;
	tasks();
	executors();
	waits::expect(1);
	waits::tell_when_ready();
	nap(here!(waits::task("root")), 9000).await;
}

fn main() {
	smol::block_on(root());
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! hang mt | ct | async-std | smol [TIMES]: tasks that wait for ever, TIMES of each kind, beside some that go on. When all of
//! them do, the program prints how many wait at each chain of await lines, and goes on until its input ends. It takes no
//! notice of Ctrl-C.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{pin, Pin};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

static HANGS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
static NR: AtomicU64 = AtomicU64::new(0);

/// Nobody wakes it, and it counts where it is polled: once.
struct Hang(String);

impl Future for Hang {
	type Output = ();

	fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
		*HANGS.lock().unwrap().entry(self.0.clone()).or_default() += 1;
		NR.fetch_add(1, SeqCst);
		Poll::Pending
	}
}

/// Comes back at once, some times.
struct Turns(u32);

impl Future for Turns {
	type Output = ();

	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		if self.0 == 0 {
			return Poll::Ready(());
		}
		self.0 -= 1;
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

/// The lines up to here, and this one.
macro_rules! on {
	($at:expr) => {
		format!("{}>{}", $at, line!())
	};
}

async fn straight() {
	Hang(line!().to_string()).await
}

async fn deep() {
	Turns(3).await;
	middle(line!().to_string()).await
}

async fn middle(at: String) {
	Turns(2).await;
	inner(on!(at)).await
}

async fn inner(at: String) {
	Hang(on!(at)).await;
}

fn boxed(at: String, depth: u32) -> Boxed {
	Box::pin(async move {
		Turns(1).await;
		if depth > 0 {
			boxed(on!(at), depth - 1).await
		} else {
			Hang(on!(at)).await
		}
	})
}

async fn recursive() {
	boxed(line!().to_string(), 2).await
}

async fn either() {
	futures::future::select(std::future::pending::<()>(), pin!(inner(line!().to_string()))).await;
}

async fn both() {
	futures::future::join(Hang(line!().to_string()), std::future::pending::<()>()).await;
}

/// Is running, or about to, whenever somebody looks; but not all the time.
async fn runs() {
	loop {
		std::thread::sleep(Duration::from_micros(500));
		Turns(1).await;
	}
}

/// Never at one line for long: first here, then there, then here again.
async fn wanders(sleep: fn(Duration) -> Boxed, ms: u64) {
	loop {
		sleep(Duration::from_millis(ms)).await; // here
		sleep(Duration::from_millis(ms)).await; // there
	}
}

/// How many tasks will hang.
macro_rules! spawn_all {
	($spawn:expr, $sleep:expr, $times:expr) => {{
		for i in 0..$times {
			$spawn(Box::pin(straight()));
			$spawn(Box::pin(straight()));
			$spawn(Box::pin(deep()));
			$spawn(Box::pin(recursive()));
			$spawn(Box::pin(either()));
			$spawn(Box::pin(both()));
			if i < 7 {
				$spawn(Box::pin(wanders($sleep, 1 + i)));
			}
		}
		$spawn(Box::pin(runs()));
		while NR.load(SeqCst) < 6 * $times {
			$sleep(Duration::from_millis(5)).await;
		}
		tell();
		std::future::pending::<()>().await
	}};
}

fn tell() {
	for (at, n) in HANGS.lock().unwrap().iter() {
		println!(r#"{{"hangs":"{at}","count":{n}}}"#);
	}
	println!("ready");
}

fn tokio_sleep(d: Duration) -> Boxed {
	Box::pin(tokio::time::sleep(d))
}

fn async_std_sleep(d: Duration) -> Boxed {
	Box::pin(async_std::task::sleep(d))
}

fn smol_sleep(d: Duration) -> Boxed {
	Box::pin(async move {
		smol::Timer::after(d).await;
	})
}

fn main() {
	let mut args = std::env::args().skip(1);
	let mode = args.next().expect("hang mt | ct | async-std | smol [TIMES]");
	let times: u64 = args.next().map_or(13, |n| n.parse().unwrap());
	let on_tokio = async move { spawn_all!(tokio::spawn, tokio_sleep, times) };

	// SAFETY: nothing of ours runs in a handler.
	unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
	std::thread::spawn(|| {
		let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
		std::process::exit(0);
	});
	match mode.as_str() {
		"mt" => tokio::runtime::Builder::new_multi_thread()
			.worker_threads(2)
			.enable_all()
			.build()
			.unwrap()
			.block_on(on_tokio),
		"ct" => tokio::runtime::Builder::new_current_thread()
			.enable_all()
			.build()
			.unwrap()
			.block_on(on_tokio),
		"async-std" => async_std::task::block_on(async move {
			spawn_all!(async_std::task::spawn, async_std_sleep, times)
		}),
		"smol" => smol::block_on(async move {
			spawn_all!(|f| smol::spawn(f).detach(), smol_sleep, times)
		}),
		other => panic!("no runtime {other}"),
	}
}

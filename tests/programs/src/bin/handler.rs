// SPDX-License-Identifier: MIT OR Apache-2.0
//! A yield storm on one worker that is interrupted some 20,000 times a second by a signal whose handler
//! calls poll(2) on a file that is ready. `handler YIELDS`

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::SeqCst};
use tokio::runtime::Builder;

static READY_FD: AtomicI32 = AtomicI32::new(-1);
static SIGNALS: AtomicU64 = AtomicU64::new(0);
const INTERVAL_NS: i64 = 47_000;

extern "C" fn on_signal(_: i32) {
	unsafe {
		let saved = *libc::__errno_location();
		let mut fds = libc::pollfd {
			fd: READY_FD.load(SeqCst),
			events: libc::POLLIN,
			revents: 0,
		};
		libc::poll(&mut fds, 1, 1000);
		*libc::__errno_location() = saved;
	}
	SIGNALS.fetch_add(1, SeqCst);
}

fn make_ready_fd() {
	let mut fds = [0i32; 2];
	unsafe {
		assert_eq!(libc::pipe(fds.as_mut_ptr()), 0);
		assert_eq!(libc::write(fds[1], c"x".as_ptr().cast(), 1), 1);
	}
	READY_FD.store(fds[0], SeqCst);
}

/// Signals to the calling thread alone, until `stop_timer`.
fn start_timer() -> libc::timer_t {
	unsafe {
		let mut sa: libc::sigaction = std::mem::zeroed();
		sa.sa_sigaction = on_signal as *const () as usize;
		sa.sa_flags = libc::SA_RESTART;
		assert_eq!(libc::sigaction(libc::SIGUSR1, &sa, std::ptr::null_mut()), 0);
		let mut how: libc::sigevent = std::mem::zeroed();
		how.sigev_notify = libc::SIGEV_THREAD_ID;
		how.sigev_signo = libc::SIGUSR1;
		how.sigev_notify_thread_id = libc::gettid();
		let mut timer: libc::timer_t = std::ptr::null_mut();
		assert_eq!(
			libc::timer_create(libc::CLOCK_MONOTONIC, &mut how, &mut timer),
			0
		);
		let every = libc::timespec {
			tv_sec: 0,
			tv_nsec: INTERVAL_NS,
		};
		let when = libc::itimerspec {
			it_interval: every,
			it_value: every,
		};
		assert_eq!(
			libc::timer_settime(timer, 0, &when, std::ptr::null_mut()),
			0
		);
		timer
	}
}

async fn stormy(yields: u64) {
	let timer = start_timer() as usize;
	for _ in 0..yields {
		tokio::task::yield_now().await;
	}
	unsafe { libc::timer_delete(timer as libc::timer_t) };
}

fn main() {
	let yields: u64 = std::env::args()
		.nth(1)
		.and_then(|x| x.parse().ok())
		.expect("usage: handler YIELDS");
	make_ready_fd();
	let rt = Builder::new_multi_thread()
		.worker_threads(1)
		.build()
		.expect("runtime");
	rt.block_on(async { tokio::spawn(stormy(yields)).await.expect("stormy") });
	drop(rt);
	println!("many signals: {}", SIGNALS.load(SeqCst) >= 500);
	println!(r#"{{"truth":"total","tasks":1,"polls":{}}}"#, yields + 1);
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fixed amount of work, for a tracer that is killed or stopped meanwhile. `born ROUNDS [EXECS]`
//!
//! It first becomes itself EXECS times. Then it says when its main began, and for how long it had been busy before: what
//! remains it has slept, however busy the machine is. At the end it says how much was done, and exits with status 7.

use std::os::unix::process::CommandExt;
use std::time::Duration;

/// When it is, on the clock that does not jump, and for how long this thread ran or waited for a CPU so far.
fn now_and_busy_ns() -> (u64, u64) {
	let mut now = libc::timespec {
		tv_sec: 0,
		tv_nsec: 0,
	};
	unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
	let text = std::fs::read_to_string("/proc/self/schedstat").expect("schedstat");
	let busy = text.split_whitespace().take(2);
	(
		now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64,
		busy.map(|s| s.parse::<u64>().expect("schedstat")).sum(),
	)
}

async fn passer_by() {
	for _ in 0..5 {
		tokio::task::yield_now().await;
	}
}

async fn work(rounds: u64) {
	for _ in 0..rounds {
		let v: Vec<_> = (0..17).map(|_| tokio::spawn(passer_by())).collect();
		for h in v {
			h.await.expect("passer_by");
		}
		tokio::time::sleep(Duration::from_millis(1)).await;
	}
}

fn main() {
	let (main_ns, busy_ns) = now_and_busy_ns();
	let args: Vec<u64> = std::env::args()
		.skip(1)
		.map(|s| s.parse().expect("a number"))
		.collect();
	if args.len() > 1 && args[1] > 0 {
		let mut again = std::process::Command::new(std::env::current_exe().expect("exe"));
		let error = again
			.args([args[0].to_string(), (args[1] - 1).to_string()])
			.exec();
		panic!("exec: {error}");
	}
	println!(r#"{{"truth":"born","main_ns":{main_ns},"busy_ns":{busy_ns}}}"#);
	let rt = truth::runtime(&["mt".into(), "2".into()]);
	rt.block_on(async { tokio::spawn(work(args[0])).await.expect("work") });
	drop(rt);
	println!(
		r#"{{"truth":"done","tasks":{},"polls":{}}}"#,
		args[0] * 17,
		args[0] * 17 * 6
	);
	std::process::exit(7);
}

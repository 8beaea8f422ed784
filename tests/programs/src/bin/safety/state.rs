// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a thread can see of its own process: nothing of it may change because somebody watches.

use std::mem::zeroed;
use std::ptr::{null, null_mut};

/// Every signal that is not as the kernel starts a program.
fn handlers() -> String {
	let mut s = String::new();
	for sig in 1..=libc::SIGRTMAX() {
		let mut sa: libc::sigaction = unsafe { zeroed() };
		if unsafe { libc::sigaction(sig, null(), &mut sa) } != 0 {
			continue;
		}
		let how = match sa.sa_sigaction {
			libc::SIG_DFL => continue,
			libc::SIG_IGN => "ignored",
			_ => "handled",
		};
		s += &format!(" {sig}={how}/{:x}", sa.sa_flags);
	}
	s
}

fn mask() -> Vec<i32> {
	unsafe {
		let mut set: libc::sigset_t = zeroed();
		libc::pthread_sigmask(libc::SIG_BLOCK, null(), &mut set);
		(1..=libc::SIGRTMAX())
			.filter(|&sig| libc::sigismember(&set, sig) == 1)
			.collect()
	}
}

fn alternate_stack() -> String {
	let mut ss: libc::stack_t = unsafe { zeroed() };
	unsafe { libc::sigaltstack(null(), &mut ss) };
	format!("flags {} size {}", ss.ss_flags, ss.ss_size)
}

fn limits() -> Vec<(u64, u64)> {
	(0..16).map(|which| {
		let mut r: libc::rlimit = unsafe { zeroed() };
		unsafe { libc::getrlimit(which, &mut r) };
		(r.rlim_cur, r.rlim_max)
	})
	.collect()
}

fn entries(folder: &str) -> Vec<u64> {
	let mut v: Vec<u64> = std::fs::read_dir(folder)
		.expect(folder)
		.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok())
		.collect();
	v.sort();
	v
}

fn of_the_process() {
	let prctl = |what| unsafe { libc::prctl(what, 0, 0, 0, 0) };
	println!("descriptors: {:?}", entries("/proc/self/fd"));
	println!("threads: {}", entries("/proc/self/task").len());
	println!("limits: {:?}", limits());
	println!("dumpable: {}", prctl(libc::PR_GET_DUMPABLE));
	println!("no new privileges: {}", prctl(libc::PR_GET_NO_NEW_PRIVS));
	println!("seccomp: {}", prctl(libc::PR_GET_SECCOMP));
	println!("personality: {:x}", unsafe {
		libc::personality(0xffff_ffff)
	});
	println!("nice: {}", unsafe {
		libc::getpriority(libc::PRIO_PROCESS, 0)
	});
	let umask = unsafe { libc::umask(0o22) };
	unsafe { libc::umask(umask) };
	println!("umask: {umask:o}");
	let mut timer: libc::itimerval = unsafe { zeroed() };
	for which in [libc::ITIMER_REAL, libc::ITIMER_VIRTUAL, libc::ITIMER_PROF] {
		unsafe { libc::getitimer(which, &mut timer) };
		println!("timer: {}", timer.it_value.tv_sec);
	}
	println!("pending: {}", unsafe {
		let mut set: libc::sigset_t = zeroed();
		libc::sigpending(&mut set);
		(1..32).filter(|&s| libc::sigismember(&set, s) == 1).count()
	});
	println!("children: {}", unsafe {
		libc::waitpid(-1, null_mut(), libc::WNOHANG)
	});
}

pub fn print(who: &str) {
	println!("-- {who}");
	println!("handlers:{}", handlers());
	println!("mask: {:?}", mask());
	println!("alternate stack: {}", alternate_stack());
	if who != "thread" && who != "task" {
		of_the_process();
	}
}

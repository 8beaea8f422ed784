// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a process may do in its life besides running tasks: fork, exec, die in any way, close files, make
//! threads by the hundred. `life WHAT [ARGS]`
//!
//! The output is the same in every run, recorded or not, and says how many tasks and polls this process
//! had. Tasks are counted by plain counters, as some of these lives cannot end in a list.

use std::future::pending;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use truth::{spawn, yields, Task};

static TASKS: AtomicU64 = AtomicU64::new(0);
static POLLS: AtomicU64 = AtomicU64::new(0);

fn note(t: &Task<()>) {
	TASKS.fetch_add(1, SeqCst);
	POLLS.fetch_add(t.rec.polls.load(SeqCst), SeqCst);
}

/// Says what was so far. Nothing may be running at this moment.
fn say(who: &str) {
	let mut out = std::io::stdout().lock();
	let (tasks, polls) = (TASKS.load(SeqCst), POLLS.load(SeqCst));
	writeln!(
		out,
		r#"{{"truth":"total","who":"{who}","tasks":{tasks},"polls":{polls}}}"#
	)
	.expect("stdout");
	out.flush().expect("stdout");
}

async fn some_tasks(nr: u64) {
	let v: Vec<_> = (0..nr).map(|n| spawn("lives", yields(n % 5))).collect();
	for mut t in v {
		(&mut t).await.expect("lives");
		note(&t);
	}
}

fn run(mode: &str, nr: u64) {
	let args: Vec<String> = mode.split(' ').map(str::to_string).collect();
	truth::runtime(&args).block_on(some_tasks(nr));
}

/// A runtime that still lives: seven tasks idle, all others over.
fn leave_alive(nr: u64) -> (Runtime, Vec<Task<()>>) {
	let rt = truth::runtime(&["mt".into(), "2".into()]);
	rt.block_on(some_tasks(nr));
	let idle: Vec<_> = {
		let _g = rt.enter();
		(0..7).map(|_| spawn("stays", pending::<()>())).collect()
	};
	for t in &idle {
		while !t.rec.is_idle_after(1) {
			std::thread::yield_now();
		}
		note(t);
	}
	(rt, idle)
}

fn wait_for(pid: i32) -> String {
	let mut status = 0;
	assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
	let s = std::process::ExitStatus::from_raw(status);
	match s.code() {
		Some(c) => format!("exit {c}"),
		None => format!("signal {}", s.signal().unwrap_or(0)),
	}
}

/// Forks while the runtime lives; the child goes on without exec, with a runtime of its own.
fn fork(depth: u32) {
	let alive = leave_alive(11);
	say("parent");
	let pid = unsafe { libc::fork() };
	if pid == 0 {
		TASKS.store(0, SeqCst);
		POLLS.store(0, SeqCst);
		run("ct", 13);
		run("mt 2", 17);
		say("child");
		if depth > 0 {
			fork(depth - 1);
		}
		unsafe { libc::_exit(3) };
	}
	println!("child: {}", wait_for(pid));
	alive.0.block_on(some_tasks(5));
	drop(alive);
	say("parent");
}

fn fork_behind_libc() -> i32 {
	unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 }
}

/// Forks in a poll, by the C library or behind its back. The child goes on with the tasks that there are,
/// says how many polls began in it, and waits for the end of stdin.
fn fork_in_poll(how: &str) {
	const POLLS_BEFORE: u64 = 3;
	static PID: AtomicI32 = AtomicI32::new(-1);
	let is_raw = how == "raw";
	let mut nr_before = POLLS_BEFORE + 1;
	truth::runtime(&["ct".into()]).block_on(async {
		some_tasks(11).await;
		nr_before += POLLS.load(SeqCst);
		let mut t = spawn("forks", async move {
			yields(POLLS_BEFORE).await;
			let pid = match is_raw {
				true => fork_behind_libc(),
				false => unsafe { libc::fork() },
			};
			PID.store(pid, SeqCst);
			yields(4).await;
		});
		(&mut t).await.expect("forks");
		note(&t);
		some_tasks(5).await;
	});
	if PID.load(SeqCst) == 0 {
		POLLS.fetch_sub(nr_before, SeqCst);
		say("child");
		std::io::read_to_string(std::io::stdin()).expect("stdin");
		unsafe { libc::_exit(3) };
	}
	println!("child: {}", wait_for(PID.load(SeqCst)));
	say("parent");
}

/// The same again in a new image, `left` times; each says its own part.
fn exec(left: u32) {
	run("mt 2", 11);
	say("image");
	if left > 0 {
		let me = std::env::current_exe().expect("executable");
		let e = Command::new(me)
			.args(["exec", &(left - 1).to_string()])
			.exec();
		panic!("exec: {e}");
	}
}

/// Children by posix_spawn and by fork + exec, which run tasks of their own.
fn children() {
	run("mt 2", 11);
	let me = std::env::current_exe().expect("executable");
	for i in 0..4 {
		let mut c = Command::new(&me);
		c.args(["small", "5"]);
		if i % 2 == 1 {
			unsafe { c.pre_exec(|| Ok(())) };
		}
		let out = c.output().expect("child");
		print!(
			"child {}: {}",
			out.status,
			String::from_utf8_lossy(&out.stdout)
		);
	}
	run("ct", 7);
	say("parent");
}

/// What a daemon does: all tasks are run by a child, whose parent has left at once.
fn daemon() {
	if unsafe { libc::fork() } != 0 {
		unsafe { libc::_exit(0) };
	}
	run("ct", 11);
}

fn raise(sig: i32) {
	unsafe {
		libc::kill(libc::getpid(), sig);
		loop {
			libc::pause();
		}
	}
}

/// Leaves while tasks are alive.
fn leave(how: &str) {
	let alive = leave_alive(23);
	say("leaver");
	match how {
		"return" => drop(alive),
		"exit" => std::process::exit(0),
		"exit7" => std::process::exit(7),
		"_exit" => unsafe { libc::_exit(5) },
		"abort" => std::process::abort(),
		"panic" => panic!("in main"),
		"sigint" => raise(libc::SIGINT),
		"sigterm" => raise(libc::SIGTERM),
		"sigkill" => raise(libc::SIGKILL),
		"sigsegv" => unsafe { std::ptr::null_mut::<u8>().write_volatile(1) },
		"thread_exit" => drop(std::thread::spawn(|| std::process::exit(9)).join()),
		_ => usage(),
	}
}

fn close_fds() {
	run("mt 2", 11);
	unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) };
	run("mt 2", 13);
	run("ct", 7);
	// The numbers that were freed are this program's own again.
	let fd = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
	println!("first free fd: {fd}");
	say("closer");
}

/// Any file that grew or any descriptor opened in this process would fail or raise a signal.
fn limits() {
	let none = libc::rlimit {
		rlim_cur: 0,
		rlim_max: 0,
	};
	assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &none) }, 0);
	run("ct", 11);
	run("mt 2", 11);
	// A pipe, or the shell's redirection, may be what stdout is: a limit on files does not stop a pipe.
	say("limited");
}

fn threads() {
	for _ in 0..50 {
		let v: Vec<_> = (0..10)
			.map(|i| std::thread::spawn(move || run("ct", 1 + i % 3)))
			.collect();
		v.into_iter().for_each(|t| t.join().expect("thread"));
	}
	say("threads");
}

fn runtimes() {
	for i in 0..50 {
		run(if i % 2 == 0 { "mt 2" } else { "ct" }, 3);
	}
	say("runtimes");
}

/// Workers named by the runtime, one thread by libc, one by the kernel itself.
fn names() {
	let rt = Builder::new_multi_thread()
		.worker_threads(2)
		.thread_name("my worker")
		.build()
		.expect("runtime");
	rt.block_on(some_tasks(11));
	drop(rt);
	for by_libc in [true, false] {
		let t = std::thread::spawn(move || unsafe {
			match by_libc {
				true => libc::pthread_setname_np(
					libc::pthread_self(),
					c"a\x1b[31mb\"\\c".as_ptr(),
				),
				false => libc::prctl(libc::PR_SET_NAME, c"named by prctl".as_ptr()),
			};
			run("ct", 5);
		});
		t.join().expect("thread");
	}
	run("ct", 3);
	say("named");
}

static SIGNALS: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_signal(_: i32) {
	SIGNALS.fetch_add(1, SeqCst);
}

/// A signal each millisecond, handled on a stack of its own, while tasks run.
fn signals() {
	unsafe {
		let mut sa: libc::sigaction = std::mem::zeroed();
		sa.sa_sigaction = on_signal as *const () as usize;
		sa.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
		assert_eq!(libc::sigaction(libc::SIGALRM, &sa, std::ptr::null_mut()), 0);
		let stack = Box::leak(vec![0u8; 64 * 1024].into_boxed_slice());
		let ss = libc::stack_t {
			ss_sp: stack.as_mut_ptr().cast(),
			ss_flags: 0,
			ss_size: stack.len(),
		};
		assert_eq!(libc::sigaltstack(&ss, std::ptr::null_mut()), 0);
		let ms = libc::timeval {
			tv_sec: 0,
			tv_usec: 1000,
		};
		let every = libc::itimerval {
			it_interval: ms,
			it_value: ms,
		};
		libc::setitimer(libc::ITIMER_REAL, &every, std::ptr::null_mut());
	}
	let began = Instant::now();
	for _ in 0..20 {
		run("ct", 101);
		run("mt 2", 101);
	}
	while SIGNALS.load(SeqCst) < 20 && began.elapsed() < Duration::from_secs(20) {
		std::thread::sleep(Duration::from_millis(1));
	}
	println!("signals handled: {}", SIGNALS.load(SeqCst) >= 20);
	say("handler");
}

/// The environment as this process sees it, by libc and by the kernel's copy, and as a child gets it.
fn env(child: bool) {
	let mut all: Vec<_> = std::env::vars_os()
		.map(|(k, v)| format!("{k:?}={v:?}"))
		.collect();
	all.sort();
	all.iter().for_each(|e| println!("{e}"));
	if child {
		return;
	}
	run("mt 2", 3);
	let me = std::env::current_exe().expect("executable");
	let out = Command::new(me).arg("env-child").output().expect("child");
	print!(
		"-- child {}\n{}",
		out.status,
		String::from_utf8_lossy(&out.stdout)
	);
	let sh = Command::new("/usr/bin/env").output().expect("env");
	let mut lines: Vec<_> = String::from_utf8_lossy(&sh.stdout)
		.lines()
		.map(str::to_string)
		.collect();
	lines.sort();
	println!("-- env\n{}", lines.join("\n"));
	say("env");
}

/// Waits to be told to go on by a line on stdin, with tasks idle; ends at end of file.
fn wait() {
	let alive = leave_alive(11);
	say("ready");
	let mut line = String::new();
	while std::io::stdin().read_line(&mut line).expect("stdin") > 0 {
		alive.0.block_on(some_tasks(7));
		say("more");
		line.clear();
	}
	drop(alive);
	say("total");
}

/// Handles SIGINT itself: says so and goes on to a clean end.
fn handle_sigint() {
	unsafe { libc::signal(libc::SIGINT, on_signal as *const () as usize) };
	run("mt 2", 11);
	say("ready");
	while SIGNALS.load(SeqCst) == 0 {
		std::thread::sleep(Duration::from_millis(1));
	}
	run("ct", 7);
	// A second signal, had one been sent as well, is here by now.
	std::thread::sleep(Duration::from_millis(30));
	println!("signals: {}", SIGNALS.load(SeqCst));
	say("interrupted");
	std::process::exit(42);
}

/// Deaf to SIGINT: only the end of stdin ends it.
fn ignore_sigint() {
	unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
	wait();
}

fn usage() {
	eprintln!("usage: life small N | fork | exec N | children | leave HOW | close-fds | limits | chdir | threads |");
	eprintln!("            fork-in-poll fork|raw | daemon | runtimes | names | signals | env | wait | handle-sigint | ignore-sigint");
	std::process::exit(2);
}

fn main() {
	let args: Vec<String> = std::env::args().skip(1).collect();
	let arg = |i: usize| args.get(i).map_or("", String::as_str);
	let number = |i: usize| arg(i).parse().unwrap_or(3);
	match arg(0) {
		"small" => {
			run("mt 2", number(1) as u64);
			say("small");
		}
		"fork" => fork(1),
		"fork-in-poll" => fork_in_poll(arg(1)),
		"daemon" => daemon(),
		"exec" => exec(number(1)),
		"children" => children(),
		"leave" => leave(arg(1)),
		"close-fds" => close_fds(),
		"limits" => limits(),
		"chdir" => {
			std::env::set_current_dir("/").expect("chdir");
			run("mt 2", 11);
			say("mover");
		}
		"threads" => threads(),
		"runtimes" => runtimes(),
		"names" => names(),
		"signals" => signals(),
		"env" => env(false),
		"env-child" => env(true),
		"wait" => wait(),
		"handle-sigint" => handle_sigint(),
		"ignore-sigint" => ignore_sigint(),
		_ => usage(),
	}
}

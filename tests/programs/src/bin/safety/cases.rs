// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that a tracer could easily break. `safety WHAT [ARG]`
//!
//! Each prints the same in every run, recorded or not. The last line of truth says how many tasks this
//! process made and how often they were polled; the tasks count themselves.

use crate::{sandbox, state, Alive};
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Waker};

static TASKS: AtomicU64 = AtomicU64::new(0);
static POLLS: AtomicU64 = AtomicU64::new(0);

/// A task that wakes itself so often.
pub struct Yields(u64);

pub fn yields(n: u64) -> Yields {
	TASKS.fetch_add(1, SeqCst);
	Yields(n)
}

impl Future for Yields {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		POLLS.fetch_add(1, SeqCst);
		if self.0 == 0 {
			return Poll::Ready(());
		}
		self.0 -= 1;
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

/// A task of one poll that does this.
struct Once<F>(Option<F>);

fn once<F: FnOnce() + Send + Unpin>(f: F) -> Once<F> {
	TASKS.fetch_add(1, SeqCst);
	Once(Some(f))
}

impl<F: FnOnce() + Unpin> Future for Once<F> {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
		POLLS.fetch_add(1, SeqCst);
		self.0.take().expect("polled once")();
		Poll::Ready(())
	}
}

/// How many threads have all they need of the system: a worker that is late would take its memory out of what a case left.
#[derive(Clone, Default)]
pub struct Started(Arc<AtomicU64>);

impl Started {
	pub fn arrive(&self) {
		std::hint::black_box(Box::new(0)); // glibc gives a thread its arena with the first of its memory
		self.0.fetch_add(1, SeqCst);
	}

	pub fn wait_for(&self, threads: usize) {
		while self.0.load(SeqCst) < threads as u64 {
			std::thread::yield_now();
		}
	}
}

/// What was so far, to a file or stdout. Nothing may be running at this moment.
fn say_to(out: &mut impl Write, who: &str) {
	let (tasks, polls) = (TASKS.load(SeqCst), POLLS.load(SeqCst));
	let line = format!(
		"{{\"truth\":\"total\",\"who\":\"{who}\",\"tasks\":{tasks},\"polls\":{polls}}}\n"
	);
	out.write_all(line.as_bytes()).expect("output");
	out.flush().expect("output");
}

fn say(who: &str) {
	say_to(&mut std::io::stdout().lock(), who);
}

fn forget() {
	TASKS.store(0, SeqCst);
	POLLS.store(0, SeqCst);
}

fn run(workers: usize, nr: u64) {
	Alive::new(workers).run(nr);
}

fn wait_for(pid: i32) -> i32 {
	let mut status = 0;
	assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
	status
}

// ---- what is seen of the process

fn show_state() {
	state::print("main");
	let alive = Alive::new(2);
	alive.run(11);
	alive.finish(once(|| state::print("task")));
	let t = std::thread::spawn(|| {
		state::print("thread");
		run(0, 3);
		state::print("thread");
	});
	t.join().expect("thread");
	state::print("main, later");
	drop(alive);
	say("state");
}

// ---- panics and other ends

struct PanicsInDrop;

impl Drop for PanicsInDrop {
	fn drop(&mut self) {
		panic!("in drop");
	}
}

/// Panics while it unwinds: the process aborts.
fn double_panic() {
	let alive = Alive::new(2);
	alive.run(11);
	say("before");
	alive.finish(once(|| {
		let _twice = PanicsInDrop;
		panic!("first");
	}));
}

struct DropsBadly(Yields, PanicsInDrop);

impl Future for DropsBadly {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		Pin::new(&mut self.0).poll(cx)
	}
}

/// The future is dropped when it is ready, and that panics.
fn drop_panics(workers: usize) {
	let alive = Alive::new(workers);
	for n in 0..7 {
		let run = || alive.finish(DropsBadly(yields(n), PanicsInDrop));
		let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
		println!("came out: {}", caught.is_err());
	}
	alive.run(5);
	say("drops badly");
}

#[inline(never)]
fn recurse(n: u64) -> u64 {
	let a = std::hint::black_box([n; 64]);
	a[3] + if std::hint::black_box(true) {
		recurse(n + 1)
	} else {
		0
	} + a[60]
}

/// Overflows the stack in a poll: std's own handler says so and aborts.
fn overflow() {
	let alive = Alive::new(2);
	alive.run(11);
	say("before");
	alive.finish(once(|| {
		recurse(1);
	}));
}

/// The thread leaves in the middle of a poll. No Rust frame stands that: the process aborts.
fn thread_leaves() {
	let alive = Alive::new(2);
	alive.run(11);
	say("before");
	alive.finish(once(|| unsafe { libc::pthread_exit(null_mut()) }));
}

/// Runs for ever; has it been polled?
struct Forever(bool);

impl Future for Forever {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		POLLS.fetch_add(1, SeqCst);
		if !std::mem::replace(&mut self.0, true) {
			TASKS.fetch_add(1, SeqCst);
		}
		cx.waker().wake_by_ref();
		Poll::Pending
	}
}

/// Leaves while other threads run tasks.
fn leave_under_load(how: &str) {
	let alive = Alive::new(3);
	for _ in 0..5 {
		alive.spawn(Forever(false));
	}
	while POLLS.load(SeqCst) < 10_000 || TASKS.load(SeqCst) < 5 {
		std::thread::yield_now();
	}
	say("at least");
	match how {
		"exit" => std::process::exit(7),
		"thread-exit" => drop(std::thread::spawn(|| std::process::exit(9)).join()),
		"_exit" => unsafe { libc::_exit(8) },
		"abort" => std::process::abort(),
		"sigterm" => unsafe { assert_eq!(libc::raise(libc::SIGTERM), 0) },
		"sigsegv" => unsafe { null_mut::<u8>().write_volatile(1) },
		_ => usage(),
	}
}

// ---- processes

/// In the middle of a poll; the child goes on with the runtime that it finds itself in.
fn fork_in_poll() {
	let alive = Alive::new(0);
	let child = Arc::new(AtomicU64::new(0));
	let pid = child.clone();
	for n in 0..7 {
		alive.spawn(yields(n));
	}
	alive.finish(once(move || {
		pid.store(unsafe { libc::fork() } as u64, SeqCst);
		if pid.load(SeqCst) == 0 {
			forget();
		}
	}));
	alive.run(13);
	if child.load(SeqCst) == 0 {
		say("child");
		unsafe { libc::_exit(3) };
	}
	println!("child: {:x}", wait_for(child.load(SeqCst) as i32));
	say("parent");
}

/// Fork by the system call itself: no handler of anybody's runs in the child.
fn bare_clone() {
	let alive = Alive::new(2);
	alive.run(11);
	say("parent");
	let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
	if pid == 0 {
		forget();
		run(0, 13);
		say("child");
		unsafe { libc::_exit(3) };
	}
	println!("child: {:x}", wait_for(pid as i32));
	alive.run(17);
	say("parent");
}

/// What daemons do: two forks and a session of its own, while the first process leaves at once.
fn daemon(file: &str) {
	run(0, 5);
	say("starter");
	if unsafe { libc::fork() } != 0 {
		unsafe { libc::_exit(4) };
	}
	unsafe { libc::setsid() };
	if unsafe { libc::fork() } != 0 {
		unsafe { libc::_exit(0) };
	}
	forget();
	for fd in 0..3 {
		unsafe { libc::close(fd) };
	}
	for _ in 0..50 {
		run(0, 101);
		run(2, 101);
	}
	let part = format!("{file}.part");
	let mut out = std::fs::File::create(&part).expect(file);
	say_to(&mut out, "daemon");
	std::fs::rename(&part, file).expect(file);
	unsafe { libc::_exit(0) };
}

// ---- threads

fn threads(nr: u64) {
	for _ in 0..nr / 10 {
		let v: Vec<_> = (0..10)
			.map(|i| std::thread::spawn(move || run(0, 1 + i % 3)))
			.collect();
		v.into_iter().for_each(|t| t.join().expect("thread"));
	}
	say("threads");
}

struct OnTinyStack<'a> {
	alive: &'a Alive,
	workers: usize,
}

extern "C" fn on_tiny_stack(arg: *mut libc::c_void) -> *mut libc::c_void {
	let a = unsafe { &*arg.cast::<OnTinyStack>() };
	for n in 0..7 {
		a.alive.spawn(yields(n));
	}
	if a.workers == 0 {
		run(0, 7);
		// Tokio catches it, async-task lets it out.
		let panics = || Alive::new(0).finish(once(|| panic!("meant")));
		let _ = std::panic::catch_unwind(panics);
	}
	null_mut()
}

/// Threads with the smallest stack there may be spawn tasks, and run some; one of them panics.
fn tiny_stacks() {
	std::panic::set_hook(Box::new(|_| {}));
	let alive = Alive::new(2);
	for workers in [1, 0] {
		let mut arg = OnTinyStack {
			alive: &alive,
			workers,
		};
		for _ in 0..20 {
			unsafe {
				let mut attr: libc::pthread_attr_t = std::mem::zeroed();
				libc::pthread_attr_init(&mut attr);
				let rc = libc::pthread_attr_setstacksize(
					&mut attr,
					libc::PTHREAD_STACK_MIN,
				);
				assert_eq!(rc, 0);
				let mut thread = 0;
				let arg = (&raw mut arg).cast();
				let rc = libc::pthread_create(
					&mut thread,
					&attr,
					on_tiny_stack,
					arg,
				);
				assert_eq!(rc, 0);
				libc::pthread_join(thread, null_mut());
			}
		}
	}
	// The tasks that nobody waits for are over when as many polls were made as there must be.
	while POLLS.load(SeqCst) < 40 * 28 + 20 * (18 + 1) {
		std::thread::yield_now();
	}
	drop(alive);
	say("tiny stacks");
}

// ---- signals

static WAKERS: Mutex<Vec<Waker>> = Mutex::new(Vec::new());
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// Is polled as often as somebody wakes it, four times in all.
struct Woken(u64);

impl Future for Woken {
	type Output = ();
	fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
		POLLS.fetch_add(1, SeqCst);
		self.0 += 1;
		if self.0 == 4 {
			return Poll::Ready(());
		}
		WAKERS.lock().expect("wakers").push(cx.waker().clone());
		Poll::Pending
	}
}

/// Comes by `raise` alone, so it may do what its thread may.
extern "C" fn wakes_and_allocates(_: i32) {
	HANDLED.fetch_add(1, SeqCst);
	let wakers = std::mem::take(&mut *WAKERS.lock().expect("wakers"));
	wakers.into_iter().for_each(Waker::wake);
	for size in 1..20 {
		let mut block = null_mut();
		assert_eq!(
			unsafe { libc::posix_memalign(&mut block, 128, size * 128) },
			0
		);
		unsafe { libc::free(block) };
	}
}

extern "C" fn counts(_: i32) {
	HANDLED.fetch_add(1, SeqCst);
}

fn handle(sig: i32, handler: extern "C" fn(i32), flags: i32) {
	unsafe {
		let mut sa: libc::sigaction = std::mem::zeroed();
		sa.sa_sigaction = handler as *const () as usize;
		sa.sa_flags = flags;
		assert_eq!(libc::sigaction(sig, &sa, null_mut()), 0);
	}
}

fn use_own_signal_stack(bytes: usize) {
	let stack = Box::leak(vec![0u8; bytes].into_boxed_slice());
	let ss = libc::stack_t {
		ss_sp: stack.as_mut_ptr().cast(),
		ss_flags: 0,
		ss_size: stack.len(),
	};
	assert_eq!(unsafe { libc::sigaltstack(&ss, null_mut()) }, 0);
}

/// A handler on a small stack of its own wakes tasks and allocates, from outside and inside of a poll.
fn handler() {
	let frame = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
	use_own_signal_stack(frame.max(2048) + 6144);
	handle(libc::SIGUSR1, wakes_and_allocates, libc::SA_ONSTACK);
	let raise = || assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
	let alive = Alive::new(0);
	for _ in 0..13 {
		for _ in 0..3 {
			TASKS.fetch_add(1, SeqCst);
			alive.spawn(Woken(0));
		}
		alive.run(3);
		raise();
		alive.run(3);
		alive.finish(once(raise));
		alive.run(3);
		alive.finish(once(raise));
		alive.run(3);
	}
	println!("handled: {}", HANDLED.load(SeqCst));
	say("handler");
}

/// SIGPROF as fast as the kernel sends it, while tasks run in all threads.
fn profiler() {
	handle(libc::SIGPROF, counts, libc::SA_RESTART);
	let every = libc::timeval {
		tv_sec: 0,
		tv_usec: 100,
	};
	let timer = libc::itimerval {
		it_interval: every,
		it_value: every,
	};
	let setitimer = libc::setitimer;
	assert_eq!(
		unsafe { setitimer(libc::ITIMER_PROF, &timer, null_mut()) },
		0
	);
	let (one, two) = (Alive::new(0), Alive::new(2));
	while HANDLED.load(SeqCst) < 20 {
		one.finish(yields(10_007));
		two.finish(yields(10_007));
	}
	let off: libc::itimerval = unsafe { std::mem::zeroed() };
	unsafe { setitimer(libc::ITIMER_PROF, &off, null_mut()) };
	drop(two);
	say("profiled");
}

// ---- little of everything

fn limit(what: u32, most: u64) {
	let r = libc::rlimit {
		rlim_cur: most,
		rlim_max: most,
	};
	assert_eq!(unsafe { libc::setrlimit(what, &r) }, 0);
}

fn address_space() -> u64 {
	let text = std::fs::read_to_string("/proc/self/statm").expect("statm");
	let pages = text.split(' ').next().expect("size");
	pages.parse::<u64>().expect("pages") * 4096
}

/// Little more than there is now; nearly all of that is taken too.
fn little_memory() {
	const MB: usize = 1 << 20;
	let alive = Alive::new(2);
	alive.run(101);
	limit(libc::RLIMIT_AS, address_space() + 64 * MB as u64);
	run(0, 11);
	let mut taken: Vec<Vec<u8>> = Vec::new();
	loop {
		let mut v = Vec::new();
		if v.try_reserve_exact(MB).is_err() {
			break;
		}
		taken.push(v);
	}
	println!("took some: {}", taken.len() > 20);
	let more = std::thread::Builder::new().stack_size(8 * MB).spawn(|| ());
	println!("a thread: {}", more.is_ok());
	taken.pop();
	for _ in 0..20 {
		alive.run(101);
	}
	drop(taken);
	run(2, 11);
	drop(alive);
	say("little memory");
}

/// Not one descriptor more.
fn few_files() {
	let alive = Alive::new(2);
	alive.run(11);
	limit(libc::RLIMIT_NOFILE, 3);
	alive.run(101);
	run(0, 11);
	println!("open: {}", std::fs::File::open("/dev/null").is_err());
	drop(alive);
	say("few files");
}

const RUNNING: [libc::c_long; 9] = [
	libc::SYS_futex,
	libc::SYS_write,
	libc::SYS_brk,
	libc::SYS_sched_yield,
	libc::SYS_epoll_wait,
	libc::SYS_clock_nanosleep,
	libc::SYS_restart_syscall,
	libc::SYS_rt_sigreturn,
	libc::SYS_exit_group,
];

const STARTING_THREADS: [libc::c_long; 15] = [
	libc::SYS_clone3,
	libc::SYS_mmap,
	libc::SYS_munmap,
	libc::SYS_mprotect,
	libc::SYS_madvise,
	libc::SYS_set_robust_list,
	libc::SYS_rseq,
	libc::SYS_rt_sigprocmask,
	libc::SYS_sigaltstack,
	libc::SYS_gettid,
	libc::SYS_sched_getaffinity,
	libc::SYS_prctl,
	libc::SYS_exit,
	libc::SYS_getrandom,
	libc::SYS_clone,
];

/// Returns when each of the workers has run a task, so that it is no longer starting.
fn wait_for_workers(alive: &Alive, nr: usize) {
	let all_here = Arc::new(Barrier::new(nr + 1));
	for _ in 0..nr {
		let here = all_here.clone();
		alive.spawn(once(move || {
			here.wait();
		}));
	}
	all_here.wait();
}

/// Only what the program itself needs is allowed: whoever calls for more kills it.
fn in_sandbox(may_start_threads: bool) {
	// One heap that grows by brk: the program needs no mprotect.
	unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
	let alive = Alive::new(2);
	alive.run(11);
	wait_for_workers(&alive, 2);
	let mut allowed = RUNNING.to_vec();
	if may_start_threads {
		allowed.extend(STARTING_THREADS);
	}
	sandbox::enter(&allowed);
	for _ in 0..50 {
		alive.run(101);
	}
	for i in 0..if may_start_threads { 20 } else { 0 } {
		let t = std::thread::spawn(move || run(0, i));
		t.join().expect("thread");
	}
	say("in a sandbox");
	unsafe { libc::_exit(21) };
}

fn lock_memory() {
	run(2, 11);
	let rc = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
	println!("mlockall: {rc}");
	run(2, 101);
	run(0, 11);
	say("locked");
}

// ---- the loader

fn load_once(path: &std::ffi::CStr) {
	unsafe {
		let lib = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
		assert!(!lib.is_null(), "dlopen");
		assert!(!libc::dlsym(lib, c"nothing".as_ptr()).is_null(), "dlsym");
		libc::dlclose(lib);
	}
}

/// Two threads load a library and let it go, again and again, while tasks run.
fn loader(path: &str) {
	let is_over = Arc::new(AtomicBool::new(false));
	let loaders: Vec<_> = (0..2)
		.map(|_| {
			let (over, path) =
				(is_over.clone(), std::ffi::CString::new(path).expect("path"));
			std::thread::spawn(move || {
				let mut nr = 0;
				while nr < 100 || !over.load(SeqCst) {
					load_once(&path);
					nr += 1;
				}
			})
		})
		.collect();
	let alive = Alive::new(2);
	for _ in 0..50 {
		alive.run(101);
		run(0, 11);
	}
	is_over.store(true, SeqCst);
	loaders.into_iter().for_each(|t| t.join().expect("loader"));
	drop(alive);
	say("loader");
}

// ---- another root, another user

fn change_root(folder: &str) {
	let alive = Alive::new(2);
	alive.run(11);
	std::os::unix::fs::chroot(folder).expect("chroot");
	std::env::set_current_dir("/").expect("chdir");
	println!("proc is there: {}", std::path::Path::new("/proc").exists());
	alive.run(101);
	run(2, 11);
	drop(alive);
	say("in another root");
}

fn give_up_root() {
	let alive = Alive::new(2);
	alive.run(11);
	unsafe {
		assert_eq!(libc::setgroups(0, null()), 0);
		assert_eq!(libc::setgid(12345), 0);
		assert_eq!(libc::setuid(12345), 0);
		println!("root again: {}", libc::setuid(0) == 0);
	}
	alive.run(101);
	run(2, 11);
	drop(alive);
	say("ordinary user");
}

fn no_new_privileges() {
	assert_eq!(
		unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) },
		0
	);
	run(2, 11);
	let me = std::env::current_exe().expect("executable");
	let out = std::process::Command::new(me).args(["work", "5"]).output();
	print!("{}", String::from_utf8_lossy(&out.expect("child").stdout));
	run(0, 7);
	say("no new privileges");
}

fn closed_streams(file: &str) {
	let first = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
	run(2, 11);
	let mut out = std::fs::File::create(file).expect(file);
	writeln!(out, "first free descriptor: {first}").expect(file);
	say_to(&mut out, "without streams");
}

fn usage() {
	eprintln!("usage: safety WHAT [ARG]; see cases.rs");
	std::process::exit(2);
}

pub fn main() {
	let args: Vec<String> = std::env::args().skip(1).collect();
	let arg = |i: usize| args.get(i).map_or("", String::as_str);
	let number = |i: usize| arg(i).parse().unwrap_or(11);
	match arg(0) {
		"work" => {
			run(2, number(1));
			say("work");
		}
		"state" => show_state(),
		"double-panic" => double_panic(),
		"drop-panics" => drop_panics(number(1) as usize),
		"overflow" => overflow(),
		"thread-leaves" => thread_leaves(),
		"leave" => leave_under_load(arg(1)),
		"fork-in-poll" => fork_in_poll(),
		"clone" => bare_clone(),
		"daemon" => daemon(arg(1)),
		"threads" => threads(number(1)),
		"tiny-stacks" => tiny_stacks(),
		"handler" => handler(),
		"profiler" => profiler(),
		"little-memory" => little_memory(),
		"few-files" => few_files(),
		"sandbox" => in_sandbox(false),
		"sandbox-threads" => in_sandbox(true),
		"mlockall" => lock_memory(),
		"loader" => loader(arg(1)),
		"chroot" => change_root(arg(1)),
		"setuid" => give_up_root(),
		"no-new-privileges" => no_new_privileges(),
		"closed-streams" => closed_streams(arg(1)),
		_ => usage(),
	}
}
